"""Characters that act in place of being seen: text of others' is shown with them made visible."""

from data.patterns import pattern

_UNSEEN = pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: object) -> str:
    """Return text whose control and direction characters can be seen, U+202E as ⟦U+202E⟧: no terminal obeys it."""
    return _UNSEEN.sub(lambda found: f"⟦U+{ord(found[0]):04X}⟧", str(text))


def inert(text: object) -> str:
    """Return text on one line that neither a terminal nor a reader of Markdown acts on: no image, link or HTML.

    It reads well where it is not taken for Markdown, too: of Prefect's pages some take it so, others do not.
    """
    return visible(" ".join(str(text).split())).replace("<", "‹").replace("](", "] (").replace("][", "] [")


def storable(text: str) -> str:
    """Return a text that UTF-8 can hold: half of a surrogate pair, which JSON may spell, becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
