"""The standard metrics of own suites against replies as real models write them: the values that SPEC 14 gives.

A line without `status` or `parts` leaves them open; one of a judged metric has the judge's replies to the questions
in order, then to their repair, and no value where they cannot be read.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.data.records import CALLS, Score
from basic_control.metrics.judging import advance, begin, outcome
from tests.acceptance.reading import lines

METRICS = ("choice", "number", "exact_match", "contains", "regex", "similarity", "json_match", "tool_calls")
JUDGED = {"question": "Say hello.", "response": "Hello there.", "baseline": "Hi.", "answer": "Hello."}


def score(name: str, case: Mapping[str, Any]) -> Score:
    """Score a reply as a run does."""
    unit = metric(name)
    sample = {**case["row"], "response": case["reply"], CALLS: case.get("calls")}
    return unit.score(sample, {}, options_of(unit, case.get("options", {})))


def judge(name: str, case: Mapping[str, Any]) -> Score:
    """Put a metric's questions, and answer them by the script."""
    unit = metric(name)
    session = begin(unit, JUDGED, language="en", options=options_of(unit, case["options"]))
    for replies in case["replies"]:
        assert len(session.asks) == len(replies), (case, session.asks)
        session = advance(session, tuple(replies))
    assert not session.asks, case
    return outcome(session)


def check(case: Mapping[str, Any], result: Score, status: str) -> None:
    """Assert that a score has a case's value, parts and status."""
    parts = case.get("parts", {})
    assert result.value == (None if case["value"] is None else pytest.approx(case["value"], abs=1e-9)), case
    assert {name: result.parts.get(name) for name in parts} == parts, case
    assert status in {"", result.status}, (case, result.status)


@pytest.mark.parametrize("name", METRICS)
def test_replies_come_to_their_values(name: str) -> None:
    for case in lines(f"standard/{name}"):
        check(case, score(name, case), case.get("status", ""))


@pytest.mark.parametrize("name", ["rubric", "preference"])
def test_judges_are_read_as_they_mean_it(name: str) -> None:
    for case in lines(f"standard/{name}"):
        check(case, judge(name, case), "judge_failed" if case["value"] is None else "scored")
