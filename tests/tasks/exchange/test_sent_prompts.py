"""Prompts of other tools' files as they were sent: where our question begins in them."""

from basic_control.data.questions import identify_text
from basic_control.tasks.exchange.frames import ask_as_sent
from basic_control.tasks.exchange.logs import Log, Material, Recorded

SHOTS = [f"Question: 1 + {n}\nAnswer: {n + 1}" for n in range(3)]
QUESTION = "Question: 2 + 2\n\nGiven: nothing.\nAnswer:"


def ask(sent: str, digests: set[str]) -> str:
    row = Recorded("", "2 + 2", "4", "4", {}, "m", "sums", material=Material(sent=sent))
    (asked,) = ask_as_sent(Log("lm-evaluation-harness", (row,)), digests).rows
    return asked.question


def test_a_question_is_found_behind_examples_and_whole() -> None:
    digests = {identify_text(QUESTION, "")[0]}
    assert ask("\n\n".join([*SHOTS, QUESTION]), digests) == QUESTION
    assert ask(QUESTION, digests) == QUESTION
    assert ask("Another.\n\nQuestion", digests) == "2 + 2"
    assert ask(QUESTION, set()) == "2 + 2"


def test_of_a_million_empty_lines_the_last_ones_are_tried() -> None:
    digests = {identify_text(QUESTION, "")[0]}
    assert ask("x\n\n" * 1_000_000 + QUESTION, digests) == QUESTION
    assert ask(QUESTION + "\n\nx" * 1_000_000, digests) == "2 + 2"
