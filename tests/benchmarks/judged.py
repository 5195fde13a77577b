"""Measure what SPEC 16 promises of judges: how often a coin counts, and a gate errs.

`python -m tests.benchmarks.judged [coins|gates]` prints each.
"""

import sys
from collections.abc import Sequence
from itertools import product

import numpy as np

from basic_control.metrics.analysis.judged import outcome_as_judged
from basic_control.metrics.stats.calibration import MeanRate, contrast, correct_share
from basic_control.metrics.stats.intervals import MeanEstimate, Share, wilson

COINS = 2000
GATES = 20_000
THRESHOLD = 0.8


def counting(rows: Sequence[Sequence[float]], n: int, times: int, rng: np.random.Generator, *, two: bool) -> float:
    """Return how often a judge that says labels with these shares, a row a truth, counts after n of each truth."""
    found = 0
    for _ in range(times):
        table = [rng.multinomial(n, row).tolist() for row in rows]
        others = [row[0] for row in table[1:]]
        yes, no = Share.of(table[0][0], n), Share.of(n * len(others) - sum(others), n * len(others))
        found += contrast(table, yes, no, of_two=two).is_shown
    return found / times


COIN: dict[str, Sequence[Sequence[float]]] = {
    "a coin, yes or no": [[0.5, 0.5]] * 2,
    "yes in 8 of 10": [[0.8, 0.2]] * 2,
    "three labels alike": [[1 / 3] * 3] * 3,
    "three labels, 6 3 1": [[0.6, 0.3, 0.1]] * 3,
    "tells the best, not the others": [[0.9, 0.05, 0.05], [0.04, 0.48, 0.48], [0.04, 0.48, 0.48]],
    "tells the worst, not the others": [[0.48, 0.48, 0.04], [0.48, 0.48, 0.04], [0.04, 0.06, 0.9]],
    "five ratings alike": [[0.2] * 5] * 5,
}
GOOD: dict[str, Sequence[Sequence[float]]] = {
    "yes or no, .95 and .95": [[0.95, 0.05], [0.05, 0.95]],
    "yes or no, .8 and .8": [[0.8, 0.2], [0.2, 0.8]],
    "three labels, .85 right": [[0.85, 0.12, 0.03], [0.075, 0.85, 0.075], [0.03, 0.12, 0.85]],
}


def coins() -> None:
    """Print how often a judge counts that tells nothing apart, and how often one that does."""
    rng = np.random.default_rng(7)
    for named, judges in (("must not", COIN), ("should", GOOD)):
        for (name, rows), n in product(judges.items(), (20, 50, 100)):
            times = COINS if len(rows) == 2 else COINS // 4 if len(rows) == 3 else COINS // 20
            share = counting(rows, n, times, rng, two=len(rows) == 2)
            print(f"{named:8} {name:32} {n:3} of each truth: counts in {share:.1%} of {times}", flush=True)


def passing(truth: float, *, samples: int, exam: int, right: float, times: int, seed: int = 0) -> dict[str, float]:
    """Return how often a judge's score comes to each outcome by point, at the usual threshold."""
    rng = np.random.default_rng(seed)
    ended = {"pass": 0, "fail": 0, "undecided": 0}
    for _ in range(times):
        n_true = rng.binomial(samples, truth)
        said = rng.binomial(n_true, right) + rng.binomial(samples - n_true, 1 - right)
        yes, no = (Share.of(int(rng.binomial(exam, right)), exam) for _ in range(2))
        if not contrast((), yes, no, of_two=True).is_shown:
            continue
        raw = MeanEstimate(said / samples, wilson(int(said), samples))
        fixed = correct_share(said / samples, samples, *(MeanRate(one.k / exam, exam) for one in (yes, no)))
        corrected = MeanEstimate(fixed.value, fixed.interval)
        ended[outcome_as_judged(raw, corrected, THRESHOLD, "point")[0]] += 1
    return {name: count / times for name, count in ended.items()}


def gates() -> None:
    """Print what 100 samples come to by a judge of .95 and .95 after an exam of 20 + 20."""
    for truth in (0.9, 0.7):
        found = passing(truth, samples=100, exam=20, right=0.95, times=GATES)
        told = ", ".join(f"{name} {share:.1%}" for name, share in found.items())
        print(f"truth {truth:.0%}, threshold {THRESHOLD:.0%}: {told} of {GATES}")


def main() -> None:
    """Print the measurements that are named, all unless one is."""
    every = {"coins": coins, "gates": gates}
    for name in sys.argv[1:] or every:
        every[name]()


if __name__ == "__main__":
    main()
