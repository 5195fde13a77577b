"""Pieces of code in a response: its answer, fenced blocks, inline spans, chunks of unfenced code.

Responses are hostile: every regular expression here is linear, and the amount of text is bounded.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from basic_control.data.patterns import pattern
from basic_control.data.reading import ends, thinking

REPLY_CAP = 1_000_000
"""Characters of a response that are read, from its end, where the answer is."""
SOURCE_CAP = 64_000
"""Maximum length of a program in characters; longer ones are ignored (parsing 10 MB took 850 MB of memory)."""
BLOCKS_CAP = 64
"""Maximum number of fenced blocks tried, from the last one backwards."""
_UNSEEN = (0xAD, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
_SPACES = (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
_SIGNS = {**dict.fromkeys(_UNSEEN), **dict.fromkeys(_SPACES, " ")}
"""Zero-width characters are removed, other spaces become plain: Python accepts neither."""
# ```python, ~~~, and a fence at the end of a line of code.
_FENCE = pattern(r"^([ \t>]*+)(`{3,}+|~{3,}+)([^\n]*+)$|(?<=[^\s`])(?P<late>`{3,}+)[ \t]*+$", re.MULTILINE)
_TAG = pattern(r"[ \t]*\{?\.?([\w+#-]*)\}?")
_CODE_AFTER_TAG = pattern(r"(?:async[ ]+def|def|class|fun|import|from|val)\b")
_QUOTED = pattern(r"^[ \t]*>[ ]?", re.MULTILINE)
# Strings and comments, whose brackets do not count, and then brackets, those that open in group 1.
_MARKS = pattern(r"'(?:[^'\\\n]|\\[^\n]){0,300}+'|\"(?:[^\"\\\n]|\\[^\n]){0,300}+\"|#[^\n]*+|([(\[{])|([)\]}])")
_HEAD = pattern(r"[ \t]*(?:(?:async[ ]+def|def|class|fun|import|from)[ ]+\w|@\w|```|~~~)")
_GOES_ON = ("}", ")", "]", "else", "elif ", "except", "finally", "catch", ".", "?:", "&&", "||")
"""Starts of an unindented line that continues the statement before it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language tag (lower case, may be empty), its text, and whether a fence closes it.

    `longer` also includes the text up to the next fences: a fence may be inside a docstring.
    """

    tag: str
    text: str
    closed: bool
    longer: tuple[str, ...] = ()


def cut_answer(reply: str) -> str:
    """Return a response without its thinking and leaked tokens, with line ends and spaces made plain."""
    text = reply[-REPLY_CAP:].replace("\r\n", "\n").replace("\r", "\n")
    spoken, _ = thinking.split(text.translate(_SIGNS))
    return ends.split_at_end(spoken, labels=False)[0]


def split_fences(text: str) -> tuple[list[Block], str]:
    """Return the fenced blocks of a text, and the text outside of them.

    A fence with a tag opens a new block even if the previous one was never closed. A fence at the end of a line of
    code can only close.
    """
    blocks: list[Block] = []
    outside: list[str] = []
    fences = list(_FENCE.finditer(text))
    opened: int | None = None
    outside_start = 0  # start of the text outside
    for number, fence in enumerate(fences):
        if opened is None:
            if fence["late"]:
                continue
            outside.append(text[outside_start : fence.start()])
            opened = number
        elif _closes(fences[opened], fence):
            blocks.append(_build_block(text, fences, opened, number))
            opened, outside_start = None, fence.end()
        elif not fence["late"] and fence[3].strip():
            blocks.append(_build_block(text, fences, opened, number, closed=False))
            opened, outside_start = number, fence.start()
    if opened is not None:
        blocks.append(_build_block(text, fences, opened, len(fences), closed=False))
    else:
        outside.append(text[outside_start:])
    return blocks, "\n".join(outside)


def _closes(opening: re.Match[str], fence: re.Match[str]) -> bool:
    marks = fence["late"] or fence[2]
    return marks[0] == opening[2][0] and len(marks) >= len(opening[2]) and not (fence[3] or "").strip()


def _build_block(text: str, fences: list[re.Match[str]], opened: int, end: int, *, closed: bool = True) -> Block:
    opening = fences[opened]
    tag = _TAG.match(opening[3])
    first = ""
    if tag and _CODE_AFTER_TAG.match(opening[3][tag.end() :].strip()):  # ```python def f(x):
        first = f"{opening[3][tag.end() :].strip()}\n"

    def read_content(last: int) -> str:
        stop = fences[last].start() if last < len(fences) else len(text)
        inner = text[min(opening.end() + 1, stop) : min(stop, opening.end() + 1 + SOURCE_CAP + 1)]
        if ">" in opening[1]:
            inner = _QUOTED.sub("", inner)
        if first:
            return first + inner
        return textwrap.dedent(inner)

    # Among very many fences, none is inside of a string.
    later = range(end + 1, min(end + 3, len(fences))) if len(fences) <= BLOCKS_CAP else ()
    return Block(tag[1].lower() if tag else "", read_content(end), closed, tuple(map(read_content, later)))


def find_spans(text: str, opening: str) -> list[str]:
    """Return the code of inline spans (`` `def f(x): return x` ``) that begins with a pattern."""
    pattern = re.compile(rf"(?<!`)`{{1,3}}(?:python3?|py|kotlin|kt)?[ ]*({opening}[^`\n]*)`")
    return [match[1] for match in pattern.finditer(text)]


def split_chunks(text: str, indent: str, start: re.Pattern[str], comment: str) -> Iterator[tuple[int, str]]:
    """Yield (line, code) of each statement that begins at an indentation, with the indentation removed.

    A statement begins where `start` matches; blank lines, deeper ones, comments and the content of its brackets
    belong to it. Decorators and annotations belong to the statement after them.
    """
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        if not (lines[at].startswith(indent) and start.match(lines[at], len(indent))):
            at += 1
            continue
        end = at
        while end < len(lines) and lines[end].startswith(f"{indent}@"):
            end += 1
        n_quotes, depth = 0, 0
        if end < len(lines):
            n_quotes, depth = _count_quotes(lines[end]), _measure_depth(lines[end])
        end += 1
        # The lines that go on with it: in a string, deeper, or in brackets that a new definition does not end.
        while end < len(lines) and (
            n_quotes % 2 or _belongs(lines[end], indent, comment) or (depth > 0 and not _HEAD.match(lines[end]))
        ):
            line_quotes = _count_quotes(lines[end])
            if not (n_quotes % 2 or line_quotes):
                depth += _measure_depth(lines[end])
            n_quotes += line_quotes
            end += 1
        yield at, "\n".join(line.removeprefix(indent) for line in lines[at:end]).rstrip()
        at = end


def _count_quotes(line: str) -> int:
    """Count the triple quotes, inside of which indentation is free."""
    return line.count('"""') + line.count("'''")


def _measure_depth(line: str) -> int:
    """Return how many brackets a line leaves open, ignoring short strings and comments."""
    return sum(bool(mark[1]) - bool(mark[2]) for mark in _MARKS.finditer(line))


def _belongs(line: str, indent: str, comment: str) -> bool:
    if not line.strip() or line.lstrip().startswith(comment):
        return True
    if not line.startswith(indent):
        return False
    content = line[len(indent) :]
    return content[0] in " \t" or content.startswith(_GOES_ON)


def read_indentation(line: str) -> str:
    """Return the leading white space of a line."""
    return line[: len(line) - len(line.lstrip(" \t"))]
