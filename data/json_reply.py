"""Read the JSON object out of a model's reply: fences, prose around it, trailing commas and thinking allowed.

Every scan goes forward only, so that time is linear in the reply's length whatever it holds. What is not JSON in
substance stays refused: NaN and Infinity, cut objects, a key given twice.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from data.patterns import pattern
from data.records import Unparsable

DEPTH = 48
"""How deep objects and arrays may nest; replies need three."""

_SPACE = pattern(r"[ \t\r\n\u00a0\ufeff]*+")
_STRING = pattern(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NUMBER = pattern(r"-?(?:0|[1-9][0-9]{0,99}+)(?:\.[0-9]{1,100}+)?(?:[eE][+-]?[0-9]{1,3}+)?(?![\w.+-])")
_WORD = pattern(r"(?:true|false|null)\b")
_ESCAPE = pattern(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(.))', re.DOTALL)
_THOUGHT_OPEN = pattern(r"\s*+<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THOUGHT_CLOSE = pattern(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_WORDS = {"true": True, "false": False, "null": None}


class _Wrong(Exception):  # noqa: N818 - says where reading ended, not an error to show
    """Where an object stopped being JSON."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def _refuse(_: str) -> NoReturn:
    raise ValueError("a number that is not finite")


def _finite(text: str) -> float:
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        _refuse(text)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key given twice")
    return found


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)


def _string(token: str) -> str:
    """Decode a JSON string; an escape that JSON does not know keeps its backslash, a lone surrogate becomes �."""
    try:
        text = str(json.loads(token, strict=False))
    except ValueError:
        doubled = _ESCAPE.sub(lambda m: "\\" + m[0] if m[1] is not None else m[0], token)
        text = str(json.loads(doubled, strict=False))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _value(text: str, position: int, depth: int) -> tuple[Any, int]:
    """Read one value at `position`, and return it with the position after it."""
    if depth > DEPTH or position >= len(text):
        raise _Wrong(position)
    first = text[position]
    if first == "{":
        return _members(text, position, depth)
    if first == "[":
        return _elements(text, position, depth)
    if first == '"':
        if not (token := _STRING.match(text, position)):
            raise _Wrong(position)
        return _string(token[0]), token.end()
    if word := _WORD.match(text, position):
        return _WORDS[word[0]], word.end()
    if number := _NUMBER.match(text, position):
        try:
            return (int(number[0]) if number[0].lstrip("-").isdigit() else _finite(number[0])), number.end()
        except ValueError:
            raise _Wrong(position) from None
    raise _Wrong(position)


def _members(text: str, position: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    position = _skip(text, position + 1)
    while position < len(text) and text[position] != "}":
        key = _STRING.match(text, position)
        if not key:
            raise _Wrong(position)
        position = _skip(text, key.end())
        if text[position : position + 1] != ":":
            raise _Wrong(position)
        value, position = _value(text, _skip(text, position + 1), depth + 1)
        name = _string(key[0])
        if name in found:
            raise _Wrong(position)
        found[name] = value
        position = _next(text, position, "}")
    if position >= len(text):
        raise _Wrong(position)
    return found, position + 1


def _elements(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    position = _skip(text, position + 1)
    while position < len(text) and text[position] != "]":
        value, position = _value(text, position, depth + 1)
        found.append(value)
        position = _next(text, position, "]")
    if position >= len(text):
        raise _Wrong(position)
    return found, position + 1


def _next(text: str, position: int, closing: str) -> int:
    """Go past a comma, if there is one (a trailing comma is allowed), to the next member or the closing sign."""
    position = _skip(text, position)
    if text[position : position + 1] == ",":
        return _skip(text, position + 1)
    if text[position : position + 1] != closing:
        raise _Wrong(position)
    return position


def without_thinking(text: str) -> str:
    """Return the reply without what the model thought aloud in `<think>` and the like.

    Thinking that never ends leaves nothing. A reply that is one JSON object is returned as it is: a tag in it is
    quoted text.
    """
    if text.lstrip().startswith("{"):
        return text
    close = _THOUGHT_CLOSE.search(text)
    if close:
        return text[close.end() :]
    return "" if _THOUGHT_OPEN.match(text) else text


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield every outermost JSON object of a reply, in order; what is broken is passed over."""
    yield from _outermost(without_thinking(text), "{")


def read_object(text: str, *keys: str) -> dict[str, Any]:
    """Return the last outermost JSON object of a reply that has all these keys.

    The last: a judge that quotes the judged text, or thinks aloud, does so before its verdict.

    Raises:
        Unparsable: there is none; the text says what was found instead.
    """
    stripped = text.strip()
    if stripped.startswith("{") and "\\u" not in stripped:
        try:
            whole = _DECODER.decode(stripped)
        except (ValueError, RecursionError):
            pass
        else:
            if all(key in whole for key in keys):
                return dict(whole)
    seen: dict[str, Any] | None = None
    last: dict[str, Any] | None = None
    for seen in objects(text):
        if all(key in seen for key in keys):
            last = seen
    if last is not None:
        return last
    if not stripped:
        raise Unparsable("the reply is empty")
    wanted = ", ".join(f'"{key}"' for key in keys)
    if seen is None:
        raise Unparsable(f"no complete JSON object in the reply; expected one with {wanted}")
    missing = ", ".join(f'"{key}"' for key in keys if key not in seen)
    raise Unparsable(f"the JSON object lacks {missing}; expected one with {wanted}")


def _outermost(text: str, opening: str) -> Iterator[Any]:
    """Yield every outermost value that begins so; what is broken is passed over."""
    position = text.find(opening)
    while position >= 0:
        try:
            found, end = _value(text, position, 0)
        except _Wrong as wrong:
            end = max(wrong.position, position + 1)
        else:
            yield found
        position = text.find(opening, end)


def read_value(text: str) -> Any:
    """Return the JSON value that a reply is or holds: the whole reply, else its last object, else its last array.

    Raises:
        Unparsable: there is none.
    """
    said = without_thinking(text).strip()
    fenced = re.fullmatch(r"```\w*[ \t]*\n(.*?)\n?[ \t]*```", said, re.DOTALL)
    body = (fenced[1] if fenced else said).strip()
    try:
        value, end = _value(body, 0, 0)
    except _Wrong:
        pass
    else:
        if not body[end:].strip():
            return value
    for opening in ("{", "["):
        if found := list(_outermost(said, opening)):
            return found[-1]
    raise Unparsable("no complete JSON value in the reply")
