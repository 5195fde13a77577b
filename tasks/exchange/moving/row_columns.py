"""The columns of a converted test's row: its variables, under names that mean nothing else here."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from basic_control.data.errors import InputError, propose_name
from basic_control.metrics.checks.rows import COLUMN
from basic_control.tasks.exchange.moving.arranging import CRITERIA, LEFT_OUT
from basic_control.tasks.exchange.moving.conversions import Account, Case
from basic_control.tasks.exchange.moving.prompts import (
    AFFIXES,
    ConvertedPrompt,
    list_printed,
    list_tested,
    read_names,
)
from basic_control.tasks.exchange.moving.variables import UntakenError, fill_variables, write_text

Rows = list[dict[str, Any]]
RESERVED = (
    *("answer", "reference", "response", "id", "row", "template", "family", "level", "messages", "calls"),
    *("language", "finish_reason", "tools", COLUMN, CRITERIA, LEFT_OUT),
)
"""Columns with a meaning of their own: a variable of that name gets another."""
MOST_TESTS = 5
"""Tests that a message names."""
_NO_VARIABLES = {COLUMN, CRITERIA, LEFT_OUT, "id"}


def rename_column(name: str) -> str:
    """Return the name of a variable's column."""
    return f"{name}_var" if name in RESERVED else name


def _rename_all(values: Mapping[str, Any]) -> dict[str, Any]:
    return {rename_column(name): value for name, value in values.items()}


def settle_case(case: Case, selection: Mapping[str, list[str]], account: Account) -> Case:
    """Return a test with the columns of its row: reserved names renamed, text before and after its prompt added."""
    variables = _rename_all(case.variables)
    for affix in AFFIXES:
        text = case.keys.get(affix)
        if not text:
            continue
        if affix in variables:
            account.add(f"options.{affix}", "left out", "a variable has its name")
            continue
        # It may name variables of the test, as a prompt does.
        try:
            variables[affix] = write_text(fill_variables(text, case.variables))
        except UntakenError as error:
            account.add(f"options.{affix}", "left out", str(error))
    metadata = _rename_all(case.keys.get("metadata", {}))
    return replace(case, variables=variables, keys={**case.keys, **selection, "metadata": metadata})


def list_columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns that some row has."""
    columns: dict[str, None] = {}
    for row in rows:
        columns |= dict.fromkeys(row)
    return [*columns]


def fill_columns(rows: Rows, prompt: ConvertedPrompt, source: str) -> None:
    """Give every row the columns that a prompt names.

    Raises:
        InputError: a column that the prompt prints is in no row.
    """
    columns = list_columns(rows)
    printed = {*map(rename_column, list_printed(prompt))}
    for name in map(rename_column, sorted(read_names(prompt))):
        # What a prompt only tests, as in {% if context %}, may be missing everywhere.
        if name in printed and name not in columns:
            variables = [column for column in columns if column not in _NO_VARIABLES]
            advice = propose_name(name, variables)
            names = ", ".join(variables) or "no variables"
            raise InputError(f"{source} prints {name!r}, which no test has; they have {names}.{advice}")
        for row in rows:
            row.setdefault(name, "")


def check_printed(rows: Rows, prompts: Iterable[ConvertedPrompt], source: str) -> None:
    """Check that the tests have what every prompt prints; what one only tests too may be missing.

    Raises:
        InputError: some tests lack a variable that others have.
    """
    prompts = [*prompts]
    printed = set.intersection(*map(list_printed, prompts))
    for prompt in prompts:
        printed -= list_tested(prompt)
    names = sorted({*map(rename_column, printed)} & {*list_columns(rows)} - {*AFFIXES})
    for name in names:
        lacking = {n: row for n, row in enumerate(rows, start=1) if name not in row}
        if not lacking:
            continue
        tests = [str(row.get("id") or f"test {n}") for n, row in lacking.items()]
        shown_tests = ", ".join(tests[:MOST_TESTS])
        if len(tests) > MOST_TESTS:
            shown_tests += ", …"
        variables = [column for column in list_columns(lacking.values()) if column not in _NO_VARIABLES]
        raise InputError(
            f"{source}: each prompt prints {name!r}, which {len(tests)} of {len(rows)} tests lack: {shown_tests}; "
            f"they have {', '.join(variables) or 'no variables'}. Name it so there, or set it in `vars` of "
            f"`defaultTest`.{propose_name(name, variables)}"
        )


def unify_columns(rows: Rows) -> None:
    """Make texts of a column that holds values of several kinds: a table has one type for a column."""
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for column, value in row.items():
            kinds.setdefault(column, set()).add(type(value))
    for column in kinds.keys() - _NO_VARIABLES:
        if len(kinds[column]) == 1 and type(None) not in kinds[column]:
            continue
        for row in rows:
            if column in row:
                row[column] = write_text(row[column])
