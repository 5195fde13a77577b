"""Measure generation and verification of every family: `python -m tests.benchmarks.families [family …]`.

Rows are family x language x level; rates are of one core, by the processor's clock, the best of several rounds
(other work on the machine only ever slows a round down). `x goal` is the rate as a multiple of the goal: 20 000
items/s at level easy, 50 000 verdicts/s (data_extraction: 5 000).
"""

import sys
import time
from collections.abc import Callable, Sequence

from basic_control.data.draw import draw
from basic_control.data.plugins import families
from basic_control.data.records import Family, Item

ITEMS, ROUNDS = 500, 8
GENERATION, VERIFICATION = 20_000, {"data_extraction": 5_000}


def rate(work: Callable[[int], int]) -> float:
    """Return the best number of units a second over the rounds; `work(round)` returns how many it did."""
    best = 0.0
    for turn in range(ROUNDS):
        start = time.process_time()
        done = work(turn)
        best = max(best, done / (time.process_time() - start))
    return best


def generation(family: Family, language: str, level: str) -> float:
    """Return items a second, drawn through `data.draw`."""
    return rate(lambda turn: len(draw(family, level=level, language=language, seed=turn, count=ITEMS)))


def verification(family: Family, items: Sequence[Item]) -> float:
    """Return verdicts a second over items met for the first time: half references, half ones cut short."""
    each = len(items) // ROUNDS

    def work(turn: int) -> int:
        for item in items[turn * each : (turn + 1) * each]:
            reply = family.reference(item)
            family.verify(item, reply)
            family.verify(item, reply[:-1])
        return 2 * each

    return rate(work)


def main(names: Sequence[str]) -> None:
    """Print a line for each cell."""
    print(f"{'family':16} {'':2} {'level':7} {'items/s':>9} {'x goal':>7} {'verdicts/s':>11} {'x goal':>7}")
    for name, family in families().items():
        if names and name not in names:
            continue
        for language in family.languages:
            for level in family.levels:
                items = draw(family, level=level, language=language, seed=99, count=100 * ROUNDS)
                made = generation(family, language, level)
                line = f"{name:16} {language:2} {level:7} {made:9.0f} {made / GENERATION:7.2f}"
                if family.program is None:
                    judged = verification(family, items)
                    line += f" {judged:11.0f} {judged / VERIFICATION.get(name, 50_000):7.2f}"
                print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
