"""Values and rows of a Python process as a configuration and a file hold them."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any

_FRAMES = ("to_dicts", "to_pylist")
"""Methods that return the rows of a frame of Polars, and of a table of Arrow."""
_UNWRAPPING = ("tolist", "item", "to_list")
"""Methods that return the plain values of numbers, arrays and columns: NumPy's, pandas', Polars'."""
_MISSING = frozenset({"NAType", "NaTType"})
"""Types of pandas' missing values."""


def as_plain(value: Any, where: str) -> Any:
    """Return a value as JSON has it: paths and dates as text, numbers of other libraries as plain ones.

    Raises:
        InputError: it is none of these; the message names its place.
    """
    if isinstance(value, Mapping):
        return {str(key): as_plain(entry, f"{where}.{key}") for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_plain(entry, f"{where}.{index}") for index, entry in enumerate(value)]
    for method in _UNWRAPPING:
        if hasattr(value, method):
            return as_plain(getattr(value, method)(), where)
    return _as_plain_scalar(value, where)


def _as_plain_scalar(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, PathLike):
        return str(value)
    if type(value).__name__ in _MISSING:
        return None
    from basic_control.data.errors import InputError

    raise InputError(
        f"{where}: found a {type(value).__name__}, expected text, a number, a list or a mapping; convert it."
    )


def write_rows(rows: Any, runs: Path) -> tuple[str, Sequence[str]]:
    """Return the file of a suite's rows, and their columns if they are known; other rows than a file are written.

    They are kept beside the `runs`, under the hash of their content, so that a run can be repeated.

    Raises:
        InputError: there is no row, or one is no mapping, or holds what no file can.
    """
    if isinstance(rows, str | PathLike):
        return str(rows), ()
    from basic_control.data.errors import InputError

    plain_rows = list[dict[str, Any]]()
    columns: dict[str, None] = {}
    for number, row in enumerate(_mappings(rows), 1):
        if not isinstance(row, Mapping):
            raise InputError(
                f"rows, row {number}: found a {type(row).__name__}, expected a mapping of columns, such as "
                "{'question': …, 'answer': …}."
            )
        columns |= dict.fromkeys(map(str, row))
        plain = {str(name): as_plain(value, f"rows, row {number}, {name}") for name, value in row.items()}
        plain_rows.append(plain)
    if not plain_rows:
        raise InputError("rows: found none, expected at least one mapping of columns.")
    # Every row has every column, as in a table.
    whole_rows = ({**dict.fromkeys(columns), **row} for row in plain_rows)
    content = "".join(f"{json.dumps(row)}\n" for row in whole_rows).encode()
    folder = runs / ".rows"
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.jsonl"
    if not path.is_file():
        from basic_control.tasks.store.tables import write_atomically

        write_atomically(path, content)
    return str(path), tuple(columns)


def _mappings(rows: Any) -> Iterable[Any]:
    for method in _FRAMES:
        if hasattr(rows, method):
            mappings: list[Any] = getattr(rows, method)()
            return mappings
    if hasattr(rows, "to_dict") and not isinstance(rows, Mapping):  # of pandas
        records: list[Any] = rows.to_dict("records")
        return records
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        from basic_control.data.errors import InputError

        raise InputError(f"rows: found a {type(rows).__name__}, expected a file, a list of mappings, or a frame.")
    return rows
