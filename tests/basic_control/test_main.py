"""The start in a checkout: the path, and which command goes where."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import basic_control
from basic_control.__main__ import main
from basic_control.data.exits import EXPLAINED
from basic_control.flows.cli.application import COMMANDS, GROUPS, HIDDEN
from tests.conftest import TOP


def started(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line from a folder that is not the checkout."""
    environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "basic_control", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_rooms_are_the_ones_that_a_wheel_takes() -> None:
    built = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    wheel = built["targets"]["wheel"]
    assert wheel["sources"] == {room: f"basic_control/{room}" for room in basic_control.ROOMS}
    assert set(wheel["only-include"]) == {"basic_control", *basic_control.ROOMS}


def test_an_import_changes_no_path_and_takes_no_name_of_the_caller(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("KEY = 'mine'\n", encoding="utf-8")
    code = (
        "import sys; before = list(sys.path); import basic_control.data.records, config;"
        "print(config.KEY, sys.path == before, {name.partition('.')[0] for name in sys.modules} & "
        f"{set(basic_control.ROOMS)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "mine True {'config'}\n"


def test_help_lists_every_command_and_imports_nothing_heavy(tmp_path: Path) -> None:
    done = started("--help", folder=tmp_path)
    assert done.returncode == 0
    assert {name for name in COMMANDS if f" {name} " not in done.stdout} == {*GROUPS[HIDDEN]}
    words = (
        f"import sys; sys.path.insert(0, {str(TOP)!r}); from basic_control.__main__ import main; main(['--help']);"
    )
    heavy = "print({'prefect', 'polars', 'pydantic', 'jinja2', 'yaml'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", words + heavy], capture_output=True, text=True, check=True)
    assert told.stdout.endswith("set()\n"), told.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Usage: basic-control {name}")
    assert EXPLAINED in said


def test_an_unknown_command_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        'error: Unknown command "evaluate". Did you mean "eval"? Available commands: init, run, '
    )
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("words", [("run",), ()])
def test_run_is_what_is_meant_where_nothing_else_is_said(words: tuple[str, ...], tmp_path: Path) -> None:
    for name in ("config.py", "tasks.py", "flows.py"):
        (tmp_path / name).write_text("raise SystemExit('not this one')\n", encoding="utf-8")
    done = started(*words, "--config", "nowhere.yaml", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: nowhere.yaml: cannot be read")
