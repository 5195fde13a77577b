"""Runs pair by their questions, whatever was answered, expected, or recorded by which tool; what moved is named."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from basic_control.data.batches import Ref
from basic_control.data.tables import TABLES
from basic_control.flows.cli.application import main
from basic_control.tasks.compare.comparison import RunComparison, compare_runs
from basic_control.tasks.exchange import log_suites
from basic_control.tasks.report.comparison import html, junit, lead, verdict
from basic_control.tasks.report.remarks import notes
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.runs import find_run
from basic_control.tasks.store.tables import Store
from tests.helpers.recorded import recorded_run, suite, written

ROWS = [{"question": f"Question {n}?", "answer": f"Answer {n}", "response": f"Answer {n}"} for n in range(100)]


def recorded(folder: Path, name: str, rows: Sequence[dict[str, Any]], **changes: Any) -> str:
    recorded_run(folder, name, [suite(written(folder / f"{name}.jsonl", rows), **changes)])
    return name


def compared(folder: Path, *names: str, every: bool = False) -> RunComparison:
    return compare_runs([*names], runs=folder / "runs", every=every)


def test_replies_that_became_wrong_are_100_pairs_and_50_points_fewer(tmp_path: Path) -> None:
    """The golden of SPEC 15; the later file is in another order, by another prompt, with another expected form."""
    wrong = [{**row, "response": "nothing", "n": n} if n % 2 else row for n, row in enumerate(ROWS)]
    recorded(tmp_path, "before", ROWS)
    recorded(tmp_path, "after", wrong[::-1], prompt="Please answer.\n{{ question }}")
    (pair,) = compared(tmp_path, "before", "after").pairs
    assert (pair.n, pair.n_left_out, pair.difference) == (100, 0, -0.5)
    assert (pair.only_a, pair.only_b, pair.significant) == (0, 50, True)


@pytest.mark.parametrize("stopped", ["before", "after"])
def test_where_one_of_two_runs_stopped_early_the_test_is_one_for_any_number_of_looks(
    tmp_path: Path, stopped: str
) -> None:
    wrong = [{**row, "response": "nothing"} if n % 2 else row for n, row in enumerate(ROWS)]
    recorded(tmp_path, "before", ROWS)
    recorded(tmp_path, "after", wrong)
    run = find_run(stopped, tmp_path / "runs")
    (declared,) = run.configuration["suites"]
    suites = [{**declared, "threshold": 0.8, "stop": {"when": "decided"}}]
    manifests.write(
        tmp_path / "runs" / stopped, {**run.manifest, "configuration": {**run.configuration, "suites": suites}}
    )
    found = compared(tmp_path, "before", "after")
    (pair,) = found.pairs
    assert (pair.n, pair.difference, pair.test.interval.method) == (100, -0.5, "sequence")
    (said,) = lead(found)
    assert "is worse than" in said
    assert "-50.0" in said.replace("−", "-")
    assert verdict(pair) == "worse"
    assert "<failure" in junit(found)
    assert found.changed[0].height == 50


def test_a_corrected_label_keeps_its_row_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path, "before", [*ROWS[:-1], {**ROWS[-1], "answer": "a mistake"}])
    recorded(tmp_path, "after", ROWS)
    found = compared(tmp_path, "before", "after")
    assert [(pair.n, pair.difference, pair.only_a) for pair in found.pairs] == [(100, 0.01, 1)]
    assert found.shared == {"own": ([100, 100], 100)}
    (said,) = (line for line in notes(found) if "own" in line)
    assert said.startswith(
        "after: own: a different answer is expected in 1 of 100 questions in common: Question 99?"
    )
    assert (
        main(
            [
                "compare",
                "before",
                "after",
                "--set",
                f"store.runs={tmp_path / 'runs'}",
                "--markdown",
                str(tmp_path / "c.md"),
            ]
        )
        == 0
    )
    assert "a mistake, now Answer 99" in " ".join(capsys.readouterr().out.split())
    assert "a mistake, now Answer 99" in (tmp_path / "c.md").read_text("utf-8")


def test_questions_of_one_run_alone_are_counted_and_named(tmp_path: Path) -> None:
    recorded(tmp_path, "before", ROWS[:60])
    recorded(tmp_path, "after", ROWS[40:])
    found = compared(tmp_path, "before", "after")
    assert [pair.n for pair in found.pairs] == [20]
    assert found.shared == {"own": ([60, 60], 20)}
    assert [line for line in notes(found) if "own" in line] == [
        "after: own: no longer asked: 40 of 60 questions: Question 0?; Question 1?; Question 2?; …",
        "after: own: new: 40 of 60 questions: Question 60?; Question 61?; Question 62?; …",
    ]


def test_the_same_id_with_another_text_is_named_and_not_compared(tmp_path: Path) -> None:
    numbered = [{**row, "nr": n} for n, row in enumerate(ROWS)]
    for name, rows in (("before", numbered), ("after", [{**numbered[0], "question": "Another?"}, *numbered[1:]])):
        declared = suite(written(tmp_path / f"{name}.jsonl", rows))
        recorded_run(tmp_path, name, [{**declared, "items": {**declared["items"], "columns": {"id": "nr"}}}])
    found = compared(tmp_path, "before", "after")
    assert [pair.n for pair in found.pairs] == [99]
    assert (
        "after: own: not compared, because the text under the same id differs: 1 of 100 questions: Another?"
        in notes(found)
    )


def test_rows_that_ask_the_same_are_one_question(tmp_path: Path) -> None:
    """Ten questions, each in ten rows: ten observations, as few as can reach what a hundred would."""
    often = [row for row in ROWS[:10] for _ in range(10)]
    recorded(tmp_path, "before", often)
    recorded(tmp_path, "after", [{**row, "response": "no"} if n < 30 else row for n, row in enumerate(often)])
    found = compared(tmp_path, "before", "after")
    assert found.shared == {"own": ([10, 10], 10)}
    (pair,) = found.pairs
    assert pair.n == 10
    assert pair.difference == pytest.approx(-0.3)
    assert not pair.significant, "three questions of ten fell, which chance does one time in four"


def exchanged(folder: Path, log: Path) -> dict[str, Any]:
    """Read another tool's log as its import does; return the suite that is declared of it."""
    log_suites.write(log_suites.read(log), folder)
    (declared,) = yaml.safe_load((folder / log_suites.RUN).read_text("utf-8"))["suites"]
    return dict(declared)


def test_one_set_of_questions_in_logs_of_two_tools_pairs_fully(tmp_path: Path, shared: Path) -> None:
    logs = {"lm-eval": "lm_eval_samples_gsm8k_100.jsonl", "inspect": "inspect_gsm8k_100.eval"}
    for name, file in logs.items():
        recorded_run(tmp_path, name, [exchanged(tmp_path / name, shared / "exchange" / file)])
    found = compared(tmp_path, "lm-eval", "inspect")
    assert found.shared == {"gsm8k_100": ([100, 100], 100)}
    assert [(p.n, round(p.mean_a or 0, 2), round(p.mean_b or 0, 2)) for p in found.pairs] == [(100, 0.58, 0.58)]


def test_logs_of_one_tool_whose_replies_differ_pair_fully(tmp_path: Path, shared: Path) -> None:
    """Five right replies of 100 are replaced: 58 % against 53 % over all questions, and not 'held' over 87."""
    log = shared / "exchange" / "lm_eval_samples_gsm8k_100.jsonl"
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    right = [n for n, line in enumerate(lines) if line["exact_match"]]
    for n in right[:9]:
        lines[n] |= {"resps": [["#### 987654321"]], "exact_match": 0.0}
    for n in [n for n in range(100) if n not in right][:4]:
        lines[n] |= {"resps": [[f"#### {lines[n]['target']}"]], "exact_match": 1.0}
    later = tmp_path / "later" / log.name
    written(later, lines)
    for name, path in (("before", log), ("after", later)):
        recorded_run(tmp_path, name, [exchanged(tmp_path / name, path)])
    (pair,) = compared(tmp_path, "before", "after").pairs
    assert (pair.n, pair.only_a, pair.only_b) == (100, 4, 9)
    assert (round(pair.mean_b or 0, 2), round(pair.mean_a or 0, 2)) == (0.58, 0.53)


def without_ids(folder: Path, name: str) -> None:
    """Write a run's items as an earlier version did."""
    run = find_run(name, folder / "runs")
    store = Store(run.configuration["store"]["root"])
    (one,) = run.manifest["tables"]["items"]
    from basic_control.data.tables import ITEMS

    bare = store.read(Ref(one["table"], one["digest"], one["rows"], "")).drop(ITEMS.added)
    older = store.write(ITEMS, ITEMS.check(bare))
    tables = {
        **run.manifest["tables"],
        "items": [{"table": older.table, "digest": older.digest, "rows": older.rows}],
    }
    manifests.write(run.folder, {**run.manifest, "tables": tables})


def test_a_run_of_an_earlier_version_which_does_not_say_what_it_asked_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(tmp_path, "before", ROWS)
    without_ids(tmp_path, "before")
    recorded(tmp_path, "after", ROWS)
    assert main(["compare", "before", "after", "--set", f"store.runs={tmp_path / 'runs'}"]) == 2
    said = capsys.readouterr().err
    assert "run before: its items were written by an earlier version and have no question ids" in said
    assert len(said.splitlines()) == 1


def test_a_suite_of_several_metrics_lists_what_changed_once_by_its_score_with_every_reason(tmp_path: Path) -> None:
    parts = {"metrics": {"exact_match": {}, "contains": {}}, "score": ["exact_match", "contains"]}
    wrong = [{**row, "response": f"It is {row['answer']}." if n < 5 else "no"} for n, row in enumerate(ROWS[:10])]
    recorded(tmp_path, "before", ROWS, **parts)
    recorded(tmp_path, "after", [*wrong, *ROWS[10:]], **parts)
    found = compared(tmp_path, "before", "after")
    assert [pair.scope for pair in found.pairs] == ["metric", "metric", "suite"]
    (number,) = (n for n, pair in enumerate(found.pairs) if found.is_listed(pair))
    assert [pair.scope for pair in found.pairs][number] == "suite"
    rows = list(found.changed[number].iter_rows(named=True))
    assert [row["gain"] for row in rows] == [-1.0] * 5 + [-0.5] * 5
    assert {(row["before_reason"], row["after_reason"]) for row in rows[:5]} == {
        ("exact_match: equal; contains: as expected", "exact_match: another text; contains: a text is missing")
    }
    said, more = lead(found)
    assert more == "2 more in the table"
    assert said.startswith("app @ after is worse than app @ before: own: score ")
    page = html(found)
    assert page.count("<details") == 10
    assert all(row["prompt"] in page and row["after_reason"] in page for row in rows)


def test_the_page_begins_with_the_greatest_loss_and_names_both_replies(tmp_path: Path) -> None:
    parts = {"metrics": {"contains": {"threshold": 0.5}, "exact_match": {"threshold": 0.5}}}
    longer_rows = [{**row, "response": f"It is {row['answer']}."} for row in ROWS[:9]]
    recorded(tmp_path, "before", ROWS, **parts)
    recorded(tmp_path, "after", [*longer_rows, *ROWS[9:]], **parts)
    found = compared(tmp_path, "before", "after")
    page = html(found)
    assert page.index("exact_match −") < page.index("<table") < page.index("<details")
    assert page.count("<h3") == 1, "nothing changed by the other metric"
    assert "own: exact_match: app</h3>" in page, "a model beside itself is named once"
    for row in found.changed[1].iter_rows(named=True):
        assert f"{row['before_text']} → {row['after_text']}</span></summary>" in page
    (lost,) = [pair for pair in found.pairs if pair.metric == "exact_match"]
    overall = replace(lost, scope="overall", suite="", metric="", difference=None)
    first, *_ = lead(replace(found, pairs=[overall, lost]))
    assert first.startswith("app @ after against app @ before: worse on own: exact_match"), (
        "a loss comes before the overall score"
    )


def test_one_run_of_models_and_prompts_compares_prompts_by_one_model_and_models_by_one_prompt(
    tmp_path: Path,
) -> None:
    """Two models by two prompts: four pairs, not six, in one correction."""
    data = written(tmp_path / "rows.jsonl", ROWS)
    folder = recorded_run(tmp_path, "field", [suite(data)])
    run, names = find_run("field", tmp_path / "runs"), {"large": ("plain", "steps"), "small": ("plain", "steps")}
    store = Store(run.configuration["store"]["root"])
    tables = dict(run.manifest["tables"])
    for kind in ("requests", "responses", "scores"):
        (one,) = tables[kind]
        frame = store.read(Ref(one["table"], one["digest"], one["rows"], ""))
        tables[kind] = []
        for target in (f"{model} [{prompt}]" for model, prompts in names.items() for prompt in prompts):
            own = frame.with_columns(pl.lit(target).alias("model")) if "model" in frame.columns else frame
            if "request_id" in own.columns:
                own = own.with_columns(request_id=pl.concat_str("request_id", pl.lit(target)))
            ref = store.write(TABLES[kind], own)
            tables[kind].append({"table": ref.table, "digest": ref.digest, "rows": ref.rows})
    declared = {**suite(data), "prompts": dict.fromkeys(("plain", "steps"), "{{ question }}")}
    suites = [{name: value for name, value in declared.items() if name not in {"prompt", "responses_of"}}]
    configuration = {**run.configuration, "models": [{"name": name} for name in names], "suites": suites}
    manifests.write(folder, {**run.manifest, "tables": tables, "configuration": configuration})
    found = compared(tmp_path, "field")
    assert [(pair.model_b, pair.model_a) for pair in found.pairs] == [
        ("large [plain]", "large [steps]"),
        ("large [plain]", "small [plain]"),
        ("large [steps]", "small [steps]"),
        ("small [plain]", "small [steps]"),
    ]
    assert len(compared(tmp_path, "field", every=True).pairs) == 6
