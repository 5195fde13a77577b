"""The HTML report's overview: verdicts, heat map, breakdowns, comparisons, typical errors."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any

import polars as pl

from basic_control.data.deciding import columns, components, list_metrics
from basic_control.data.plugins import metric
from basic_control.data.records import TYPICAL
from basic_control.data.suites import ALL, Suite
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.pairs import Comparison, Grouping
from basic_control.metrics.analysis.policy import reaches
from basic_control.metrics.analysis.results import ModelComparisons, Results
from basic_control.metrics.analysis.scores import THRESHOLD, headline_parts, totals_of
from basic_control.metrics.analysis.summary import OVER_ALL, SummaryRow, Total, cells
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.plan import Plan
from basic_control.tasks.report.conclusion import conclusion
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.samples import Frames, primary
from basic_control.tasks.report.text import join_names, percent, shorten_name
from basic_control.tasks.report.titles import SuiteTitles, family_title, metric_title
from basic_control.tasks.report.verdict_table import model_rows, model_values, verdict_table
from basic_control.tasks.report.words import (
    explain_outcome,
    headlines_of,
    measure,
    name_metric,
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
SHOWN_REASONS = 3
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
    if not reaches(mean, threshold):
        step = int(mean / threshold * (BELOW + 1))
        return f"h{min(BELOW, max(0, step))}"
    room = 1 - threshold
    above = 1.0
    if room > 0:
        above = (mean - threshold) / room
    n_green = HEAT - BELOW
    step = int(above * n_green)
    return f"h{BELOW + 1 + min(n_green - 1, max(0, step))}"


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
        text = percent(headline.measured.score.mean)
        if not headline.is_only:
            text = f"{name_metric(headline.metric)} {text}"
        by_suite = by_name[headline.model]["scores"]
        by_suite[headline.suite] = "; ".join(filter(None, (by_suite.get(headline.suite), text)))
    return [*by_name.values()]


def verdict_of_run(verdict: RunVerdict, results: Results, titles: SuiteTitles) -> dict[str, Any]:
    """Return the run's verdict in a sentence, its models with their scores, and what is below a threshold."""
    models = sort_by_score(verdict.models)
    columns, parts, values, reasons = {}, {}, {}, []
    overall_scores = [model.overall for model in models if model.has_overall]
    for headline in (*overall_scores, *headlines_of(models)):
        columns[headline.suite, headline.metric] = _describe_column(headline, titles)
        parts[headline.model, headline.suite, headline.metric] = headline
    for row in model_rows(verdict.models, results.spending):
        values[row.model.model] = model_values(row)
    for model in models:
        model_reasons = [*_list_reasons(model, titles)]
        if model_reasons:
            reasons.append((model.model, model_reasons))
    return {
        "concluded": conclusion(verdict, results.baseline),
        "gate": verdict.gate,
        "exit_code": int(verdict.exit_code),
        "models": models,
        "columns": columns,
        "figures": verdict_table(verdict.models, results.spending),
        "parts": parts,
        "values": values,
        "reasons": reasons,
    }


def _describe_column(headline: Headline, titles: SuiteTitles) -> tuple[str, float | None]:
    """Return a column's title, with the measure where it is no mean, and its threshold."""
    title = say("page.overall")
    if headline.suite:
        title = " ".join(filter(None, (titles.headline(headline), measure(headline))))
    return title, headline.decided.threshold


def _list_reasons(model: ModelResult, titles: SuiteTitles) -> Iterator[str]:
    """Yield why a model does not pass, unless the table's scores and thresholds show it."""
    problem = model.missing
    # Calls that wait in a batch have not failed for good: their scores say so.
    if model.verdict == "error":
        problem = problem or model.failed
    if problem:
        yield say_reason(problem)
        return
    # Several scores may have one reason; the overall score follows from the suites.
    names_by_reason: dict[str, list[str]] = {}
    for score in model.headlines:
        reason = explain_outcome(score)
        if score.decided.outcome != "pass" and reason:
            names_by_reason.setdefault(reason, []).append(titles.headline(score))
    for reason, names_of_scores in names_by_reason.items():
        yield f"{join_names(names_of_scores)}: {reason}"


def threshold_of(suite: Suite) -> float:
    """Return a suite's configured threshold, or the default one for its colours."""
    if suite.threshold is None:
        return THRESHOLD
    return suite.threshold


def heat_columns(summary: pl.DataFrame, items: pl.DataFrame, titles: SuiteTitles) -> list[HeatColumn]:
    """Return the columns: each family of suites with strata, then the scoring metrics of other suites."""
    heads: list[HeatColumn] = []
    present = set(summary.select("suite", "metric").unique().iter_rows())
    for suite in titles.suites:
        thresholds = _find_thresholds(suite)
        names = [name for name in thresholds if (suite.name, name) in present]
        if suite.strata:
            families = items.filter(suite=suite.name)["family"].unique(maintain_order=True)
            heads += [
                HeatColumn(family_title(family), suite.name, family, name, threshold_of(suite))
                for family in families
                for name in names
            ]
            continue
        for name in names:
            title = titles.suite(suite.name)
            if len(names) > 1:
                title = f"{title}: {metric_title(name)}"
            heads.append(HeatColumn(title, suite.name, "", name, thresholds[name]))
        # Parts that stand beside a score are shown after it.
        for name in headline_parts(suite):
            if (suite.name, name) in present:
                heads.append(HeatColumn(metric_title(name), suite.name, "", name, threshold_of(suite)))
    return heads


def _find_thresholds(suite: Suite) -> dict[str, float]:
    """Return the thresholds of a suite's metrics: their own, or the suite's."""
    thresholds = dict.fromkeys(list_metrics(suite), threshold_of(suite))
    for score in columns(suite):
        if score.threshold is not None and score.headline:
            thresholds[score.headline] = score.threshold
    return thresholds


def heat_map(
    columns: Sequence[HeatColumn], models: Sequence[str], summary: pl.DataFrame, verdict: RunVerdict,
    suites: Sequence[Suite],
) -> dict[str, Any]:  # fmt: skip
    """Return the rows model x column of cells, with each model's TOTAL."""
    by_column = {
        (cell.model, cell.suite, cell.family, cell.metric): cell for cell in cells(summary.filter(OVER_ALL))
    }
    totals = totals_of(suites, summary)
    rows = []
    for model in models:
        total = totals.get(model, Total(None))
        share = None
        if total.percent is not None:
            share = total.percent / 100
        rows.append(
            {
                "model": model,
                "cells": [by_column.get((model, column.suite, column.family, column.metric)) for column in columns],
                "total": share,
                "left_out": list(total.left_out),
            }
        )
    # Where no judge counts, the means of judged metrics are not shown as if they were measured.
    unmeasured: set[tuple[str, str, str]] = set()
    for headline in headlines_of(verdict.models):
        if not headline.missing.is_measured:
            unmeasured |= {(headline.model, headline.suite, name) for name in _find_judged(headline, suites)}
    return {
        "columns": columns,
        "rows": rows,
        "unmeasured": unmeasured,
        "is_news": _has_news(columns, verdict),
        "has_total": bool(totals),
        "total_threshold": next((threshold_of(suite) for suite in suites if suite.strata), 0.0),
    }


def _has_news(columns: Sequence[HeatColumn], verdict: RunVerdict) -> bool:
    """Return whether a column shows what no score of the verdict's table is."""
    scores = {(headline.suite, headline.metric) for headline in headlines_of(verdict.models)}
    return any(column.family or (column.suite, column.metric) not in scores for column in columns)


def _find_judged(headline: Headline, suites: Sequence[Suite]) -> set[str]:
    """Return the judged metrics that make a headline, and `all` where it hangs on them; no computed ones."""
    scores: list[Suite] = []
    for suite in suites:
        if suite.name == headline.suite:
            scores += columns(suite)
    names: set[str] = set()
    for score in [score for score in scores if score.headline == headline.metric] or scores:
        judged_names = [name for name in components(score) if metric(name).steps]
        names.update(judged_names)
        # `all` is no metric, so it has no judges but those of the metrics that it joins.
        if judged_names and score.score == ALL:
            names.add(ALL)
    return names


def profile(heat_map: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any] | None:
    """Return the heat map's cells as a chart: categories with a mark for each model measured there.

    None for one suite, where it would repeat the table. `left` is the room for names in pixels.
    """
    from rich.cells import cell_len

    n_suites = len({column.suite for column in heat_map["columns"]})
    if n_suites < 2:  # noqa: PLR2004 - see above
        return None
    first_models = models[:SERIES]
    cells_by_model = {row["model"]: row["cells"] for row in heat_map["rows"]}
    categories: list[dict[str, Any]] = []
    for index, column in enumerate(heat_map["columns"]):
        marks = []
        for number, model in enumerate(first_models, 1):
            cell = cells_by_model[model][index]
            is_measured = (model, column.suite, column.metric) not in heat_map["unmeasured"]
            if is_measured and cell is not None and cell.value.mean is not None:
                marks.append((number, cell))
        if marks:
            categories.append({"title": shorten_name(column.title), "threshold": column.threshold, "marks": marks})
    if not categories:
        return None
    width = 16 + _LETTER * max(cell_len(category["title"]) for category in categories)
    return {"models": first_models, "categories": categories, "left": width}


def pivot(
    columns: Sequence[HeatColumn], models: Sequence[str], summary: pl.DataFrame, items: pl.DataFrame
) -> dict[str, Any] | None:
    """Return rows model x category with a cell for each level and language; None if there is one of each only.

    `heads` are (dimension, value); a cell is None if the category has no such level or language.
    """
    heads = []
    for dimension in _DIMENSIONS:
        values = [value for value in items[dimension].unique(maintain_order=True) if value]
        if len(values) > 1:
            heads += [(dimension, value) for value in values]
    if not heads:
        return None
    by_head: dict[tuple[str, ...], SummaryRow] = {}
    # A level's mean is over all languages, and a language's over all levels.
    for dimension, other_dimension in (_DIMENSIONS, _DIMENSIONS[::-1]):
        dimension_means = summary.filter((pl.col(dimension) != "") & (pl.col(other_dimension) == ""))
        for cell in cells(dimension_means):
            value = getattr(cell, dimension)
            by_head[cell.model, cell.suite, cell.family, cell.metric, dimension, value] = cell
    rows = []
    for model, column in product(models, columns):
        key = (model, column.suite, column.family, column.metric)
        row_cells = [by_head.get((*key, *head)) for head in heads]
        if any(row_cells):
            rows.append({"category": column, "model": model, "cells": row_cells})
    return {"heads": heads, "groups": Counter(dimension for dimension, _ in heads), "rows": rows}


def comparisons(compared: ModelComparisons, titles: SuiteTitles) -> dict[str, Any] | None:
    """Return the pairs on the scoring metrics, and the indistinguishable groups; None for one model."""
    order = [*(suite.name for suite in titles.suites), ""]  # the overall score comes last

    def is_compared(row: Comparison | Grouping) -> bool:
        return row.scope in {"suite", "overall"} or row.metric in list_metrics(titles.find_suite(row.suite))

    def find_position(row: Comparison | Grouping) -> int:
        return order.index(row.suite)

    pairs = sorted(filter(is_compared, compared.pairs), key=find_position)
    groups = sorted(filter(is_compared, compared.groups), key=find_position)
    if not pairs:
        return None
    # The axis of the chart reaches as far as the widest interval.
    ends = []
    for pair in pairs:
        interval = pair.test.interval
        ends += [abs(end) for end in (interval.low, interval.high) if end is not None]
    return {
        "pairs": [(titles.score(pair.suite, pair.metric, pair.scope), pair, remarks(pair)) for pair in pairs],
        "groups": [(titles.score(group.suite, group.metric, group.scope), group.groups) for group in groups],
        "reach": max(0.05, max(ends, default=1.0)),
        "tests": sum(pair.test.p_value is not None for pair in compared.pairs),
    }


def typical_errors(scores: pl.DataFrame, items: pl.DataFrame, titles: SuiteTitles) -> list[dict[str, Any]]:
    """Count the reasons of wrong replies, for each model and category, most frequent first."""
    categories = items.select("item_id", "suite", "family")
    # A metric whose reasons name what differs says the kind of each in its details.
    kind = pl.col("details").str.json_path_match(f"$.{TYPICAL}")
    scores = scores.with_columns(reason=pl.coalesce(kind, "reason"))
    verdicts = primary(scores, items, titles.suites).join(categories, on="item_id", how="left")
    keys = ["model", "suite", "family"]
    totals = verdicts.group_by(keys).agg(asked=pl.len())
    wrong = verdicts.filter(~pl.col("outcome").is_in(["right", "not_applicable"]) & pl.col("reason").is_not_null())
    counts = wrong.group_by([*keys, "reason"]).agg(n=pl.len()).join(totals, on=keys)
    frequent = counts.sort(-pl.col("n").cast(pl.Int64), *keys, "reason").head(SHOWN_ERRORS)
    return [
        {**row, "category": titles.category(row["suite"], row["family"]), "share": row["n"] / row["asked"]}
        for row in frequent.iter_rows(named=True)
    ]


def frequent_reasons(typical: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the reasons that are most frequent over all models: text, count, and the model if it is of one."""
    models_by_reason: dict[str, Counter[str]] = {}
    for row in typical:
        models_by_reason.setdefault(row["reason"], Counter())[row["model"]] += row["n"]
    reasons = []
    for reason, counts in models_by_reason.items():
        model = ""
        if len(counts) == 1:
            (model,) = counts
        reasons.append({"reason": reason, "n": counts.total(), "model": model})
    reasons.sort(key=itemgetter("n"), reverse=True)
    return reasons[:SHOWN_REASONS]


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
    return [{**row, "expected": _find_expected(row["expected"])} for row in frequent.iter_rows(named=True)]


def _find_expected(answers: Sequence[str]) -> str:
    """Return the only answer expected, if it is short; '' for several."""
    if len(answers) == 1 and len(answers[0]) <= LONGEST_REPLY:
        return answers[0]
    return ""


def count_failures_by_metric(frames: Frames) -> dict[str, int]:
    """Return how many replies are not right by each metric that decides beside others, the most first."""
    lines = frames.rows.select(pl.col("outcomes").str.split("\n")).explode("outcomes")["outcomes"].drop_nulls()
    counts = Counter[str]()
    for line in lines.filter(lines != ""):
        metric_name, outcome = line.split("\t")
        counts[metric_name] += outcome not in {"right", "not_applicable"}
    metrics = set(frames.scores["metric"].unique())
    return {name: n for name, n in counts.most_common() if n and name in metrics}


def names(items: pl.DataFrame, titles: SuiteTitles) -> dict[str, str]:
    """Return the names of the run's suites and families, as the sample browser shows them."""
    titles_by_name = {}
    for suite, family in items.select("suite", "family").unique(maintain_order=True).iter_rows():
        titles_by_name |= {suite: titles.suite(suite), f"{suite}/{family}": titles.category(suite, family)}
    return titles_by_name


def is_imprecise(cell: SummaryRow | None) -> bool:
    """Return whether a cell's interval is too wide for its mean to say much."""
    if cell is None:
        return False
    low, high = cell.value.interval.low, cell.value.interval.high
    return low is not None and high is not None and high - low > WIDE
