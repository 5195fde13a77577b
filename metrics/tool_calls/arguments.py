"""Comparison of a call's arguments with the expected ones, and what differs."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from basic_control.data.characters import shorten
from basic_control.data.patterns import pattern
from basic_control.data.reading.texts import unify
from basic_control.data.tools import OPTIONAL, Tool, ToolCall, Untyped, find_value, list_alternatives, may_be_absent

_LENIENT = pattern(r"[\s,./\-_*^'\"]")
# What is no content at either end of a text: marks of sentences, quotes, brackets; never what may belong to a
# value, as in -5, .5, @ann, /home, C#, 50%, *.txt, _id.
_OUTER = r"[!?;:,…'\"“”„«»‘’()\[\]{}<>。，、！？；：]"
_BEGIN = pattern(rf"^(?:{_OUTER}|\.(?![0-9]))+")
_END = pattern(rf"(?:{_OUTER}|\.)+$")
_EMPHASIS = pattern(r"^([*_]{1,3})(?=\S)(.+)(?<=\S)\1$", re.DOTALL)  # **Paris**
_LONGEST = 60
_NUMBERS = frozenset({"number", "float", "double"})
_NO_TEXTS = _NUMBERS | {"integer", "int", "boolean", "bool", "array", "list", "tuple", "object", "dict"}


class Difference(NamedTuple):
    """What a call has wrong: a kind of `tool_calls.KINDS`, and a text for people."""

    kind: str
    text: str


def normalise(text: str, *, lenient: bool) -> str:
    """Return a text of an argument without what does not count: case, white space, outer punctuation.

    `lenient`: also without the signs within it that public checkers do not count.

    Source: SPEC 20.
    """
    whole = "".join(unify(text).casefold().split())
    inner = _EMPHASIS.sub(r"\2", whole)
    inner = _END.sub("", _BEGIN.sub("", inner)) or whole
    if not lenient:
        return inner
    return _LENIENT.sub("", inner) or inner


def find_differences(
    call: ToolCall, expected: ToolCall, tool: Tool | None, *, lenient: bool
) -> Iterator[Difference]:
    """Yield what a call of the expected function has wrong, arguments in the order of the expected ones."""
    tool = tool or Tool(expected.name)
    if call.n_unnamed:
        yield Difference("unknown", "an argument without a name")
    for name, value in expected.arguments.items():
        if name not in call.arguments and (name in tool.obligations or not may_be_absent(value)):
            yield Difference("missing", name)
    for name, value in call.arguments.items():
        if name not in expected.arguments:
            yield Difference("unknown", name)
            continue
        options = list_alternatives(expected.arguments[name])
        if lenient and value == [] and OPTIONAL in options:
            continue  # as good as left out
        schema = tool.types.get(name)
        if value == OPTIONAL and _member(schema, "type") in _NO_TEXTS:
            yield Difference("type", f"{name}: {_show(value)}, expected {_show(find_value(options))}")
            continue
        kind = _compare_any(value, options, schema, lenient=lenient)
        if kind:
            yield Difference(kind, f"{name}: {_show(value)}, expected {_show(find_value(options))}")


def _show(value: Any) -> str:
    text = repr(value)
    if isinstance(value, Mapping):
        text = json.dumps(value, ensure_ascii=False, default=repr)
    return shorten(text, _LONGEST)


def _judge(results: Iterable[str], *, is_any: bool) -> str:
    """Return what several comparisons come to, '' if any of them is equal, or all are: `type`, `value` or ''."""
    kinds = set(results)
    if is_any and ("" in kinds or not kinds):
        return ""
    # Among alternatives another value is nearer than another type; within one value a wrong type says more.
    for kind in sorted(kinds, reverse=is_any):
        if kind:
            return kind
    return ""


def _compare_any(value: Any, options: Iterable[Any], schema: Any, *, lenient: bool) -> str:
    """Return '' if a value equals any of several, else `type` or `value`: what it has wrong."""
    results = {_compare(value, option, schema, lenient=lenient) for option in options}
    return _judge(results, is_any=True)


def _compare(value: Any, expected: Any, schema: Any, *, lenient: bool) -> str:  # noqa: PLR0911 - a return for each type
    """Return '' if a value equals an expected one, else `type` or `value`: what it has wrong."""
    if isinstance(value, Untyped):
        return _judge(
            (_compare(form, expected, schema, lenient=lenient) for form in _read_untyped(value)), is_any=True
        )
    match expected:
        case None | bool():
            is_equal = value == expected
            return _blame(value, type(expected), is_equal=is_equal)
        case str():
            is_equal = isinstance(value, str) and _are_alike(value, expected, lenient=lenient)
            return _blame(value, str, is_equal=is_equal)
        case int() | float():
            return _compare_numbers(value, expected, schema)
        case Mapping():
            return _compare_mappings(value, expected, schema, lenient=lenient)
        case list() | tuple():
            return _compare_arrays(value, expected, schema, lenient=lenient)
        case _:
            return _blame(value, object, is_equal=value == expected)


def _blame(value: Any, kind: type, *, is_equal: bool) -> str:
    """Return what a value has wrong: its type, or only itself; '' for an equal one of the type."""
    if not isinstance(value, kind):
        return "type"
    return "" if is_equal else "value"


def _are_alike(text: str, expected: str, *, lenient: bool) -> bool:
    return normalise(text, lenient=lenient) == normalise(expected, lenient=lenient)


def _read_untyped(value: Untyped) -> Iterator[Any]:
    """Yield what a text without types may be: itself, and what it is as JSON or as Python writes it."""
    yield str(value)
    text = str(value).strip()
    for form in dict.fromkeys((text, text.lower())):  # True
        try:
            yield json.loads(form)
        except (ValueError, RecursionError):
            continue


def _compare_numbers(value: Any, expected: float, schema: Any) -> str:
    """Compare numbers: an int is a float, a float is no int, unless the tool takes any number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "type"
    takes_floats = isinstance(expected, float) or _member(schema, "type") in _NUMBERS
    if isinstance(value, float) and not takes_floats:
        return "type"
    return _blame(value, object, is_equal=value == expected)


def _member(schema: Any, key: str) -> Any:
    """Return a member of a schema; None of what is no mapping."""
    if isinstance(schema, Mapping):
        return schema.get(key)
    return None


def _compare_arrays(value: Any, expected: Sequence[Any], schema: Any, *, lenient: bool) -> str:
    """Compare arrays, entry by entry."""
    if not isinstance(value, list | tuple):
        return "type"
    if len(value) != len(expected):
        return "value"
    entry_schema = _member(schema, "items")
    pairs = zip(value, expected, strict=True)
    results = [_compare(entry, wish, entry_schema, lenient=lenient) for entry, wish in pairs]
    return _judge(results, is_any=False)


def _compare_mappings(value: Any, expected: Mapping[str, Any], schema: Any, *, lenient: bool) -> str:
    """Compare objects, key by key; a list in the expected one is an array, or a key's alternatives.

    Public data sets write both: {"sizes": [1, 2]} and {"brand": ["Nike", ""]}.
    """
    if not isinstance(value, Mapping):
        return "type"
    if any(key not in expected for key in value):
        return "value"
    schemas = _member(schema, "properties")
    results = set[str]()
    for key, wish in expected.items():
        options = [wish]
        if isinstance(wish, list | tuple):
            options += wish
        if key in value:
            results.add(_compare_any(value[key], options, _member(schemas, key), lenient=lenient))
        elif OPTIONAL not in options[1:] and wish is not None:
            results.add("value")
    return _judge(results, is_any=False)
