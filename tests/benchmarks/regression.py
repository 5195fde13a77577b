"""Measure the regression gate: how often equal runs are called regressed, and whether drops are found as stated.

    python -m tests.benchmarks.regression [equal] [drop] [stated]

Each question has a share of right replies of its own; a run is one reply a question, redrawn. `equal`: both runs
of a pair are of the same model; on templates each run is better or worse by chance. `drop`: one suite of 200 yes/no
questions without templates, of which one pair in five differs, with a true drop of 13 points. `stated`: the
detectable drop that equal runs state, put into the second run of each pair (right replies turned wrong at random).
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from basic_control.metrics.stats.intervals import Floats, wilson
from basic_control.metrics.stats.regression import Regression, regressions
from tests.helpers.pairs import pairs_of
from tests.helpers.simulated import templates_of

PAIRS = 1000


@dataclass(frozen=True)
class Design:
    """Suites of so many questions each, yes/no or in halves, with templates, families of unlike sizes, repeats."""

    n: int = 100
    suites: int = 1
    max_drop: float = 0.0
    grades: bool = False
    templates: int = 0
    families: tuple[int, ...] = ()
    repeats: int = 1


DESIGNS = {
    "yes/no, 100": Design(),
    "yes/no, 300, 4 suites": Design(300, 4),
    "yes/no, 300, 4 suites, 2 %": Design(300, 4, 0.02),
    "halves, 100": Design(grades=True),
    "halves, 300, 4 suites, 2 %": Design(300, 4, 0.02, grades=True),
    "12 templates": Design(240, templates=12),
    "12 templates, 2 %, 3 suites": Design(240, 3, 0.02, templates=12),
    "7 templates": Design(210, templates=7),
    "families of 5 to 100": Design(200, families=(5, 100, 10, 30, 55)),
    "asked five times": Design(60, repeats=5),
}


def _run(rng: np.random.Generator, odds: Floats, design: Design, lost: float = 0.0) -> Floats:
    """Draw a run's values: as (log-)odds say, better or worse on a template by chance, worse by `lost` in all."""
    clusters = templates_of(design.n, design.templates)
    own = rng.normal(0, 0.6, design.templates)[clusters] if design.templates else 0.0
    chance = 1 / (1 + np.exp(-(odds + own)))
    chance *= 1 - lost / chance.mean()
    parts = 2 if design.grades else design.repeats
    return rng.binomial(parts, chance) / parts


def runs(
    design: Design, *, pairs: int = PAIRS, seed: int = 7, lost: float = 0.0, outlook: bool = False
) -> Iterator[list[Regression]]:
    """Yield what pairs of runs come to; the second of each is worse by `lost`."""
    rng = np.random.default_rng(seed)
    clusters = templates_of(design.n, design.templates)
    strata = np.repeat(np.arange(len(design.families)), design.families) if design.families else None
    for _ in range(pairs):
        listed = []
        for _ in range(design.suites):
            odds = rng.normal(1.5, 1.2, design.n)
            baseline, run = _run(rng, odds, design), _run(rng, odds, design, lost)
            listed.append(pairs_of(run, baseline, clusters=clusters, strata=strata))
        yield regressions(listed, max_drop=design.max_drop, outlook=outlook)


def equal(design: Design, *, pairs: int = PAIRS, seed: int = 7) -> tuple[int, float]:
    """Return how many pairs of equal runs have a suite called regressed, and the share of suites called held."""
    found = list(runs(design, pairs=pairs, seed=seed))
    wrong = sum(any(one.outcome == "regressed" for one in listed) for listed in found)
    held = sum(one.outcome == "held" for listed in found for one in listed)
    return wrong, held / pairs / design.suites


def dropped(n: int, discordance: float, drop: float, max_drop: float, *, pairs: int = PAIRS, seed: int = 9) -> int:
    """Return how often a true drop is called regressed, where so large a share of pairs differs."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(pairs):
        drawn = rng.random(n)
        lost, won = drawn < (discordance + drop) / 2, drawn > 1 - (discordance - drop) / 2
        right = rng.random(n) < 0.75
        baseline = np.where(lost, 1.0, np.where(won, 0.0, right))
        run = np.where(lost, 0.0, np.where(won, 1.0, right))
        (one,) = regressions([pairs_of(run, baseline)], max_drop=max_drop, outlook=False)
        found += one.outcome == "regressed"
    return found


def stated(design: Design, *, pairs: int = PAIRS, seed: int = 7) -> tuple[float, int]:
    """Return the drop that equal runs state as detectable, and how often it is called regressed."""
    equal_runs = runs(design, pairs=max(pairs // 5, 40), seed=seed, outlook=True)
    said = [one.detectable for (one,) in equal_runs if one.detectable is not None]
    drop = float(np.median(said))
    found = runs(design, pairs=pairs, seed=seed + 1, lost=drop)
    return drop, sum(one.outcome == "regressed" for (one,) in found)


def _share(found: int, n: int = PAIRS) -> str:
    interval = wilson(found, n)
    return f"{100 * found / n:6.1f} % ({100 * (interval.low or 0):.1f} to {100 * (interval.high or 0):.1f})"


def main(wanted: Sequence[str]) -> None:
    """Print the tables."""
    if "equal" in wanted:
        print(f"{'equal runs':44}{'called regressed (95 %)':>28}{'held':>10}")
        for name, design in DESIGNS.items():
            wrong, held = equal(design)
            print(f"{name:44}{_share(wrong):>28}{100 * held:8.1f} %", flush=True)
    if "drop" in wanted:
        print(f"\n{'a true drop of 13 points, n = 200':44}{'found (95 %)':>28}")
        for max_drop in (0.0, 0.02):
            print(f"{f'max_drop {max_drop}':44}{_share(dropped(200, 0.2, 0.13, max_drop)):>28}", flush=True)
    if "stated" in wanted:
        print(f"\n{'a true drop of the stated size':44}{'stated':>10}{'found (95 %)':>28}")
        for design in (
            Design(100), Design(300), Design(300, max_drop=0.02), Design(1000, max_drop=0.02),
            Design(100, max_drop=0.02, grades=True), Design(240, max_drop=0.02, templates=24),
        ):  # fmt: skip
            drop, found = stated(design)
            kind = "halves" if design.grades else f"{design.templates} templates" if design.templates else "yes/no"
            name = f"{kind}, {design.n} questions, max_drop {design.max_drop}"
            print(f"{name:44}{drop:10.4f}{_share(found):>28}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["equal", "drop", "stated"])
