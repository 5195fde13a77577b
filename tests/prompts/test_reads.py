"""Which columns a prompt reads: told from its text, without filling it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from basic_control.data import plugins
from basic_control.data.errors import InputError
from basic_control.data.questions import WHOLE
from basic_control.prompts import digest_template, fill, find_columns, load_template


@pytest.mark.parametrize(
    ("prompt", "columns"),
    [
        ("How are you?", set()),
        ("{{ ticket }} of {{ tier | upper }}", {"ticket", "tier"}),
        ("{% for one in passages %}{{ loop.index }} {{ one.text }}{% endfor %}", {"passages"}),
        ("{% set x = question %}{{ x }}", {"question"}),
        ("{% if hint %}a hint{% endif %}", {"hint"}),
        ("{{ row.ticket }} {{ row['the tier'] }}", {"ticket", "the tier"}),
        ("{% for name in row %}{{ name }}{% endfor %} {{ row.ticket }}", {WHOLE, "ticket"}),
        ("{% for name, value in row.items() %}{{ name }}: {{ value }}{% endfor %}", {WHOLE}),
        ("{{ question }} {{ row.get('hint', '') }}", {"question", "hint"}),
        ("{% set row = question %}{{ row.ticket }}", {"question"}),
        ("citation/passages", {"question", "passages"}),
        ("rag/answer", {"question", "retrieved_contexts"}),
    ],
)
def test_a_prompt_reads_the_columns_that_it_names(prompt: str, columns: set[str]) -> None:
    assert find_columns(prompt) == columns


def test_a_prompt_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="not valid Jinja2"):
        find_columns("{{ question")


@pytest.fixture(autouse=True)
def _as_at_a_start() -> Iterator[None]:
    load_template.cache_clear()
    yield
    load_template.cache_clear()


def test_what_a_template_includes_is_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest decides whether items and requests are made again, and its columns whether questions are equal."""
    (tmp_path / "en" / "support").mkdir(parents=True)
    included = tmp_path / "en" / "support" / "rules.j2"
    included.write_text("Be brief, {{ customer }}.", encoding="utf-8")
    task = '{% include "en/support/rules.j2" %} {{ question }}'
    (tmp_path / "en" / "support" / "task.j2").write_text(task, encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, str(tmp_path))
    before = digest_template("support/task", "en")
    assert find_columns("support/task") == {"question", "customer"}
    included.write_text("Be polite, {{ customer }}.", encoding="utf-8")
    assert digest_template("support/task", "en") != before


@pytest.mark.parametrize("name", ["support/task", "cot/task"])
def test_two_templates_of_one_name_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One would be asked in the other's place: of two plug-ins', or of ours and one that means to replace it."""
    there = [tmp_path / one for one in ("mine", "yours")]
    for folder in there[name == "cot/task" :]:
        (folder / "en" / name).parent.mkdir(parents=True)
        (folder / "en" / f"{name}.j2").write_text("{{ question }}", encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join(map(str, there)))
    for folder in there:
        folder.mkdir(exist_ok=True)
    with pytest.raises(InputError, match=rf"two prompts are named en/{name}\.j2: in .*(mine|prompts) and .*yours"):
        fill(name, "en", {"question": "?"})


def test_a_template_chosen_as_it_is_filled_and_one_that_may_be_missing_are_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "en" / "pick").mkdir(parents=True)
    for name in ("long", "short"):
        (tmp_path / "en" / "pick" / f"{name}.j2").write_text("Be it.", encoding="utf-8")
    text = (
        '{% include "en/pick/long.j2" if tier else "en/pick/short.j2" %}'
        '{% include "en/pick/none.j2" ignore missing %}{{ question }}'
    )
    (tmp_path / "en" / "pick" / "task.j2").write_text(text, encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, str(tmp_path))
    before = digest_template("pick/task", "en")
    (tmp_path / "en" / "pick" / "short.j2").write_text("Be brief.", encoding="utf-8")
    assert digest_template("pick/task", "en") != before
