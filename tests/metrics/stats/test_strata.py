"""Intervals of weighted means over strata: independent checks, and the level that they hold."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from basic_control.metrics.stats.intervals import (
    Interval,
    Stratum,
    Z,
    combine_strata,
    infer_rate,
    part_of,
    parts_of,
    pool,
    strata_limits,
    wilson,
)
from tests.strata import SPREADS, shares


def shares_of(*counts: tuple[int, int]) -> list[Stratum | None]:
    return [part_of(1 / len(counts), k / n, wilson(k, n)) for k, n in counts]


@given(st.integers(1, 500), st.floats(0, 1))
def test_an_interval_tells_the_n_it_was_made_from(n: int, share: float) -> None:
    k = round(share * n)
    found = wilson(k, n)
    assert found.low is not None
    assert found.high is not None
    assert 1 / infer_rate(np.array([k / n]), np.array([found.high - found.low]))[0] == pytest.approx(n, rel=1e-6)


def test_of_one_stratum_it_is_wilsons_interval() -> None:
    found = combine_strata([part_of(1.0, 0.9, wilson(27, 30)), part_of(0.0, 0.1, Interval())])
    assert (found.low, found.high) == pytest.approx((wilson(27, 30).low, wilson(27, 30).high), abs=1e-9)


def test_parts_of_plain_answers_tell_as_much_as_they_are() -> None:
    pools = [pool(np.repeat([1.0, 0.0], counts)) for counts in ((27, 3), (10, 10))]
    found = parts_of(pools, [0.25, 0.75], yes_no=True)
    assert [(one.weight, one.mean, 1 / one.rate, one.units) for one in found] == [
        pytest.approx((0.25, 0.9, 30, 30)),
        pytest.approx((0.75, 0.5, 20, 20)),
    ]


def test_the_limits_are_those_of_the_score_test_by_brute_force() -> None:
    """Two strata, 7 of 10 and 19 of 20: every pair of shares tried, the likeliest taken for each mean."""
    found = combine_strata(shares_of((7, 10), (19, 20)))
    grid = np.linspace(0.0005, 0.9995, 1999)
    observed_mean, inside = (0.7 + 0.95) / 2, []
    for mean in np.linspace(0.55, 0.97, 211):
        p = grid[(2 * mean - grid > 0) & (2 * mean - grid < 1)]
        q = 2 * mean - p
        likely = 7 * np.log(p) + 3 * np.log(1 - p) + 19 * np.log(q) + np.log(1 - q)
        p, q = p[likely.argmax()], q[likely.argmax()]
        # the own share of a stratum of weight 1/2 costs half an observation
        variance = (p * (1 - p) / (10 - 0.5) + q * (1 - q) / (20 - 0.5)) / 4
        if (observed_mean - mean) ** 2 <= Z**2 * variance:
            inside.append(mean)
    assert (found.low, found.high) == pytest.approx((min(inside), max(inside)), abs=0.004)


def test_a_stratum_that_is_known_widens_nothing_and_one_without_interval_leaves_none() -> None:
    known, half = Interval(1.0, 1.0), part_of(0.5, 0.8, wilson(80, 100))
    low, high = wilson(80, 100).low, wilson(80, 100).high
    assert low is not None
    assert high is not None
    found = combine_strata([part_of(0.5, 1.0, known), half])
    assert (found.low, found.high) == pytest.approx(((1 + low) / 2, (1 + high) / 2), abs=0.002)
    assert combine_strata([half, part_of(0.5, 0.5, Interval())]) == Interval()
    assert combine_strata([]) == Interval()
    fixed = combine_strata([part_of(0.5, share, Interval(share, share)) for share in (0.25, 0.75)])
    assert (fixed.low, fixed.high) == pytest.approx((0.5, 0.5))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 40), st.floats(0, 1)), min_size=2, max_size=6))
def test_an_interval_lies_within_bounds_around_the_mean_and_mirrors(listed: list[tuple[int, float]]) -> None:
    counts = [(round(share * n), n) for n, share in listed]
    found, turned = combine_strata(shares_of(*counts)), combine_strata(shares_of(*((n - k, n) for k, n in counts)))
    mean = sum(k / n for k, n in counts) / len(counts)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= mean + 1e-9
    assert mean - 1e-9 <= found.high <= 1
    assert (turned.low, turned.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-6)


def test_two_strata_hold_their_level_exactly() -> None:
    """Every outcome of 10 and 30 answers, weighed by its probability."""
    ns = (10, 30)
    means = np.array([[a / 10, b / 30] for a, b in product(range(11), range(31))])
    low, high = strata_limits(np.full(2, 0.5), means, np.tile([1 / n for n in ns], (len(means), 1)))
    for p, q in ((0.9, 0.9), (0.5, 0.7), (0.98, 0.9), (0.2, 0.8)):
        weight = np.outer(binom.pmf(range(11), 10, p), binom.pmf(range(31), 30, q)).ravel()
        held = weight[(low <= (p + q) / 2 + 1e-9) & ((p + q) / 2 - 1e-9 <= high)].sum()
        assert 0.93 <= held <= 0.985, (p, q, held)


@pytest.mark.parametrize("n", [10, 30, 100])
@pytest.mark.parametrize("spread", SPREADS)
def test_total_over_six_families_holds_its_level(n: int, spread: str) -> None:
    """At every share from 0.05 to 0.98, and a model at its threshold fails in about 2.5 % of runs."""
    rng = np.random.default_rng(n)
    trials, held, failed = 2000, [], []
    for share in (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98):
        means = rng.binomial(n, shares(share, spread), (trials, 6)) / n
        low, high = strata_limits(np.full(6, 1 / 6), means, np.full((trials, 6), 1 / n))
        held.append(((low <= share + 1e-9) & (share - 1e-9 <= high)).mean())
        failed.append((high < share - 1e-9).mean())
    assert 0.92 <= min(held) <= max(held) <= 0.99  # 93 to 98 % and the simulation's own error
    assert 0.94 <= np.mean(held) <= 0.97
    assert np.mean(failed) <= 0.03
