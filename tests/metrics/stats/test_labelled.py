"""The prediction-powered mean: SPEC 11's golden, its limits, and when there is no interval."""

import numpy as np
import pytest
from scipy.special import bdtr, gammaln

from basic_control.metrics.stats.intervals import Floats, wilson
from basic_control.metrics.stats.labelled import (
    FEWEST,
    Moments,
    Powered,
    choose_lambda,
    compute_limits,
    prediction_powered,
)


def width(found: Powered) -> float:
    assert found.interval.low is not None
    assert found.interval.high is not None
    return found.interval.high - found.interval.low


def evaluation(judge: float, n: int, total: int, share: float, seed: int) -> tuple[list[float], list[float]]:
    """Return a judge's scores, right with a chance of `judge`, and the truth of all."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(total) < share).astype(float)
    said = np.where(rng.random(total) < judge, truth, 1 - truth)
    return said.tolist(), truth[:n].tolist()


def test_the_golden_estimate_with_full_reliance() -> None:
    """SPEC 11: λ = 1, the judge's mean over all 0.70, over the labelled 0.72, people's 0.66: 0.70 + 0.66 - 0.72."""
    scores = [1.0] * 36 + [0.0] * 14 + [1.0] * 34 + [0.0] * 16
    labels = [1.0] * 33 + [0.0] * 17
    found = prediction_powered(scores, range(50), labels, weight=1.0)
    assert found.judged.mean == pytest.approx(0.70)
    assert found.labelled.mean == pytest.approx(0.66)
    assert found.value == pytest.approx(0.64)


def test_a_useless_judge_leaves_the_labels_alone() -> None:
    scores = [0.5] * 400
    labels = [1.0] * 60 + [0.0] * 40
    found = prediction_powered(scores, range(100), labels)
    assert found.weight == 0.0
    assert found.value == pytest.approx(0.6)
    alone = wilson(60, 100)
    assert alone.low is not None
    assert alone.high is not None
    assert width(found) <= 1.05 * (alone.high - alone.low)


def test_a_good_judge_narrows_the_interval() -> None:
    scores, labels = evaluation(0.85, 100, 1000, 0.5, seed=3)
    found = prediction_powered(scores, range(100), labels)
    assert found.weight > 0.5
    assert found.labelled.interval.low is not None
    assert found.labelled.interval.high is not None
    assert width(found) < 0.9 * (found.labelled.interval.high - found.labelled.interval.low)


def test_no_interval_below_ten_labels_of_either_class() -> None:
    scores, _ = evaluation(0.85, 50, 500, 0.5, seed=4)
    nine = prediction_powered(scores, range(50), [1.0] * 41 + [0.0] * 9)
    ten = prediction_powered(scores, range(50), [1.0] * 40 + [0.0] * 10)
    assert nine.interval.low is None
    assert nine.reason == "9 labels of the rarer class; an interval needs 10 of either"
    assert ten.interval.low is not None


def test_as_many_labels_as_it_says_halve_the_interval() -> None:
    truth = ([1.0] * 6 + [0.0] * 4) * 400
    scores = ([1.0] * 5 + [0.0] * 1 + [0.0] * 3 + [1.0]) * 400
    few = prediction_powered(scores, range(50), truth[:50])
    assert few.n_halving is not None
    many = prediction_powered(scores, range(few.n_halving), truth[: few.n_halving])
    assert width(many) == pytest.approx(width(few) / 2, rel=0.08)


def test_no_number_of_labels_halves_what_only_more_samples_would() -> None:
    scores, labels = evaluation(1.0, 100, 120, 0.5, seed=5)
    assert prediction_powered(scores, range(100), labels).n_halving is None


def test_samples_drawn_with_unlike_probabilities_are_weighed() -> None:
    """Failures labelled ten times as often: unweighted 0.5, each weighed by its chance 10 of 11."""
    labels = [1.0] * 50 + [0.0] * 50
    scores = [0.5] * 1000
    found = prediction_powered(scores, range(100), labels, probabilities=[0.05] * 50 + [0.5] * 50)
    assert found.value == pytest.approx(10 / 11)


def test_labels_of_one_questions_answers_tell_no_more_than_one() -> None:
    """Ten equal answers to each of 60 questions, all labelled, or half of them: as wide as with one answer each."""
    scores, labels = evaluation(0.85, 60, 60, 0.7, seed=6)
    once = prediction_powered(scores, range(60), labels)
    several, told = np.repeat(scores, 10), np.repeat(labels, 10)
    for at in ([*range(600)], [*range(0, 600, 2)]):
        often = prediction_powered(several, at, told[at], units=np.repeat(np.arange(60), 10))
        assert (often.value, often.n_samples) == (pytest.approx(once.value), 600)
        assert (often.interval.low, often.interval.high) == pytest.approx((once.interval.low, once.interval.high))
    assert width(prediction_powered(several, range(600), told)) < 0.5 * width(once)


def chances_of(counts: Floats, shares: Floats) -> Floats:
    """Return the multinomial chance of each row of counts."""
    logs = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    found: Floats = np.exp(logs) * np.prod(np.power(shares, counts), axis=1)
    return found


def exact_coverage(yes: float, truth: float, n: int, total: int = 1000) -> float:
    """Return how often n labels' interval covers the truth, of a judge that errs on true yes only, by enumeration.

    Of the evaluations that have an interval; the judge's verdicts on the rest in steps of a twentieth of their
    spread.
    """
    listed = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    counts = np.array([one for one in listed if FEWEST <= one[0] + one[1] <= n - FEWEST], float)
    shares = np.array([truth * yes, truth * (1 - yes), 1 - truth])
    chance = chances_of(counts, shares)
    counts, chance = counts[chance > 1e-7], chance[chance > 1e-7]
    middle, rest = shares[0], total - n
    spread = (middle * (1 - middle) * rest) ** 0.5
    cuts = np.floor(middle * rest + spread * np.arange(-5, 5, 0.05))
    parts = np.diff(bdtr(cuts, rest, middle))
    said = (cuts[1:] + cuts[:-1] + 1) / 2
    every = counts[:, None, :] + 0 * said[None, :, None]
    share = ((every[..., 0] + said) / total).ravel()
    label = ((every[..., 0] + every[..., 1]) / n).ravel()
    score = (every[..., 0] / n).ravel()
    common = score - label * score
    sums = Moments(
        share,
        share * (1 - share),
        label,
        score,
        label * (1 - label) / n,
        common / n,
        score * (1 - score) / n,
        common,
        n,
    )
    low, high = compute_limits(sums, choose_lambda(sums, total), total)
    covered = ((low <= truth) & (truth <= high)).reshape(len(counts), -1)
    return float(chance @ covered @ parts / (chance.sum() * parts.sum()))


def test_50_labels_cover_a_judge_of_few_errors_too_often_rather_than_too_seldom() -> None:
    """The least of all cells is at sensitivity 0.95, truth 0.7; a flawless judge pays for it."""
    assert 0.92 <= exact_coverage(0.95, 0.7, 50) <= 0.98
    assert 0.98 < exact_coverage(1.0, 0.7, 50) <= 0.997
    assert 0.92 <= exact_coverage(1.0, 0.7, 100) <= 0.98


def test_a_calibrated_judges_probabilities_narrow_intervals_as_the_documents_say() -> None:
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(30):
        shares = rng.beta(0.8, 0.6, 1000)
        truths = (rng.random(1000) < shares).astype(float)
        at = rng.choice(1000, 100, replace=False).tolist()
        verdicts = (shares >= 0.5).astype(float)
        by_verdict = prediction_powered(verdicts, at, truths[at])
        by_share = prediction_powered(verdicts, at, truths[at], predictor=shares)
        widths = [
            (powered.interval.high or 1.0) - (powered.interval.low or 0.0) for powered in (by_share, by_verdict)
        ]
        ratios.append(widths[0] / widths[1])
    assert 0.94 < np.mean(ratios) < 0.98
