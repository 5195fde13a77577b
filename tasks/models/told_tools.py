"""Tools for a model whose chat template has none: told in the system message, and called in the text.

A call that is required is one by the reply's JSON schema, which llama.cpp's server enforces for any model.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from basic_control.data.messages import SYSTEM
from basic_control.data.reading.calls import read_written_calls
from basic_control.data.records import Call, Message, Reply
from basic_control.data.tools import TOOL_CALLS, Tool, read_calls, write_calls, write_tool

CHOICE = "tool_choice"
"""The parameter that says whether a tool must be called."""
_LONGEST = 200
"""Characters of a text among a required call's arguments: a small model may not end it."""
_TOLD = (
    "You may call these tools, described as JSON:\n{tools}\n"
    'To call one, write <tool_call>{{"name": "its name", "arguments": {{…}}}}</tool_call> and nothing else.'
)


def is_required(choice: Any) -> bool:
    """Return whether a `tool_choice` wants a call: `required`, `any`, or a function by its name."""
    return choice in ("required", "any") or isinstance(choice, Mapping)


def tell_tools(call: Call, choice: Any) -> Call:
    """Return a call that tells its tools in words; one that must call a tool has a schema that makes it."""
    lines = [json.dumps(write_tool(tool), ensure_ascii=False) for tool in call.tools]
    instructions = _TOLD.format(tools="\n".join(lines))
    messages = [*map(_write_out, call.messages)]
    if messages[0].role in SYSTEM:
        messages[0] = replace(messages[0], content=f"{messages[0].content}\n\n{instructions}")
    else:
        messages.insert(0, Message("system", instructions))
    schema = call.schema
    if is_required(choice):
        schema = _constrain(_find_choices(call.tools, choice))
    return replace(call, messages=tuple(messages), tools=(), schema=schema)


def _write_out(message: Message) -> Message:
    """Return a message whose calls, or what a tool returned, stand in its text."""
    if message.role in {"tool", "function"}:
        return Message("user", f"<tool_response>\n{message.content}\n</tool_response>")
    if not message.tool_calls:
        return message
    lines = [*filter(None, [message.content])]
    for made_call in message.tool_calls:
        text = json.dumps({"name": made_call["name"], "arguments": made_call["arguments"]}, ensure_ascii=False)
        lines.append(f"<tool_call>{text}</tool_call>")
    return Message(message.role, "\n".join(lines))


def _find_choices(tools: Sequence[Tool], choice: Any) -> Sequence[Tool]:
    """Return the tools among which the model may choose: all, or the one that is named."""
    name = ""
    if isinstance(choice, Mapping):
        function = choice.get("function")
        name = str((function or choice).get("name", ""))
    return [tool for tool in tools if name in ("", tool.name)] or tools


def _constrain(tools: Sequence[Tool]) -> dict[str, Any]:
    """Return the schema of a reply that calls at least one of these tools."""
    kinds = list[dict[str, Any]]()
    for tool in tools:
        arguments = _limit_texts({"type": "object", **tool.parameters})
        members = {"name": {"const": tool.name}, "arguments": arguments}
        kinds.append({"type": "object", "properties": members, "required": ["name", "arguments"]})
    # One call, as the engine itself allows if nothing asks for several at once.
    calls = {"type": "array", "items": {"anyOf": kinds}, "minItems": 1, "maxItems": 1}
    return {"type": "object", "properties": {TOOL_CALLS: calls}, "required": [TOOL_CALLS]}


def _limit_texts(schema: Any) -> Any:
    """Return a schema whose texts have a longest length."""
    if isinstance(schema, list):
        return [*map(_limit_texts, schema)]
    if not isinstance(schema, Mapping):
        return schema
    bounded = {key: _limit_texts(value) for key, value in schema.items()}
    if schema.get("type") == "string" and "enum" not in schema:
        bounded.setdefault("maxLength", _LONGEST)
    return bounded


def read_told_calls(reply: Reply, tools: Sequence[Tool], choice: Any) -> Reply:
    """Return a reply with the calls that it writes, in place of their text."""
    names = frozenset(tool.name for tool in tools)
    calls = None
    # What the schema makes is one object; what a model writes freely has a form of its own.
    if is_required(choice):
        calls = read_calls(reply.text)
    if calls is None:
        calls = read_written_calls(reply.text, names=names)
    if not calls:
        return reply
    return replace(reply, text="", extra={**reply.extra, TOOL_CALLS: write_calls(calls)})
