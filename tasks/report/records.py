"""Records of the judged suites: what was scored, and what was not with the reason, as Parquet and JSON."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from data.loading import judged_by
from data.records import VALUED
from tasks.report.exports import write_parquet
from tasks.store.tables import write_json

if TYPE_CHECKING:  # as in exports
    from tasks.report.report_data import ReportData

_KEYS = ("item_id", "model", "repeat")


def records(data: "ReportData") -> pl.DataFrame:
    """Return a row for each item, model, repeat and judged metric: the question, the reply and what came of it."""
    suites = [suite.name for suite in data.plan.declared if judged_by(suite)]
    replies = data.replies.filter(pl.col("suite").is_in(suites)).select(
        *_KEYS, "suite", "language", "prompt", "answer", response="text", error="error"
    )
    scores = data.scores.filter(~pl.col("metric").str.contains(".", literal=True)).select(
        *_KEYS, "metric", "status", "value", "reason", "details"
    )
    return replies.join(scores, on=_KEYS, how="inner", maintain_order="left_right")


def _objects(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return rows as JSON; details, which hold each judge's verdicts and reasons, as an object."""
    return [{**row, "details": json.loads(row["details"] or "{}")} for row in frame.iter_rows(named=True)]


def write(data: "ReportData", folder: Path) -> list[Path]:
    """Write `records/`: successes (a score was reached) and failures (none was, and why), each in both forms.

    Nothing is written of a run without a judged suite.
    """
    found = records(data)
    if found.is_empty():
        return []
    scored = pl.col("status").is_in(VALUED)
    written = []
    for name, chosen in (("successes", found.filter(scored)), ("failures", found.filter(~scored))):
        written.append(write_parquet(chosen, folder / "records" / f"{name}.parquet"))
        written.append(write_json(folder / "records" / f"{name}.json", _objects(chosen), indent=2))
    return written
