"""What texts begin with alike, such as instructions or examples before a question: it tells none from another."""

import os.path
from collections.abc import Sequence
from itertools import groupby

LEAST = 60
"""Characters of a beginning that texts share before it is left out: shorter ones are read at a glance."""


def measure_shared_beginnings(texts: Sequence[str]) -> list[int]:
    """Return for each text the length of what it begins with like others, up to a line's or a word's start.

    Texts whose first characters are equal are looked at together, so that one of another kind hides no beginning;
    0 for a text that shares none. Equal texts do not count as several.
    """
    lengths: dict[str, int] = {}
    for _, group in groupby(sorted({*texts}), key=lambda text: text[:LEAST]):
        texts_of_group = [*group]
        if len(texts_of_group) > 1:
            # Of sorted texts the first and the last share what all share.
            shared = os.path.commonprefix([texts_of_group[0], texts_of_group[-1]])  # noqa: RUF071 - of texts, not of paths
            lengths |= dict.fromkeys(texts_of_group, _find_boundary(shared))
    return [lengths.get(text, 0) for text in texts]


def cut_shared_beginnings(texts: Sequence[str]) -> list[str]:
    """Return texts with an ellipsis in place of what they begin with alike."""
    cut = []
    for text, length in zip(texts, measure_shared_beginnings(texts), strict=True):
        shortened = text
        if length:
            shortened = f"… {text[length:]}"
        cut.append(shortened)
    return cut


def _find_boundary(shared: str) -> int:
    """Return where the last line of a common beginning starts, or else its last word; 0 near the start."""
    for ends in ("\n", " "):
        boundary = shared.rfind(ends) + 1
        if boundary >= LEAST:
            return boundary
    return 0
