"""Take from a response what is no part of its answer: thoughts, and characters that nobody sees."""

from data.thinking import split

REPLY_CAP = 1_000_000
"""Characters of a response that are read: its last ones, since the answer ends it."""

_UNSEEN = (0xAD, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
_SPACES = (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
_SIGNS = {**dict.fromkeys(_UNSEEN), **dict.fromkeys(_SPACES, " ")}
"""Zero-width characters go, spaces of other widths become plain: Python reads neither."""


def answer_part(reply: str) -> str:
    """Return what a response says beside its thinking, line ends and spaces made plain."""
    text = reply[-REPLY_CAP:].replace("\r\n", "\n").replace("\r", "\n")
    return split(text.translate(_SIGNS))[0]
