"""What passes, as a configuration says; `metrics.analysis.verdict` decides by it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from data.exits import GateOutcome

if TYPE_CHECKING:  # with numpy, which a command line does without
    from metrics.stats.intervals import Interval

TOLERANCE = 1e-9  # less than this is the arithmetic's rounding, not the score's
Gate = Literal["point", "interval", "off"]
Must = Literal["nothing", "passport", "labels"]
Undecided = Literal["undecided", "pass"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What passes.

    With `gate` `point` a score at or above its threshold passes; with `interval` it fails when the interval lies
    wholly below, passes when no part of it does, and is undecided otherwise. `off` decides as `point` does, and the
    exit code is 0 unless there is an error. `thresholds` are the suites'; one without is measured, not judged.
    `threshold` is that of the weighted whole of several suites: unless given `THRESHOLD`, where each of them has
    one. `undecided` says what an undecided gate counts as: itself, or a pass. `regressions`: what fell below its
    baseline fails the run as well. Of `robust` suites the threshold is that of the share of originals right in all
    their twins.
    """

    gate: Gate = "point"
    threshold: float | None = None
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    undecided: Undecided = "undecided"
    regressions: bool = False
    robust: frozenset[str] = frozenset()


def reaches(score: float, threshold: float) -> bool:
    """Say whether a score is at or above a threshold; what is off by rounding of the arithmetic is at it."""
    return score >= threshold - TOLERANCE


def outcome_at(score: float | None, interval: "Interval", threshold: float | None, gate: Gate) -> GateOutcome:
    """Return what a score comes to at a threshold, by itself or by its whole interval; `none` without both."""
    if score is None or threshold is None:
        return "none"
    if gate != "interval":
        return "pass" if reaches(score, threshold) else "fail"
    if interval.low is None or interval.high is None:
        return "undecided"
    if reaches(interval.low, threshold):
        return "pass"
    return "undecided" if reaches(interval.high, threshold) else "fail"
