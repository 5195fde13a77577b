"""A row's own checks: which hold by hand, what their reasons say, and what is refused before anything is asked."""

import json
from typing import Any

import pytest

from basic_control.data.records import TYPICAL, Score
from basic_control.metrics import _patterns
from basic_control.metrics.checks.checks import checks, expects
from basic_control.metrics.checks.rows import list_rules

PARIS = {"metric": "contains", "texts": ["Paris"]}
DIGITS = {"metric": "regex", "pattern": r"\d{4}"}
REPLY = "Paris, in 1889."


def score(cell: Any, response: str = REPLY, **row: Any) -> Score:
    return checks.score({"checks": cell, "response": response, **row}, {}, {})


def find_problem(cell: Any, **row: Any) -> str:
    return expects({"checks": cell, **row}, {}).problem


# By hand: what holds of REPLY, or of the reply that a case names.
VALUES: list[tuple[Any, dict[str, Any], float]] = [
    ([PARIS], {}, 1),
    ([PARIS, DIGITS], {}, 1),
    ([PARIS, {**DIGITS, "pattern": r"\d{5}"}], {}, 0),
    (json.dumps([PARIS, DIGITS]), {}, 1),
    ([{"metric": "contains", "texts": ["Rome", "Oslo"], "mode": "none"}], {}, 1),
    ([{**PARIS, "not": True}], {}, 0),
    ([{"metric": "json_match", "compare": "none", "not": True}], {}, 1),
    ([{"metric": "exact_match", "answer": "Paris"}], {}, 0),
    ([{"metric": "exact_match", "answer": ["Paris", "Rome"]}], {"response": "rome"}, 1),
    ([{"metric": "exact_match"}], {"answer": "Rome", "response": "Rome"}, 1),
    ([{"metric": "exact_match", "answer": "Oslo"}], {"answer": "Rome", "response": "Rome"}, 0),
    ([{"metric": "number", "answer": 1889}], {"response": "The answer is 1889."}, 1),
    ([{"metric": "similarity", "answer": "Paris, in 1889", "threshold": 0.9}], {}, 1),
    ([{"metric": "similarity", "answer": "Rome", "threshold": 0.9}], {}, 0),
    ([{"metric": "json_match", "answer": {"a": 1}}], {"response": '{"a": 1}'}, 1),
    ([{"metric": "refusal", "expected": "comply"}], {}, 1),
    # The weighted mean of what holds reaches the threshold: 3 of 4, 1 of 4, 2 of 3.
    ({"threshold": 0.75, "checks": [{**PARIS, "weight": 3}, {**DIGITS, "pattern": "x"}]}, {}, 1),
    ({"threshold": 0.5, "checks": [{**PARIS, "texts": ["x"], "weight": 3}, DIGITS]}, {}, 0),
    ({"threshold": 0.67, "checks": [PARIS, DIGITS, {**PARIS, "texts": ["x"]}]}, {}, 0),
    ({"threshold": 0.66, "checks": [PARIS, DIGITS, {**PARIS, "texts": ["x"]}]}, {}, 1),
    # What grades counts as it is where a mean decides: (0 + 1) / 2.
    ({"threshold": 0.5, "checks": [{"metric": "similarity", "answer": REPLY}, {**PARIS, "texts": ["x"]}]}, {}, 1),
]


@pytest.mark.parametrize(("cell", "row", "value"), VALUES, ids=[str(number) for number in range(len(VALUES))])
def test_a_row_holds_where_each_check_does_or_their_mean_reaches_its_threshold(
    cell: Any, row: dict[str, Any], value: float
) -> None:
    assert find_problem(cell, **row) == ""
    assert (score(cell, **row).value, score(cell, **row).status) == (value, "scored")


@pytest.mark.parametrize(
    ("check", "response", "reason"),
    [
        (PARIS, "Rome", "contains: “Paris” is missing"),
        ({**PARIS, "texts": ["a1", "b1"]}, "Rome", "contains: none of “a1”, “b1” is there"),
        ({**PARIS, "mode": "none"}, "Paris", "contains: “Paris” is there"),
        ({**PARIS, "case_sensitive": True}, "paris", "contains: “Paris” is there in another case"),
        (DIGITS, "Rome", r"regex: no match of \d{4}"),
        ({**DIGITS, "not": True}, "1889", r"not regex: \d{4} matches"),
        ({**PARIS, "name": "city"}, "Rome", "city: “Paris” is missing"),
        ({"metric": "exact_match", "answer": "Rome"}, "Oslo", "exact_match: expected “Rome”"),
        ({"metric": "similarity", "answer": "abcd", "threshold": 0.8}, "wxyz", "similarity: 0.00, below 0.8"),
        (
            {"metric": "json_match", "compare": "none", "schema": {"required": ["a"]}},
            "{}",
            "json_match: does not fit the schema, $, 'a' is a required property",
        ),
        ({"metric": "number", "answer": 9}, "The answer is 8.", "number: expected “9”"),
    ],
)
def test_the_reason_names_the_first_check_that_fails_and_what_it_looked_for(
    check: dict[str, Any], response: str, reason: str
) -> None:
    result = score([{"metric": "regex", "pattern": "."}, check, {**PARIS, "texts": ["zzz"]}], response)
    assert (result.value, result.reason) == (0, reason)
    outcomes = result.details["checks"]
    assert [outcome["holds"] for outcome in outcomes] == [True, False, False]
    assert outcomes[1]["reason"] == reason
    # The kind of failure is the same for every text.
    assert "zzz" not in result.details[TYPICAL]


def test_a_mean_that_is_too_low_says_by_how_much() -> None:
    result = score({"threshold": 0.75, "checks": [PARIS, {**PARIS, "texts": ["Rome"]}]})
    assert result.reason == "0.50 of the checks, 0.75 needed; contains: “Rome” is missing"


@pytest.mark.parametrize("cell", [None, "", "  ", []])
def test_a_row_without_checks_is_not_applicable(cell: Any) -> None:
    assert find_problem(cell) == ""
    assert score(cell).status == "not_applicable"


def test_an_empty_reply_is_none_whatever_is_forbidden() -> None:
    result = score([{**PARIS, "not": True}], "")
    assert (result.value, result.status) == (0, "no_answer")


def test_a_pattern_that_was_stopped_does_not_hold_the_other_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_patterns, "LIMIT_S", 0.1)
    slow = {"metric": "regex", "pattern": r"^(?:(?:a|a)|(?:aa|a))+$"}
    result = score([{**slow, "not": True}], "a" * 60 + "!")
    assert result.value == 1 or result.reason == "not regex: the pattern took too long"


PROBLEMS: list[tuple[Any, str]] = [
    ("Paris", "expected a list such as"),
    (7, "expected a list such as"),
    ('["Paris"', "expected a list such as"),
    ({"check": []}, "checks: Field required"),
    ({"checks": [PARIS], "threshold": 2}, "threshold: Input should be less than or equal to 1"),
    (["Paris"], "check 1: expected a mapping with `metric`"),
    ([PARIS, {"metric": "contians", "texts": ["a"]}], "check 2: unknown metric 'contians'"),
    ([{"metric": "contians"}], "Did you mean 'contains'?"),
    ([{"metric": "rubric", "criteria": "Good."}], "check 1: rubric is no rule of ours"),
    ([{"metric": "code_tests"}], "check 1: code_tests is no rule of ours"),
    ([{"metric": "checks"}], "check 1: checks is no rule of ours"),
    ([{"metric": "contains", "text": ["a"]}], "check 1: contains: unknown option 'text'"),
    ([{"metric": "regex", "pattern": "("}], "check 1: regex: option pattern: not a regular expression"),
    ([{"metric": "similarity", "answer": "a"}], "check 1: similarity grades: expected its `threshold`"),
    ([{**PARIS, "weight": 0}], "check 1: weight: Input should be greater than 0"),
    ([{"metric": "exact_match"}], "check 1: exact_match: expected an answer"),
    ([{"metric": "number", "answer": "many"}], "check 1: number: expected one number"),
    ([PARIS] * 1001, "at most 1000"),
]


@pytest.mark.parametrize(("cell", "problem"), PROBLEMS)
def test_what_is_no_check_is_told_with_its_number(cell: Any, problem: str) -> None:
    assert problem in find_problem(cell)
    assert score(cell).value in (None, 0)


def test_rules_that_read_a_text_can_be_checks_and_judges_and_programs_cannot() -> None:
    names = list_rules()
    assert {"contains", "regex", "exact_match", "json_match", "number", "choice", "refusal", "similarity"} < {
        *names
    }
    assert not {"rubric", "code_tests", "correct", "stated", "tool_calls", "checks"} & {*names}
