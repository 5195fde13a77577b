"""The history of runs: it follows their folders."""

import subprocess
import sys
from pathlib import Path

import pytest

from basic_control.data.exits import GateOutcome
from basic_control.flows.cli.application import main
from basic_control.metrics.analysis.headlines import ModelResult
from basic_control.metrics.analysis.spending import Spending, Spent
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.history import TargetScore, read_history, write_note
from basic_control.tasks.store.owners import name_owner
from basic_control.tasks.store.runs import MANIFEST
from tests.conftest import TOP
from tests.helpers.suites import headline, model_of
from tests.helpers.verdicts import write_results

OUTCOMES: dict[int, GateOutcome] = {0: "none", 1: "fail", 3: "undecided"}


def finished(runs: Path, name: str, *, score: float = 0.5, code: int = 0, model: str = "m") -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    configuration = {"models": [{"name": model}], "suites": [{"name": "s"}, "basic"]}
    facts = {"schema": 1, "run": name, "started": f"2026-01-{name[-2:]}T10:00:00+00:00", "status": "completed"}
    manifests.write(folder, {**facts, "commit": "abc", "configuration": configuration})
    write_results(folder, scored(model, score, OUTCOMES[code]))
    return folder


def scored(model: str, score: float, outcome: GateOutcome) -> ModelResult:
    return model_of(model, headline("s", score, weight=1.0, outcome=outcome))


def test_the_history_follows_the_folders(tmp_path: Path) -> None:
    finished(tmp_path, "r01", score=0.25, code=1)
    second = finished(tmp_path, "r02")
    found = read_history(tmp_path)
    assert [(one.name, one.exit_code, one.scores, one.commit) for one in found] == [
        ("r02", 0, {"m": TargetScore(0.5, verdict="none")}, "abc"),
        ("r01", 1, {"m": TargetScore(0.25, verdict="fail")}, "abc"),
    ]
    write_note(second, "the good one")
    for file in second.parent.joinpath("r01").iterdir():
        file.unlink()
    (tmp_path / "r01").rmdir()
    (one,) = read_history(tmp_path)
    assert (one.note, one.suites) == ("the good one", ("s", "basic"))


def test_a_run_is_stopped_once_its_process_is_gone_whatever_was_listed_before(tmp_path: Path) -> None:
    program = "from basic_control.tasks.store.owners import name_owner; print(name_owner(), flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TOP
    )
    assert process.stdout
    owners = {"r01": process.stdout.readline().strip(), "r02": name_owner(), "r03": "elsewhere:1:1"}
    for name, whose in owners.items():
        manifests.write(finished(tmp_path, name), {"schema": 1, "run": name, "status": "running", "owner": whose})
    assert {one.status for one in read_history(tmp_path)} == {"running"}
    process.kill()
    process.communicate()
    assert {one.name: one.status for one in read_history(tmp_path)} == {
        "r01": "stopped", "r02": "running", "r03": "running",
    }  # fmt: skip


def test_runs_of_the_same_questions_have_one_code_and_notes_of_before_are_read(tmp_path: Path) -> None:
    spending = Spending("EUR", [Spent("model", "m", 1, 1, 1, 1, 0, 0, 0.5, 0.5)])
    for name, digest in (("r01", "same"), ("r02", "same"), ("r03", "other")):
        run = {"items": {"s": {"digest": digest, "n": 3}}}
        write_results(finished(tmp_path, name), scored("m", 0.5, "pass"), run=run, spending=spending)
    (tmp_path / "r01" / "labels.json").write_text('{"tags": ["nightly"], "note": "slow"}', encoding="utf-8")
    third, second, first = read_history(tmp_path)
    assert first.questions == second.questions != third.questions
    assert (first.note, first.cost) == ("slow", (0.5, "EUR"))


def test_runs_are_listed_and_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(tmp_path, "r01", code=3)
    finished(tmp_path, "r02", model="evil\x1b[31m")
    there = ["--set", f"store.runs={tmp_path}"]
    assert main(["runs", "note", "r01", "slow", *there]) == 0
    assert main(["runs", "list", "--model", "m", *there]) == 0
    said = capsys.readouterr().out
    assert "exit 3  m 50%  [s, basic]  slow" in said
    assert "r02" not in said
    assert main(["runs", "list", *there]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert main(["runs", "note", "r09", "slow", *there]) == 2
    assert "no such run" in capsys.readouterr().err
    for path in ("./r01", "../runs/r01", str(tmp_path), ".."):
        assert main(["runs", "note", path, "slow", *there]) == 2
        assert "expected the name of a run" in capsys.readouterr().err
    assert main(["runs", "list", "--set", f"store.runs={tmp_path / 'nowhere'}"]) == 2


def test_what_held_against_its_baseline_without_a_threshold_passes(tmp_path: Path) -> None:
    write_results(finished(tmp_path, "r01"), scored("m", 0.5, "none"), changes=("held",))
    assert [one.verdict for one in read_history(tmp_path)] == ["pass"]


@pytest.mark.parametrize("damage", ["{", "[]", '{"a": ' * 100_000])
def test_a_run_whose_manifest_is_damaged_has_the_outcome_that_its_results_say(tmp_path: Path, damage: str) -> None:
    (finished(tmp_path, "r01", score=0.25, code=1) / MANIFEST).write_text(damage)
    (entry,) = read_history(tmp_path)
    assert (entry.status, entry.verdict, entry.exit_code) == ("damaged", "fail", 1)
    assert entry.scores == {"m": TargetScore(0.25, verdict="fail")}
