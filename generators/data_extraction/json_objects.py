"""Find the JSON objects and lists in a reply, and read entities from them, by our keys or by their types.

They may be fenced or bare, between prose, with common small faults: comments, trailing and missing commas, curly or
single quotes, unquoted keys and words. Numbers stay text: a phone number may be written as one, and a million
digits must not be converted. Every scan only moves forward, so time is linear in the reply's length.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.json_reply import Grammar, NotJson
from basic_control.data.patterns import pattern
from basic_control.generators.data_extraction.entities import KINDS

DEPTH = 32  # how deep objects and lists may nest

TRIES = 1_000
"""Opening braces and brackets tried that may begin nothing; a reply with more counts as cut off."""

# White space and comments: " // a note"
_SPACE = pattern(r"(?:[\s\ufeff]++|//[^\n]*+|#[^\n]*+|/\*[^*]{0,300}+\*/)*+")
# A string ends at its quote; without a closing quote on its line, it is no string.
_STRING = pattern(
    r'"(?:[^"\\\n]|\\.)*+"|[“”„](?:[^“”„"\\\n]|\\.)*+[“”"]|\'(?:[^\'\\\n]|\\.)*+\'|‘(?:[^’\\\n]|\\.)*+’', re.DOTALL
)
# A value without quotes: "+49", "null"
_BARE = pattern(r"[+-]?\w[\w.+-]*+")
# A key, in quotes or without: "emails"
_KEY = pattern(rf"{_STRING.pattern}|[^\W\d]\w{{0,40}}", re.DOTALL)
_WORDS = {"null": None, "none": None, "undefined": None, "nil": None, "true": True, "false": False}
# An opening brace or bracket
_OPEN = pattern(r"[{\[]")
# A reply that is one object, perhaps in a fence: "```json {…} ```"
_WHOLE = pattern(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```\s*)?", re.DOTALL)
# An escaped sign: "\\n"
_ESCAPE = pattern(r"\\(.)", re.DOTALL)


class ParsedObjects(NamedTuple):
    """The outermost objects and lists of a text, in order.

    `broken`: one begins as JSON does, but cannot be read. `cut`: moreover, no closing sign follows.
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
    match = _BARE.match(text, position)
    if match:
        return _WORDS.get(match[0].lower(), match[0]), match.end()
    raise NotJson(position)


_LENIENT = Grammar(_SPACE, _STRING, _KEY, _string, _scalar, {":", "："}, DEPTH, strict=False)


def find_outermost(text: str) -> ParsedObjects:
    """Find the outermost objects and lists of a text, continuing after broken ones."""
    # As requested: the C parser is ten times as fast.
    whole = _WHOLE.fullmatch(text)
    if whole:
        with suppress(ValueError, RecursionError):
            parsed = json.loads(whole[1], strict=False, parse_int=str, parse_float=str)
            return ParsedObjects([parsed], broken=False, cut=False)
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
    """Return whether a brace or bracket is followed by a possible start of a JSON object or list."""
    first = _LENIENT.skip(text, position + 1)
    if first >= len(text) or text[first] in '"“„{[`':
        return True
    if text[position] == "[":
        return False
    token = _KEY.match(text, first)
    if not token:
        return False
    colon = _LENIENT.skip(text, token.end())
    return text[colon : colon + 1] in {":", "："}


_TABLES = read_beside(__file__)
_TYPES: Mapping[str, str] = _TABLES["types"]
_TYPE_KEYS, _VALUE_KEYS = frozenset[str](_TABLES["type_keys"]), frozenset[str](_TABLES["value_keys"])
_KINDS: dict[str, str] = {}
for _kind, _names in _TABLES["names"].items():
    _KINDS |= dict.fromkeys(_names, _kind)
# The end of a numbered key: "_2" of "phone_2"
_NUMBERED = pattern(r"[\W_]*\d{0,2}$")
_GAP = pattern(r"[\W_]+")
_DATES = (("year", "month", "day"), ("год", "месяц", "день"))


def _read_kind(key: str) -> str:
    """Return the kind that a key names, singular or plural, English or Russian; else the key in lower case."""
    name = key.strip().lower()
    return _KINDS.get(_GAP.sub(" ", _NUMBERED.sub("", name)).strip(), name)


def _group_by_kind(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's values by the kinds of its keys; values whose keys name the same kind are listed."""
    by_kind: dict[str, Any] = {}
    for key, part in value.items():
        kind = _read_kind(key)
        if kind in by_kind:
            by_kind[kind] = [by_kind[kind], part]
        else:
            by_kind[kind] = part
    return by_kind


def _read_date(value: Mapping[str, Any]) -> str | None:
    """Return the date of `{"year": …, "month": …, "day": …}` as a text."""
    parts = {key.strip().lower(): part for key, part in value.items()}
    for names in _DATES:
        if parts.keys() == {*names} and all(isinstance(part, str) for part in parts.values()):
            year, month, day = (parts[name].strip() for name in names)
            return f"{year}-{month}-{day}" if month.isdigit() else f"{day} {month} {year}"
    return None


def strings(value: Any, depth: int = 3) -> Iterator[str]:
    """Yield the strings in a JSON value, nested at most three deep; of an object with a value, only that.

    An object of year, month and day is one string.
    """
    parts: Iterable[Any] = ()
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        date = _read_date(value)
        if date:
            yield date
        else:
            parts = [part for key, part in value.items() if key.lower() in _VALUE_KEYS] or value.values()
    elif isinstance(value, list):
        parts = value
    if depth:
        for part in parts:
            yield from strings(part, depth - 1)


def find_entities(value: Any, depth: int = 2) -> dict[str, Any] | None:
    """Return the object that has one of our keys, this one or one inside it, with keys as kinds.

    A list of typed values counts as one, and so does a list of objects that each have one of our keys.
    """
    if isinstance(value, list):
        entries = [*map(_read_entry, value)]
        if entries and all(entries):
            merged: dict[str, Any] = {}
            for kind, part in chain.from_iterable(entries):
                merged.setdefault(kind, []).append(part)
            return merged
        inner_values = value[-1:]
    else:
        by_kind = _group_by_kind(value)
        if not by_kind.keys().isdisjoint(KINDS):
            return by_kind
        inner_values = [*value.values()]
    if not depth:
        return None
    for inner_value in inner_values:
        entities = find_entities(inner_value, depth - 1) if isinstance(inner_value, (dict, list)) else None
        if entities:
            return entities
    return None


def _read_entry(value: Any) -> list[tuple[str, Any]]:
    """Return the (kind, value) pairs of a list entry: an object with our keys, or one with a type.

    `{"type": "email", "value": …}` is one value; its kind is '' if the type is none of ours.
    """
    if not isinstance(value, dict):
        return []
    parts = {key.strip().lower(): part for key, part in value.items()}
    types = [part.lower() for key, part in parts.items() if key in _TYPE_KEYS and isinstance(part, str)]
    if types and not parts.keys().isdisjoint(_VALUE_KEYS):
        kinds = (kind for word, kind in _TYPES.items() if word in types[0])
        return [(next(kinds, ""), value)]
    by_kind = _group_by_kind(value)
    if by_kind.keys().isdisjoint(KINDS):
        return []
    return [*by_kind.items()]


def reverse_objects(values: Sequence[Any]) -> Iterator[Any]:
    """Yield JSON values in reverse order; consecutive typed or one-key objects form a list."""
    run: list[Any] = []
    for value in reversed(values):
        entry = _read_entry(value)
        if entry and (entry[0][1] is value or len(value) == 1):
            run.insert(0, value)
            continue
        if run:
            yield run
            run = []
        if isinstance(value, dict) or any(isinstance(part, dict) for part in value):
            yield value
    if run:
        yield run
