"""A user's rows, from JSONL, CSV, TSV or Parquet, or a fetched set: one question a row, columns by name."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import loader
from basic_control.data.draw import Sampling, choose_rows
from basic_control.data.errors import InputError, propose_name
from basic_control.data.files import read_file_rows
from basic_control.data.notations import parse_list
from basic_control.data.options import Frozen
from basic_control.data.public_sets import find_data_file, locate
from basic_control.data.records import Item
from basic_control.data.usual_columns import MissingColumnError, add_columns
from basic_control.data.values import write_value

RESPONSE = "response"
"""Column of recorded replies."""
BOOLEANS = {"true": True, "false": False}


class Options(Frozen):
    """Which rows, and the roles of their columns."""

    data: str = Field(description="a JSONL, CSV, TSV or Parquet file, or the name of a fetched set")
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="the file's columns by our names, such as {question: ticket, answer: expected}; other columns "
        "keep their names. `answer` is the expected answer, `response` a recorded reply, `language` the row's "
        "language, `id` a question's identifier across runs, unique within a language",
    )
    language: str = Field(
        "", description="only the rows of this language; or the language of rows without a column"
    )
    sample: Sampling = Sampling(method="all")
    answers: Literal["typed", "text"] = Field(
        "typed",
        description="typed: a number, a boolean or a list is compared as one, in CSV and TSV if every filled cell "
        "of the column holds true or false, or a list; text: every answer is compared as text",
    )


def _rename_columns(raw: Mapping[str, Any], columns: Mapping[str, str], where: str) -> dict[str, Any]:
    """Return a row with its columns by our names; one that has such a name in the file is not that column."""
    row: dict[str, Any] = {}
    for name, column in columns.items():
        if column not in raw:
            names = ", ".join(map(str, raw))
            raise InputError(
                f"{where}: column {column!r}, named in `columns`, not found; the row has {names}."
                f"{propose_name(column, raw)}"
            )
        row[name] = raw[column]
    # A column under one of our names, while another was declared for it, would take its place.
    hidden = {*columns, *columns.values()}
    return row | {str(name): value for name, value in raw.items() if name not in hidden}


def read_response(value: Any) -> Any:
    """Return a recorded response as text: a number or a boolean as it is written; None if there is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return write_value(value) if isinstance(value, int | float) else value


def _format_expected(value: Any) -> str:
    """Format an expected value for people, including several values."""
    if isinstance(value, list | tuple):
        return "; ".join(map(_format_expected, value))
    if value is None:
        return ""
    return str(value)


def _parse_typed(text: str) -> bool | list[Any] | None:
    """Return the boolean or the list in a cell, as JSON or as pandas prints it; None if it holds neither."""
    text = text.strip()
    if text.lower() in BOOLEANS:
        return BOOLEANS[text.lower()]
    if text[:1] != "[":
        return None
    value = parse_list(text)
    if isinstance(value, list):
        return value
    return None


def _type_answers(rows: Sequence[dict[str, Any]], path: Path, answers: str) -> None:
    """Give the answers of all rows their types; a file of texts has one for a whole column, or none."""
    if answers == "text":
        for row in rows:
            if "answer" in row:
                row["answer"] = _format_value(row["answer"])
    elif path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        filled = [row for row in rows if str(row.get("answer") or "").strip()]
        values = [_parse_typed(row["answer"]) for row in filled]
        if None not in values and len(set(map(type, values))) == 1:
            for row, value in zip(filled, values, strict=True):
                row["answer"] = value


def _format_value(value: Any) -> Any:
    """Return a value as the text that the file shows; lists and mappings as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _read_ids(rows: Sequence[tuple[int, str, Mapping[str, Any]]], path: Path) -> dict[int, str]:
    """Return the declared ids by row number.

    Raises:
        InputError: a row has none, or two of one language have the same.
    """
    numbers: dict[tuple[str, str], int] = {}
    for number, _, row in rows:
        row_id, language = " ".join(_format_expected(row["id"]).split()), str(row.get("language") or "")
        if not row_id:
            raise InputError(f"{path}, row {number + 1}: missing id; `columns` declares an id column.")
        first = numbers.setdefault((language, row_id), number)
        if first != number:
            scope = f" in language {language!r}" if language else ""
            raise InputError(
                f"{path}: duplicate id {row_id!r} in rows {first + 1} and {number + 1}; expected unique "
                f"ids{scope}. Fix them, or remove `id` from `columns` to identify questions by their text."
            )
    return {number: row_id for (_, row_id), number in numbers.items()}


@loader(name="table", version=2, options=Options, files=lambda options: [find_data_file(options["data"], Path())])
def table_rows(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield rows; their columns are the facts.

    Raises:
        InputError: no such file, a column that is named or needed is not there, a broken row, or no row.
    """
    path, only = locate(options["data"]), options["language"]
    rows = list[dict[str, Any]]()
    selection: list[tuple[int, str, Mapping[str, Any]]] = []
    for number, raw in enumerate(read_file_rows(path)):
        row = _rename_columns(raw, options["columns"], f"{path}, row {number + 1}")
        # What is required and has another tool's name is that column.
        row = add_columns(row, required)
        missing = [name for name in required if name not in row]
        if missing:
            message = (
                f"{path}, row {number + 1}: column {missing[0]!r}, required by a metric of the suite, not found; "
                f"the file has {', '.join(row)}.{propose_name(missing[0], row)} Map it under `columns`, such as "
                f"columns: {{{missing[0]}: NAME}}."
            )
            raise MissingColumnError(message, missing[0])
        if RESPONSE in row:
            row[RESPONSE] = read_response(row[RESPONSE])
        rows.append(row)
        language = str(row.get("language") or only or "en")
        if only in {"", language}:
            selection.append((number, language, row))
    # Rows of all languages say what type the answers of a column have; ids are unique within a language.
    _type_answers(rows, path, options["answers"])
    ids: dict[int, str] = {}
    if "id" in options["columns"]:
        ids = _read_ids(selection, path)
    if not selection:
        scope = f" in language {only!r}" if only else ""
        raise InputError(f"{path}: no rows{scope}; expected one question per row.")
    for position in choose_rows(len(selection), **options["sample"]):
        number, language, facts = selection[position]
        yield Item(
            "",
            _format_expected(facts.get("answer")),
            facts,
            template=str(facts.get("template") or ""),
            language=language,
            index=number,
            stated_language=str(facts.get("language") or ""),
            declared_id=ids.get(number, ""),
        )
