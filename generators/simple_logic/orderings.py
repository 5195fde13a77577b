"""Puzzles about an order: sets of facts that settle one question, proved by enumerating every ordering.

People are numbered by their true place, 0 at the top, without loss of generality: names are assigned afterwards. An
ordering is a tuple of each person's place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

Fact = tuple[str, tuple[int, ...]]
"""A kind of fact, and the people that it is about (`count_above`: a person and a number)."""

Marked = tuple[Fact, int]  # a fact and the set of orderings in which it holds, one bit per ordering

Places = tuple[int, ...]


class Puzzle(NamedTuple):
    """Facts that are true of the order and settle who is at `place` (0: the top)."""

    size: int
    facts: tuple[Fact, ...]
    place: int


HOLDS: Mapping[str, Callable[[Places, tuple[int, ...]], bool]] = {
    "above": lambda at, who: at[who[0]] < at[who[1]],
    "not_top": lambda at, who: at[who[0]] > 0,
    "not_bottom": lambda at, who: at[who[0]] < len(at) - 1,
    "inner": lambda at, who: 0 < at[who[0]] < len(at) - 1,
    "between": lambda at, who: at[who[1]] < at[who[0]] < at[who[2]],
    "only_above": lambda at, who: at[who[0]] == 0 and at[who[1]] == 1,
    "only_below": lambda at, who: at[who[0]] == len(at) - 1 and at[who[1]] == len(at) - 2,
    "count_above": lambda at, who: at[who[0]] == who[1],
}
DIRECT = ("above", "not_top", "not_bottom")
INDIRECT = (*DIRECT, "inner", "between", "only_above", "only_below", "count_above")


def _candidates(size: int) -> list[Fact]:
    """List every fact of interest about `size` people, true or not."""
    everyone = range(size)
    found: list[Fact] = [(kind, (who,)) for kind in ("not_top", "not_bottom", "inner") for who in everyone]
    found += [(kind, pair) for kind in ("above", "only_above", "only_below") for pair in permutations(everyone, 2)]
    found += [("between", three) for three in permutations(everyone, 3)]
    return found + [("count_above", (who, above)) for who in everyone for above in range(2, size - 1)]


def _settles(left: int, at_place: tuple[int, ...]) -> bool:
    """Return whether the same person is at the place in every remaining ordering."""
    return any(left & ~here == 0 for here in at_place)


def _independent(facts: Sequence[Marked], count: int, every: int) -> Iterator[tuple[int, tuple[Marked, ...]]]:
    """Yield (orderings left, facts) of each set in which every fact rules out an ordering that the others leave."""

    def grow(start: int, chosen: tuple[Marked, ...], without: tuple[int, ...], left: int) -> Iterator[Any]:
        if len(chosen) == count:
            yield left, chosen
            return
        for at in range(start, len(facts)):
            mask = facts[at][1]
            # without[i]: the orderings left by all but the i-th fact; it shrinks, so a redundant set stays so.
            others = (*(each & mask for each in without), left)
            together = (*chosen, facts[at])
            if all(each & ~fact[1] for each, fact in zip(others, together, strict=True)):
                yield from grow(at + 1, together, others, left & mask)

    yield from grow(0, (), (), every)


@cache
def puzzles(size: int, count: int, kinds: tuple[str, ...], places: tuple[int, ...]) -> tuple[Puzzle, ...]:
    """Return every puzzle of `count` facts about `size` people that asks for one of the places.

    Each has exactly one answer; its facts are true together, none follows from the others, and none settles the
    question alone. Sets of orderings are bit masks, which keeps this below a second for five people.
    """
    orderings = tuple(permutations(range(size)))

    def mask(holds: Iterable[bool]) -> int:
        return sum(1 << bit for bit, there in enumerate(holds) if there)

    facts = [
        ((kind, who), mask(HOLDS[kind](at, who) for at in orderings))
        for kind, who in _candidates(size)
        if kind in kinds and HOLDS[kind](orderings[0], who)
    ]
    at_place = {place: tuple(mask(at[who] == place for at in orderings) for who in range(size)) for place in places}
    return tuple(
        Puzzle(size, tuple(fact for fact, _ in chosen), place)
        for left, chosen in _independent(facts, count, (1 << len(orderings)) - 1)
        for place in places
        if _settles(left, at_place[place]) and not any(_settles(each, at_place[place]) for _, each in chosen)
    )
