"""Regressions against a baseline: SPEC 10's goldens, and the tests, limits and power by enumeration."""

import math
from fractions import Fraction

import numpy as np
import pytest

from basic_control.metrics.stats.margins import PairedSample, below
from basic_control.metrics.stats.power import compute_power, count_needed_pairs, find_drop
from basic_control.metrics.stats.regression import Regression, regressions
from tests.helpers.pairs import pairs_of


def pairs(lost: int, won: int, n: int, *, cut: int = 0) -> PairedSample:
    """Return yes/no pairs; the first `cut` replies of the run are cut, and may be right."""
    run, baseline = np.zeros(n), np.zeros(n)
    baseline[:lost] = 1
    run[lost : lost + won] = 1
    upper = run.copy()
    upper[:cut] = 1
    return pairs_of(run, baseline, upper=upper if cut else None)


def decided(sample: PairedSample, max_drop: float = 0.0, *, identical: bool = False) -> Regression:
    (decision,) = regressions([sample], max_drop=max_drop, identical=[identical])
    return decision


def one(lost: int, won: int, n: int, max_drop: float = 0.0) -> Regression:
    return decided(pairs(lost, won, n), max_drop)


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


@pytest.mark.parametrize(("lost", "outcome"), [(3, "undecided"), (4, "regressed")])
def test_the_bound_that_is_shown_is_that_of_the_test_that_decides(lost: int, outcome: str) -> None:
    """Tango's test decides on a margin; the exact one, at 0, calls four of four that differ chance."""
    found = one(lost, 0, 39, 0.02)
    assert found.outcome == outcome
    assert (found.upper is not None and found.upper < -0.02) == (outcome == "regressed")


def test_a_run_that_won_only_held_and_improved() -> None:
    found = one(0, 6, 300)
    assert (found.outcome, found.improved) == ("held", True)
    assert found.p_held == pytest.approx(1 / 64)
    assert not one(0, 0, 300).improved


def test_equal_pairs_hold_where_nothing_is_tolerated_where_replies_are_identical_or_where_they_are_enough() -> None:
    """0.98 to the power of 149 is below 0.05, and of 148 above; five pairs cannot refuse a drop of 2 %."""
    assert one(0, 0, 5, 0.0).outcome == "held"
    assert one(0, 0, 5, 0.02).outcome == "undecided"
    assert decided(pairs(0, 0, 5), 0.02, identical=True).outcome == "held"
    for n, outcome in ((148, "undecided"), (149, "held")):
        assert decided(pairs_of(np.full(n, 0.5), np.full(n, 0.5)), 0.02).outcome == outcome


def test_nothing_in_common_is_undecided() -> None:
    found = decided(PairedSample())
    assert (found.outcome, found.lower, found.p_regressed) == ("undecided", None, None)


@pytest.mark.parametrize(("lost", "won", "margin"), [(0.25, 0.05, 0.0), (0.3, 0.0, -0.02), (0.15, 0.25, 0.0)])
def test_power_is_the_sum_over_every_outcome(lost: float, won: float, margin: float) -> None:
    n, total = 25, 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if float(below(b, c, n, margin)) < 0.05:
                ways = math.factorial(n) / math.factorial(b) / math.factorial(c) / math.factorial(n - b - c)
                total += ways * won**b * lost**c * (1 - lost - won) ** (n - b - c)
    assert compute_power(n, lost, won, margin=margin, level=0.05) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("max_drop", [0.0, 0.02])
def test_the_detectable_drop_is_the_least_found_in_80_percent(max_drop: float) -> None:
    """A tenth of the pairs differs without a drop, and 80 % is right, of which the drop takes a share at random."""

    def found(drop: float) -> float:
        won = 0.05 * (1 - drop / 0.8)
        return compute_power(300, won + drop, won, margin=-max_drop, level=0.05)

    drop = find_drop(300, 0.1, 0.8, max_drop=max_drop, level=0.05)
    assert drop is not None
    assert found(drop) >= 0.8 > found(drop - 0.001)
    assert find_drop(4, 0.5, 0.8, max_drop=0.0, level=0.05) is None


def test_so_many_pairs_tell_no_change_from_the_tolerated_drop() -> None:
    n = count_needed_pairs(0.1, max_drop=0.02, level=0.05)
    assert n is not None
    assert compute_power(n, 0.05, 0.05, margin=0.02, level=0.05) >= 0.8
    # by the normal approximation (1.645 + 0.842)² x 0.1 / 0.02²
    assert n == pytest.approx(1546, rel=0.05)
    assert count_needed_pairs(0.1, max_drop=0.0, level=0.05) is None


def test_an_undecided_suite_says_what_could_have_been_shown() -> None:
    found = one(12, 8, 300, 0.02)
    assert found.outcome == "undecided"
    assert found.detectable is None  # 12 right replies are too few to lose
    right = np.zeros(300)
    right[20:] = 1.0
    run, baseline = right.copy(), right.copy()
    baseline[:12], run[12:20] = 1.0, 1.0
    found = decided(pairs_of(run, baseline), 0.02)
    # 20 of 300 differ; the difference of 4 is within its standard error, so that all of it may be chance.
    expected = find_drop(300, 20 / 300, 292 / 300, max_drop=0.02, level=0.05)
    assert found.detectable == pytest.approx(expected)
    assert found.n_needed == count_needed_pairs(20 / 300, max_drop=0.02, level=0.05)


def test_holm_over_suites_decides_and_sets_the_intervals() -> None:
    """Alone, p = 1/64 is regressed; of four suites it has to lie below 0.05 / 4, and does not."""
    alone = one(6, 0, 300)
    four = regressions([pairs(6, 0, 300), *[pairs(3, 3, 300)] * 3], max_drop=0.0)
    assert (alone.outcome, four[0].outcome) == ("regressed", "undecided")
    assert four[0].upper_level == pytest.approx(0.0125)
    assert four[0].upper == 0.0  # the exact test does not refuse it
    assert (alone.upper or 0) < 0


def test_a_decision_that_hangs_on_what_is_missing_is_undecided() -> None:
    """10 lost of 300 regress; were the 10 cut replies among them right, nothing changed."""
    found = decided(pairs(10, 0, 300, cut=10))
    assert (found.outcome, found.hangs) == ("undecided", True)
    assert decided(pairs(40, 0, 300, cut=3)).outcome == "regressed"


def test_templates_are_the_units() -> None:
    """60 questions lost in six templates of ten of twelve: as many as six coins, not as sixty."""
    run, before = np.array([0.0] * 60 + [1.0] * 60), np.ones(120)
    found = decided(pairs_of(run, before, clusters=np.arange(120) // 10))
    assert (found.test, found.p_regressed) == ("sign-flip", pytest.approx(1 / 64))


def test_a_suite_with_strata_is_tested_on_its_total() -> None:
    """Family a lost 8 of 10, b won 20 of 90: TOTAL fell by 29 points, where the rows' mean rose by 12."""
    run = np.array([0.0] * 8 + [1.0] * 2 + [1.0] * 90)
    before = np.array([1.0] * 10 + [0.0] * 20 + [1.0] * 70)
    whole = pairs_of(run, before, strata=np.array([0] * 10 + [1] * 90))
    assert whole.observed
    assert whole.observed.mean == pytest.approx(-0.8 / 2 + 20 / 90 / 2)
    assert whole.observed.means == pytest.approx((0.6, (1 + 70 / 90) / 2))
    assert (decided(whole).test, decided(whole).outcome) == ("sign-flip", "regressed")
    pooled = pairs_of(run, before)
    assert pooled.observed
    assert (round(pooled.observed.mean, 9), decided(pooled).outcome) == (0.12, "held")


def test_two_headlines_are_held_at_holms_level() -> None:
    """A drop of a tenth leaves 33 pairs equal in 3.1 of 100 cases: enough for one headline, not for two."""
    alike = pairs_of(np.full(33, 0.5), np.full(33, 0.5))
    assert [decision.outcome for decision in regressions([alike], max_drop=0.1)] == ["held"]
    assert [decision.outcome for decision in regressions([alike] * 2, max_drop=0.1)] == ["undecided"] * 2
    surer = pairs_of(np.full(60, 0.5), np.full(60, 0.5))
    assert [decision.outcome for decision in regressions([surer, alike], max_drop=0.1)] == ["held", "held"]
