"""Files without scores: data sets of other tools, which nothing decides yet, and how they become an evaluation."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from basic_control.data.commands import format_command
from basic_control.data.errors import InputError
from basic_control.data.usual_columns import find_column
from basic_control.tasks.exchange.moving.datasets import find_tool, read_table

_SHOWN = 12
"""Columns that a message names."""


def describe_unscored(path: Path) -> str:
    """Return that a file is a data set of another tool, how its score is named, and what scores it here.

    '' if it is of no tool whose data sets are converted.
    """
    rows: Sequence[Mapping[str, Any]] = []
    with suppress(InputError):
        rows = read_table(path)
    tool = find_tool(rows)
    if not tool:
        return ""
    columns = dict.fromkeys(str(name) for row in rows for name in row)
    names = ", ".join(islice(columns, _SHOWN))
    if len(columns) > _SHOWN:
        names += ", …"
    question = find_column("question", columns) or "…"
    return (
        f"found a data set of {tool}, its columns {names}: no score, from 0 to 1 or pass and fail, in a known "
        f"column. Name the one that holds it, --columns question={question},score=…; or have it scored here: "
        + format_command(f"init moved --from {shlex.quote(str(path))}")
    )
