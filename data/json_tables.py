"""Tables in one JSON document: a list of rows under a key, and the forms that pandas writes."""

from collections.abc import Mapping, Sequence
from typing import Any

_KEYS = ("data", "rows", "items", "examples", "records", "questions", "samples", "instances", "entries", "results")
"""Keys under which documents have their rows, the likeliest first."""


def read_rows(document: Any) -> Sequence[Any] | None:
    """Return the rows of a document: a list, one under a known key, or a form of pandas'; None if it has none."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return None
    lists = [rows for rows in map(document.get, _KEYS) if isinstance(rows, list) and rows]
    tables = (rows for rows in lists if all(isinstance(row, dict) for row in rows))
    return _read_split(document) or next(tables, None) or _read_cells(document)


def _read_split(document: Mapping[str, Any]) -> Sequence[Any] | None:
    """Read names apart from cells, pandas' `split`."""
    columns, cells = document.get("columns"), document.get("data")
    if not isinstance(columns, list) or not isinstance(cells, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in cells):
        return None
    return [dict(zip(columns, row, strict=True)) for row in cells]


def _read_cells(document: Mapping[str, Any]) -> Sequence[Any] | None:
    """Read columns of cells, pandas' `columns` and its default, or rows by their number, its `index`."""
    values = [*document.values()]
    if not values or not all(isinstance(value, dict) and value for value in values):
        return None
    if all(_is_counted(column) and column.keys() == values[0].keys() for column in values):
        return [{name: document[name][number] for name in document} for number in values[0]]
    return values if _is_counted(document) else None


def _is_counted(mapping: Mapping[str, Any]) -> bool:
    return all(key == str(number) for number, key in enumerate(mapping))
