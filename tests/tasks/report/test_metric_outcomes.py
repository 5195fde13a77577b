"""A sample that several metrics decide has the outcome of each: in the frames, in the list and side by side."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from basic_control.tasks.report.report_data import ReportData
from tests.tasks.report.conftest import Open
from tests.tasks.report.runs import build, outcomes, write_page
from tests.tasks.report.screens import tickets

METRICS = ("exact_match", "contains")


@pytest.fixture(scope="module")
def crossed_run(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """Return a run of which on the same half of the rows each of two models fails another metric."""
    suite = {"metrics": {name: {"threshold": 0.4} for name in METRICS}}
    shares = {("alpha", "exact_match"): 0.5, ("alpha", "contains"): 1.0}
    shares |= {("beta", "exact_match"): 1.0, ("beta", "contains"): 0.5}
    shares |= {(model, "all"): 0.5 for model in ("alpha", "beta")}
    return tickets(tmp_path_factory.mktemp("crossed"), suite, ["alpha", "beta"], shares)


def test_each_metric_that_decides_has_its_outcome_and_a_reason_is_of_the_worst(crossed_run: ReportData) -> None:
    is_passed = (pl.col("metric") == "contains") & (pl.col("value") == 1)
    reasons = pl.when(is_passed).then(pl.lit("as expected")).otherwise("reason").alias("reason")
    rows = outcomes(replace(crossed_run, scores=crossed_run.scores.with_columns(reasons)))
    wrong = rows.filter(model="alpha", outcome="wrong")
    assert wrong.height
    assert set(wrong["outcomes"]) == {"exact_match\twrong\ncontains\tright"}
    assert set(wrong["scored_by"]) == {"exact_match"}
    assert "as expected" not in set(wrong["reason"]), "another metric's reason is not the row's"
    assert set(rows.filter(model="beta", outcome="wrong")["outcomes"]) == {"exact_match\tright\ncontains\twrong"}


def test_two_models_that_fail_different_metrics_differ_side_by_side(
    crossed_run: ReportData, visit: Open, tmp_path: Path
) -> None:
    page = visit(write_page(crossed_run, tmp_path))
    page.click("#view-matrix")
    row = page.locator(".mline.row.differs").first
    row.click()  # waits until it is drawn
    cells = row.locator("[role=gridcell]")
    for column, metric in enumerate(METRICS, 1):
        assert cells.nth(column).locator(".state.wrong").inner_text() == metric
    page.wait_for_selector(".sample h3:text-is('A and B differ')")


def test_a_row_names_the_metrics_that_fail_it_and_says_why(
    crossed_run: ReportData, visit: Open, tmp_path: Path
) -> None:
    is_failed = (pl.col("metric") == "exact_match") & (pl.col("value") == 0)
    judge = {"value": 0.0, "rating": 1, "reason": "It <b>names</b> no team."}
    details = pl.when(is_failed).then(pl.lit(json.dumps({"judges": {"j": judge}}))).otherwise("details")
    judged_run = replace(crossed_run, scores=crossed_run.scores.with_columns(details=details))
    page = visit(write_page(judged_run, tmp_path))
    row = page.locator("#browser .row").first
    assert row.locator(".fails .state").all_inner_texts() == ["exact_match"]
    assert row.locator(".passes .state").all_inner_texts() == ["contains"]
    assert row.locator(".why").inner_text() == "It <b>names</b> no team."
    assert row.locator(".fails .sr").all_inner_texts() == ["wrong"], "what is heard of it has the word"
    tip = "exact_match wrong; contains right; It <b>names</b> no team."
    assert row.locator(".several").get_attribute("title") == tip
    assert page.locator(".sample h3 .state.wrong").inner_text() == "exact_match"


def test_the_list_is_filtered_by_a_metric_and_its_outcome_with_the_keyboard(
    crossed_run: ReportData, visit: Open, tmp_path: Path
) -> None:
    page = visit(write_page(crossed_run, tmp_path))
    rows = outcomes(crossed_run)
    n_failed = rows.filter(pl.col("outcomes").str.contains("contains\twrong")).height
    link = page.locator(".frequent a", has_text="contains")
    assert link.inner_text() == f"contains {n_failed}"
    link.press("Enter")
    page.wait_for_function("n => document.querySelector('.found').textContent.startsWith(`${n} of `)", arg=n_failed)
    assert "metric=contains&outcome=not_right" in page.url
    assert page.input_value("#f-metric") == "contains"
    # What was chosen stands first in a row, whatever else fails it.
    assert page.locator("#browser .row").first.locator(".state").first.inner_text() == "contains"
    assert page.locator("#f-metric option").all_inner_texts() == [
        "Lowest score",
        "contains",
        "exact_match",
        "all at once",
    ]


def test_each_outcome_is_legible_on_a_telephone(crossed_run: ReportData, visit: Open, tmp_path: Path) -> None:
    page = visit(write_page(crossed_run, tmp_path), viewport={"width": 390, "height": 844})
    row = page.locator("#browser .row").first
    right_edge = page.locator("#browser .grid").evaluate("one => one.getBoundingClientRect().right")
    for state in row.locator(".state").all():
        assert state.evaluate("one => one.getBoundingClientRect().right") <= right_edge
        assert state.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_a_mean_of_several_metrics_names_the_outcome_of_each(visit: Open, tmp_path: Path) -> None:
    suite = {"metrics": {name: {} for name in METRICS}, "score": [*METRICS], "threshold": 0.4}
    shares = {("alpha", "exact_match"): 0.0, ("alpha", "contains"): 1.0, ("alpha", "all"): 0.0}
    mean_run = tickets(tmp_path, suite, ["alpha"], shares)
    assert set(outcomes(mean_run)["outcomes"]) == {"exact_match\twrong\ncontains\tright"}
    page = visit(write_page(mean_run, tmp_path))
    row = page.locator("#browser .row").first
    assert row.locator(".fails .state").all_inner_texts() == ["exact_match"]
    assert row.locator(".num").last.inner_text() == "50%", "the score is their mean"
    assert page.locator("#f-metric option").first.inner_text() == "Score"


def test_beside_a_suite_of_several_metrics_one_of_a_single_metric_says_why_too(visit: Open, tmp_path: Path) -> None:
    page = visit(write_page(build(4, suites=["basic_control", "rag"]), tmp_path))
    row = page.locator("#browser .row").first
    assert row.locator(".state").all_inner_texts() == ["no answer"]
    assert row.locator(".why").inner_text()


def test_a_reply_that_did_not_come_has_one_outcome_and_a_reason_stands_once(
    crossed_run: ReportData, visit: Open, tmp_path: Path
) -> None:
    # As if no call had been answered.
    lost_scores = crossed_run.scores.with_columns(
        value=pl.lit(None, pl.Float64), status=pl.lit("model_error"), reason=pl.lit("timeout")
    )
    page = visit(write_page(replace(crossed_run, scores=lost_scores), tmp_path))
    row = page.locator("#browser .row").first
    assert row.locator(".state").all_inner_texts() == ["model error"]
    assert row.locator(".why").inner_text() == "timeout"
    assert page.locator(".frequent", has_text="reasons").locator("a").all_inner_texts() == ["timeout 120"]
