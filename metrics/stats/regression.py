"""Regression tests: each suite's paired difference from its baseline, against the tolerated drop.

There are two one-sided hypotheses a suite, each at 5 % and by Holm over the suites: that the true difference is
-max_drop or more (rejected: regressed), and that it is -max_drop or less (rejected: held). Tests and limits are
those of `metrics.stats.margins`.

Source: SPEC 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from data.suites import MAX_DROP
from metrics.stats.intervals import Floats, Interval
from metrics.stats.margins import Differences, MarginTest, method_of, paired, weighted_mean
from metrics.stats.missing import ALIKE, ENDS, equated
from metrics.stats.power import ALPHA, HolmStep, detectable, holm, needed_units

Change = Literal["regressed", "held", "undecided"]
Test = Literal["binomial", "tango", "student", "sign-flip", "equal", "none"]


@dataclass(frozen=True, slots=True)
class Regression:
    """A suite of a run compared with the same suite of its baseline, on the questions that both have scored.

    `difference` is run - baseline (with strata: of TOTAL / 100); `interval` has each end one-sided at its Holm
    level (`levels`), so that `outcome` is `regressed` if it lies wholly below -`max_drop` and `held` if it lies
    wholly above. It is also `held` if all pairs are equal and nothing is tolerated, or all responses are identical;
    else `undecided`. `improved`: the interval lies above 0. `n` questions are compared, `n_left_out` lack a score;
    `won` and `lost` count those on which the run, or the baseline, is better. `p_regressed` and `p_held` are
    one-sided, before Holm. If undecided, `detectable` is the smallest true drop that so many questions would have
    shown to be more than `max_drop`, and `n_needed` the number that would tell no change from a drop of `max_drop`,
    both with power 0.8 at these levels (None: no such number).

    `low` and `high` are the worst and best possible differences for the run given missing and truncated responses,
    of the questions left out and of `n_cut` that are scored; if the outcome differs there, it `hangs` on them and
    is `undecided`. `n_alike` questions are missing on both sides for the same cause, and equal there.
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
    n_cut: int = 0
    hangs: bool = False
    n_alike: int = 0


_OPEN = (pl.col("lower") != pl.col("upper")) | (pl.col("lower_before") != pl.col("upper_before"))
"""Whether a question's value has bounds on either side."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The questions of a suite that run and baseline were both asked, side by side.

    A row is a question: `value` of the run (null: not scored), its bounds `lower` and `upper`, and the baseline's,
    with `_before`; `cluster`, the number of its template (negative: none); `stratum`, one of the equally weighted
    families of a suite with strata, and `share` its weight there; `identical`: the two responses are the same.
    `n_alike`: missing for the same cause in both.
    """

    suite: str
    rows: pl.DataFrame
    n_alike: int = 0

    @property
    def scored(self) -> pl.DataFrame:
        """The questions that both sides have scored."""
        return self.rows.drop_nulls(["value", "value_before"])

    @property
    def bounded(self) -> bool:
        """Whether anything is missing or truncated, so that the difference has bounds."""
        return not self.rows.filter(_OPEN | pl.any_horizontal(pl.col("value", "value_before").is_null())).is_empty()

    def sample(self, run: str, baseline: str) -> Differences | None:
        """Make the differences of the values that both sides have; None if there are none."""
        rows = self.rows.drop_nulls([run, baseline])
        if rows.is_empty():
            return None
        after, before, clusters = (rows[name].to_numpy() for name in (run, baseline, "cluster"))
        return paired(after, before, weights=weights_of(rows), clusters=clusters)

    def mean(self, side: str) -> float | None:
        """Return the mean over what both have scored, with strata weighted equally; None if nothing is."""
        rows = self.scored
        return None if rows.is_empty() else weighted_mean(rows[side].to_numpy(), weights_of(rows))


def weights_of(rows: pl.DataFrame) -> Floats:
    """Return each question's weight in the mean over equally weighted strata, by its share; they add up to 1."""
    share = pl.col("share")
    each = share / share.sum().over("stratum") / pl.col("stratum").n_unique()
    return rows.select(each).to_series().to_numpy()


def pair(suite: str, run: pl.DataFrame, baseline: pl.DataFrame) -> Pairs:
    """Pair two tables of a suite's values by item; equal questions enter by their mean.

    A row is an item; columns of each: item_id, value (null: not scored), lower and upper (null: does not apply),
    cause (why it is not scored) and reply (a digest of its responses; null: unknown); of `run` also question,
    cluster, stratum and share. Questions missing on both sides for the same cause are equal there.
    """
    # In the items' order: of equal questions the first one's template and stratum count.
    both = run.sort("item_id").join(baseline, on="item_id", suffix="_before", maintain_order="left")
    alike = (pl.col("reply") == pl.col("reply_before")).fill_null(value=False)
    rows = (
        equated(both)
        .drop_nulls(ENDS)
        .group_by("question")
        .agg(
            pl.col("value", "value_before", "share", *ENDS).mean(),
            pl.col("cluster", "stratum").first(),
            identical=alike.all(),
        )
        .sort("question")
        .with_columns(
            pl.col("value", "value_before", *ENDS).cast(pl.Float64),
            pl.col("cluster").cast(pl.Int64).fill_null(-1),
            pl.col("stratum").rank("dense").cast(pl.Int64).fill_null(0),
        )
    )
    return Pairs(suite, rows, both.select(ALIKE.sum()).item())


def regressions(
    pairs: Sequence[Pairs], *, max_drop: Mapping[str, float] | None = None, outlook: bool = True
) -> tuple[Regression, ...]:
    """Return for each suite whether the run regressed, held, or is undecided; in order.

    `max_drop` is the suites' tolerated drop, in [0, 1]; default `MAX_DROP`. `outlook`: for undecided suites, also
    compute what could have been shown.
    """
    tolerated = [(max_drop or {}).get(one.suite, MAX_DROP) for one in pairs]
    samples = [one.sample("value", "value_before") for one in pairs]
    found = _decided(pairs, samples, tolerated)
    if any(one.bounded for one in pairs):
        worst = [one.sample("lower", "upper_before") for one in pairs]
        best = [one.sample("upper", "lower_before") for one in pairs]
        ends = (_decided(pairs, ones, tolerated) for ones in (worst, best))
        found = [*map(_bounded, pairs, found, *ends)]
    if outlook:
        found = [_with_outlook(one, sample) for one, sample in zip(found, samples, strict=True)]
    return tuple(found)


def _with_outlook(found: Regression, sample: Differences | None) -> Regression:
    if found.outcome != "undecided" or sample is None:
        return found
    right = max(found.mean or 0.0, found.baseline or 0.0)
    return replace(
        found,
        detectable=detectable(sample, right, level=found.levels[1], max_drop=found.max_drop),
        n_needed=needed_units(sample, max_drop=found.max_drop, level=found.levels[0]),
    )


def _bounded(own: Pairs, found: Regression, worst: Regression, best: Regression) -> Regression:
    """Mark as undecided what differs at the bounds of missing or truncated responses."""
    if not own.bounded:
        return found
    within = replace(found, low=worst.difference, high=best.difference)
    if found.outcome == worst.outcome == best.outcome:
        return replace(within, improved=found.improved and worst.improved)
    return replace(within, outcome="undecided", improved=False, hangs=True)


def _decided(
    pairs: Sequence[Pairs], samples: Sequence[Differences | None], tolerated: Sequence[float]
) -> list[Regression]:
    level = ALPHA / max(len(pairs), 1)
    tests = [method_of(sample, level=level) if sample else None for sample in samples]
    both = [(test, -drop) for test, drop in zip(tests, tolerated, strict=True)]
    fell = [test.below(margin) if test else None for test, margin in both]
    rose = [test.above(margin) if test else None for test, margin in both]
    tested = zip(samples, tests, strict=True)
    return [*map(_regression, pairs, tested, tolerated, holm(fell), holm(rose))]


def _regression(
    own: Pairs,
    tested: tuple[Differences | None, MarginTest | None],
    max_drop: float,
    fell: HolmStep,
    rose: HolmStep,
) -> Regression:
    sample, test = tested
    scored = own.scored
    levels = (rose.level or ALPHA, fell.level or ALPHA)
    interval = test.limits(levels) if test else Interval()
    differing = sample.won + sample.lost if sample else 0
    outcome: Change = "undecided"
    if fell.adjusted is not None and fell.adjusted < ALPHA:
        outcome = "regressed"
    elif rose.adjusted is not None and (
        rose.adjusted < ALPHA or (not differing and (not max_drop or scored["identical"].all()))
    ):
        outcome = "held"
    n = sample.n if sample else 0
    name = test.name if test else "none"
    return Regression(
        suite=own.suite,
        max_drop=max_drop,
        n=n,
        n_left_out=own.rows.height - n,
        mean=own.mean("value"),
        baseline=own.mean("value_before"),
        difference=sample.mean if sample else None,
        interval=interval,
        levels=levels,
        yes_no=bool(sample and sample.yes_no),
        won=sample.won if sample else 0,
        lost=sample.lost if sample else 0,
        test="binomial" if name == "tango" and not max_drop else name,
        p_regressed=fell.p,
        p_held=rose.p,
        outcome=outcome,
        improved=outcome == "held" and (interval.low or 0.0) > 0 and bool(sample and sample.won),
        n_cut=scored.filter(_OPEN).height,
        n_alike=own.n_alike,
    )
