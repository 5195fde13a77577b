"""The leaderboard: latest results, best first, and only the same questions in one table."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from config.reading import read
from flows.cli.application import main
from metrics.analysis.document import document as document_of
from metrics.analysis.matching import question_sets
from metrics.analysis.results import Results
from metrics.analysis.summary import cells, summarise
from prompts import phrases
from tasks.compare.leaderboard import gather
from tasks.report.leaderboard import table
from tasks.store.history import history as history_of
from tasks.store.runs import head
from tests.conftest import TOP
from tests.helpers.suites import declared
from tests.helpers.verdicts import finalise
from tests.tasks.scored import rows


def write(
    runs: Path,
    name: str,
    right: dict[str, int],
    *,
    n: int = 10,
    sets: tuple[str, ...] = (),
    digest: str = "",
) -> Path:
    """Write a run's results: `right` of 10 items of each family for each model."""
    models = list(right)
    scores, items = rows(models, n=n, right=lambda model, number: float(number % 10 < right[model]))
    summary = summarise(scores, items)
    settings = read(None, [f"models={json.dumps([{'name': m} for m in models])}", "suites=[basic_control]", *sets])
    document = document_of(
        Results(
            run={
                "run": name,
                "started": f"2026-01-{name[-2:]}T10:00:00+00:00",
                "configuration": settings.model_dump(mode="json"),
                "versions": {},
                "identities": {model: {"digest": digest} for model in models} if digest else {},
                "items": question_sets(items),
            },
            models=(),
            cells=cells(summary),
        ),
        finalise(summary, models=models, suites=declared("basic_control")),
    )
    path = runs / name / "results.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def test_corrected_answers_leave_runs_on_one_board_and_are_named(tmp_path: Path) -> None:
    for name in ("run_01", "run_02"):
        write(tmp_path, name, {name[-2:]: 5})
    path = tmp_path / "run_02" / "results.json"
    document = json.loads(path.read_text("utf-8"))
    before = document["run"]["items"]["basic_control"]["answers"]
    document["run"]["items"]["basic_control"]["answers"] = "corrected"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    (board,) = gather(tmp_path).boards
    assert {one.run for one in board.entries} == {"run_01", "run_02"}
    assert {*board.differing["basic_control.answers"]} == {before, "corrected"}


def test_versions_behind_one_name_stand_apart(tmp_path: Path) -> None:
    """A name that means another model since stands twice; a model that was asked again stands once."""
    for name, digest, right in (("run_01", "old", 9), ("run_02", "new", 5), ("run_03", "new", 6)):
        write(tmp_path, name, {"m": right}, digest=digest)
    (board,) = gather(tmp_path).boards
    assert [(one.run, one.model[:3]) for one in board.entries] == [("run_01", "m ("), ("run_03", "m (")]
    assert len({one.model for one in board.entries}) == 2


def history(folder: Path) -> Path:
    """Four nights of one name, of which the first was answered by another model; and a model that ran once."""
    for name, digest, right in (
        ("run_01", "old", 9),
        ("run_02", "new", 5),
        ("run_03", "new", 6),
        ("run_04", "new", 8),
    ):
        write(folder, name, {"<m>": right}, digest=digest)
    write(folder, "run_05", {"once": 7}, digest="x")
    return folder


def test_each_version_has_its_scores_over_time_with_each_runs_own_interval(tmp_path: Path) -> None:
    (board,) = gather(history(tmp_path)).boards
    ((model, trend),) = board.trends().items()
    assert model == next(one.model for one in board.entries if one.run == "run_04")
    assert [(one.run, round(one.score or 0, 6)) for one in trend] == [
        ("run_02", 0.5), ("run_03", 0.6), ("run_04", 0.8),
    ]  # fmt: skip
    for one in trend:
        (model,) = json.loads((tmp_path / one.run / "results.json").read_text(encoding="utf-8"))["final"]["models"]
        assert (one.low, one.high) == (model["interval"]["low"], model["interval"]["high"])


def test_trends_are_shown_in_the_terminal_and_on_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    folder, page = history(tmp_path / "runs"), tmp_path / "l.html"
    assert main(["leaderboard", "--set", f"store.runs={folder}", "--html", str(page)]) == 0
    drawn_page = page.read_text(encoding="utf-8")
    assert "<m>" not in drawn_page
    assert "<script" not in drawn_page
    assert "<code>compare</code> tests whether two runs differ" in drawn_page
    assert "`" not in drawn_page
    (line,) = re.findall(r'<svg class="trend".*?</svg>', drawn_page)
    assert re.findall(r"<title>.*?: (.*?)</title>", line) == ["50%", "60%", "80%"]
    for text in (capsys.readouterr().out, drawn_page):
        shown = text[text.index("Over time") :]
        assert [len(re.findall(rf"run_0{n}", shown)) for n in (1, 2, 3, 4, 5)] == [0, 1, 1, 1, 0]
        assert "Each 95 % interval is for that run alone" in " ".join(shown.split())


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write(folder, "run_01", {"good": 9, "bad": 2})
    write(folder, "run_02", {"bad": 4})
    write(folder, "run_03", {"middle \x1b[31m|": 6})
    return folder


def test_each_model_stands_once_with_its_latest_result_best_first(runs: Path) -> None:
    (board,) = gather(runs).boards
    assert [(s.model, s.run, round(s.score or 0, 6)) for s in board.entries] == [
        ("good", "run_01", 0.9),
        ("middle \x1b[31m|", "run_03", 0.6),
        ("bad", "run_02", 0.4),
    ]
    assert len(board.history) == 4


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [(["held"], "pass"), (["held", "undecided"], "undecided"), (["undecided", "regressed"], "fail")],
)
def test_a_run_has_the_verdict_that_the_list_of_runs_has(tmp_path: Path, changes: list[str], verdict: str) -> None:
    """All is right, by the thresholds alone a pass; its baseline counts too."""
    path = write(tmp_path, "run_01", {"m": 10})
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["final"]["models"][0]["verdict"] == "pass"
    found["final"]["changes"] = changes
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    (path.parent / "manifest.json").write_text('{"run": "run_01"}', encoding="utf-8")
    (board,) = (leaders := gather(tmp_path, language="en")).boards
    assert [one.verdict for one in board.entries] == [one.verdict for one in history_of(tmp_path)] == [verdict]
    assert any(verdict in row for row in table(leaders, board).rows)


def test_other_questions_stand_in_another_table(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(runs, "run_04", {"good": 10}, n=5)
    assert main(["leaderboard", "--set", f"store.runs={runs}"]) == 0
    said = capsys.readouterr().out
    assert "The runs asked 2 different sets of questions." in " ".join(said.split())
    assert "60 questions" in said
    assert "30 questions" in said
    boards = gather(runs).boards
    assert [board.entries[0].model for board in boards] == ["good", "good"]


def test_other_weights_and_judges_are_said(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first = write(runs, "run_01", {"a": 5})
    second = write(runs, "run_02", {"b": 5})
    for path, judge in ((first, "j1"), (second, "j2")):
        document = json.loads(path.read_text(encoding="utf-8"))
        suite = {**document["final"]["models"][0]["suites"][0], "suite": "rag"}
        document["final"]["models"][0]["suites"].append(suite)
        document["run"]["items"]["rag"] = {"n": 60, "digest": "x"}
        document["run"]["configuration"]["judges"] = [{"name": judge}]
        document["run"]["configuration"]["suites"].append("rag")
        document["run"]["configuration"]["weights"] = {"rag": 0.2 if judge == "j1" else 0.5}
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    (board,) = gather(runs).boards
    assert board.differing == {"weights.rag": ["0.5", "0.2"], "rag.judges": ["j2", "j1"]}
    assert {s.judges for s in board.entries} == {("j1",), ("j2",)}


@pytest.mark.parametrize(("score", "judges"), [("rubric", ("j2",)), ("contains", ())])
def test_only_the_judges_that_make_a_score_stand_beside_it(
    score: str, judges: tuple[str, ...], tmp_path: Path
) -> None:
    """Of two judges a metric names one; a judged metric beside the score makes none of it."""
    path = write(tmp_path, "run_01", {"a": 5})
    document = json.loads(path.read_text(encoding="utf-8"))
    document["final"]["models"][0]["suites"].append({**document["final"]["models"][0]["suites"][0], "suite": "own"})
    metrics = {"contains": {}, "rubric": {"criteria": "Polite.", "judges": ["j2"]}}
    own = {"name": "own", "items": {"data": "own.jsonl"}, "prompt": "{{ question }}", "metrics": metrics}
    document["run"]["configuration"]["judges"] = [{"name": "j1"}, {"name": "j2"}]
    document["run"]["configuration"]["suites"].append({**own, "score": [score]})
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    (board,) = gather(tmp_path).boards
    assert [one.judges for one in board.entries] == [judges]


def test_another_k_is_said_also_between_runs_of_one_model(tmp_path: Path) -> None:
    """Right at least once in two, and in three: other scores of the same questions, the trend of one model."""
    for n, k in enumerate((2, 3), 1):
        path = write(tmp_path / "runs", f"run_0{n}", {"a": 5})
        document = json.loads(path.read_text(encoding="utf-8"))
        document["run"]["configuration"]["suites"][0]["gate_on"] = "pass_at_k"
        document["final"]["models"][0]["suites"][0]["k"] = k
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    (board,) = gather(tmp_path / "runs").boards
    assert board.differing == {"basic_control.gate_on": ["pass_at_k, k 3", "pass_at_k, k 2"]}


def test_it_speaks_the_language_of_the_latest_runs_report(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    path = write(runs, "run_04", {"good": 10}, n=5)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["run"]["configuration"]["report"] = {"language": "ru"}
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    (runs / "run_05").mkdir()
    assert main(["leaderboard", "--set", f"store.runs={runs}", "--html", str(tmp_path / "l.html")]) == 0
    english = phrases.section("leaderboard", "en")
    for text in (capsys.readouterr().out, (tmp_path / "l.html").read_text(encoding="utf-8")):
        assert "Запуски задавали разные наборы вопросов (2)." in text
        assert "Не завершены: run_05." in text
        assert "вопросов 60" in text
        assert not [one for one in english.values() if " " in one and "{" not in one and one in text]
        assert re.search(r"\d,\d%", text)
        assert not re.search(r"\d\.\d%", text)
    assert main(["leaderboard", "--set", f"store.runs={runs}", "--language", "en"]) == 0
    assert "The runs asked 2 different sets of questions." in capsys.readouterr().out


def test_runs_that_cannot_be_read_are_named_and_do_not_hide_the_others(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "run_05").mkdir()
    for name, text in (("run_06", "{"), ("run_07", "[]"), ("run_08", '{"schema_version": 1}'), ("run_09", "\xff")):
        (runs / name).mkdir()
        (runs / name / "results.json").write_text(text, encoding="latin-1")
    assert main(["leaderboard", "--set", f"store.runs={runs}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Not finished: run_05." in said
    for name in ("run_06", "run_07", "run_08", "run_09"):
        assert f"Cannot be read: {name}" in said
    assert "good" in said


BROKEN: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "a score that is a word": lambda model: model.update(score="high"),
    "a score that is no number": lambda model: model.update(score=float("nan")),
    "a score that is too large": lambda model: model.update(score=10**400),
    "an end that is a word": lambda model: model["interval"].update(low="low"),
    "a suite without its count": lambda model: model["suites"][0].pop("n_scored"),
    "a suite without interval": lambda model: model["suites"][0].update(interval=None),
}


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_a_run_with_a_damaged_number_is_named_whole(
    damage: Callable[[dict[str, Any]], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "runs", "run_01", {"whole": 9, "damaged": 2})
    write(tmp_path / "runs", "run_02", {"other": 4})
    document = json.loads(path.read_text(encoding="utf-8"))
    damage(document["final"]["models"][1])
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["leaderboard", "--set", f"store.runs={tmp_path / 'runs'}"]) == 0
    said = capsys.readouterr().out
    assert "Cannot be read: run_01" in said
    assert "whole" not in said, "of a run all is listed, or nothing"
    (board,) = gather(tmp_path / "runs").boards
    assert [one.model for one in board.entries] == ["other"]


def test_nesting_and_half_pairs_do_not_end_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs" / "deep").mkdir(parents=True)
    (tmp_path / "runs" / "deep" / "results.json").write_text("[" * 100_000, encoding="utf-8")
    path = write(tmp_path / "runs", "run_01", {"half": 5})
    path.write_text(path.read_text(encoding="utf-8").replace('"half"', r'"half\ud800"'), encoding="utf-8")
    assert main(["leaderboard", "--set", f"store.runs={tmp_path / 'runs'}"]) == 0
    said = capsys.readouterr().out
    assert "Cannot be read: deep: RecursionError" in said
    assert "half" in said


def test_no_folder_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "--set", f"store.runs={tmp_path / 'nowhere'}"]) == 2
    assert "there is no such folder of runs" in capsys.readouterr().err


def test_the_head_of_a_document_is_the_document_without_its_cells_and_what_follows(runs: Path) -> None:
    path = runs / "run_01" / "results.json"
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    found = head(path.parent)
    keys = [*whole]
    assert [*found] == keys[: keys.index("cells")]
    assert all(found[key] == whole[key] for key in found)


def test_a_model_name_cannot_end_the_head(tmp_path: Path) -> None:
    path = write(tmp_path, "run_01", {'m\n "cells": [': 5})
    assert head(path.parent)["final"]["models"][0]["model"] == 'm\n "cells": ['


def test_the_command_writes_tables_that_no_terminal_obeys(runs: Path, tmp_path: Path) -> None:
    write(runs, "run_04", {"=HYPERLINK(1)": 1})
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "basic_control",
        "leaderboard",
        "--set",
        f"store.runs={runs}",
    ]
    command += ["--html", str(tmp_path / "l.html")]
    done = subprocess.run(
        command, cwd=TOP, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, check=True
    )
    assert "\x1b[31m" not in done.stdout
    assert "⟦U+001B⟧" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tasks.compare.leaderboard" in imported
    assert not imported & {"prefect", "openai", "scipy", "sqlalchemy"}
    (board,) = gather(runs).boards
    assert board.entries[-1].model == "=HYPERLINK(1)"
    assert [one.score for one in board.entries] == pytest.approx([0.9, 0.6, 0.4, 0.1])
    assert (board.entries[0].low or 1) < 0.9 < (board.entries[0].high or 0)


def test_no_score_is_rounded_onto_the_threshold_that_it_misses(tmp_path: Path) -> None:
    path = write(tmp_path, "run_01", {"m": 8})
    found = json.loads(path.read_text(encoding="utf-8"))
    (model,) = found["final"]["models"]
    model["score"] = model["suites"][0]["score"] = 0.7996
    model["suites"][0]["threshold"] = 0.8
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    leaders = gather(tmp_path, language="en")
    (board,) = leaders.boards
    assert table(leaders, board).rows[0][2].startswith("79.96%")
