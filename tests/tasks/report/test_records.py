"""Records of judged suites: nothing that was asked is left out, and what was not scored says why."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from basic_control.tasks.report import exports
from basic_control.tasks.report.report_data import ReportData


def test_every_judged_score_is_a_success_or_a_failure_with_its_reason(data: ReportData, tmp_path: Path) -> None:
    written = exports.write_records(data, tmp_path)
    names = {f"{name}.{form}" for name in ("successes", "failures") for form in ("json", "parquet")}
    assert {path.name for path in written} == names
    judged = data.items.filter(pl.col("suite").is_in(["citation", "rag"]))["item_id"].to_list()
    whole = data.scores.filter(pl.col("item_id").is_in(judged), ~pl.col("metric").str.contains(".", literal=True))
    there = tmp_path / "records"
    kept = {name: json.loads((there / f"{name}.json").read_text()) for name in ("successes", "failures")}
    for name, rows in kept.items():
        assert pl.read_parquet(there / f"{name}.parquet").height == len(rows)
    assert sum(map(len, kept.values())) == whole.height > 0
    assert all(row["status"] in {"scored", "no_answer"} for row in kept["successes"])
    assert {row["status"] for row in kept["failures"]} <= {"model_error", "judge_failed", "not_applicable"}
    assert kept["failures"]
    assert all(row["reason"] for row in kept["failures"])
    assert all(isinstance(row["details"], dict) and row["prompt"] for row in kept["successes"])


def test_a_run_without_a_judged_suite_has_none(data: ReportData, tmp_path: Path) -> None:
    alone = replace(data, replies=data.replies.filter(suite="basic_control"))
    assert exports.write_records(alone, tmp_path) == []
    assert not list(tmp_path.iterdir())
