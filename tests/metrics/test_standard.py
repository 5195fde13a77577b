# ruff: noqa: E501 - a response stands on one line
"""SPEC 14: exact_match, contains, regex and similarity, on replies in the styles that models have."""

from typing import Any

import pytest

from data.errors import InputError
from data.options import options_of
from data.records import Metric, Score
from metrics import contains, exact_match, number, regex, similarity
from metrics.json_match import json_match

ALL = {"case": True, "punctuation": True, "articles": True}


def scored(metric: Metric, response: str | None, answer: Any = None, **options: Any) -> Score:
    return metric.score({"response": response, "answer": answer}, {}, options_of(metric, options))


EXACT: list[tuple[str, Any, dict[str, bool], float]] = [
    ("Paris", "Paris", {}, 1), (" Paris\n", "Paris", {}, 1), ("Paris ", " Paris", {}, 1), ("New  York", "New York", {}, 1),
    ("New\nYork", "New York", {}, 1), ("New\u00a0York", "New York", {}, 1), ("<think>London</think>Paris", "Paris", {}, 1),
    ("<think>\nhm\n</think>\n\nParis", "Paris", {}, 1), ("paris", "Paris", {}, 0), ("paris", "Paris", {"case": True}, 1),
    ("PARIS", "paris", {"case": True}, 1), ("Paris.", "Paris", {}, 1), ("Paris.", "Paris", {"wrapping": False}, 0), ("Paris.", "Paris", {"punctuation": True}, 1),
    ("«Paris»", "Paris", {"punctuation": True}, 1), ("“Paris”!", "Paris", {"punctuation": True}, 1), ("**Paris**", "Paris", {"punctuation": True}, 1),
    ("the Paris", "Paris", {}, 0), ("The Paris", "Paris", {"articles": True}, 1), ("a cat and an owl", "cat and owl", {"articles": True}, 1),
    ("theatre", "atre", {"articles": True}, 0), ("The Eiffel Tower.", "eiffel tower", ALL, 1), ("an apple, a day", "apple day", ALL, 1),
    ("London", "Paris", ALL, 0), ("Paris, France", "Paris", ALL, 0), ("It is Paris", "Paris", ALL, 0), ("Париж", "Париж", {}, 1),
    ("париж", "Париж", {}, 0), ("ПАРИЖ", "Париж", {"case": True}, 1), ("«Париж».", "Париж", {"punctuation": True}, 1), ("Ответ: Париж", "Париж", ALL, 0),
    ("Лев Толстой", "Лев  Толстой", {}, 1), ("巴黎", "巴黎", {}, 1), ("巴黎。", "巴黎", {"punctuation": True}, 1), ("Straße", "STRASSE", {"case": True}, 1),
    ("café", "cafe\u0301", {}, 1), ("й", "и\u0306", {}, 1), ("18", 18, {}, 1), ("18", 18.0, {}, 1), ("18.5", 18.5, {}, 1), ("true", True, {}, 1),
    ("True", True, {"case": True}, 1), ("B", ["A", "B"], {}, 1), ("C", ["A", "B"], {}, 0), ("b", ["A", "B"], {"case": True}, 1),
    ("3,5", "35", {"punctuation": True}, 0), ("3.5", "35", {"punctuation": True}, 0), ("-5", "5", {"punctuation": True}, 0), ("x-y", "xy", {"punctuation": True}, 1),
    ("...", "", {"punctuation": True}, 0), ("0", 0, {}, 1), ("ё", "е", {}, 1), ("don’t", "don't", {}, 1), ("'don't'", "don’t", {}, 1),
    ("**Paris**", "Paris", {}, 1), ("**Paris**", "Paris", {"wrapping": False}, 0), ("_Paris_", "Paris", {}, 1), ("“Paris”.", "Paris", {}, 1), ("**«Париж».**", "Париж", {}, 1),
    ("巴黎。", "巴黎", {}, 1), ('"A" or "B"', 'A" or "B', {}, 0), ("**A** B **C**", "A** B **C", {}, 0), ("_snake_case_", "snake_case", {}, 1), ("Wait...", "Wait", {}, 0),
    ("U.S.", "U.S", {}, 1), ("U.S", "U.S.", {}, 1), ("init", "__init__", {}, 0), ("__init__", "__init__", {}, 1), ("Paris!", "Paris", {}, 0), ("`Paris`", "Paris", {}, 0), ("**Not Paris**", "Paris", {}, 0),
    *((said, "+", {"punctuation": True}, value) for said, value in (("-", 0), ("+", 1), ("...", 0))), ("the", "A", {"articles": True}, 0), ("A", "A", {"articles": True}, 1), ("−5", "-5", {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("response", "answer", "options", "value"), EXACT)
def test_exact_match(response: str, answer: Any, options: dict[str, bool], value: float) -> None:
    if answer == "":
        assert scored(exact_match.UNIT, response, answer, **options).status == "not_applicable"
    else:
        assert scored(exact_match.UNIT, response, answer, **options).value == value


CONTAINS: list[tuple[str, Any, dict[str, Any], float]] = [
    ("The capital is Paris.", "Paris", {}, 1), ("the capital is paris", "Paris", {}, 1), ("PARIS!", "Paris", {}, 1), ("**Paris**", "Paris", {}, 1),
    ("(Paris)", "Paris", {}, 1), ("Paris's", "Paris", {}, 1), ("Parisian", "Paris", {}, 0), ("Parisian", "Paris", {"words": False}, 1),
    ("start", "art", {}, 0), ("start", "art", {"words": False}, 1), ("New\n York", "new york", {}, 1), ("New-York", "New York", {}, 0),
    ("It costs $5.", "$5", {}, 1), ("It costs $50.", "$5", {}, 0), ("It costs US$5.", "$5", {}, 1), ("See (a) and b", "(a)", {}, 1),
    ("C++ and C", "C++", {}, 1), ("a.b", "a.b", {}, 1), ("axb", "a.b", {}, 0), ("100% sure", "100%", {}, 1), ("London", "Paris", {}, 0),
    ("<think>Paris</think>London", "Paris", {}, 0), ("A and B", ["A", "C"], {}, 1), ("A and B", ["A", "C"], {"mode": "all"}, 0),
    ("A and C", ["A", "C"], {"mode": "all"}, 1), ("A and B", ["C", "D"], {"mode": "none"}, 1), ("A and C", ["C", "D"], {"mode": "none"}, 0),
    ("sorry, no", None, {"texts": ["sorry", "apologise"]}, 1), ("sorry, no", None, {"texts": ["sorry"], "mode": "none"}, 0),
    ("fine", None, {"texts": ["sorry"], "mode": "none"}, 1), ("yes and yes", "x", {"texts": ["yes"]}, 1), ("Столица — Париж.", "Париж", {}, 1),
    ("столица — париж", "Париж", {}, 1), ("Парижанин", "Париж", {}, 0), ("Парижанин", "париж", {"words": False}, 1), ("в Париже", "Париж", {}, 0),
    ("Извините, не могу.", None, {"texts": ["извините", "простите"]}, 1), ("«Титаник» затонул", "титаник", {}, 1), ("首都是巴黎。", "巴黎", {}, 1),
    ("首都是伦敦。", "巴黎", {}, 0), ("18", 18, {}, 1), ("It is 18.", 18, {}, 1), ("It is 180.", 18, {}, 0), ("It is 18.5", "18.5", {}, 1),
    ("cafe\u0301", "café", {}, 1), ("STRASSE", "Straße", {}, 1), ("a_b", "a", {}, 0), ("it's", "it", {}, 1), ("co-op", "co", {}, 1), ("1,000", "1,000", {}, 1),
    *((said, "12", {}, 0) for said in ("12.5", "12,500", "-12", "x = −12", "(-12)", "0.12", "1,12", ".12", "at .12", "112", "12th", "X12", "–12")),
    *((said, "12", {}, 1) for said in ("12.", "12, 500", "10-12", "- 12", "it is 12!", "(12)", "**12**", "12%", "$12", "no.12", "…12", "共12个")),
    ("It is -12.", "-12", {}, 1), ("$12.50", "$12", {}, 0), ("12.5", "12", {"words": False}, 1), ("the king’s", "King's", {}, 1), ("орёл", "орел", {}, 1), ("Орел", "орёл", {}, 1),
    ("It is −12.", "-12", {}, 1), ("10-12", "-12", {}, 0), ("选Ｂ", "B", {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("response", "answer", "options", "value"), CONTAINS)
def test_contains(response: str, answer: Any, options: dict[str, Any], value: float) -> None:
    assert scored(contains.UNIT, response, answer, **options).value == value


YEAR = r"\b(1\d{3}|20\d{2})\b"
REGEX: list[tuple[str, Any, dict[str, Any], float]] = [
    ("in 1912", None, {"pattern": YEAR}, 1), ("in 12", None, {"pattern": YEAR}, 0), ("in 1912", "1912", {"pattern": YEAR, "group": 1}, 1),
    ("in 1913", "1912", {"pattern": YEAR, "group": 1}, 0), ("1912, then 1985", "1985", {"pattern": YEAR, "group": 1}, 1),
    ("1912, then 1985", "1912", {"pattern": YEAR, "group": 1}, 0), ("no year", "1912", {"pattern": YEAR, "group": 1}, 0),
    ("Answer: Paris", "Paris", {"pattern": r"Answer:\s*(\w+)", "group": 1}, 1), ("answer: Paris", "Paris", {"pattern": r"Answer:\s*(\w+)", "group": 1}, 0),
    ("answer: Paris", "Paris", {"pattern": r"Answer:\s*(\w+)", "group": 1, "flags": ["i"]}, 1), ("Answer: Rome\nAnswer: Paris", "Paris", {"pattern": r"Answer:\s*(\w+)", "group": 1}, 1),
    ("Answer: Paris", "paris", {"pattern": r"Answer:\s*(\w+)", "group": 1}, 0), ("Answer: Paris", ["Rome", "Paris"], {"pattern": r"Answer:\s*(\w+)", "group": 1}, 1),
    ("Answer: Paris", "Paris", {"pattern": r"(?P<city>Par\w+)", "group": "city"}, 1), ("x = 5", 5, {"pattern": r"x = (\d+)", "group": 1}, 1),
    ("a\nb", None, {"pattern": "^b$"}, 0), ("a\nb", None, {"pattern": "^b$", "flags": ["m"]}, 1), ("a\nb", None, {"pattern": "a.b"}, 0),
    ("a\nb", None, {"pattern": "a.b", "flags": ["s"]}, 1), ("ab", None, {"pattern": "a  b  # both", "flags": ["x"]}, 1), ("A\nB", None, {"pattern": "a.b", "flags": ["i", "s"]}, 1),
    ("<think>1912</think>none", None, {"pattern": YEAR}, 0), ("Ответ: Париж", "Париж", {"pattern": r"Ответ:\s*(\w+)", "group": 1}, 1),
    ("ОТВЕТ: Париж", "Париж", {"pattern": r"Ответ:\s*(\w+)", "group": 1, "flags": ["i"]}, 1), ("Ответ: Рим", "Париж", {"pattern": r"Ответ:\s*(\w+)", "group": 1}, 0),
    ("Ответ — 5 шт.", 5, {"pattern": r"Ответ\s*[—:-]\s*(\d+)", "group": 1}, 1), ("в 1912 году", "1912", {"pattern": YEAR, "group": 1}, 1),
    ("答案：巴黎", "巴黎", {"pattern": r"答案[：:]\s*(\w+)", "group": 1}, 1), ("a@b.co", None, {"pattern": r"^\S+@\S+\.\w+$"}, 1), ("a@b", None, {"pattern": r"^\S+@\S+\.\w+$"}, 0),
    ("yes", None, {"pattern": "^(yes|no)$"}, 1), ("Yes.", None, {"pattern": "^(yes|no)$"}, 0), ("maybe", None, {"pattern": "^(yes|no)$", "flags": ["i"]}, 0),
    ("- one\n- two\n- three", None, {"pattern": r"(?:^- .+\n?){3}", "flags": ["m"]}, 1), ("- one", None, {"pattern": r"(?:^- .+\n?){3}", "flags": ["m"]}, 0),
    ("ab", "x", {"pattern": "(x)?ab", "group": 1}, 0), ("ab", "", {"pattern": "(x)?ab", "group": 1}, 1), ("x", "x", {"pattern": r"\p{Latin}"}, 1), ("ж", "ж", {"pattern": r"\p{Latin}"}, 0),
    ("в  Париже", "в Париже", {"pattern": "(в\\s+Париже)", "group": 1}, 1), ("The answer", None, {"pattern": "answer"}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("response", "answer", "options", "value"), REGEX)
def test_regex(response: str, answer: Any, options: dict[str, Any], value: float) -> None:
    assert scored(regex.UNIT, response, answer, **options).value == value


def test_a_pattern_that_backtracks_without_end_is_stopped_and_a_missing_group_told() -> None:
    slow = scored(regex.UNIT, "a" * 60 + "!", None, pattern=r"^(?:(?:a|a)|(?:aa|a))+$")
    assert (slow.value, slow.reason) in {(0.0, "the pattern took too long"), (0.0, "no match")}
    with pytest.raises(InputError, match="no group 2, expected one of 0, 1"):
        scored(regex.UNIT, "ab", "x", pattern="(a)b", group=2)
    assert scored(regex.UNIT, "none", "x", pattern="(a)b", group=1).status == "no_answer"


RATIOS: list[tuple[str, Any, dict[str, Any], float]] = [
    ("Paris", "Paris", {}, 1.0), ("", "Paris", {}, 0.0), ("abcd", "abce", {}, 0.75), ("ab", "ba", {}, 0.5), ("a", "b", {}, 0.0), ("abc", "ab", {}, 0.8),
    ("PARIS", "paris", {}, 0.0), ("PARIS", "paris", {"case": True}, 1.0), ("Paris!", "paris", {"case": True}, 1.0), (" Paris\n", "Paris", {}, 1.0),
    ("Париж", "Париж", {}, 1.0), ("ПАРИЖ", "париж", {"case": True}, 1.0), ("дом", "том", {}, 2 / 3), ("巴黎", "巴黎", {}, 1.0), ("巴黎", "北京", {}, 0.0),
    ("abcd", ["zzzz", "abce"], {}, 0.75), ("b a", "a b", {"scorer": "token_sort_ratio"}, 1.0), ("a b a", "a b", {"scorer": "token_set_ratio"}, 1.0),
    ("the capital is Paris", "Paris", {"scorer": "partial_ratio"}, 1.0), ("Paris", "Paris", {"scorer": "WRatio"}, 1.0), ("18", 18, {}, 1.0), ("18", 18.0, {}, 1.0),
    ("<think>London</think>Paris", "Paris", {}, 1.0), ("abcdefgh", "abcdxxxx", {}, 0.5), ("aaaa", "aa", {}, 2 / 3), ("ab", "abab", {}, 2 / 3), ("x", "xyz", {}, 0.5),
    ("kitten", "sitting", {}, 8 / 13), ("flaw", "lawn", {}, 0.75), ("дача", "удача", {}, 8 / 9), ("кот", "кит", {}, 2 / 3), ("мир труд май", "май мир труд", {"scorer": "token_sort_ratio"}, 1.0),
    ("в столице Париже", "Париж", {"scorer": "partial_ratio"}, 1.0), ("a b c", "c b a", {"scorer": "token_set_ratio"}, 1.0), ("abc", "xyz", {}, 0.0), ("ab cd", "ab  cd", {}, 10 / 11),
    ("true", True, {}, 1.0), ("ABC", "abc", {"case": True, "scorer": "partial_ratio"}, 1.0), ("e\u0301", "e\u0301", {}, 1.0), ("abcdefghij", "abcdefghiX", {}, 0.9), ("aXbXcX", "abc", {}, 2 / 3),
    ("+", "-", {"case": True}, 0.0), ("+", "+", {"case": True}, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("response", "answer", "options", "value"), RATIOS)
def test_similarity(response: str, answer: Any, options: dict[str, Any], value: float) -> None:
    """`ratio` by hand: twice the longest common subsequence over both lengths."""
    assert scored(similarity.UNIT, response, answer, **options).value == pytest.approx(value)


WITH_ANSWER = (exact_match.UNIT, contains.UNIT, number.UNIT, json_match.UNIT, similarity.UNIT)


@pytest.mark.parametrize("metric", [*WITH_ANSWER, regex.UNIT], ids=lambda metric: metric.name)
@pytest.mark.parametrize("response", [None, "", "\n", "<think>5</think>", "<think>5"])
def test_an_empty_reply_is_no_answer(metric: Metric, response: str | None) -> None:
    options = {"pattern": "5"} if metric is regex.UNIT else {}
    score = scored(metric, response, 5, **options)
    assert (score.value, score.status, score.reason) == (0.0, "no_answer", "empty reply")


@pytest.mark.parametrize("metric", WITH_ANSWER, ids=lambda metric: metric.name)
@pytest.mark.parametrize("answer", [None, "", [], [None]])
def test_a_row_without_an_answer_is_not_applicable(metric: Metric, answer: Any) -> None:
    if metric is json_match.UNIT and isinstance(answer, list):
        return  # a list is a JSON value, or several
    assert scored(metric, "5", answer).status == "not_applicable"


@pytest.mark.parametrize(
    ("metric", "options"),
    [(regex.UNIT, {"pattern": "("}), (regex.UNIT, {}), (regex.UNIT, {"pattern": "a", "flags": ["z"]}), (contains.UNIT, {"mode": "some"}),
     (exact_match.UNIT, {"cases": True}), (number.UNIT, {"tolerance": -1}), (json_match.UNIT, {"schema": {"type": "text"}}), (similarity.UNIT, {"scorer": "x"})],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(metric: Metric, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=metric.name):
        options_of(metric, options)


@pytest.mark.parametrize("metric", [*WITH_ANSWER, regex.UNIT], ids=lambda metric: metric.name)
@pytest.mark.parametrize(
    "response",
    ["a" * 1_000_000, "1," * 500_000, "{" * 300_000, "[1," * 200_000, "\ud800\x00" * 1000, "<think>" * 100_000],
)
def test_no_reply_raises(metric: Metric, response: str) -> None:
    options = {"pattern": "(a+)+$"} if metric is regex.UNIT else {}
    score = scored(metric, response, "text", **options)
    assert score.status in {"scored", "no_answer", "not_applicable"}
