"""Exports of a run: its tables as Parquet, and three tables as CSV."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tasks.report.verdict_table import verdict_table
from tasks.store.tables import write_atomically

if TYPE_CHECKING:  # the tables' writers serve commands that do without Prefect, which it imports
    from tasks.report.report_data import ReportData

_FORMULA = r"^[\t\r\n]|^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]"
"""A cell that begins so may be taken for a formula by a spreadsheet."""


def guard(column: str) -> pl.Expr:
    """Return a text column whose cells no spreadsheet takes for a formula: an apostrophe stands before those.

    White space before the sign does not hide it, nor does a full-width sign.
    """
    text = pl.col(column)
    return pl.when(text.str.contains(_FORMULA)).then(pl.lit("'") + text).otherwise(text).alias(column)


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with every text cell guarded, column names too; numbers stay numbers."""
    held = frame.with_columns(guard(name) for name, kind in frame.schema.items() if kind == pl.String)
    names = pl.DataFrame({"name": frame.columns}, schema={"name": pl.String}).select(guard("name"))["name"]
    return held.rename(dict(zip(frame.columns, names, strict=True)))


def write_csv(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame for spreadsheets: UTF-8 with a byte-order mark, guarded, null as an empty cell."""
    return write_atomically(path, f"\ufeff{csv_text(frame)}")


def csv_text(frame: pl.DataFrame, *, header: bool = True) -> str:
    """Return a frame as it stands in a CSV file, guarded."""
    return guarded(frame).write_csv(include_header=header)


def write_parquet(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame as Parquet."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=True)
    return write_atomically(path, buffer.getvalue())


def _scores(data: "ReportData") -> pl.DataFrame:
    """Return the scores with what their items are, for those who read them alone."""
    items = data.items.select("item_id", "suite", "family", "level", "language", "template")
    joined = data.scores.join(items, on="item_id", how="left", maintain_order="left")
    return joined.select("suite", "family", "level", "language", "template", *data.scores.columns)


def write(data: "ReportData", folder: Path) -> list[Path]:
    """Write `tables/`: items, replies, judged, verdicts, scores, summary as Parquet; three tables as CSV.

    A row of `replies` is a reply of a model with its item's columns, of `judged` a judge's; `scores.csv` has the
    items' columns beside the scores. Model names, reasons and details are guarded in CSV against being read as
    formulas.
    """
    there = folder / "tables"
    frames = {
        "items": data.items,
        "replies": data.replies,
        "judged": data.judged,
        "verdicts": data.verdicts,
        "scores": data.scores,
        "summary": data.summary,
    }
    written = [write_parquet(frame, there / f"{name}.parquet") for name, frame in frames.items()]
    written.append(write_csv(data.summary, there / "summary.csv"))
    written.append(write_csv(_scores(data), there / "scores.csv"))
    table = verdict_table(data.results, data.language)
    frame = pl.DataFrame(table.rows, {one.name: pl.String for one in table.columns}, orient="row")
    written.append(write_csv(frame, there / "verdict.csv"))
    return written
