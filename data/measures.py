"""Units of measure and counting words: the units of each dimension, in multiples of the smallest."""

from collections.abc import Mapping
from functools import cache

from basic_control.data.beside import read_beside


@cache
def dimensions() -> tuple[Mapping[str, int], ...]:
    """Return each dimension's units by their words, in lower case; the last are the counting words."""
    return tuple(map(_spread_words, read_beside(__file__)))


def _spread_words(measure: Mapping[int, str]) -> dict[str, int]:
    """Return the size of each word of a measure; the table has the words of a size in one text."""
    return {word: size for size, words in measure.items() for word in words.split()}


@cache
def _words() -> frozenset[str]:
    return frozenset().union(*dimensions())


def unit(word: str) -> str:
    """Return the unit that a word after a number denotes; '' if it is not a convertible unit."""
    lowered = word.lower()
    if lowered in _words():
        return lowered
    if lowered and lowered[0] >= "\u2e80":  # Chinese goes on without a space: 小时后
        for length in (3, 2, 1):
            if lowered[:length] in _words():
                return lowered[:length]
    return ""
