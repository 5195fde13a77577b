"""What a deciding judge is put in place of a prompt, and how its probabilities become verdicts."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from basic_control.data.records import Unparsable
from basic_control.metrics.deciding_judges import REFUSED, pose, read_probabilities
from basic_control.metrics.factual_correctness import factual_correctness
from basic_control.metrics.judging import WRITES, UnansweredRequest, advance, begin, fence_code, outcome
from basic_control.metrics.preference import preference
from basic_control.metrics.response_groundedness import response_groundedness
from basic_control.metrics.rubric import rubric
from tests.metrics.judge_pages import Page, pages

PAGES = {page.name: page for page in pages() if page.step.asks is not None}


def posed(page: Page, part: str = "") -> Any:
    typed = page.step.find_type(page.question)
    assert typed is not None
    prompt = page.step.prompt({"prompt": ""}) if callable(page.step.prompt) else page.step.prompt
    mark = fence_code(page.question.values)
    return pose(typed, page.question, part, prompt=prompt, language=page.language, mark=mark)


def answer(shares: Mapping[str, Any]) -> str:
    return json.dumps({"probabilities": [*shares.items()]})


@pytest.mark.parametrize("name", PAGES)
def test_the_judged_texts_are_the_state_and_the_prompts_words_the_instructions(name: str) -> None:
    page = PAGES[name]
    question = posed(page, "1" if "claims" in page.question.values else "")
    texts = [
        text
        for text in (page.question.values.get(key) for key in ("response", "answer", "source", "content"))
        if text
    ]
    assert set(texts) <= set(question.state.values())
    for text in texts:
        assert text not in question.instructions
    assert "JSON" not in question.instructions
    assert fence_code(page.question.values) not in question.instructions
    typed = page.step.find_type(page.question)
    assert typed is not None
    assert [*question.labels] == [*typed.labels]
    if "rubric" not in name and "preference" not in name:
        assert all(question.labels.values()), "the prompt's lines describe each label in its language"
        assert not any(line in question.instructions for line in question.labels.values())


def test_a_claim_is_asked_about_alone_whatever_its_number() -> None:
    page = PAGES["en_claims_entails"]
    first, second = page.question.values["claims"]
    question = posed(page, "2")
    assert question.state == {"source": page.question.values["source"], "claim-1": second["text"]}
    assert first["text"] not in json.dumps(question.state)
    assert question.labels["NEUTRAL"] == "the source does not settle the claim."


def test_the_criteria_of_a_rubric_share_one_state() -> None:
    options = {"criteria": {"polite": "It is polite.", "short": "It is short."}}
    session = begin(
        rubric, {"question": "Why?", "response": "Because."}, language="en", options=options, decides=True
    )
    first, second = (ask.typed for ask in session.asks)
    assert first is not None
    assert second is not None
    assert first.state == second.state == {"question": "Why?", "response": "Because."}
    assert "It is polite." in first.instructions
    assert "It is short." in second.instructions
    assert [*first.labels] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    "prompt",
    ["Is this polite?\n\n{{ response }}", 'Rate it from {{ lo }} to {{ hi }}: {{ response }}\n{"rating": 1}'],
)
def test_a_prompt_of_the_users_own_without_fences_is_the_state_as_a_whole(prompt: str) -> None:
    options = {"criteria": "It is polite.", "prompt": prompt}
    session = begin(rubric, {"response": "Because."}, language="en", options=options, decides=True)
    (ask,) = session.asks
    assert ask.typed is not None
    assert "Because." in ask.typed.state["text"]
    assert "rating" not in ask.typed.state["text"]
    assert ask.typed.instructions


def test_fences_in_a_users_own_prompt_hold_the_state_and_what_follows_them_is_kept() -> None:
    prompt = "Read it.\n<text-{{ mark }}>{{ response }}</text-{{ mark }}>\nThe more polite, the better."
    options = {"criteria": "It is polite.", "prompt": prompt}
    session = begin(rubric, {"response": "Because."}, language="en", options=options, decides=True)
    (ask,) = session.asks
    assert ask.typed is not None
    assert ask.typed.state == {"text": "Because."}
    assert ask.typed.instructions == "Read it.\n<text>\nThe more polite, the better."


SUPPORT = {"ENTAILMENT": "", "NEUTRAL": "", "CONTRADICTION": ""}


def test_probabilities_are_renormalised_within_a_hundredth() -> None:
    read = read_probabilities(answer({"ENTAILMENT": 0.5, "NEUTRAL": 0.3, "CONTRADICTION": 0.19}), SUPPORT)
    assert sum(read.values()) == pytest.approx(1.0)
    assert read["ENTAILMENT"] == pytest.approx(0.5 / 0.99)


@pytest.mark.parametrize("text", [
    answer({"ENTAILMENT": 0.5, "NEUTRAL": 0.3, "CONTRADICTION": 0.18}),
    answer({"ENTAILMENT": 0.5, "NEUTRAL": 0.5}),
    answer({"ENTAILMENT": 0.5, "NEUTRAL": 0.5, "CONTRADICTION": 0.0, "OTHER": 0.0}),
    answer({"ENTAILMENT": 1.1, "NEUTRAL": -0.1, "CONTRADICTION": 0.0}),
    answer({"ENTAILMENT": float("nan"), "NEUTRAL": 0.5, "CONTRADICTION": 0.5}),
    answer({"ENTAILMENT": "1", "NEUTRAL": 0, "CONTRADICTION": 0}),
    answer({"ENTAILMENT": True, "NEUTRAL": False, "CONTRADICTION": False}),
    answer({"ENTAILMENT": None, "NEUTRAL": 0.5, "CONTRADICTION": 0.5}),
    json.dumps({"probabilities": [["ENTAILMENT", 0.5], ["ENTAILMENT", 0.5], ["NEUTRAL", 0.0]]}),
    json.dumps({"probabilities": [[True, 0.5], ["NEUTRAL", 0.5], ["CONTRADICTION", 0.0]]}),
    json.dumps({"probabilities": [[["x"], 0.5], ["NEUTRAL", 0.5], ["CONTRADICTION", 0.0]]}),
    json.dumps({"refusal": True}),
])  # fmt: skip
def test_what_is_no_probability_of_each_label_is_unreadable(text: str) -> None:
    with pytest.raises(Unparsable):
        read_probabilities(text, SUPPORT)


def test_the_verdict_is_the_most_probable_label_and_its_probability_is_kept() -> None:
    sample = {"response": "It sank.", "retrieved_contexts": ["The ship sank in 1912."]}
    session = begin(response_groundedness, sample, language="en", decides=True)
    session = advance(session, [answer({"0": 0.2, "1": 0.5, "2": 0.3})])
    score = outcome(session)
    assert score.value == 0.5
    assert score.details["judge_reason"] == ""
    assert session.probabilities == {"rate": {"rating": {"0": 0.2, "1": 0.5, "2": 0.3}}}


def test_both_orders_of_a_preference_tie_where_their_labels_do() -> None:
    sample = {"question": "Why?", "response": "Because.", "baseline": "No idea."}
    session = begin(preference, sample, language="en", decides=True)
    assert len(session.asks) == 2
    session = advance(session, [
        answer({"first": 0.45, "second": 0.45, "tie": 0.1}), answer({"first": 0.1, "second": 0.2, "tie": 0.7}),
    ])  # fmt: skip
    assert outcome(session).value == 0.5


def test_a_refusal_and_unreadable_probabilities_fail_the_judge_without_a_second_question() -> None:
    sample = {"response": "It sank.", "retrieved_contexts": ["The ship sank in 1912."]}
    session = begin(response_groundedness, sample, language="en", decides=True)
    for text, error in (
        (json.dumps({"refusal": True}), REFUSED),
        (answer({"0": 0.5, "1": 0.1, "2": 0.1}), "add up to 0.7"),
    ):
        ended = advance(session, [text])
        assert not ended.asks
        score = outcome(ended)
        assert (score.status, score.reason) == ("judge_failed", "rate: unparsable reply")
        assert error in score.details["error"]
    assert outcome(advance(session, [UnansweredRequest("no")])).reason == "rate: call failed"


def test_a_step_that_must_be_written_fails_a_deciding_judge_by_name() -> None:
    sample = {"response": "It sank.", "reference": "The ship sank in 1912."}
    session = begin(factual_correctness, sample, language="en", decides=True)
    assert not session.asks
    assert outcome(session).reason == f"split: {WRITES}"
