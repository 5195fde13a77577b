"""Puzzles about an order: sets of facts that settle one question, proved by enumerating every ordering.

People are numbered by their true position, 0 at the top, without loss of generality: names are assigned afterwards.
An ordering is a tuple of each person's position.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations, product
from operator import itemgetter
from typing import NamedTuple

Fact = tuple[str, tuple[int, ...]]
"""A kind of fact, and the people that it is about (`count_above`: a person and a number)."""

MarkedFact = tuple[Fact, int]
"""A fact and the set of orderings in which it holds, one bit per ordering."""

Positions = tuple[int, ...]


class Puzzle(NamedTuple):
    """Facts that are true of the order and settle who is at `position` (0: the top)."""

    size: int
    facts: tuple[Fact, ...]
    position: int


HOLDS: Mapping[str, Callable[[Positions, tuple[int, ...]], bool]] = {
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


def _list_facts(size: int) -> list[Fact]:
    """List every fact of interest about `size` people, true or not."""
    everyone = range(size)
    facts: list[Fact] = []
    facts += product(("not_top", "not_bottom", "inner"), zip(everyone, strict=True))
    facts += product(("above", "only_above", "only_below"), permutations(everyone, 2))
    facts += product(("between",), permutations(everyone, 3))
    facts += product(("count_above",), product(everyone, range(2, size - 1)))
    return facts


def _settles(remaining: int, by_person: tuple[int, ...]) -> bool:
    """Return whether the same person is at the position in every remaining ordering."""
    return any(remaining & ~orderings == 0 for orderings in by_person)


def _select_independent(
    facts: Sequence[MarkedFact], count: int, every: int
) -> Iterator[tuple[int, tuple[MarkedFact, ...]]]:
    """Yield (orderings left, facts) of each set in which every fact rules out an ordering that the others leave."""

    def grow(
        start: int, chosen: tuple[MarkedFact, ...], without: tuple[int, ...], remaining: int
    ) -> Iterator[tuple[int, tuple[MarkedFact, ...]]]:
        if len(chosen) == count:
            yield remaining, chosen
            return
        for index in range(start, len(facts)):
            mask = facts[index][1]
            # without[i]: the orderings left by all but the i-th fact; it shrinks, so a redundant set stays so.
            new_without = (*map(mask.__and__, without), remaining)
            new_chosen = (*chosen, facts[index])
            if all(orderings & ~fact[1] for orderings, fact in zip(new_without, new_chosen, strict=True)):
                yield from grow(index + 1, new_chosen, new_without, remaining & mask)

    yield from grow(0, (), (), every)


@cache
def puzzles(size: int, count: int, kinds: tuple[str, ...], positions: tuple[int, ...]) -> tuple[Puzzle, ...]:
    """Return every puzzle of `count` facts about `size` people that asks for one of the positions.

    Each has exactly one answer; its facts are true together, none follows from the others, and none settles the
    question alone. Sets of orderings are bit masks, which keeps this below a second for five people.
    """
    orderings = tuple(permutations(range(size)))
    facts = []
    for kind, people in _list_facts(size):
        holds = HOLDS[kind]
        if kind in kinds and holds(orderings[0], people):
            facts.append(((kind, people), _mask(holds(ordering, people) for ordering in orderings)))
    # In which orderings each person is at a position that is asked for.
    by_position = {position: _mark_people(orderings, position) for position in positions}
    settled = []
    for remaining, chosen in _select_independent(facts, count, (1 << len(orderings)) - 1):
        for position, by_person in by_position.items():
            settles_alone = any(_settles(mask, by_person) for _, mask in chosen)
            if _settles(remaining, by_person) and not settles_alone:
                settled.append(Puzzle(size, tuple(map(itemgetter(0), chosen)), position))
    return tuple(settled)


def _mask(holds: Iterable[bool]) -> int:
    """Return a set of orderings as bits: those in which something holds."""
    return int("".join(map("{:d}".format, holds))[::-1], base=2)


def _mark_people(orderings: Sequence[Positions], position: int) -> tuple[int, ...]:
    """Return for each person the orderings in which they are at a position."""
    positions_by_person = zip(*orderings, strict=True)
    return tuple(_mask(map(position.__eq__, positions)) for positions in positions_by_person)
