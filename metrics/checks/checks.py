"""Checks metric: what a row asks of its reply itself, check by check, each by a metric that scores by rule."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.records import TYPICAL, Expectation, Found, Sample, Score
from basic_control.metrics._replies import NO_REPLY, reply, require_column
from basic_control.metrics.checks.reasons import explain_failure, is_open
from basic_control.metrics.checks.rows import COLUMN, RowCheck, UnreadableChecksError, read_checks

LONGEST = 200
"""Characters of a reason."""
_ROUNDING = 1e-9
_NONE = Score(None, "not_applicable", "the row has no checks")


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What came of a check: its part in the weighted mean, 1 if it holds, and the metric's own score."""

    check: RowCheck
    value: float
    score: Score

    @property
    def holds(self) -> bool:
        """Whether the check holds."""
        return self.value >= 1.0 - _ROUNDING

    @property
    def reason(self) -> str:
        """Why it does not hold."""
        return f"{self.check.label}: {explain_failure(self.check, self.score)}"[:LONGEST]

    def describe(self) -> dict[str, Any]:
        """Return the outcome as the row's details have it."""
        described: dict[str, Any] = {"check": self.check.label, "holds": self.holds}
        if not self.holds:
            described["reason"] = self.reason
        return described


def apply_check(check: RowCheck, sample: Sample) -> CheckOutcome:
    """Score a reply by a check."""
    score = check.unit.score(check.complete(sample), {}, check.options)
    value, least = score.value or 0.0, check.keys.threshold
    if least is not None:
        value = float(value >= least - _ROUNDING)
    if check.keys.is_inverse and not is_open(score):
        value = 1.0 - value
    return CheckOutcome(check, value, score)


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return whether a row's checks can be put to replies, with their own expected answers or the row's."""
    del options
    try:
        row = read_checks(sample.get(COLUMN))
    except UnreadableChecksError as error:
        return Expectation(str(error), column=COLUMN)
    for number, check in enumerate(row.checks, start=1):
        problem = check.find_problem(sample)
        if problem:
            return Expectation(f"check {number}: {check.unit.name}: {problem}", column=COLUMN)
    return Expectation(column=COLUMN)


def _weigh(outcomes: Sequence[CheckOutcome]) -> float:
    """Return the weighted mean of checks."""
    weights = [outcome.check.keys.weight for outcome in outcomes]
    weighted = [outcome.value * weight for outcome, weight in zip(outcomes, weights, strict=True)]
    return sum(weighted) / sum(weights)


def completes(samples: Iterable[Sample], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options as they are.

    Raises:
        InputError: no row has the column.
    """
    require_column(samples, COLUMN, "checks")
    return options


@metric(
    expects=expects,
    completes=completes,
    yes_no=True,
    title={"en": "Checks", "ru": "Проверки"},
)
def checks(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if every check of the row holds, or their weighted mean reaches the row's threshold, else 0.

    Source: promptfoo's documentation of assertions, for weights and thresholds.
    """
    del options
    try:
        row = read_checks(sample.get(COLUMN))
    except UnreadableChecksError as error:
        # Such a row is asked only where the suite leaves out what is unreadable.
        return Score(None, "not_applicable", f"{COLUMN}: {error}"[:LONGEST])
    if not row.checks:
        return _NONE
    if not reply(sample):
        return NO_REPLY
    outcomes = [apply_check(check, sample) for check in row.checks]
    details: dict[str, Any] = {COLUMN: [outcome.describe() for outcome in outcomes]}
    failures = [outcome for outcome in outcomes if not outcome.holds]
    if not failures:
        return Score(1.0, reason="every check holds", details=details)
    reason = failures[0].reason
    if row.threshold is not None:
        mean = _weigh(outcomes)
        share = f"{mean:.2f} of the checks, {row.threshold:g} needed"
        if mean >= row.threshold - _ROUNDING:
            return Score(1.0, reason=share, details=details)
        reason = f"{share}; {reason}"
    # Reports count kinds of failures, whatever the text was.
    details[TYPICAL] = f"{failures[0].check.label}: {failures[0].score.reason}"[:LONGEST]
    return Score(0.0, reason=reason[:LONGEST], details=details)
