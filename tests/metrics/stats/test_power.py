"""Small formulas, against statsmodels."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basic_control.metrics.stats.intervals import Interval, wilson
from basic_control.metrics.stats.power import (
    PAIRED_SPREAD,
    count_deciding,
    find_difference,
    find_effect,
    holm,
)


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(p_values, method="holm")[1]
    assert [one.adjusted for one in holm(p_values)] == pytest.approx(list(expected), abs=1e-12)


def test_a_pair_without_a_test_takes_no_part_in_holm() -> None:
    assert [one.adjusted for one in holm([0.01, None, 0.04])] == [0.02, None, 0.04]
    assert holm([]) == []


@pytest.mark.parametrize("n", [10, 30, 100, 1319])
@pytest.mark.parametrize("spread", [0.5, PAIRED_SPREAD, 0.2])
def test_the_detectable_effect_equals_statsmodels(n: int, spread: float) -> None:
    """One sample, two-sided, normal approximation: what it leaves out is the far tail, below 1e-5 here."""
    from statsmodels.stats.power import NormalIndPower

    expected = NormalIndPower().solve_power(nobs1=n, alpha=0.05, power=0.8, ratio=0) * spread
    assert find_effect(n, spread=spread) == pytest.approx(expected, rel=1e-4)


def test_no_effect_can_be_detected_with_next_to_nothing() -> None:
    assert find_effect(0) is None
    assert find_effect(1) is None
    assert find_difference(0) is None
    assert find_difference(5, discordance=0.1) is None
    assert find_difference(100, discordance=0.0) is None


@pytest.mark.parametrize(("n", "discordance"), [(50, 0.5), (200, 0.2), (1000, 0.1)])
def test_the_detectable_difference_has_the_power_that_it_promises(n: int, discordance: float) -> None:
    """Put back into Connor's power formula, it gives 0.8."""
    from statistics import NormalDist

    effect = find_difference(n, discordance=discordance)
    assert effect is not None
    z = NormalDist()
    shift = effect * math.sqrt(n) - z.inv_cdf(0.975) * math.sqrt(discordance)
    assert z.cdf(shift / math.sqrt(discordance - effect**2)) == pytest.approx(0.8)


def test_the_deciding_n_decides() -> None:
    """75 of 100 leaves 0.8 open; at the n found, the interval of the same share ends at it."""
    interval = wilson(75, 100)
    n = count_deciding(0.75, interval, 0.8, 100)
    assert n is not None
    assert n > 100
    high = wilson(round(0.75 * n), n).high
    assert high is not None
    assert high == pytest.approx(0.8, abs=0.005)


def test_what_is_decided_needs_no_more_and_a_tie_is_never_decided() -> None:
    assert count_deciding(0.9, Interval(0.85, 0.95, "wilson", 50), 0.8, 50) == 50
    assert count_deciding(0.5, Interval(0.4, 0.6, "wilson", 50), 0.8, 50) == 50
    assert count_deciding(0.9, Interval(0.8, 0.95, "wilson", 50), 0.8, 50) == 50
    assert count_deciding(0.8, Interval(0.7, 0.9, "wilson", 50), 0.8, 50) is None
    assert count_deciding(0.8, Interval(), 0.8, 50) is None
    assert count_deciding(0.8 + 1e-8, Interval(0.5, 0.9, "wilson", 50), 0.8, 50) is None


def test_beyond_ten_times_what_was_asked_no_number_is_named() -> None:
    """A reach of 0.1 must shrink to the gap: by the root of ten, and by a little more."""
    around = Interval(0.7, 0.9, "wilson", 60)
    assert count_deciding(0.8, around, 0.8 - 0.1 / 10**0.5 - 1e-6, 60) == 600
    assert count_deciding(0.8, around, 0.8 - 0.1 / 10**0.5 + 1e-6, 60) is None
