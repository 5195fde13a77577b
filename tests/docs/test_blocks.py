"""No block of a page is left untried: a test of this folder runs its kind, or a table of this file names it."""

import re
from collections import Counter

import pytest

from basic_control.data.records import Family, Metric
from tests.conftest import TOP
from tests.helpers.pages import Block, blocks_of, is_configuration, pages

ELSEWHERE = {
    ("docs/applications.md", "def answer("): "tests/flows/test_applications.py",
    ("docs/baselines.md", "on: [pull_request]"): "tests/flows/test_builds.py",
    ("docs/baselines.md", "image: python"): "tests/flows/test_builds.py",
    ("docs/observability.md", "Chain of thought, answers"): "tests/flows/test_progress.py",
    ("docs/report.md", "heat:"): "tests/prompts/test_phrases.py",
    ("docs/servers.md", "stale_after_days:"): "tests/config/test_prices.py",
}
"""What is neither a configuration nor a command, and the test that runs it: page, a text of the block -> file."""
UNTRIED: dict[tuple[str, str], str] = {}
"""What no test runs, and why."""
BLOCKS = [one for page in pages() for one in blocks_of(page)]
OWN = [one for one in BLOCKS if one.language == "python" and "\n@bc." in one.text and one.page != "docs/python.md"]


def entry(one: Block, table: dict[tuple[str, str], str]) -> str:
    """Return what a table has for a block, '' where nothing."""
    return next((said for (page, text), said in table.items() if page == one.page and text in one.text), "")


@pytest.mark.parametrize("one", BLOCKS, ids=str)
def test_a_block_is_run_by_a_rule_or_named_with_its_reason(one: Block) -> None:
    """The rules: test_configurations.py (yaml, toml), test_commands.py (sh), test_python.py, units below, files."""
    if one.language == "python":
        compile(one.text, one.page, "exec")
    by_rule = (
        one.language in {"sh", "toml"}
        or one.page == "docs/python.md"
        or is_configuration(one)
        or one in OWN
        or one.language in {"csv", "jsonl"}
    )
    if one.language in {"csv", "jsonl"}:
        assert one.file, "a table is a file that the page names"
    assert by_rule != bool(entry(one, ELSEWHERE) or entry(one, UNTRIED)), "one rule, or one reason"


def test_the_tables_name_blocks_that_are_there_and_tests_that_read_them() -> None:
    for page, text in (*ELSEWHERE, *UNTRIED):
        assert Counter(text in one.text for one in blocks_of(page))[True] == 1, (page, text)
    for (page, _), test in ELSEWHERE.items():
        assert page.rpartition("/")[2] in (TOP / test).read_text(encoding="utf-8"), test
    assert len(UNTRIED) <= 3
    assert len(BLOCKS) > 70


@pytest.mark.parametrize("one", OWN, ids=str)
def test_a_unit_of_a_page_is_one_and_keeps_its_word(one: Block) -> None:
    """A metric is within its bounds and calls an empty reply no answer; a family accepts its own reference."""
    from random import Random

    space: dict[str, object] = {"__name__": "page"}
    exec(one.text, space)  # noqa: S102 - our own page
    (unit,) = (value for value in space.values() if isinstance(value, Metric | Family))
    if isinstance(unit, Metric):
        assert unit.score is not None
        low, high = unit.bounds
        for reply in ("Paris.", "LOUD " * 20):
            value = unit.score({"response": reply}, {}, {}).value
            assert value is not None
            assert low <= value <= high
        assert unit.score({"response": " "}, {}, {}).status == "no_answer"
        return
    assert isinstance(unit, Family)
    for level in unit.levels.values():
        item = unit.generate(Random(7), **level)
        assert unit.reference is not None
        assert unit.verify(item, unit.reference(item)).correct is True
        assert unit.verify(item, "").correct is None
        assert unit.verify(item, re.sub(r"\w", "9", unit.reference(item)) + "9").correct is not True


def test_every_fence_is_of_a_language_that_has_a_rule_and_is_closed() -> None:
    assert {one.language for one in BLOCKS} <= {"yaml", "yml", "sh", "python", "toml", "csv", "jsonl", "text"}
    for page in pages():
        text = (TOP / page).read_text(encoding="utf-8")
        assert text.count("```") == 2 * len(blocks_of(page)), page
