"""`compare` and `gate` count, test and decide by one rule: units, templates, rounds, and questions in common."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.declared import suites_in
from basic_control.flows.cli.application import main
from basic_control.metrics.analysis.baseline import HeadlineChange
from basic_control.metrics.analysis.document import document
from basic_control.metrics.analysis.observations import observations
from basic_control.metrics.analysis.pairs import Comparison
from basic_control.metrics.analysis.results import Results
from basic_control.tasks.compare.baseline import pin
from basic_control.tasks.compare.comparison import compare_runs
from basic_control.tasks.compare.gating import decide_gate
from basic_control.tasks.plan import BaselineRule
from basic_control.tasks.report.comparison import junit, lead, verdict
from basic_control.tasks.report.remarks import notes
from basic_control.tasks.store import baselines
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.runs import find_run, load_items, load_table
from tests.helpers.recorded import recorded_run, suite, written
from tests.helpers.verdicts import verdict_on

Rows = Sequence[Mapping[str, Any]]


def rows(n: int, *, wrong: Sequence[int] = (), size: int = 0, names: str = "t{}") -> list[dict[str, str]]:
    """Return so many questions, with templates of `size` questions, and the replies to them."""
    replies = {True: "no", False: "yes"}
    table = [{"question": f"Question {k}?", "answer": "yes", "response": replies[k in wrong]} for k in range(n)]
    if size:
        return [{**row, "template": names.format(k // size)} for k, row in enumerate(table)]
    return table


def record(folder: Path, name: str, recorded: Rows, *, stop: Mapping[str, Any] | None = None) -> None:
    """Record a run with its results; with `stop` as one whose suite was asked in rounds."""
    path = recorded_run(folder, name, [suite(written(folder / f"{name}.jsonl", recorded), threshold=0.8)])
    run = find_run(name, folder / "runs")
    once = observations(load_table(run, "scores"), load_items(run))
    final = verdict_on(once.scores, once.items, suites_in(run.configuration), model="app")
    document_text = json.dumps(document(Results({"run": name}, final.models), final))
    (path / "results.json").write_text(document_text, encoding="utf-8")
    if stop is not None:
        (declared,) = run.configuration["suites"]
        suites = [{**declared, "stop": stop}]
        configuration = {**run.configuration, "suites": suites}
        manifests.write(folder / "runs" / name, {**run.manifest, "configuration": configuration})


def compare_one(folder: Path, old: str = "old") -> Comparison:
    (pair,) = compare_runs([old, "new"], runs=folder / "runs").pairs
    return pair


def gate_one(folder: Path, old: str = "old", max_drop: float = 0.02) -> HeadlineChange:
    rule = BaselineRule(old, max_drop)
    _, comparison, _ = decide_gate("new", runs=folder / "runs", rule=rule)
    assert comparison
    (change,) = comparison.headlines
    return change


def read_screen(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a command prints, on one line."""
    capsys.readouterr()
    main([*words, "--set", f"store.runs={folder / 'runs'}"])
    return " ".join(capsys.readouterr().out.split())


# Three templates lost as a whole, so that templates differ more than their questions do.
LOST = [n for n in range(300) if n // 15 in {2, 7, 11} or n % 15 == 3]
WON = [n for n in range(300) if n % 15 == 5]


def test_what_could_be_detected_is_told_of_templates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path, "old", rows(300, wrong=WON, size=15))
    record(tmp_path, "new", rows(300, wrong=LOST, size=15))
    text = read_screen(tmp_path, capsys, "gate", "new", "--baseline", "old")
    assert "300 questions (20 independent ones)" in text
    needed = re.search(r"with 20 independent questions; (\d+) independent questions would show", text)
    assert needed
    assert 20 < int(needed[1]) < 4000
    text = read_screen(tmp_path, capsys, "compare", "old", "new")
    assert "300 questions (20 independent ones: those of one form count once)" in text
    assert "300 (20)" in text


def test_templates_of_a_question_each_are_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path, "old", rows(300, wrong=WON, size=1))
    record(tmp_path, "new", rows(300, wrong=LOST, size=1))
    text = read_screen(tmp_path, capsys, "gate", "new", "--baseline", "old")
    assert re.search(r"\b300 questions\b(?! \()", text), text
    assert "independent" not in text + read_screen(tmp_path, capsys, "compare", "old", "new")


def test_of_four_templates_the_questions_count_and_it_is_over_these_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path, "old", rows(60, size=15))
    record(tmp_path, "new", rows(60, wrong=[1, 20], size=15))
    for words in (["gate", "new", "--baseline", "old"], ["compare", "old", "new"]):
        text = read_screen(tmp_path, capsys, *words)
        assert "independent" not in text
        assert "for these forms of question only" in text


def test_equal_questions_count_once_in_what_could_be_detected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path, "old", [*rows(30), *rows(30), *rows(30)])
    record(tmp_path, "new", [*rows(30, wrong=[4]), *rows(30, wrong=[4]), *rows(30, wrong=[4])])
    text = read_screen(tmp_path, capsys, "gate", "new", "--baseline", "old")
    assert "points on with 30 questions" in text
    assert "90" not in text


TEMPLATES = {
    "both": (15, "t{}", 15, "t{}"),
    "old": (15, "t{}", 0, ""),
    "new": (0, "", 15, "t{}"),
    "other": (1, "q{}", 15, "t{}"),
}


@pytest.mark.parametrize("stated", TEMPLATES)
@pytest.mark.parametrize("pinned", [False, True])
def test_a_template_that_one_side_states_counts_in_both_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: str, *, pinned: bool
) -> None:
    """Three of twenty templates are lost: of questions a regression, of templates none is shown."""
    monkeypatch.chdir(tmp_path)
    wrong = [n for n in range(300) if n // 15 in {2, 7, 11}]
    size, names, later_size, later_names = TEMPLATES[stated]
    record(tmp_path, "old", rows(300, size=size, names=names))
    record(tmp_path, "new", rows(300, wrong=wrong, size=later_size, names=later_names))
    old = "old"
    # Of a pinned baseline whose run is gone only what its file says is left.
    if pinned:
        baselines.write_baseline(pin("main", find_run("old", tmp_path / "runs")), baselines.find_path("main"))
        find_run("old", tmp_path / "runs").folder.rename(tmp_path / "gone")
        old = "main"
    change, pair = gate_one(tmp_path, old), compare_one(tmp_path, old)
    assert change.decision.outcome == "undecided"
    assert not pair.significant
    assert change.pair.test.interval == pair.test.interval
    assert pair.test.interval.units == 20
    comparison = compare_runs([old, "new"], runs=tmp_path / "runs")
    remarks = [line for line in notes(comparison) if "template" in line]
    assert len(remarks) == (stated != "both")
    assert (change.moved.regrouped.n > 0) == (stated != "both")


def test_a_question_alone_in_its_template_on_one_side_is_one_with_those_of_the_later(tmp_path: Path) -> None:
    """The later run's templates count where both state one."""
    record(tmp_path, "old", rows(40, size=20))
    record(tmp_path, "new", rows(40, wrong=[3], size=4))
    assert compare_one(tmp_path).test.interval.units == gate_one(tmp_path).pair.test.interval.units == 10


STOP = {"when": "decided", "first": 30, "most": 300}


@pytest.mark.parametrize("stops", [("old", "new"), ("old",), ("new",)])
def test_runs_in_rounds_are_tested_by_a_sequence_in_both_commands(tmp_path: Path, stops: Sequence[str]) -> None:
    for name, wrong in (("old", ()), ("new", range(0, 100, 2))):
        record(tmp_path, name, rows(100, wrong=[*wrong]), stop=STOP if name in stops else None)
    pair, change = compare_one(tmp_path), gate_one(tmp_path)
    assert (change.decision.outcome, verdict(pair)) == ("regressed", "worse")
    assert change.pair.test.interval == pair.test.interval
    assert pair.test.interval.method == "sequence"


def test_a_sequence_says_less_than_a_test_for_one_look(tmp_path: Path) -> None:
    """Six lost of a hundred: shown by one look at margin 0 (p = 1/64), by a sequence not."""
    record(tmp_path, "old", rows(100))
    record(tmp_path, "new", rows(100, wrong=range(6)))
    assert gate_one(tmp_path, max_drop=0).decision.outcome == "regressed"
    # One side in rounds is enough: its number of questions hangs on its replies.
    record(tmp_path, "once", rows(100), stop=STOP)
    change, pair = gate_one(tmp_path, "once", max_drop=0), compare_one(tmp_path, "once")
    assert (change.decision.outcome, verdict(pair)) == ("undecided", "same")
    assert change.decision.detectable is None


def test_a_suite_in_rounds_holds_by_its_sequence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """(1 + 0.02)^n reaches 20 at 151 equal pairs."""
    for name, n in (("old", 200), ("new", 200)):
        record(tmp_path, name, rows(n), stop=STOP)
    assert gate_one(tmp_path).decision.outcome == "held"
    assert "cannot detect" not in read_screen(tmp_path, capsys, "gate", "new", "--baseline", "old")


def test_few_templates_stop_nothing_so_the_usual_test_decides(tmp_path: Path) -> None:
    record(tmp_path, "old", rows(90, size=10), stop=STOP)
    record(tmp_path, "new", rows(90, size=10), stop=STOP)
    assert compare_one(tmp_path).test.interval.method == gate_one(tmp_path).pair.test.interval.method == "constant"


@pytest.mark.parametrize(("n", "wrong"), [(32, ()), (20, ()), (37, (3,))])
def test_of_too_few_common_questions_neither_command_says_that_nothing_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], n: int, wrong: Sequence[int]
) -> None:
    record(tmp_path, "old", rows(40))
    record(tmp_path, "new", rows(n, wrong=wrong))
    change, pair = gate_one(tmp_path, max_drop=0.5), compare_one(tmp_path)
    assert (change.decision.outcome, verdict(pair)) == ("undecided", "undecided")
    text = read_screen(tmp_path, capsys, "compare", "old", "new")
    assert "No difference" not in text
    assert f"undecided; only {n} of the earlier 40 questions are in common" in text


def test_a_loss_on_too_few_common_questions_is_told_of_these_alone(tmp_path: Path) -> None:
    record(tmp_path, "old", rows(100))
    record(tmp_path, "new", rows(60, wrong=range(30)))
    change, comparison = gate_one(tmp_path), compare_runs(["old", "new"], runs=tmp_path / "runs")
    assert change.decision.outcome == "regressed"
    (text,) = lead(comparison)
    assert " is worse than " in text
    assert text.endswith("only 60 of the earlier 100 questions are in common")
    assert "<failure" in junit(comparison)


def test_95_in_100_common_questions_are_enough(tmp_path: Path) -> None:
    record(tmp_path, "old", rows(100))
    record(tmp_path, "new", rows(95))
    assert gate_one(tmp_path, max_drop=0.1).decision.outcome == "held"
    (text,) = lead(compare_runs(["old", "new"], runs=tmp_path / "runs"))
    assert text.startswith("No difference")
