"""Prediction-powered means (PPI++) from a judge's scores of all samples and human labels of some.

The labels correct the judge on the very data that is measured, without assumptions about it: a bad judge cannot
make the interval wrong, only less narrow. λ, the weight of the judge, is chosen from the data.

Source: Angelopoulos, Duchi & Zrnic 2023 (PPI++); samples drawn with known probabilities after Hájek 1971. The
interval is Wilson's with the effective number of labels and Student's t: the normal one covers 87 to 95 % at 50
labels (`tests.benchmarks.calibration`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import numpy as np

from metrics.stats.intervals import Codes, Floats, Interval, estimate, grouped, score_limits, summed

FEWEST = 10
"""Minimum number of labels of either class for an interval."""
DECIDING = 30
"""Minimum number of labels for the labels to decide."""

_TAIL = 0.025
_NOTHING = 1e-12
_SUPPOSED = 0.5
_DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Powered:
    """A mean in [0, 1] of N judged samples, n of them with human labels, with its 95 % interval.

    `judged` is the judge's mean over all samples, `labelled` the mean label, `labels_alone` the interval from
    labels alone. `weight` is λ, that of the judge: 0 uses the labels alone. `n_halving` is the number of labels
    that would halve the interval; None if no number of labels among these samples would, or without an interval;
    `reason` says why there is none.
    """

    value: float
    interval: Interval
    weight: float
    n_labels: int
    n_samples: int
    judged: float
    labelled: float
    labels_alone: Interval
    n_halving: int | None = None
    reason: str = ""
    judged_interval: Interval = field(default_factory=Interval)
    weight_interval: Interval = field(default_factory=Interval)

    @property
    def decides(self) -> bool:
        """Whether there are enough labels for the mean to be the headline: 30, ten of either class."""
        return self.n_labels >= DECIDING and not self.reason


def prediction_powered(
    judged: Sequence[float] | Floats,
    labelled: Sequence[int],
    labels: Sequence[float] | Floats,
    *,
    probabilities: Sequence[float] | Floats | None = None,
    units: Sequence[int] | Codes | None = None,
    weight: float | None = None,
) -> Powered:
    """Estimate the mean of all samples.

    `judged` are the judge's scores of all samples in [0, 1]; `labelled` the distinct indices of the labelled
    samples, at least one; `labels` their labels, in [0, 1]; `probabilities` their sampling probabilities, in (0, 1]
    (equal by default). `units` numbers each sample's unit, from 0: samples of one question are not independent (by
    default each is its own). `weight` fixes λ.
    """
    scores, human, at = np.asarray(judged, float), np.asarray(labels, float), np.asarray(labelled, np.int64)
    chances = np.ones(len(at)) if probabilities is None else np.asarray(probabilities, float)
    codes = np.arange(len(scores)) if units is None else np.asarray(units, np.int64)
    sizes, (_, own) = summed(codes, np.ones(len(scores))), np.unique(codes[at], return_inverse=True)
    total, count, alone = len(sizes), len(human), np.zeros(1)
    # The moments of units' means are those of the samples, as correlated as they are within units.
    weights = summed(own, 1 / chances)
    told, said = (summed(own, column / chances) / weights for column in (human, scores[at]))
    spread = total * np.square(summed(codes, scores - scores.mean())).sum() / len(scores) ** 2
    sums = moments(scores.mean()[None], spread[None], told[None], said[None], weights[None])
    chosen = best_lambda(sums, total) if weight is None else np.array([weight])
    least, most = _ends(sums, alone, total)
    low, high = _ends(sums, chosen, total)
    if weight is None and high - low > most - least:  # the judge widens the interval
        chosen, low, high = alone, least, most
    found = Powered(
        float(np.clip(mean_at(sums, chosen), 0.0, 1.0)[0]),
        Interval(),
        float(chosen[0]),
        count,
        len(scores),
        float(scores.mean()),
        float(sums.label[0]),
        Interval(),
        judged_interval=estimate(
            grouped(summed(codes, scores), sizes), yes_no=bool(np.isin(scores, (0.0, 1.0)).all())
        ).interval,
    )
    if (fewest := _fewest(human)) < FEWEST:
        reason = f"{fewest} labels of the rarer class; an interval needs {FEWEST} of either"
        return replace(found, reason=reason)
    relied = Interval()
    if weight is None and chosen[0] > 0:
        relied = _lambda_limits(sums, total, np.stack([told, said, weights]), found.weight)
    return replace(
        found,
        interval=Interval(low, high, "prediction-powered", sums.n),
        labels_alone=Interval(least, most, "wilson", sums.n),
        n_halving=_halving(sums, chosen, total, count),
        weight_interval=relied,
    )


def _lambda_limits(sums: "Moments", total: int, units: Floats, value: float) -> Interval:
    """Return the 95 % interval of λ: percentiles over resamples of the labelled units (label, score, weight)."""
    drawn = np.random.default_rng(0).integers(0, sums.n, (_DRAWS, sums.n))
    share, spread = (np.full(_DRAWS, float(one[0])) for one in (sums.share, sums.spread))
    weight = best_lambda(moments(share, spread, *units[:, drawn]), total)
    low, high = np.quantile(weight, [0.025, 0.975]).tolist()
    return Interval(min(low, value), max(high, value), "bootstrap", sums.n)


def _fewest(labels: Floats) -> int:
    """Return the number of labels of the rarer class; for graded labels, of those that differ from the mode."""
    counts = np.unique(labels, return_counts=True)[1]
    return int(min(counts.max(), len(labels) - counts.max())) if len(counts) <= FEWEST else len(labels) // 2


class Moments(NamedTuple):
    """The moments needed for many evaluations, an element each.

    `share` and `spread` are mean and variance of the judge's scores over all samples, `label` and `score` weighted
    means over the labelled ones. `own`, `common` and `judge` are variances of these two means and their covariance;
    `together` is the covariance of a label and a score. `n` is the number of labels, or of labelled units.
    """

    share: Floats
    spread: Floats
    label: Floats
    score: Floats
    own: Floats
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
    own, common, judge = ((squares * x).sum(axis=1) for x in (above**2, above * over, over**2))
    together = (weights * above * over).sum(axis=1)
    return Moments(share, spread, label, score, own, common, judge, together, labels.shape[1])


def best_lambda(sums: Moments, total: int) -> Floats:
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
    squares = (sums.own - 2 * weight * sums.common + weight**2 * sums.judge) * n**2
    relied = weight > 0
    freedom = np.where(relied, n - 2 + _SUPPOSED, n - 1)
    left = (squares + np.where(relied, _SUPPOSED, 0.0) * differing) / np.maximum(freedom, 1.0) / n
    fixed = (weight**2 * sums.spread + 2 * weight * (sums.together - weight * sums.spread)) / total
    return left, fixed


def powered_limits(sums: Moments, weight: Floats, total: int) -> tuple[Floats, Floats]:
    """Compute the 95 % limits of the estimates at λ: Wilson's with the effective number of labels."""
    from scipy.special import stdtrit  # slow import (half a second)

    left, fixed = _variances(sums, weight, total)
    mean = np.clip(mean_at(sums, weight), 0.0, 1.0)
    inner = np.clip(mean, 0.5 / total, 1 - 0.5 / total)
    size = inner * (1 - inner) / np.maximum(left + fixed, _NOTHING)
    critical = cast("float", -stdtrit(max(sums.n - 1, 1), _TAIL))
    return score_limits(mean, np.clip(size, 1.0, total), critical)


def _ends(sums: Moments, weight: Floats, total: int) -> tuple[float, float]:
    low, high = powered_limits(sums, weight, total)
    return float(low[0]), float(high[0])


def _halving(sums: Moments, weight: Floats, total: int, count: int) -> int | None:
    left, fixed = (float(one[0]) for one in _variances(sums, weight, total))
    room = (left + fixed) / 4 - fixed
    if room <= 0:
        return None
    needed = math.ceil(sums.n * left / room)
    return math.ceil(needed * count / sums.n) if needed <= total else None
