"""Separation of a model's thinking from its reply: the first pass of reading.

The forms are rows of thinking.yaml. A tag that the prompt or the expected answer contains is content.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.reading.protected import Events

_NUMBERED = re.compile(r"(open|close)([0-9]+)")
_ROLE = re.compile(r"\s*(?:[*_]{0,3}\w{1,12}[*_]{0,3}[:：]\s*)?")
"""What may stand before the thinking that opens a reply: `Assistant: <think>`."""


_PARTED = re.compile(r"(?<=\w)\0(?=\w)")
"""Between words that only thinking parted."""


class ThinkingForm(NamedTuple):
    """Where thinking opens and closes, whether it may stand anywhere, and whether it counts if it never closes."""

    open: re.Pattern[str]
    close: re.Pattern[str]
    is_anywhere: bool
    is_unclosed: bool


class ThinkingTables(NamedTuple):
    """The forms that may stand anywhere, those that only open a reply, and how the first are found.

    `events` finds the openings `open3` and the closings `close3` of form 3; a text without `marks` has none.
    """

    anywhere: list[ThinkingForm]
    opening: list[ThinkingForm]
    marks: re.Pattern[str]
    events: Events


def _read_forms() -> Iterator[ThinkingForm]:
    """Yield the forms of the table: a tag is one of an opening and a closing, with attributes and white space."""
    table = read_beside(__file__)
    flags = re.IGNORECASE
    for area, tags in table["tags"].items():
        for tag in map(re.escape, tags):
            opens, closes = rf"<\s*{tag}(?:\s[^<>]{{0,200}})?>", rf"<\s*/\s*{tag}\s*>"
            is_anywhere = area == "any"
            yield ThinkingForm(re.compile(opens, flags), re.compile(closes, flags), is_anywhere, is_anywhere)
    for row in table["forms"]:
        opens, closes = re.compile(row["open"], flags), re.compile(row["close"], flags)
        yield ThinkingForm(opens, closes, row.get("place") != "start", row.get("unclosed", True))


@cache
def _compile_tables() -> ThinkingTables:
    forms = [*_read_forms()]
    anywhere = [form for form in forms if form.is_anywhere]
    patterns = list[str]()
    for number, form in enumerate(anywhere):
        patterns.append(f"(?P<open{number}>{form.open.pattern})")
        if form.is_unclosed:
            patterns.append(f"(?P<close{number}>{form.close.pattern})")
    names = "|".join(map(re.escape, read_beside(__file__)["tags"]["any"]))
    marks = re.compile(rf"[<\[◁]\s*/?\s*(?:{names}|[|｜]|details)", re.IGNORECASE)
    return ThinkingTables(anywhere, [form for form in forms if not form.is_anywhere], marks, Events(*patterns))


def split(text: str, content: str = "") -> tuple[str, str]:
    """Separate thinking from the reply.

    text -> (reply, thinking). `content`: the prompt and the expected answer. A closing tag without an opening one
    closes thinking that the chat template opened. A text without thinking is returned unchanged.

    Source: SPEC 19, pass 1.
    """
    tables, content = _compile_tables(), content.lower()
    thoughts, position = _split_opening(text, tables, content)
    replies, searched, unclosed = list[str](), position, set[str]()
    event = tables.marks.search(text, position) and tables.events.find_first(text, searched)
    while event:
        searched = max(event.end(), searched + 1)
        kind, number = _NUMBERED.findall(str(event.lastgroup))[0]
        if _is_content(event[0], content) or (kind == "open" and number in unclosed):
            pass
        elif kind == "close":
            # What stands before a closing without an opening was thought, too.
            thoughts.append("".join([*replies, text[position : event.start()]]))
            replies.clear()
            position = event.end()
        else:
            is_first = not replies and _ROLE.fullmatch(text, position, event.start()) is not None
            end, stop = _find_extent(text, event, tables.anywhere[int(number)], is_first=is_first)
            if end < 0:  # no later one closes either
                unclosed.add(number)
            else:
                replies += [text[position : event.start()]] * (not is_first)
                thoughts.append(text[event.end() : end])
                position = searched = stop
        event = tables.events.find_first(text, searched)
    if not thoughts and not position:
        return text, ""
    reply = _PARTED.sub(" ", "\0".join([*replies, text[position:]])).replace("\0", "")
    return reply.strip(), "\n".join(filter(None, map(str.strip, thoughts)))


def _split_opening(text: str, tables: ThinkingTables, content: str) -> tuple[list[str], int]:
    """Return the thinking in a form that only opens a reply, and where the reply goes on."""
    role = _ROLE.match(text)
    begins = {len(text) - len(text.lstrip()), role.end() if role else 0}
    for form in tables.opening:
        for begin in begins:
            opened = form.open.match(text, begin)
            if opened is None or _is_content(opened[0], content):
                continue
            closing = form.close.search(text, opened.end())
            if closing and text[closing.end() :].strip():
                return [text[opened.end() : closing.start()]], closing.end()
            if form.is_unclosed and not closing:
                return [text[opened.end() :]], len(text)
    return [], 0


def _is_content(tag: str, content: str) -> bool:
    """Return whether the prompt or the expected answer has such a tag, open or closed, whatever its attributes."""
    opened = tag.strip().rstrip(">").replace("/", "", 1).lower()
    return bool(opened) and (opened in content or tag.lower() in content)


def _find_extent(text: str, event: re.Match[str], form: ThinkingForm, *, is_first: bool) -> tuple[int, int]:
    """Return where opened thinking ends and where the reply goes on; -1 for an opening that is no thinking."""
    closing = form.close.search(text, event.end())
    if closing:
        return closing.span()
    line = text[text.rfind("\n", 0, event.start()) + 1 : event.start()]
    if form.is_unclosed and (is_first or not line.strip()):
        return len(text), len(text)
    return -1, -1
