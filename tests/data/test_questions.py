"""A question is what is asked: not who answers, by which prompt, from which file, nor what is expected."""

from typing import Any

import pytest

from basic_control.data.exam import EXAM, KIND, QUESTIONS, TRUTH
from basic_control.data.questions import WHOLE, identify_question, identify_text
from basic_control.data.records import Item


def named(prompt: str = "", *, read: tuple[str, ...] = (), language: str = "", **facts: Any) -> Any:
    return identify_question(Item(prompt, "", facts, stated_language=language), read)


PLAIN = named(question="How many eggs?")


@pytest.mark.parametrize(
    "same",
    [
        named(question="  How many\n eggs? "),
        named("How many eggs?"),
        named(messages=[{"role": "user", "content": "How many eggs?"}]),
        named(ticket="How many eggs?", read=("ticket",)),
        named(question="How many eggs?", contexts=[], options=None, hint="", read=("hint",)),
        named(question="How many eggs?", response="9", retrieved_contexts=["She sells 9."]),
        named(question="How many eggs?", response="9", retrieved_contexts=["10"], read=("retrieved_contexts",)),
        named(question="How many eggs?", response="9", contexts=["She sells 9."]),
        named(question="How many eggs?", id=7, topic="farm", finish_reason="stop", stated=1.0),
        named(question="How many eggs?", answer="9", reference="16 - 7 = 9"),
        identify_question(Item("", "", {"question": "How many eggs?"}, language="ru", index=3, suite="other")),
    ],
)
def test_what_is_no_part_of_a_question_leaves_it_the_same(same: Any) -> None:
    assert (same.question_id, same.text_digest) == (PLAIN.question_id, PLAIN.question_id)


@pytest.mark.parametrize(
    "other",
    [
        named(question="How many hens?"),
        named(question="how many eggs?"),
        named(question="How many eggs?", contexts=["She has 16."]),
        named(question="How many eggs?", retrieved_contexts=["She has 16."]),
        named(question="How many eggs?", response="9", contexts=["She has 16."], read=("question", "contexts")),
        named(question="How many eggs?", options=["9", "7"]),
        named(question="How many eggs?", hint="Subtract.", read=("question", "hint")),
        named(question="How many eggs?", language="en"),
        named(messages=[{"role": "system", "content": "Be short."}, {"role": "user", "content": "How many eggs?"}]),
    ],
)
def test_what_is_asked_makes_another_question(other: Any) -> None:
    assert other.question_id != PLAIN.question_id


def test_one_form_of_a_text_is_as_good_as_another_and_order_counts() -> None:
    assert named(question="caf\u00e9") == named(question="cafe\u0301")
    assert named(question="q", passages=["a", {"text": "b", "title": ""}]) == named(
        question="q", contexts=["a", "b"]
    )
    assert named(question="q", contexts=["a", "b"]) != named(question="q", contexts=["b", "a"])
    assert named(question="q", choices=["a", "b"]) == named(question="q", options=["a", "b"])
    assert named(question="q", options=["a", "b"]) != named(question="q", options=["b", "a"])
    assert named(question=5) == named(question="5")


def test_of_an_own_suite_the_columns_that_its_prompt_reads_are_the_question() -> None:
    row = {"ticket": "It is broken", "tier": "gold", "agent": "Ann"}
    both = named(**row, read=("ticket", "tier"))
    assert both == named(**{**row, "agent": "Bob"}, read=("tier", "ticket"))
    assert both != named(**{**row, "tier": "tin"}, read=("ticket", "tier"))
    assert named(**row, read=(WHOLE,)) != named(**{**row, "agent": "Bob"}, read=(WHOLE,))
    assert named(**row, answer="x", read=(WHOLE,))[0] == named(**row, answer="y", read=(WHOLE,))[0]


def test_what_is_expected_has_a_digest_of_its_own() -> None:
    nine = named(question="q", answer="9")
    assert nine.question_id == named(question="q", answer="8").question_id
    assert nine.answer_digest != named(question="q", answer="8").answer_digest
    assert nine.answer_digest == named(question="q", answer=[" 9 "]).answer_digest
    assert nine == identify_question(Item("", "9", {"question": "q"}))
    both = named(question="q", answer=["a", "b"])
    assert both == named(question="q", answer=["b", "a"])
    assert both != nine
    assert named(question="q", reference="1 + 1").answer_digest != named(question="q", reference="2").answer_digest
    assert named(question="q").answer_digest == ""


def test_a_reply_to_be_judged_and_no_more_is_told_apart_by_what_there_is() -> None:
    one, other = named(response="Yes."), named(response="No.")
    assert one.question_id != other.question_id
    assert one == named(response="Yes.")


def test_of_an_exam_the_judged_text_is_part_of_the_question_and_the_truth_is_not() -> None:
    facts = {
        EXAM: "entails",
        QUESTIONS: [{"key": "1", "values": {"claim": "Red."}}],
        TRUTH: "NEUTRAL",
        KIND: "same",
    }
    known = identify_question(Item("In full words: red?", "NEUTRAL", facts))
    other = {**facts, QUESTIONS: [{"key": "1", "values": {"claim": "Blue."}}]}
    assert known.question_id != identify_question(Item("In full words: red?", "NEUTRAL", other)).question_id
    reworded = identify_question(Item("Put otherwise: red?", "SUPPORTED", {**facts, TRUTH: "SUPPORTED"}))
    assert known.question_id == reworded.question_id
    assert known.answer_digest != reworded.answer_digest


def test_a_declared_id_stands_in_for_the_text_whose_digest_stays_beside_it() -> None:
    item = Item("", "9", {"id": 7, "question": "q"}, declared_id="7")
    assert identify_question(item) == (
        "7",
        named(question="q").text_digest,
        named(question="q", answer="9").answer_digest,
    )
    spoken = Item("", "9", {"id": 7, "question": "q"}, declared_id="7", stated_language="ru")
    assert identify_question(spoken).question_id != "7"


@pytest.mark.parametrize("question", ["2 + 2?", ' Cafe\u0301  \n"au" lait\\ ', "\x00\u2028", "ё" * 3000])
@pytest.mark.parametrize("answer", ["", " \n", "4", 'Cafe\u0301 "', "1.50"])
def test_a_text_alone_has_the_digests_that_it_has_as_a_row(question: str, answer: str) -> None:
    found = identify_question(
        Item(prompt="", answer=answer, facts={"question": question, "answer": answer, "options": ()})
    )
    assert identify_text(question, answer) == (found.text_digest, found.answer_digest)
