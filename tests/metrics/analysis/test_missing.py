"""What was asked and is not scored counts 0 below and 1 above; equal questions are one observation (SPEC 10)."""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from basic_control.data.suites import GateOn, Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.failures import failures
from basic_control.metrics.analysis.observations import RepeatedQuestions, observations
from basic_control.metrics.analysis.policy import Gate
from basic_control.metrics.analysis.summary import OF_SUITES, cells, summarise, summarise_repeated, totals
from basic_control.metrics.stats.intervals import Interval, MeanEstimate, wilson
from basic_control.metrics.stats.labelled import Powered
from basic_control.prompts.phrases import translate_reason
from tests.helpers.suites import declared
from tests.helpers.verdicts import entry, finalise, verdict_on

HTTP = "HTTP 400: the prompt of item {n} holds a word that is refused"
KINDS: dict[str, tuple[str, float | None]] = {
    "R": ("scored", 1.0),
    "W": ("scored", 0.0),
    "c": ("truncated", 0.0),
    "x": ("model_error", None),
    "j": ("judge_failed", None),
    "n": ("not_applicable", None),
}


REASONS = {"model_error": "invalid", "judge_failed": "support: unparsable reply"}
Tables = tuple[pl.DataFrame, pl.DataFrame]


def tables(said: str, metric: str = "cot", *, suite: str = "", repeats: int = 1) -> Tables:
    """Return items and scores of a model: a character for each answer (`KINDS`), `repeats` for each question."""
    at = [(n // repeats, n % repeats, *KINDS[kind]) for n, kind in enumerate(said)]
    where = {"suite": suite or metric, "family": "", "level": "", "language": "en", "template": ""}
    items = ITEMS.frame({**where, "item_id": f"{metric}{n}"} for n in dict.fromkeys(n for n, *_ in at))
    scores = SCORES.frame(
        {"item_id": f"{metric}{n}", "model": "m", "repeat": repeat, "metric": metric, "version": 1, "value": value,
         "status": status, "reason": REASONS.get(status, ""),
         "details": json.dumps({"error": HTTP.format(n=n)}) if status == "model_error" else "{}"}
        for n, repeat, status, value in at
    )  # fmt: skip
    return items, scores


def verdict(said: str, threshold: float, gate: Gate = "point", metric: str = "cot") -> Any:
    """Return what a model comes to whose answers in one suite are these."""
    items, scores = tables(said, metric)
    suites = declared(metric, thresholds={metric: threshold})
    return entry(verdict_on(scores, items, suites, threshold=threshold, gate=gate).models[0])


@pytest.mark.parametrize(
    ("said", "threshold", "outcome"),
    [
        ("R" * 92 + "x" * 8, 0.95, "undecided"),  # 92 % to 100 %
        ("R" * 92 + "x" * 8, 0.92, "pass"),
        ("R" * 92 + "j" * 8, 0.95, "undecided"),
        ("R" * 92 + "W" * 8, 0.95, "fail"),
        ("R" * 50 + "W" * 42 + "x" * 8, 0.6, "fail"),  # 50 % to 58 %
        ("R" * 50 + "W" * 42 + "x" * 8, 0.52, "undecided"),
        ("R" * 90 + "n" * 8 + "W" * 2, 0.95, "pass"),  # 90 of 92: what does not apply was not asked for
        ("R" * 90 + "W" * 4 + "x" * 3 + "c" * 3, 0.95, "undecided"),  # 90 % to 96 %
        ("R" * 90 + "W" * 4 + "x" * 3 + "c" * 3, 0.97, "fail"),
    ],
)
def test_failed_calls_in_the_place_of_wrong_replies_pass_no_gate(said: str, threshold: float, outcome: str) -> None:
    model = verdict(said, threshold)
    assert model.suites[0].outcome == outcome
    assert model.verdict == outcome


def test_the_bounds_by_hand() -> None:
    """87 right, 4 cut, 4 failed calls, 5 unread: 87 of 91 are scored right; 87 of 100 below, all above."""
    (suite,) = verdict("R" * 87 + "c" * 4 + "x" * 4 + "j" * 5, 0.9).suites
    assert suite.score == pytest.approx(87 / 91)
    assert (suite.lower, suite.upper) == pytest.approx((0.87, 1.0))
    assert (suite.n_failed, suite.n_unread, suite.n_truncated) == (4, 5, 4)
    low = wilson(87, 100)
    assert (suite.lower_interval.low, suite.lower_interval.high) == pytest.approx((low.low, low.high))


def test_a_cut_reply_that_two_metrics_score_is_one_cut_reply() -> None:
    items, scores = tables("R" * 92 + "c" * 8, "contains", suite="cot")
    both = pl.concat([scores, scores.with_columns(metric=pl.lit("exact_match"))])
    suites = declared("cot", metrics={"cot": ("contains", "exact_match")}, thresholds={"cot": 0.95})
    model = entry(verdict_on(both, items, suites, threshold=0.95).models[0])
    assert model.suites[0].n_truncated == 8
    assert model.suites[0].reason.startswith("it depends on truncated replies (8): 92% if they are wrong")


def test_the_reason_says_what_it_hangs_on_why_and_how_to_get_it() -> None:
    said = verdict("R" * 92 + "x" * 8, 0.95).suites[0].reason
    assert said == (
        "it depends on failed calls (8 × HTTP 400: the prompt of item 92 holds a word that is refused): 92% if "
        "they are wrong, 100% if they are right; ask them again with --only-failed"
    )
    both = verdict("R" * 90 + "W" * 4 + "x" * 3 + "c" * 3, 0.95).suites[0].reason
    assert both.endswith("; ask the failed ones again with --only-failed, the truncated ones with more tokens")
    assert " + truncated replies (3): 90% if they are wrong, 96% if they are right; " in both
    told = translate_reason(both, "ru")
    assert "неудавшиеся вызовы (3 × HTTP 400: " in told
    assert " + обрезанные ответы (3); 90%, если они неверны, 96%, если верны; неудавшиеся задайте снова" in told
    unread = verdict("R" * 92 + "j" * 8, 0.95).suites[0].reason
    assert "replies without a score (8 × support: unparsable reply)" in unread


def test_the_interval_gate_looks_at_the_intervals_of_both_bounds() -> None:
    """190 of 200 and 10 failed: 95 % [91.0, 97.3] below, all right above."""
    said = "R" * 190 + "x" * 10
    assert verdict(said, 0.9, "interval").outcome == "pass"
    assert verdict(said, 0.92, "interval").outcome == "undecided"
    assert verdict("R" * 190 + "W" * 10, 0.98, "interval").outcome == "fail"
    assert verdict(said, 0.98, "interval").outcome == "undecided"


def test_total_and_overall_have_bounds() -> None:
    """Families of 9 of 10, and of 9 with a failed call: TOTAL 95, from 90 to 95; beside it a suite all right."""
    items, scores = tables("R" * 9 + "W" + "R" * 9 + "x", "correct", suite="basic_control")
    items = items.with_columns(family=pl.Series(["a"] * 10 + ["b"] * 10))
    summary = summarise(scores, items)
    found = totals(summary, suite="basic_control", metric="correct")["m"]
    assert (found.percent, found.lower, found.upper) == pytest.approx((95, 90, 95))
    more, others = tables("R" * 10, "cot")
    joined = summarise(pl.concat([scores, others]), pl.concat([items, more]))
    suites = declared("basic_control", "cot", weights={"basic_control": 0.5, "cot": 0.5})
    model = entry(finalise(joined, models=["m"], suites=suites, threshold=0.96).models[0])
    assert (model.lower, model.score, model.upper) == pytest.approx((0.95, 0.975, 0.975))
    assert [suite.outcome for suite in model.suites] == ["pass", "pass"]
    assert model.outcome == "undecided"
    assert model.reason.startswith(
        "it depends on rows that are not scored (1): 95% if they are wrong, 97.5% if they are right"
    )


@pytest.mark.parametrize(
    ("gate_on", "said", "bounds"),
    [
        ("pass_at_k", ("RWx", "Wxx", "WWW", "RRR"), (2 / 4, 3 / 4)),
        ("pass_all_k", ("RRx", "RxW", "RRR", "WWW"), (1 / 4, 2 / 4)),
    ],
)
def test_answers_that_failed_bound_the_share_of_k(
    gate_on: GateOn, said: Sequence[str], bounds: tuple[float, float]
) -> None:
    items, scores = tables("".join(said), repeats=3)
    (suite,) = declared("cot")
    suite = suite.model_copy(update={"gate_on": gate_on, "k": 3})
    found = summarise_repeated(scores, items, suite, summarise(scores, items))
    assert found is not None
    (cell,) = cells(found.filter(OF_SUITES))
    assert (cell.lower.mean, cell.upper.mean) == pytest.approx(bounds)


def test_where_nothing_is_missing_there_are_no_bounds() -> None:
    (suite,) = verdict("R" * 9 + "W", 0.8).suites
    assert (suite.lower, suite.upper, suite.failures) == (None, None, [])


def test_labels_leave_what_failed_between_its_bounds() -> None:
    """People's labels say 0.9 of the 90 that are scored: 0.81 to 0.91 of all 100."""
    items, scores = tables("R" * 90 + "j" * 10, "citation")
    around = Interval(0.8, 0.95, "prediction-powered", 40)
    powered = Powered(0.9, around, 1.0, 40, n_samples=90, judged=MeanEstimate(1.0), labelled=MeanEstimate(0.9))
    suites = declared("citation")
    labels = {("citation", "m", "citation"): powered}
    model = entry(finalise(summarise(scores, items), models=["m"], suites=suites, labels=labels).models[0])
    assert model.suites[0].score == pytest.approx(0.9)
    assert (model.suites[0].lower, model.suites[0].upper) == pytest.approx((0.81, 0.91))


def test_one_cause_is_one_whatever_numbers_its_messages_hold() -> None:
    items, scores = tables("x" * 5 + "R" + "j" * 2)
    other = pl.when(pl.col("item_id") == "cot4").then(pl.lit('{"error": "timed out"}')).otherwise("details")
    found = failures(scores.with_columns(details=other), items, *declared("cot"))["m"]
    assert [(one.status, one.cause, one.n) for one in found] == [
        ("model_error", HTTP.format(n=0), 4),
        ("judge_failed", "support: unparsable reply", 2),
        ("model_error", "timed out", 1),
    ]


def test_a_metric_that_only_another_suite_scores_by_adds_no_cause() -> None:
    items, scores = tables("RjR")
    only_shown = scores.with_columns(metric=pl.lit("rubric"))
    for suite in (*declared("cot"), Suite(name="other", items={}, metrics={"rubric": {}}, weight=1)):
        assert failures(only_shown, items, suite) == {}


def doubled(times: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ten questions, six of them right, each in so many rows."""
    items, scores = tables("RRRRRRWWWW" * times)
    return items.with_columns(text_digest=pl.Series([f"q{n % 10}" for n in range(10 * times)])), scores


def test_equal_questions_are_one_observation() -> None:
    """Ten rows, each twenty times, are n = 10: Wilson's interval of 6 of 10, 31 % to 83 %."""
    items, scores = doubled(20)
    found = observations(scores, items)
    assert found.doubled == (RepeatedQuestions("cot", 200, 190),)
    (cell,) = cells(summarise(found.scores, found.items).filter(OF_SUITES))
    assert (cell.counts.n_asked, cell.counts.n_scored, cell.value.mean) == (10, 10, 0.6)
    assert (cell.value.interval.low, cell.value.interval.high) == pytest.approx((0.3127, 0.8318), abs=5e-5)
    once = cells(summarise(*reversed(doubled(1))))
    assert [cell.value for cell in cells(summarise(found.scores, found.items))] == [cell.value for cell in once]


def test_doubled_rows_pass_no_gate_that_one_of_each_does_not() -> None:
    """Nine of ten, and threshold 0.6: Wilson 59.6 to 98.2 holds it; of 200 rows, 85.1 to 93.4 would not."""
    items, scores = tables("RRRRRRRRRW" * 20)
    items = items.with_columns(text_digest=pl.Series([f"q{n % 10}" for n in range(200)]))
    found = observations(scores, items)
    suites = declared("cot", thresholds={"cot": 0.6})
    for table, drawn, outcome in ((found.scores, found.items, "undecided"), (scores, items, "pass")):
        final = finalise(summarise(table, drawn), models=["m"], suites=suites, threshold=0.6, gate="interval")
        assert final.models[0].headlines[0].decided.outcome == outcome


@pytest.mark.parametrize("gate", ["point", "interval"])
def test_right_rows_that_are_doubled_lift_no_score(gate: Any) -> None:
    """Six of ten right, and the six written twenty times: 60 %, where 120 of 124 rows are 97 %."""
    items, scores = tables("RRRRRR" * 20 + "WWWW")
    names = [f"q{n % 6}" for n in range(120)] + [f"w{n}" for n in range(4)]
    found = observations(scores, items.with_columns(text_digest=pl.Series(names)))
    suites = declared("cot", thresholds={"cot": 0.9})
    final = finalise(summarise(found.scores, found.items), models=["m"], suites=suites, threshold=0.9, gate=gate)
    (suite,) = entry(final.models[0]).suites
    assert (suite.score, suite.outcome) == (0.6, "fail")


def test_repeats_and_other_places_stay_apart() -> None:
    items, scores = tables("RRWW", repeats=2)
    same: Any = pl.lit("q")
    found = observations(scores, items.with_columns(text_digest=same))
    assert found.items["item_id"].to_list() == ["cot0"]
    assert found.scores.sort("repeat").select("repeat", "value").rows() == [(0, 0.5), (1, 0.5)]
    apart = items.with_columns(text_digest=same, level=pl.Series(["easy", "hard"]))
    assert observations(scores, apart).doubled == ()


def test_of_equal_questions_one_that_is_scored_stands_for_one_that_failed() -> None:
    items, scores = tables("xR")
    found = observations(scores, items.with_columns(text_digest=pl.lit("q")))
    assert found.scores.select("item_id", "status", "value").rows() == [("cot0", "scored", 1.0)]


@pytest.mark.parametrize(
    ("kinds", "status", "value"),
    [
        ("Rj", "judge_failed", None),  # for one of two expected answers it is right
        ("jW", "judge_failed", None),
        ("cj", "judge_failed", None),
        ("xj", "judge_failed", None),
        ("Rc", "truncated", 0.5),
        ("RW", "scored", 0.5),
        ("Rn", "scored", 1.0),
    ],
)
def test_a_question_of_two_labels_is_worth_what_both_rows_are(kinds: str, status: str, value: float | None) -> None:
    items, scores = tables(kinds)
    merged = observations(scores, items.with_columns(text_digest=pl.lit("q"))).scores
    assert merged.select("item_id", "status", "value").rows() == [("cot0", status, value)]


def test_what_is_unread_for_one_label_passes_no_gate() -> None:
    """Nine questions are right; the tenth is right for one of its labels, and unread for the other."""
    items, scores = tables("R" * 9 + "Rj")
    names = pl.Series([f"q{min(n, 9)}" for n in range(11)])
    once = observations(scores, items.with_columns(text_digest=names))
    suites = declared("cot", thresholds={"cot": 0.95})
    final = finalise(summarise(once.scores, once.items), models=["m"], suites=suites, threshold=0.95)
    assert final.models[0].headlines[0].decided.outcome == "undecided"
