"""Measured judges: corrected shares, people's labels, passports and agreement, by the published formulas."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize

from basic_control.metrics.stats import agreement, calibration
from basic_control.metrics.stats.calibration import MeanRate, correct_mean, correct_share
from basic_control.metrics.stats.labelled import prediction_powered
from tests.acceptance import references
from tests.helpers.passports import rate

RATES = (
    (90, 100, 80, 100),
    (95, 100, 99, 100),
    (60, 100, 70, 100),
    (30, 30, 30, 30),
    (45, 50, 20, 40),
    (7, 10, 9, 10),
)
SHARES = (0.0, 0.02, 0.2, 0.5, 0.6, 0.8, 0.97, 1.0)


def rogan_gladen(share: float, sensitivity: MeanRate, specificity: MeanRate) -> float:
    """Return the corrected share (Rogan & Gladen 1978), clipped, in exact arithmetic."""
    right, rejected = (Fraction(one.share).limit_denominator(one.n) for one in (sensitivity, specificity))
    corrected = (Fraction(share) + rejected - 1) / (right + rejected - 1)
    return float(min(max(corrected, Fraction(0)), Fraction(1)))


def delta_width(share: float, n: float, sensitivity: MeanRate, specificity: MeanRate) -> float:
    """Return half the interval that the delta method gives, of all three samples."""
    right, rejected = sensitivity.share, specificity.share
    worth = right + rejected - 1
    truth = (share + rejected - 1) / worth
    variance = share * (1 - share) / n
    variance += truth**2 * right * (1 - right) / sensitivity.n
    variance += (1 - truth) ** 2 * rejected * (1 - rejected) / specificity.n
    return 1.96 * math.sqrt(variance) / worth


def test_golden_corrected_share() -> None:
    found = correct_share(0.6, 1000, rate(90, 100), rate(80, 100))
    assert found.value == pytest.approx(0.4 / 0.7)
    assert round(found.value or 0, 4) == 0.5714
    assert found.informedness == pytest.approx(0.7)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("k", "n", "l", "m"), RATES)
def test_shares_are_corrected_by_the_formula(share: float, k: int, n: int, l: int, m: int) -> None:  # noqa: E741 - the other counts
    sensitivity, specificity = rate(k, n), rate(l, m)
    found = correct_share(share, 500, sensitivity, specificity)
    assert found.value == pytest.approx(rogan_gladen(share, sensitivity, specificity))
    low, high = found.interval.low, found.interval.high
    assert low is not None
    assert high is not None
    assert 0 <= low <= (found.value or 0) <= high <= 1


@pytest.mark.parametrize(
    ("sensitivity", "specificity", "given"),
    [
        (rate(60, 100), rate(60, 100), True),  # 0.2 is not below 0.2
        (rate(59, 100), rate(60, 100), False),
        (rate(50, 100), rate(50, 100), False),
        (rate(20, 100), rate(30, 100), False),  # worse than chance
        (rate(0, 0), rate(80, 100), False),
        (rate(90, 100), rate(0, 0), False),
    ],
)
def test_a_judge_worth_less_than_a_fifth_corrects_nothing(
    sensitivity: MeanRate, specificity: MeanRate, *, given: bool
) -> None:
    found = correct_share(0.5, 1000, sensitivity, specificity)
    assert (found.value is not None) == given
    assert (found.interval.low is not None) == given
    assert bool(found.reason) != given


@pytest.mark.parametrize("share", [0.3, 0.5, 0.6])
def test_the_interval_of_large_samples_is_near_the_delta_methods(share: float) -> None:
    sensitivity, specificity = rate(900, 1000), rate(850, 1000)
    found = correct_share(share, 5000, sensitivity, specificity)
    half = delta_width(share, 5000, sensitivity, specificity)
    assert found.interval.low == pytest.approx((found.value or 0) - half, abs=0.15 * half)
    assert found.interval.high == pytest.approx((found.value or 0) + half, abs=0.15 * half)


@pytest.mark.parametrize(("truth", "right", "rejected"), [(0.5, 0.9, 0.8), (0.9, 0.85, 0.9), (0.1, 0.95, 0.75)])
def test_the_interval_of_a_corrected_share_covers(truth: float, right: float, rejected: float) -> None:
    said = truth * right + (1 - truth) * (1 - rejected)

    def draw(rng: np.random.Generator) -> tuple[float, float]:
        sensitivity, specificity = rate(int(rng.binomial(60, right)), 60), rate(int(rng.binomial(60, rejected)), 60)
        interval = correct_share(rng.binomial(200, said) / 200, 200, sensitivity, specificity).interval
        return (interval.low, interval.high) if interval.low is not None and interval.high is not None else (0, 1)

    assert 0.92 <= references.coverage(600, truth, draw, seed=11) <= 0.995


def test_a_mean_of_two_labels_is_the_corrected_share() -> None:
    found = correct_mean([600, 400], [[90, 10], [20, 80]], [1.0, 0.0])
    assert found.value == pytest.approx(0.4 / 0.7)


@pytest.mark.parametrize("truth", [(0.5, 0.3, 0.2), (0.8, 0.1, 0.1), (0.1, 0.2, 0.7), (0.0, 0.5, 0.5)])
def test_a_mean_of_three_labels_inverts_the_table(truth: tuple[float, float, float]) -> None:
    table = np.array([[80, 15, 5], [10, 80, 10], [5, 20, 75]])
    said = np.array(truth) @ (table / 100)
    found = correct_mean((said * 10_000).tolist(), table.tolist(), [1.0, 0.5, 0.0])
    assert found.value == pytest.approx(truth[0] + truth[1] / 2, abs=5e-3)


def test_a_mean_of_three_labels_is_the_likeliest_within_bounds() -> None:
    table, counts = np.array([[80, 15, 5], [10, 80, 10], [5, 20, 75]]) / 100, np.array([300.0, 690.0, 10.0])

    def unlikeliness(free: Any) -> float:
        shares = np.exp(np.append(free, 0.0))
        return float(-counts @ np.log(shares / shares.sum() @ table))

    best = optimize.minimize(
        unlikeliness, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    shares = np.exp(np.append(best.x, 0.0))
    shares /= shares.sum()
    found = correct_mean(counts.tolist(), (table * 100).astype(int).tolist(), [1.0, 0.5, 0.0])
    assert found.value == pytest.approx(shares[0] + shares[1] / 2, abs=5e-3)


def closed_form(
    truth: references.Floats, judged: references.Floats, n: int
) -> tuple[float, Callable[[float], float]]:
    """Return PPI++'s λ for a mean in [0, 1], and the variance of the mean at any λ, from all there is to know.

    Source: Angelopoulos, Duchi & Zrnic 2023. Theirs has the judge's mean over the N - n unlabelled samples, and
    λ = cov / ((1 + n / (N - n)) var); over all N samples the same estimate has λ = cov / var.
    """
    both = np.cov(truth, judged)
    rest = 1 / n - 1 / len(judged)
    best = min(max(both[0, 1] / both[1, 1], 0.0), 1.0)
    return best, lambda weight: both[0, 0] / n - (2 * weight * both[0, 1] - weight**2 * both[1, 1]) * rest


def test_golden_prediction_powered_mean() -> None:
    judged = [1.0] * 72 + [0.0] * 28 + [1.0] * 628 + [0.0] * 272
    found = prediction_powered(judged, list(range(100)), [1.0] * 66 + [0.0] * 34, weight=1.0)
    assert (found.judged.mean, found.labelled.mean, found.value) == pytest.approx((0.70, 0.66, 0.64))


@pytest.mark.parametrize("seed", range(12))
def test_people_and_judge_are_joined_by_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (rng.random(2000) < 0.6).astype(float)
    noise = (0.05, 0.2, 0.5)[seed % 3]
    judged = np.where(rng.random(2000) < noise, 1 - truth, truth)
    places = rng.choice(2000, 150, replace=False)
    found = prediction_powered(judged, places.tolist(), truth[places])
    best, variance = closed_form(truth, judged, 150)
    assert found.weight == pytest.approx(best, abs=0.15)  # from 150 labels
    assert variance(found.weight) <= 1.06 * variance(best)
    gap = judged.mean() - judged[places].mean()
    assert found.value == pytest.approx(truth[places].mean() + found.weight * gap, abs=1e-9)
    assert (found.n_labels, found.n_samples) == (150, 2000)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_a_given_rely_is_taken_as_it_is(weight: float) -> None:
    judged = [0.2, 0.9, 0.4, 0.8] * 30
    places, labels = list(range(0, 60, 2)), [0.5, 0.3, 0.9] * 10
    found = prediction_powered(judged, places, labels, weight=weight)
    gap = np.mean(judged) - np.mean([judged[place] for place in places])
    assert found.value == pytest.approx(np.mean(labels) + weight * gap)


def test_samples_drawn_with_unequal_chances_are_weighed() -> None:
    judged = [0.0] * 100 + [1.0] * 100
    places, labels = [0, 1, 2, 3, *range(100, 116)], [0.0, 1.0, 0.0, 0.0] + [1.0, 1.0, 1.0, 0.0] * 4
    chances = [0.04] * 4 + [0.16] * 16
    found = prediction_powered(judged, places, labels, probabilities=chances, weight=0.0)
    weights = 1 / np.array(chances)
    assert found.value == pytest.approx(np.sum(weights * labels) / weights.sum())  # Hájek 1971


@pytest.mark.parametrize(
    ("ones", "zeros", "given"), [(10, 10, True), (9, 40, False), (40, 9, False), (40, 10, True)]
)
def test_no_interval_below_ten_labels_of_either_class(ones: int, zeros: int, *, given: bool) -> None:
    judged = [1.0, 0.0] * 200
    found = prediction_powered(judged, list(range(ones + zeros)), [1.0] * ones + [0.0] * zeros)
    assert (found.interval.low is not None) == given
    assert bool(found.reason) != given


@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_the_interval_of_joined_labels_covers(noise: float) -> None:
    def draw(rng: np.random.Generator) -> tuple[float, float]:
        truth = (rng.random(600) < 0.7).astype(float)
        judged = np.where(rng.random(600) < noise, 1 - truth, truth)
        found = prediction_powered(judged, list(range(80)), truth[:80]).interval
        return (found.low, found.high) if found.low is not None and found.high is not None else (0, 1)

    assert 0.92 <= references.coverage(400, 0.7, draw, seed=3) <= 0.99


@pytest.mark.parametrize(
    "table",
    [
        [[90, 10], [20, 80]],
        [[50, 50], [50, 50]],
        [[10, 0], [0, 10]],
        [[30, 5, 1], [4, 20, 6], [2, 3, 29]],
        [[9, 1], [0, 0]],
    ],
)
def test_kappa_is_cohens(table: list[list[int]]) -> None:
    total = sum(map(sum, table))
    agreed = Fraction(sum(table[k][k] for k in range(len(table))), total)
    chance = sum(
        (Fraction(sum(table[k]), total) * Fraction(sum(row[k] for row in table), total) for k in range(len(table))),
        Fraction(0),
    )
    assert calibration.kappa(table) == pytest.approx(float((agreed - chance) / (1 - chance)))


def test_kappa_of_one_label_only_is_undefined() -> None:
    assert calibration.kappa([[10, 0], [0, 0]]) is None


def krippendorff(units: Sequence[Sequence[float]]) -> float:
    """Return alpha by pairs of ratings (Krippendorff 2011): observed over expected disagreement."""

    def apart(one: float, other: float) -> float:
        return (one - other) ** 2

    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    seen = sum(sum(apart(a, b) for a in unit for b in unit) / (len(unit) - 1) for unit in units) / len(values)
    expected = sum(apart(a, b) for a in values for b in values) / (len(values) * (len(values) - 1))
    return 1 - seen / expected


@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_krippendorffs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = [rng.integers(0, 4, size=rng.integers(1, 5)).astype(float).tolist() for _ in range(20)]
    rows = [(str(place), value) for place, unit in enumerate(units) for value in unit]
    frame = pl.DataFrame(rows, schema={"unit": pl.String, "value": pl.Float64}, orient="row")
    assert agreement.agreement(frame).alpha == pytest.approx(krippendorff(units))
