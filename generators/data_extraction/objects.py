"""Find the JSON objects and lists in a model's reply: fenced or bare, between prose, with the usual small faults.

Comments, trailing and missing commas, curly or single quotes, keys and words without quotes are read. Numbers stay
text: a phone number may be written as one, and a million digits must not be converted. Every scan goes forward
only, so that time is linear in the reply's length.
"""

import json
import re
from typing import Any, NamedTuple

from data.json_reply import Grammar, NotJson
from data.patterns import pattern

DEPTH = 32
"""How deep objects and lists may nest."""

TRIES = 1_000
"""Braces and brackets that may turn out to begin nothing; with more of them, a reply counts as cut off."""

_SPACE = pattern(r"(?:[\s\ufeff]++|//[^\n]*+|#[^\n]*+|/\*[^*]{0,300}+\*/)*+")
# A string ends at its quote; without one on its line, it is none.
_STRING = pattern(
    r'"(?:[^"\\\n]|\\.)*+"|[“”„](?:[^“”„"\\\n]|\\.)*+[“”"]|\'(?:[^\'\\\n]|\\.)*+\'|‘(?:[^’\\\n]|\\.)*+’', re.DOTALL
)
_BARE = pattern(r"[+-]?\w[\w.+-]*+")
_KEY = pattern(rf"{_STRING.pattern}|[^\W\d]\w{{0,40}}", re.DOTALL)
_WORDS = {"null": None, "none": None, "undefined": None, "nil": None, "true": True, "false": False}
_OPEN = pattern(r"[{\[]")
_WHOLE = pattern(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```\s*)?", re.DOTALL)
_ESCAPE = pattern(r"\\(.)", re.DOTALL)


class ParsedObjects(NamedTuple):
    """The outermost objects and lists of a text, in order.

    `broken`: one begins as JSON does, but cannot be read. `cut`: and no sign that closes it follows.
    """

    values: list[Any]
    broken: bool
    cut: bool


def _string(token: str) -> str:
    if token[0] not in "\"“”„'‘":  # a key without quotes
        return token
    inner = token[1:-1]
    if "\\" not in inner:
        return inner
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        return _ESCAPE.sub(r"\1", inner)


def _scalar(text: str, position: int) -> tuple[Any, int]:
    if bare := _BARE.match(text, position):
        return _WORDS.get(bare[0].lower(), bare[0]), bare.end()
    raise NotJson(position)


_LENIENT = Grammar(_SPACE, _STRING, _KEY, _string, _scalar, {":", "："}, DEPTH, strict=False)


def find(text: str) -> ParsedObjects:
    """Find the outermost objects and lists of a text; past where one is broken, the search goes on."""
    if whole := _WHOLE.fullmatch(text):  # as it was asked for: the C parser takes a tenth of the time
        try:
            return ParsedObjects([json.loads(whole[1], strict=False, parse_int=str, parse_float=str)], False, False)  # noqa: FBT003 - named above
        except (ValueError, RecursionError):
            pass
    values: list[Any] = []
    broken = cut = False
    tries = TRIES
    last = {"{": text.rfind("}"), "[": text.rfind("]")}
    opened = _OPEN.search(text)
    while opened and tries:
        start = opened.start()
        try:
            value, end = _LENIENT.value(text, start)
        except NotJson as wrong:
            end = max(wrong.position, start + 1)
            tries -= 1
            if _begins(text, start):
                broken, cut = True, cut or last[text[start]] < end
        else:
            values.append(value)
        opened = _OPEN.search(text, end)
    return ParsedObjects(values, broken, cut or not tries)


def _begins(text: str, position: int) -> bool:
    """Tell whether a brace or bracket is followed by what a JSON object or list begins with."""
    first = _LENIENT.skip(text, position + 1)
    if first >= len(text) or text[first] in '"“„{[`':
        return True
    if text[position] == "[":
        return False
    token = _KEY.match(text, first)
    colon = _LENIENT.skip(text, token.end()) if token else len(text)
    return text[colon : colon + 1] in {":", "："}
