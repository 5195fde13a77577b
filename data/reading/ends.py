"""The end of a reply: template tokens that servers leak, and text that runs on. The second pass of reading.

The tokens, roles and labels are rows of ends.yaml. Nothing inside a code fence, inline code or a JSON string is a
token, and a token that the prompt or the expected answer contains is content.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.reading.protected import Events
from basic_control.data.reading.statements import states_answer

_ECHOED = 15
"""Least length of a question that is recognised where a reply repeats it."""
_LONGEST = 64
"""Characters at a reply's end in which a token that says nothing ends it."""
_ANSWER_WORDS = 6
"""Most words of a first paragraph that is an answer by itself."""
_LABEL_LINE = r"(?m:^)[ \t>]*[*_#]{{0,6}}[ \t]*(?P<label>{0})[*_]{{0,3}}[ \t]*[:：][*_]{{0,3}}(?P<words>[^\n]*)"
_LABEL = re.compile(r"(?m:^)[ \t*_#]{0,6}([^\W\d_][^\W\d_ ]{0,20}(?: [^\W\d_]{1,12})?)[*_]{0,3}[ \t]*[:：]")
_PLANS = re.compile(
    r"\W*(?:let(?:'s)?|first|ok(?:ay)?|sure|here|to|we|i'll|certainly|давайте|сначала|конечно|好的|首先)[\s,!.，]",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’«»`"
_LINE_OPENING = re.compile(r"[ \t>*_#]*(?:[^\W\d_]{1,20}[*_]{0,3}\s?[:：][*_]{0,3}\s?)?")
_SIGN = r"(?:<[|｜]?[^<>\n]{1,40}>|\[/?INST\])"
_REQUEST = re.compile(
    rf"(?s:\s*(?:{_SIGN}|system|user|human)(?:(?!(?<=[>\n|｜])(?:assistant|model)[\s<:|｜]).){{0,20000}}(?<=[>\n|｜\]\s]))",
    re.IGNORECASE,
)
"""What stands before the prompt where a reply begins with its request: tokens, roles, the system's turn."""
_USER = re.compile(
    rf"(?:(?<![^\W_])(?:user|human)|\[INST\]|{_SIGN})\W{{0,3}}(?:{_SIGN}|\s){{0,4}}\Z", re.IGNORECASE
)
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
def _compile_tables() -> EndTables:
    forms = dict[str, str]()
    for section, rows in read_beside(__file__).items():
        forms[section] = "|".join(row["form"] for row in rows)
    roles, noise = forms["roles"], forms["noise"]
    token = f"{forms['ends']}|{noise}"
    leading = rf"\s*(?:(?:{noise})|(?:{token})(?:\s*(?:{roles})\s*(?=\n|(?:{token})))?)\s*"
    role = rf"\s*[*_#]{{0,3}}[ ]?(?:{roles})[*_]{{0,3}}(?:[ \t]*\n|[ \t]*(?<!model)[:：][*_]{{0,3}})\s*"
    return EndTables(
        Events(f"(?P<end><s>|{forms['ends']})"),
        re.compile(leading, re.IGNORECASE),
        re.compile(role, re.IGNORECASE),
        re.compile(rf"\s*(?:{noise})\s*\Z", re.IGNORECASE),
        forms["labels"],
    )


def split_at_end(text: str, prompt: str = "", expected: str = "", *, labels: bool = True) -> tuple[str, str]:
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
    start, stop = _bounds(text, prompt, expected, labels=True, question=question)
    after = _after_question(text, start, stop, question)
    if after > start:
        after = _skip_role(text, after, stop)
    return text[after:stop].strip()


def _bounds(text: str, prompt: str, expected: str, *, labels: bool, question: str = "") -> tuple[int, int]:
    """Return where a reply begins and ends."""
    tables = _compile_tables()
    start, stop = 0, len(text)
    if _MARKS.search(text):
        start = _skip_echo(text, _skip_tokens(text, 0), (prompt, question))
        stop = _find_token(text, start, (prompt + expected).lower(), tables)
        trailing = tables.trailing.search(text, max(start, stop - _LONGEST), stop)
        while trailing:
            stop = trailing.start()
            trailing = tables.trailing.search(text, max(start, stop - _LONGEST), stop)
    start = _skip_role(text, start, stop)
    if labels:
        stop = _find_run_on(text, start, stop, prompt, tables)
    return start, stop


def _skip_tokens(text: str, start: int) -> int:
    """Return where the tokens and roles that begin at a position end."""
    leading = _compile_tables().leading
    token = leading.match(text, start)
    while token:
        start = token.end()
        token = leading.match(text, start)
    return start


def _skip_role(text: str, start: int, stop: int) -> int:
    """Return where a reply goes on behind its role, as in `Assistant: B`."""
    # A role with nothing behind it may be the answer.
    role = _compile_tables().role.match(text, start, stop)
    if role and text[role.end() : stop].strip():
        return role.end()
    return start


def _skip_echo(text: str, start: int, requests: tuple[str, ...]) -> int:
    """Return where a reply goes on behind its request, which some servers send back with it."""
    for request in map(str.strip, requests):
        position = text.find(request) if len(request) >= _ECHOED else -1
        # Further on, it may be the model that asks itself once more.
        if position < 0 or not (_REQUEST.fullmatch(text, 0, position) and _USER.search(text[:position])):
            continue
        end = position + len(request)
        after = _skip_tokens(text, end)
        if text[end:after].strip() and text[after:].strip():
            return after
    return start


def _find_token(text: str, start: int, content: str, tables: EndTables) -> int:
    """Return where the first token stands that ends the reply; `</s>` ends nothing after an open `<s>`."""
    struck = 0
    event = tables.ends.find_first(text, start)
    while event:
        mark = event[0].lower()
        struck += (mark == "<s>") - (mark == "</s>")
        before, after = text[event.start() - 1 : event.start()], text[event.end() : event.end() + 1]
        is_quoted = bool(before and after) and before in _QUOTES and after in _QUOTES
        is_strike = mark == "<s>" or (mark == "</s>" and struck >= 0)
        if not (is_quoted or is_strike or mark in content):
            return event.start()
        event = tables.ends.find_first(text, event.end())
    return len(text)


def _after_question(text: str, start: int, stop: int, question: str) -> int:
    """Return where a reply goes on after it repeats the asked question, the last time at a line's start."""
    question = question.strip()
    if len(question) < _ECHOED or question[:_ECHOED] not in text:
        return start
    position = text.rfind(question, start, stop)
    while position >= start:
        after = position + len(question)
        line = text[text.rfind("\n", 0, position) + 1 : position]
        if _LINE_OPENING.fullmatch(line) and text[after:stop].strip():
            return after
        position = text.rfind(question, start, position)
    return start


def _list_labels(prompt: str) -> Iterator[str]:
    """Yield the prompt's own labels of questions: that on its first line, and those that it repeats."""
    labels = [match[1].lower() for match in _LABEL.finditer(prompt)]
    first = _LABEL.match(prompt.lstrip())
    repeated = {label for label, count in Counter(labels).items() if count > 1}
    for label in repeated | {first[1].lower() if first else ""}:
        if label and not states_answer(f"{label}: 1"):
            yield re.escape(label)


def _find_run_on(text: str, start: int, stop: int, prompt: str, tables: EndTables) -> int:
    """Return where the label of a new question ends a reply that has answered; else where it ends anyway."""
    if ":" not in text and "：" not in text:
        return stop
    spaced_prompt = _SPACE.sub(" ", prompt)
    earlier = set[str]()
    label_lines = _compile_label_lines("|".join([tables.labels, *_list_labels(prompt)]))
    for match in label_lines.finditer(text, start, stop):
        before = text[start : match.start()].strip()
        label = match["label"].lower()
        # The question stands behind its label, or on the next line.
        words = match["words"].strip(" *_") or text[match.end() : stop].strip().partition("\n")[0]
        is_repeated = label in earlier or _SPACE.sub(" ", words).strip() in spaced_prompt
        if before and not is_repeated and (states_answer(before) or _is_answer(before)):
            return match.start()
        earlier.add(label)
    return stop


@cache
def _compile_label_lines(labels: str) -> re.Pattern[str]:
    return re.compile(_LABEL_LINE.format(labels), re.IGNORECASE)


def _is_answer(paragraph: str) -> bool:
    """Return whether the text before a label is one paragraph that is an answer by itself: `7`, `Paris.`."""
    is_short = "\n" not in paragraph and len(paragraph.split()) <= _ANSWER_WORDS
    return is_short and not paragraph.endswith((":", "：", "?", "？")) and not _PLANS.match(paragraph)
