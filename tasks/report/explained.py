"""The HTML report's pages on suites: the declared parts, distributions and bands of their metrics."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from basic_control.data.plugins import metric
from basic_control.data.records import VALUED, Metric
from basic_control.data.shown import Crossing, Distribution
from basic_control.metrics.analysis.policy import reaches
from basic_control.metrics.analysis.summary import OF_SUITES, SummaryRow, cells
from basic_control.metrics.analysis.values import observations
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
    for suite in data.plan.declared:
        items = data.items.filter(suite=suite.name).select("item_id")
        scores = data.scores.join(items, on="item_id", how="semi")
        summary = data.summary.filter(suite=suite.name)
        shown = [_metric(metric(name), scores, summary, models) for name in suite.metric_names]
        if any(shown):
            title = data.titles.suite(suite.name)
            metrics = [one for one in shown if one]
            pages.append({"name": suite.name, "id": f"suite-{suite.name}", "title": title, "metrics": metrics})
    return pages


def _metric(
    unit: Metric, of_suite: pl.DataFrame, summary: pl.DataFrame, models: Sequence[str]
) -> dict[str, Any] | None:
    """Return what to show of a metric, from its suite's scores and summary; None if it only has a score."""
    scores = of_suite.filter(metric=unit.name)
    done = scores.filter(pl.col("status").is_in(VALUED))
    means = _part_cells(summary, unit)
    parts = dict.fromkeys(part for own in means.values() for part in own if part)
    rows = done.select("model", "details").iter_rows()
    details = [(model, each) for model, text in rows for each in _details(text, unit)]
    crossings = [_crossing(unit, one, details, models) for one in unit.shown.crossings]
    tables = [_distribution(unit, one, details, models) for one in unit.shown.distributions]
    shown = {
        "name": unit.name,
        "title": metric_title(unit.name),
        "note": get_display_text(unit, "note", unit.shown.note),
        "parts": [(part, part_title(unit, part)) for part in parts],
        "cells": means,
        "crossings": [crossing for crossing in crossings if crossing["models"]],
        "tables": [table for table in tables if table.rows],
        "bands": bands(unit, done),
    }
    has_more = any(shown[name] for name in ("parts", "crossings", "tables", "bands"))
    return shown if has_more and not scores.is_empty() else None


def _part_cells(summary: pl.DataFrame, unit: Metric) -> dict[str, dict[str, SummaryRow]]:
    """Return each model's cells of a metric (under '') and of its parts, over the whole suite.

    Parts in the order declared; if none are declared, those that occur. A part that never applies is left out.
    """
    at = {(one.model, one.metric): one for one in cells(summary.filter(OF_SUITES))}
    occurring = sorted({name for (_, name), one in at.items() if one.counts.n_applicable})
    declared = [f"{unit.name}.{part}" for part in unit.shown.titles]
    parts = [one for one in declared or occurring if one in occurring and one.startswith(f"{unit.name}.")]
    return {
        model: {name.removeprefix(unit.name).removeprefix("."): at[model, name]
                for name in (unit.name, *parts) if (model, name) in at}
        for model, name in at
        if name == unit.name
    }  # fmt: skip


Details = Sequence[tuple[str, Mapping[str, Any]]]
"""The details of scores, each with its model."""


def _details(text: str | None, unit: Metric) -> list[Mapping[str, Any]]:
    """Return the details of a score; for a judged one, those of each judge."""
    read = json.loads(text or "{}")
    judges = read.get("judges") if unit.steps else None
    return [read] if judges is None else [one["details"] for one in judges.values() if one.get("details")]


def _distribution(unit: Metric, one: Distribution, details: Details, models: Sequence[str]) -> Table:
    found = Counter((model, str(label)) for model, each in details for label in one.of(each))
    overall = Counter(label for _, label in found.elements())
    labels = list(one.labels) or [label for label, _ in overall.most_common()]
    totals = {model: sum(found[model, label] for label in labels) for model in models}

    def counted(label: str) -> Column:
        def write(model: str) -> str:
            n = found[model, label]
            return f"{n}\u00a0({percent(n / totals[model])})"

        said = get_display_text(unit, f"{one.name} {label}", one.labels.get(label, {}), label)
        return Column(said, write, numeric=True)

    return Table.of(
        filter(totals.get, models),
        Column(say("common.model")),
        *map(counted, labels),
        title=get_display_text(unit, f"{one.name} title", one.title, one.name),
        caption=get_display_text(unit, f"{one.name} note", one.note),
    )


def _crossing(unit: Metric, one: Crossing, details: Details, models: Sequence[str]) -> dict[str, Any]:
    found = Counter((model, cell) for model, each in details if (cell := one.of(each)) is not None)
    totals = Counter(model for model, _ in found.elements())

    def named(labels: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        return {n: get_display_text(unit, f"{one.name} {n}", text, n) for n, text in labels.items()}

    return {
        "title": get_display_text(unit, f"{one.name} title", one.title, one.name),
        "note": get_display_text(unit, f"{one.name} note", one.note),
        "rows": named(one.rows),
        "columns": named(one.columns),
        "models": {model: totals[model] for model in models if totals[model]},
        "n": found,
        "alert": one.alert,
        "reasons": one.reasons,
    }


def band(value: float) -> Band:
    """Return the band of a score in [0, 1]; the unrounded score decides, a floor belongs to its band.

    Source: seeds 002 and 003, the tables of interpretation.
    """
    return next((name for floor, name in FLOORS if reaches(value, floor)), "poor")


def bands(unit: Metric, scores: pl.DataFrame) -> Table | None:
    """Return the meaning of a metric's bands, and how many of each model's answers lie in each."""
    values = scores.filter(metric=unit.name).drop_nulls("value").select("model", "value").rows()
    if not unit.shown.bands or not values:
        return None
    counts = Counter((model, band(value)) for model, value in values)

    def meaning(row: tuple[float, Band]) -> str:
        return get_display_text(unit, f"band {row[1]}", unit.shown.meanings.get(row[1], {}))

    def counted(model: str) -> Column:
        return Column(model, lambda row: str(counts[model, row[1]]), numeric=True)

    return Table.of(
        FLOORS,
        Column(say("common.band"), lambda row: say(f"common.{row[1]}")),
        Column(say("common.from"), lambda row: percent(row[0]), numeric=True),
        Column(say("common.meaning"), meaning),
        *(counted(model) for model in dict(values)),
        title=say("common.bands_head", metric=unit.name),
    )


def judges(
    agreement: Mapping[str, JudgeAgreement], scores: pl.DataFrame, items: pl.DataFrame
) -> list[dict[str, Any]]:
    """Return, for each judged metric, the judges' failures, mean scores and agreement."""
    ratings = judge_ratings(observations(scores, items).scores).drop_nulls("value")

    def row(name: str, judge: JudgeFailures) -> dict[str, Any]:
        values = ratings.filter(metric=name, judge=judge.judge)["value"].to_numpy()
        return {"judge": judge, "mean": mean_interval(values), "n": len(values)}

    return [
        {"title": metric_title(name), "agreement": own, "rows": [row(name, judge) for judge in own.judges]}
        for name, own in agreement.items()
    ]
