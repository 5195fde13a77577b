"""Confidence sequences hold at every moment, whatever is looked at when."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from basic_control.metrics.stats.sequential import PARTS, capital, divide_alpha, find_decided, follow, lower, side


def _won(values: Sequence[float], m: float) -> float:
    """What betting on a mean above m makes of 1, bet by bet and value by value."""
    pots = [1.0] * len(PARTS)
    for value in values:
        pots = [pot * (1 - part + part * value / m) for pot, part in zip(pots, PARTS, strict=True)]
    return sum(pots) / len(pots)


def _capital(values: Sequence[float], m: float) -> float:
    seen, counts = np.unique(np.array(values), return_counts=True)
    return math.exp(capital(seen, counts.astype(np.float64), m))


@pytest.mark.parametrize("values", [[1, 1, 0, 1], [0.5, 0.25, 1, 0.9, 0.5], [0, 0, 0], [1.0]])
@pytest.mark.parametrize("m", [0.2, 0.5, 0.9])
def test_capital_is_what_the_bets_make_of_it(values: list[float], m: float) -> None:
    assert _capital(values, m) == pytest.approx(_won(values, m), rel=1e-12)


@pytest.mark.parametrize("m", [0.3, 0.5, 0.8])
def test_nobody_can_expect_to_gain_where_m_is_the_mean(m: float) -> None:
    """Over all sequences of ten answers, weighed by their chance, the capital comes to exactly 1."""
    expected = sum(
        m ** sum(bits) * (1 - m) ** (10 - sum(bits)) * _won(bits, m) for bits in product((0, 1), repeat=10)
    )
    assert expected == pytest.approx(1, rel=1e-12)


def test_ever_excluding_the_truth_has_at_most_the_chance_alpha() -> None:
    """Exact, by counting paths of yes/no answers through 200 looks: sums are all that a capital depends on."""
    for truth, alpha in ((0.5, 0.05), (0.8, 0.05), (0.9, 0.2), (0.8, 0.01)):
        alive, lost = {0: 1.0}, 0.0
        for n in range(1, 201):
            after: dict[int, float] = {}
            for right, chance in alive.items():
                after[right] = after.get(right, 0.0) + chance * (1 - truth)
                after[right + 1] = after.get(right + 1, 0.0) + chance * truth
            seen, alive = np.array([0.0, 1.0]), {}
            for right, chance in after.items():
                up = capital(seen, np.array([n - right, right], float), truth)
                down = capital(seen, np.array([right, n - right], float), 1 - truth)
                if max(up, down) >= math.log(2 / alpha):
                    lost += chance
                else:
                    alive[right] = chance
        assert 0.2 * alpha < lost <= alpha


def test_the_lower_end_is_where_the_capital_reaches_its_goal() -> None:
    values = [1.0] * 30 + [0.0] * 5 + [0.5] * 3
    seen, counts = np.unique(values, return_counts=True)
    found = lower(seen, counts.astype(float), 0.025)
    assert _won(values, found) == pytest.approx(40, rel=1e-4)
    assert _won(values, found - 0.01) > 40 > _won(values, found + 0.01)


def test_right_answers_only_leave_one_within_and_come_closer_to_it() -> None:
    looks = follow([1.0] * 60, alpha=0.05)
    assert [look.high for look in looks] == [1.0] * 60
    lows = [look.low for look in looks]
    assert lows == sorted(lows)
    assert lows[0] < 0.05
    assert 0.9 < lows[-1] < 1


def test_yes_and_no_are_mirror_images() -> None:
    values = [1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1.0]
    for one, other in zip(follow(values, alpha=0.1), follow([1 - v for v in values], alpha=0.1), strict=True):
        assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)


def test_every_look_lies_within_the_one_before_and_only_asked_looks_are_made() -> None:
    values = np.random.default_rng(3).beta(8, 2, 120)
    looks = follow(values, alpha=0.05, looks=(10, 40, 120, 500))
    assert [look.n for look in looks] == [10, 40, 120]
    assert looks[2].mean == pytest.approx(values.mean())
    for before, after in pairwise(looks):
        assert before.low <= after.low <= after.high <= before.high


def test_a_comparison_is_the_sequence_of_half_the_difference_and_a_half() -> None:
    rng = np.random.default_rng(5)
    differences = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.6, 0.3], size=80)
    paired = follow(differences, alpha=0.05, bounds=(-1, 1))
    halves = follow((differences + 1) / 2, alpha=0.05)
    for half, pair in zip(halves, paired, strict=True):
        assert (pair.low, pair.high) == pytest.approx((2 * half.low - 1, 2 * half.high - 1), abs=1e-9)


def test_cut_replies_reach_from_the_lower_means_end_to_the_upper_ones() -> None:
    low_values, high_values = [1.0] * 40 + [0.0] * 10, [1.0] * 45 + [0.0] * 5
    (both,) = follow(low_values, alpha=0.05, looks=[50], ceiling=high_values)
    (worst,), (best,) = (follow(values, alpha=0.05, looks=[50]) for values in (low_values, high_values))
    assert (both.mean, both.low, both.high) == (worst.mean, worst.low, best.high)


def test_a_threshold_is_decided_once_it_is_excluded_and_says_on_which_side() -> None:
    looks = follow([1.0] * 40, alpha=0.05)
    first = find_decided(looks, 0.8)
    assert first is not None
    assert side(first, 0.8) == "above"
    assert all(not side(look, 0.8) for look in looks if look.n < first.n)
    below = find_decided(follow([0.0] * 40, alpha=0.05), 0.8)
    assert below is not None
    assert side(below, 0.8) == "below"
    assert below.n < first.n
    assert find_decided(looks, 1.0) is None
    assert find_decided([], 0.8) is None


def test_values_out_of_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match="within 0 and 1"):
        follow([0.5, 1.5], alpha=0.05)
    with pytest.raises(ValueError, match="within -1 and 1"):
        follow([float("nan")], alpha=0.05, bounds=(-1, 1))


def test_alpha_is_split_in_equal_shares() -> None:
    assert [divide_alpha(0.05, n) for n in (1, 4)] == [0.05, 0.0125]
    assert Fraction(divide_alpha(0.5, 2)) == Fraction(1, 4)
