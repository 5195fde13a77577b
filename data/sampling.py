"""Choose which rows of a data set are asked: at random from a seed, the first, or all."""

from typing import Literal

from data.draw import source

Method = Literal["random", "first", "all"]


def choose(rows: int, *, method: Method, n: int, seed: int) -> list[int]:
    """Return the numbers of the chosen rows, ascending, from 0; all of them where there are no more than `n`.

    A random choice follows from seed, number of rows and n alone, on every machine.
    """
    if method == "all" or n >= rows:
        return list(range(rows))
    if method == "first":
        return list(range(n))
    return sorted(source("sample", seed, rows, n).sample(range(rows), n))
