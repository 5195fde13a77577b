"""The HTML report's page for labelling judged replies: the rows of a sheet, as `label` writes it."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from basic_control.data.tools import parse_json
from basic_control.tasks.judges.labels import COLUMNS, KEY, join_judged, sheet
from basic_control.tasks.report.exports import csv_text
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.titles import metric_title

DRAWN = (50, 20, 10, 5)
"""Replies for each suite, model and metric: the first number whose texts fit `ROOM`."""
ROOM = 3_000_000
"""Maximum characters of texts."""
SHOWN = ("suite", "model", "metric", "prompt", "reference", "response")


def list_judged_replies(data: ReportData) -> pl.DataFrame:
    """Return judged samples with their replies."""
    texts = data.replies.select("item_id", "model", "repeat", response="text").unique(
        ["item_id", "model", "repeat"], maintain_order=True
    )
    return join_judged(data.scores, data.items, texts, data.plan.declarations)


def draw_rows(judged: pl.DataFrame) -> pl.DataFrame | None:
    """Draw the sheet as `label RUN` does by default, fewer rows if texts are long; None if nothing was judged."""
    if judged.is_empty():
        return None
    for n in DRAWN:
        rows = sheet(judged, n=n)
        lengths = rows.select(pl.col(SHOWN).str.len_chars().sum()).row(0)
        if sum(lengths) <= ROOM:
            return rows
    return None


def sheet_of(data: ReportData) -> dict[str, Any] | None:
    """Return the sheet for the page: each row as displayed, and as CSV; None if nothing was judged.

    The page appends a label to a row of CSV, so that its file equals the sheet's to the byte.
    """
    judged = list_judged_replies(data)
    rows = draw_rows(judged)
    if rows is None:
        return None
    judged_rows = rows.select(KEY).join(
        judged.select(*KEY, "value", "facts"), on=KEY, how="left", maintain_order="left"
    )
    criteria, own_columns = {}, {}
    for suite in data.plan.declarations:
        for name, options in suite.metrics.items():
            criteria[suite.name, name] = _describe_criterion(options.get("criteria") or metric_title(name))
            own_columns[suite.name, name] = options.get("criteria_column", "")
    head, *_ = csv_text(rows.head(0)).splitlines()
    records = [csv_text(row, header=False).rstrip("\n") for row in rows.drop("label").iter_slices(1)]
    # Each row as the page shows it, beside its line of the file.
    columns = [name for name in COLUMNS if name in SHOWN and name not in KEY]
    page_rows = rows.select(*KEY, *columns).rows(named=True)
    for row, record, value, facts in zip(
        page_rows, records, judged_rows["value"], judged_rows["facts"], strict=True
    ):
        metric = row["suite"], row["metric"]
        criterion = criteria.get(metric, row["metric"])
        # A row may bring its own criteria.
        if own_columns.get(metric):
            criterion = _describe_criterion(parse_json(json.loads(facts).get(own_columns[metric])))
        row |= {"csv": record, "value": value, "criterion": criterion}
    return {
        "head": f"{head}\n",
        "empty": csv_text(pl.DataFrame({"label": [""]}), header=False).rstrip("\n"),
        "rows": page_rows,
    }


def _describe_criterion(criterion: object) -> str:
    """Return what a judged metric asks, in words: its criterion, or several by their names, a line each."""
    if isinstance(criterion, list):
        return "\n".join(map(str, criterion))
    if not isinstance(criterion, Mapping):
        return str(criterion)
    lines = []
    for name, text in criterion.items():
        lines.append(f"{name}: {text}" if name else str(text))
    return "\n".join(lines)
