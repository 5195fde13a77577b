"""Verdicts: what a model came to in a suite, over all suites, and the run as a whole."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from data.exits import OUTCOMES, Exit, Outcome
from data.suites import GateOn
from metrics.stats.intervals import Interval
from metrics.stats.regression import Change
from metrics.stopping import Narrowing

Gate = Literal["point", "interval", "off"]
Undecided = Literal["undecided", "pass"]

THRESHOLD = 0.8
_TOLERANCE = 1e-9  # less than this is the arithmetic's rounding, not the score's


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """One model in one suite.

    `score` is unrounded, in [0, 1]; None where nothing can be said (then `outcome` is error and `reason` says
    why). `weight` is the suite's share of the overall score, renormalised over the suites that ran. `parts` are
    the means that the score is made of (with strata: of each family), `beside` those of other headlines.
    `left_out` were not applicable. `n_asked` and `n_scored` count rows of all its metrics. `coverage` is the
    smallest share of applicable rows that a metric has scored. `n_deciding`: with so many scored rows the
    interval would exclude the threshold, if mean and spread stayed the same; None where no number would, or
    where the suite is undecided by its nature. `stopping`: the suite was asked until it was decided; its interval
    is that of the sequence, which alone decides. Of `n_truncated` rows the reply was cut: `upper` is the score had
    all of these been right (None where there are none); where the outcome would then be another, it is `undecided`.
    `measured` is false where its judges are not to be believed: the score is then no more than what they said.
    Where people's labels decide, `score` is put right by `n_labels` of them (the fewest of a metric), and
    `as_judged` is what it was.

    With `gate_on` other than `mean` the score is that of `k` answers to each question (pass@k, pass^k), its rows
    are questions, and `mean` is that of all answers, with its interval.
    """

    suite: str
    score: float | None
    interval: Interval
    threshold: float
    weight: float
    outcome: Outcome
    reason: str = ""
    n_asked: int = 0
    n_scored: int = 0
    coverage: float | None = None
    n_deciding: int | None = None
    parts: Mapping[str, float | None] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    beside: Mapping[str, float | None] = field(default_factory=dict)
    stopping: Narrowing | None = None
    n_truncated: int = 0
    upper: float | None = None
    upper_interval: Interval = field(default_factory=Interval)
    gate_on: GateOn = "mean"
    k: int | None = None
    mean: float | None = None
    mean_interval: Interval = field(default_factory=Interval)
    measured: bool = True
    as_judged: float | None = None
    n_labels: int = 0


@dataclass(frozen=True, slots=True)
class ModelResult:
    """One model over all suites: the weighted score, and the outcome against the overall threshold.

    `measured` is false where the score rests on a suite that is not.
    """

    model: str
    score: float | None
    interval: Interval
    threshold: float
    outcome: Outcome
    suites: tuple[SuiteResult, ...]
    reason: str = ""
    n_deciding: int | None = None
    upper: float | None = None
    measured: bool = True

    @property
    def verdict(self) -> Outcome:
        """The worst outcome of the suites and the whole: what the exit code goes by."""
        return max((self.outcome, *(suite.outcome for suite in self.suites)), key=OUTCOMES.index)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Final:
    """The verdict on a run. With gate `off` everything reads as with `point`, and the exit code is 0.

    `undecided` says what an undecided gate counts as: itself, or a pass. `changes` are what the suites came to
    against a baseline, where the run fails on a regression; they count whatever the gate.
    """

    gate: Gate
    models: tuple[ModelResult, ...]
    undecided: Undecided = "undecided"
    changes: tuple[Change, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """The worst over models and changes, in the order error, fail or regressed, undecided, pass."""
        found: set[str] = {model.verdict for model in self.models} if self.gate != "off" else set()
        found |= {*self.changes}
        if "error" in found:
            return Exit.ERROR
        if found & {"fail", "regressed"}:
            return Exit.FAILED
        return Exit.UNDECIDED if "undecided" in found and self.undecided == "undecided" else Exit.PASSED

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        models = [model.as_dict() for model in self.models]
        said = {
            "gate": self.gate,
            "undecided": self.undecided,
            "changes": [*self.changes],
            "exit_code": int(self.exit_code),
        }
        return {**said, "models": models}


def reaches(score: float, threshold: float) -> bool:
    """Say whether a score is at or above a threshold; what is off by rounding of the arithmetic is at it."""
    return score >= threshold - _TOLERANCE
