"""Citations that lead a line, are said in a sentence, raised or listed below: which claim each of them backs."""

import pytest

from basic_control.metrics.citation.answers import parse_answer
from tests.helpers.bounds import bounded, of_each_size

PASSAGES = 20


def test_each_of_two_said_markers_backs_its_own_clause() -> None:
    def cites(text: str) -> list[tuple[int, str]]:
        return [(one.number, one.claim) for one in parse_answer(text, PASSAGES).citations]

    assert cites("Document 1 states that it sank in April, while Document 2 says that it sank in May.") == [
        (1, "Document 1 states that it sank in April"),
        (2, "while Document 2 says that it sank in May."),
    ]
    assert cites(
        "The great ship sank in April, as stated in Document 1, and many died, as noted in Document 2."
    ) == [
        (1, "The great ship sank in April, as stated in Document 1"),
        (2, "and many died, as noted in Document 2."),
    ]
    assert cites("According to Document 3, 1,500 people lost their lives that night [2].") == [
        (3, "According to Document 3, 1,500 people lost their lives that night."),
        (2, "According to Document 3, 1,500 people lost their lives that night"),
    ]


def test_a_number_that_points_nowhere_stays_a_citation_in_brackets_and_plain_in_prose() -> None:
    assert [one.number for one in parse_answer("The ship sank at dawn (Document 30).", 5).citations] == [30]
    assert parse_answer("According to Document 30, the ship sank at dawn.", 5).citations == ()


def test_a_named_number_that_leads_its_line_backs_it() -> None:
    answer = parse_answer("Document 3: The great ship sank at dawn.\nDocument 4: Many people died then.", PASSAGES)
    assert [(one.number, one.claim) for one in answer.citations] == [
        (3, "The great ship sank at dawn."),
        (4, "Many people died then."),
    ]


def test_two_raised_digits_are_two_notes_where_there_are_not_so_many_passages() -> None:
    assert [one.number for one in parse_answer("The ship sank at dawn.¹²", 5).citations] == [1, 2]
    assert [one.number for one in parse_answer("The ship sank at dawn.¹²", 15).citations] == [12]


@pytest.mark.parametrize(
    "tail", ["Sources: [1], [3]", "Source: Document 1, Document 3", "**Sources:** [1][3]", "Sources:\n- [1]\n- [3]",
             "References: 【1】【3】", "Источники: [1], [3]", "Источник: документ 1, документ 3", "来源：[1]、[3]"],
)  # fmt: skip
def test_a_list_of_bare_numbers_cites_what_stands_above(tail: str) -> None:
    answer = parse_answer(f"The great ship sank at dawn.\n\n{tail}", PASSAGES)
    assert [(one.number, one.claim) for one in answer.citations] == [
        (1, "The great ship sank at dawn."),
        (3, "The great ship sank at dawn."),
    ]


@pytest.mark.parametrize(
    "unit",
    ["(Document 1", "Document 1, ", "According to ", "Document 1 and ", "¹", "¹,", "a¹ ", "[Passage 1: ", "[1, p. ",
     "【1:0†",
     "(see ", "文档1、", "根据", "Document [1] ", "Document 1 states (", "<sup>1", "^1", "(Document 1, ", "[3: a"],
)  # fmt: skip
@of_each_size
def test_hostile_text_takes_little_time(unit: str, share: int) -> None:
    with bounded(8 / share):
        parse_answer.__wrapped__(unit * (150_000 // share // len(unit)), PASSAGES)
