"""Quick draws of arguments (Random.randint and choice cost most of an item's time)."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

WORDS = (
    "apple", "bread", "candle", "door", "eagle", "forest", "garden", "hill", "island", "jacket", "kettle", "lamp",
    "meadow", "needle", "ocean", "pepper", "quilt", "river", "saddle", "table", "umbrella", "valley", "window",
    "yellow", "zebra", "anchor", "bottle", "copper", "dragon", "engine", "feather", "glass", "hammer", "ivory",
    "jungle", "kitten", "ladder", "mirror", "noodle", "orange", "pillow", "rabbit", "silver", "tunnel", "violet",
    "wagon", "boot", "coffee", "moss", "tree",
)  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def between(rng: Random, low: int, high: int) -> int:
    """Return an integer from low to high, both included."""
    return low + int(rng.random() * (high - low + 1))


def pick(rng: Random, options: Sequence[T]) -> T:
    """Return one of the options."""
    return options[int(rng.random() * len(options))]


def integers(rng: Random, count: int, low: int, high: int) -> list[int]:
    """Return that many integers from low to high."""
    draw, span = rng.random, high - low + 1
    return [low + int(draw() * span) for _ in range(count)]


def distinct(rng: Random, count: int, low: int, high: int) -> list[int]:
    """Return that many different integers from low to high, in random order."""
    found: list[int] = []
    while len(found) < count:
        number = between(rng, low, high)
        if number not in found:
            found.append(number)
    return found


def word(rng: Random) -> str:
    """Return a lower-case word of at least four letters."""
    return WORDS[int(rng.random() * len(WORDS))]


def words(rng: Random, count: int) -> list[str]:
    """Return that many words, repeats allowed."""
    return [WORDS[int(rng.random() * len(WORDS))] for _ in range(count)]


def letters(rng: Random, count: int, alphabet: str = LETTERS) -> str:
    """Return a text of that many letters."""
    return "".join([alphabet[int(rng.random() * len(alphabet))] for _ in range(count)])
