"""Chains of thought in the manner of real models: right ones raise no alarm, slips are found, answers are read.

A line's `slip` is the number of the step, from 1, that holds the only wrong calculation; `noise` is the kind of the
innocent line between the steps.
"""

from functools import cache
from typing import Any

from basic_control.data.options import options_of
from basic_control.data.plugins import metrics
from basic_control.data.records import Score
from tests.acceptance.reading import lines

FOUND = 0.98  # the least share of slips found
Scored = list[tuple[dict[str, Any], Score]]


def score(case: dict[str, Any], reference: str) -> Score:
    """Score a reply against a reference solution."""
    unit = metrics()["cot"]
    sample = {"question": case["question"], "reference": reference, "response": case["reply"]}
    return unit.score({**sample, "answer": case["answer"]}, {}, options_of(unit, {}))


@cache
def scored(name: str) -> Scored:
    return [(case, score(case, case["reference"])) for case in lines(f"chains/{name}")]


def test_right_chains_raise_no_alarm_and_have_the_right_answer() -> None:
    assert [case for case, cot_score in scored("right") if cot_score.details["first_wrong_step"] is not None] == []
    assert [case for case, cot_score in scored("right") if cot_score.parts["l1"] != 1] == []


def test_planted_slips_are_found_in_their_step() -> None:
    steps = [(case, cot_score.details["first_wrong_step"]) for case, cot_score in scored("slips")]
    assert [(case, step) for case, step in steps if step not in {None, case["slip"]}] == []
    lost = [case for case, step in steps if step is None]
    assert len(lost) <= (1 - FOUND) * len(steps), lost


def test_final_answers_are_read() -> None:
    finals = [(case, score(case, f"#### {case['answer']}")) for case in lines("chains/finals")]
    astray = [
        (case, cot_score.details["answer"])
        for case, cot_score in finals
        if (cot_score.parts["l1"] == 1) != case["right"]
    ]
    assert astray == []
