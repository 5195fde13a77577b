"""Parser for JSON in a model's reply: fences, prose around it, trailing commas and thinking are allowed.

Every scan goes forward only, so that time is linear in the length of any reply. Content that is not JSON is
refused: NaN and Infinity, truncated objects, duplicate keys.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from basic_control.data.characters import make_storable
from basic_control.data.patterns import pattern
from basic_control.data.reading.thinking import split
from basic_control.data.records import Unparsable

DEPTH = 48
"""Maximum nesting depth of objects and arrays; replies need three."""
# White space, as models write it between tokens: blanks, line ends, a no-break space, a byte order mark.
_SPACE = pattern(r"[ \t\r\n\u00a0\ufeff]*+")
_BRACE, _OPENING = pattern(r"\{"), pattern(r"[{\[]")
# A string: "a \"quoted\" word"
_STRING = pattern(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# A number, not followed by more of a word: -1.5e3
_NUMBER = pattern(r"-?(?:0|[1-9][0-9]{0,99}+)(?:\.[0-9]{1,100}+)?(?:[eE][+-]?[0-9]{1,3}+)?(?![\w.+-])")
_WORD = pattern(r"(?:true|false|null)\b")
# A backslash and what it escapes, as a group if JSON has no such escape: \n, but \(s\)
_ESCAPE = pattern(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(.))', re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}


class NotJson(Exception):  # noqa: N818 - says where reading ended, not an error to show
    """Where a value stopped being JSON."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def _parse_finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number that is not finite")
    return value


def _join_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key given twice")
    return members


_DECODER = json.JSONDecoder(
    strict=False, parse_constant=_parse_finite, parse_float=_parse_finite, object_pairs_hook=_join_unique
)


def _double_backslash(escape: re.Match[str]) -> str:
    r"""Return an escape that JSON does not have with its backslash as a character: \\( for \(."""
    return escape[0] if escape[1] is None else "\\" + escape[0]


def _decode_string(token: str) -> str:
    """Decode a JSON string; an escape unknown to JSON keeps its backslash, a lone surrogate becomes �."""
    try:
        text = str(json.loads(token, strict=False))
    except ValueError:
        text = str(json.loads(_ESCAPE.sub(_double_backslash, token), strict=False))
    return make_storable(text)


def _read_scalar(text: str, position: int) -> tuple[Any, int]:
    word = _WORD.match(text, position)
    if word:
        return _WORDS[word[0]], word.end()
    number = _NUMBER.match(text, position)
    if number:
        parse = int if number[0].lstrip("-").isdigit() else _parse_finite
        with suppress(ValueError):
            return parse(number[0]), number.end()
    raise NotJson(position)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The accepted JSON grammar; every pattern goes forward only.

    `read` decodes a string token, `key` matches a member's name, `scalar` parses other scalars. `strict`: members
    need commas between them (a trailing one is allowed), and keys are unique.
    """

    space: re.Pattern[str]
    string: re.Pattern[str]
    key: re.Pattern[str]
    read: Callable[[str], str]
    scalar: Callable[[str, int], tuple[Any, int]]
    colons: Collection[str]
    depth: int
    strict: bool

    def skip(self, text: str, position: int) -> int:
        """Return the position after white space."""
        match = self.space.match(text, position)
        return match.end() if match else position

    def value(self, text: str, position: int, depth: int = 0) -> tuple[Any, int]:
        """Read one value at `position`, and return it with the position after it.

        Raises:
            NotJson: there is none.
        """
        first = text[position : position + 1]
        if not first or depth > self.depth:
            raise NotJson(position)
        if first in "{[":
            return self._container(text, position, depth)
        token = self.string.match(text, position)
        if token:
            return self.read(token[0]), token.end()
        return self.scalar(text, position)

    def _container(self, text: str, position: int, depth: int) -> tuple[Any, int]:
        is_object = text[position] == "{"
        closing = {"{": "}", "[": "]"}[text[position]]
        members: dict[str, Any] = {}
        parts: list[Any] = []
        position = self.skip(text, position + 1)
        while text[position : position + 1] != closing:
            if is_object:
                key = self.key.match(text, position)
                if not key:
                    raise NotJson(position)
                colon = self.skip(text, key.end())
                if text[colon : colon + 1] not in self.colons:
                    raise NotJson(colon)
                name = self.read(key[0])
                value, position = self.value(text, self.skip(text, colon + 1), depth + 1)
                if self.strict and name in members:
                    raise NotJson(position)
                members[name] = value
            else:
                value, position = self.value(text, position, depth + 1)
                parts.append(value)
            # Between members there is a comma; where the grammar is not strict, white space does.
            position = self.skip(text, position)
            if text[position : position + 1] == ",":
                position = self.skip(text, position + 1)
            elif self.strict and text[position : position + 1] != closing:
                raise NotJson(position)
        return (members if is_object else parts), position + 1


_JSON = Grammar(_SPACE, _STRING, _STRING, _decode_string, _read_scalar, {":"}, DEPTH, strict=True)


def find_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield every outermost JSON object of a reply, in order; broken ones are skipped."""
    return _find_outermost(split(text)[0], _BRACE)


def read_object(text: str, *keys: str) -> dict[str, Any]:
    """Return the last outermost JSON object of a reply that has all these keys.

    The last: a judge that quotes the judged text, or thinks aloud, does so before its verdict.

    Raises:
        Unparsable: there is none; the text says what was found instead.
    """
    stripped = text.strip()
    # Within this depth, Python's own parser reads the same, in a tenth of the time.
    is_shallow = stripped.count("{") + stripped.count("[") <= DEPTH
    if is_shallow and stripped.startswith("{") and "\\u" not in stripped:
        with suppress(ValueError):
            whole: dict[str, Any] = _DECODER.decode(stripped)
            if all(key in whole for key in keys):
                return whole
    candidates = [*find_objects(text)]
    for candidate in reversed(candidates):
        if all(key in candidate for key in keys):
            return candidate
    if not stripped:
        raise Unparsable("the reply is empty")
    expected = ", ".join(f'"{key}"' for key in keys)
    if not candidates:
        raise Unparsable(f"no complete JSON object in the reply; expected one with {expected}")
    missing = ", ".join(f'"{key}"' for key in keys if key not in candidates[-1])
    raise Unparsable(f"the JSON object lacks {missing}; expected one with {expected}")


def _find_outermost(text: str, opening: re.Pattern[str]) -> Iterator[Any]:
    """Yield every outermost value with such an opening; broken ones are skipped."""
    begins = opening.search(text)
    while begins:
        try:
            value, end = _JSON.value(text, begins.start())
        except NotJson as wrong:
            end = max(wrong.position, begins.end())
        else:
            yield value
        begins = opening.search(text, end)


def read_value(text: str) -> Any:
    """Return a reply's JSON value: the whole reply, else the last object or list of objects, else the last list.

    Raises:
        Unparsable: there is none.
    """
    reply_text = split(text)[0].strip()
    # A reply that is one fenced block: ```json … ```
    fenced = re.fullmatch(r"```\w*[ \t]*\n(.*?)\n?[ \t]*```", reply_text, re.DOTALL)
    body = reply_text
    if fenced:
        body = fenced[1].strip()
    with suppress(NotJson):
        value, end = _JSON.value(body, 0)
        if not body[end:].strip():
            return value
    values = [*_find_outermost(reply_text, _OPENING)]
    if not values:
        raise Unparsable("no complete JSON value in the reply")
    with_objects = [value for value in values if isinstance(value, dict) or dict in map(type, value)]
    return (with_objects or values)[-1]
