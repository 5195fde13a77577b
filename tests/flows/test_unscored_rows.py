"""Rows that no judge scored: they are not scored, and never failing, on every surface."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

N_ROWS = 8
PRAISE = json.dumps({"reason": "", "rating": 5})
"""What a judge says of every reply, good or bad: its exam fails."""
UNREADABLE = "Question 3?"
METRICS = {
    "exact_match": {"threshold": 0.95},
    "rubric": {"criteria": {"polite": "It is polite."}, "threshold": 0.5},
}


def rate_badly(body: dict[str, Any]) -> str:
    """Rate each reply lowest; say nothing that can be read of one."""
    # The second asking quotes the first, so that the question stands in an earlier message.
    if UNREADABLE in json.dumps(body["messages"]):
        return "I would rather not."
    return json.dumps({"reason": "rude", "rating": 1})


def configure(folder: Path, replies: list[str], judge: dict[str, Any], metrics: dict[str, Any]) -> Path:
    """Write a suite of given replies, of which Paris is right, and its judge."""
    rows = []
    for number, text in enumerate(replies):
        rows.append(json.dumps({"question": f"Question {number}?", "response": text, "answer": "Paris"}) + "\n")
    (folder / "rows.jsonl").write_text("".join(rows), encoding="utf-8")
    data = str(folder / "rows.jsonl")
    suite = {"name": "cities", "items": {"data": data}, "responses_of": "bot", "metrics": metrics}
    judges = [{"name": "judge", "provider": "openai", **judge}]
    path = folder / "run.yaml"
    path.write_text(json.dumps({"judges": judges, "suites": [suite], "gate": "point"}), encoding="utf-8")
    return path


def read_rows(path: Path) -> dict[str, list[str]]:
    """Return the names of a build's rows by how each ended."""
    top = ET.parse(path).getroot()  # noqa: S314 - it was written here
    names: dict[str, list[str]] = {"failure": [], "error": [], "skipped": []}
    for kind, cases in names.items():
        for case in top.findall(f"testsuite[@name='rows']/testcase[{kind}]"):
            cases.append(str(case.get("name")))
    return names


def check_lines(screen: str) -> None:
    """Check that rows are marked as not scored, and as failing only by what was scored."""
    text = re.sub(r"✗ exact_match$", "", screen, flags=re.MULTILINE)
    rows = re.findall(r"^ *Question \d.*$", text, re.MULTILINE)
    assert rows, screen
    assert "✗" not in "".join(rows), screen
    assert "! not scored\n" in screen


@pytest.mark.parametrize("metrics", [METRICS, {"rubric": METRICS["rubric"]}], ids=["several", "one"])
def test_a_row_that_no_counted_judge_scored_is_not_scored(
    run: Run, tmp_path: Path, metrics: dict[str, Any]
) -> None:
    """The judge fails its short exam; the first row is wrong by the computed metric as well."""
    junit = tmp_path / "rows.xml"
    # With the computed metric one row is wrong; with the judged one alone none is known to be.
    n_failed = len(metrics) - 1
    with serve_openai(PRAISE) as server:
        replies = ["Rome", *["Paris"] * (N_ROWS - 1)]
        file = configure(tmp_path, replies, {"base_url": server.base_url, "exam": 4}, metrics)
        done = run(str(file), "--set", f"report.junit={junit}")
    every, failed = run("last", command="show"), run("last", "--failed", "-n", "40", command="show")
    (report,) = latest(tmp_path).glob("reports/*.md")
    table = report.read_text(encoding="utf-8").partition("## Replies that lost points")[2].partition("\n## ")[0]
    counts = f"{N_ROWS} replies, {n_failed} with less than the full score, {N_ROWS - n_failed} not scored."
    assert counts in every.stdout
    for screen in (done.stdout, every.stdout, failed.stdout):
        check_lines(screen)
    assert f"Why there is no score: no judge has passed its exam here × {N_ROWS}" in failed.stdout
    assert "Why points were lost: no judge" not in failed.stdout
    assert table.count("| \\! not scored | no judge has passed its exam here |") == N_ROWS, table
    rows = read_rows(junit)
    assert (len(rows["failure"]), rows["error"]) == (n_failed, [])


def test_a_row_whose_judge_failed_is_no_failing_test_where_its_metric_fails(run: Run, tmp_path: Path) -> None:
    junit = tmp_path / "rows.xml"
    with serve_openai(rate_badly) as server:
        metrics = {"rubric": METRICS["rubric"]}
        file = configure(tmp_path, ["Paris"] * 20, {"base_url": server.base_url}, metrics)
        done = run(str(file), "--set", f"report.junit={junit}")
    assert done.returncode == 1, done.stdout + done.stderr
    cases = read_rows(junit)
    assert (len(cases["failure"]), cases["error"], cases["skipped"]) == (19, [], ["Question 3?"])
    assert '! not scored"' in junit.read_text(encoding="utf-8")
