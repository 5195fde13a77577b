"""Choose which rows of a data set are asked: at random from a seed, the first, or all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from data.draw import source
from data.options import Frozen, Seed
from data.records import Item

Method = Literal["random", "first", "all"]


class Sampling(Frozen):
    """Which rows of a data set are asked."""

    method: Method = Field("random", description="random (by the seed), first, or all")
    n: int = Field(30, ge=1, description="how many rows; all where there are fewer")
    seed: Seed = Field(50, description="of the random choice")


def choose(rows: int, *, method: Method, n: int, seed: int) -> list[int]:
    """Return the numbers of the chosen rows, ascending, from 0; all of them where there are no more than `n`.

    A random choice follows from seed, number of rows and n alone, on every machine.
    """
    if method == "all" or n >= rows:
        return list(range(rows))
    if method == "first":
        return list(range(n))
    return sorted(source("sample", seed, rows, n).sample(range(rows), n))


def chosen(items: Sequence[Item], sampling: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the chosen items, each with its place among all as its index."""
    for place in choose(len(items), **sampling):
        yield replace(items[place], index=place)
