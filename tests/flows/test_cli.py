"""The command line: what is typed, what is answered, and with which exit code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from basic_control.config.reading import find_fallback, read
from basic_control.data.errors import InputError
from basic_control.data.exits import EXPLAINED, Exit
from basic_control.flows.cli.application import COMMANDS, GROUPS, HIDDEN, alias, main
from tests.conftest import TOP


def started(*command: str, folder: Path = TOP) -> subprocess.CompletedProcess[str]:
    """Run a module of the checkout."""
    environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("module", ["flows.full_eval", "flows.cot"])
def test_a_module_names_itself_in_its_help_and_the_exit_codes(module: str) -> None:
    done = started(module, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: python -m {module} ")
    assert EXPLAINED in done.stdout


def test_the_documentation_has_every_command_and_every_exit_code() -> None:
    text = (TOP / "docs" / "commands.md").read_text(encoding="utf-8")
    named = {
        name for row in re.findall(r"^- (`.*?):", text, re.MULTILINE) for name in re.findall(r"`([a-z]+)", row)
    }
    assert {*COMMANDS} - {*GROUPS[HIDDEN]} <= named
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)] == sorted(Exit)


def test_a_message_names_a_command_as_it_was_typed(tmp_path: Path) -> None:
    done = started("basic_control", "init", str(tmp_path / "module"))
    assert f"Next: python -m basic_control run {tmp_path}" in done.stdout, done.stderr
    script = str(Path(sys.executable).with_name("basic-control"))
    command = [script, "init", str(tmp_path / "script")]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert f"Next: basic-control run {tmp_path}" in done.stdout, done.stderr


def test_the_help_has_two_groups_in_an_order_that_begins_where_users_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["--help"]) == 0
    first, more = capsys.readouterr().out.split("─ More ─")
    names = [re.findall(r"^│ ([a-z]+) ", part, re.MULTILINE) for part in (first, more)]
    assert names == [
        ["init", "run", "compare", "gate", "view", "show", "demo", "exam"],
        [
            "audit",
            "label",
            "rejudge",
            "baseline",
            "exchange",
            "fetch",
            "runs",
            "store",
            "schedule",
            "schema",
            "completion",
            "doctor",
        ],
    ]
    assert "run (eval) " in first


@pytest.mark.parametrize("words", [["serve"], ["deploy"], ["worker"], ["schedule", "worker"], ["eval"]])
def test_a_command_that_the_help_does_not_show_goes_on_working(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--help"]) == 0
    assert f"Usage: basic-control {' '.join(words).replace('eval', 'run')} [OPTIONS]" in capsys.readouterr().out


BAD = [
    (["run", "--colour"], "Unknown option: --colour"),
    (["run", "--log", "yaml"], '"text", "json"'),
    (["run", "--rerun", "answer"], "Choose from"),
    (["run", "--set"], "--set requires an argument"),
    (["run", "cot", "rag"], "rag"),
    (["run", "--data", "x.csv"], "expected the name of the suite whose data it is, one of "),
    (["run", "--only-failed"], "expected --run RUN as well"),
    (["run", "--run", "a", "--resume", "b"], "found two runs"),
    (["compare"], "found no run; expected several"),
    (["store"], "expected a command after it"),
    (["fetch"], "found no data set's name"),
    (["estimate", "cot"], "estimate: this command was removed; use `run --dry-run`."),
    (["level", "m", "--config", "x.yaml"], "level: this command was removed; "),
    (["runs", "tag", "r01", "nightly"], "runs tag: this command was removed; set a note with `runs note RUN TEXT`"),
    (["serve", "--port", "none"], 'unable to convert "none" into int'),
    (["serve", "--port", "65536"], "65535"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_a_wrong_line_is_one_message_and_exit_code_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert message in said.err
    assert len(said.err.splitlines()) == 1


def test_of_an_option_given_twice_the_last_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--config", "first.yaml", "--config=second.yaml"]) == 2
    assert capsys.readouterr().err.startswith("error: second.yaml: cannot be read")


def test_a_module_takes_what_the_command_takes(capsys: pytest.CaptureFixture[str]) -> None:
    start = alias("flows.rag", ("run", "rag"))
    assert start(["--data", "nowhere.jsonl", "--set", "rag.colour=red"]) == 2
    assert "unknown key 'rag.colour'" in capsys.readouterr().err


def test_a_suites_module_has_named_its_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert alias("flows.cot", ("run", "cot"))(["--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: python -m flows.cot [OPTIONS] [ARGS...]\n\nEvaluate models")
    assert alias("flows.cot", ("run", "cot"))(["rag"]) == 2
    assert "cot and rag: found two suites, expected one" in capsys.readouterr().err


def test_a_reader_that_has_read_enough_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "replies.sqlite").write_bytes(b"no database" * 100)
    command = [
        sys.executable,
        "-m",
        "basic_control",
        "store",
        "verify",
        "--set",
        f"store.root={tmp_path / 'store'}",
    ]
    with subprocess.Popen(
        [*command, "--set", f"store.runs={tmp_path}"],
        cwd=TOP,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (1, "")


def test_a_file_here_goes_before_the_one_that_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_fallback("config/smoke.yaml") == TOP / "config" / "smoke.yaml"
    assert read("config/smoke.yaml") == read(TOP / "config" / "smoke.yaml")
    for name in ("smoke.yaml", "config/none.yaml", "other/smoke.yaml"):
        assert find_fallback(name) is None
        with pytest.raises(InputError, match="cannot be read"):
            read(name)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "smoke.yaml").write_text("colour: red\n", encoding="utf-8")
    assert find_fallback("config/smoke.yaml") is None
    with pytest.raises(InputError, match=r"config/smoke\.yaml, line 1: unknown key 'colour'"):
        read("config/smoke.yaml")


def test_which_configuration_is_read_is_said(tmp_path: Path) -> None:
    done = started("basic_control", "--config", "config/ollama.yaml", "--set", "colour=red", folder=tmp_path)
    assert done.returncode == 2
    said, wrong = done.stderr.splitlines()
    assert said.startswith("config/ollama.yaml: not found here; using the one that ships")
    assert "unknown key 'colour'" in wrong
