"""Separation of a model's thinking from its reply: the first pass of reading.

The forms are rows of thinking.yaml. A tag that the prompt or the expected answer contains is content.
"""

import re
from functools import cache
from typing import NamedTuple

from data.beside import read_beside
from data.reading.protected import Events

_NUMBERED = re.compile(r"(?=[0-9])")
_ROLE = re.compile(r"\s*(?:[*_]{0,3}\w{1,12}[*_]{0,3}[:：]\s*)?")
"""What may stand before the thinking that opens a reply: `Assistant: <think>`."""


class ThinkingForm(NamedTuple):
    """Where thinking opens and closes, and whether it counts if it never closes."""

    open: re.Pattern[str]
    close: re.Pattern[str]
    is_unclosed: bool


class ThinkingTables(NamedTuple):
    """The forms that may stand anywhere, those that only open a reply, and how the first are found.

    `events` finds the openings `open3` and the closings `close3` of form 3; a text without `marks` has none.
    """

    anywhere: list[ThinkingForm]
    opening: list[ThinkingForm]
    marks: re.Pattern[str]
    events: Events


@cache
def _tables() -> ThinkingTables:
    table = read_beside(__file__)
    anywhere, opening, patterns = list[ThinkingForm](), list[ThinkingForm](), list[str]()

    def add(opens: str, closes: str, *, is_anywhere: bool, is_unclosed: bool) -> None:
        if is_anywhere:
            patterns.append(f"(?P<open{len(anywhere)}>{opens})")
            if is_unclosed:
                patterns.append(f"(?P<close{len(anywhere)}>{closes})")
        form = ThinkingForm(re.compile(opens, re.IGNORECASE), re.compile(closes, re.IGNORECASE), is_unclosed)
        (anywhere if is_anywhere else opening).append(form)

    for place, tags in table["tags"].items():
        for tag in map(re.escape, tags):
            opens, closes = rf"<\s*{tag}(?:\s[^<>]{{0,200}})?>", rf"<\s*/\s*{tag}\s*>"
            add(opens, closes, is_anywhere=place == "any", is_unclosed=place == "any")
    for row in table["forms"]:
        is_anywhere, is_unclosed = row.get("place") != "start", row.get("unclosed", True)
        add(row["open"], row["close"], is_anywhere=is_anywhere, is_unclosed=is_unclosed)
    names = "|".join(map(re.escape, table["tags"]["any"]))
    marks = re.compile(rf"[<\[◁]\s*/?\s*(?:{names}|[|｜]|details)", re.IGNORECASE)
    return ThinkingTables(anywhere, opening, marks, Events(*patterns))


def split(text: str, content: str = "") -> tuple[str, str]:
    """Separate thinking from the reply.

    text -> (reply, thinking). `content`: the prompt and the expected answer. A closing tag without an opening one
    closes thinking that the chat template opened. A text without thinking is returned unchanged.

    Source: SPEC 19, pass 1.
    """
    tables, content = _tables(), content.lower()
    thoughts, position = _opening_thought(text, tables, content)
    replies, searched, unclosed = list[str](), position, set[int]()
    has_marks = tables.marks.search(text, position)
    while has_marks and (event := tables.events.first(text, searched)):
        searched = max(event.end(), searched + 1)
        kind, number = _NUMBERED.split(str(event.lastgroup), maxsplit=1)[:2]
        if _is_content(event[0], content) or (kind == "open" and int(number) in unclosed):
            continue
        if kind == "close":
            thoughts.append("".join([*replies, text[position : event.start()]]))
            replies.clear()
            position = event.end()
            continue
        opens = not replies and _ROLE.fullmatch(text, position, event.start()) is not None
        end, stop = _extent(text, event, tables.anywhere[int(number)], opens=opens)
        if end < 0:  # no later one closes either
            unclosed.add(int(number))
            continue
        if not opens:
            replies.append(text[position : event.start()])
        thoughts.append(text[event.end() : end])
        position = searched = stop
    if not thoughts and not position:
        return text, ""
    reply = "".join([*replies, text[position:]])
    return reply.strip(), "\n".join(filter(None, map(str.strip, thoughts)))


def _opening_thought(text: str, tables: ThinkingTables, content: str) -> tuple[list[str], int]:
    """Return the thinking in a form that only opens a reply, and where the reply goes on."""
    role = _ROLE.match(text)
    begins = {role.end() if role else 0, len(text) - len(text.lstrip())}
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


def _is_content(written: str, content: str) -> bool:
    """Return whether the prompt or the expected answer has such a tag, whatever its attributes."""
    tag = written.strip().rstrip(">").lower()
    return bool(tag) and tag in content


def _extent(text: str, event: re.Match[str], form: ThinkingForm, *, opens: bool) -> tuple[int, int]:
    """Return where opened thinking ends and where the reply goes on; -1 for an opening that is no thinking."""
    closing = form.close.search(text, event.end())
    if closing:
        return closing.span()
    begins_line = not text[text.rfind("\n", 0, event.start()) + 1 : event.start()].strip()
    return (len(text), len(text)) if form.is_unclosed and (begins_line or opens) else (-1, -1)
