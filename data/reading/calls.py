"""Calls of tools that a reply writes into its text: as Python, as JSON, in tags, fenced.

Only what is marked as calls, or stands by itself, is one: a sentence about `get_weather(city="Paris")` is none.
The marks are rows of calls.yaml, each with an example that a test reads. Python is read in `calls_python`.
"""

import json
import re
from functools import cache
from typing import Any, NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.reading import ends, thinking
from basic_control.data.reading.calls_python import read_literal, read_python
from basic_control.data.tools import ToolCall, Untyped, read_arguments, read_call, read_calls

_LONGEST = 100_000
"""Characters of a reply in which calls are looked for: Python's own parser needs a hundred bytes for each."""
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:\n[ \t>]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_WRAPPED = re.compile(r"\s*(?:`{1,3}|~{3})(?:[a-z_]{1,12}\s*\n)?(.*?)(?:`{1,3}|~{3})?\s*", re.DOTALL)  # `f(x=1)`
_PARAGRAPHS = re.compile(r"\n\s*\n|\n(?=\s*[\[{])|(?<=[\]}])\s*\n")
_NAME = r"[A-Za-z_][\w.:/-]{0,127}?"
_ELEMENT = re.compile(  # <invoke name="f">…</invoke>, <function=f>…</function>
    rf"<(invoke|function|tool)\s*(?:=|\s+name\s*=\s*)[\"']?({_NAME})[\"']?\s*>(.*?)(?:</\1>|\Z)", re.DOTALL
)
_PARAMETER = re.compile(  # <parameter=n>5</parameter>, <param name="n" value="5" type="integer"/>
    rf"<(parameter|param|argument|arg)\s*(?:=|\s+name\s*=\s*)[\"']?({_NAME})[\"']?((?:\s[^<>]*?)?)"
    r"(?:/>|>(.*?)</\1>)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"(value|type|string)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")  # value="5"
_PAIR = re.compile(r"<arg_key>([^<]{0,200})</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_PREFIX = re.compile(r"(?<=[</])[|｜]DSML[|｜]")  # <｜DSML｜invoke name="f">
_BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_]\w*)\s*:")  # {city: "Paris"}
_QUOTE_TOKEN = re.compile(r"<escape>|<\|\"\|>")
_DECODER = json.JSONDecoder(strict=False)


class _Mark(NamedTuple):
    """What opens and closes calls; `is_inside`: the opening is part of them; `is_raw`: no thinking has it."""

    open: re.Pattern[str]
    close: re.Pattern[str]
    is_inside: bool
    is_raw: bool


class _Tables(NamedTuple):
    """The marks, and a tool's name with its arguments beside it."""

    marks: list[_Mark]
    call: re.Pattern[str]


@cache
def _tables() -> _Tables:
    table = read_beside(__file__)
    marks = list[_Mark]()
    for row in table["marks"]:
        opens, closes = (re.compile(row[end], re.IGNORECASE) for end in ("open", "close"))
        marks.append(_Mark(opens, closes, row.get("inside", False), row.get("raw", False)))
    # call:get_weather{…}, functions.get_weather:0<|tool_call_argument_begin|>{…}
    return _Tables(marks, re.compile(rf"\s*(?:call:|functions\.)?({_NAME}){table['between']}(?=\{{)"))


def read_written_calls(text: str, prompt: str = "", names: frozenset[str] = frozenset()) -> list[ToolCall]:
    """Return the calls that a reply writes into its text, in order; none of its thinking's.

    `names` are the tools that there are, so that `{"get_weather": {…}}` is known for a call.

    Source: SPEC 20.
    """
    # Marks come first: what stands between them is meant as calls, whatever is said around.
    text = _PREFIX.sub("", text[:_LONGEST])
    spoken = thinking.split(text, prompt)[0].strip()
    for mark in _tables().marks:
        calls = _read_marked(spoken, mark, names)
        if mark.is_raw and not calls:
            calls = _read_marked(text, mark, names)
        if calls:
            return calls
    body = ends.split_at_end(spoken, prompt, labels=False)[0].strip()
    calls = _read_body(_unwrap(body), names)
    if calls is not None:
        return calls
    return _read_parts(body, names)


def _read_parts(text: str, names: frozenset[str]) -> list[ToolCall]:
    """Return the calls of a text's fences, else those in brackets or braces in a paragraph of their own."""
    calls = list[ToolCall]()
    for block in _FENCE.finditer(text):
        calls += _read_body(block[2], names) or []
    if calls:
        return calls
    for paragraph in _PARAGRAPHS.split(_FENCE.sub("", text)):
        body = paragraph.strip().strip("`")
        if body.startswith(("[", "{")) and body.endswith(("]", "}")):
            calls += _read_body(body, names) or []
    return calls


def _unwrap(text: str) -> str:
    """Return a text without the fence or the quotation marks around the whole of it."""
    if text.startswith(("`", "~~~")):
        text = _WRAPPED.sub(r"\1", text, count=1)
    return text.strip().strip("`'").strip()


def _read_marked(text: str, mark: _Mark, names: frozenset[str]) -> list[ToolCall]:
    """Return the calls between the marks of one kind."""
    openings = [*mark.open.finditer(text)]
    closings = mark.close.finditer(text)
    closing = next(closings, None)
    calls = list[ToolCall]()
    for number, opening in enumerate(openings):
        end = len(text)
        if number + 1 < len(openings):
            end = openings[number + 1].start()
        while closing and closing.start() < opening.end():
            closing = next(closings, None)
        if closing and closing.start() <= end:
            end = closing.start()
        begin = opening.end()
        if mark.is_inside:  # an element that carries its name; its closing tag may be missing
            begin = opening.start()
        calls += _read_body(text[begin:end], names, is_marked=True) or []
    return calls


def _read_body(text: str, names: frozenset[str], *, is_marked: bool = False) -> list[ToolCall] | None:
    """Return the calls that a text is, in any form; None if it is something else."""
    text = text.strip()
    if not text:
        return None
    if is_marked:
        elements = _read_elements(text)
        if elements:
            return elements
        text = _unwrap(text)  # some models fence what they mark
    calls = _read_json(text, names, is_marked=is_marked)
    if calls is None:
        calls = read_python(text)
    if calls is None and is_marked:
        calls = _read_pairs(text)
    return calls


def _read_json(text: str, names: frozenset[str], *, is_marked: bool) -> list[ToolCall] | None:
    """Return the calls of JSON values that follow one another: {…}; {…}."""
    if text[:1] not in ("[", "{"):
        return None
    calls, position = list[ToolCall](), 0
    while position < len(text):
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            value, position = read_literal(text[position:]), len(text)
        entries = read_calls(value, names, is_marked=is_marked or _is_call_list(value))
        if entries is None:
            return None
        calls += entries
        position += len(text[position:]) - len(text[position:].lstrip(" \t\r\n;,"))
    return calls


def _is_call_list(value: Any) -> bool:
    """Return whether a value is a list of calls by its form: all its entries have a name and arguments."""
    return isinstance(value, list) and all(isinstance(entry, dict) and read_call(entry) for entry in value)


def _read_elements(text: str) -> list[ToolCall]:
    """Return the calls of elements with a name and parameters."""
    calls = list[ToolCall]()
    for element in _ELEMENT.finditer(text):
        body = element[3].strip()
        arguments = None
        if body.startswith("{"):
            arguments = read_arguments(body)
        if arguments is None:
            arguments = _read_parameters(body)
        calls.append(ToolCall(element[2], arguments))
    if calls:
        return calls
    # GLM's form has a name, then keys and values in turn.
    pairs = _PAIR.findall(text)
    name = text.split("<", 1)[0].strip()
    if (pairs or name == text) and re.fullmatch(_NAME, name):
        return [ToolCall(name, {key.strip(): Untyped(value.strip()) for key, value in pairs})]
    return []


def _read_parameters(text: str) -> dict[str, Any]:
    parameters = dict[str, Any]()
    for parameter in _PARAMETER.finditer(text):
        attributes = {name: double or single for name, double, single in _ATTRIBUTE.findall(parameter[3] or "")}
        value = parameter[4]
        if value is None:
            value = attributes.get("value", "")
        if attributes.get("type") != "string" and attributes.get("string") != "true":
            value = Untyped(value.strip("\n"))
        parameters[parameter[2]] = value
    return parameters


def _read_pairs(text: str) -> list[ToolCall] | None:
    """Return the calls of names with arguments beside them: `get_weather{"city": "Paris"}`."""
    calls, position = list[ToolCall](), 0
    text = _QUOTE_TOKEN.sub('"', text)
    while call := _tables().call.match(text, position):
        try:
            value, position = _DECODER.raw_decode(text, call.end())
        except (ValueError, RecursionError):
            value, position = _read_bare_keys(text[call.end() :]), len(text)
        arguments = read_arguments(value)
        if arguments is None:
            break
        calls.append(ToolCall(call[1], arguments))
    return calls or None


def _read_bare_keys(text: str) -> Any:
    """Return the object in a text whose keys have no quotation marks; '?' if it is none."""
    try:
        return _DECODER.raw_decode(_BARE_KEY.sub(r'\1"\2":', text))[0]
    except (ValueError, RecursionError):
        return "?"
