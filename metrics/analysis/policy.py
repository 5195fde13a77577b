"""What passes, as a configuration says; `metrics.analysis.verdict` decides by it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Gate = Literal["point", "interval", "off"]
Must = Literal["nothing", "passport", "labels"]
Undecided = Literal["undecided", "pass"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What passes.

    With `gate` `point` a score at or above its threshold passes; with `interval` it fails when the interval lies
    wholly below, passes when no part of it does, and is undecided else. `off` decides as `point` does, and the exit
    code is 0 unless there is an error. `thresholds` are the suites'; one without is measured, not judged.
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
