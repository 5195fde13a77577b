"""YAML that nests without end is a message, wherever it comes from, and ends no process."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from basic_control.config.reading import read
from basic_control.data.errors import InputError
from basic_control.data.yaml_depth import DEEPEST, check_depth
from tests.conftest import TOP

MANY = 50_000
FORMS = {
    "lists": "[" * MANY,
    "closed lists": "[" * MANY + "]" * MANY,
    "mappings": "{a: " * MANY,
    "lists in a line": "- " * MANY + "a",
    "keys": "? " * MANY,
    "indented": "\n".join(" " * level + "a:" for level in range(1000)),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_nests_without_end_is_refused_with_its_line(form: str, tmp_path: Path) -> None:
    with pytest.raises(yaml.MarkedYAMLError, match="nested deeper than 100 levels"):
        check_depth(FORMS[form])
    (tmp_path / "deep.yaml").write_text(FORMS[form], "utf-8")
    with pytest.raises(InputError, match=r"deep.yaml, line \d+: not valid YAML: nested deeper than 100 levels"):
        read(tmp_path / "deep.yaml")


def test_what_nests_as_deep_as_is_allowed_is_read() -> None:
    check_depth("[" * DEEPEST + "]" * DEEPEST)
    check_depth("a: [1, 2]\n" * 1000)
    with pytest.raises(yaml.MarkedYAMLError):
        check_depth("[" * (DEEPEST + 1))


@pytest.mark.parametrize("words", [("run", "deep.yaml"), ("run", "--set", "suites=" + "[" * MANY)])
def test_no_process_ends_by_a_signal(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "deep.yaml").write_text("suites: " + FORMS["closed lists"], "utf-8")
    command = [sys.executable, "-m", "basic_control", *words]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(TOP)}, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"not valid YAML" in done.stderr
