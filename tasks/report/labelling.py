"""The HTML report's page for labelling judged replies: the rows of a sheet, as `label` writes it."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from basic_control.tasks.judges.labels import COLUMNS, KEY, joined, sheet
from basic_control.tasks.report.exports import csv_text
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.titles import metric_title

DRAWN = (50, 20, 10, 5)
"""Replies for each suite, model and metric: the first number whose texts fit `ROOM`."""
ROOM = 3_000_000
"""Maximum characters of texts."""
SHOWN = ("suite", "model", "metric", "prompt", "reference", "response")


def judged(data: ReportData) -> pl.DataFrame:
    """Return judged samples with their replies."""
    texts = data.replies.select("item_id", "model", "repeat", response="text").unique(
        ["item_id", "model", "repeat"], maintain_order=True
    )
    return joined(data.scores, data.items, texts)


def drawn(found: pl.DataFrame) -> pl.DataFrame | None:
    """Draw the sheet as `label RUN` does by default, fewer rows if texts are long; None if nothing was judged."""
    for n in DRAWN if found.height else ():
        rows = sheet(found, n=n)
        if sum(int(rows[name].str.len_chars().sum()) for name in SHOWN) <= ROOM:
            return rows
    return None


def sheet_of(data: ReportData) -> dict[str, Any] | None:
    """Return the sheet for the page: each row as displayed, and as CSV; None if nothing was judged.

    The page appends a label to a row of CSV, so that its file equals the sheet's to the byte.
    """
    found = judged(data)
    rows = drawn(found)
    if rows is None:
        return None
    values = rows.select(KEY).join(found.select(*KEY, "value"), on=KEY, how="left", maintain_order="left")["value"]
    criteria = {}  # what each judged metric of a suite asks, in words: its criteria, or its title
    for suite in data.plan.declared:
        for name, given in suite.metrics.items():
            asked = given.get("criteria") or metric_title(name)
            listed = asked.items() if isinstance(asked, Mapping) else [("", asked)]
            criteria[suite.name, name] = "\n".join(f"{one}: {text}" if one else str(text) for one, text in listed)
    head, *_ = csv_text(rows.head(0)).splitlines()
    records = [csv_text(one, header=False).rstrip("\n") for one in rows.drop("label").iter_slices(1)]
    shown = rows.select(*KEY, *(name for name in COLUMNS if name in SHOWN and name not in KEY)).rows(named=True)
    return {
        "head": f"{head}\n",
        "empty": csv_text(pl.DataFrame({"label": [""]}), header=False).rstrip("\n"),
        "rows": [
            {
                **row,
                "csv": record,
                "value": value,
                "criterion": criteria.get((row["suite"], row["metric"]), row["metric"]),
            }
            for row, record, value in zip(shown, records, values, strict=True)
        ],
    }
