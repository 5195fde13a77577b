"""Exports of a run: its tables as Parquet, three tables as CSV, and records of judged replies."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from basic_control.data.loading import list_judged_metrics
from basic_control.data.records import VALUED
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.probabilities import probability_table
from basic_control.tasks.report.verdict_table import verdict_table
from basic_control.tasks.store.tables import encode_parquet, write_atomically, write_json

if TYPE_CHECKING:  # the tables' writers serve commands without Prefect, which this imports
    from basic_control.tasks.report.report_data import ReportData

_KEYS = ("item_id", "model", "repeat")
_FORMULA = r"^[\t\r\n]|^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]"
"""Beginning of a cell that a spreadsheet may take for a formula."""


def guard_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose text cells and column names no spreadsheet takes for a formula; numbers stay numbers.

    Such texts get a leading apostrophe. Leading white space and full-width signs are recognised too.
    """
    names = pl.Series(frame.columns, dtype=pl.String).str.replace(_FORMULA, "'${0}")
    guarded = frame.with_columns(pl.col(pl.String).str.replace(_FORMULA, "'${0}"))
    return guarded.rename(dict(zip(frame.columns, names, strict=True)))


def write_csv(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame for spreadsheets: UTF-8 with a byte-order mark, guarded, null as an empty cell."""
    return write_atomically(path, f"\ufeff{csv_text(frame)}")


def csv_text(frame: pl.DataFrame, *, header: bool = True) -> str:
    """Return a frame as guarded CSV text."""
    return guard_formulas(frame).write_csv(include_header=header)


def write_parquet(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame as Parquet."""
    return write_atomically(path, encode_parquet(frame))


def write(data: "ReportData", folder: Path) -> list[Path]:
    """Write `tables/`: items, replies, judged, verdicts, scores, summary as Parquet; three tables as CSV.

    A row of `replies` is a model's reply with its item's columns, of `judged` a judge's; `scores.csv` also has the
    items' columns. Where judges decide, `probabilities` has a row for each of their answers. Model names, reasons
    and details are guarded in CSV against being read as formulas.
    """
    tables = folder / "tables"
    names = ("items", "replies", "judged", "verdicts", "scores", "summary")
    written = [write_parquet(getattr(data, name), tables / f"{name}.parquet") for name in names]
    item_columns = ("suite", "family", "level", "language", "template")
    items = data.items.select("item_id", *item_columns)
    scores = data.scores.join(items, on="item_id", how="left", maintain_order="left")
    with use_language(data.language, point="."):  # as in the other CSV files
        table = verdict_table(data.verdict.models, data.results.spending, by_id=True)
    frames = {
        "summary": data.summary,
        "scores": scores.select(*item_columns, *data.scores.columns),
        "verdict": pl.DataFrame(table.rows, dict.fromkeys(table.names, pl.String), orient="row"),
    }
    probabilities = probability_table(data.scores)
    if probabilities.height:
        frames["probabilities"] = probabilities
        written.append(write_parquet(probabilities, tables / "probabilities.parquet"))
    return written + [write_csv(frame, tables / f"{name}.csv") for name, frame in frames.items()]


def collect_records(data: "ReportData") -> pl.DataFrame:
    """Return a row for each item of a judged suite, model, repeat and metric: question, reply and outcome."""
    suites = [suite.name for suite in data.plan.declarations if list_judged_metrics(suite)]
    replies = data.replies.filter(pl.col("suite").is_in(suites)).select(
        *_KEYS, "suite", "language", "prompt", "answer", response="text", error="error"
    )
    scores = data.scores.filter(~pl.col("metric").str.contains(".", literal=True)).select(
        *_KEYS, "metric", "status", "value", "reason", "details"
    )
    return replies.join(scores, on=_KEYS, how="inner", maintain_order="left_right")


def write_records(data: "ReportData", folder: Path) -> list[Path]:
    """Write `records/`: successes (with a score) and failures (without one, and why), as Parquet and JSON.

    Writes nothing for a run without a judged suite.
    """
    frame, written = collect_records(data), []
    if frame.is_empty():
        return []
    has_score = pl.col("status").is_in(VALUED)
    for name, condition in (("successes", has_score), ("failures", ~has_score)):
        selection, path = frame.filter(condition), folder / "records" / name
        written.append(write_parquet(selection, path.with_suffix(".parquet")))
        # A metric's details are JSON in the tables: in a JSON file they are objects.
        rows = selection.rows(named=True)
        for row in rows:
            row["details"] = json.loads(row["details"] or "{}")
        written.append(write_json(path.with_suffix(".json"), rows, indent=2))
    return written
