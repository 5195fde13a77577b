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
    return _read_split(document) or _read_listed(document) or _read_cells(document)


def _read_listed(document: Mapping[str, Any]) -> Sequence[Any] | None:
    """Read a list of objects under a key that documents use for their rows."""
    for rows in map(document.get, _KEYS):
        if isinstance(rows, list) and rows and _are_objects(rows):
            return rows
    return None


def _read_split(document: Mapping[str, Any]) -> Sequence[Any] | None:
    """Read names apart from cells, pandas' `split`."""
    columns, cells = document.get("columns"), document.get("data")
    if not isinstance(columns, list) or not isinstance(cells, list):
        return None
    rows = []
    for row in cells:
        if not isinstance(row, list) or len(row) != len(columns):
            return None
        rows.append(dict(zip(columns, row, strict=True)))
    return rows


def _read_cells(document: Mapping[str, Any]) -> Sequence[Any] | None:
    """Read columns of cells, pandas' `columns` and its default, or rows by their number, its `index`."""
    values = [*document.values()]
    if not values or not _are_objects(values) or not all(values):
        return None
    first = values[0]
    if _is_counted(first) and all([*column] == [*first] for column in values):
        cells = map(dict.values, values)
        return [dict(zip(document, row, strict=True)) for row in zip(*cells, strict=True)]
    return values if _is_counted(document) else None


def _are_objects(rows: Sequence[Any]) -> bool:
    return {*map(type, rows)} <= {dict}


def _is_counted(mapping: Mapping[str, Any]) -> bool:
    """Say whether the keys are 0, 1, 2 … in their order."""
    return [*mapping] == [*map(str, range(len(mapping)))]
