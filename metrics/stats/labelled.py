"""Prediction-powered means (PPI++) from a judge's scores of all samples and human labels of some.

The labels correct the judge on the very data that is measured, without assumptions about it: a bad judge cannot
make the interval wrong, only less narrow. λ, the weight of the judge, is chosen from the data.

Source: Angelopoulos, Duchi & Zrnic 2023 (PPI++); samples drawn with known probabilities after Hájek 1971. The
interval is Wilson's with the effective number of labels and Student's t: the normal one covers 87 to 95 % at 50
labels (`tests.benchmarks.calibration`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np

from basic_control.metrics.stats.intervals import (
    Codes,
    Floats,
    Interval,
    MeanEstimate,
    estimate,
    group_rows,
    score_limits,
    sum_by_code,
)

FEWEST = 10
"""Minimum number of labels of either class for an interval."""
DECIDING = 30
"""Minimum number of labels for the labels to decide."""

_TAIL = 0.025
_NOTHING = 1e-12
_SUPPOSED = 0.5


@dataclass(frozen=True, slots=True)
class Powered:
    """A mean in [0, 1] of N judged samples, n of them with human labels, with its 95 % interval.

    `judged` is the judge's mean over all samples, `labelled` that of the labels, without the judge. `weight` is λ,
    that of the judge: 0 uses the labels alone. `n_halving` is the number of labels that would halve the interval;
    None if no number of labels among these samples would, or without an interval; `reason` says why there is none.
    Beside the samples `n_settled` responses needed no judge; their mean is `settled`.
    """

    value: float
    interval: Interval
    weight: float
    n_labels: int
    n_samples: int
    judged: MeanEstimate
    labelled: MeanEstimate
    n_halving: int | None = None
    reason: str = ""
    n_settled: int = 0
    settled: float = 0.0

    @property
    def decides(self) -> bool:
        """Whether there are enough labels for the mean to be the headline: 30, ten of either class."""
        return self.n_labels >= DECIDING and not self.reason


def prediction_powered(
    judged: Sequence[float] | Floats,
    labelled: Sequence[int],
    labels: Sequence[float] | Floats,
    *,
    probabilities: Sequence[float] | None = None,
    units: Sequence[int] | Codes | None = None,
    weight: float | None = None,
    predictor: Sequence[float] | Floats | None = None,
) -> Powered:
    """Estimate the mean label of all samples.

    `judged` are the judge's scores of all N samples, `labelled` the positions of the ones with labels (not empty,
    each once), `labels` their labels, in [0, 1]; `probabilities` their sampling probabilities, in (0, 1] (equal by
    default). `units` numbers each sample's unit, from 0: samples of one question are not independent (by default
    each is its own). `weight` fixes λ. `predictor` takes the place of the scores where it tells more, such as the
    probabilities behind them.
    """
    scores, human, at = np.asarray(judged, float), np.asarray(labels, float), np.asarray(labelled, np.int64)
    chances = np.ones(len(at)) if probabilities is None else np.asarray(probabilities, float)
    codes = np.arange(len(scores)) if units is None else np.asarray(units, np.int64)
    sizes = sum_by_code(codes, np.ones(len(scores)))
    # What predicts the labels best need not be the score that is corrected.
    predicted = scores if predictor is None else np.asarray(predictor, float)
    sums, total = _unit_moments(predicted, human, at, chances, codes), len(sizes)
    alone, chosen = np.zeros(1), np.array([weight or 0.0])
    if weight is None:
        chosen = choose_lambda(sums, total)
        ends, plain = compute_limits(sums, chosen, total), compute_limits(sums, alone, total)
        # A judge that would widen the interval is not relied on.
        if ends[1] - ends[0] > plain[1] - plain[0]:
            chosen = alone
    powered = Powered(
        value=float(np.clip(mean_at(sums, chosen), 0.0, 1.0)[0]),
        interval=Interval(),
        weight=float(chosen[0]),
        n_labels=len(human),
        n_samples=len(scores),
        judged=estimate(
            group_rows(sum_by_code(codes, scores), sizes), yes_no=bool(np.isin(scores, (0.0, 1.0)).all())
        ),
        labelled=MeanEstimate(float(sums.label[0]), Interval()),
    )
    rarer = _count_rarer(human)
    if rarer < FEWEST:
        return replace(powered, reason=f"{rarer} labels of the rarer class; an interval needs {FEWEST} of either")
    low, high = compute_limits(sums, chosen, total)
    least, greatest = compute_limits(sums, alone, total)
    return replace(
        powered,
        interval=Interval(float(low[0]), float(high[0]), "prediction-powered", sums.n),
        labelled=replace(
            powered.labelled, interval=Interval(float(least[0]), float(greatest[0]), "wilson", sums.n)
        ),
        n_halving=_count_halving(sums, chosen, total, len(human)),
    )


def _count_rarer(labels: Floats) -> int:
    """Return the number of labels of the rarer class; for graded labels, of those that differ from the mode."""
    counts = np.unique(labels, return_counts=True)[1]
    if len(counts) > FEWEST:
        return len(labels) // 2
    return int(min(counts.max(), len(labels) - counts.max()))


class Moments(NamedTuple):
    """The moments needed for many evaluations, an element each.

    `share` and `spread` are mean and variance of the judge's scores over all samples, `label` and `score` weighted
    means over the labelled ones. `variance`, `common` and `judge` are variances of these two means and their
    covariance; `together` is the covariance of a label and a score. `n` is the number of labels, or of labelled
    units.
    """

    share: Floats
    spread: Floats
    label: Floats
    score: Floats
    variance: Floats
    common: Floats
    judge: Floats
    together: Floats
    n: int


def moments(share: Floats, spread: Floats, labels: Floats, scores: Floats, weights: Floats) -> Moments:
    """Compute the moments of labels, scores and weights, an evaluation a row."""
    weights = weights / weights.sum(axis=1, keepdims=True)
    label, score = (weights * labels).sum(axis=1), (weights * scores).sum(axis=1)
    above, over = labels - label[:, None], scores - score[:, None]
    squares = np.square(weights)
    variance, common, judge = ((squares * x).sum(axis=1) for x in (above**2, above * over, over**2))
    together = (weights * above * over).sum(axis=1)
    return Moments(share, spread, label, score, variance, common, judge, together, labels.shape[1])


def _unit_moments(scores: Floats, labels: Floats, at: Codes, chances: Floats, codes: Codes) -> Moments:
    """Compute the moments of units' means: those of the samples, as correlated as they are within units."""
    units = np.unique(codes[at], return_inverse=True)[1]
    weights = sum_by_code(units, 1 / chances)
    label, score = (sum_by_code(units, values / chances) / weights for values in (labels, scores[at]))
    gaps = sum_by_code(codes, scores - scores.mean())
    spread = len(gaps) * np.square(gaps).sum() / len(scores) ** 2
    return moments(scores.mean()[None], spread[None], label[None], score[None], weights[None])


def choose_lambda(sums: Moments, total: int) -> Floats:
    """Return the λ in [0, 1] with the least variance."""
    cross = sums.common - sums.together / total
    square = sums.judge - sums.spread / total
    return np.clip(np.where(square > _NOTHING, cross / np.maximum(square, _NOTHING), 0.0), 0.0, 1.0)


def mean_at(sums: Moments, weight: Floats) -> Floats:
    """Return the estimate at a λ."""
    return cast("Floats", sums.label + weight * (sums.share - sums.score))


def _variances(sums: Moments, weight: Floats, total: int) -> tuple[Floats, Floats]:
    """Return the variance that more labels would reduce, and the variance that only more samples would.

    λ from the data uses up one more degree of freedom, and half a label is added on which judge and human differ: a
    judge with few errors may show none among 50.
    """
    n = float(sums.n)
    middle = sums.label - weight * sums.score
    differing = (np.square(1 - middle) + np.square(weight + middle)) / 2
    squares = (sums.variance - 2 * weight * sums.common + weight**2 * sums.judge) * n**2
    relied = weight > 0
    freedom = np.where(relied, n - 2 + _SUPPOSED, n - 1)
    reducible = (squares + np.where(relied, _SUPPOSED, 0.0) * differing) / np.maximum(freedom, 1.0) / n
    fixed = (weight**2 * sums.spread + 2 * weight * (sums.together - weight * sums.spread)) / total
    return reducible, fixed


def compute_limits(sums: Moments, weight: Floats, total: int) -> tuple[Floats, Floats]:
    """Compute the 95 % limits of the estimates at λ: Wilson's with the effective number of labels."""
    from scipy.special import stdtrit  # slow import (half a second)

    reducible, fixed = _variances(sums, weight, total)
    mean = np.clip(mean_at(sums, weight), 0.0, 1.0)
    inner = np.clip(mean, 0.5 / total, 1 - 0.5 / total)
    size = inner * (1 - inner) / np.maximum(reducible + fixed, _NOTHING)
    critical = cast("float", -stdtrit(max(sums.n - 1, 1), _TAIL))
    return score_limits(mean, np.clip(size, 1.0, total), critical)


def _count_halving(sums: Moments, weight: Floats, total: int, count: int) -> int | None:
    reducible, fixed = (float(variance[0]) for variance in _variances(sums, weight, total))
    room = (reducible + fixed) / 4 - fixed
    if room <= 0:
        return None
    needed = math.ceil(sums.n * reducible / room)
    if needed > total:
        return None
    return math.ceil(needed * count / sums.n)
