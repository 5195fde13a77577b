"""Files without scores: data sets of other tools, which nothing decides yet, and how they become an evaluation."""

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from basic_control.data.commands import format_command
from basic_control.data.errors import InputError
from basic_control.data.usual_columns import USUAL_NAMES, find_column
from basic_control.tasks.exchange.logs import read_stated_value
from basic_control.tasks.exchange.moving.datasets import find_tool, read_table

_SHOWN = 12
"""Columns that a message names."""
_NOTHING = ("", "None", "[]", "nan", "NaN")
# What a folder is named by: support-2 of "support (2).csv"
_WORD = re.compile(r"[\w-]+")
_KNOWN = {"id", "name", *USUAL_NAMES, *chain.from_iterable(USUAL_NAMES.values())}
"""Columns of a data set, whatever they hold."""


def describe_unscored(path: Path) -> str:
    """Return that a file is a data set of another tool without scores, what is missing, and what scores it here.

    '' if it is of no tool whose data sets are converted. With scores in columns that no adapter knows, it says how
    to name one.
    """
    rows: list[dict[str, Any]] = []
    with suppress(InputError):
        rows = read_table(path)
    tool = find_tool(rows)
    if not tool:
        return ""
    cells = _group_cells(rows)
    names = _join(cells)
    scores = [name for name in cells if _holds_scores(name, cells[name])]
    if scores:
        columns = f"question={find_column('question', cells)},score={scores[0]}"
        return f"found a data set of {tool} with scores in {_join(scores)}. Name what is read: --columns {columns}"
    missing = "no column holds a score"
    empty = [name for name in cells if not _list_filled(cells[name])]
    if empty:
        missing += f" ({_join(empty)}: empty in each row)"
    return (
        f"found a data set of {tool}, its columns {names}: {missing}, from 0 to 1 or pass and fail. "
        f"To score it here: {_propose_conversion(path)}"
    )


def _group_cells(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the cells of rows by their columns."""
    cells: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            cells.setdefault(str(name), []).append(value)
    return cells


def _list_filled(cells: Sequence[Any]) -> list[Any]:
    return [cell for cell in cells if str(cell).strip() not in _NOTHING]


def _holds_scores(name: str, cells: Sequence[Any]) -> bool:
    """Return whether a column is none of a data set, and all that it holds are numbers from 0 to 1, or words."""
    values = [*map(read_stated_value, _list_filled(cells))]
    return name not in _KNOWN and bool(values) and all(map(_is_share, values))


def _is_share(value: float | None) -> bool:
    return value is not None and 0 <= value <= 1


def _join(names: Mapping[str, Any] | Sequence[str]) -> str:
    """Join the first names."""
    first_names = [*names][:_SHOWN]
    if len(names) > _SHOWN:
        first_names.append("…")
    return ", ".join(first_names)


def _propose_conversion(path: Path) -> str:
    """Return the command that makes an evaluation of a file, in a folder that is not there yet."""
    name = "-".join(_WORD.findall(path.stem)) or "evaluation"
    folders = chain([name], (f"{name}-{number}" for number in count(2)))
    folder = next(folder for folder in folders if not Path(folder).exists())
    return format_command(f"init {folder} --from {shlex.quote(str(path))}")
