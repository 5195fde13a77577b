"""A finished run's samples and scores as frames, from the tables in its folder."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from basic_control.data.errors import InputError
from basic_control.data.files import estimate_memory

KEY = ("item_id", "model", "repeat")
LARGEST = 4_000_000_000
"""Bytes of a table, read."""
_ITEM = ("suite", "family", "level", "language", "template", "prompt", "answer")
_REPLY = ("text", "reasoning", "error", "finish_reason", "tokens_in", "tokens_out", "latency_s", "cached")


def _table(folder: Path, name: str) -> pl.DataFrame:
    path = folder / "tables" / f"{name}.parquet"
    # A run that somebody sent may have been written to fill the memory.
    size = estimate_memory(path)
    if size > LARGEST:
        raise InputError(f"{path}: found {size / 1e9:,.0f} GB when read, expected at most {LARGEST / 1e9:,.0f} GB.")
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}). `basic-control run --run {folder.name} --rerun report` makes a new "
            "run from the same replies; no model is called."
        ) from error


def read_samples(folder: Path) -> pl.DataFrame:
    """Return a row for each reply of a run, with its item's columns, those of its row, and each metric's value.

    Raises:
        InputError: the tables are not there.
    """
    return join_samples(_table(folder, "items"), _table(folder, "replies"), _table(folder, "scores"))


def read_scores(folder: Path) -> pl.DataFrame:
    """Return a row for each reply and metric of a run, with the suite and the other columns of its item.

    Raises:
        InputError: the tables are not there.
    """
    items, scores = _table(folder, "items"), _table(folder, "scores")
    columns = [column for column in _ITEM if column not in {"prompt", "answer"}]
    return items.select("item_id", *columns).unique("item_id").join(scores, on="item_id", maintain_order="right")


def join_samples(items: pl.DataFrame, replies: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """Return replies with the columns of their items and rows, and a column for each metric's value.

    Columns of a row, and metrics, whose name is in use get the prefix `row.` or `metric.`.
    """
    asked_items = items.unique("item_id").select(
        "item_id", *_find_shared(_ITEM, items), *_find_shared(("facts",), items)
    )
    frame = replies.select(*KEY, *_find_shared(_REPLY, replies)).rename({"text": "response"})
    frame = frame.join(asked_items, on="item_id", how="left", maintain_order="left")
    if "facts" in frame.columns:
        frame = _unpack_rows(frame)
    if scores.is_empty():
        return frame
    values = scores.pivot("metric", index=KEY, values="value", aggregate_function="first")
    renamed = {name: f"metric.{name}" for name in _find_shared(frame.columns, values) if name not in KEY}
    return frame.join(values.rename(renamed), on=KEY, how="left", maintain_order="left")


def _find_shared(names: Iterable[str], frame: pl.DataFrame) -> list[str]:
    """Return the names that are columns of a frame."""
    return [name for name in names if name in frame.columns]


def _unpack_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace the facts, JSON, by a column for each of the row's own."""
    try:
        rows = frame["facts"].fill_null("{}").str.json_decode(infer_schema_length=None)
    except pl.exceptions.PolarsError:  # a column holds values of several types
        return frame
    if not isinstance(rows.dtype, pl.Struct):
        return frame.drop("facts")
    columns = rows.struct.unnest()
    # A row's own question is often the prompt as it is.
    repeated = [name for name in _find_shared(frame.columns, columns) if columns[name].equals(frame[name])]
    columns = columns.drop(repeated)
    renamed = {name: f"row.{name}" for name in _find_shared(frame.columns, columns)}
    return pl.concat([frame.drop("facts"), columns.rename(renamed)], how="horizontal")
