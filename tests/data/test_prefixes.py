"""What questions begin with alike is left out where they are listed, whatever stands between them."""

from basic_control.data.prefixes import LEAST, measure_shared_beginnings

SHOTS = "Question: What is the capital of France?\nAnswer: Paris\n\nQuestion: Of Peru?\nAnswer: Lima\n\n"


def list_differing(*texts: str) -> list[str]:
    lengths = measure_shared_beginnings(texts)
    return [text[length:] for text, length in zip(texts, lengths, strict=True)]


def test_examples_before_the_questions_are_left_out_up_to_the_line() -> None:
    questions = ["Question: Of Chad?\nAnswer:", "Question: Of Cuba?\nAnswer:", "Question: Of Italy?\nAnswer:"]
    assert list_differing(*(SHOTS + question for question in questions)) == questions


def test_an_instruction_on_the_same_line_is_left_out_up_to_the_word() -> None:
    start = "You are a careful clerk who sorts tickets by team, and answers in one word: "
    assert list_differing(f"{start}My bill is wrong", f"{start}My line is dead") == [
        "bill is wrong",
        "line is dead",
    ]


def test_texts_of_another_kind_hide_nothing() -> None:
    texts = [f"{SHOTS}Of Chad?", "Quite another question.", f"{SHOTS}Of Cuba?", ""]
    assert list_differing(*texts) == ["Of Chad?", "Quite another question.", "Of Cuba?", ""]


def test_short_beginnings_and_single_texts_stay() -> None:
    assert list_differing("My invoice is wrong", "My invoice is late") == [
        "My invoice is wrong",
        "My invoice is late",
    ]
    assert list_differing(f"{SHOTS}Of Chad?", f"{SHOTS}Of Chad?") == [f"{SHOTS}Of Chad?"] * 2
    assert measure_shared_beginnings([]) == []


def test_a_text_that_is_another_s_beginning_keeps_its_last_line() -> None:
    long = "word " * LEAST
    assert all(list_differing(long + "end", long + "end and more"))
