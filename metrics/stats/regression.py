"""Regression tests: each headline's paired difference from its baseline, against the tolerated drop.

There are two one-sided hypotheses a headline, each at 5 % and by Holm over the headlines: that the true difference
is -max_drop or more (rejected: regressed), and that it is -max_drop or less (rejected: held). Tests and limits are
those of `metrics.stats.margins`.

Source: SPEC 10.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from basic_control.data.suites import MAX_DROP
from basic_control.metrics.stats.margins import (
    Differences,
    MarginTest,
    PairCounts,
    PairedSample,
    choose_tests,
)
from basic_control.metrics.stats.power import ALPHA, HolmStep, count_needed, find_detectable, holm

Change = Literal["regressed", "held", "undecided"]
Test = Literal["binomial", "tango", "student", "sign-flip", "sequence", "equal", "none"]


@dataclass(frozen=True, slots=True)
class Regression:
    """A decision on a headline of a run against the same headline of its baseline.

    `regressed`: the drop is significantly more than `max_drop`, its `upper` bound lies below -max_drop; `held`: it
    is significantly less, the `lower` bound lies above; also if all pairs are equal and nothing is tolerated, or
    all responses are identical; else `undecided`. The bounds are one-sided, at the levels of Holm's steps.
    `improved`: it held, and the lower bound lies above 0. The p-values are one-sided, before Holm. If undecided,
    `detectable` is the smallest true drop that so many units would have shown to be more than `max_drop`, and
    `n_needed` the number of units that would tell no change from a drop of `max_drop`, both with power 0.8 at these
    levels (None: no such number, or asked in rounds). `hangs`: it is undecided because the outcome differs at the
    bounds of missing and truncated responses.
    """

    outcome: Change
    max_drop: float
    test: Test = "none"
    lower: float | None = None
    lower_level: float = ALPHA
    upper: float | None = None
    upper_level: float = ALPHA
    p_regressed: float | None = None
    p_held: float | None = None
    improved: bool = False
    detectable: float | None = None
    n_needed: int | None = None
    hangs: bool = False


def regressions(
    samples: Sequence[PairedSample],
    *,
    max_drop: float = MAX_DROP,
    identical: Sequence[bool] = (),
    outlook: bool = True,
) -> list[Regression]:
    """Return for each headline whether the run regressed, held, or is undecided; in order.

    A sample is the run minus the baseline. `max_drop` is the tolerated drop, in [0, 1]. `identical`: all responses
    to a headline's questions are. `outlook`: for undecided headlines, also compute what could have been shown.
    """
    tested = choose_tests(samples, level=ALPHA)
    is_alike = identical or [False] * len(samples)
    by_end = []
    for end, tests in tested.items():
        at_end = [getattr(sample, end) for sample in samples]
        by_end.append(_decide(tests, at_end, is_alike, max_drop=max_drop))
    decisions = [*map(_join_ends, *by_end)]
    # Most of the time goes into what could have been shown.
    return [*map(_add_outlook, decisions, samples)] if outlook else decisions


def _add_outlook(decision: Regression, sample: PairedSample) -> Regression:
    if decision.outcome != "undecided" or sample.observed is None or sample.observed.in_rounds:
        return decision
    max_drop, right = decision.max_drop, max(sample.observed.means or (0.0,))
    return replace(
        decision,
        detectable=find_detectable(sample.observed, right, level=decision.upper_level, max_drop=max_drop),
        n_needed=count_needed(sample.observed, max_drop=max_drop, level=decision.lower_level),
    )


def _join_ends(decision: Regression, worst: Regression, best: Regression) -> Regression:
    """Mark as undecided what differs at the bounds of missing or truncated responses."""
    if decision.outcome == worst.outcome == best.outcome:
        return replace(decision, improved=decision.improved and worst.improved)
    return replace(decision, outcome="undecided", improved=False, hangs=True)


def _decide(
    tests: Sequence[MarginTest | None],
    samples: Sequence[Differences | None],
    identical: Sequence[bool],
    *,
    max_drop: float,
) -> list[Regression]:
    """Decide on all samples at one of their ends, with Holm's correction for each of the two hypotheses."""
    p_values = [_one_sided(test, -max_drop) for test in tests]
    falls = holm([p_regressed for p_regressed, _ in p_values])
    holds = holm([p_held for _, p_held in p_values])
    decisions = []
    for sample, test, fall, hold, is_alike in zip(samples, tests, falls, holds, identical, strict=True):
        decision = Regression("undecided", max_drop)
        if sample and test:
            decision = _regression(sample, test, fall, hold, max_drop=max_drop, identical=is_alike)
        decisions.append(decision)
    return decisions


def _one_sided(test: MarginTest | None, margin: float) -> tuple[float | None, float | None]:
    """Return the p-values against a difference of at least, and of at most, the margin; None without a test."""
    if test is None:
        return None, None
    return test.below(margin), test.above(margin)


def _regression(
    sample: Differences, test: MarginTest, fall: HolmStep, hold: HolmStep, *, max_drop: float, identical: bool
) -> Regression:
    levels = (hold.level or ALPHA, fall.level or ALPHA)
    limits = test.limits(levels)
    # The bound that is shown is that of the test that decides.
    if max_drop and isinstance(test, PairCounts):
        limits = test.limits_at_margin(levels)
    differing = sample.won + sample.lost
    outcome: Change = "undecided"
    if fall.adjusted is not None and fall.adjusted < ALPHA:
        outcome = "regressed"
    elif (hold.adjusted is not None and hold.adjusted < ALPHA) or (not differing and (not max_drop or identical)):
        outcome = "held"
    return Regression(
        outcome=outcome,
        max_drop=max_drop,
        test="binomial" if test.name == "tango" and not max_drop else test.name,
        lower=limits.low,
        lower_level=levels[0],
        upper=limits.high,
        upper_level=levels[1],
        p_regressed=fall.p,
        p_held=hold.p,
        improved=outcome == "held" and (limits.low or 0.0) > 0 and sample.won > 0,
    )
