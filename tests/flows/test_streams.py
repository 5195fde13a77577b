"""A run's output goes to any encoding and to a reader that leaves: the exit code stays the verdict's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TOP

RUN = """
suites:
  - name: own
    title: {en: "наш набор ≥ ½ 😀"}
    items: {data: rows.jsonl}
    metrics: {exact_match: {}}
    threshold: THRESHOLD
"""
RARE = ("cp1252", "latin-1", "ascii:strict", "cp437", "koi8-r", "utf-16")
ROWS = '{"question": "Да?", "answer": "да — «да» 😀", "response": "да — «да» 😀"}\n' * 3


def start(folder: Path, *words: str, threshold: float = 0.5, **variables: str) -> list[str]:
    """Write a run of replies that are given, and return the command that starts it."""
    (folder / "rows.jsonl").write_text(ROWS, "utf-8")
    (folder / "run.yaml").write_text(RUN.replace("THRESHOLD", str(threshold)), "utf-8")
    os.environ |= variables
    return [sys.executable, "-m", "basic_control", *(words or ("run", "run.yaml"))]


@pytest.mark.parametrize(
    ("encoding", "is_passed"),
    [("ascii", True), ("cp1252", False), *(pytest.param(name, True, marks=pytest.mark.slow) for name in RARE)],
)
def test_what_an_encoding_lacks_is_replaced(encoding: str, tmp_path: Path, *, is_passed: bool) -> None:
    command = start(tmp_path)
    if not is_passed:
        (tmp_path / "rows.jsonl").write_text(ROWS.replace('"response": "да', '"response": "нет'), "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode("latin-1")
    assert done.returncode == (0 if is_passed else 1), output
    assert "Traceback" not in output
    assert "defect" not in output


CLOSED = """
import os, sys
for number in map(int, sys.argv[1]):
    os.close(number)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


@pytest.mark.parametrize("closed", ["12", *(pytest.param(name, marks=pytest.mark.slow) for name in "12")])
def test_a_stream_that_is_closed_changes_no_exit_code(closed: str, tmp_path: Path) -> None:
    command = start(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    starter = [sys.executable, "-c", CLOSED, closed, *command[1:]]
    done = subprocess.run(starter, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "artifacts" / "runs").is_dir()


# Each is a process: of a run, an error and an output that needs no run, one stays quick.
LEFT = [
    (("run", "run.yaml"), "stdout"),
    (("run", "nothing.yaml"), "stderr"),
    (("schema",), "stdout"),
    *(
        pytest.param(words, stream, marks=pytest.mark.slow)
        for words, stream in [
            (("run", "run.yaml"), "stderr"),
            (("run", "nothing.yaml"), "stdout"),
            (("schema",), "stderr"),
            (("--help",), "stdout"),
            (("--help",), "stderr"),
        ]
    ),
]


@pytest.mark.parametrize(("words", "stream"), LEFT)
def test_a_reader_that_leaves_changes_no_exit_code(words: tuple[str, ...], stream: str, tmp_path: Path) -> None:
    command = start(tmp_path, *words)
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writing}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        check=False,
        text=True,
        stdout=streams["stdout"],
        stderr=streams["stderr"],
    )
    os.close(writing)
    text = done.stderr if stream == "stdout" else done.stdout
    assert done.returncode == (2 if "nothing.yaml" in words else 0), text
    assert "BrokenPipe" not in text
    assert "Traceback" not in text
