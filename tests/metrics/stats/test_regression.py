"""Regressions against a baseline: SPEC 10's goldens, and the tests, limits and power by enumeration."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

from metrics.stats.intervals import pool
from metrics.stats.margins import (
    Flips,
    below,
    detectable_drop,
    detectable_shift,
    found_share,
    needed_pairs,
    share_limits,
    tango,
)
from metrics.stats.regression import Pairs, Regression, pair, regressions


def pairs(lost: int, won: int, n: int, *, suite: str = "s") -> Pairs:
    run, baseline = np.zeros(n), np.zeros(n)
    baseline[:lost] = 1
    run[lost : lost + won] = 1
    return Pairs(suite, run, baseline, np.arange(n), np.full(n, -1), run, baseline)


def one(lost: int, won: int, n: int, max_drop: float = 0.0) -> Regression:
    return regressions([pairs(lost, won, n)], max_drop={"s": max_drop})[0]


@pytest.mark.parametrize(
    ("lost", "won", "n", "p", "outcome"),
    [
        (40, 0, 300, Fraction(1, 2**40), "regressed"),
        (6, 0, 300, Fraction(1, 64), "regressed"),
        (5, 1, 300, Fraction(7, 64), "undecided"),
        (3, 3, 300, Fraction(42, 64), "undecided"),
        (0, 0, 300, Fraction(1), "held"),
    ],
)
def test_the_goldens_of_spec_10_at_margin_0(lost: int, won: int, n: int, p: Fraction, outcome: str) -> None:
    found = one(lost, won, n)
    assert found.test == "binomial"
    assert found.p_regressed == pytest.approx(float(p), rel=1e-12)
    assert found.outcome == outcome


def test_a_run_that_won_only_held_and_improved() -> None:
    found = one(0, 6, 300)
    assert (found.outcome, found.improved) == ("held", True)
    assert found.p_held == pytest.approx(1 / 64)
    assert not one(0, 0, 300).improved


def test_few_items_that_are_all_equal_held_whatever_the_margin() -> None:
    assert one(0, 0, 5, 0.02).outcome == "held"


def test_nothing_in_common_is_undecided() -> None:
    found = one(0, 0, 0)
    assert (found.outcome, found.difference, found.p_regressed) == ("undecided", None, None)


@pytest.mark.parametrize(("lost", "won", "n"), [(7, 1, 21), (16, 6, 161), (0, 3, 10), (4, 4, 9), (5, 0, 5)])
@pytest.mark.parametrize("margin", [-0.3, -0.02, 0.0, 0.1])
def test_tango_is_the_score_test_at_the_likeliest_nuisance(lost: int, won: int, n: int, margin: float) -> None:
    """The share of lost pairs under the margin is sought by brute force on the likelihood."""
    share = np.linspace(max(0.0, -margin), (1 - margin) / 2, 400_001)[1:-1]
    with np.errstate(divide="ignore"):
        likelihood = lost * np.log(share) + won * np.log(share + margin)
        likelihood += (n - won - lost) * np.log(np.maximum(1 - 2 * share - margin, 1e-300))
    best = share[np.nanargmax(likelihood)]
    variance = n * (2 * best + margin - margin**2)
    assert float(tango(won, lost, n, margin)) == pytest.approx(
        (won - lost - n * margin) / math.sqrt(variance), abs=2e-3
    )


def test_limits_of_a_published_example() -> None:
    """Airway reactivity, 1 won and 7 lost of 21: Tango's 95 % interval is -0.517 to -0.026.

    Its upper end excludes 0 where the exact test, p = 9 / 256 > 0.025, does not, and so stays at 0.
    Source: Fagerland, Lydersen & Laake 2014.
    """
    low, high = share_limits(1, 7, 21, (0.025, 0.025))
    assert low == pytest.approx(-0.517, abs=5e-4)
    assert high == 0.0
    assert share_limits(1, 7, 21, (0.05, 0.05))[1] < 0
    assert float(tango(1, 7, 21, -0.026)) == pytest.approx(-1.96, abs=0.01)


@pytest.mark.parametrize(("lost", "won"), [(0, 0), (3, 0), (10, 4), (40, 30)])
@pytest.mark.parametrize("margin", [-0.05, -0.01, 0.02, 0.2])
def test_the_limits_hold_a_margin_exactly_where_the_test_does_not_refuse_it(
    lost: int, won: int, margin: float
) -> None:
    low, high = share_limits(won, lost, 200, (0.05, 0.05))
    refused = float(below(won, lost, 200, margin)) < 0.05 or float(below(lost, won, 200, -margin)) < 0.05
    exact = min(float(below(won, lost, 200, 0)), float(below(lost, won, 200, 0))) >= 0.05
    assert refused == (not low <= margin <= high) or (exact and low <= 0 <= high)


def test_sign_flips_of_few_units_are_all_listed() -> None:
    values = np.array([0.5, -1.0, 0.25, -0.75, -0.5, 0.0])
    margin = -0.1
    shifted = values - margin
    sums = [math.fsum(s * v for s, v in zip(signs, shifted, strict=True)) for signs in product((1, -1), repeat=6)]
    flips = Flips(pool(values))
    assert flips.below(margin) == sum(total <= shifted.sum() + 1e-12 for total in sums) / 64
    assert flips.above(margin) == sum(total >= shifted.sum() - 1e-12 for total in sums) / 64


@pytest.mark.parametrize("n", [9, 40])
def test_sign_flip_limits_are_where_the_test_turns(n: int) -> None:
    values = np.random.default_rng(3).normal(0.1, 0.4, n)
    flips = Flips(pool(values))
    low, high = flips.limits((0.05, 0.05))
    assert low is not None
    assert high is not None
    assert flips.below(high - 1e-6) >= 0.05 > flips.below(high + 1e-6)
    assert flips.above(low + 1e-6) >= 0.05 > flips.above(low - 1e-6)


def test_sign_flips_of_many_units_are_those_of_the_normal_approximation() -> None:
    values = np.random.default_rng(5).normal(-0.01, 0.5, 10_001)
    flips = Flips(pool(values))
    low, high = flips.limits((0.05, 0.05))
    centre, error = values.mean(), values.std() / math.sqrt(len(values))
    assert low == pytest.approx(centre - 1.6449 * error, abs=2e-4)
    assert high == pytest.approx(centre + 1.6449 * error, abs=2e-4)
    assert flips.below(float(high or 0)) == pytest.approx(0.05, abs=1e-6)


def test_four_units_can_show_nothing() -> None:
    assert Flips(pool(np.array([-1.0, -0.9, -1.0, -0.8]))).limits((0.05, 0.05)) == (None, None)
    assert detectable_shift(4, 0.1, max_drop=0.0, level=0.05) is None


@pytest.mark.parametrize(("lost", "won", "margin"), [(0.25, 0.05, 0.0), (0.3, 0.0, -0.02), (0.15, 0.25, 0.0)])
def test_power_is_the_sum_over_every_outcome(lost: float, won: float, margin: float) -> None:
    n, total = 25, 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if float(below(b, c, n, margin)) < 0.05:
                ways = math.factorial(n) / math.factorial(b) / math.factorial(c) / math.factorial(n - b - c)
                total += ways * won**b * lost**c * (1 - lost - won) ** (n - b - c)
    assert found_share(n, lost, won, margin=margin, level=0.05) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("max_drop", [0.0, 0.02])
def test_the_detectable_drop_is_the_least_found_in_80_percent(max_drop: float) -> None:
    """A tenth of the pairs differs without a drop, and 80 % is right, of which the drop takes a share at random."""

    def found(drop: float) -> float:
        won = 0.05 * (1 - drop / 0.8)
        return found_share(300, won + drop, won, margin=-max_drop, level=0.05)

    drop = detectable_drop(300, 0.1, 0.8, max_drop=max_drop, level=0.05)
    assert drop is not None
    assert found(drop) >= 0.8 > found(drop - 0.001)
    assert detectable_drop(4, 0.5, 0.8, max_drop=0.0, level=0.05) is None


def test_so_many_pairs_tell_no_change_from_the_tolerated_drop() -> None:
    n = needed_pairs(0.1, max_drop=0.02, level=0.05)
    assert n is not None
    assert found_share(n, 0.05, 0.05, margin=0.02, level=0.05) >= 0.8
    # by the normal approximation (1.645 + 0.842)² x 0.1 / 0.02²
    assert n == pytest.approx(1546, rel=0.05)
    assert needed_pairs(0.1, max_drop=0.0, level=0.05) is None


def test_an_undecided_suite_says_what_could_have_been_shown() -> None:
    found = one(12, 8, 300, 0.02)
    assert found.outcome == "undecided"
    assert found.detectable is None  # 12 right replies are too few to lose
    plain = pairs(12, 8, 300)
    rest = [np.where(np.arange(300) < 20, column, 1.0) for column in (plain.run, plain.baseline)]
    full = Pairs("s", rest[0], rest[1], plain.items, plain.clusters, rest[0], rest[1])
    found = regressions([full], max_drop={"s": 0.02})[0]
    assert found.detectable == detectable_drop(300, 20 / 300, 292 / 300, max_drop=0.02, level=0.05)
    assert found.n_needed == needed_pairs(20 / 300, max_drop=0.02, level=0.05)


def test_holm_over_suites_decides_and_sets_the_intervals() -> None:
    """Alone, p = 1/64 is regressed; of four suites it has to lie below 0.05 / 4, and does not."""
    alone = one(6, 0, 300)
    four = regressions(
        [pairs(6, 0, 300, suite="a"), *(pairs(3, 3, 300, suite=name) for name in "bcd")],
        max_drop=dict.fromkeys("abcd", 0.0),
    )
    assert (alone.outcome, four[0].outcome) == ("regressed", "undecided")
    assert four[0].levels[1] == pytest.approx(0.0125)
    assert four[0].interval.high == 0.0  # the exact test does not refuse it
    assert (alone.interval.high or 0) < 0


def test_repeats_and_parts_are_compared_by_item() -> None:
    """Two repeats of an item are one unit: 6 items lost twice are 6 units, and p is 1/64."""
    ids = [f"i{n}" for n in range(6)]
    rows = [(item, repeat) for item in ids for repeat in (0, 1)]
    frame = pl.DataFrame(rows, schema=["item_id", "repeat"], orient="row")
    run = frame.with_columns(question="item_id", cluster=-1, value=0.0, upper=0.0)
    before = frame.with_columns(value=1.0, upper=1.0)
    found = regressions([pair("s", run, before)], max_drop={"s": 0.0})[0]
    assert (found.test, found.n, found.p_regressed) == ("sign-flip", 12, 1 / 64)
    assert found.outcome == "regressed"


def test_what_one_side_lacks_is_left_out_and_counted() -> None:
    frame = pl.DataFrame({"item_id": ["a", "b", "c"], "repeat": [0, 0, 0]})
    run = frame.with_columns(
        question="item_id", cluster=-1, value=pl.Series([1.0, None, 0.0]), upper=pl.Series([1.0, None, 0.0])
    )
    before = frame.head(2).with_columns(value=1.0, upper=1.0)
    found = pair("s", run, before)
    assert (len(found.run), found.n_left_out) == (1, 2)


def test_a_decision_that_hangs_on_cut_replies_is_undecided() -> None:
    """10 lost of 300 regress; were the 10 cut replies among them right, nothing changed."""
    plain = pairs(10, 0, 300)
    upper = plain.run.copy()
    upper[:10] = 1
    hanging = Pairs("s", plain.run, plain.baseline, plain.items, plain.clusters, upper, plain.baseline)
    found = regressions([hanging], max_drop={"s": 0.0})[0]
    assert (found.outcome, found.cut) == ("undecided", True)
    assert found.low == found.difference == pytest.approx(-1 / 30)
    assert found.high == 0.0
    sure = pairs(40, 0, 300)
    upper = sure.run.copy()
    upper[:3] = 1
    still = Pairs("s", sure.run, sure.baseline, sure.items, sure.clusters, upper, sure.baseline)
    assert regressions([still], max_drop={"s": 0.0})[0].outcome == "regressed"
