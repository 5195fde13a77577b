"""What a build reads after a run that ended with an error: never an earlier run's green files."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from basic_control.flows.cli.application import main
from tests.conftest import Run

SUITE = {"name": "desk", "items": {"data": "rows.jsonl"}, "prompt": "{{ question }}", "metrics": ["contains"]}


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A command over a model whose server is down, with files of an earlier run."""
    model = {"name": "m", "provider": "openai", "base_url": "http://127.0.0.1:1/v1"}
    (tmp_path / "eval.yaml").write_text(json.dumps({"models": [model], "suites": [SUITE]}), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"question": "Ticket?", "answer": "printer"}\n', encoding="utf-8")
    for name in ("junit.xml", "summary.md", "results.json"):
        (tmp_path / name).write_text("of an earlier run: passed", encoding="utf-8")
    files = ["--junit", "junit.xml", "--markdown", "summary.md", "--json", "results.json"]
    return [str(tmp_path / "eval.yaml"), *files]


def check_files(folder: Path, message: str) -> None:
    """Check that each file holds the error, and nothing of before."""
    (case,) = ET.parse(folder / "junit.xml").iter("testcase")  # noqa: S314 - our own file
    error = case.find("error")
    assert error is not None
    assert message in error.attrib["message"]
    assert message in (folder / "summary.md").read_text(encoding="utf-8").replace("\\", "")
    assert message in json.loads((folder / "results.json").read_text(encoding="utf-8"))["error"]


def test_an_error_is_written_to_the_files_of_a_run(run: Run, tmp_path: Path, words: list[str]) -> None:
    assert run(*words, cwd=tmp_path).returncode == 2
    check_files(tmp_path, "nothing listens at http://127.0.0.1")


def test_a_configuration_that_is_not_valid_leaves_no_earlier_files(
    run: Run, tmp_path: Path, words: list[str]
) -> None:
    assert run(*words, "--set", "models.0.temperature=hot", cwd=tmp_path).returncode == 2
    check_files(tmp_path, "models.0.temperature")


def test_a_dry_run_writes_no_files(run: Run, tmp_path: Path, words: list[str]) -> None:
    run(*words, "--dry-run", cwd=tmp_path)
    assert (tmp_path / "junit.xml").read_text(encoding="utf-8") == "of an earlier run: passed"


def test_an_unknown_option_is_answered_with_the_help_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "last", "--html", "g.html"]) == 2
    assert "See basic-control gate --help." in capsys.readouterr().err
