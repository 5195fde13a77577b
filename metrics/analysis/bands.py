"""Say what a score means in a word: the bands of factual correctness and groundedness."""

from typing import Literal

Band = Literal["excellent", "good", "fair", "poor"]

FLOORS: tuple[tuple[float, Band], ...] = ((0.9, "excellent"), (0.7, "good"), (0.5, "fair"), (0.0, "poor"))
"""The lowest value of each band, from the best band down."""


def band(value: float) -> Band:
    """Return the band of a score in [0, 1]; the unrounded score decides, a floor belongs to its band.

    Source: seeds 002 and 003, the tables of interpretation.
    """
    return next((name for floor, name in FLOORS if value >= floor), "poor")
