"""The HTML report's overview: verdicts, heat map, breakdowns, comparisons, typical errors."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from data.suites import Suite
from metrics.analysis.policy import reaches
from metrics.analysis.scores import THRESHOLD, headline_parts, totals_of
from metrics.analysis.summary import OVER_ALL, SummaryRow, cells
from tasks.report.conclusion import conclusion
from tasks.report.report_data import ReportData
from tasks.report.samples import primary
from tasks.report.text import percent, shortened
from tasks.report.titles import (
    category,
    counted,
    metric_title,
    suite_title,
    title_of,
    titled,
    where,
)
from tasks.report.verdict_table import model_rows, model_values
from tasks.report.words import best_first, has_overall, remarks, say, suites_in, unmeasured, why

HEAT = 10
BELOW = 5
"""The last of the heat map's classes that means below the threshold; later ones are green."""
WIDE = 1 / 3
"""The width of an interval above which its mean says little."""

SHOWN_ERRORS = 40
SERIES = 8
"""Models that a chart shows: distinguishable colours, --series-1 and so on in the style sheet."""
_LETTER = 6.4
"""Pixels of a letter in a chart, slightly above the mean."""


@dataclass(frozen=True, slots=True)
class HeatColumn:
    """A column of the heat map: a generated family, or a metric of another suite."""

    title: str
    suite: str
    family: str
    metric: str
    threshold: float


def heat(mean: float | None, threshold: float | None) -> str:
    """Return the heat map's class for a mean in [0, 1], green from its threshold on; none if either is None."""
    if mean is None or threshold is None:
        return ""
    if reaches(mean, threshold):
        room = 1 - threshold
        above = (mean - threshold) / room if room > 0 else 1.0
        return f"h{BELOW + 1 + min(HEAT - BELOW - 1, max(0, int(above * (HEAT - BELOW))))}"
    return f"h{min(BELOW, max(0, int(mean / threshold * (BELOW + 1))))}"


def models_of(data: ReportData) -> list[str]:
    """Return the models of a run, best overall score first."""
    known = [model["model"] for model in best_first(data.results)]
    return list(dict.fromkeys([*known, *data.scores["model"].unique(maintain_order=True)]))


def targets(data: ReportData) -> list[dict[str, Any]]:
    """Return the targets, best first: model and prompt, the prompt's text by suite, and scores by suite."""
    found: dict[str, dict[str, Any]] = {
        name: {"model": name, "prompt": "", "texts": {}, "name": name, "scores": {}} for name in models_of(data)
    }
    for suite in data.plan.suites:
        for one in suite.targets:
            if one.name in found:
                found[one.name] |= {"model": one.model.name, "prompt": one.prompt}
                found[one.name]["texts"][suite.name] = suite.suite.asked_by[one.prompt]
    for model, part in suites_in(data.results["final"]):
        found[model]["scores"][part["suite"]] = percent(part["score"])
    return [*found.values()]


def verdict(data: ReportData) -> dict[str, Any]:
    """Return the run's verdict in a sentence, its models with their scores, and what is below a threshold."""
    language = data.language
    final, ordered = data.results["final"], best_first(data.results)
    return {
        "concluded": conclusion(data.results, language),
        "gate": final["gate"],
        "exit_code": final["exit_code"],
        "models": ordered,
        "has_overall": any(map(has_overall, ordered)),
        "suites": list(dict.fromkeys(suite["suite"] for model in ordered for suite in model["suites"])),
        "parts": {(m["model"], suite["suite"]): suite for m in ordered for suite in m["suites"]},
        "values": {row.model["model"]: model_values(row, language) for row in model_rows(data.results, language)},
        "reasons": [(m["model"], told) for m in ordered if (told := [*_reasons(data, m)])],
    }


def _reasons(data: ReportData, model: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a model does not pass, suites first, unless the table's scores and thresholds show it."""
    language = data.language
    parts = [(suite_title(data, suite["suite"]), suite) for suite in model["suites"]]
    for name, part in [*parts, *([(say("overall", language), model)] if has_overall(model) else [])]:
        if part["outcome"] != "pass" and (told := why(part, language)):
            yield f"{name}: {told}"


def threshold_of(suite: Suite) -> float:
    """Return a suite's configured threshold, or the default one for its colours."""
    return THRESHOLD if suite.threshold is None else suite.threshold


def heat_columns(data: ReportData) -> list[HeatColumn]:
    """Return the columns: each family of suites with strata, then the scoring metrics of other suites."""
    language = data.language
    found = []
    present = set(data.summary.select("suite", "metric").unique().iter_rows())
    for suite in data.plan.declared:
        names = [name for name in suite.scored_by if (suite.name, name) in present]
        column = partial(HeatColumn, suite=suite.name, threshold=threshold_of(suite))
        if suite.strata:
            families = data.items.filter(suite=suite.name)["family"].unique(maintain_order=True)
            found += [column(title_of(f, language), family=f, metric=name) for f in families for name in names]
            continue
        for name in names:
            title = metric_title(name, language) if len(names) > 1 else titled(suite, language)
            found.append(column(title, family="", metric=name))
        beside = [name for name in headline_parts(suite) if (suite.name, name) in present]
        found += [column(metric_title(name, language), family="", metric=name) for name in beside]
    return found


def heat_map(data: ReportData) -> dict[str, Any]:
    """Return the rows model x column of cells, with each model's TOTAL and overall score."""
    columns = heat_columns(data)
    whole = data.summary.filter(OVER_ALL)
    at = {(c.model, c.suite, c.family, c.metric): c for c in cells(whole)}
    sums = totals_of(data.plan.declared, data.summary)
    overall = {model["model"]: model for model in data.results["final"]["models"] if has_overall(model)}
    rows = []
    for model in models_of(data):
        whole_of = sums.get(model)
        rows.append(
            {
                "model": model,
                "cells": [at.get((model, c.suite, c.family, c.metric)) for c in columns],
                "total": None if whole_of is None or whole_of.percent is None else whole_of.percent / 100,
                "left_out": list(whole_of.left_out) if whole_of else [],
                "overall": overall.get(model),
            }
        )
    return {
        "columns": columns,
        "rows": rows,
        "unmeasured": unmeasured(data.results),
        "has_total": bool(sums),
        "has_overall": bool(overall),
        "total_threshold": next((threshold_of(suite) for suite in data.plan.declared if suite.strata), 0.0),
    }


def profile(found: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any] | None:
    """Return the heat map's cells as a chart: categories with a mark for each model measured there.

    None for one suite, where it would repeat the table. `left` is the room for names in pixels.
    """
    from rich.cells import cell_len

    if len({column.suite for column in found["columns"]}) < 2:  # noqa: PLR2004 - see above
        return None
    first = models[:SERIES]
    cells_of = {row["model"]: row["cells"] for row in found["rows"]}
    categories: list[dict[str, Any]] = []
    for at, column in enumerate(found["columns"]):
        own = [(n, cells_of[model][at]) for n, model in enumerate(first, 1)
               if (model, column.suite) not in found["unmeasured"]]  # fmt: skip
        if marks := [(n, cell) for n, cell in own if cell is not None and cell.value.mean is not None]:
            categories.append({"title": shortened(column.title), "threshold": column.threshold, "marks": marks})
    left = 16 + _LETTER * max((cell_len(one["title"]) for one in categories), default=0)
    return {"models": first, "categories": categories, "left": left} if categories else None


def pivot(data: ReportData) -> dict[str, Any] | None:
    """Return rows model x category with a cell for each level and language; None if there is one of each only.

    `heads` are (dimension, value); a cell is None if the category has no such level or language.
    """
    there = {d: [v for v in data.items[d].unique(maintain_order=True) if v] for d in ("level", "language")}
    heads = [(dimension, value) for dimension, values in there.items() if len(values) > 1 for value in values]
    if not heads:
        return None
    at: dict[tuple[str, ...], SummaryRow] = {}
    for dimension, other in (("level", "language"), ("language", "level")):
        fine = data.summary.filter((pl.col(dimension) != "") & (pl.col(other) == ""))
        at |= {(c.model, c.suite, c.family, c.metric, dimension, getattr(c, dimension)): c for c in cells(fine)}
    columns = heat_columns(data)
    rows = []
    for model in models_of(data):
        for column in columns:
            own = [at.get((model, column.suite, column.family, column.metric, *head)) for head in heads]
            if any(own):
                rows.append({"category": column, "model": model, "cells": own})
    return {"heads": heads, "groups": Counter(dimension for dimension, _ in heads), "rows": rows}


def comparisons(data: ReportData) -> dict[str, Any] | None:
    """Return the pairs on the scoring metrics, and the indistinguishable groups; None for one model."""
    counting: dict[str, list[dict[str, Any]]] = {}
    order = [*data.plan.suite_names, ""]  # the overall score comes last
    for kind in ("comparisons", "groups"):
        listed = [
            {**row, "where": where(data, row["suite"], row["metric"], row["scope"])}
            for row in data.results.get(kind, ())
            if row["scope"] in {"suite", "overall"} or row["metric"] in counted(data, row["suite"])
        ]
        counting[kind] = sorted(listed, key=lambda row: order.index(row["suite"]))
    pairs = counting["comparisons"]
    if not pairs:
        return None
    ends = [row["interval"][end] for row in pairs for end in ("low", "high")]
    return {
        "pairs": [{**row, "remarks": remarks(row, data.language)} for row in pairs],
        "groups": counting["groups"],
        "reach": max(0.05, max((abs(end) for end in ends if end is not None), default=1.0)),
        "tests": sum(row["p_value"] is not None for row in data.results["comparisons"]),
    }


def typical_errors(data: ReportData) -> list[dict[str, Any]]:
    """Count the reasons of wrong replies, for each model and category, most frequent first."""
    items = data.items.select("item_id", "suite", "family")
    placed = primary(data).join(items, on="item_id", how="left")
    keys = ["model", "suite", "family"]
    asked = placed.group_by(keys).agg(asked=pl.len())
    wrong = placed.filter(~pl.col("outcome").is_in(["right", "not_applicable"]) & pl.col("reason").is_not_null())
    counts = wrong.group_by([*keys, "reason"]).agg(n=pl.len()).join(asked, on=keys)
    listed = counts.sort(-pl.col("n").cast(pl.Int64), *keys, "reason").head(SHOWN_ERRORS)
    return [
        {**row, "category": category(data, row["suite"], row["family"]), "share": row["n"] / row["asked"]}
        for row in listed.iter_rows(named=True)
    ]


def titles(data: ReportData) -> dict[str, str]:
    """Return the names of the run's suites and families, as the sample browser shows them."""
    found = {}
    for suite, family in data.items.select("suite", "family").unique(maintain_order=True).iter_rows():
        found |= {suite: suite_title(data, suite), f"{suite}/{family}": category(data, suite, family)}
    return found


def is_imprecise(cell: SummaryRow | None) -> bool:
    """Return whether a cell's interval is too wide for its mean to say much."""
    if cell is None or cell.value.interval.low is None or cell.value.interval.high is None:
        return False
    return cell.value.interval.high - cell.value.interval.low > WIDE
