# ruff: noqa: E501 - a response stands on one line
"""SPEC 14: what the standard metrics refuse, withhold and survive; their values stand in `acceptance/replies`."""

import inspect
import sys
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.records import Metric, Score
from basic_control.metrics import _patterns
from basic_control.metrics.choice import choice
from basic_control.metrics.contains import contains
from basic_control.metrics.exact_match import exact_match
from basic_control.metrics.json_match import json_match
from basic_control.metrics.number import number
from basic_control.metrics.regex import regex
from basic_control.metrics.similarity import similarity


def scored(metric: Metric, response: str | None, answer: Any = None, **options: Any) -> Score:
    return metric.score({"response": response, "answer": answer}, {}, options_of(metric, options))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a pattern stopped after a tenth of a second."""
    monkeypatch.setattr(_patterns, "LIMIT_S", 0.1)


@pytest.mark.usefixtures("impatient")
def test_a_pattern_that_backtracks_without_end_is_stopped_and_a_missing_group_told() -> None:
    slow = scored(regex, "a" * 60 + "!", None, pattern=r"^(?:(?:a|a)|(?:aa|a))+$")
    assert (slow.value, slow.reason) in {(0.0, "the pattern took too long"), (0.0, "no match")}
    with pytest.raises(InputError, match="no group 2, expected one of 0, 1"):
        scored(regex, "ab", "x", pattern="(a)b", group=2)
    assert scored(regex, "none", "x", pattern="(a)b", group=1).status == "no_answer"


@pytest.mark.parametrize(
    ("response", "answer", "value"),
    [
        ("$1,500", "1500", 1),
        ("1500.", "1,500", 1),
        ("1 500", "1500", 0),
        ("1,5", "1.5", 0),
        ("#### 15", "no: #### 15", 1),
    ],
)
def test_what_patterns_match_does_not_count_on_either_side(response: str, answer: str, value: float) -> None:
    """As lm-evaluation-harness's regexes_to_ignore, one after the other."""
    patterns = [",", r"\$", r"(?s).*#### ", r"\.$"]
    assert scored(exact_match, response, answer, raw=True, ignore=patterns).value == value
    found = scored(regex, f"<a>{response}</a>", answer, pattern="<a>(.*)</a>", group=1, ignore=patterns)
    assert found.value == value


@pytest.mark.usefixtures("impatient")
def test_a_pattern_to_ignore_that_backtracks_without_end_is_stopped() -> None:
    assert scored(exact_match, "a" * 60 + "!", "a", ignore=[r"^(?:(?:a|a)|(?:aa|a))+$"]).value == 0


def test_a_group_may_differ_in_case() -> None:
    options = {"pattern": "team: (.*)", "group": 1}
    assert scored(regex, "team: Alpha", "alpha", **options).value == 0
    assert scored(regex, "team: Alpha", "alpha", **options, case_sensitive=False).value == 1


@pytest.mark.parametrize("metric", [exact_match, regex], ids=lambda metric: metric.name)
def test_a_broken_pattern_is_refused(metric: Metric) -> None:
    with pytest.raises(InputError, match="not a regular expression"):
        scored(metric, "a", "a", ignore=["("], **({"pattern": "a"} if metric.name == "regex" else {}))


WITH_ANSWER = (choice, exact_match, contains, number, json_match.json_match, similarity)


@pytest.mark.parametrize("metric", [*WITH_ANSWER, regex], ids=lambda metric: metric.name)
@pytest.mark.parametrize("response", [None, "", "\n", "<think>5</think>", "<think>5"])
def test_an_empty_reply_is_no_answer(metric: Metric, response: str | None) -> None:
    options: dict[str, Any] = {"regex": {"pattern": "5"}, "choice": {"index": 0}}.get(metric.name, {})
    score = scored(metric, response, 5, **options)
    assert (score.value, score.status, score.reason) == (0.0, "no_answer", "empty reply")


@pytest.mark.parametrize("metric", WITH_ANSWER, ids=lambda metric: metric.name)
@pytest.mark.parametrize("answer", [None, "", [], [None]])
def test_a_row_without_an_answer_is_not_applicable(metric: Metric, answer: Any) -> None:
    if metric is json_match.json_match and isinstance(answer, list):
        return  # a list is a JSON value, or several
    assert scored(metric, "5", answer).status == "not_applicable"


@pytest.mark.parametrize(
    ("metric", "options"),
    [(regex, {"pattern": "("}), (regex, {}), (regex, {"pattern": "a", "flags": ["z"]}), (contains, {"mode": "some"}),
     (exact_match, {"cases": True}), (number, {"tolerance": -1}), (json_match.json_match, {"schema": {"type": "text"}}), (similarity, {"scorer": "x"})],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(metric: Metric, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=metric.name):
        options_of(metric, options)


HOSTILE = (
    "\ud800\x00" * 1000, "a" * 1_000_000, "1," * 500_000, "{" * 300_000, "[1," * 200_000, "<think>" * 100_000,
    "answer " * 100_000, "A B " * 200_000, "\\boxed{" * 100_000, "not " * 200_000,
)  # fmt: skip


@pytest.mark.parametrize("metric", [*WITH_ANSWER, regex], ids=lambda metric: metric.name)
@pytest.mark.parametrize(
    "response", [HOSTILE[0], *(pytest.param(text, marks=pytest.mark.slow) for text in HOSTILE[1:])], ids=len
)
def test_no_reply_raises(metric: Metric, response: str) -> None:
    options = {"pattern": "(a+)+$"} if metric is regex else {}
    score = scored(metric, response, "text", **options)
    assert score.status in {"scored", "no_answer", "not_applicable"}


def test_an_answer_that_is_no_option_or_holds_no_number_is_not_applicable() -> None:
    assert scored(number, "18", "n/a").status == "not_applicable"
    for answer in ("Z", 99):
        assert scored(choice, "B", answer).status == "not_applicable"


def test_a_long_list_is_matched_though_every_entry_gives_way_to_the_next() -> None:
    """The last wanted entry has its place only when all others move on by one: no frame of Python's for each."""
    listed = [{f"k{n}": 1, f"k{n + 1}": 1} for n in range(200)]
    others = [{f"k{n + 1}": 1} for n in range(199)]
    assert not json_match.is_within(listed, [*others[1:], {"k0": 1}, {"k0": 1}])
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        assert json_match.is_within(listed, [*others, {"k0": 1}])
    finally:
        sys.setrecursionlimit(limit)


def test_a_schema_refers_to_itself_alone() -> None:
    """What a `$ref` names stands in the schema, or the configuration is refused: nothing is fetched for it."""
    whole = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert scored(json_match.json_match, '{"a": 1}', schema=whole, compare="none").value == 1.0
    assert scored(json_match.json_match, '{"a": "1"}', schema=whole, compare="none").value == 0.0
    for reference in ("#/$defs/m", "http://127.0.0.1:9/schema"):
        with pytest.raises(InputError, match="nothing is fetched"):
            options_of(json_match.json_match, {"schema": {"items": {"$ref": reference}}})
    circle = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    assert scored(json_match.json_match, "1", schema=circle, compare="none").status == "not_applicable"


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ('{"a": 1}', 1),
        (" [1, 2]\n", 1),
        ('"a"', 1),
        ('Here: {"a": 1}', 0),
        ('```json\n{"a": 1}\n```', 0),
        ('{"a": 1} {"b": 2}', 0),
        ('{"a": NaN}', 0),
        ("[" * 100_000, 0),
    ],
)
def test_json_alone_is_a_reply_of_json_and_nothing_else(response: str, value: float) -> None:
    assert scored(json_match.json_match, response, compare="none", alone=True).value == value
