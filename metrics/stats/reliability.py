"""How far a judge's probabilities can be believed: Brier score, calibration error, and a reliability curve.

Source: Brier 1950; Naeini, Cooper & Hauskrecht 2015 (expected calibration error, here over equal-count bins).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq, getitem

import numpy as np

from basic_control.metrics.stats.intervals import Floats, Interval

BINS = 10
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Answers of similar confidence: how many, their mean confidence, and the share that is right."""

    n: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Brier score and calibration error of n answers, with 95 % intervals, and the bins of the reliability curve.

    The Brier score is the mean squared distance of the probabilities from the truth: 0 is best; of two labels from
    0 to 1, of more from 0 to 2. The calibration error is the mean distance of confidence from the share right.
    """

    n: int
    brier: float
    brier_interval: Interval
    error: float
    error_interval: Interval
    bins: tuple[ReliabilityBin, ...]


def reliability(
    truths: Sequence[str], verdicts: Sequence[str], probabilities: Sequence[Mapping[str, float]]
) -> Reliability | None:
    """Measure probabilities against known truths; None without answers.

    An answer's confidence is the probability of its verdict. The intervals are percentiles of a bootstrap over
    answers, with a fixed seed.
    """
    if not truths:
        return None
    # Two labels have one distance, which both of them show.
    scale = 0.5 if len(probabilities[0]) == 2 else 1.0  # noqa: PLR2004 - two labels
    squares = scale * np.array([*map(_distance, truths, probabilities)])
    confidence = np.array([*map(getitem, probabilities, verdicts)])
    right = np.array([*map(eq, truths, verdicts)], float)
    drawn = np.random.default_rng(0).integers(0, len(truths), (_DRAWS, len(truths)))
    errors = _errors(confidence[drawn], right[drawn])
    return Reliability(
        n=len(truths),
        brier=float(squares.mean()),
        brier_interval=_interval(squares[drawn].mean(axis=1), len(truths)),
        error=float(_errors(confidence[None], right[None])[0]),
        error_interval=_interval(errors, len(truths)),
        bins=tuple(_bins(confidence, right)),
    )


def _distance(truth: str, shares: Mapping[str, float]) -> float:
    return sum((share - float(label == truth)) ** 2 for label, share in shares.items())


def _edges(n: int) -> list[tuple[int, int]]:
    """Return where bins of equal count begin and end among n sorted answers: no bin is empty."""
    parts = np.array_split(np.arange(n), min(BINS, n))
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


def _sort(confidence: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return samples of answers, a row each, by ascending confidence."""
    order = np.argsort(confidence, axis=1, kind="stable")
    return np.take_along_axis(confidence, order, axis=1), np.take_along_axis(right, order, axis=1)


def _errors(confidence: Floats, right: Floats) -> Floats:
    """Return the calibration error of each sample, a row."""
    gaps = np.subtract(*_sort(confidence, right))
    sums = [np.abs(gaps[:, start:end].sum(axis=1)) for start, end in _edges(gaps.shape[1])]
    return np.sum(sums, axis=0) / gaps.shape[1]


def _bins(confidence: Floats, right: Floats) -> list[ReliabilityBin]:
    (ascending,), (is_right,) = _sort(confidence[None], right[None])
    return [
        ReliabilityBin(end - start, float(ascending[start:end].mean()), float(is_right[start:end].mean()))
        for start, end in _edges(len(ascending))
    ]


def _interval(drawn: Floats, n: int) -> Interval:
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    return Interval(low, high, "bootstrap", n)
