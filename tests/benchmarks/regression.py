"""Measure the regression gate: how often equal runs are called regressed, and how often a stated drop is found.

    python -m tests.benchmarks.regression [alike|drop]

Each item has a share of right replies of its own; a run is one reply an item, drawn anew. `alike`: both runs of a
pair are of the same model. `drop`: the detectable drop that equal runs state, put into the second run of each pair
(right replies turned wrong at random), and how many of 1 000 such pairs are called regressed.
"""

import sys
from collections.abc import Iterator

import numpy as np

from metrics.stats.intervals import Floats, wilson
from metrics.stats.margins import detectable_drop
from metrics.stats.power import ALPHA
from metrics.stats.regression import Pairs, Regression, regressions

PAIRS = 1000


def _pairs(run: Floats, baseline: Floats, suite: str) -> Pairs:
    n = len(run)
    return Pairs(suite, run, baseline, np.arange(n), np.full(n, -1), run, baseline)


def _graded(rng: np.random.Generator, centre: Floats) -> Floats:
    """Thirds: what a rubric gives, around each item's own centre."""
    return rng.binomial(2, centre) / 2


def _yes_no(rng: np.random.Generator, centre: Floats) -> Floats:
    return (rng.random(len(centre)) < centre).astype(np.float64)


DRAWS = {"yes/no": _yes_no, "0, 1/2, 1": _graded}


def _share(found: int, n: int = PAIRS) -> str:
    interval = wilson(found, n)
    return f"{100 * found / n:6.1f} % ({100 * (interval.low or 0):.1f} to {100 * (interval.high or 0):.1f})"


def _judged(kind: str, n: int, suites: int, max_drop: float, lost: float = 0.0) -> Iterator[tuple[Regression, ...]]:
    draw, rng = DRAWS[kind], np.random.default_rng(7)
    centres = {f"suite {number}": rng.beta(4, 1, n) for number in range(suites)}
    tolerated = dict.fromkeys(centres, max_drop)
    for trial in range(PAIRS):
        listed = []
        for name, centre in centres.items():
            baseline, run = draw(rng, centre), draw(rng, centre)
            if lost:
                run = np.where(rng.random(n) < lost / centre.mean(), 0.0, run)
            listed.append(_pairs(run, baseline, name))
        yield regressions(listed, max_drop=tolerated, seed=trial, outlook=False)


def alike() -> None:
    """Print how often at least one suite of two runs of one model is called regressed."""
    print(f"{'equal runs':44}{'called regressed (95 %)':>28}{'held':>10}")
    for kind in DRAWS:
        for n, suites in ((100, 1), (300, 1), (300, 4)):
            for max_drop in (0.0, 0.02):
                found = list(_judged(kind, n, suites, max_drop))
                wrong = sum(any(one.outcome == "regressed" for one in four) for four in found)
                held = sum(one.outcome == "held" for four in found for one in four) / PAIRS / suites
                name = f"{kind}, {n} items, {suites} suites, max_drop {max_drop}"
                print(f"{name:44}{_share(wrong):>28}{100 * held:8.1f} %", flush=True)


def drop() -> None:
    """Print how often the detectable drop that a pair of equal runs states is found."""
    print(f"\n{'a true drop of the stated size':44}{'stated':>10}{'found (95 %)':>28}")
    for n in (100, 300, 1000):
        for max_drop in (0.0, 0.02):
            # From the mean of many pairs of equal runs: a single pair states it with its noise.
            equal = [one for (one,) in _judged("yes/no", n, 1, max_drop)]
            differ = float(np.mean([one.won + one.lost for one in equal])) / n
            right = float(np.mean([one.baseline for one in equal]))
            stated = detectable_drop(n, differ, right, max_drop=max_drop, level=ALPHA)
            found = sum(
                one.outcome == "regressed" for (one,) in _judged("yes/no", n, 1, max_drop, lost=stated or 0.0)
            )
            print(
                f"{f'yes/no, {n} items, max_drop {max_drop}':44}{stated or 0:10.4f}{_share(found):>28}", flush=True
            )


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["alike", "drop"]
    if "alike" in wanted:
        alike()
    if "drop" in wanted:
        drop()
