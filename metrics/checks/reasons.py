"""Why a check does not hold, in words that name what was looked for."""

from collections.abc import Iterable
from typing import Any

from basic_control.data.records import Score
from basic_control.data.values import write_value
from basic_control.metrics._expected import is_absent
from basic_control.metrics._patterns import SLOW
from basic_control.metrics.checks.rows import RowCheck


def is_open(score: Score) -> bool:
    """Return whether a score says nothing, in either direction: as of a pattern that was stopped."""
    return score.value is None or score.reason == SLOW


def explain_failure(check: RowCheck, score: Score) -> str:
    """Return why a check does not hold."""
    if is_open(score):
        return score.reason
    if check.keys.is_inverse:
        pattern = check.options.get("pattern")
        return f"{pattern} matches" if pattern else "holds, and must not"
    if check.keys.threshold is not None:
        return f"{score.value:.2f}, below {check.keys.threshold:g}"
    if not check.unit.yes_no:
        return f"{score.value:.2f} of 1"
    return _explain_texts(check, score) or _explain_difference(check, score)


def _explain_texts(check: RowCheck, score: Score) -> str:
    """Return which texts are there or missing; '' if the check looks for none."""
    unwanted = score.details.get("unwanted")
    if unwanted:
        return f"{_quote(unwanted)} is there"
    missing = score.details.get("missing")
    if not missing:
        return ""
    if score.reason == "another case":
        return f"{_quote(missing)} is there in another case"
    if check.options.get("mode") == "any" and len(missing) > 1:
        return f"none of {_quote(missing)} is there"
    return f"{_quote(missing)} is missing"


def _explain_difference(check: RowCheck, score: Score) -> str:
    """Return what the metric says, with the pattern, the answer or the schema's part that the reply missed."""
    problem = score.details.get("problem")
    if problem:
        return ", ".join(filter(None, (score.reason, score.details.get("where"), str(problem))))
    pattern = check.options.get("pattern")
    if pattern and score.reason == "no match":
        return f"no match of {pattern}"
    if is_absent(check.keys.answer):
        return score.reason
    answers = check.keys.answer
    if not isinstance(answers, list):
        answers = [answers]
    return f"expected {_quote(answers)}"


def _quote(texts: Iterable[Any]) -> str:
    return ", ".join(f"“{text}”" for text in map(write_value, texts))
