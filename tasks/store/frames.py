"""A finished run's samples and scores as frames, from the tables in its folder."""

import json
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path

import polars as pl

from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.files import estimate_memory
from basic_control.metrics.analysis.headlines import ModelResult
from basic_control.metrics.analysis.score_remarks import list_judgements, read_reason

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
    items, scores = _table(folder, "items"), add_reasons(_table(folder, "scores"))
    columns = [column for column in _ITEM if column not in {"prompt", "answer"}]
    return items.select("item_id", *columns).unique("item_id").join(scores, on="item_id", maintain_order="right")


SUMMARY = {
    "suite": pl.String(),
    "model": pl.String(),
    "metric": pl.String(),
    "score": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "threshold": pl.Float64(),
    "verdict": pl.String(),
    "scored": pl.Int64(),
    "asked": pl.Int64(),
}


def summarize(models: Iterable[ModelResult]) -> pl.DataFrame:
    """Return a row for each suite, model and score that stands for it, with its 95 % interval and verdict."""
    rows = []
    for model in models:
        for headline in model.headlines:
            measured, interval = headline.measured, headline.measured.score.interval
            bounds = [interval.low, interval.high] if interval else [None, None]
            rows.append([
                headline.suite,
                model.model,
                headline.metric,
                measured.score.mean,
                *bounds,
                headline.decided.threshold,
                headline.decided.outcome,
                measured.n_scored,
                measured.n_asked,
            ])  # fmt: skip
    return pl.DataFrame(rows, schema=SUMMARY, orient="row")


def add_reasons(scores: pl.DataFrame) -> pl.DataFrame:
    """Return scores with the reasons that their details hold, where they state none: judges', and failed calls'."""
    if not {"reason", "details"} <= {*scores.columns}:
        return scores
    reasons = [read_reason(reason, details) for reason, details in scores.select("reason", "details").iter_rows()]
    return scores.with_columns(pl.Series("reason", reasons, dtype=pl.String()))


_SCORE = ("suite", "item_id", "model", "repeat", "metric")
"""What a score is of."""
_DECIDED = ("judge", "about", "text", "verdict", "reason", "excluded")
"""What a judge decided about it, as `JudgedPart` has it."""


def tabulate_judgements(scores: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each claim or criterion that a judge decided; `scores` are a row a reply and metric."""
    rows: list[tuple[object, ...]] = []
    judged = scores.filter(pl.col("details").str.contains('"judges"', literal=True))
    for *score, details in judged.select(*_SCORE, "details").iter_rows():
        rows.extend((*score, *astuple(judgement)) for judgement in list_judgements(details))
    schema = {name: scores.schema[name] for name in _SCORE} | dict.fromkeys(_DECIDED, pl.String())
    return pl.DataFrame(rows, schema, orient="row")


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


def _read_columns(facts: pl.Series) -> pl.DataFrame:
    """Return the columns of rows that are JSON objects; one that holds values of several types has them as JSON."""
    rows = [*map(json.loads, facts)]
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns.append(pl.Series(name, values))
        except (TypeError, pl.exceptions.PolarsError):
            columns.append(pl.Series(name, map(format_canonical, values), dtype=pl.String).replace("null", None))
    return pl.DataFrame(columns)


def _unpack_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace the facts, JSON, by a column for each of the row's own."""
    facts = frame["facts"].fill_null("{}")
    try:
        rows = facts.str.json_decode(infer_schema_length=None)
    except pl.exceptions.PolarsError:  # a column holds values of several types
        columns = _read_columns(facts)
    else:
        if not isinstance(rows.dtype, pl.Struct):
            return frame.drop("facts")
        columns = rows.struct.unnest()
    # A row's own question is often the prompt as it is.
    repeated = [name for name in _find_shared(frame.columns, columns) if columns[name].equals(frame[name])]
    columns = columns.drop(repeated)
    renamed = {name: f"row.{name}" for name in _find_shared(frame.columns, columns)}
    return pl.concat([frame.drop("facts"), columns.rename(renamed)], how="horizontal")
