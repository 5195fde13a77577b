"""The end of a reply: template tokens that servers leak, and text that runs on. The second pass of reading.

The tokens, roles and labels are rows of ends.yaml. Nothing inside a code fence, inline code or a JSON string is a
token, and a token that the prompt or the expected answer contains is content.
"""

import re
from collections import Counter
from functools import cache
from typing import NamedTuple

from data.beside import read_beside
from data.reading.protected import Events
from data.reading.statements import states_answer

_ECHOED = 15
"""Least length of a question that is recognised where a reply repeats it."""
_LONGEST = 64
"""Characters at a reply's end in which a token that says nothing ends it."""
_ANSWER_WORDS = 6
"""Most words of a first paragraph that is an answer by itself."""
_LABEL_LINE = r"(?m:^)[ \t>]*[*_#]{{0,6}}[ \t]*(?P<label>{0})[*_]{{0,3}}[ \t]*[:：][*_]{{0,3}}(?P<asked>[^\n]*)"
_OWN_LABEL = re.compile(r"(?m:^)[ \t*_#]{0,6}([^\W\d_][^\W\d_ ]{0,20}(?: [^\W\d_]{1,12})?)[*_]{0,3}[ \t]*[:：]")
_PLANS = re.compile(
    r"\W*(?:let(?:'s)?|first|ok(?:ay)?|sure|here|to|we|i'll|certainly|давайте|сначала|конечно|好的|首先)[\s,!.，]",
    re.IGNORECASE,
)
_QUOTES = frozenset("\"'“”‘’«»`")
_MARKS = re.compile(r"[<\[▁]")
_SPACE = re.compile(r"\s+")


class EndTables(NamedTuple):
    """The tokens that end a reply, what precedes and follows one, and the labels of a new question."""

    ends: Events
    leading: re.Pattern[str]
    role: re.Pattern[str]
    trailing: re.Pattern[str]
    labels: str


@cache
def _tables() -> EndTables:
    table = read_beside(__file__)
    forms = {section: "|".join(row["form"] for row in rows) for section, rows in table.items()}
    roles, token = forms["roles"], f"{forms['ends']}|{forms['noise']}"
    return EndTables(
        Events(f"(?P<end><s>|{forms['ends']})"),
        re.compile(
            rf"\s*(?:(?:{forms['noise']})|(?:{token})(?:\s*(?:{roles})\s*(?=\n|(?:{token})))?)\s*", re.IGNORECASE
        ),
        re.compile(
            rf"\s*[*_#]{{0,3}}(?:{roles})[*_]{{0,3}}(?:[ \t]*\n|[ \t]*(?<!model)[:：][*_]{{0,3}})\s*",
            re.IGNORECASE,
        ),
        re.compile(rf"\s*(?:{forms['noise']})\s*\Z", re.IGNORECASE),
        forms["labels"],
    )


def split(text: str, prompt: str = "", expected: str = "", *, labels: bool = True) -> tuple[str, str]:
    """Separate a reply from what its server or model wrote beyond its end.

    text -> (reply, what follows: template tokens, or text after them or, with `labels`, after the label of a new
    question). Joined, they are the text.

    Source: SPEC 19, pass 2.
    """
    start, stop = _bounds(text, prompt, expected, labels=labels)
    if stop == len(text):
        return text, ""
    end = max(start, len(text[:stop].rstrip()))
    return text[:end], text[end:]


def strip(text: str, *, prompt: str = "", question: str = "", expected: str = "") -> str:
    """Return a reply without all that is not its own: also tokens, a role and the asked question before it.

    Source: SPEC 19, pass 2.
    """
    start, stop = _bounds(text, prompt, expected, labels=True)
    return text[_after_question(text, start, stop, question) : stop].strip()


def _bounds(text: str, prompt: str, expected: str, *, labels: bool) -> tuple[int, int]:
    """Return where a reply begins and ends."""
    tables = _tables()
    start, stop = 0, len(text)
    if _MARKS.search(text):
        content = (prompt + expected).lower()
        while match := tables.leading.match(text, start):
            start = match.end()
        stop = _token_end(text, start, content, tables)
        while match := tables.trailing.search(text, max(start, stop - _LONGEST), stop):
            stop = match.start()
    role = tables.role.match(text, start, stop)
    if role and text[role.end() : stop].strip():
        start = role.end()
    return start, _run_on(text, start, stop, prompt, tables) if labels else stop


def _token_end(text: str, start: int, content: str, tables: EndTables) -> int:
    """Return where the first token stands that ends the reply; `</s>` ends nothing after an open `<s>`."""
    position, struck = start, 0
    while event := tables.ends.first(text, position):
        written = event[0].lower()
        struck += (written == "<s>") - (written == "</s>")
        is_quoted = (
            text[event.start() - 1 : event.start()] in _QUOTES and text[event.end() : event.end() + 1] in _QUOTES
        )
        is_content = is_quoted or written == "<s>" or (written == "</s>" and struck >= 0) or written in content
        if not is_content:
            return event.start()
        position = event.end()
    return len(text)


def _after_question(text: str, start: int, stop: int, question: str) -> int:
    """Return where a reply goes on after it repeats the asked question, the last time at a line's start."""
    question = question.strip()
    if len(question) < _ECHOED or question[:_ECHOED] not in text:
        return start
    position = text.rfind(question, start, stop)
    while position >= start:
        line = text[text.rfind("\n", 0, position) + 1 : position]
        if (
            re.fullmatch(r"[ \t>*_#]*(?:[^\W\d_]{1,20}[*_]{0,3}\s?[:：][*_]{0,3}\s?)?", line)
            and text[position + len(question) : stop].strip()
        ):
            return position + len(question)
        position = text.rfind(question, start, position)
    return start


def _run_on(text: str, start: int, stop: int, prompt: str, tables: EndTables) -> int:
    """Return where the label of a new question ends a reply that has answered; else where it ends anyway."""
    if ":" not in text and "：" not in text:
        return stop
    repeated = Counter(label.lower() for label in _OWN_LABEL.findall(prompt))
    own = [re.escape(label) for label, count in repeated.items() if count > 1 and not _is_answer_label(label)]
    spaced_prompt = _SPACE.sub(" ", prompt)
    earlier = set[str]()
    for match in _label_lines("|".join([tables.labels, *own])).finditer(text, start, stop):
        before = text[start : match.start()].strip()
        label = match["label"].lower()
        asked = match["asked"].strip(" *_") or text[match.end() : stop].strip().partition("\n")[0]
        is_old = not before or label in earlier or _SPACE.sub(" ", asked).strip() in spaced_prompt
        if not is_old and (states_answer(before) or _is_answer(before)):
            return match.start()
        earlier.add(label)
    return stop


@cache
def _label_lines(labels: str) -> re.Pattern[str]:
    return re.compile(_LABEL_LINE.format(labels), re.IGNORECASE)


def _is_answer_label(label: str) -> bool:
    return states_answer(f"{label}: 1")


def _is_answer(paragraph: str) -> bool:
    """Return whether the text before a label is one paragraph that is an answer by itself: `7`, `Paris.`."""
    is_short = "\n" not in paragraph and len(paragraph.split()) <= _ANSWER_WORDS
    return is_short and not paragraph.endswith((":", "：", "?", "？")) and not _PLANS.match(paragraph)
