"""What a command imports before it answers: a page of --help, a wrong line, a wrong key."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from flows.cli import pages
from tests.conftest import TOP

DRAWING = {"cyclopts", "rich", "attrs"}
CONFIGURATION = {"pydantic", "yaml"}
WORK = {"polars", "prefect", "openai", "ollama", "numpy", "sqlalchemy", "jinja2", "httpx", "rapidfuzz"}


def imported(*words: str) -> tuple[int, set[str]]:
    """Start an entry point with these words; return its exit code, and the packages that it imported."""
    told = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.__stderr__)); "
    told += "from flows.cot import main; raise SystemExit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", told, *words], cwd=TOP, capture_output=True, text=True, check=False
    )
    return done.returncode, {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize(
    ("words", "code", "without"),
    [
        (["--help"], 0, CONFIGURATION | WORK),
        (["--nosuch"], 2, CONFIGURATION | WORK),
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


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have pages kept in a folder of its own, and sources looked for in another."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "run.py").touch()
    monkeypatch.setattr(pages, "_SOURCES", (tmp_path / "sources",))
    where = Path(cache_from_source(pages.__file__)).parent
    where.mkdir(parents=True)
    yield tmp_path / "sources" / "run.py"
    assert all(path.suffix == ".json" for path in where.iterdir()), "nothing half written is left behind"


def test_a_page_is_laid_out_once_until_its_sources_or_the_terminal_change(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def asked(*words: str) -> str:
        def work() -> int:
            made.append(" ".join(words))
            sys.stdout.write(f"page {len(made)} é\n")
            return 0

        assert pages.page("name", words, work) == 0
        return capsys.readouterr().out

    assert asked("run", "--help") == "page 1 é\n"
    assert asked("run", "--help") == "page 1 é\n"
    assert asked("run", "-h") == "page 2 é\n", "another line"
    monkeypatch.setenv("COLUMNS", "40")
    assert asked("run", "--help") == "page 3 é\n", "another width"
    monkeypatch.delenv("COLUMNS")
    assert asked("run", "--help") == "page 1 é\n"
    os.utime(kept, ns=(1, 1))
    assert asked("run", "--help") == "page 4 é\n", "another source"
    assert asked("run", "--help") == "page 4 é\n"
    assert asked("--set", "x", "--help") == "page 5 é\n"
    assert asked("--set", "x", "--help") == "page 6 é\n", "what is not help alone is always run"


def shown(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


def test_a_page_that_failed_or_is_damaged_is_made_again(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pages.page("name", ["--help"], lambda: 2) == 2
    assert pages.page("name", ["--help"], lambda: shown("whole")) == 0
    (path,) = Path(cache_from_source(pages.__file__)).parent.iterdir()
    path.write_text('{"sources": ', encoding="utf-8")
    assert pages.page("name", ["--help"], lambda: shown("again")) == 0
    assert pages.page("name", ["--help"], lambda: 1) == 0
    assert capsys.readouterr().out == "whole\nagain\nagain\n"
    assert kept.is_file()
