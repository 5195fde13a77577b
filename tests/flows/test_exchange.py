"""Replies that another tool recorded are verified here without a call, and a run is written as a log of Inspect."""

import json
from pathlib import Path

import pytest
import yaml

from basic_control.flows import full_eval
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange.log_suites import read
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.tasks.exchange.logs import LINES, lm_eval


def test_how_the_harness_read_a_reply_stands_beside_the_metric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = lm_eval(tmp_path, exact_match=1.0)
    results = json.loads((tmp_path / "results_2026.json").read_text(encoding="utf-8"))
    steps = [{"function": "regex", "regex_pattern": r"#### (\d+)\n"}, {"function": "take\nfirst: [x]"}]
    results["configs"] = {"sums": {"filter_list": [{"name": "strict", "filter": steps}]}}
    (tmp_path / "results_2026.json").write_text(json.dumps(results), encoding="utf-8")
    assert main(["exchange", "read", str(log), "--to", str(tmp_path / "in")]) == 0
    reading = r'exact_match,strict there: regex {"regex_pattern": "#### (\\d+)\\n"}, take first: [x] {}'
    assert reading in " ".join(capsys.readouterr().out.split())
    text = (tmp_path / "in" / "run.yaml").read_text(encoding="utf-8")
    assert f"# {reading}\n" in text, text
    assert [*yaml.safe_load(text)] == ["suites"], "a line of the file ends no comment"


def test_a_log_is_verified_here_and_set_beside_what_it_states(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the two replies the log calls the second right, which says 9 where 8 is expected."""
    log = lm_eval(tmp_path, exact_match=1.0)
    assert main(["exchange", "read", str(log), "--to", str(tmp_path / "in")]) == 0
    said = capsys.readouterr().out
    assert "2 replies of acme/tiny to sums; stated: 100% (exact_match,strict)" in said
    assert "Not carried over: The log does not say why replies ended" in said

    monkeypatch.setattr(full_eval, "resolve", None)  # a command has its plan before Prefect is there: once
    done = run("--config", str(tmp_path / "in" / "run.yaml"), "--set", "gate=off")
    assert done.returncode == 0, done.stderr
    assert "no model was asked" in done.stdout
    results = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (found,) = results["stated"]
    assert (found["model"], found["metric"], found["n"], found["stated"], found["ours"]) == (
        "acme/tiny", "number", 2, 1.0, 0.5,
    )  # fmt: skip
    (apart,) = found["differing"]
    assert (apart["stated"], apart["ours"]) == (1.0, 0.0)
    assert [m["score"] for m in results["final"]["models"]] == [0.5], "the stated score is no part of ours"

    (path,) = (latest(tmp_path) / "reports").glob("*.md")
    section = path.read_text(encoding="utf-8").partition("## Stated by the other tool")[2]
    assert "| 100% | 50% | 1 / 2 |" in " ".join(section.partition("\n## ")[0].split())
    assert "What is 4 + 4?" in section.partition("\n## Replies that differ")[2].partition("\n## ")[0]
    (path,) = (latest(tmp_path) / "reports").glob("*.html")
    assert "Stated by the other tool" in path.read_text(encoding="utf-8")

    place = ["--set", f"store.runs={tmp_path / 'runs'}", "--to"]
    to = tmp_path / "inspect"
    assert main(["exchange", "write", latest(tmp_path).name, *place, str(to)]) == 0
    (written,) = to.rglob("*.eval")
    again = read(written)
    assert (again.task, again.model, again.accuracy) == ("sums", "acme/tiny", 0.5)
    assert {(row.question, row.response) for row in again.rows} == {(line[0], line[2]) for line in LINES}


def test_a_log_that_is_none_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exchange", "read", str(tmp_path / "no.eval"), "--to", str(tmp_path)]) == 2
    assert "no such file" in capsys.readouterr().err
