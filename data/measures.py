"""Units of measure and counting words: the units of each dimension, in multiples of the smallest."""

from collections.abc import Mapping
from functools import cache

from basic_control.data.beside import read_beside


@cache
def dimensions() -> tuple[Mapping[str, int], ...]:
    """Return each dimension's units by their words, in lower case; the last are the counting words."""
    return tuple(
        {word: size for size, words in measure.items() for word in words.split()}
        for measure in read_beside(__file__)
    )


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
