"""Neutralising characters that act instead of being shown, in untrusted text."""

from basic_control.data.patterns import pattern

_UNSEEN = pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def make_visible(text: object) -> str:
    """Return text with control and direction characters made visible: U+202E as ⟦U+202E⟧."""
    return _UNSEEN.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", str(text))


def make_inert(text: object) -> str:
    """Return text on one line, harmless in a terminal and in Markdown: no image, link or HTML.

    It is also readable as plain text: some of Prefect's pages render Markdown, others do not.
    """
    return make_visible(" ".join(str(text).split())).replace("<", "‹").replace("](", "] (").replace("][", "] [")


def shorten(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters, the last of which says that some are left out."""
    if len(text) <= longest:
        return text
    return f"{text[: longest - 1]}…"


def make_storable(text: str) -> str:
    """Return a text that UTF-8 can encode: a lone surrogate, possible in JSON, becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
