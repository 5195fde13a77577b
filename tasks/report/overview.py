"""The HTML report's overview: verdicts, heat map, breakdowns, comparisons, typical errors."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from basic_control.data.deciding import columns, list_metrics
from basic_control.data.plugins import metric
from basic_control.data.records import TYPICAL
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.pairs import Comparison, Grouping
from basic_control.metrics.analysis.policy import reaches
from basic_control.metrics.analysis.results import ModelComparisons, Results
from basic_control.metrics.analysis.scores import THRESHOLD, headline_parts, totals_of
from basic_control.metrics.analysis.summary import OVER_ALL, SummaryRow, Total, cells
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.plan import Plan
from basic_control.tasks.report.conclusion import conclusion
from basic_control.tasks.report.language import say
from basic_control.tasks.report.samples import primary
from basic_control.tasks.report.text import percent, shorten_name
from basic_control.tasks.report.titles import SuiteTitles, family_title, metric_title
from basic_control.tasks.report.verdict_table import model_rows, model_values, verdict_table
from basic_control.tasks.report.words import (
    explain_outcome,
    headlines_of,
    measure,
    metric_name,
    remarks,
    sort_by_score,
)

HEAT = 10
BELOW = 5
"""The last of the heat map's classes that means below the threshold; later ones are green."""
WIDE = 1 / 3
"""The width of an interval above which its mean says little."""

SHOWN_ERRORS = 40
SHOWN_REPLIES = 5
LONGEST_REPLY = 60
"""Characters of a reply that can come twice: longer ones differ."""
SERIES = 8
"""Models that a chart shows: distinguishable colours, --series-1 and so on in the style sheet."""
_DIMENSIONS = ("level", "language")
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


def models_of(verdict: RunVerdict, scores: pl.DataFrame) -> list[str]:
    """Return the models of a run, best overall score first, then those that only have scores."""
    ranked = [model.model for model in sort_by_score(verdict.models)]
    return list(dict.fromkeys([*ranked, *scores["model"].unique(maintain_order=True)]))


def targets(plan: Plan, verdict: RunVerdict, models: Sequence[str]) -> list[dict[str, Any]]:
    """Return the targets, best first: model and prompt, the prompt's text by suite, and scores by suite."""
    by_name: dict[str, dict[str, Any]] = {
        name: {"model": name, "prompt": "", "texts": {}, "name": name, "scores": {}} for name in models
    }
    for suite in plan.suites:
        for target in suite.targets:
            if target.name in by_name:
                by_name[target.name] |= {"model": target.model.name, "prompt": target.prompt}
                by_name[target.name]["texts"][suite.name] = suite.suite.prompts_by_name[target.prompt]
    for headline in headlines_of(verdict.models):
        score = percent(headline.measured.score.mean)
        text = score if headline.is_only else f"{metric_name(headline)} {score}"
        by_suite = by_name[headline.model]["scores"]
        by_suite[headline.suite] = "; ".join(filter(None, (by_suite.get(headline.suite), text)))
    return [*by_name.values()]


def verdict_of_run(verdict: RunVerdict, results: Results, titles: SuiteTitles) -> dict[str, Any]:
    """Return the run's verdict in a sentence, its models with their scores, and what is below a threshold."""
    models = sort_by_score(verdict.models)
    headlines = headlines_of(models)
    return {
        "concluded": conclusion(verdict, results.baseline),
        "gate": verdict.gate,
        "exit_code": int(verdict.exit_code),
        "models": models,
        "has_overall": any(model.has_overall for model in models),
        "columns": {(headline.suite, headline.metric): _column_of(headline, titles) for headline in headlines},
        "overall_threshold": next((model.overall.decided.threshold for model in models if model.has_overall), None),
        "figures": verdict_table(verdict.models, results.spending),
        "parts": {(headline.model, headline.suite, headline.metric): headline for headline in headlines},
        "values": {row.model.model: model_values(row) for row in model_rows(verdict.models, results.spending)},
        "reasons": [(model.model, reasons) for model in models if (reasons := [*_reasons(model, titles)])],
    }


def _column_of(headline: Headline, titles: SuiteTitles) -> tuple[str, float | None]:
    """Return a column's title, with the measure where it is no mean, and its threshold."""
    title = " ".join(filter(None, (titles.headline(headline), measure(headline))))
    return title, headline.decided.threshold


def _reasons(model: ModelResult, titles: SuiteTitles) -> Iterator[str]:
    """Yield why a model does not pass, suites first, unless the table's scores and thresholds show it."""
    for score in model.scores:
        name = titles.headline(score) if score.suite else say("page.overall")
        reason = explain_outcome(score)
        if score.decided.outcome != "pass" and reason:
            yield f"{name}: {reason}"


def threshold_of(suite: Suite) -> float:
    """Return a suite's configured threshold, or the default one for its colours."""
    return THRESHOLD if suite.threshold is None else suite.threshold


def heat_columns(summary: pl.DataFrame, items: pl.DataFrame, titles: SuiteTitles) -> list[HeatColumn]:
    """Return the columns: each family of suites with strata, then the scoring metrics of other suites."""
    heads = []
    present = set(summary.select("suite", "metric").unique().iter_rows())
    for suite in titles.suites:
        limits = dict.fromkeys(list_metrics(suite), threshold_of(suite))
        for score in columns(suite):
            if score.threshold is not None and score.headline:
                limits[score.headline] = score.threshold
        names = [name for name in limits if (suite.name, name) in present]
        column = partial(HeatColumn, suite=suite.name, threshold=threshold_of(suite))
        if suite.strata:
            families = items.filter(suite=suite.name)["family"].unique(maintain_order=True)
            heads += [
                column(family_title(family), family=family, metric=name) for family in families for name in names
            ]
            continue
        for name in names:
            title = (
                f"{titles.suite(suite.name)}: {metric_title(name)}" if len(names) > 1 else titles.suite(suite.name)
            )
            heads.append(HeatColumn(title, suite.name, "", name, limits[name]))
        parts = [name for name in headline_parts(suite) if (suite.name, name) in present]
        heads += [column(metric_title(name), family="", metric=name) for name in parts]
    return heads


def heat_map(
    columns: Sequence[HeatColumn], models: Sequence[str], summary: pl.DataFrame, verdict: RunVerdict,
    suites: Sequence[Suite],
) -> dict[str, Any]:  # fmt: skip
    """Return the rows model x column of cells, with each model's TOTAL and overall score."""
    at = {(cell.model, cell.suite, cell.family, cell.metric): cell for cell in cells(summary.filter(OVER_ALL))}
    totals = totals_of(suites, summary)
    overall = {model.model: model.overall for model in verdict.models if model.has_overall}
    rows = []
    for model in models:
        total = totals.get(model, Total(None))
        rows.append(
            {
                "model": model,
                "cells": [at.get((model, one.suite, one.family, one.metric)) for one in columns],
                "total": None if total.percent is None else total.percent / 100,
                "left_out": list(total.left_out),
                "overall": overall.get(model),
            }
        )
    unmeasured = [one for one in headlines_of(verdict.models) if not one.missing.is_measured]
    return {
        "columns": columns,
        "rows": rows,
        "unmeasured": {(one.model, one.suite, name) for one in unmeasured for name in _metrics_of(one, suites)},
        "has_total": bool(totals),
        "has_overall": bool(overall),
        "total_threshold": next((threshold_of(suite) for suite in suites if suite.strata), 0.0),
    }


def _metrics_of(headline: Headline, suites: Sequence[Suite]) -> tuple[str, ...]:
    """Return the judged metrics whose values make a headline: its computed ones do not depend on judges."""
    own = [score for suite in suites if suite.name == headline.suite for score in columns(suite)]
    by_name = {score.headline: score.value_metrics for score in own}
    names = by_name.get(headline.metric) or tuple(name for score in own for name in score.value_metrics)
    return tuple(name for name in names if metric(name.partition(".")[0]).steps)


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
               if (model, column.suite, column.metric) not in found["unmeasured"]]  # fmt: skip
        if marks := [(n, cell) for n, cell in own if cell is not None and cell.value.mean is not None]:
            categories.append({"title": shorten_name(column.title), "threshold": column.threshold, "marks": marks})
    left = 16 + _LETTER * max((cell_len(one["title"]) for one in categories), default=0)
    return {"models": first, "categories": categories, "left": left} if categories else None


def pivot(
    columns: Sequence[HeatColumn], models: Sequence[str], summary: pl.DataFrame, items: pl.DataFrame
) -> dict[str, Any] | None:
    """Return rows model x category with a cell for each level and language; None if there is one of each only.

    `heads` are (dimension, value); a cell is None if the category has no such level or language.
    """
    present = {name: [value for value in items[name].unique(maintain_order=True) if value] for name in _DIMENSIONS}
    heads = [(name, value) for name, values in present.items() if len(values) > 1 for value in values]
    if not heads:
        return None
    at: dict[tuple[str, ...], SummaryRow] = {}
    for dimension, other in (_DIMENSIONS, _DIMENSIONS[::-1]):
        fine = summary.filter((pl.col(dimension) != "") & (pl.col(other) == ""))
        for cell in cells(fine):
            value = getattr(cell, dimension)
            at[cell.model, cell.suite, cell.family, cell.metric, dimension, value] = cell
    rows = []
    for model in models:
        for column in columns:
            own = [at.get((model, column.suite, column.family, column.metric, *head)) for head in heads]
            if any(own):
                rows.append({"category": column, "model": model, "cells": own})
    return {"heads": heads, "groups": Counter(dimension for dimension, _ in heads), "rows": rows}


def comparisons(compared: ModelComparisons, titles: SuiteTitles) -> dict[str, Any] | None:
    """Return the pairs on the scoring metrics, and the indistinguishable groups; None for one model."""
    order = [*(suite.name for suite in titles.suites), ""]  # the overall score comes last

    def counts(row: Comparison | Grouping) -> bool:
        return row.scope in {"suite", "overall"} or row.metric in list_metrics(titles.find_suite(row.suite))

    pairs = sorted(filter(counts, compared.pairs), key=lambda pair: order.index(pair.suite))
    groups = sorted(filter(counts, compared.groups), key=lambda group: order.index(group.suite))
    if not pairs:
        return None
    ends = [end for pair in pairs for end in (pair.test.interval.low, pair.test.interval.high)]
    return {
        "pairs": [(titles.score(pair.suite, pair.metric, pair.scope), pair, remarks(pair)) for pair in pairs],
        "groups": [(titles.score(one.suite, one.metric, one.scope), one.groups) for one in groups],
        "reach": max(0.05, max((abs(end) for end in ends if end is not None), default=1.0)),
        "tests": sum(pair.test.p_value is not None for pair in compared.pairs),
    }


def typical_errors(scores: pl.DataFrame, items: pl.DataFrame, titles: SuiteTitles) -> list[dict[str, Any]]:
    """Count the reasons of wrong replies, for each model and category, most frequent first."""
    places = items.select("item_id", "suite", "family")
    # A metric whose reasons name what differs says the kind of each in its details.
    kind = pl.col("details").str.json_path_match(f"$.{TYPICAL}")
    scores = scores.with_columns(reason=pl.coalesce(kind, "reason"))
    placed = primary(scores, items, titles.suites).join(places, on="item_id", how="left")
    keys = ["model", "suite", "family"]
    asked = placed.group_by(keys).agg(asked=pl.len())
    wrong = placed.filter(~pl.col("outcome").is_in(["right", "not_applicable"]) & pl.col("reason").is_not_null())
    counts = wrong.group_by([*keys, "reason"]).agg(n=pl.len()).join(asked, on=keys)
    most = counts.sort(-pl.col("n").cast(pl.Int64), *keys, "reason").head(SHOWN_ERRORS)
    return [
        {**row, "category": titles.category(row["suite"], row["family"]), "share": row["n"] / row["asked"]}
        for row in most.iter_rows(named=True)
    ]


def frequent_replies(
    scores: pl.DataFrame, items: pl.DataFrame, replies: pl.DataFrame, titles: SuiteTitles
) -> list[dict[str, Any]]:
    """Return short replies that were wrong more than once, the most frequent first: text, count, expected."""
    outcomes = primary(scores, items, titles.suites).filter(pl.col("outcome").is_in(["wrong", "no_answer"]))
    text = pl.col("text").fill_null("").str.replace_all(r"\s+", " ").str.strip_chars()
    texts = replies.select("item_id", "model", "repeat", "answer", text=text)
    wrong = outcomes.join(texts, on=["item_id", "model", "repeat"])
    short = wrong.filter(pl.col("text").str.len_chars() <= LONGEST_REPLY)
    counts = short.group_by("text").agg(
        n=pl.len(), expected=pl.col("answer").drop_nulls().unique(maintain_order=True)
    )
    frequent = counts.filter(pl.col("n") > 1).sort(-pl.col("n").cast(pl.Int64), "text").head(SHOWN_REPLIES)
    return [{**row, "expected": _expected_of(row["expected"])} for row in frequent.iter_rows(named=True)]


def _expected_of(answers: Sequence[str]) -> str:
    """Return the only answer expected, if it is short; '' for several."""
    is_short = len(answers) == 1 and len(answers[0]) <= LONGEST_REPLY
    return answers[0] if is_short else ""


def names(items: pl.DataFrame, titles: SuiteTitles) -> dict[str, str]:
    """Return the names of the run's suites and families, as the sample browser shows them."""
    found = {}
    for suite, family in items.select("suite", "family").unique(maintain_order=True).iter_rows():
        found |= {suite: titles.suite(suite), f"{suite}/{family}": titles.category(suite, family)}
    return found


def is_imprecise(cell: SummaryRow | None) -> bool:
    """Return whether a cell's interval is too wide for its mean to say much."""
    if cell is None or cell.value.interval.low is None or cell.value.interval.high is None:
        return False
    return cell.value.interval.high - cell.value.interval.low > WIDE
