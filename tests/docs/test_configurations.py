"""Every configuration of the pages is read as it stands and counted by a dry run, in this process."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.config.reading import read
from basic_control.data import plugins
from tests.conftest import TOP
from tests.helpers.estimates import estimate
from tests.helpers.pages import Block, blocks_of, is_configuration, pages, write_files

APP = "def answer(prompt):\n    return '1'\n"
"""What is asked in place of the pages' models: a dry run asks who they are, and nobody here is at home there."""
ROWS = '{"question": "Q?", "answer": "A", "reference": "A.", "response": "A.", "retrieved_contexts": ["A."]}\n'
PLAIN = {"docs/baselines.md", "docs/stopping.md"}
"""Pages whose tickets have the columns `question` and `answer`."""
CONFIGURATIONS = [one for page in pages() for one in blocks_of(page) if is_configuration(one)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in a folder with what blocks name; forget at the end which plug-ins they used."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(plugins.VARIABLE, "")
    plugins.forget()
    write_files(tmp_path)
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text(ROWS, encoding="utf-8")
    yield tmp_path
    plugins.forget()


def stand_in(raw: dict[str, Any], key: str) -> list[dict[str, str]]:
    """Return the same models, answered by a function."""
    given = raw.get(key) or [{"name": "m"}]
    # A cascade asks others of the list.
    single = [one for one in given if "cascade" not in one]
    return [{"name": one["name"], "provider": "python", "function": "app.py:answer"} for one in single]


@pytest.mark.parametrize("one", CONFIGURATIONS, ids=str)
def test_a_configuration_is_read_and_its_dry_run_counts_it(one: Block, folder: Path) -> None:
    write_files(folder, one.page)
    if one.page in PLAIN:
        (folder / "tickets.jsonl").write_text('{"question": "Q?", "answer": "A"}\n', encoding="utf-8")
    raw = yaml.safe_load(one.text)
    path = folder / "this.yaml"
    needed = "" if {"models", "models_to_test"} & set(raw) else "models: [{name: m}]\n"
    path.write_text(needed + one.text, encoding="utf-8")
    settings = read(path)
    assert settings.suites
    if "models_to_test" in raw:
        raw = {"suites": ["basic_control"], "basic_control": {"families": raw["tests_to_run"], "n_items": 1}}
    raw |= {
        "models": stand_in(raw, "models"),
        "judges": stand_in(raw, "judges"),
        "store": {"root": str(folder / "s")},
    }
    raw.setdefault("suites", [{"name": "own", "items": {"data": "questions.jsonl"}, "metrics": ["contains"]}])
    path.write_text(yaml.safe_dump(raw, allow_unicode=True, sort_keys=False), encoding="utf-8")
    found = estimate(read(path))
    assert found.problems == []
    assert found.effects


def test_the_pages_show_configurations_of_every_kind() -> None:
    assert len(CONFIGURATIONS) > 20
    assert {"README.md", "docs/index.md", "docs/tutorial.md"} <= {one.page for one in CONFIGURATIONS}


def test_entry_points_are_of_groups_that_there_are() -> None:
    shown = [one for page in pages() for one in blocks_of(page) if one.language == "toml"]
    groups = {group for one in shown for group in tomllib.loads(one.text)["project"]["entry-points"]}
    assert groups
    kinds = {package.rpartition(".")[2] for package in plugins.FOLDERS.values()} | {"suites"}
    assert {group.removeprefix("basic_control.") for group in groups} <= kinds


def test_each_keys_entry_of_the_reference_stands_in_the_schema_that_editors_use() -> None:
    """The page of keys tells how an editor finds the schema."""
    page = (TOP / "docs" / "reference.md").read_text(encoding="utf-8")
    assert "# yaml-language-server: $schema=" in page
    assert "basic-control schema > basic-control.schema.json" in page
