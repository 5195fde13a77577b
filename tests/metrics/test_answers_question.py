"""Whether a response answers the question: one typed question, three verdicts."""

import json

import pytest

from basic_control.data.plugins import metrics
from basic_control.metrics.analysis.judged import exams_of
from basic_control.metrics.answers_question import answers_question
from basic_control.metrics.judging import advance, begin
from basic_control.metrics.panels import combine
from tests.metrics.judges import converse, judged, never

SAMPLE = {"question": "Who wrote Hamlet, and when?", "response": "Shakespeare wrote it."}


def _reply(verdict: object) -> str:
    return json.dumps({"reason": "the year is missing", "verdict": verdict})


@pytest.mark.parametrize(
    ("verdict", "value"),
    [("FULLY", 1.0), ("PARTLY", 0.5), ("NOT", 0.0), ("partly", 0.5), ("**Not**.", 0.0)],
)
def test_fully_partly_and_not_are_one_a_half_and_zero(verdict: str, value: float) -> None:
    session = converse(answers_question, SAMPLE, lambda _: _reply(verdict))
    assert (combine({"j": session}).value, session.n_calls) == (value, 1)


@pytest.mark.parametrize("verdict", ["MOSTLY", "NOT FULLY", 1, True, None, ["FULLY"], "FULLY or PARTLY", ""])
def test_another_verdict_is_a_judges_failure_after_one_repair(verdict: object) -> None:
    session = converse(answers_question, SAMPLE, lambda _: _reply(verdict))
    score = combine({"j": session})
    assert (score.value, score.status, session.n_repairs) == (None, "judge_failed", 1)


@pytest.mark.parametrize("response", ["", " \n", "<think>Hm.</think>"])
def test_an_empty_response_answers_nothing_without_a_call(response: str) -> None:
    score = judged(answers_question, {**SAMPLE, "response": response}, never)
    assert (score.value, score.status) == (0.0, "no_answer")


@pytest.mark.parametrize("language", ["en", "ru", "zh"])
def test_a_deciding_judge_is_told_what_each_label_means(language: str) -> None:
    session = begin(answers_question, SAMPLE, language=language, decides=True)
    (ask,) = session.asks
    assert ask.typed is not None
    assert ask.typed.state == SAMPLE
    assert [*ask.typed.labels] == ["FULLY", "PARTLY", "NOT"]
    assert all(ask.typed.labels.values())
    equal = json.dumps({"probabilities": [["FULLY", 0.45], ["PARTLY", 0.45], ["NOT", 0.1]]})
    assert combine({"j": advance(session, [equal])}).value == 0.5, "a tie goes to the lower"


def test_it_is_one_typed_step_with_an_exam_for_cascades() -> None:
    (step,) = metrics()["answers_question"].steps
    assert step.asks is not None
    assert exams_of(answers_question, {}) == ["answers_question"]
