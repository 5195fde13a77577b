"""An adapter of another form is one file, found by its being there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from basic_control.tasks.exchange import adapters, discovery
from basic_control.tasks.exchange.log_files import read

ADAPTER = """
from basic_control.tasks.exchange.logs import Recorded, Stated

TOOL = "Another Tool"


def fits(source):
    return "another" in source.head


def read(source):
    yield Recorded("1", "2 + 2?", "4", "It is 4.", {"right": Stated(1.0)}, "tiny", "sums")
"""


@pytest.fixture
def another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "another_tool.py").write_text(ADAPTER, encoding="utf-8")
    monkeypatch.setattr(adapters, "__path__", [*adapters.__path__, str(tmp_path)])
    discovery.load_adapters.cache_clear()
    yield
    discovery.load_adapters.cache_clear()


@pytest.mark.usefixtures("another")
def test_a_file_in_the_folder_reads_its_form(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"another": 1}\n', encoding="utf-8")
    assert read(tmp_path / "log.jsonl").tool == "Another Tool"


def test_a_file_that_two_forms_fit_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for reader in discovery.load_adapters():
        monkeypatch.setattr(reader, "fits", lambda *_: True)
    (tmp_path / "log.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(
        Exception,
        match="it looks like a file of DeepEval and of Every Eval Ever and of Inspect and of lm-evaluation-harness",
    ):
        read(tmp_path / "log.jsonl")
