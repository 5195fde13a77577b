"""Has a run become worse than its baseline: the paired difference of each suite against the drop that is tolerated.

Two one-sided hypotheses a suite, each at 5 % and by Holm over the suites: that the true difference is -max_drop
or more (refused: regressed), and that it is -max_drop or less (refused: held). Yes/no values asked once: at a
tolerated drop of 0 the exact binomial test on the pairs that differ, else Tango's score test; other values: the
sign-flip test over items, or template clusters.

Source: SPEC 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from data.suites import MAX_DROP
from metrics.stats.intervals import Codes, Floats, Interval, Pool, pool
from metrics.stats.margins import (
    Flips,
    below,
    detectable_drop,
    detectable_shift,
    needed_pairs,
    needed_units,
    share_limits,
)
from metrics.stats.power import ALPHA, holm, holm_levels

Change = Literal["regressed", "held", "undecided"]
Test = Literal["binomial", "tango", "sign-flip", "none"]

KEY = ("item_id", "repeat")
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Regression:
    """A suite of a run against the same suite of its baseline, on the items (and repeats) that both have scored.

    `difference` is run - baseline; `interval` has each end one-sided at its Holm level (`levels`), so that
    `outcome` is `regressed` where it lies wholly below -`max_drop`, `held` where it lies wholly above, or all pairs
    are equal; else `undecided`. `improved`: it lies above 0. `won` and `lost` count the pairs in which the run, or
    the baseline, is better. `p_regressed` and `p_held` are one-sided, before Holm. Where it is undecided,
    `detectable` is the smallest true drop that so many items would have shown to be more than `max_drop`, and
    `n_needed` how many pairs would tell that nothing changed from a drop of `max_drop`, both with power 0.8 (None:
    no such number). `low` and `high` are the difference had every cut reply of the one side been right and of the
    other wrong; where the outcome is another there, `cut` is true and the outcome `undecided`.
    """

    suite: str
    max_drop: float
    n: int
    n_left_out: int
    mean: float | None
    baseline: float | None
    difference: float | None
    interval: Interval
    levels: tuple[float, float]
    yes_no: bool
    won: int
    lost: int
    test: Test
    p_regressed: float | None
    p_held: float | None
    outcome: Change
    improved: bool = False
    detectable: float | None = None
    n_needed: int | None = None
    low: float | None = None
    high: float | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a suite: values of the run and of the baseline, side by side, and each pair's item and cluster.

    `run_upper` and `baseline_upper` are the values had every cut reply been right. `items` number the items,
    `clusters` their templates (negative: none). `n_left_out` counts what only one side has scored.
    """

    suite: str
    run: Floats
    baseline: Floats
    items: Codes
    clusters: Codes
    run_upper: Floats
    baseline_upper: Floats
    n_left_out: int = 0

    @property
    def yes_no(self) -> bool:
        """Whether every value is 0 or 1 and every item was asked once, so that the pairs are counts."""
        plain = all(bool(np.isin(column, (0.0, 1.0)).all()) for column in (self.run, self.baseline))
        return plain and len(np.unique(self.items)) == len(self.items)


def pair(suite: str, run: pl.DataFrame, baseline: pl.DataFrame) -> Pairs:
    """Pair two tables of a suite's values by item and repeat; items that ask the same question are one.

    Columns of each: item_id, repeat, value (null: not scored), upper; of `run` also question and cluster.
    """
    both = run.select(*KEY, "question", "cluster", "value", "upper").join(
        baseline.select(*KEY, before="value", before_upper="upper"), on=KEY, how="full", coalesce=True
    )
    asked = both.drop_nulls(["value", "before"]).sort(KEY)
    items = asked["question"].rank("dense").cast(pl.Int64)
    columns = (asked[name].cast(pl.Float64).to_numpy() for name in ("value", "before", "upper", "before_upper"))
    value, before, upper, before_upper = columns
    clusters = asked["cluster"].cast(pl.Int64).fill_null(-1).to_numpy()
    return Pairs(suite, value, before, items.to_numpy(), clusters, upper, before_upper, both.height - asked.height)


def regressions(
    pairs: Sequence[Pairs],
    *,
    max_drop: Mapping[str, float] | None = None,
    seed: int = 0,
    outlook: bool = True,
) -> tuple[Regression, ...]:
    """Say of each suite whether the run regressed, held, or cannot be told; in order.

    `max_drop` is the tolerated drop of suites, in [0, 1]; `MAX_DROP` unless given. `outlook`: of what is undecided,
    also compute what could have been shown.
    """
    tolerated = {one.suite: (max_drop or {}).get(one.suite, MAX_DROP) for one in pairs}
    found = _decided(pairs, tolerated, seed)
    if outlook:
        found = tuple(_with_outlook(one, own, seed) for one, own in zip(found, pairs, strict=True))
    if not any((one.run_upper != one.run).any() or (one.baseline_upper != one.baseline).any() for one in pairs):
        return found
    worst = _decided([replace(one, baseline=one.baseline_upper) for one in pairs], tolerated, seed)
    best = _decided([replace(one, run=one.run_upper) for one in pairs], tolerated, seed)
    return tuple(_bounded(*three) for three in zip(found, worst, best, strict=True))


def _with_outlook(found: Regression, own: Pairs, seed: int) -> Regression:
    test = _test_of(own, found.max_drop, seed) if found.outcome == "undecided" else None
    if test is None:
        return found
    detectable, n_needed = test.outlook(found.levels)
    return replace(found, detectable=detectable, n_needed=n_needed)


def _bounded(found: Regression, worst: Regression, best: Regression) -> Regression:
    """Undecide what comes out differently were the cut replies right."""
    within = replace(found, low=worst.difference, high=best.difference)
    if found.outcome == worst.outcome == best.outcome:
        return replace(within, improved=found.improved and worst.improved)
    return replace(within, outcome="undecided", improved=False, cut=True)


def _decided(pairs: Sequence[Pairs], tolerated: Mapping[str, float], seed: int) -> tuple[Regression, ...]:
    tests = [_test_of(one, tolerated[one.suite], seed) for one in pairs]
    fell, rose = ([test.p_values[side] if test else None for test in tests] for side in (0, 1))
    columns = zip(pairs, tests, holm(fell), holm_levels(fell), holm(rose), holm_levels(rose), strict=True)
    return tuple(
        _regression(one, test, tolerated[one.suite], (p_fell, p_rose), (level_rose or ALPHA, level_fell or ALPHA))
        for one, test, p_fell, level_fell, p_rose, level_rose in columns
    )


@dataclass(frozen=True, slots=True)
class _Shares:
    """Yes/no pairs, as counts."""

    won: int
    lost: int
    n: int
    right: float
    margin: float

    @property
    def p_values(self) -> tuple[float, float]:
        fell = below(self.won, self.lost, self.n, self.margin)
        return float(fell), float(below(self.lost, self.won, self.n, -self.margin))

    def limits(self, levels: tuple[float, float]) -> Interval:
        return Interval(*share_limits(self.won, self.lost, self.n, levels), "tango", self.n)

    def outlook(self, levels: tuple[float, float]) -> tuple[float | None, int | None]:
        discordance = (self.won + self.lost) / self.n
        return (
            detectable_drop(self.n, discordance, self.right, max_drop=-self.margin, level=levels[1]),
            needed_pairs(discordance, max_drop=-self.margin, level=levels[0]),
        )


class _Shifts:
    """Differences of any values, over units."""

    def __init__(self, sample: Pool, margin: float, seed: int) -> None:
        self._sample, self._margin = sample, margin
        self._flips = Flips(sample, seed=seed)
        self.p_values = self._flips.below(margin), self._flips.above(margin)

    def limits(self, levels: tuple[float, float]) -> Interval:
        return Interval(*self._flips.limits(levels), "sign-flip", len(self._sample.sizes))

    def outlook(self, levels: tuple[float, float]) -> tuple[float | None, int | None]:
        sizes, totals = self._sample.sizes, self._sample.totals
        units = len(sizes)
        if units < 2:  # noqa: PLR2004 - a single unit has no spread
            return None, None
        residual = (totals - totals.sum() / sizes.sum() * sizes) / sizes.mean()
        spread = float(np.sqrt(residual @ residual / (units - 1)))
        needed = needed_units(spread, max_drop=-self._margin, level=levels[0])
        return (
            detectable_shift(units, spread, max_drop=-self._margin, level=levels[1]),
            None if needed is None else round(needed * float(sizes.mean())),
        )


def _test_of(one: Pairs, max_drop: float, seed: int) -> _Shares | _Shifts | None:
    if not len(one.run):
        return None
    difference = one.run - one.baseline
    if one.yes_no:
        won, lost = int((difference > 0).sum()), int((difference < 0).sum())
        return _Shares(won, lost, len(difference), float(one.baseline.mean()), -max_drop)
    _, first, unit = np.unique(one.items, return_index=True, return_inverse=True)
    sizes: Floats = np.bincount(unit).astype(np.float64)
    totals = np.bincount(unit, weights=difference).astype(np.float64)
    return _Shifts(pool(totals, sizes, one.clusters[first]), -max_drop, seed)


def _regression(
    one: Pairs,
    test: _Shares | _Shifts | None,
    max_drop: float,
    adjusted: tuple[float | None, float | None],
    levels: tuple[float, float],
) -> Regression:
    difference = one.run - one.baseline
    blank = Regression(
        suite=one.suite,
        max_drop=max_drop,
        n=len(difference),
        n_left_out=one.n_left_out,
        mean=None,
        baseline=None,
        difference=None,
        interval=Interval(),
        levels=levels,
        yes_no=one.yes_no,
        won=int((difference > _NOTHING).sum()),
        lost=int((difference < -_NOTHING).sum()),
        test="none",
        p_regressed=None,
        p_held=None,
        outcome="undecided",
    )
    if test is None:
        return blank
    known = replace(
        blank,
        mean=float(one.run.mean()),
        baseline=float(one.baseline.mean()),
        difference=float(difference.mean()),
        interval=test.limits(levels),
        test="sign-flip" if isinstance(test, _Shifts) else "tango" if max_drop else "binomial",
        p_regressed=test.p_values[0],
        p_held=test.p_values[1],
    )
    fell, rose = ((p or 0.0) < ALPHA for p in adjusted)
    if fell:
        return replace(known, outcome="regressed")
    if rose or not known.won + known.lost:
        low = known.interval.low
        return replace(known, outcome="held", improved=low is not None and low > 0 and bool(known.won))
    return known
