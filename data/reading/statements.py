"""The places of a reply that may state an answer: markers, boxes, tags, JSON, cues. The third pass finds them."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from basic_control.data.reading.protected import Events
from basic_control.data.reading.words import MARKUP, answer_cues, pattern

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
_FAILURES = 20
"""Beginnings of objects that turn out to be none, after which no further one is looked for."""
_MARKS = re.compile(r"####|<(?:final_?)?(?:answer|ответ)|final_answer\(", re.IGNORECASE)
"""How every marker, tag and call begins."""


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
    objects = list(_find_objects(text))
    end, size = len(text), _BLOCK
    while end > max(0, len(text) - WINDOW):
        begin = text.rfind("\n", 0, max(0, end - size)) + 1
        size *= 4
        block = [*_find_fixed(text, begin, end), *_find_boxes(text, begin, end), *_find_cues(text, begin, end)]
        if is_chosen:
            block += _find_choices(text, begin, end)
        # A key of an object is no cue.
        block = [statement for statement in block if not _is_in(statement, objects)]
        block += [value for value in objects if begin <= value.start < end]
        yield from sorted(block, key=_order, reverse=True)
        if begin >= end:
            return
        end = begin


def _order(statement: Statement) -> tuple[int, int]:
    return statement.start, statement.begin


def _is_in(statement: Statement, objects: list[Statement]) -> bool:
    return any(value.start < statement.start < value.end for value in objects)


def _find_boxes(text: str, begin: int, end: int) -> Iterator[Statement]:
    for box in _BOX.finditer(text, begin, end):
        yield Statement("box", box.start(), box.end(), box.end())


def _find_cues(text: str, begin: int, end: int) -> Iterator[Statement]:
    block = text[begin:end]
    for cue in answer_cues(block).finditer(block):
        start, stop, group = begin + cue.start(), begin + cue.end(), cue.lastgroup or ""
        if text[start - 1 : start] in {"<", "/"}:  # a tag
            continue
        if group == "few_shot":
            yield Statement("few_shot", start, stop, stop)
        else:
            yield Statement("cue", start, stop, stop, is_weak=group.startswith("weak"), is_said=bool(group))


def _find_choices(text: str, begin: int, end: int) -> Iterator[Statement]:
    block = text[begin:end]
    for section, colon in _CHOICES.items():
        for match in pattern(section, block, after=colon).finditer(block):
            yield Statement(section, begin + match.start(), begin + match.end(), begin + match.end())


_CHOICES = {"choosing": rf"{MARKUP}{{0,3}}[:：]?", "remainders": rf"{MARKUP}{{0,3}}[:：]?", "rightness": ""}
"""What states one of a few answers, and the colon that may follow."""


def _find_fixed(text: str, begin: int, end: int) -> Iterator[Statement]:
    """Yield the markers, tags and calls of a stretch."""
    if not _MARKS.search(text):
        return
    for match in _FIXED.find_all(text):
        if not begin <= match.start() < end:
            continue
        kind, opened = str(match.lastgroup), match.end()
        if kind == "marker":
            yield Statement(kind, match.start(), opened, _find_end(text, opened, "\n", len(text)))
        else:
            closing = {"call": ")", "tag": "</"}[kind]
            stop = _find_end(text, opened, closing, opened + _LONGEST)
            yield Statement(kind, match.start(), opened, stop, text[opened:stop].strip(" \t\n\"'"))


def _find_end(text: str, begin: int, closing: str, limit: int) -> int:
    """Return where a closing stands, at the limit or the text's end at the latest."""
    stop = text.find(closing, begin, limit)
    return stop if stop >= 0 else min(len(text), limit)


def with_content(text: str, statement: Statement) -> Statement:
    """Return a box with its content, which is only looked for where it is needed."""
    end = find_brace(text, statement.begin)
    return statement._replace(end=end, content=text[statement.begin : end])


def find_brace(text: str, begin: int) -> int:
    """Return the position of the brace that closes the one before `begin`, or the end of the searched text."""
    depth, end = 1, min(len(text), begin + _LONGEST)
    for brace in _BRACE.finditer(text, begin, end):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if not depth:
            return brace.start()
    return end


def _find_objects(text: str) -> Iterator[Statement]:
    """Yield the JSON objects that have a member for the answer, or that mark one of several keys as true."""
    decoder, failures = json.JSONDecoder(strict=False), 0
    match = _OBJECT.search(text)
    while match and failures < _FAILURES:
        position = match.end()
        try:
            value, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failures += 1
        else:
            content = _find_member(value)
            if content is not None:
                yield Statement("json", match.start(), match.start(), position, content)
        match = _OBJECT.search(text, position)


def _find_member(value: Any, depth: int = 3) -> str | None:
    """Return the text of an object's answer; several are joined by commas."""
    members = {str(key).strip().lower(): member for key, member in value.items()}
    answers = [members[key] for key in _KEYS if key in members]
    if answers and isinstance(answers[0], dict) and depth:
        return _find_member(answers[0], depth - 1)
    if answers and answers[0] is not None:
        return _write(answers[0])
    # Flags: of A false and B true, B is the answer.
    flags = [member for member in value.values() if isinstance(member, bool)]
    if flags and len(flags) == len(value):
        return ", ".join(str(key) for key, member in value.items() if member)
    return None


def _write(member: Any) -> str:
    """Return a member as text: a list with commas, true as JSON writes it."""
    if isinstance(member, list):
        return ", ".join(map(str, member))
    return str(member).lower() if isinstance(member, bool) else str(member)


_BRACE = re.compile(r"[{}]")


def states_answer(text: str) -> bool:
    """Return whether a text has a marker, a box, a tag or a cue with something behind it."""
    for statement in statements(text, is_chosen=False):
        is_cue = statement.is_said and not statement.is_weak and text[statement.end :].strip(" *_\n")
        if statement.kind != "cue" or is_cue:
            return True
    return False
