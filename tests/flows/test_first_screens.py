"""What a newcomer sees: the screens of `make eval`, and of `init` and `run`, with the embedded model's replies."""

import json
from pathlib import Path

import polars as pl
import pytest

from basic_control.config.reading import DEFAULT, read
from basic_control.flows.cli.application import main
from tests.conftest import TOP, Run
from tests.helpers.first_runs import PIPE, REPLIES, expect, replace_model, settle, speak
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

SUITES = ["cot", "citation", "rag", "basic_control"]


def test_eval_ends_with_a_number_and_a_verdict_in_each_cell(run: Run, tmp_path: Path) -> None:
    with serve_openai(speak()) as server:
        done = run("--set", replace_model(server, max_tokens=256), extra=PIPE)
        n_calls = len(server.requests)
    assert done.returncode == 0, done.stderr
    # Where a line breaks depends on the run's name, which may have a suffix.
    assert settle(done.stdout).split() == expect("eval", done.stdout).split()
    (model,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    assert [suite["suite"] for suite in model["suites"]] == SUITES
    assert all(suite["score"] is not None and suite["outcome"] == "fail" for suite in model["suites"])
    assert n_calls == 6 * 6 + 6 + 4 + 4, "the numbers of the file, and no call of a judge"


def test_few_of_the_replies_are_cut() -> None:
    replies = pl.read_parquet(REPLIES)
    assert (replies["finish_reason"] == "length").sum() <= 0.15 * replies.height


def test_eval_only_reports() -> None:
    settings = read(DEFAULT)
    assert settings.gate == "off"
    assert [judge.provider for judge in settings.judges] == ["rules"]
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    assert "it only reports" in readme
    assert "\ngate: point" in (TOP / "config" / "init" / "eval.yaml").read_text(encoding="utf-8")


def test_what_init_writes_scores_about_half_and_says_what_was_wrong(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    with serve_openai(speak()) as server:
        done = run("eval.yaml", "--set", replace_model(server), extra=PIPE, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert settle(done.stdout) == expect("init", done.stdout)
    (model,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    (suite,) = model["suites"]
    assert 0.4 <= suite["score"] <= 0.6
