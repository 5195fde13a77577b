"""Tests of paired differences and the limits that they imply: by enumeration, by brute force, from publications."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial, permutation_test, ttest_1samp
from scipy.stats import t as student

from basic_control.metrics.stats.intervals import Floats
from basic_control.metrics.stats.margins import (
    Differences,
    EqualPairs,
    PairCounts,
    SignFlips,
    StudentT,
    below,
    compute_least_p,
    differences,
    method_of,
    tango,
    two_sided,
)


def graded(values: list[float] | Floats, weights: list[float] | None = None) -> Differences:
    return differences(
        np.asarray(values, float), yes_no=False, weights=None if weights is None else np.array(weights)
    )


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

    Its upper end excludes 0 where the exact test, p = 9 / 256 > 0.025, does not, and so is stretched to 0.
    Source: Fagerland, Lydersen & Laake 2014.
    """
    found = PairCounts(1, 7, 21).limits((0.025, 0.025))
    assert found.low == pytest.approx(-0.517, abs=5e-4)
    assert found.high == 0.0
    assert (PairCounts(1, 7, 21).limits((0.05, 0.05)).high or 0) < 0
    assert float(tango(1, 7, 21, -0.026)) == pytest.approx(-1.96, abs=0.01)


@pytest.mark.parametrize(("lost", "won"), [(0, 0), (3, 0), (10, 4), (40, 30)])
@pytest.mark.parametrize("margin", [-0.05, -0.01, 0.02, 0.2])
def test_tangos_limits_hold_a_margin_exactly_where_the_test_does_not_refuse_it(
    lost: int, won: int, margin: float
) -> None:
    test = PairCounts(won, lost, 200)
    found = test.limits((0.05, 0.05))
    assert found.low is not None
    assert found.high is not None
    refused = min(test.below(margin), test.above(margin)) < 0.05
    exact = min(test.below(0.0), test.above(0.0)) >= 0.05
    assert refused == (not found.low <= margin <= found.high) or (exact and found.low <= 0 <= found.high)


def test_tangos_interval_holds_its_level() -> None:
    """Exact coverage, summed over every outcome of 20 pairs of which 30 % and 10 % differ."""
    n, p, q = 20, 0.3, 0.1
    held = 0.0
    for b, c in product(range(n + 1), repeat=2):
        if b + c <= n:
            found = PairCounts(b, c, n).limits((0.025, 0.025))
            assert found.low is not None
            assert found.high is not None
            if found.low <= p - q <= found.high:
                held += float(multinomial.pmf([b, c, n - b - c], n, [p, q, 1 - p - q]))
    assert held == pytest.approx(0.95, abs=0.02)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=9).filter(any))
def test_sign_flips_are_all_listed_for_few_units(values: list[float]) -> None:
    sums = [
        math.fsum(s * v for s, v in zip(signs, values, strict=True))
        for signs in product((-1, 1), repeat=len(values))
    ]
    seen = abs(math.fsum(values))
    expected = np.mean([abs(total) >= seen - 1e-9 for total in sums])
    assert two_sided(SignFlips(graded(values))) == pytest.approx(min(1.0, float(expected)))


def test_one_sided_flips_against_a_margin_are_all_listed() -> None:
    values, margin = np.array([0.5, -1.0, 0.25, -0.75, -0.5, 0.0]), -0.1
    shifted = values - margin
    sums = [math.fsum(s * v for s, v in zip(signs, shifted, strict=True)) for signs in product((1, -1), repeat=6)]
    flips = SignFlips(graded(values))
    assert flips.below(margin) == sum(total <= shifted.sum() + 1e-12 for total in sums) / 64
    assert flips.above(margin) == sum(total >= shifted.sum() - 1e-12 for total in sums) / 64


def test_random_sign_flips_agree_with_scipys() -> None:
    column = np.random.default_rng(1).normal(0.25, 0.9, 60)
    expected = permutation_test(
        (column,), np.mean, permutation_type="samples", n_resamples=20_000, vectorized=True, rng=2
    ).pvalue
    assert two_sided(SignFlips(graded(column))) == pytest.approx(expected, abs=0.012)
    assert two_sided(SignFlips(graded(column))) == two_sided(SignFlips(graded(column)))


def test_smaller_levels_flip_more_often() -> None:
    """29 of 30 units lost: a level of one in ten thousand is reached, which 10 000 patterns hardly show."""
    values = np.where(np.arange(30) == 3, 1.0, -1.0)
    assert SignFlips(graded(values), level=1e-4).below(0.0) <= 1e-4
    high = SignFlips(graded(values), level=1e-4).limits((1e-4, 1e-4)).high
    assert high is not None
    assert high < 0


def test_weights_are_flipped_with_their_units() -> None:
    """Of a family of two and one of four questions that weigh alike, each of the two weighs twice as much."""
    values, weights = [1.0, 0.5, -0.25, 0.5, 0.5, -0.5], [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    found = graded(values, weights)
    weighed = [v * w / 8 for v, w in zip(values, weights, strict=True)]
    sums = [math.fsum(s * v for s, v in zip(signs, weighed, strict=True)) for signs in product((1, -1), repeat=6)]
    assert found.mean == pytest.approx(0.5 * 0.75 + 0.5 * 0.0625)
    assert SignFlips(found).above(0.0) == sum(total >= found.mean - 1e-12 for total in sums) / 64


def test_very_many_units_take_the_normal_approximation() -> None:
    column = np.random.default_rng(4).normal(0.02, 1.0, 20_000)
    found = SignFlips(graded(column))
    assert two_sided(found) == pytest.approx(ttest_1samp(column, 0).pvalue, abs=2e-3)
    limits = found.limits((0.05, 0.05))
    error = column.std() / math.sqrt(len(column))
    assert limits.low == pytest.approx(column.mean() - 1.6449 * error, abs=2e-4)
    assert limits.high == pytest.approx(column.mean() + 1.6449 * error, abs=2e-4)


@pytest.mark.parametrize("n", [9, 40])
def test_sign_flip_limits_are_where_the_test_turns(n: int) -> None:
    values = np.random.default_rng(3).normal(0.1, 0.4, n)
    flips = SignFlips(graded(values))
    found = flips.limits((0.05, 0.05))
    assert found.low is not None
    assert found.high is not None
    assert flips.below(found.high - 1e-6) >= 0.05 > flips.below(found.high + 1e-6)
    assert flips.above(found.low + 1e-6) >= 0.05 > flips.above(found.low - 1e-6)


def test_four_units_can_show_nothing() -> None:
    sample = graded([-1.0, -0.9, -1.0, -0.8])
    found = SignFlips(sample).limits((0.05, 0.05))
    assert (found.low, found.high) == (-1.0, 1.0)
    assert compute_least_p(sample) == 1 / 16


def test_five_clusters_get_students_t_over_their_means() -> None:
    means = np.array([0.2, -0.1, 0.4, 0.3, 0.15])
    values, codes = np.repeat(means, 6), np.repeat(np.arange(5), 6)
    sample = differences(values, yes_no=False, clusters=codes)
    test = method_of(sample)
    assert isinstance(test, StudentT)
    assert two_sided(test) == pytest.approx(ttest_1samp(means, 0).pvalue)
    found = test.limits((0.025, 0.025))
    expected = student.interval(0.95, 4, loc=means.mean(), scale=means.std(ddof=1) / math.sqrt(5))
    assert (found.low, found.high) == pytest.approx(expected)
    assert compute_least_p(sample) == 0.0


def test_four_templates_are_no_clusters_and_the_interval_says_so() -> None:
    values, codes = np.tile([1.0, 0.0, -1.0, 1.0, 0.0], 4), np.repeat(np.arange(4), 5)
    sample = differences(values, yes_no=True, clusters=codes)
    assert isinstance(method_of(sample), PairCounts)
    assert method_of(sample).limits((0.025, 0.025)).fixed_templates
    alone = differences(values, yes_no=True, clusters=np.arange(20))  # each in a template of its own: no cluster
    assert not method_of(alone).limits((0.025, 0.025)).fixed_templates


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        (differences(np.array([1.0, 0, -1, 0]), yes_no=True), PairCounts),
        (differences(np.array([1.0, 0, -1, 0]), yes_no=True, weights=np.array([1.0, 1, 1, 2])), SignFlips),
        (differences(np.array([1.0, 0, -1, 0]), yes_no=False), SignFlips),
        (differences(np.zeros(4), yes_no=False), EqualPairs),
        (differences(np.tile([1.0, 0, -1], 5), yes_no=True, clusters=np.repeat(np.arange(5), 3)), SignFlips),
        (differences(np.tile([1.0, 0, 0], 7), yes_no=True, clusters=np.arange(21) % 5), StudentT),
        (differences(np.tile([1.0, 0, 0], 14), yes_no=True, clusters=np.arange(42) % 10), SignFlips),
    ],
)
def test_the_method_follows_values_weights_and_clusters(sample: Differences, kind: type) -> None:
    """In the fifth the clusters do not vary: t would be sure of itself, so that their signs are flipped."""
    assert isinstance(method_of(sample), kind)


def test_equal_pairs_tell_how_many_others_there_may_be() -> None:
    """149 equal pairs refuse a share of 2 % others, 148 do not: 0.98 to the power of 149 is 0.0493."""
    enough, too_few = (EqualPairs(graded(np.zeros(n))) for n in (149, 148))
    assert enough.above(-0.02) == pytest.approx(0.98**149)
    assert enough.above(-0.02) < 0.05 < too_few.above(-0.02)
    assert (enough.limits((0.05, 0.05)).low or -1) > -0.02 > (too_few.limits((0.05, 0.05)).low or 0)
    assert two_sided(enough) == 1.0


SAMPLES: dict[str, Callable[[np.random.Generator], Differences]] = {
    "counts": lambda rng: differences(rng.choice([-1.0, 0, 1], 60, p=[0.15, 0.6, 0.25]), yes_no=True),
    "few counts": lambda rng: differences(rng.choice([-1.0, 0, 1], 9, p=[0.1, 0.3, 0.6]), yes_no=True),
    "grades": lambda rng: graded(rng.normal(0.1, 0.3, 25)),
    "strata": lambda rng: graded(rng.normal(0.1, 0.3, 30), [*[3.0] * 10, *[1.0] * 20]),
    "clusters": lambda rng: differences(rng.normal(0.1, 0.3, 60), yes_no=False, clusters=np.arange(60) % 12),
    "few clusters": lambda rng: differences(rng.normal(0.1, 0.3, 60), yes_no=False, clusters=np.arange(60) % 7),
    "equal": lambda rng: graded(np.zeros(rng.integers(1, 40))),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("level", [0.05, 0.01, 0.05 / 28, 1e-5])
def test_an_interval_excludes_nothing_exactly_where_the_test_refuses_it(name: str, level: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(25):
        test = method_of(SAMPLES[name](rng), level=level / 2)
        found = test.limits((level / 2, level / 2))
        assert found.low is not None
        assert found.high is not None
        assert (two_sided(test) < level) == (not found.low <= 0 <= found.high)


def test_p_values_of_counts_are_binomial_at_margin_0() -> None:
    assert float(below(0, 40, 300, 0.0)) == pytest.approx(2.0**-40, rel=1e-12)


def test_tangos_own_limits_exclude_a_margin_exactly_where_its_test_refuses_it() -> None:
    for n, lost, won in product((5, 39, 120), range(6), range(6)):
        if lost + won > n:
            continue
        counts = PairCounts(won, lost, n)
        for level in (0.05, 0.025):
            limits = counts.limits_at_margin((level, level))
            assert limits.low is not None
            assert limits.high is not None
            for margin in (-0.3, -0.1, -0.02, -0.001, 0.001, 0.02, 0.1, 0.3):
                assert (counts.below(margin) < level) == (limits.high < margin), (n, lost, won, margin)
                assert (counts.above(margin) < level) == (limits.low > margin), (n, lost, won, margin)
