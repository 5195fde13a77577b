"""Each row of the reader's tables reads its own example."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import basic_control.data.reading
from basic_control.data.numerals import find_numbers, narrow_digits
from basic_control.data.reading import ends, quantity, reply_text, thinking, words
from basic_control.data.reading.answer import read
from basic_control.data.reading.choices import build_options
from basic_control.data.reading.texts import unify

FOLDER = Path(basic_control.data.reading.__file__).parent
LETTERS = build_options(tuple((letter, "") for letter in "ABCD"))
LANGUAGES = 22


def table(name: str) -> Mapping[str, Any]:
    content: Mapping[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    return content


def forms(name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (section, row) of the sections that are lists of forms."""
    sections = {section: rows for section, rows in table(name).items() if isinstance(rows, list)}
    return [(section, row) for section, rows in sections.items() for row in rows if section != "answers"]


def thinking_rows() -> list[Mapping[str, Any]]:
    content = table("thinking")
    return [*(row for tags in content["tags"].values() for row in tags.values()), *content["forms"]]


@pytest.mark.parametrize("row", thinking_rows(), ids=lambda row: row["example"][:30])
def test_thinking_is_taken_off(row: Mapping[str, Any]) -> None:
    assert thinking.split(row["example"]) != (row["example"], "")
    assert reply_text(row["example"]) == row["left"]


@pytest.mark.parametrize(("section", "row"), forms("ends"))
def test_what_is_no_reply_is_taken_off(section: str, row: Mapping[str, Any]) -> None:
    assert reply_text(row["example"]) == row["left"]
    assert section in {"noise", "roles"} or ends.split_at_end(row["example"]) != (row["example"], "")


@pytest.mark.parametrize("row", table("words")["answers"], ids=lambda row: row["language"])
def test_each_language_states_an_answer_in_its_own_words(row: Mapping[str, Any]) -> None:
    for example in row["examples"]:
        reading = read(unify(example), LETTERS)
        assert reading.values == {"B"}, example
        assert reading.is_said, example


def test_there_are_enough_languages() -> None:
    assert len(table("words")["answers"]) >= LANGUAGES


@pytest.mark.parametrize(("section", "row"), forms("words"))
def test_each_form_of_words_is_read(section: str, row: Mapping[str, Any]) -> None:
    """`reads` is the option that the example states; without it, it states none."""
    example = unify(row["example"])
    assert read(example, LETTERS).values == {row["reads"]} if "reads" in row else is_unread(example)
    if section != "purposes":  # they stand before a cue, at the end of a stretch
        assert words.pattern(section, example).search(example)


def is_unread(example: str) -> bool:
    values = read(example, LETTERS).values
    return values is None or len(values) != 1


@pytest.mark.parametrize(("section", "row"), forms("quantity"))
def test_each_form_about_quantities_is_in_its_example(section: str, row: Mapping[str, Any]) -> None:
    example = narrow_digits(row["example"])
    assert quantity.pattern(section).search(example) or any(
        quantity.pattern(section).search(example, 0, number.start) for number in find_numbers(example)
    )
