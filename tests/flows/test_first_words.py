"""What a command imports before it answers: a page of --help, a wrong line, a wrong key."""

import subprocess
import sys

import pytest

from tests.conftest import TOP

DRAWING = {"cyclopts", "rich", "attrs"}
CONFIGURATION = {"pydantic", "yaml"}
WORK = {"polars", "prefect", "openai", "ollama", "numpy", "sqlalchemy", "jinja2", "httpx", "rapidfuzz"}


def imported(*words: str) -> tuple[int, set[str]]:
    """Start an entry point with these words; return its exit code, and the packages that it imported."""
    told = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.__stderr__)); "
    told += "from basic_control.flows.cot import main; raise SystemExit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", told, *words], cwd=TOP, capture_output=True, text=True, check=False
    )
    return done.returncode, {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize(
    ("words", "code", "without"),
    [
        (["--help"], 0, CONFIGURATION | WORK),
        (["--nosuch"], 2, WORK),
        (["--set", "nosuch=1"], 2, {"rich"} | WORK),
        (["--set", "store.nosuch=1"], 2, {"rich"} | WORK),
        (["--set", "cot.nosuch=1"], 2, {"polars", "prefect", "openai", "numpy", "sqlalchemy"}),
    ],
)
def test_what_cannot_be_run_imports_nothing_that_runs(words: list[str], code: int, without: set[str]) -> None:
    ended, found = imported(*words)
    assert ended == code
    assert not found & without


def test_entry_points_import_nothing_that_lays_out_a_page() -> None:
    told = "import sys, flows.cot, basic_control.__main__, flows.cli.application; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], cwd=TOP, capture_output=True, text=True, check=True)
    found = {name.partition(".")[0] for name in done.stdout.split()}
    assert not found & (DRAWING | CONFIGURATION | WORK)
