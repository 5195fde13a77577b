"""Context recall and context precision with a reference, as ragas defines them."""

import json
from collections.abc import Mapping

import pytest

from basic_control.data.records import Metric
from basic_control.metrics.analysis.judged import exams_of
from basic_control.metrics.context_precision import context_precision
from basic_control.metrics.context_recall import context_recall
from basic_control.metrics.exam import exam_of
from basic_control.metrics.judging import JudgeRequest, advance, begin
from basic_control.metrics.overlap import DECISIONS
from basic_control.metrics.panels import combine
from tests.metrics.judges import converse, judged, never

LETTERS = {"S": "SUPPORTED", "C": "CONTRADICTED", "N": "NEUTRAL"}
FACTS = ("The tower is in Paris.", "It opened in 1889.", "It is 330 m high.", "Dr. Eiffel built it!", "Is it red?")


def _verdicts(letters: str) -> str:
    entries = [
        {"id": str(number), "reason": "", "verdict": LETTERS[letter]} for number, letter in enumerate(letters, 1)
    ]
    return json.dumps({"verdicts": entries})


# Divided by hand.
@pytest.mark.parametrize(
    ("verdicts", "value"), [("S", 1.0), ("N", 0.0), ("SC", 0.5), ("SSN", 0.6667), ("SNNC", 0.25), ("SSSCN", 0.6)]
)
def test_recall_is_the_share_of_the_answers_sentences_that_the_contexts_support(
    verdicts: str, value: float
) -> None:
    sample = {"reference": " ".join(FACTS[: len(verdicts)]), "retrieved_contexts": ["One.", {"text": "Two."}]}
    asks: list[JudgeRequest] = []

    def answer(ask: JudgeRequest) -> str:
        asks.append(ask)
        return _verdicts(verdicts)

    score = judged(context_recall, sample, answer)
    assert score.value == pytest.approx(value, abs=5e-5)
    (ask,) = asks
    assert [claim["text"] for claim in ask.question.values["claims"]] == [*FACTS[: len(verdicts)]]
    assert ask.question.values["source"] == "One.\n\nTwo."


# By hand: at 2 and 4 of 4, precision@2 = 1/2 and precision@4 = 2/4, their mean is 0.5.
@pytest.mark.parametrize(
    ("useful", "value"),
    [
        ("1", 1.0),
        ("0", 0.0),
        ("10", 1.0),
        ("01", 0.5),
        ("101", 0.8333),
        ("0101", 0.5),
        ("00110", 0.4167),
        ("11011", 0.8875),
    ],
)
def test_precision_is_the_mean_of_precision_at_the_ranks_of_useful_contexts(useful: str, value: float) -> None:
    contexts = [*"abcde"][: len(useful)]
    words = {"0": "no", "1": "yes"}
    by_context = {text: words[sign] for text, sign in zip(contexts, useful, strict=True)}
    sample = {"question": "Q?", "reference": "R.", "retrieved_contexts": contexts}
    session = converse(context_precision, sample, lambda ask: _reply(by_context[ask.question.values["context"]]))
    score = combine({"j": session})
    assert score.value == pytest.approx(value, abs=5e-5)
    assert session.n_calls == len(useful)


def _reply(verdict: object) -> str:
    return json.dumps({"reason": "r", "verdict": verdict})


def test_an_empty_context_keeps_its_rank_and_is_not_asked_about() -> None:
    sample = {"reference": "R.", "retrieved_contexts": ["", " \n", {"title": "t"}, "The fourth."]}
    session = converse(context_precision, sample, lambda _: _reply("yes"))
    assert (combine({"j": session}).value, session.n_calls) == (0.25, 1)


@pytest.mark.parametrize("verdict", ["maybe", 1, True, None, "yes and no", ""])
def test_one_context_without_a_readable_verdict_is_a_judges_failure_and_no_shorter_list(verdict: object) -> None:
    sample = {"reference": "R.", "retrieved_contexts": ["a", "b"]}
    replies = {"a": _reply("yes"), "b": _reply(verdict)}
    score = judged(context_precision, sample, lambda ask: replies[ask.question.values["context"]])
    assert (score.value, score.status) == (None, "judge_failed")


@pytest.mark.parametrize("unit", [context_recall, context_precision], ids=lambda unit: unit.name)
@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ({"reference": "R.", "retrieved_contexts": []}, "no contexts"),
        ({"reference": "R.", "retrieved_contexts": [" "]}, "no contexts"),
        ({"reference": " ", "retrieved_contexts": ["a"]}, "empty reference"),
        ({"reference": None, "retrieved_contexts": None}, "empty reference"),
    ],
)
def test_without_contexts_or_a_reference_they_do_not_apply(
    unit: Metric, sample: Mapping[str, object], reason: str
) -> None:
    score = judged(unit, sample, never)
    assert (score.value, score.status, score.reason) == (None, "not_applicable", reason)


def test_recall_is_measured_by_the_exam_of_entailment_and_precision_by_its_own() -> None:
    assert exam_of("context_recall", "entails") == "entails"
    assert exams_of(context_recall, {}) == ["entails"]
    assert exams_of(context_precision, {}) == ["useful"]


def test_the_rules_judge_recall_without_a_call() -> None:
    sample = {"reference": "He was born in Ulm. He died in Rome.", "retrieved_contexts": ["He was born in Ulm."]}
    score = judged(context_recall, sample, lambda ask: json.dumps(DECISIONS[ask.step](ask.question.values)))
    assert score.value == 0.5


@pytest.mark.parametrize("language", ["en", "ru", "zh"])
def test_a_deciding_judge_is_asked_of_each_context_yes_or_no(language: str) -> None:
    sample = {"question": "Q?", "reference": "R.", "retrieved_contexts": ["a", "b"]}
    session = begin(context_precision, sample, language=language, decides=True)
    questions = [ask.typed for ask in session.asks]
    assert [question.kind for question in questions if question] == ["yes_no", "yes_no"]
    assert all(question and all(question.labels.values()) for question in questions)
    assert [question.state for question in questions if question] == [
        {"question": "Q?", "context": text, "answer": "R."} for text in ("a", "b")
    ]
    sure = [json.dumps({"probabilities": [["yes", share], ["no", 1 - share]]}) for share in (0.4, 0.9)]
    assert combine({"j": advance(session, sure)}).value == 0.5
