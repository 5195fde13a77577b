"""A sample that several metrics decide has the outcome of each, in the frames and side by side."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from basic_control.tasks.report.report_data import ReportData
from tests.tasks.report.conftest import Open
from tests.tasks.report.runs import outcomes, write_page
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
