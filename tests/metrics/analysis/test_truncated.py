"""Cut replies: scores between a lower and an upper bound, and what hangs on them is undecided (SPEC 10)."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from basic_control.data.plugins import find_unit
from basic_control.data.records import Metric, Score
from basic_control.data.tables import ITEMS, SCORES
from basic_control.data.truncation import is_cut
from basic_control.metrics.analysis.pairs import compare
from basic_control.metrics.analysis.policy import Gate
from basic_control.metrics.analysis.summary import cells, summarise, totals
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.prompts.phrases import translate_reason
from basic_control.tasks.score import metric_rows, scores_of
from tests.helpers.answers import answer
from tests.helpers.suites import declared
from tests.helpers.verdicts import entry, finalise


def items(n: int, suite: str = "cot", family: str = "") -> pl.DataFrame:
    base = {"suite": suite, "family": family, "level": "", "language": "en", "template": ""}
    return ITEMS.frame([{**base, "item_id": f"{family}{i}"} for i in range(n)])


def scores(
    right: int, cut: int, wrong: int, *, metric: str = "cot", model: str = "m", family: str = ""
) -> pl.DataFrame:
    kinds = [("scored", 1.0)] * right + [("truncated", 0.0)] * cut + [("scored", 0.0)] * wrong
    return SCORES.frame(
        {
            "item_id": f"{family}{i}",
            "model": model,
            "repeat": 0,
            "metric": metric,
            "version": 1,
            "value": value,
            "status": status,
        }
        for i, (status, value) in enumerate(kinds)
    )


def gated(table: pl.DataFrame, listed: pl.DataFrame, suite: str, threshold: float, gate: Gate = "point") -> Any:
    return entry(verdict(table, listed, suite, threshold, gate).models[0])


def verdict(
    table: pl.DataFrame, listed: pl.DataFrame, suite: str, threshold: float, gate: Gate = "point"
) -> RunVerdict:
    suites = declared(suite, thresholds={suite: threshold})
    return finalise(summarise(table, listed), models=["m"], suites=suites, threshold=threshold, gate=gate)


@pytest.mark.parametrize(
    ("threshold", "outcome", "code"), [(0.8, "pass", 0), (0.9, "undecided", 3), (0.95, "fail", 1)]
)
def test_the_golden_of_spec_10(threshold: float, outcome: str, code: int) -> None:
    """10 of 12 right, 1 cut and wrong, 1 wrong: 0.8333, with 0.9167 as its upper bound."""
    model = gated(scores(10, 1, 1), items(12), "cot", threshold)
    (suite,) = model.suites
    assert suite.score == pytest.approx(10 / 12)
    assert suite.upper == pytest.approx(11 / 12)
    assert (suite.n_scored, suite.n_truncated, suite.coverage) == (12, 1, 1.0)
    assert suite.outcome == model.outcome == outcome
    assert model.upper == pytest.approx(11 / 12)
    final = verdict(scores(10, 1, 1), items(12), "cot", threshold)
    assert final.exit_code == code
    assert replace(final, undecided="pass").exit_code == (0 if code == 3 else code)


def test_the_reason_names_both_bounds_in_both_languages() -> None:
    said = gated(scores(10, 1, 1), items(12), "cot", 0.9).suites[0].reason
    assert "truncated replies (1): 83.3% if they are wrong, 91.7% if they are right" in said
    assert "83,3%, если они неверны, 91,7%, если верны" in translate_reason(said, "ru")


def test_the_interval_gate_looks_at_the_intervals_of_both_bounds() -> None:
    """80 of 100 right, 20 cut: the lower interval (0.71 to 0.87) lies below 0.9, the upper one above."""
    table, listed = scores(80, 20, 0), items(100)
    assert gated(table, listed, "cot", 0.9, "interval").outcome == "undecided"
    assert gated(scores(80, 0, 20), listed, "cot", 0.9, "interval").outcome == "fail"


def test_total_has_an_upper_bound_over_its_families() -> None:
    """Families of 1/2 and 3/4 with one cut reply each of 4: TOTAL 62.5, at most (3/4 + 1) / 2."""
    listed = pl.concat([items(4, "basic_control", family) for family in "ab"])
    table = pl.concat(
        [scores(2, 1, 1, metric="correct", family="a"), scores(3, 1, 0, metric="correct", family="b")]
    )
    found = totals(summarise(table, listed), suite="basic_control", metric="correct")["m"]
    assert found.percent == pytest.approx(62.5)
    assert found.upper == pytest.approx(87.5)
    assert gated(table, listed, "basic_control", 0.7).suites[0].outcome == "undecided"
    assert gated(table, listed, "basic_control", 0.9).suites[0].outcome == "fail"


def test_without_a_cut_reply_there_is_no_upper_bound() -> None:
    (found,) = {cell.upper.mean for cell in cells(summarise(scores(3, 0, 1), items(4)))}
    model = gated(scores(3, 0, 1), items(4), "cot", 0.5)
    assert (found, model.upper, model.suites[0].upper) == (None, None, None)


def test_a_comparison_that_hangs_on_cut_replies_tells_nothing_apart() -> None:
    """8 of 40 that a alone has right: significant; were b's 8 cut replies right, the two would be equal."""
    first, second = scores(40, 0, 0, model="a"), scores(32, 8, 0, model="b")
    (pair,) = compare(pl.concat([first, second]), items(40))
    assert pair.test.p_adjusted == pytest.approx(2 / 2**8)
    assert pair.missing.low == 0.0
    assert pair.difference == pair.missing.high == pytest.approx(0.2)
    assert (pair.missing.hangs, pair.significant) == (True, False)
    plain = scores(32, 0, 8, model="b")
    (pair,) = compare(pl.concat([first, plain]), items(40))
    assert (pair.missing.low, pair.missing.hangs, pair.significant) == (None, False, True)


def test_a_comparison_may_hang_on_what_another_line_of_it_is_missing() -> None:
    """6 of 40 that a alone has right, p = 1/32: significant only while the line with 8 cut replies is as well."""
    cut = pl.concat([scores(40, 0, 0, model="a"), scores(32, 8, 0, model="b")])
    whole = pl.concat([scores(40, 0, 0, model="a"), scores(34, 0, 6, model="b")])
    pairs = compare(pl.concat([cut, whole.with_columns(metric=pl.lit("whole"))]), items(40))
    (pair,) = (pair for pair in pairs if pair.metric == "whole")
    assert pair.test.p_adjusted == pytest.approx(1 / 32)
    assert (pair.missing.low, pair.missing.hangs, pair.significant) == (None, True, False)


@pytest.mark.parametrize(
    ("finish", "text", "thought", "tokens", "cut"),
    [
        ("length", "half an ans", "", 64, True),
        ("MAX_TOKENS", "", "", None, True),
        ("stop", "an answer", "", 64, False),
        ("stop", "", "thinking on and on", 64, True),
        ("stop", "", "thought, and had nothing to say", 20, False),
        ("stop", "", "", 64, False),
        (None, None, None, None, False),
    ],
)
def test_a_reply_is_cut_by_its_limit_or_by_its_thinking(
    finish: str | None, text: str | None, thought: str | None, tokens: int | None, *, cut: bool
) -> None:
    row = {"finish_reason": finish, "text": text, "reasoning": thought, "tokens_out": tokens}
    assert is_cut({**row, "payload": '{"parameters": {"max_tokens": 64}}'}) is cut


def test_of_a_cut_reply_all_that_is_not_fully_right_is_truncated() -> None:
    def none(*_: Any) -> Score:
        raise NotImplementedError

    unit = Metric(name="x", version=1, bounds=(0.0, 1.0), score=none)
    scored = [
        (replace(answer("a"), cut=True), Score(0.5, parts={"p": 1.0, "q": 0.2})),
        (replace(answer("b"), cut=True), Score(0.0, "no_answer")),
        (replace(answer("c"), cut=True), Score(1.0)),
        (replace(answer("d"), cut=True), Score(None, "judge_failed")),
    ]
    rows = [(row["value"], row["status"]) for row in metric_rows(unit, scored) if row["metric"] == "x"]
    assert rows == [(0.5, "truncated"), (0.0, "truncated"), (1.0, "scored"), (None, "judge_failed")]
    parts = [row["status"] for row in metric_rows(unit, scored[:1]) if row["metric"] != "x"]
    assert parts == ["scored", "truncated"]


def test_a_truncated_verdict_is_a_wrong_answer_in_its_own_state() -> None:
    verdict = {"item_id": "i", "model": "m", "repeat": 0, "correct": False, "status": "truncated", "reason": "why"}
    (row,) = scores_of({**verdict, "details": "{}"}, find_unit(Metric, "correct"))
    assert (row["value"], row["status"]) == (0.0, "truncated")
