"""The pages' templates are compiled once, kept beside Python's own bytecode, and never by rules that went."""

import shutil
import sys
from pathlib import Path
from types import FrameType

import pytest

from basic_control.tasks.report import pages


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of templates that stands in for the room's own; what is read in it is written down there."""
    for template in pages.HERE.glob("*.j2"):
        shutil.copy(template, tmp_path)
    (tmp_path / "__pycache__").mkdir()
    monkeypatch.setattr(pages, "HERE", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def compiled() -> int:
    """Return how often a new process's first template would be compiled."""
    calls: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name == "generate" and Path(code.co_filename).parts[-2:-1] == ("jinja2",):
            calls.append(code.co_filename)

    sys.setprofile(note)
    try:
        pages.environment.__wrapped__().get_template("message.html.j2")
    finally:
        sys.setprofile(None)
    return sum(Path(one).name == "compiler.py" for one in calls)


def kept(folder: Path) -> list[Path]:
    return [*(folder / "__pycache__").iterdir()]


def test_a_template_is_compiled_at_its_first_use_and_where_it_changed(folder: Path) -> None:
    assert [compiled(), compiled(), len(kept(folder))] == [1, 0, 1]
    with (folder / "message.html.j2").open("a", encoding="utf-8") as file:
        file.write("{# changed #}")
    assert [compiled(), compiled()] == [1, 0]


def test_nothing_is_written_where_no_bytecode_is_to_be(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert [compiled(), compiled(), kept(folder)] == [1, 1, []]


def test_a_page_needs_no_folder_that_can_be_written(folder: Path) -> None:
    (folder / "__pycache__").rmdir()
    assert [compiled(), compiled()] == [1, 1]
