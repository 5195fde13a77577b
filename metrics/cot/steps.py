"""Which parts of a reply are the steps of its chain."""

import re
from typing import NamedTuple

from data.answers import AnswerSearch
from data.sentences import split_sentences


class Segment(NamedTuple):
    """A line or a sentence of a reply; `open`: it is a step only if it calculates, as the text before a marker."""

    text: str
    open: bool = False


def parts(text: str, found: AnswerSearch) -> tuple[list[Segment], list[Segment]]:
    """Split a reply into the parts before its answer's marker, and those after it.

    Parts are lines; of a reply without line breaks, its sentences. What stands before the marker on its own line
    (of
    one paragraph, in its own sentence) is one only if it calculates.

    Source: SPEC 3.
    """
    running = "\n" not in text.strip()
    if found.anchor is None:
        return (_sentences(text) if running else _lines(text)), []
    begin, end = _around(text, found.anchor, running=running)
    before, after = text[:begin], text[end:]
    lead = [Segment(text[begin : found.anchor], open=True)] if text[begin : found.anchor].strip() else []
    if running:
        return [*_sentences(before), *lead], _sentences(after)
    return [*_lines(before), *lead], _lines(after)


def _around(text: str, anchor: int, *, running: bool) -> tuple[int, int]:
    """Return where the line, or the sentence, begins and ends in which the marker stands."""
    if not running:
        end = text.find("\n", anchor)
        return text.rfind("\n", 0, anchor) + 1, len(text) if end < 0 else end
    for start, end in split_sentences(text):
        if start <= anchor < end:
            return start, end
    return anchor, len(text)


def _lines(text: str) -> list[Segment]:
    return [Segment(line) for line in text.split("\n") if line.strip()]


_STOP = re.compile(r"[.!?](?=\s)|[。！？]")


def _sentences(text: str) -> list[Segment]:
    if not _STOP.search(text):
        return [Segment(text)] if text.strip() else []
    return [Segment(text[start:end]) for start, end in split_sentences(text)]
