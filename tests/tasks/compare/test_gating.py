"""`gate` of runs of ours says what the run itself says: its baseline scored again, and failed calls an error."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.declared import suites_in
from basic_control.data.tables import ITEMS, SCORES
from basic_control.flows.cli.application import main
from basic_control.flows.cli.commands.baseline import _is_unused_sample
from basic_control.metrics.analysis.document import document
from basic_control.metrics.analysis.observations import observations
from basic_control.metrics.analysis.results import Results
from basic_control.tasks.store.runs import find_run, load_items, load_table
from basic_control.tasks.store.tables import Store
from tests.helpers.recorded import recorded_run, suite, written
from tests.helpers.verdicts import verdict_on

ROWS = [{"question": f"Question {n}?", "answer": f"Answer {n}", "response": f"Answer {n}"} for n in range(100)]
HALF_WRONG = [{**row, "response": "nothing"} if n % 2 else row for n, row in enumerate(ROWS)]
Change = Callable[[pl.DataFrame], pl.DataFrame]


def finished(folder: Path, name: str, rows: list[dict[str, str]], change: Change | None = None) -> Path:
    """Make a run, its scores perhaps changed, with the results that these come to."""
    path = recorded_run(folder, name, [suite(written(folder / f"{name}.jsonl", rows))])
    run = find_run(name, folder / "runs")
    scores, items = load_table(run, "scores"), load_items(run)
    if change:
        scores = change(scores)
        ref = Store(str(folder / "store")).write(SCORES, scores)
        amend(path, lambda manifest: manifest["tables"].update(scores=[ref.as_dict()]))
    once = observations(scores, items)
    final = verdict_on(once.scores, once.items, suites_in(run.configuration), model="app")
    told = document(Results({"run": name}, final.models), final)
    (path / "results.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    return path


def amend(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def older(run: Path) -> None:
    """Have a run be of an earlier source of its metric."""
    amend(run, lambda manifest: manifest["sources"].update(exact_match="0" * 16))


def gate(folder: Path, *words: str, baseline: str = "old") -> int:
    return main(["gate", "new", "--baseline", baseline, "--set", f"store.runs={folder / 'runs'}", *words])


def nothing_right(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.with_columns(value=pl.lit(0.0))


def all_right(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.with_columns(value=pl.lit(1.0))


def test_the_baselines_replies_are_scored_again_by_what_scored_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The earlier source found all replies right, today's finds half of them wrong: the replies are the same."""
    older(finished(tmp_path, "old", HALF_WRONG, all_right))
    finished(tmp_path, "new", HALF_WRONG)
    assert gate(tmp_path) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "source of exact_match" in said
    assert "were scored again, without a call" in said
    assert "held" in said


def test_what_the_earlier_source_missed_hides_no_regression(tmp_path: Path) -> None:
    """It found no reply right, so that half of them wrong today would look like a gain."""
    older(finished(tmp_path, "old", ROWS, nothing_right))
    finished(tmp_path, "new", HALF_WRONG)
    assert gate(tmp_path) == 1


def test_a_comparison_scores_the_earlier_replies_again_by_the_same_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the gate does: what the earlier source made of the same replies is no difference."""
    older(finished(tmp_path, "old", HALF_WRONG, all_right))
    finished(tmp_path, "new", HALF_WRONG)
    runs = ["--set", f"store.runs={tmp_path / 'runs'}"]
    assert main(["compare", "old", "new", *runs]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("No difference: app @ new and app @ old score alike on all 100 questions")
    assert "old: the code of exact_match changed since; its replies were scored again, without a call." in said
    assert "The code of exact_match changed between the runs" not in said


def test_a_comparison_names_code_that_could_not_score_the_earlier_replies_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older(finished(tmp_path, "old", HALF_WRONG, all_right))
    amend(finished(tmp_path, "new", HALF_WRONG), lambda manifest: manifest["sources"].update(exact_match="1" * 16))
    assert main(["compare", "old", "new", "--set", f"store.runs={tmp_path / 'runs'}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "app @ new is worse than app @ old: own: exact_match −50.0 points" in said
    assert "The code of exact_match changed between the runs" in said
    assert "scored again" not in said


@pytest.mark.parametrize("gone", ["replies", "data", "source"])
def test_where_it_cannot_be_scored_again_the_source_is_named_as_a_difference(
    gone: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The replies are in another store, the run's data are gone, or another source than today's scored it."""
    # in another order its replies are another table, which the run's store does not have
    place, rows = (tmp_path / "other", HALF_WRONG[::-1]) if gone == "replies" else (tmp_path, HALF_WRONG)
    older(old := finished(place, "old", rows, all_right))
    new = finished(tmp_path, "new", HALF_WRONG)
    if gone == "data":
        (tmp_path / "new.jsonl").unlink()
    elif gone == "source":
        amend(new, lambda manifest: manifest["sources"].update(exact_match="1" * 16))
    assert gate(tmp_path, baseline=str(old)) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "source of exact_match" in said
    assert "scored again" not in said


def test_a_run_all_of_whose_calls_failed_is_an_error_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def failed(scores: pl.DataFrame) -> pl.DataFrame:
        lost = {"value": pl.lit(None, pl.Float64), "status": pl.lit("model_error"), "reason": pl.lit("timeout")}
        return scores.with_columns(**lost)

    finished(tmp_path, "old", ROWS)
    finished(tmp_path, "new", ROWS, failed)
    junit = tmp_path / "junit.xml"
    assert gate(tmp_path, "--junit", str(junit)) == 2
    assert "own, app: –: error" in capsys.readouterr().out
    assert "<error" in junit.read_text(encoding="utf-8")


def test_other_rules_are_refused_or_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def looser(manifest: dict[str, Any]) -> None:
        manifest["configuration"]["suites"][0]["metrics"] = {"exact_match": {"case_sensitive": True}}

    finished(tmp_path, "old", ROWS)
    amend(finished(tmp_path, "new", ROWS), looser)
    assert gate(tmp_path) == 2
    assert "add --allow-different to compare anyway" in capsys.readouterr().err
    assert gate(tmp_path, "--allow-different") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "case_sensitive" in said
    assert "held" in said


def test_undecided_counts_as_the_run_says(tmp_path: Path) -> None:
    """With two of three questions gone nothing counts as held."""
    finished(tmp_path, "old", ROWS)
    finished(tmp_path, "new", ROWS[:30])
    assert gate(tmp_path) == 3
    amend(tmp_path / "runs" / "new", lambda manifest: manifest["configuration"].update(undecided="pass"))
    assert gate(tmp_path) == 0


@pytest.mark.parametrize(
    "words", [["gate", "new", "--threshold", "0.5"], ["exchange", "write", "new", "--to", "out"]]
)
def test_results_of_another_schema_are_one_message(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = finished(tmp_path, "new", ROWS) / "results.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"schema_version": ', '"schema_version": 9'), "utf-8")
    assert main([*words, "--set", f"store.runs={tmp_path / 'runs'}"]) == 2
    said = capsys.readouterr().err
    assert "expected results of schema" in said
    assert "--run new --rerun report" in said
    assert len(said.splitlines()) == 1
    path.write_text('{"schema_version": 2, "cells": [{}], "final": {"models": []}}', "utf-8")
    assert main([*words, "--set", f"store.runs={tmp_path / 'runs'}"]) == 2
    assert "results.json: cannot be read (KeyError" in capsys.readouterr().err


def test_a_metric_beside_the_score_is_compared_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The score is `exact_match`; by `contains` the run is as much worse, and its options count."""
    both = {"metrics": {"exact_match": {}, "contains": {}}, "score": ["exact_match"]}
    for name, rows in (("old", ROWS), ("new", HALF_WRONG)):
        recorded_run(tmp_path, name, [suite(written(tmp_path / f"{name}.jsonl", rows), **both)])
    assert gate(tmp_path, "--metric", "contains") == 1
    assert "own, app: regressed: −50.0 points" in capsys.readouterr().out

    def other(manifest: dict[str, Any]) -> None:
        manifest["configuration"]["suites"][0]["metrics"]["contains"] = {"words": False}

    amend(tmp_path / "runs" / "new", other)
    assert gate(tmp_path, "--metric", "contains") == 2
    assert "contains.words of suite own" in capsys.readouterr().err


@pytest.fixture
def stratified(tmp_path: Path) -> list[str]:
    """Make a run of one family of 10, half right, and one of 5 questions, all right; return where it is.

    That is 75 %; over the questions 66.7 %.
    """

    def families(items: pl.DataFrame) -> pl.DataFrame:
        return items.with_columns(family=pl.Series(["a"] * 10 + ["b"] * 5))

    rows = [*HALF_WRONG[:10], *ROWS[10:15]]
    path = recorded_run(tmp_path, "new", [suite(written(tmp_path / "new.jsonl", rows), strata="family")])
    items = families(load_table(find_run("new", tmp_path / "runs"), "items"))
    ref = Store(str(tmp_path / "store")).write(ITEMS, items)
    amend(path, lambda manifest: manifest["tables"].update(items=[ref.as_dict()]))
    return ["--set", f"store.runs={tmp_path / 'runs'}"]


def test_a_named_metric_of_a_suite_with_strata_is_its_total(
    stratified: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gate", "new", "--metric", "exact_match", "--threshold", "0.7", *stratified]) == 0
    assert "own, app: 75%" in capsys.readouterr().out


def test_a_baseline_shows_the_total_of_a_suite_with_strata(
    stratified: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned = str(tmp_path / "pinned.json")
    assert main(["baseline", "set", pinned, "new", *stratified]) == 0
    assert main(["baseline", "show", pinned]) == 0
    screen = capsys.readouterr().out
    assert "own app: 75%, 15 / 15 scored" in screen
    assert "weight:" not in screen, "of an only suite it decides nothing"


def test_a_baseline_shows_a_samples_size_only_where_a_sample_was_drawn() -> None:
    size = "items.sample.n of suite own"
    assert _is_unused_sample(size, {"items.sample.method of suite own": "all", size: "30"})
    assert not _is_unused_sample(size, {"items.sample.method of suite own": "random", size: "30"})
    assert not _is_unused_sample("data of suite own", {"items.sample.method of suite own": "all"})


def test_an_undecided_gate_that_counts_as_passed_passes_in_junit_too(tmp_path: Path) -> None:
    def so(manifest: dict[str, Any]) -> None:
        manifest["configuration"] |= {"gate": "interval", "undecided": "pass"}

    amend(finished(tmp_path, "new", HALF_WRONG), so)
    junit = tmp_path / "junit.xml"
    words = ["--threshold", "0.5", "--set", f"store.runs={tmp_path / 'runs'}", "--junit", str(junit)]
    assert main(["gate", "new", *words]) == 0
    assert 'failures="0" errors="0" skipped="1"' in junit.read_text(encoding="utf-8")


def test_recorded_replies_have_one_score_wherever_it_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 100 questions half are right; ten right ones stand twice, once with another answer, so are half right."""
    twice = [{**row, "answer": "another"} for row in HALF_WRONG[:20:2]]
    finished(tmp_path, "new", [*HALF_WRONG, *twice])
    runs, pinned = ["--set", f"store.runs={tmp_path / 'runs'}"], str(tmp_path / "pinned.json")
    assert main(["runs", "list", *runs]) == 0
    assert main(["baseline", "set", pinned, "new", *runs]) == 0
    assert main(["baseline", "show", pinned]) == 0
    said = capsys.readouterr().out
    assert "app 45%" in said
    assert "own app: 45%, 100 / 100 scored" in said


def test_a_misspelt_baseline_is_said_with_those_that_are_pinned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finished(tmp_path, "new", HALF_WRONG)
    runs = ["--set", f"store.runs={tmp_path / 'runs'}"]
    assert main(["baseline", "set", "main", "new", *runs]) == 0
    assert main(["gate", "new", "--baseline", "mian", *runs]) == 2
    error = capsys.readouterr().err
    assert "--baseline mian: found neither a pinned baseline (baselines contains main), nor a run" in error
    assert "Did you mean 'main'?" in error
