"""Intervals: equal to independent implementations, honest where there is little to go by."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap, t

from metrics.stats.intervals import Interval, Pool, estimate, mean_interval, pool, score_limits, wilson

VALUES = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60)


@given(st.integers(1, 3000), st.floats(0, 1))
def test_wilson_equals_scipys(n: int, share: float) -> None:
    k = round(share * n)
    expected = binomtest(k, n).proportion_ci(method="wilson")
    found = wilson(k, n)
    assert found.low == pytest.approx(expected.low, abs=1e-12)
    assert found.high == pytest.approx(expected.high, abs=1e-12)


def test_wilson_of_published_cases() -> None:
    """Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    table = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for (k, n), (low, high) in table.items():
        found = wilson(k, n)
        assert found.low is not None
        assert found.high is not None
        assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_many_wilson_intervals_at_once_are_those_of_each() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(1, 500, 200)
    k = rng.binomial(n, 0.7)
    low, high = score_limits(k / n, n.astype(np.float64))
    for i in range(200):
        expected = binomtest(int(k[i]), int(n[i])).proportion_ci(method="wilson")
        assert (low[i], high[i]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_share_of_nothing_has_no_interval_and_an_impossible_one_is_refused() -> None:
    assert wilson(0, 0) == Interval(None, None, "none", 0)
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


def test_the_mean_of_nothing_is_none_without_interval() -> None:
    found = mean_interval([])
    assert found.mean is None
    assert found.interval == Interval()


@settings(max_examples=60)
@example([0.0] * 9 + [0.5])  # in single precision a resample's mean came to -4e-9
@given(VALUES)
def test_an_interval_lies_within_bounds_and_around_the_mean(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.mean is not None
    assert found.mean == pytest.approx(np.mean(values))
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert 0 <= found.interval.low <= found.mean + 1e-6
    assert found.mean - 1e-6 <= found.interval.high <= 1


@settings(max_examples=40)
@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis types its randoms as object
    first, second = mean_interval(values).interval, mean_interval(shuffled).interval
    assert first.method == second.method
    assert (first.low, first.high) == pytest.approx((second.low, second.high), abs=1e-9)


def test_a_constant_sample_is_as_uncertain_as_what_was_not_seen() -> None:
    """At 1 it is Wilson's interval; in the middle, a share z^2 / (n + z^2) may be anything within bounds."""
    ones = mean_interval([1.0] * 10, yes_no=False).interval
    assert ones.method == "constant"
    assert (ones.low, ones.high) == pytest.approx((wilson(10, 10).low, 1.0))
    q = 1.959964**2 / (10 + 1.959964**2)
    halves = mean_interval([0.5] * 10).interval
    assert (halves.low, halves.high) == pytest.approx((0.5 - q / 2, 0.5 + q / 2), abs=1e-6)
    assert mean_interval([3.0] * 10, bounds=None).interval == Interval()


def test_one_value_within_bounds_says_little_and_without_bounds_nothing() -> None:
    one = mean_interval([1.0]).interval
    assert (one.low, one.high) == pytest.approx((wilson(1, 1).low, 1.0))
    graded = mean_interval([0.4]).interval
    assert graded.low is not None
    assert graded.high is not None
    assert graded.high - graded.low > 0.7
    assert mean_interval([7.0], bounds=None).interval == Interval()


def test_few_values_without_bounds_get_students_interval() -> None:
    values = np.array([1.0, 2.5, 4.0, 3.5])
    expected = t.interval(0.95, 3, loc=values.mean(), scale=values.std(ddof=1) / 2)
    found = mean_interval(values, bounds=None).interval
    assert found.method == "analytic"
    assert (found.low, found.high) == pytest.approx(expected)


def test_the_bootstrap_of_many_values_is_scipys() -> None:
    values = np.random.default_rng(2).beta(5, 2, 400)
    expected = bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=1).confidence_interval
    found = mean_interval(values).interval
    assert found.method == "bootstrap"
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.06 * width)
    assert found.high == pytest.approx(expected.high, abs=0.06 * width)


def test_the_bootstrap_is_seeded() -> None:
    values = np.random.default_rng(3).random(50)
    assert mean_interval(values, seed=5) == mean_interval(values, seed=5)
    assert mean_interval(values, seed=5) != mean_interval(values, seed=6)


def test_a_cells_interval_does_not_depend_on_its_neighbours() -> None:
    rng = np.random.default_rng(4)
    pools = [pool(rng.random(int(n))) for n in rng.integers(10, 700, 40)]
    together = estimate(pools, yes_no=[False] * 40, bounds=[(0.0, 1.0)] * 40)
    for i in (0, 17, 39):
        alone = estimate([pools[i]], yes_no=[False], bounds=[(0.0, 1.0)])[0].interval
        assert (alone.low, alone.high) == pytest.approx(
            (together[i].interval.low, together[i].interval.high), abs=1e-6
        )


def test_above_ten_thousand_rows_the_interval_is_the_normal_one() -> None:
    values = np.random.default_rng(5).random(20_000)
    half = 1.96 * values.std(ddof=1) / np.sqrt(20_000)
    found = mean_interval(values).interval
    assert found.method == "analytic"
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=2e-5)


def test_rows_of_one_template_that_agree_count_once() -> None:
    """Ten templates of a hundred equal rows tell as much as ten rows, not as a thousand."""
    answers = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    values = np.repeat(answers, 100)
    codes = np.repeat(np.arange(10), 100)
    clustered = mean_interval(values, clusters=codes).interval
    ignored = mean_interval(values).interval
    plain = mean_interval(answers).interval
    assert clustered.units == 10
    assert clustered.low is not None
    assert plain.low is not None
    assert ignored.low is not None
    assert clustered.low <= plain.low < ignored.low


def test_fewer_than_ten_clusters_are_not_clustered() -> None:
    values = [1.0, 0.0, 1.0] * 9
    codes = np.repeat(np.arange(9), 3)
    assert mean_interval(values, clusters=codes) == mean_interval(values)


def test_the_cluster_variance_is_statsmodels_robust_one() -> None:
    from statsmodels.regression.linear_model import OLS

    rng = np.random.default_rng(6)
    codes = np.repeat(np.arange(30), rng.integers(200, 700, 30))
    values = rng.random(len(codes)) * 0.5 + rng.random(30)[codes] * 0.5
    fit = OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": codes})
    # statsmodels scales by G / (G - 1) * (N - 1) / (N - K), which is G / (G - 1) for a mean
    half = t.ppf(0.975, 29) * fit.bse[0]
    found = mean_interval(values, clusters=codes, bounds=None).interval
    assert found.method == "analytic"
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-9)


def test_repeats_of_one_item_are_one_unit() -> None:
    """Three answers to one item do not count as three items: the interval is that of a single observation."""
    sample = Pool(np.array([3.0]), np.array([2.0]), 1)
    found = estimate([sample], yes_no=[True], bounds=[(0.0, 1.0)])[0]
    low, high = score_limits(np.array([2 / 3]), np.array([1.0]))
    assert (found.interval.low, found.interval.high) == pytest.approx((low[0], high[0]))


@pytest.mark.parametrize(("n", "least"), [(10, 0.88), (30, 0.93)])
def test_intervals_of_graded_scores_hold_their_level(n: int, least: float) -> None:
    """A small simulation; the large one is `tests.benchmarks.statistics`."""
    rng = np.random.default_rng(8)
    held = []
    for truth, draws in ((0.5, rng.random((400, n))), (0.8, rng.beta(8, 2, (400, n)))):
        found = estimate([pool(row) for row in draws], yes_no=[False] * 400, bounds=[(0.0, 1.0)] * 400)
        held += [e.interval.low <= truth <= e.interval.high for e in found]  # type: ignore[operator] # never None here
    assert np.mean(held) >= least
