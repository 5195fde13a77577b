"""The HTML report's pages on suites: the declared parts, distributions and bands of their metrics."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any, Literal

import polars as pl

from basic_control.data.plugins import metric
from basic_control.data.records import VALUED, Metric
from basic_control.data.shown import Crossing, Distribution
from basic_control.metrics.analysis.observations import observations
from basic_control.metrics.analysis.policy import reaches
from basic_control.metrics.analysis.summary import OF_SUITES, SummaryRow, cells
from basic_control.metrics.stats.agreement import JudgeAgreement, JudgeFailures, judge_ratings
from basic_control.metrics.stats.intervals import mean_interval
from basic_control.tasks.report.language import say
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.tables import Column, Table
from basic_control.tasks.report.text import percent
from basic_control.tasks.report.titles import get_display_text, metric_title, part_title

Band = Literal["excellent", "good", "fair", "poor"]
FLOORS: tuple[tuple[float, Band], ...] = ((0.9, "excellent"), (0.7, "good"), (0.5, "fair"), (0.0, "poor"))
"""The lowest value of each band of a metric, from the best band down."""


def suites(data: ReportData, models: Sequence[str]) -> list[dict[str, Any]]:
    """Return a page for each suite with a metric that has more to show than its score."""
    pages = []
    for suite in data.plan.declarations:
        items = data.items.filter(suite=suite.name).select("item_id")
        scores = data.scores.join(items, on="item_id", how="semi")
        summary = data.summary.filter(suite=suite.name)
        explained = (_explain_metric(metric(name), scores, summary, models) for name in suite.metric_names)
        metrics = [*filter(None, explained)]
        if metrics:
            title = data.titles.suite(suite.name)
            pages.append({"name": suite.name, "id": f"suite-{suite.name}", "title": title, "metrics": metrics})
    return pages


def _explain_metric(
    unit: Metric, of_suite: pl.DataFrame, summary: pl.DataFrame, models: Sequence[str]
) -> dict[str, Any] | None:
    """Return what to show of a metric, from its suite's scores and summary; None if it only has a score."""
    scores = of_suite.filter(metric=unit.name)
    scored = scores.filter(pl.col("status").is_in(VALUED))
    means = _find_part_cells(summary, unit)
    parts = dict.fromkeys(chain.from_iterable(means.values()))
    parts.pop("", None)
    # Each model's score may have the details of several judges: each counts.
    details: list[tuple[str, Mapping[str, Any]]] = []
    for model, text in scored.select("model", "details").iter_rows():
        details.extend(zip(repeat(model), _read_details(text, unit)))
    crossings = [_build_crossing(unit, crossing, details, models) for crossing in unit.shown.crossings]
    tables = [_build_distribution(unit, part, details, models) for part in unit.shown.distributions]
    page = {
        "name": unit.name,
        "title": metric_title(unit.name),
        "note": get_display_text(unit, "note", unit.shown.note),
        "parts": [(part, part_title(unit, part)) for part in parts],
        "cells": means,
        # What no reply of this run shows is left out.
        "crossings": [*filter(itemgetter("models"), crossings)],
        "tables": [*filter(attrgetter("rows"), tables)],
        "bands": bands(unit, scored),
    }
    has_more = any(map(page.get, ("parts", "crossings", "tables", "bands")))
    if scores.is_empty() or not has_more:
        return None
    return page


def _find_part_cells(summary: pl.DataFrame, unit: Metric) -> dict[str, dict[str, SummaryRow]]:
    """Return each model's cells of a metric (under '') and of its parts, over the whole suite.

    Parts in the order declared; if none are declared, those that occur. A part that never applies is left out.
    """
    summary_rows = {(row.model, row.metric): row for row in cells(summary.filter(OF_SUITES))}
    occurring = sorted({name for (_, name), row in summary_rows.items() if row.counts.n_applicable})
    declared = [f"{unit.name}.{part}" for part in unit.shown.titles]
    prefix = f"{unit.name}."
    parts = [part for part in declared or occurring if part in occurring and part.startswith(prefix)]
    part_cells: dict[str, dict[str, SummaryRow]] = {}
    for model, metric_name in summary_rows:
        if metric_name != unit.name:
            continue
        part_cells[model] = {}
        for name in (unit.name, *parts):
            if (model, name) in summary_rows:
                part = name.removeprefix(unit.name).removeprefix(".")
                part_cells[model][part] = summary_rows[model, name]
    return part_cells


Details = Sequence[tuple[str, Mapping[str, Any]]]
"""The details of scores, each with its model."""


def _read_details(text: str | None, unit: Metric) -> list[Mapping[str, Any]]:
    """Return the details of a score; for a judged one, those of each judge that counts."""
    document = json.loads(text or "{}")
    judges = document.get("judges") if unit.steps else None
    if judges is None:
        return [document]
    left_out = document.get("left_out", {})
    counting = [judge for name, judge in judges.items() if name not in left_out]
    return [judge["details"] for judge in counting if judge.get("details")]


def _build_distribution(unit: Metric, distribution: Distribution, details: Details, models: Sequence[str]) -> Table:
    """Return how often each label of a distribution occurs in each model's scores."""
    counts: Counter[tuple[str, str]] = Counter()
    label_counts: Counter[str] = Counter()
    for model, score_details in details:
        for label in map(str, distribution.of(score_details)):
            counts[model, label] += 1
            label_counts[label] += 1
    # Labels that a metric does not declare stand by how often they occur.
    labels = list(distribution.labels) or [*dict(label_counts.most_common())]
    totals: Counter[str] = Counter()
    for (model, label), count in counts.items():
        if label in labels:
            totals[model] += count

    def build_column(label: str) -> Column:
        def write(model: str) -> str:
            n = counts[model, label]
            return f"{n}\u00a0({percent(n / totals[model])})"

        texts = distribution.labels.get(label, {})
        return Column(get_display_text(unit, f"{distribution.name} {label}", texts, label), write, numeric=True)

    return Table.of(
        filter(totals.get, models),
        Column(say("common.model")),
        *map(build_column, labels),
        title=get_display_text(unit, f"{distribution.name} title", distribution.title, distribution.name),
        caption=get_display_text(unit, f"{distribution.name} note", distribution.note),
    )


def _build_crossing(unit: Metric, crossing: Crossing, details: Details, models: Sequence[str]) -> dict[str, Any]:
    """Return how often each row and column of a crossing occur together in each model's scores."""
    counts: Counter[tuple[str, tuple[str, str]]] = Counter()
    totals: Counter[str] = Counter()
    for model, score_details in details:
        cell = crossing.of(score_details)
        if cell is not None:
            counts[model, cell] += 1
            totals[model] += 1

    def translate(labels: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        return {n: get_display_text(unit, f"{crossing.name} {n}", text, n) for n, text in labels.items()}

    return {
        "title": get_display_text(unit, f"{crossing.name} title", crossing.title, crossing.name),
        "note": get_display_text(unit, f"{crossing.name} note", crossing.note),
        "rows": translate(crossing.rows),
        "columns": translate(crossing.columns),
        "models": {model: totals[model] for model in models if totals[model]},
        "n": counts,
        "alert": crossing.alert,
        "reasons": crossing.reasons,
    }


def band(value: float) -> Band:
    """Return the band of a score in [0, 1]; the unrounded score decides, a floor belongs to its band.

    Source: seeds 002 and 003, the tables of interpretation.
    """
    for floor, name in FLOORS:
        if reaches(value, floor):
            return name
    return "poor"


def bands(unit: Metric, scores: pl.DataFrame) -> Table | None:
    """Return the meaning of a metric's bands, and how many of each model's answers lie in each."""
    values = scores.filter(metric=unit.name).drop_nulls("value").select("model", "value").rows()
    if not unit.shown.bands or not values:
        return None
    counts: Counter[tuple[str, Band]] = Counter()
    for model, value in values:
        counts[model, band(value)] += 1

    def get_meaning(row: tuple[float, Band]) -> str:
        return get_display_text(unit, f"band {row[1]}", unit.shown.meanings.get(row[1], {}))

    def build_column(model: str) -> Column:
        return Column(model, lambda row: str(counts[model, row[1]]), numeric=True)

    return Table.of(
        FLOORS,
        Column(say("common.band"), lambda row: say(f"common.{row[1]}")),
        Column(say("common.from"), lambda row: percent(row[0]), numeric=True),
        Column(say("common.meaning"), get_meaning),
        *map(build_column, dict(values)),
        title=say("common.bands_head", metric=unit.name),
    )


def judges(
    agreement: Mapping[str, JudgeAgreement], scores: pl.DataFrame, items: pl.DataFrame
) -> list[dict[str, Any]]:
    """Return, for each judged metric, the judges' failures, mean scores and agreement."""
    ratings = judge_ratings(observations(scores, items).scores).drop_nulls("value")

    def build_row(name: str, judge: JudgeFailures) -> dict[str, Any]:
        values = ratings.filter(metric=name, judge=judge.judge)["value"].to_numpy()
        return {"judge": judge, "mean": mean_interval(values), "n": len(values)}

    tables = []
    for name, metric_agreement in agreement.items():
        rows = [build_row(name, judge) for judge in metric_agreement.judges]
        tables.append({"title": metric_title(name), "agreement": metric_agreement, "rows": rows})
    return tables
