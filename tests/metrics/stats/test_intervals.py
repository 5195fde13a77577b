"""Intervals: equal to independent implementations, honest where there is little to go by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, t

from basic_control.metrics.stats.intervals import (
    Floats,
    Interval,
    estimate,
    independent,
    mean_interval,
    pool,
    score_limits,
    wilson,
)
from tests.helpers.simulated import chances, yes_no

VALUES = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60)


def repeated(means: Floats, repeats: int) -> Interval:
    answers = independent(means, np.full(len(means), float(repeats)))
    return estimate(pool(means, answers=answers), yes_no=True).interval


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


@settings(max_examples=100)
@given(VALUES)
def test_an_interval_lies_within_bounds_and_around_the_mean(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.mean is not None
    assert found.mean == pytest.approx(np.mean(values))
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert 0 <= found.interval.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.interval.high <= 1


@settings(max_examples=40)
@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # pyrefly: ignore[missing-attribute] # hypothesis types its randoms as object
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


def test_one_value_says_little() -> None:
    one = mean_interval([1.0]).interval
    assert (one.low, one.high) == pytest.approx((wilson(1, 1).low, 1.0))
    graded = mean_interval([0.4]).interval
    assert graded.low is not None
    assert graded.high is not None
    assert graded.high - graded.low > 0.7


def test_the_interval_of_many_grades_is_the_normal_one() -> None:
    values = np.random.default_rng(5).random(20_000)
    half = 1.96 * values.std(ddof=1) / np.sqrt(20_000)
    found = mean_interval(values).interval
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=2e-5)


def test_grades_by_hand() -> None:
    """1/4, 1/2, 1/2, 3/4: the mean is 1/2, the variance 1/32 of at most 1/4, an eighth.

    Four units have three free: twice that, a quarter. 4 x 4 x 1/4 = 4 answers tell it, half a one more has it half:
    (4/4 + 1/4) / (4 + 1/2) = 5/18, so that 4 grades are 72/5 answers.
    """
    found = mean_interval([0.25, 0.5, 0.5, 0.75]).interval
    low, high = score_limits(np.array([1 / 2]), np.array([72 / 5]))
    assert (found.low, found.high) == pytest.approx((low[0], high[0]))


def test_rows_of_one_template_that_agree_count_once() -> None:
    """Ten templates of a hundred equal rows tell as much as ten rows, not as a thousand."""
    answers = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    clustered = mean_interval(np.repeat(answers, 100), clusters=np.repeat(np.arange(10), 100)).interval
    plain = mean_interval(answers).interval
    assert clustered.units == 10
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high))


def test_templates_whose_rows_differ_as_any_do_cost_little() -> None:
    """20 templates of ten independent rows: 200 rows tell at least as much as 130."""
    values = (np.random.default_rng(9).random(200) < 0.6).astype(float)
    found = mean_interval(values, clusters=np.arange(200) // 10).interval
    least = wilson(round(130 * values.mean()), 130)
    assert found.low is not None
    assert found.high is not None
    assert least.low is not None
    assert least.high is not None
    assert found.high - found.low < least.high - least.low


def test_four_shared_templates_are_no_units_and_the_interval_says_so() -> None:
    values = [1.0, 0.0, 1.0] * 8
    few = mean_interval(values, clusters=np.repeat(np.arange(4), 6)).interval
    assert (few.low, few.high, few.units) == (*wilson_ends(16, 24), 24)
    assert few.fixed_templates
    alone = mean_interval(values, clusters=np.arange(24)).interval  # each in a template of its own
    assert not alone.fixed_templates
    assert mean_interval(values, clusters=np.repeat(np.arange(8), 3)).interval.units == 8


def wilson_ends(k: int, n: int) -> tuple[float | None, float | None]:
    return wilson(k, n).low, wilson(k, n).high


def test_the_cluster_variance_is_statsmodels_robust_one() -> None:
    from statsmodels.regression.linear_model import OLS

    rng = np.random.default_rng(6)
    codes = np.repeat(np.arange(30), rng.integers(200, 700, 30))
    values = rng.random(len(codes)) * 0.5 + rng.random(30)[codes] * 0.5
    fit = OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": codes})
    # statsmodels scales by G / (G - 1) * (N - 1) / (N - K), which is G / (G - 1) for a mean
    half = t.ppf(0.975, 29) * fit.bse[0]
    found = mean_interval(values, clusters=codes).interval
    assert found.units == 30
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.05 * half)


def test_repeats_of_one_question_are_one_unit() -> None:
    """Three answers to one question do not count as three: the interval is that of a single observation."""
    found = repeated(np.array([2 / 3]), 3)
    low, high = score_limits(np.array([2 / 3]), np.array([1.0]))
    assert (found.low, found.high) == pytest.approx((low[0], high[0]))


def test_asking_five_times_for_the_same_answers_tells_what_asking_once_does() -> None:
    answers = np.array([1.0] * 7 + [0.0] * 3)
    once, often = mean_interval(answers).interval, repeated(answers, 5)
    assert (often.low, often.high) == (once.low, once.high)


def test_independent_answers_by_hand() -> None:
    """Four questions asked twice, right 2, 2, 1 and 1 times: means 1, 1, 1/2 and 1/2.

    Between questions 2 x 4 x (1/4)² / 3 = 1/6, within 2 x 2 x 1/4 / 4 = 1/4: no more alike than any two answers.
    Told by 4 x 4 x 3/16 = 3 questions, and by one more as a half: (3 x 0 + 1/2) / 4 = 1/8. Of two answers
    1 / (1/8 + 7/16) = 16/9 are independent.
    """
    found = independent(np.array([1.0, 1.0, 0.5, 0.5]), np.full(4, 2.0))
    assert found == pytest.approx([16 / 9] * 4)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize("alike", [0.0, 0.2, 0.6])
def test_more_repeats_narrow_an_interval_on_average(n: int, share: float, alike: float) -> None:
    """By at least 3 % for five repeats, and by more where a question's answers are less alike."""
    rng = np.random.default_rng([n, round(100 * share)])
    clusters = np.full(n, -1)
    width = {1: 0.0, 5: 0.0}
    for repeats in width:
        for _ in range(300):
            means = yes_no(rng, chances(rng, share, clusters), repeats, alike)
            found = repeated(means, repeats)
            assert found.low is not None
            assert found.high is not None
            width[repeats] += found.high - found.low
    assert width[5] < (0.97 if alike else 0.85) * width[1]


@pytest.mark.parametrize(("n", "least"), [(10, 0.88), (30, 0.92)])
def test_intervals_of_graded_scores_hold_their_level(n: int, least: float) -> None:
    """A small simulation; the large one is `tests.benchmarks.coverage`."""
    rng = np.random.default_rng(8)
    held = []
    for truth, draws in ((0.5, rng.random((400, n))), (0.8, rng.beta(8, 2, (400, n)))):
        for row in draws:
            found = mean_interval(row).interval
            assert found.low is not None
            assert found.high is not None
            held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= least
