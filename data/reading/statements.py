"""The places of a reply that may state an answer: markers, boxes, tags, JSON, cues. The third pass finds them."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from data.reading.protected import Events
from data.reading.words import MARKUP, answer_cues, pattern

_BLOCK = 300
"""Characters searched first, from a reply's end backwards: the last statement decides. Next blocks are larger."""
WINDOW = 100_000
"""Characters at a reply's end that are searched."""
_FIXED = Events(
    r"(?P<marker>(?<!#)\#{4,}(?!\#))",
    r"(?P<tag><(?:final_?)?(?:answer|ответ)\b[^<>\n]{0,80}>)",
    r"(?P<call>\bfinal_answer\()",
)
_BOX = re.compile(r"\\?f?boxed\s{0,3}\{")
_OBJECT = re.compile(r"\{\s*\"")
_KEYS = ("final_answer", "finalanswer", "final answer", "answer", "ответ", "答案", "choice", "result")
_LONGEST = 2_000
"""Characters of a box or a tag."""


class Statement(NamedTuple):
    """A place that may state an answer: its kind, where it begins, and where what it states begins and ends.

    `content` is that text where it is not the reply's own words (a box, a tag, a member of an object).
    `is_weak`: the cue needs an answer right behind it; `is_said`: a colon or a verb follows.
    """

    kind: str
    start: int
    begin: int
    end: int
    content: str | None = None
    is_weak: bool = False
    is_said: bool = True


def statements(text: str, *, is_chosen: bool) -> Iterator[Statement]:
    """Yield the places that may state an answer, the last first; `is_chosen`: also 'I choose B', 'B is correct'."""
    objects = list(_objects(text)) if "{" in text else []
    end, block = len(text), _BLOCK
    while end > max(0, len(text) - WINDOW):
        begin = text.rfind("\n", 0, max(0, end - block)) + 1
        block *= 4
        found = [
            *_fixed(text, begin, end),
            *_boxes(text, begin, end),
            *_cues(text, begin, end, is_chosen=is_chosen),
        ]
        found = [place for place in found if not any(one.start < place.start < one.end for one in objects)]
        found += [place for place in objects if begin <= place.start < end]
        yield from sorted(found, key=lambda place: (place.start, place.begin), reverse=True)
        end = begin if begin < end else 0


def _fixed(text: str, begin: int, end: int) -> Iterator[Statement]:
    if not ("####" in text or "nswer" in text or "NSWER" in text or "ответ" in text):
        return
    for match in _FIXED.all(text):
        if not begin <= match.start() < end:
            continue
        kind, opened = str(match.lastgroup), match.end()
        if kind == "marker":
            stop = text.find("\n", opened)
            yield Statement(kind, match.start(), opened, stop if stop >= 0 else len(text))
        else:
            closing = ")" if kind == "call" else "</"
            stop = text.find(closing, opened, opened + _LONGEST)
            stop = stop if stop >= 0 else min(len(text), opened + _LONGEST)
            yield Statement(kind, match.start(), opened, stop, text[opened:stop].strip(" \t\n\"'"))


def _boxes(text: str, begin: int, end: int) -> Iterator[Statement]:
    for match in _BOX.finditer(text, begin, end):
        yield Statement("box", match.start(), match.end(), match.end())


def with_content(text: str, statement: Statement) -> Statement:
    """Return a box with its content, which is only looked for where it is needed."""
    end = closing_brace(text, statement.begin)
    return statement._replace(end=end, content=text[statement.begin : end])


def closing_brace(text: str, begin: int) -> int:
    """Return the position of the brace that closes the one before `begin`, or the end of the searched text."""
    depth = 1
    for position in range(begin, min(len(text), begin + _LONGEST)):
        depth += (text[position] == "{") - (text[position] == "}")
        if not depth:
            return position
    return min(len(text), begin + _LONGEST)


def _objects(text: str) -> Iterator[Statement]:
    """Yield the JSON objects that have a member for the answer, or that mark one of several keys as true."""
    decoder, position = json.JSONDecoder(strict=False), 0
    while match := _OBJECT.search(text, position):
        position = match.end()
        with suppress(ValueError, RecursionError):
            value, position = decoder.raw_decode(text, match.start())
            content = _member(value)
            if content is not None:
                yield Statement("json", match.start(), match.start(), position, content)


def _member(value: Any, depth: int = 3) -> str | None:
    """Return the text of an object's answer; several are joined by commas."""
    members = {str(key).strip().lower(): member for key, member in value.items()}
    present = next((members[key] for key in _KEYS if key in members), None)
    if isinstance(present, dict) and depth:
        return _member(present, depth - 1)
    if isinstance(present, list):
        return ", ".join(map(str, present))
    if present is not None and not isinstance(present, dict):
        return str(present).lower() if isinstance(present, bool) else str(present)
    if value and all(isinstance(member, bool) for member in value.values()):
        return ", ".join(str(key) for key, member in value.items() if member)
    return None


def _cues(text: str, begin: int, end: int, *, is_chosen: bool) -> Iterator[Statement]:
    block = text[begin:end]
    for match in answer_cues(block).finditer(block):
        group = match.lastgroup or ""
        is_weak, is_said, kind = group.startswith("weak"), bool(group), "few_shot" if group == "few_shot" else "cue"
        start, stop = begin + match.start(), begin + match.end()
        if text[start - 1 : start] in {"<", "/"}:  # a tag
            continue
        yield Statement(kind, start, stop, stop, is_weak=is_weak, is_said=is_said)
    if is_chosen:
        for section in ("choosing", "remainders", "rightness"):
            after = "" if section == "rightness" else rf"{MARKUP}{{0,3}}[:：]?"
            for match in pattern(section, block, after=after).finditer(block):
                yield Statement(section, begin + match.start(), begin + match.end(), begin + match.end())


def states_answer(text: str) -> bool:
    """Return whether a text has a marker, a box, a tag or a cue with something behind it."""
    return any(
        statement.kind != "cue"
        or (statement.is_said and not statement.is_weak and text[statement.end :].strip(" *_\n"))
        for statement in statements(text, is_chosen=False)
    )
