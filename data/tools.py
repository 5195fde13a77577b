"""Tools that a model may call, and calls of them: the written forms of both, in one."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from basic_control.data.characters import shorten
from basic_control.data.notations import parse_cell
from basic_control.data.patterns import pattern

_NAME_KEYS = ("name", "function", "tool", "tool_name", "function_name", "action", "toolName", "recipient_name")
_ARGUMENT_KEYS = (
    "arguments", "parameters", "args", "params", "input", "kwargs", "action_input", "tool_input",
    "tool_arguments", "tool_parameters", "function_args", "argument", "parameter",
)  # fmt: skip
_CALL_KEYS = ("function", "function_call")
_CALL_LISTS = ("tool_calls", "function_calls", "calls", "toolCalls", "tool_uses")
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_IDENTIFIER = pattern(r"[A-Za-z_][\w.:/-]{0,127}")  # get_weather, math.sqrt, server:tool
TOOLS = "tools"
"""The column of the tools that a model may call for a row."""
TOOL_CALLS = "tool_calls"
"""Key of a reply's `extra` for the calls that it made; the column of a recorded reply's."""
OPTIONAL = ""
"""Among an expected argument's alternatives: it may be left out."""
_SHOWN = 80


class Untyped(str):
    """A value written as text, in a form without types (`<parameter=n>5</parameter>`): it may be a number."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `n_unnamed` counts the arguments that have no name, and `arguments` leaves them out."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    n_unnamed: int = 0


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, what it does, and the JSON schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def types(self) -> Mapping[str, Any]:
        """The schemas of its arguments, by name."""
        properties = self.parameters.get("properties")
        return properties if isinstance(properties, Mapping) else {}

    @property
    def obligations(self) -> frozenset[str]:
        """The names of the arguments that must be there."""
        required = self.parameters.get("required")
        if not isinstance(required, list | tuple):
            return frozenset()
        return frozenset(map(str, required))


def parse_json(value: Any) -> Any:
    """Return the list or mapping that a text writes as JSON; anything else unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        parsed = json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return value
    return parsed


def read_tools(value: Any) -> tuple[Tool, ...]:
    """Read tools in the forms of servers: bare, in `function`, with `parameters` or `input_schema`; or their text.

    Raises:
        ValueError: an entry is no tool; the text says which, and what was expected.
    """
    entries = parse_cell(value)
    if isinstance(entries, Mapping):
        entries = [entries]
    if not isinstance(entries, list | tuple):
        raise ValueError(f"found {show(value)}, expected a list of tools")  # noqa: TRY004 - a value of the data
    tools = dict[str, Tool]()
    for number, entry in enumerate(entries, 1):
        tool = _read_tool(parse_json(entry), number)
        if tool.name in tools:
            raise ValueError(f"two tools are named {tool.name!r}, expected each name once")
        tools[tool.name] = tool
    return tuple(tools.values())


def _read_tool(entry: Any, number: int) -> Tool:
    # A server's form has the tool itself under `function`.
    if isinstance(entry, Mapping) and isinstance(entry.get("function"), Mapping):
        entry = entry["function"]
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise ValueError(f"tool {number}: found {show(entry)}, expected a mapping with `name` and `parameters`")
    schema: Any = {}
    for key in _SCHEMA_KEYS:
        if entry.get(key) is not None:
            schema = parse_json(entry[key])
            break
    if not isinstance(schema, Mapping):
        text = f"tool {entry['name']}: found parameters {show(schema)}, expected a JSON schema"
        raise ValueError(text)  # noqa: TRY004 - a value of the data
    return Tool(entry["name"], str(entry.get("description") or ""), schema)


def show(value: Any) -> str:
    """Return a value as a message shows it."""
    return "nothing" if value is None else shorten(repr(value), _SHOWN)


def read_call(entry: Any, names: frozenset[str] = frozenset(), *, is_marked: bool = True) -> ToolCall | None:
    """Read one call in the forms of servers, models and data; None if it is none.

    `names` are the tools that there are. A call that nothing marks as one (`is_marked`) needs its arguments beside
    its name, or a name among them.
    """
    entry = parse_json(entry)
    if not isinstance(entry, Mapping):
        return None
    for key in _CALL_KEYS:  # {"id": …, "type": "function", "function": {…}}
        if isinstance(entry.get(key), Mapping):
            return read_call(entry[key], names, is_marked=is_marked)
    name = _find_name(entry)
    has_arguments = any(key in entry for key in _ARGUMENT_KEYS)
    if name and (has_arguments or is_marked or name in names):
        arguments = read_arguments(_find_arguments(entry))
        return None if arguments is None else ToolCall(name, arguments)
    # The leaderboards' form: {"get_weather": {"city": "Paris"}}, or with its arguments as JSON text.
    if len(entry) != 1:
        return None
    name, value = next(iter(entry.items()))
    arguments = read_arguments(value)
    is_call = is_marked or name in names or isinstance(value, str)
    if not is_call or arguments is None or _IDENTIFIER.fullmatch(str(name)) is None:
        return None
    return ToolCall(str(name), arguments)


def _find_name(entry: Mapping[str, Any]) -> str:
    for key in _NAME_KEYS:
        name = entry.get(key)
        if isinstance(name, str) and name.strip():
            return name.strip().removeprefix("functions.")  # the namespace of a prompt's tools
    return ""


def _find_arguments(entry: Mapping[str, Any]) -> Any:
    for key in _ARGUMENT_KEYS:
        if key in entry:
            return entry[key]
    return None


def read_arguments(value: Any) -> Mapping[str, Any] | None:
    """Read a call's arguments, a mapping or JSON text of one; None if they are neither."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    value = parse_json(value)
    if not isinstance(value, Mapping):
        return None
    return {str(key): argument for key, argument in value.items()}


def read_calls(value: Any, names: frozenset[str] = frozenset(), *, is_marked: bool = True) -> list[ToolCall] | None:
    """Read a list of calls, one call, or JSON text of either; None if any of it is no call."""
    value = parse_json(value)
    entries = value
    if isinstance(value, Mapping):
        entries = [value]
        for key in _CALL_LISTS:
            if isinstance(value.get(key), list | tuple):
                entries = value[key]
    if not isinstance(entries, list | tuple):
        return None
    calls = list[ToolCall]()
    for entry in entries:
        call = read_call(entry, names, is_marked=is_marked or len(entries) > 1)
        if call is None:
            return None
        calls.append(call)
    return calls


def write_tool(tool: Tool) -> dict[str, Any]:
    """Return a tool as a plain mapping: `name`, `description`, `parameters`."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def write_calls(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Return calls as plain mappings, `name` and `arguments`, for a table."""
    return [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]


def list_alternatives(expected: Any) -> list[Any]:
    """Return the values that an argument may have: the entries of a list; of anything else, itself."""
    if not isinstance(expected, list | tuple):
        return [expected]
    return [*expected] or [[]]  # an empty list expects an empty array


def may_be_absent(expected: Any) -> bool:
    """Return whether an argument may be left out: `""` is among its alternatives, or it is expected to be null."""
    return any(value is None or value == OPTIONAL for value in list_alternatives(expected))


def find_value(options: Sequence[Any]) -> Any:
    """Return the first alternative that is a value: not the text that says that an argument may be left out."""
    for option in options:
        if option is not None and option != OPTIONAL:
            return option
    return options[0]


def choose_arguments(expected: ToolCall, tool: Tool) -> ToolCall:
    """Return an expected call of a tool as a model makes it: the first value of each argument's alternatives."""
    arguments = dict[str, Any]()
    for name, wish in expected.arguments.items():
        value = find_value(list_alternatives(wish))
        is_value = value is not None and value != OPTIONAL
        if is_value or name in tool.obligations or not may_be_absent(wish):
            arguments[name] = _choose_members(value, tool.types.get(name))
    return ToolCall(expected.name, arguments)


def _choose_members(value: Any, schema: Any) -> Any:
    """Return a value with one value of each member that has alternatives."""
    if not isinstance(value, Mapping):
        return value
    types: Mapping[str, Any] = {}
    if isinstance(schema, Mapping):
        types = Tool("", parameters=schema).types
    members = dict[str, Any]()
    for key, wish in value.items():
        chosen = wish
        if _lists_alternatives(wish, types.get(key)):
            chosen = find_value(wish)
            # A member that has no value but this may be left out.
            if chosen == OPTIONAL:
                continue
        members[key] = _choose_members(chosen, types.get(key))
    return members


def _lists_alternatives(wish: Any, schema: Any) -> bool:
    """Return whether a member's expected list means alternatives: data sets write arrays in the same way."""
    if not isinstance(wish, list) or not wish:
        return False
    kind = "array"
    if isinstance(schema, Mapping):
        kind = schema.get("type", kind)
    return OPTIONAL in wish or kind != "array"
