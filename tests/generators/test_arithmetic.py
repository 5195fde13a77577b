"""Arithmetic: values by hand, parentheses only where they count, and the names of mistakes."""

import pytest

from basic_control.data.draw import draw
from basic_control.data.records import Item
from basic_control.generators.arithmetic.arithmetic import (
    Expression,
    arithmetic,
    evaluate,
    evaluate_from_left,
    join_parts,
    verify,
    yield_results,
)
from tests.helpers.bounds import bounded


def item(expression: str, answer: str) -> Item:
    return Item(prompt="", answer=answer, facts={"expression": expression})


SUM = item("4 + 5 * (10 - 3)", "39")
"""By hand: 10 - 3 = 7, 5 * 7 = 35, 4 + 35 = 39. From left to right 4 + 5 = 9, * 10 = 90, - 3 = 87. Without the
parentheses 4 + 50 - 3 = 51."""


@pytest.mark.parametrize(
    ("reply", "correct", "reason"),
    [
        ("ANSWER: 39", True, "right"),
        ("10 - 3 is 7, 5 * 7 is 35.\nANSWER: 39", True, "right"),
        ("**ANSWER: 39**", True, "right"),
        ("ОТВЕТ: 39.", True, "right"),
        ("ANSWER: 39.0", True, "right"),
        ("4 + 5 * (10 - 3) = 39", True, "right"),
        ("ANSWER: -39", False, "wrong sign"),
        ("ANSWER: 87", False, "ignored precedence"),
        ("ANSWER: 51", False, "ignored parentheses"),
        ("ANSWER: 35", False, "stopped at an intermediate result"),
        ("ANSWER: 40", False, "off by one"),
        ("ANSWER: 38", False, "off by one"),
        ("ANSWER: 139", False, "off by tens"),
        ("ANSWER: 44", False, "other number"),
        ("ANSWER: 39.5", False, "other number"),
        ("ANSWER: 39\nANSWER: 40", False, "off by one"),
        ("**ANSWER：$39$** ✅", True, "right"),
        ("ANSWER — 39", True, "right"),
        ("ANSWER: 39, not 87", True, "right"),
        ("**ОТВЕТ:** 39\n\nОбъяснить подробнее?", True, "right"),
        ("ANSWER: not 39", None, "no number"),
        ("ОТВЕТ: не 39", None, "no number"),
        ("ANSWER: 39?", None, "no number"),
        ("Is it **39**?", None, "no number"),
        ("ANSWER: 39, 87", False, "no single number"),
        ("39 is wrong.", None, "no number"),
        ("Is 39 the answer?", None, "no number"),
        ("ANSWER: > 39", False, "no single number"),
        ("ОТВЕТ: больше 39", False, "no single number"),
        ("ANSWER: 39 and 87", False, "no single number"),
        ("ANSWER: 39 (or 39.0)", True, "right"),
        ("I cannot say.", None, "no number"),
        ("", None, "no number"),
    ],
)
def test_verdict_and_reason(reply: str, correct: bool | None, reason: str) -> None:  # noqa: FBT001 - a table's column
    found = verify(SUM, reply)
    assert (found.correct, found.reason) == (correct, reason)


def test_the_last_statement_decides() -> None:
    assert verify(SUM, "#### 40\nANSWER: 39").correct is True
    assert verify(SUM, "ANSWER: 39\n#### 40").correct is False
    assert verify(SUM, "ANSWER: 39\nSo \\boxed{40}.").correct is False


def test_a_reply_that_was_cut_off_states_its_answer_or_has_none() -> None:
    assert verify(SUM, "10 - 3 = 7, 5 * 7 = 35, 4 + 35 = 39", cut=True).correct is None
    assert verify(SUM, "ANSWER: 39\n\nTo check, 10 - 3", cut=True).correct is True


def test_tolerance_is_relative_and_only_for_broken_values() -> None:
    """2.5 * 1e-6 is 0.0000025: 2.500002 is within, 2.500003 is not; a whole number allows nothing."""
    broken = item("5 * 0", "2.5")
    assert verify(broken, "ANSWER: 2.500002").correct is True
    assert verify(broken, "ANSWER: 2.500003").correct is False
    assert verify(item("999 * 1001", "999999"), "ANSWER: 999999.5").correct is False


ONE, TWO, THREE = (Expression(str(n), n, 3) for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("tree", "text", "expected"),
    [
        (join_parts(join_parts(ONE, "+", TWO), "*", THREE), "(1 + 2) * 3", 9),
        (join_parts(ONE, "+", join_parts(TWO, "*", THREE)), "1 + 2 * 3", 7),
        (join_parts(ONE, "-", join_parts(TWO, "-", THREE)), "1 - (2 - 3)", 2),
        (join_parts(ONE, "-", join_parts(TWO, "+", THREE)), "1 - (2 + 3)", -4),
        (join_parts(join_parts(ONE, "-", TWO), "-", THREE), "1 - 2 - 3", -4),
        (join_parts(ONE, "+", join_parts(TWO, "-", THREE)), "1 + 2 - 3", 0),
        (join_parts(ONE, "*", join_parts(TWO, "*", THREE)), "1 * 2 * 3", 6),
        (join_parts(ONE, "*", join_parts(TWO, "-", THREE)), "1 * (2 - 3)", -1),
    ],
)
def test_parentheses_stand_where_the_value_needs_them_and_nowhere_else(
    tree: Expression, text: str, expected: int
) -> None:
    assert (tree.text, tree.value) == (text, expected)


def test_values_of_tokens() -> None:
    assert evaluate_from_left(["2", "+", "3", "*", "4"]) == 20
    assert evaluate(["2", "+", "3", "*", "4"]) == 14
    assert evaluate(["7"]) == 7
    assert list(yield_results("( 2 + 3 ) * ( 4 - 9 )".split())) == [5, -5, -25]  # noqa: SIM905 - reads as it is written


@pytest.mark.parametrize("level", arithmetic.levels)
def test_written_expression_has_the_value_of_its_tree(level: str) -> None:
    """Python itself is the independent judge: the text is our own, of digits, operators and parentheses only."""
    for drawn in draw(arithmetic, level=level, language="en", seed=5, count=300):
        text = drawn.facts["expression"]
        assert set(text) <= set("0123456789+-*() ")
        assert eval(text) == int(drawn.answer)  # noqa: S307 - checked above to be plain arithmetic
        assert text in drawn.prompt


def test_easy_is_of_the_seeds_size() -> None:
    for drawn in draw(arithmetic, level="easy", language="ru", seed=5, count=300):
        numbers = [
            part for part in drawn.facts["expression"].replace("(", "").replace(")", "").split() if part.isdigit()
        ]
        assert len(numbers) in {3, 4}
        assert drawn.answer.lstrip("-") not in numbers


@pytest.mark.parametrize("head", ["**Step {}: go on**", "**{}. Go on**", "Действие {}: дальше"])
def test_a_heading_of_a_step_is_no_answer(head: str) -> None:
    one, two = head.format(1), head.format(2)
    reply = f"#### {one}\n10 - 3 = 7\n\n#### {two}\n5 * 7 = 35, 4 + 35 = 39\n\nANSWER: 39"
    assert verify(SUM, reply).correct is True


@pytest.mark.parametrize("unit", ["1,", "39, ", "not ", "39 and ", "(", "{", "\\", "> ", "39 — ", "39, not ", " "])
def test_what_stands_around_a_number_is_read_in_bounded_time(unit: str) -> None:
    reply = unit * 2_000 + "39" + unit * 2_000
    with bounded(2):
        verify(SUM, reply)
