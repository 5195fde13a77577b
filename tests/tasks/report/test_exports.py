"""CSV, Parquet and JUnit: what other programs read."""

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tasks.report import exports, junit
from tasks.report.material import Material
from tasks.report.samples import primary
from tests.tasks.report.runs import MODELS

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


def test_parquet_holds_the_tables_as_they_are(material: Material, tmp_path: Path) -> None:
    written = exports.write(material, tmp_path)
    tables = ("items", "replies", "judged", "verdicts", "scores", "summary")
    assert {path.name for path in written} == {*(f"{t}.parquet" for t in tables), "summary.csv", "scores.csv"}
    assert all(path.parent == tmp_path / "tables" for path in written)
    for name in tables:
        assert_frame_equal(pl.read_parquet(tmp_path / "tables" / f"{name}.parquet"), getattr(material, name))


def test_csv_reads_back_row_for_row(material: Material, tmp_path: Path) -> None:
    exports.write(material, tmp_path)
    with (tmp_path / "tables" / "summary.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == material.summary.height
    assert [row["n_asked"] for row in rows] == [str(n) for n in material.summary["n_asked"]]
    assert list(rows[0]) == material.summary.columns
    with (tmp_path / "tables" / "scores.csv").open(encoding="utf-8-sig", newline="") as file:
        scores = list(csv.DictReader(file))
    assert len(scores) == material.scores.height
    families = dict(material.items.select("item_id", "family").iter_rows())
    assert all(row["family"] == families[row["item_id"]] for row in scores)


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


def itemised(material: Material) -> Material:
    """Return a run whose JUnit has a case for each item, and no gate."""
    report = material.settings.report.model_copy(update={"junit_items": True})
    return replace(material, results={}, settings=material.settings.model_copy(update={"report": report}))


@pytest.mark.parametrize("undecided", ["undecided", "pass"])
def test_a_gates_case_fails_exactly_when_the_exit_code_says_so(material: Material, undecided: str) -> None:
    suites = [
        {
            "suite": name,
            "outcome": name,
            "score": 0.5,
            "threshold": 0.5,
            "reason": "",
            "upper": 0.75,
            "n_deciding": 1,
        }
        for name in ("pass", "fail", "undecided", "error")
    ]
    held = {"suite": "s", "difference": None, "max_drop": 0.02}
    against = [{**held, "outcome": one} for one in ("held", "regressed", "undecided")]

    def red(**changes: Any) -> list[tuple[str, str]]:
        results = {
            "final": {"models": [{**suites[0], "model": "m", "suites": suites}]},
            "baseline": {"name": "main", "models": [{"model": "m", "suites": against}]},
        }
        settings = material.settings.model_copy(update={"undecided": undecided, **changes})
        top = junit.compose(replace(material, results=results, settings=settings))
        found = [(kind.tag, kind.get("type", "")) for case in top.iter("testcase") for kind in case]
        assert top.get("tests") == "8"
        return [one for one in found if one[0] in {"failure", "error"}]

    open_ = [("failure", "undecided")] if undecided == "undecided" else []
    assert red(gate="point") == [("failure", "fail"), *open_, ("error", "error")]
    assert red(gate="off") == []
    assert red(gate="off", fail_on="regression") == [("failure", "regressed"), *open_]


def test_junit_counts_every_question_once(material: Material, tmp_path: Path) -> None:
    top = ET.parse(junit.write(itemised(material), tmp_path / "deep" / "junit.xml")).getroot()  # noqa: S314 - our own file
    outcomes = primary(material)["outcome"]
    assert top.get("tests") == str(material.replies.height) == str(len(top.findall("testsuite/testcase")))
    failures = outcomes.is_in(["wrong", "partial", "no_answer"]).sum()
    errors = outcomes.is_in(["model_error", "judge_failed"]).sum()
    assert (top.get("failures"), top.get("errors")) == (str(failures), str(errors))
    assert failures
    assert errors
    assert len(top.findall(".//failure")) == failures
    assert len(top.findall(".//error")) == errors
    names = {suite.get("name") for suite in top.findall("testsuite")}
    assert f"{MODELS[0]} / basic_control.simple_logic" in names
    assert f"{MODELS[2]} / rag.sample" in names
    for suite in top.findall("testsuite"):
        cases = [case.get("name") for case in suite.findall("testcase")]
        assert suite.get("tests") == str(len(cases)) == str(len(set(cases)))
        for kind in ("failure", "error", "skipped"):
            attribute = {"failure": "failures", "error": "errors", "skipped": "skipped"}[kind]
            assert suite.get(attribute) == str(len(suite.findall(f"testcase/{kind}")))


def test_a_failed_case_shows_what_was_expected_and_said(material: Material) -> None:
    top = junit.compose(itemised(material))
    failures = primary(material).filter(outcome="wrong", model=MODELS[1])
    row = failures.join(material.replies, on=["item_id", "model", "repeat"]).row(0, named=True)
    case = next(c for c in top.iter("testcase") if c.get("name", "").startswith(row["item_id"]) and len(c))
    assert case.find("failure") is not None
    texts = [
        failure.text or ""
        for suite in top.iter("testsuite")
        if suite.get("name", "").startswith(MODELS[1])
        for failure in suite.iter("failure")
    ]
    assert any(row["answer"] in text and row["text"] in text for text in texts)


def test_what_xml_cannot_hold_is_written_out(material: Material, tmp_path: Path) -> None:
    hostile = "\x00\x1b[31m]]>\ufffe\x0b</failure><x/>"
    changed = pl.when(pl.col("text").is_not_null()).then(pl.lit(hostile)).alias("text")
    drenched = replace(
        itemised(material),
        replies=material.replies.with_columns(changed),
        scores=material.scores.with_columns(reason=pl.lit(hostile)),
    )
    path = junit.write(drenched, tmp_path / "junit.xml")
    top = ET.parse(path).getroot()  # noqa: S314 - our own file
    assert not top.findall(".//x")
    message = top.findall(".//failure")[0].get("message", "")
    assert message == "<U+0000><U+001B>[31m]]><U+FFFE><U+000B></failure><x/>"
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", path.read_text(encoding="utf-8"))


def test_a_question_that_does_not_apply_is_skipped(material: Material) -> None:
    changed = material.scores.with_columns(
        status=pl.lit("not_applicable"), value=pl.lit(None, pl.Float64), reason=pl.lit("no contexts")
    )
    top = junit.compose(replace(itemised(material), scores=changed))
    assert top.get("skipped") == top.get("tests")
    assert {case[0].get("message") for case in top.iter("testcase")} == {"no contexts"}


def test_no_column_of_someone_elses_results_is_a_formula(tmp_path: Path) -> None:
    path = exports.write_csv(pl.DataFrame({"=cmd()": [1], "plain": ["x"]}), tmp_path / "t.csv")
    assert pl.read_csv(path).columns == ["'=cmd()", "plain"]
