"""Configured pass criteria, applied by `metrics.analysis.verdict`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from basic_control.data.exits import GateOutcome

if TYPE_CHECKING:  # imports numpy, which the command line avoids
    from basic_control.metrics.stats.intervals import Interval

TOLERANCE = 1e-9  # smaller differences are rounding errors
Gate = Literal["point", "interval", "off"]
Must = Literal["nothing", "passport", "labels"]
Undecided = Literal["undecided", "pass"]


@dataclass(frozen=True, slots=True)
class Policy:
    """Pass criteria.

    With `gate` `point` a score at or above its threshold passes; with `interval` it fails if the interval lies
    wholly below, passes if it lies wholly at or above, and is undecided otherwise. `off` decides like `point`, but
    the exit code is 0 unless there is an error. `thresholds` are the headlines', by suite and metric; a headline
    without one is measured, not judged. `threshold` is for the weighted overall score of several suites; by default
    `THRESHOLD` if each of them has a threshold. `undecided` says how an undecided gate counts: as itself, or as a
    pass. `regressions`: falling below the baseline also fails the run.
    """

    gate: Gate = "point"
    threshold: float | None = None
    thresholds: Mapping[tuple[str, str], float | None] = field(default_factory=dict)
    undecided: Undecided = "undecided"
    regressions: bool = False


def reaches(score: float, threshold: float) -> bool:
    """Return whether a score is at or above a threshold, allowing for rounding errors."""
    return score >= threshold - TOLERANCE


def outcome_at(score: float | None, interval: "Interval", threshold: float | None, gate: Gate) -> GateOutcome:
    """Return the outcome of a score, or of its whole interval, at a threshold; `none` if either is missing."""
    if score is None or threshold is None:
        return "none"
    if gate != "interval":
        return "pass" if reaches(score, threshold) else "fail"
    if interval.low is None or interval.high is None:
        return "undecided"
    if reaches(interval.low, threshold):
        return "pass"
    if reaches(interval.high, threshold):
        return "undecided"
    return "fail"
