"""Measure intervals of means: how often they hold the truth, and whether asking again narrows them.

    python -m tests.benchmarks.coverage [cells] [suites] [totals] [overall]

`cells`: yes/no values of one family. `suites`: grades in quarters, and two metrics on the same questions. `totals`:
six families of unlike shares. `overall`: a TOTAL (weight 0.4), a graded suite, one of few questions, and one of two
metrics (0.2 each). Each with n questions a family (a suite), asked once and five times, without templates and with,
in as many as n allows; shares from 0.05 to 0.98, 300 draws or more at each (`DRAWN`). Printed are the average over
the shares, the least with its share, and the width where each question was asked five times over that where it was
asked once.
"""

import sys
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from basic_control.metrics.analysis.summary import suite_mean
from basic_control.metrics.stats.intervals import Floats, Interval, MeanEstimate, combine_strata, part_of
from tests.helpers.simulated import SHARES, chances, frame, graded, templates_of, yes_no
from tests.strata import shares

DRAWS = 400
SOME = (0.05, 0.2, 0.5, 0.8, 0.95, 0.98)
DRAWN: dict[str, tuple[int, Sequence[float]]] = {
    "cells": (2000, SHARES),
    "suites": (DRAWS, SHARES),
    "totals": (300, SOME),
    "overall": (300, SOME),
}
"""How many draws at which shares: fewer of what takes long."""
TEMPLATES = {5: 0, 10: 5, 30: 10, 100: 20}
"""How many templates n questions share, where they do; five questions have too few to tell how templates differ."""
Draw = Callable[[np.random.Generator, float, int, int, int], Interval]
"""Draw an interval: of a share, n questions, so many repeats and templates."""


def cell(rng: np.random.Generator, share: float, n: int, repeats: int, shared: int) -> Interval:
    """Draw the interval of a share of right answers."""
    clusters = templates_of(n, shared)
    worth = yes_no(rng, chances(rng, share, clusters), repeats)
    return suite_mean(frame(worth, families=[""] * n, clusters=clusters, repeats=repeats), strata=False).interval


def _graded(rng: np.random.Generator, share: float, n: int, repeats: int, shared: int) -> MeanEstimate:
    clusters = templates_of(n, shared)
    worth = graded(rng, chances(rng, share, clusters), repeats)
    rows = frame(worth, families=[""] * n, clusters=clusters, repeats=repeats, plain=False)
    return suite_mean(rows, strata=False)


def grades(rng: np.random.Generator, share: float, n: int, repeats: int, shared: int) -> Interval:
    """Draw the interval of a mean of grades in quarters."""
    return _graded(rng, share, n, repeats, shared).interval


def _two(rng: np.random.Generator, share: float, n: int, repeats: int, shared: int) -> MeanEstimate:
    clusters = templates_of(n, shared)
    chance = chances(rng, share, clusters)
    drawn = {"one": graded(rng, chance, repeats), "two": yes_no(rng, chance, repeats)}
    rows = [
        frame(worth, families=[""] * n, clusters=clusters, repeats=repeats, metric=name, plain=name == "two")
        for name, worth in drawn.items()
    ]
    return suite_mean(pl.concat(rows), strata=False)


def two_metrics(rng: np.random.Generator, share: float, n: int, repeats: int, shared: int) -> Interval:
    """Draw the interval of the mean of two metrics on the same questions."""
    return _two(rng, share, n, repeats, shared).interval


def _total(rng: np.random.Generator, share: float, n: int, repeats: int, shared: int) -> MeanEstimate:
    each, names, clusters = [], [], []
    for number, own in enumerate(shares(share, "unequal")):
        templates = templates_of(n, shared)
        each.append(yes_no(rng, chances(rng, own, templates), repeats))
        clusters.append(np.where(templates < 0, -1, templates + 1000 * number))
        names += [f"family {number}"] * n
    rows = frame(np.concatenate(each), families=names, clusters=np.concatenate(clusters), repeats=repeats)
    return suite_mean(rows, strata=True)


def total(rng: np.random.Generator, share: float, n: int, repeats: int, shared: int) -> Interval:
    """Draw the interval of a TOTAL over six families."""
    return _total(rng, share, n, repeats, shared).interval


def overall(rng: np.random.Generator, share: float, n: int, repeats: int, shared: int) -> Interval:
    """Draw the interval of an overall score of four suites of the same share."""
    few = max(5, n // 2)
    suites = (
        (0.4, _total(rng, share, n, repeats, shared)),
        (0.2, _graded(rng, share, n, repeats, shared)),
        (0.2, _graded(rng, share, few, repeats, 0)),
        (0.2, _two(rng, share, n, repeats, 0)),
    )
    return combine_strata([part_of(weight, mean.mean or 0.0, mean.interval) for weight, mean in suites])


KINDS: dict[str, dict[str, Draw]] = {
    "cells": {"yes/no": cell},
    "suites": {"grades": grades, "two metrics": two_metrics},
    "totals": {"TOTAL": total},
    "overall": {"overall": overall},
}


def measure(
    draw: Draw,
    n: int,
    repeats: int,
    shared: int,
    *,
    draws: int = DRAWS,
    seed: int = 7,
    listed: Sequence[float] = SHARES,
) -> tuple[Floats, Floats]:
    """Return, for each share, how often the interval holds it, and its mean width."""
    held, widths = [], []
    for share in listed:
        rng = np.random.default_rng([seed, n, repeats, shared, round(1000 * share)])
        found = [draw(rng, share, n, repeats, shared) for _ in range(draws)]
        ends = np.array([(one.low, one.high) for one in found], np.float64)
        held.append(((ends[:, 0] <= share + 1e-9) & (share - 1e-9 <= ends[:, 1])).mean())
        widths.append((ends[:, 1] - ends[:, 0]).mean())
    return np.array(held), np.array(widths)


def main(kinds: Sequence[str]) -> None:
    """Print a line for each kind, number of questions, repeats and templates."""
    print(
        f"{'':14}{'n':>5}{'templates':>11}{'asked':>7}{'average':>9}{'least':>8}{'at':>7}{'width':>8}{'ratio':>7}"
    )
    for kind in kinds:
        draws, listed = DRAWN[kind]
        for name, draw in KINDS[kind].items():
            for n, most in TEMPLATES.items():
                for shared in dict.fromkeys((0, most)):
                    once = 0.0
                    for repeats in (1, 5):
                        held, widths = measure(draw, n, repeats, shared, draws=draws, listed=listed)
                        width, least = widths.mean(), int(held.argmin())
                        once = once or width
                        print(
                            f"{name:14}{n:5}{shared or '-':>11}{repeats:7}{held.mean():9.3f}{held[least]:8.3f}"
                            f"{listed[least]:7}{width:8.3f}{width / once:7.2f}",
                            flush=True,
                        )


if __name__ == "__main__":
    main(sys.argv[1:] or [*KINDS])
