"""Faithfulness: supported claims / claims, as ragas defines it, with the rules of SPEC 6."""

import json

import pytest

from basic_control.data.plugins import metric
from basic_control.metrics.analysis.judged import exams_of
from basic_control.metrics.exam import exam_of
from basic_control.metrics.factual_correctness import factual_correctness
from basic_control.metrics.faithfulness import faithfulness
from basic_control.metrics.judging import JudgeRequest, begin
from basic_control.metrics.overlap import DECISIONS
from basic_control.metrics.panels import combine
from tests.metrics.judges import converse, judged, never

SAMPLE = {
    "question": "When was Einstein born, and where?",
    "response": "Einstein was born in Germany on 20 March 1879.",
    "retrieved_contexts": ["Albert Einstein (born 14 March 1879)", "He was born in Ulm, Germany."],
}
LETTERS = {"S": "SUPPORTED", "C": "CONTRADICTED", "N": "NEUTRAL"}


def _script(verdicts: str) -> dict[str, str]:
    """Return the replies of a judge that finds a claim for each letter, and gives it that verdict."""
    claims = [f"claim {number}" for number in range(1, len(verdicts) + 1)]
    entries = [
        {"id": str(number), "reason": "", "verdict": LETTERS[letter]} for number, letter in enumerate(verdicts, 1)
    ]
    return {"split": json.dumps({"claims": claims}), "entails": json.dumps({"verdicts": entries})}


# Divided by hand: how many S there are of all letters, how many C, how many N.
@pytest.mark.parametrize(
    ("verdicts", "value", "contradicted", "neutral"),
    [
        ("S", 1.0, 0.0, 0.0),
        ("C", 0.0, 1.0, 0.0),
        ("N", 0.0, 0.0, 1.0),
        ("SC", 0.5, 0.5, 0.0),
        ("SSN", 0.6667, 0.0, 0.3333),
        ("SNNC", 0.25, 0.25, 0.5),
        ("SSSSC", 0.8, 0.2, 0.0),
        ("SSSNNNN", 0.4286, 0.0, 0.5714),
    ],
)
def test_the_score_is_the_share_of_supported_claims(
    verdicts: str, value: float, contradicted: float, neutral: float
) -> None:
    replies = _script(verdicts)
    session = converse(faithfulness, SAMPLE, lambda ask: replies[ask.step])
    score = combine({"j": session})
    assert session.n_calls == 2
    assert score.value == pytest.approx(value, abs=5e-5)
    assert score.parts["contradiction_rate"] == pytest.approx(contradicted, abs=5e-5)
    assert score.parts["neutral_rate"] == pytest.approx(neutral, abs=5e-5)


def test_the_claims_are_compared_with_all_contexts_together_and_told_with_their_verdicts() -> None:
    asks: list[JudgeRequest] = []
    replies = _script("SC")

    def answer(ask: JudgeRequest) -> str:
        asks.append(ask)
        return replies[ask.step]

    score = judged(faithfulness, SAMPLE, answer)
    assert [ask.step for ask in asks] == ["split", "entails"]
    assert asks[0].question.values["text"] == SAMPLE["response"]
    assert asks[1].question.values["source"] == "\n\n".join(SAMPLE["retrieved_contexts"])
    assert [(claim["id"], claim["text"], claim["verdict"]) for claim in score.details["response_claims"]] == [
        ("1", "claim 1", "SUPPORTED"),
        ("2", "claim 2", "CONTRADICTED"),
    ]


@pytest.mark.parametrize("ids", [["1"], ["1", "1"], ["1", "2", "3"], ["1", "3"]])
def test_ids_that_are_missing_or_extra_are_a_judges_failure_after_one_repair(ids: list[str]) -> None:
    verdicts = [{"id": claim_id, "reason": "", "verdict": "SUPPORTED"} for claim_id in ids]
    replies = {**_script("SS"), "entails": json.dumps({"verdicts": verdicts})}
    session = converse(faithfulness, SAMPLE, lambda ask: replies[ask.step])
    score = combine({"j": session})
    assert (score.value, score.status, session.n_repairs) == (None, "judge_failed", 1)


def test_a_response_without_claims_is_zero_and_says_so() -> None:
    score = judged(faithfulness, SAMPLE, lambda _: '{"claims": []}')
    assert (score.value, score.status, score.reason) == (0.0, "scored", "no claims in the response")
    empty = judged(faithfulness, {**SAMPLE, "response": " \n"}, never)
    assert (empty.value, empty.status, empty.reason) == (0.0, "scored", "empty response")


@pytest.mark.parametrize("name", ["faithfulness", "response_groundedness"])
@pytest.mark.parametrize("retrieved", [[], [" "], None, "", [{"title": "a title alone"}], [{"text": ""}]])
@pytest.mark.parametrize("response", ["Paris.", ""])
def test_without_contexts_the_score_is_left_out_or_zero_by_choice(
    name: str, retrieved: object, response: str
) -> None:
    sample = {"response": response, "retrieved_contexts": retrieved}
    left_out = judged(metric(name), sample, never)
    assert (left_out.value, left_out.status, left_out.reason) == (None, "not_applicable", "no contexts")
    zero = judged(metric(name), sample, never, empty_contexts="zero")
    assert (zero.value, zero.status, zero.reason) == (0.0, "scored", "no contexts")


def test_its_steps_are_those_that_the_exams_examine() -> None:
    assert [exam_of(faithfulness.name, step.name) for step in faithfulness.steps] == ["split", "entails"]
    assert exams_of(faithfulness, {}) == ["split", "entails"]
    for step, examined in zip(faithfulness.steps, factual_correctness.steps, strict=True):
        assert (step.prompt, step.parse, step.asks) == (examined.prompt, examined.parse, examined.asks)
    assert faithfulness.temperature == factual_correctness.temperature


def test_sentences_are_claims_where_asked_and_nobody_splits_them() -> None:
    asks: list[JudgeRequest] = []

    def support_the_first(ask: JudgeRequest) -> str:
        asks.append(ask)
        return _script("SNNN")["entails"]

    sample = {
        **SAMPLE,
        "response": "Dr. Stern says: 3.5 kg of it were left.\n\n---\n\n他在乌尔姆出生。后来去了瑞士! Да?",
    }
    session = converse(faithfulness, sample, support_the_first, claims="sentences")
    claims = ["Dr. Stern says: 3.5 kg of it were left.", "他在乌尔姆出生。", "后来去了瑞士!", "Да?"]
    assert [claim["text"] for claim in asks[0].question.values["claims"]] == claims
    assert [ask.step for ask in asks] == ["entails"]
    assert combine({"j": session}).value == 0.25
    assert judged(faithfulness, {**SAMPLE, "response": " - !"}, never, claims="sentences").value == 0.0
    assert exams_of(faithfulness, {"claims": "sentences"}) == ["entails"]


def test_sentences_of_both_texts_are_the_claims_of_factual_correctness() -> None:
    sample = {"response": "It rained. It froze.", "reference": "It rained. It snowed. It froze."}
    verdicts = {"response": "SS", "reference": "SNS"}
    script = {side: _script(letters)["entails"] for side, letters in verdicts.items()}
    score = judged(factual_correctness, sample, lambda ask: script[ask.question.key], claims="sentences")
    # Precision 2/2 and recall 2/3, so 2 · 1 · 2/3 / (1 + 2/3).
    assert score.value == pytest.approx(0.8)
    assert judged(factual_correctness, {**sample, "response": ""}, never, claims="sentences").value == 0.0
    assert judged(factual_correctness, {**sample, "reference": ""}, never, claims="sentences").value is None


def test_a_judge_asks_as_ever_unless_sentences_are_the_claims() -> None:
    sample = {**SAMPLE, "reference": "He was born in Ulm."}
    for unit in (faithfulness, factual_correctness):
        plain = begin(unit, sample, language="en")
        chosen = begin(unit, sample, language="en", options={"claims": "judge"})
        assert plain.asks == chosen.asks
        assert plain.asks[0].step == "split"


def test_the_rules_judge_it_without_a_call() -> None:
    session = begin(faithfulness, {**SAMPLE, "response": "He was born in Ulm, Germany."}, language="en")
    score = judged(faithfulness, session.sample, lambda ask: json.dumps(DECISIONS[ask.step](ask.question.values)))
    assert score.value == 1.0
