"""CSV, Parquet and JUnit: what other programs read."""

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from basic_control.data.exits import GateOutcome
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.metrics.stats.intervals import MeanEstimate
from basic_control.metrics.stats.regression import Change
from basic_control.tasks.report import exports, junit
from basic_control.tasks.report.report_data import ReportData
from tests.helpers.baselines import against, change
from tests.helpers.suites import headline, model_of

HOSTILE = [
    "=cmd|'/c calc'!A1",
    "+1",
    "-1+2",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\u200b=1",
    "＝1",
    "\ufeff=1",
]


def test_parquet_holds_the_tables_as_they_are(data: ReportData, tmp_path: Path) -> None:
    written = exports.write(data, tmp_path)
    tables = ("items", "replies", "judged", "verdicts", "scores", "summary")
    assert {path.name for path in written} == {
        *(f"{t}.parquet" for t in tables),
        "summary.csv",
        "scores.csv",
        "verdict.csv",
    }
    assert all(path.parent == tmp_path / "tables" for path in written)
    for name in tables:
        assert_frame_equal(pl.read_parquet(tmp_path / "tables" / f"{name}.parquet"), getattr(data, name))


def test_csv_reads_back_row_for_row(data: ReportData, tmp_path: Path) -> None:
    exports.write(data, tmp_path)
    with (tmp_path / "tables" / "summary.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == data.summary.height
    assert [row["n_asked"] for row in rows] == [str(n) for n in data.summary["n_asked"]]
    assert list(rows[0]) == data.summary.columns
    with (tmp_path / "tables" / "scores.csv").open(encoding="utf-8-sig", newline="") as file:
        scores = list(csv.DictReader(file))
    assert len(scores) == data.scores.height
    families = dict(data.items.select("item_id", "family").iter_rows())
    assert all(row["family"] == families[row["item_id"]] for row in scores)


def test_the_verdict_has_its_numbers_as_numbers(data: ReportData, tmp_path: Path) -> None:
    exports.write(data, tmp_path)
    frame = pl.read_csv(tmp_path / "tables" / "verdict.csv")
    scores = [part.measured.score for model in data.verdict.models for part in model.scores]
    assert frame.height == len(scores)
    for row, score in zip(frame.iter_rows(named=True), scores, strict=True):
        assert row["score"] == pytest.approx(score.mean)
        assert (row["low"], row["high"]) == pytest.approx((score.interval.low, score.interval.high))
        assert row["standard_error"] == pytest.approx((row["high"] - row["low"]) / 3.92, rel=1e-3)
        assert row["n"] > 0


@pytest.mark.parametrize("cell", HOSTILE)
def test_no_cell_of_a_model_is_a_formula(cell: str, tmp_path: Path) -> None:
    """An apostrophe stands before it, which spreadsheets take for 'text follows'."""
    path = exports.write_csv(pl.DataFrame({"reason": [cell], "value": [-1.5]}), tmp_path / "x.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row == {"reason": f"'{cell}", "value": "-1.5"}


def test_harmless_cells_stay_as_they_are(tmp_path: Path) -> None:
    texts = ["right", "a=b", "1-2", "", None, "говорит «да»", 'with "quotes", commas\nand lines']
    path = exports.write_csv(pl.DataFrame({"n": range(7), "reason": texts}), tmp_path / "x.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        assert [row["reason"] for row in csv.DictReader(file)] == [text or "" for text in texts]


@pytest.mark.parametrize("undecided", ["undecided", "pass"])
def test_a_gates_case_fails_exactly_when_the_exit_code_says_so(
    data: ReportData, undecided: Literal["undecided", "pass"]
) -> None:
    facts: dict[str, Any] = {"threshold": 0.5, "upper": MeanEstimate(0.75), "n_deciding": 1}
    names: tuple[GateOutcome, ...] = ("pass", "fail", "undecided", "error")
    suites = [headline(name, 0.5, weight=float(name == "pass"), outcome=name, **facts) for name in names]
    outcomes: tuple[Change, ...] = ("held", "regressed", "undecided")
    told = [change(outcome, difference=None) for outcome in outcomes]

    def red(waiting: int = 0, **changes: Any) -> list[tuple[str, str]]:
        verdict = RunVerdict("point", (model_of("m", *suites),), waiting=waiting)
        results = Results({}, (), baseline=against(*told))
        plan = replace(data.plan, policy=replace(data.plan.policy, undecided=undecided, **changes))
        top = junit.compose(replace(data, results=results, verdict=verdict, plan=plan))
        gates = next(suite for suite in top if suite.get("name") == "gates")
        found = [(kind.tag, kind.get("type", "")) for case in gates.iter("testcase") for kind in case]
        assert gates.get("tests") == "7", (
            "four suites, three changes; one suite weighs, so there is no overall score"
        )
        return [one for one in found if one[0] in {"failure", "error"}]

    open_ = [("failure", "undecided")] if undecided == "undecided" else []
    assert red(gate="point") == [("failure", "fail"), *open_, ("error", "error")]
    assert red(gate="off") == [("error", "error")]
    assert red(gate="off", regressions=True) == [("error", "error"), ("failure", "regressed"), *open_]
    waits = [("failure", "undecided"), ("error", "error")]
    assert red(waiting=3, gate="off") == waits, "with requests in batches a run ends undecided, whatever its gate"
    assert red(waiting=3, gate="point") == [("failure", "fail"), *waits]


def test_what_xml_cannot_hold_is_written_out(data: ReportData, tmp_path: Path) -> None:
    hostile = "\x00\x1b[31m]]>\ufffe\x0b</failure><x/>"
    suite = headline("s", 0.5, weight=1.0, outcome="fail", threshold=0.8, reason=hostile)
    verdict = RunVerdict("point", (model_of(hostile, suite),))
    path = junit.write(replace(data, results=Results({}, ()), verdict=verdict), tmp_path / "junit.xml")
    top = ET.parse(path).getroot()  # noqa: S314 - our own file
    assert not top.findall(".//x")
    assert "<U+0000><U+001B>[31m]]><U+FFFE><U+000B></failure><x/>" in top.findall(".//failure")[0].get(
        "message", ""
    )
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", path.read_text(encoding="utf-8"))


def test_no_column_of_someone_elses_results_is_a_formula(tmp_path: Path) -> None:
    path = exports.write_csv(pl.DataFrame({"=cmd()": [1], "plain": ["x"]}), tmp_path / "t.csv")
    assert pl.read_csv(path).columns == ["'=cmd()", "plain"]
