"""Take from a response what is no part of its answer: thoughts, and characters that nobody sees.

Responses are hostile: every regular expression here is linear.
"""

import re

from data.patterns import pattern

REPLY_CAP = 1_000_000
"""Characters of a response that are read: its last ones, since the answer ends it."""

_UNSEEN = (0xAD, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
_SPACES = (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
_SIGNS = {**dict.fromkeys(_UNSEEN), **dict.fromkeys(_SPACES, " ")}
"""Zero-width characters go, spaces of other widths become plain: Python reads neither."""

_TAG = r"<(?P<close>/?)(?:think|thinking|thought|reasoning)>"
_LITERAL = (
    r"(?<![\w\\`])[rbfuRBFU]{0,2}(?:"
    r'"(?:[^"\\\n]|\\[^\n]){0,300}+"' r"|'(?:[^'\\\n]|\\[^\n]){0,300}+'" r"|`[^`\n]{1,300}+`(?!`))"
)  # fmt: skip
_FENCE = r"(?P<fence>^[ \t>]*+(?:`{3,}+|~{3,}+)|(?<=[^\s`])`{3,}+(?=[ \t]*+$))"
_SAID = pattern(rf"{_FENCE}|{_LITERAL}|#[ ][^\n]*+|(?P<tag>{_TAG})", re.IGNORECASE | re.MULTILINE)
_THOUGHT = pattern(rf"{_LITERAL}|(?P<tag>{_TAG})", re.IGNORECASE | re.MULTILINE)


def answer_part(reply: str) -> str:
    """Return what a response says after thinking: `<think>…</think>` removed, line ends and spaces made plain.

    An opening tag that is never closed hides the rest; a closing one that was never opened, all before it. A tag
    in a literal, in a comment or amid a line of fenced code is text.
    """
    text = reply[-REPLY_CAP:].replace("\r\n", "\n").replace("\r", "\n").translate(_SIGNS)
    kept: list[str] = []
    start = at = 0
    thinking = fenced = False
    while found := (_THOUGHT if thinking else _SAID).search(text, at):
        at = found.end()
        if not found["tag"]:
            fenced ^= not thinking and found["fence"] is not None
            continue
        opens = not found["close"]
        if not thinking and fenced and (opens or not _begins_line(text, found.start())):
            continue
        if opens:
            if not thinking:
                kept.append(text[start : found.start()])
            thinking = True
            continue
        if not thinking:
            kept.clear()
        start, thinking, fenced = found.end(), False, False
    return "".join(kept if thinking else [*kept, text[start:]])


def _begins_line(text: str, place: int) -> bool:
    before = text[max(0, place - 80) : place].rpartition("\n")
    return not before[2].strip(" \t>") and (bool(before[1]) or place < 80)  # noqa: PLR2004 - as far as is looked back
