"""Columns of questions and replies by the names of other tools, and contexts in the notations that files have."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.files import convert_text
from basic_control.data.notations import parse_list
from basic_control.data.records import Item

CONTEXTS = "retrieved_contexts"
USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("user_input", "input", "query"),
    "response": ("actual_output", "actualOutput", "answer"),
    "reference": ("expected_output", "expectedOutput", "ground_truth", "ground_truths"),
    CONTEXTS: ("retrieval_context", "retrievalContext", "retrievedContexts", "contexts"),
}
"""Other tools' names for our columns; our own names take precedence."""
_OPENERS = ("['", '["', "[{", "[]")


class MissingColumnError(InputError):
    """A column that a suite needs and its rows do not have."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


def find_column(name: str, columns: Collection[str]) -> str | None:
    """Return the column that holds what we call so, or None: of our own name, of another tool's, else in capitals.

    Only a single column may differ in case: of `Answer` and `ANSWER` neither is `answer`.
    """
    names = (name, *USUAL_NAMES.get(name, ()))
    column = next(filter(columns.__contains__, names), None)
    if column is not None:
        return column
    folded_names = {known_name.casefold() for known_name in names}
    matches = [column for column in columns if str(column).strip().casefold() in folded_names]
    if len(matches) == 1:
        return matches[0]
    return None


def add_columns(row: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a row with those columns that it has under other names; without such, the row itself.

    `response` is not among them: a column `answer` is the expected answer.
    """
    columns: dict[str, Any] = {}
    for name in {*names} - row.keys() - {"response"}:
        column = find_column(name, row)
        if column is None:
            continue
        columns[name] = row[column]
        if name == CONTEXTS and isinstance(row[column], str):
            columns[name] = parse_list(row[column])
        # One of `ground_truths` is the reference.
        if name != CONTEXTS and isinstance(row[column], list) and len(row[column]) == 1:
            columns[name] = row[column][0]
    if not columns:
        return row
    return {**row, **columns}


def name_facts(item: Item, names: Collection[str]) -> Item:
    """Return an item of a row with those of our columns that a prompt reads and the row has under other names."""
    if item.prompt:
        return item
    facts = add_columns(dict(item.facts), names)
    if facts == item.facts:
        return item
    return replace(item, facts=facts)


def read_question(sample: Mapping[str, Any]) -> str:
    """Return a row's question, by whatever name it has one."""
    names = ("question", *USUAL_NAMES["question"])
    texts = (value.strip() for value in map(sample.get, names) if isinstance(value, str))
    return next(filter(None, texts), "")


def parse_contexts(value: Any) -> list[Any]:
    """Return contexts as a list: one that it is, or that a text holds; anything else as the only one."""
    if isinstance(value, str):
        value = parse_list(value)
    if isinstance(value, list | tuple):
        return [*value]
    if value is None:
        return []
    return [value]


def read_contexts(value: Any, where: str) -> list[str]:
    """Return a row's contexts that are not empty: texts, or those of objects with `text`.

    Raises:
        InputError: it is a list that is broken off, or holds something else.
    """
    texts = []
    for context in parse_contexts(value):
        if context is value and isinstance(value, str) and value.strip().startswith(_OPENERS):
            raise InputError(
                f"{where}, {CONTEXTS}: found {value.strip()[:40]!r}, which begins as a list and is none; expected "
                "a list in JSON or Python notation, closed and with its quotation marks, or one text."
            )
        content = context
        if isinstance(context, Mapping):
            content = context.get("text")
        text = convert_text(content, f"{where}, {CONTEXTS}")
        if text and text.strip():
            texts.append(text)
    return texts
