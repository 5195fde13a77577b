"""What the HTML report says first: verdicts, the heat map, breakdowns, comparisons, typical errors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from config.settings import SUITES
from metrics.final import SUITE_METRICS
from metrics.summary import Cell, cells, totals
from tasks.report.html_phrases import named, say
from tasks.report.markdown import title_of
from tasks.report.marks import percent
from tasks.report.material import Material
from tasks.report.phrases import why
from tasks.report.samples import primary

RANK = ("pass", "undecided", "fail", "error")
HEAT = 10
WIDE = 1 / 3
"""The width of an interval above which its mean says little."""

SHOWN_ERRORS = 40


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the heat map: a generated family, or a metric of another suite."""

    title: str
    suite: str
    family: str
    metric: str


def heat(mean: float | None) -> str:
    """Return the heat map's class for a mean in [0, 1]; none for no mean."""
    return "" if mean is None else f"h{min(HEAT, max(0, round(HEAT * mean)))}"


def models_of(material: Material) -> list[str]:
    """Return the models of a run, the best overall score first, as configured where there is none."""
    there = material.scores["model"].unique(maintain_order=True)
    asked = list(dict.fromkeys([*(m.name for m in material.settings.models), *there]))
    final = material.results.get("final", {}).get("models", [])
    score = {m["model"]: m["score"] for m in final if m["score"] is not None}
    return sorted(asked, key=lambda model: -score.get(model, -1.0))


def verdict(material: Material) -> dict[str, Any]:
    """Return the run's verdict: the worst of its models', a sentence, and what lies below a threshold."""
    language = material.settings.report.language
    final = material.results.get("final")
    if not final or not final["models"]:
        return {"outcome": "none", "sentence": say("says_none", language), "models": [], "reasons": []}
    outcomes = [model["verdict"] for model in final["models"]]
    worst = max(outcomes, key=RANK.index)
    sentence = say(f"says_{worst}", language, k=outcomes.count(worst), n=len(outcomes))
    counts = [f"{say(o, language)} {outcomes.count(o)}" for o in reversed(RANK) if o in outcomes]
    ordered = sorted(final["models"], key=lambda m: -(m["score"] if m["score"] is not None else -1.0))
    return {
        "outcome": worst,
        "sentence": sentence,
        "counts": counts if len(counts) > 1 else [],
        "gate": final["gate"],
        "exit_code": final["exit_code"],
        "models": ordered,
        "suites": list(dict.fromkeys(suite["suite"] for model in ordered for suite in model["suites"])),
        "parts": {(m["model"], suite["suite"]): suite for m in ordered for suite in m["suites"]},
        "reasons": [(m["model"], list(_reasons(m, language))) for m in ordered if m["verdict"] != "pass"],
    }


def _reasons(model: Mapping[str, Any], language: str) -> Iterator[str]:
    """Say what keeps a model from passing, suites first."""
    parts = [(named("suite", suite["suite"], language), suite) for suite in model["suites"]]
    for name, part in [*parts, (say("overall", language), model)]:
        values = {"name": name, "score": percent(part["score"]), "threshold": percent(part["threshold"])}
        if part["outcome"] == "pass":
            continue
        told = why(part, language)
        if part["reason"]:
            yield f"{name}: {told}"
            continue
        said = say("below" if part["outcome"] == "fail" else "not_settled", language, **values)
        yield f"{said}; {told}" if told else said


def _order(suite: str) -> tuple[int, str]:
    """Order suites as the configuration lists them, others after."""
    return (SUITES.index(suite) if suite in SUITES else len(SUITES), suite)


def heat_columns(material: Material) -> list[Column]:
    """Return the columns: each generated family, then the metrics that other suites' scores are made of."""
    language = material.settings.report.language
    found = []
    present = set(material.summary.select("suite", "metric").unique().iter_rows())
    for suite in sorted(material.summary["suite"].unique(), key=_order):
        metrics = [m for m in SUITE_METRICS.get(suite, (suite,)) if (suite, m) in present]
        if suite == "basic_control":
            families = material.items.filter(suite=suite)["family"].unique(maintain_order=True)
            found += [Column(title_of(f, language), suite, f, m) for f in families for m in metrics]
        else:
            several = len(metrics) > 1
            found += [
                Column(named("metric", m, language) if several else named("suite", suite, language), suite, "", m)
                for m in metrics
            ]
    return found


def heat_map(material: Material) -> dict[str, Any]:
    """Return the rows model x column of cells, with each model's TOTAL and overall score."""
    columns = heat_columns(material)
    whole = material.summary.filter((pl.col("level") == "") & (pl.col("language") == ""))
    at = {(c.model, c.suite, c.family, c.metric): c for c in cells(whole)}
    sums = totals(material.summary)
    overall = {m["model"]: m for m in material.results.get("final", {}).get("models", [])}
    rows = []
    for model in models_of(material):
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
    return {"columns": columns, "rows": rows, "has_total": bool(sums), "has_overall": bool(overall)}


def profile_rows(heat_rows: Mapping[str, Any], models: Sequence[str]) -> list[dict[str, Any]]:
    """Return the heat map's cells as the rows of a chart."""
    return [
        {
            "model": row["model"],
            "category": column.title,
            "mean": cell.mean,
            "low": cell.ci_low if cell.ci_low is not None else cell.mean,
            "high": cell.ci_high if cell.ci_high is not None else cell.mean,
        }
        for row in heat_rows["rows"]
        if row["model"] in models
        for column, cell in zip(heat_rows["columns"], row["cells"], strict=True)
        if cell is not None and cell.mean is not None
    ]


def breakdown(material: Material, dimension: str) -> dict[str, Any] | None:
    """Return model x category x value of a dimension (`level`, `language`); None where there is one value only."""
    language = material.settings.report.language
    values = [v for v in material.items[dimension].unique(maintain_order=True) if v]
    if len(values) < 2:  # noqa: PLR2004 - nothing to compare
        return None
    other = "language" if dimension == "level" else "level"
    fine = material.summary.filter((pl.col(dimension) != "") & (pl.col(other) == ""))
    at = {(c.model, c.suite, c.family, c.metric, getattr(c, dimension)): c for c in cells(fine)}
    rows = []
    for column in heat_columns(material):
        for model in models_of(material):
            own = [at.get((model, column.suite, column.family, column.metric, value)) for value in values]
            if any(own):
                rows.append({"category": column, "model": model, "cells": own})
    return {
        "dimension": dimension,
        "values": values,
        "rows": rows,
        "title": say(f"breakdown_{dimension}", language),
    }


def comparisons(material: Material) -> dict[str, Any] | None:
    """Return the pairs on the metrics that count, and the groups that cannot be told apart; None for one model."""
    language = material.settings.report.language

    def counts(row: Mapping[str, Any]) -> bool:
        return row["metric"] in SUITE_METRICS.get(row["suite"], (row["suite"],))

    pairs = [row for row in material.results.get("comparisons", ()) if counts(row)]
    pairs.sort(key=lambda row: _order(row["suite"]))
    if not pairs:
        return None
    ends = [row["interval"][end] for row in pairs for end in ("low", "high")]
    widest = max((abs(end) for end in ends if end is not None), default=1.0)
    groups = [row for row in material.results.get("groups", ()) if counts(row)]
    groups.sort(key=lambda row: _order(row["suite"]))
    return {
        "pairs": [{**row, "where": where(row["suite"], row["metric"], language)} for row in pairs],
        "groups": [{**row, "where": where(row["suite"], row["metric"], language)} for row in groups],
        "reach": max(0.05, widest),
    }


def where(suite: str, metric: str, language: str) -> str:
    """Name a metric of a suite."""
    if len(SUITE_METRICS.get(suite, ())) > 1:
        return f"{named('suite', suite, language)}: {named('metric', metric, language)}"
    return named("suite", suite, language)


def typical_errors(material: Material) -> list[dict[str, Any]]:
    """Count the reasons of what is not right, for each model and category, most frequent first."""
    language = material.settings.report.language
    items = material.items.select("item_id", "suite", "family")
    placed = primary(material).join(items, on="item_id", how="left")
    keys = ["model", "suite", "family"]
    asked = placed.group_by(keys).agg(asked=pl.len())
    wrong = placed.filter(~pl.col("outcome").is_in(["right", "not_applicable"]) & pl.col("reason").is_not_null())
    counted = (
        wrong.group_by([*keys, "reason"])
        .agg(n=pl.len())
        .join(asked, on=keys)
        .sort("n", *keys, "reason", descending=[True, False, False, False, False])
        .head(SHOWN_ERRORS)
    )
    return [
        {**row, "category": category(row["suite"], row["family"], language), "share": row["n"] / row["asked"]}
        for row in counted.iter_rows(named=True)
    ]


def category(suite: str, family: str, language: str) -> str:
    """Name a sample's category: its generated family, or its suite (whose family is a data set's name)."""
    return title_of(family, language) if suite == "basic_control" and family else named("suite", suite, language)


def titles(material: Material) -> dict[str, str]:
    """Return the names of the run's suites and families, as the sample browser shows them."""
    language = material.settings.report.language
    pairs = material.items.select("suite", "family").unique(maintain_order=True).iter_rows()
    return {
        key: title
        for suite, family in pairs
        for key, title in (
            (suite, named("suite", suite, language)),
            (f"{suite}/{family}", category(suite, family, language)),
        )
    }


def few(cell: Cell | None) -> bool:
    """Say whether a cell's interval is too wide for its mean to say much."""
    if cell is None or cell.ci_low is None or cell.ci_high is None:
        return False
    return cell.ci_high - cell.ci_low > WIDE
