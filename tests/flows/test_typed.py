"""Messages and help speak of what was typed: the option, the suite, the file; and say where else a thing is."""

import json
from pathlib import Path

import pytest

from basic_control.flows.cli.application import main
from tests.conftest import Run
from tests.helpers.foreign import call, rows, write
from tests.helpers.runs import latest

REPLIES = ["5", "4", "4", "4", "4", "4"]
ROWS = [{"question": f"q{n}?", "answer": "4", "response": reply} for n, reply in enumerate(REPLIES)]


def write_suites(folder: Path, *names: str) -> Path:
    """Write a configuration with suites of these names, whose data does not exist, and rows beside it."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    suites = [{"name": name, "items": {"data": "nowhere.jsonl"}, "metrics": ["exact_match"]} for name in names]
    path = folder / "eval.yaml"
    path.write_text(json.dumps({"suites": suites}))
    return path


@pytest.mark.parametrize("name", ["caps_gen", "v3.1", "a-b_c"])
def test_the_data_of_the_only_suite_needs_no_name(run: Run, tmp_path: Path, name: str) -> None:
    done = run(str(write_suites(tmp_path, name)), "--data", str(tmp_path / "rows.jsonl"), command="run")
    assert done.returncode == 0, done.stderr
    results = json.loads((latest(tmp_path) / "results.json").read_text())
    assert results["final"]["models"][0]["suites"][0]["n_scored"] == len(ROWS)


def test_of_several_suites_the_one_named_gets_the_data(run: Run, tmp_path: Path) -> None:
    file, data = str(write_suites(tmp_path, "first", "second")), str(tmp_path / "rows.jsonl")
    done = run(file, "--data", data, command="run")
    assert done.returncode == 2
    assert "one of first, second: run " in done.stderr
    assert run(file, "second", "--data", data, command="run").returncode == 0


def test_a_file_named_like_yaml_is_data_too(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "[rows].jsonl"
    file = write_suites(tmp_path, "first")
    data.write_bytes((tmp_path / "rows.jsonl").read_bytes())
    assert run(str(file), "--data", str(data), command="run").returncode == 0


def test_a_message_names_the_option_that_was_typed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = write_suites(tmp_path, "first")
    for words in (
        ("--fail-on", "threshold", "--set", "colour=1"),
        ("--data", "rows.jsonl", "--set", "first.dark=1"),
    ):
        assert main(["run", str(file), *words]) == 2
        assert "error: --set " in capsys.readouterr().err
    # Wrong sections let the message name the assignment that reached into them.
    file.write_text("suites: 5\nreport: 7\n")
    for words in (("--name", "nightly"), ("--data", "rows.jsonl"), ("--model", "phi3")):
        assert main(["run", str(file), *words]) == 2
        assert "--set" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "--seed", "42"], "--set SUITE.items.sample.seed=…, --set models.0.seed=…"),
        (["run", "--set", "seed=7"], "'seed' is a key further down: SUITE.items.sample.seed, models.0.seed"),
        (["run", "--set", "basic_contrl.n_items=3"], "Did you mean 'basic_control'?"),
        (["run", "--temperature", "0"], "--set models.0.temperature=…"),
        (["exam", "--max-tokens", "9"], "--set models.0.max_tokens=…, --set judges.0.max_tokens=…"),
        (["run", "--set", "columns.answer=expected"], "'columns' is a key further down: SUITE.items.columns"),
        (["compare", "a", "--threshold", "1"], "a key of a configuration, which `run` takes; compare reads"),
        (["runs"], "expected a command after it, one of list, note"),
        (["baseline"], "one of set, list, show"),
    ],
)
def test_what_is_elsewhere_is_said(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert says in capsys.readouterr().err


def test_the_help_shows_names_that_can_be_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["run", "--help"]) == main(["show", "--help"]) == 0
    output = capsys.readouterr().out
    assert "-o, --json FILE" in output
    assert "-n, --n N" in output
    assert "drawn at random by the seed of its items" in output


def test_a_gate_by_the_interval_is_undecided_where_luck_would_pass(tmp_path: Path) -> None:
    file = write("jsonl", tmp_path / "new", rows([1] * 8 + [0, 0]))
    code, output, _ = call("gate", file, "--threshold", 0.7, at=tmp_path)
    assert (code, "Luck may have decided" in output) == (0, True), output
    code, output, _ = call("gate", file, "--threshold", 0.7, "--gate", "interval", at=tmp_path)
    assert (code, "undecided" in output, "Luck" in output) == (3, True, False), output
    code, output, _ = call("gate", file, "--threshold", 0.2, at=tmp_path)
    assert (code, "Luck" in output) == (0, False), output


def test_a_metric_is_named_among_those_of_the_one_file(tmp_path: Path) -> None:
    lines = [{**row, "more": {"acc_norm": row["score"]}} for row in rows([1, 0, 1, 1, 0, 1])]
    file = write("lm-eval", tmp_path / "new", lines)
    code, _, output = call("gate", file, "--threshold", 0.2, "--metric", "f1", at=tmp_path)
    assert (code, "one of the metrics of new.jsonl: " in output, "both" in output) == (2, True, False), output
    code, output, _ = call("gate", file, "--threshold", 0.2, "--metric", "exact_match,acc_norm", at=tmp_path)
    assert code == 0, output


def test_the_newest_run_is_named_last_in_every_command_that_takes_one(run: Run, tmp_path: Path) -> None:
    file, data = str(write_suites(tmp_path, "s")), str(tmp_path / "rows.jsonl")
    for _ in range(2):
        assert run(file, "--data", data, command="run").returncode == 0
    newest = latest(tmp_path).name
    options = ("--set", f"store.runs={tmp_path / 'runs'}")
    reading = {
        "show": ["last"],
        "compare": ["last"],
        "gate": ["last", "--threshold", "0.5"],
        "audit": ["last", "--out", str(tmp_path / "audit")],
        "runs": ["note", "last", "nightly"],
        "baseline": ["set", str(tmp_path / "base.json"), "last"],
        "exchange": ["write", "last", "--to", str(tmp_path / "records")],
    }
    for command, words in reading.items():
        done = run(*words, *options, command=command)
        assert done.returncode == 0, (command, done.stderr)
    # What is repeated is recorded by its own name: another run is the newest then.
    done = run("--run", "last", "--rerun", "report", *options, command="run")
    assert done.returncode == 0, done.stderr
    assert json.loads((latest(tmp_path) / "manifest.json").read_text())["rerun"]["of"] == newest
    done = run("--run", "last", "--dry-run", *options, command="exam")
    assert "exam: found no judge" in done.stderr, "the run was found, and has none"


def test_last_without_any_run_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words in (
        ["show"],
        ["baseline", "set", "main", "last"],
        ["runs", "note", "last", "x"],
        ["run", "--run", "last"],
    ):
        assert main([*words, "--set", f"store.runs={tmp_path}"]) == 2
        assert f"last: found 0 finished evaluations in {tmp_path}" in capsys.readouterr().err


def test_a_judge_of_several_metrics_is_named_once(tmp_path: Path) -> None:
    lines = [{**row, "more": {"faithfulness": 0.5, "context_recall": 1.0}} for row in rows([1, 0, 1, 1, 0, 1])]
    file = write("ragas-jsonl", tmp_path / "new", lines)
    code, output, _ = call("gate", file, "--threshold", 0.2, at=tmp_path)
    assert code == 0, output
    (line,) = [line for line in output.splitlines() if "from a judge" in line]
    assert "come from a judge" in line
    assert all(metric in line for metric in ("faithfulness", "context_recall"))


def test_a_run_that_luck_may_have_passed_says_so(run: Run, tmp_path: Path) -> None:
    file, data = str(write_suites(tmp_path, "s")), str(tmp_path / "rows.jsonl")
    cases = ((0.7, "point", True), (0.2, "point", False), (0.9, "point", False), (0.7, "interval", False))
    for threshold, gate, is_said in cases:
        done = run(
            file, "--data", data, "--set", f"s.threshold={threshold}", "--set", f"gate={gate}", command="run"
        )
        assert ("Luck may have helped: s 83.3%" in done.stdout) == is_said, done.stdout
