"""What a score's details say of a reply is read of each metric that says something, and of garbage nothing."""

import json
from typing import Any

import polars as pl
import pytest

from basic_control.metrics.analysis.score_remarks import Remark, list_remarks, read_reason
from basic_control.tasks.compare.rows import ShownRow
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.rows import line_of, list_entries, list_unsaid
from basic_control.tasks.store.frames import tabulate_judgements

CLAIMS = [
    {"id": "1", "text": "It opened in 1931.", "verdict": "SUPPORTED", "reason": "stands there"},
    {"id": "2", "text": "It has three bridges.", "verdict": "NEUTRAL", "reason": "nothing on bridges"},
    {"id": "3", "text": "It is green.", "verdict": "CONTRADICTED", "reason": ""},
]


def write_judged(**details: Any) -> str:
    """Return a score's details by one judge."""
    return json.dumps({"aggregate": "mean", "judges": {"gpt": {"value": 0.5, "reason": "", "details": details}}})


def build_row(details: str, expected: str = "", **changes: Any) -> ShownRow:
    fields = {"suite": "s", "model": "m", "metric": "x", "question": "Why?", "reply": "So.", "value": 0.0}
    remarks = list_remarks(details, changes.pop("options", {}))
    return ShownRow(**fields, expected=expected, status="scored", reason="another text", remarks=remarks)


@pytest.mark.parametrize(
    ("details", "sentences"),
    [
        (
            write_judged(response_claims=CLAIMS),
            ["not supported: It has three bridges. (nothing on bridges)", "contradicted: It is green."],
        ),
        (
            write_judged(ratings={"rating": {"rating": 2, "reason": "It names no team"}}),
            ["rated 2: It names no team"],
        ),
        (
            write_judged(ratings={"tone": {"rating": 1, "reason": "rude"}, "aim": {"rating": 5, "reason": ""}}),
            ["tone: rated 1: rude", "aim: rated 5"],
        ),
        (write_judged(label="PARTLY", judge_reason="half of it"), ["rated PARTLY: half of it"]),
        (
            write_judged(useful=[True, False], judge_reasons=["yes", "about another town"]),
            ["context 2 is of no use: about another town"],
        ),
        (
            write_judged(ab={"winner": "second", "reason": "shorter"}, ba={"winner": "first", "reason": "shorter"}),
            ["ab: rated second: shorter", "ba: rated first: shorter"],
        ),
        (
            json.dumps(
                {"checks": [{"check": "contains", "holds": True}, {"holds": False, "reason": "is-json: no"}]}
            ),
            ["is-json: no"],
        ),
        (json.dumps({"missing": ["a", "b"]}), ["lacks a, b"]),
        (json.dumps({"unwanted": ["sorry"]}), ["holds sorry, which is unwanted"]),
    ],
)
def test_what_a_score_says_is_listed_below_its_row(details: str, sentences: list[str]) -> None:
    row = build_row(details)
    (entry,) = list_entries([row], 1, 20, has_remarks=True)
    assert [*list_unsaid(entry, 200)] == sentences
    # On a line that has room for it the first stands beside the reply.
    assert line_of(row, 300) == f"Why? → So. ({sentences[0]})"


def test_of_many_claims_the_first_are_listed_and_the_others_counted() -> None:
    claims = [{"id": f"{n}", "text": f"Claim {n}.", "verdict": "NEUTRAL", "reason": ""} for n in range(9)]
    (entry,) = list_entries([build_row(write_judged(response_claims=claims))], 1, 20, has_remarks=True)
    assert [*list_unsaid(entry, 200)] == [*(f"not supported: Claim {n}." for n in range(6)), "… 3 more"]


def test_a_pattern_is_named_that_nothing_matched() -> None:
    assert list_remarks("{}", {"pattern": r"\d+ EUR"}) == (Remark("pattern", r"\d+ EUR"),)


def test_where_the_expected_answer_is_missing_it_is_named_as_expected() -> None:
    assert (
        line_of(build_row(json.dumps({"missing": ["billing"]}), "billing"), 200) == "Why? → So. (expected billing)"
    )
    # Of an unwanted text the row's answer says nothing.
    assert "(holds sorry" in line_of(build_row(json.dumps({"unwanted": ["sorry"]}), "sorry"), 200)


def test_several_judges_are_told_apart() -> None:
    scores = {"rating": {"rating": 2, "reason": "vague"}}
    document = {"judges": {name: {"details": {"ratings": scores}} for name in ("large", "small")}}
    (entry,) = list_entries([build_row(json.dumps(document))], 1, 20, has_remarks=True)
    assert [*list_unsaid(entry, 200)] == ["large: rated 2: vague", "small: rated 2: vague"]


def test_it_speaks_the_reports_language() -> None:
    with use_language("ru"):
        assert "не подтверждено: It has" in line_of(build_row(write_judged(response_claims=CLAIMS)), 400)


def test_what_a_judge_said_who_does_not_count_is_marked_and_comes_last() -> None:
    judges = {
        "weak": {"value": 1.0, "reason": "", "details": {"label": "FULLY", "judge_reason": ""}},
        "good": {"value": 0.0, "reason": "", "details": {"label": "NOT", "judge_reason": "all is new"}},
    }
    why = "it cannot tell right replies from wrong ones: groundedness (en)"
    details = json.dumps({"judges": judges, "left_out": {"weak": why}})
    (entry,) = list_entries([build_row(details)], 1, 20, has_remarks=True)
    assert [*list_unsaid(entry, 200)] == [
        "good: rated NOT: all is new",
        f"weak: not counted: the judge failed its exam ({why})",
        "weak: rated FULLY",
    ]
    alone = json.dumps({"judges": {"weak": judges["weak"]}, "left_out": {"weak": why}})
    assert line_of(build_row(alone), 300) == "Why? → So. (not counted: rated FULLY)"
    with use_language("ru"):
        assert "не учитывается: оценка FULLY" in line_of(build_row(alone), 300)
    scores = pl.DataFrame(
        [{"suite": "s", "item_id": "i", "model": "m", "repeat": 0, "metric": "x", "details": details}]
    )
    assert tabulate_judgements(scores).select("judge", "verdict", "excluded").rows() == [
        ("weak", "FULLY", why),
        ("good", "NOT", ""),
    ]


def test_every_verdict_of_a_judge_is_a_row_supported_claims_too() -> None:
    details = write_judged(response_claims=CLAIMS, ratings={"tone": {"rating": 2, "reason": "rude"}})
    columns = {"suite": "s", "item_id": "i", "model": "m", "repeat": 0, "metric": "x"}
    scores = pl.DataFrame([{**columns, "details": details}, {**columns, "details": "{}"}])
    frame = tabulate_judgements(scores)
    assert frame.columns == [*columns, "judge", "about", "text", "verdict", "reason", "excluded"]
    assert frame.select("judge", "about", "text", "verdict").rows() == [
        ("gpt", "response", "It opened in 1931.", "SUPPORTED"),
        ("gpt", "response", "It has three bridges.", "NEUTRAL"),
        ("gpt", "response", "It is green.", "CONTRADICTED"),
        ("gpt", "tone", "", "2"),
    ]
    assert tabulate_judgements(scores.clear()).columns == frame.columns


@pytest.mark.parametrize(
    "details",
    [None, "", "[]", "5", "{", '{"judges": []}', '{"judges": {"a": 5}}', '{"checks": {"a": 1}}', '{"missing": 5}'],
)
def test_garbage_says_nothing(details: str | None) -> None:
    assert list_remarks(details, {}) == ()


def test_the_reason_of_a_score_is_all_that_its_judges_wrote_however_deep() -> None:
    citation = {"support_reason": "The passage says so.", "verification_reason": "passage in range"}
    judged = {"citations": [citation, citation], "correctness_reason": "No gold answer."}
    details = json.dumps({"judges": {"rules": {"details": judged, "reason": ""}}})
    assert read_reason("", details) == "The passage says so.; passage in range; No gold answer."
    assert read_reason("too short", details) == "too short"
    assert read_reason("HTTP 500", '{"error": "overloaded"}') == "HTTP 500: overloaded"
