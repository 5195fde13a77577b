"""The value of each question: a model's value for each metric, over all rows of the question.

The question is the unit of all statistics. A question repeated in the data is one request with one cached response:
its rows carry no more information than one of them (`observations`). Deliberate repeats enter by their mean.

Source: SPEC 9, 10, 15.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from basic_control.data.errors import InputError
from basic_control.data.tables import SCORES
from basic_control.metrics.stats.intervals import Codes, Units, units_of
from basic_control.metrics.stats.missing import LOST, RAISABLE, add_bounds, get_value

KEY = ("item_id", "repeat")
TEMPLATE = ("suite", "family", "template")
_PLACE = ("suite", "family", "level", "language")
_ROW = ("item_id", "model", "repeat", "metric")

End = Literal["value", "lower", "upper"]
ENDS: tuple[End, ...] = ("value", "lower", "upper")
"""Which values are used: the questions' values, or their lower or upper bounds."""


def place_items(items: pl.DataFrame) -> pl.DataFrame:
    """Add to each item its suite, family and the number of its template in its family (-1: none).

    A row of `items` is an item; a row of the result: item_id, suite, family, question, cluster.
    """
    question = pl.col("item_id")
    if "text_digest" in items.columns:
        digest = pl.col("text_digest")
        question = pl.when(digest != "").then(digest).otherwise("item_id")
    filled = items.unique("item_id").select("item_id", pl.col(TEMPLATE).fill_null(""), question=question)
    templates = filled.select(TEMPLATE).filter(pl.col("template") != "").unique().sort(TEMPLATE)
    return filled.join(templates.with_row_index("cluster"), on=TEMPLATE, how="left").select(
        "item_id", "suite", "family", "question", pl.col("cluster").cast(pl.Int64).fill_null(-1)
    )


def join_clusters(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the distinct questions of several suites, each with the cluster of all its templates (-1: none).

    Templates of different suites that share a question are one cluster. Columns: question, cluster.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    questions = rows.select("question").unique(maintain_order=True).with_row_index("number")
    numbers = rows.join(questions, on="question", maintain_order="left").filter(pl.col("cluster") >= 0)
    if numbers.is_empty():
        return questions.select("question", cluster=pl.lit(-1, pl.Int64))
    ends = numbers["number"].to_numpy(), questions.height + numbers["cluster"].to_numpy()
    n_nodes = int(ends[1].max()) + 1
    edges = coo_array((np.ones(numbers.height), ends), shape=(n_nodes, n_nodes))
    _, labels = connected_components(edges, directed=False)
    has_template = pl.col("question").is_in(numbers["question"].implode())
    labelled = questions.with_columns(label=pl.Series(labels[: questions.height], dtype=pl.Int64))
    return labelled.select("question", cluster=pl.when(has_template).then("label").otherwise(-1))


def unit_codes(questions: Sequence[tuple[str, int]]) -> tuple[Codes, Units]:
    """Number each row's unit: its question, or the template that questions share; also return the questions' units.

    A row is the id of a question and the number of its template (-1: none).
    """
    templates = dict(questions)
    units = units_of(len(templates), np.array([*templates.values()], np.int64))
    number = dict(zip(templates, units.codes.tolist(), strict=True))
    return np.unique([number[question] for question, _ in questions], return_inverse=True)[1], units


def count_units(items: pl.DataFrame) -> int:
    """Count the units of a suite's items: equal questions are one, and so are those of a template that clusters."""
    once = observations(SCORES.frame(()), items).items
    clusters = place_items(once)["cluster"].to_numpy()
    return int(np.unique(units_of(once.height, clusters).codes).size)


def list_few_templates(items: pl.DataFrame) -> tuple[str, ...]:
    """List the suites whose questions share too few templates to estimate how templates differ."""
    suites = place_items(items).group_by("suite")
    few = (
        str(name) for (name,), rows in suites if units_of(rows.height, rows["cluster"].to_numpy()).fixed_templates
    )
    return tuple(sorted(few))


def question_values(scores: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each question, model and metric that applies.

    A row of `scores` is a metric's value for an item, a model and a repeat. Columns: suite, family, question,
    cluster, item_id, model, metric; `value`, the mean over the scored repeats (null: none), `answers`, the number
    of these among `asked`; `lower` and `upper`, bounds of the mean over all repeats given failures and truncation;
    `plain`, whether each answer is 0 or 1; `cause`, why the first failed repeat failed; `n_cut` and `n_lost`, the
    numbers truncated, and failed or unsupported. Metrics are assumed to lie within 0 and 1.

    Raises:
        InputError: a row whose item is not in `items`.
    """
    by_question = add_bounds(scores).sort("repeat").group_by("model", "metric", "item_id")
    means = by_question.agg(
        pl.col("value", "lower", "upper").mean(),
        answers=pl.col("value").count(),
        asked=pl.len(),
        plain=pl.col("value").drop_nulls().is_in([0.0, 1.0]).all(),
        cause=pl.col("cause").drop_nulls().first(),
        n_cut=(pl.col("status") == "truncated").sum(),
        n_lost=pl.col("status").is_in([*LOST, "unsupported"]).sum(),
    )
    order = ("suite", "metric", "model", "family", "item_id")
    values = means.join(place_items(items), on="item_id", how="left").sort(order)
    if values["suite"].null_count():
        lost = values.filter(pl.col("suite").is_null())["item_id"][0]
        raise InputError(f"scores: item {lost!r} is not in the items table; pass the items of the same runs.")
    return values


def weight_by(weights: Mapping[str, float]) -> pl.Expr:
    """Return the weight of each row's metric."""
    # Without any metric there is no row, and polars would return texts.
    return pl.col("metric").replace_strict(weights, return_dtype=pl.Float64) if weights else pl.lit(1.0)


def composites(
    values: pl.DataFrame, shares: Mapping[str, float] | None = None, *, sides: Sequence[str] = ("",)
) -> pl.DataFrame:
    """Combine the metrics of each question of a suite into their mean, null if an applicable metric is not scored.

    `shares` are the metrics' weights, by default equal. Metrics weigh by how few questions they apply to, and so do
    the questions (`share`; 1 if all apply to all): the mean over the questions is the mean of the metrics' means,
    as the suite's score is. Rows and other columns as in `question_values`, of one model or, with the endings of
    their columns (`sides`), of a pair of models; without metric.
    """
    rare = pl.col("rare")
    present = values["metric"].unique().sort().to_list()
    total = math.fsum((shares or {}).get(name, 1.0) for name in present)
    weights = {name: (shares or {}).get(name, 1.0) / total for name in present}
    n = pl.len().over("metric")
    columns: dict[str, pl.Expr] = {}
    for side in sides:
        for end in ENDS:
            columns[f"{end}{side}"] = (pl.col(f"{end}{side}") * rare).sum() / rare.sum()
        is_whole = pl.col(f"value{side}").null_count() == 0
        columns[f"value{side}"] = pl.when(is_whole).then(columns[f"value{side}"])
        columns |= {f"{name}{side}": pl.col(f"{name}{side}").max() for name in ("n_cut", "n_lost")}
        columns[f"cause{side}"] = pl.col(f"cause{side}").drop_nulls().first()
    by_question = values.with_columns(rare=n.max() / n * weight_by(weights)).group_by(
        "suite", "family", "question", "cluster", "item_id", maintain_order=True
    )
    return by_question.agg(**columns, share=rare.sum())


def values_of(scores: pl.DataFrame, metrics: Collection[str] | Mapping[str, float]) -> pl.DataFrame:
    """Return a suite's value for each model, item and repeat: the mean over its metrics, null if any is missing.

    `metrics` may map names to their weights. Rows that are not applicable are left out; `status` is the first that
    is not plainly scored.
    """
    status = pl.col("status")
    # Without weights each metric counts alike.
    weights = metrics if isinstance(metrics, Mapping) else dict.fromkeys(metrics, 1.0)
    rows = scores.filter(pl.col("metric").is_in([*metrics]), status != "not_applicable").with_columns(
        value=get_value(), weight=weight_by(weights)
    )
    mean = (pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()
    return rows.group_by("model", *KEY, maintain_order=True).agg(
        value=pl.when(pl.col("value").null_count() == 0).then(mean),
        status=pl.coalesce(status.filter(status != "scored").first(), pl.lit("scored")),
    )


@dataclass(frozen=True, slots=True)
class RepeatedQuestions:
    """A suite whose data repeat questions: its number of rows, and of rows that repeat an earlier one."""

    suite: str
    n_rows: int
    n_repeating: int


@dataclass(frozen=True, slots=True)
class Observations:
    """Scores and items with one row per question; `doubled` are the suites that had more.

    `replies` are the scores of all rows, each under the id of its question's item.
    """

    scores: pl.DataFrame
    items: pl.DataFrame
    doubled: tuple[RepeatedQuestions, ...] = ()
    merged: pl.DataFrame | None = None

    @property
    def replies(self) -> pl.DataFrame:
        """The scores of all rows."""
        return self.scores if self.merged is None else self.merged


def name_questions(drawn: pl.DataFrame) -> pl.DataFrame:
    """Return distinct items with `first`, the id of the first item that asks the same."""
    if "text_digest" not in drawn.columns:
        return drawn.with_columns(first="item_id")
    first = pl.col("item_id").first().over(*_PLACE, "question")
    return drawn.with_columns(question=pl.coalesce("text_digest", "item_id")).with_columns(first=first)


def observations(scores: pl.DataFrame, items: pl.DataFrame) -> Observations:
    """Merge the rows of equal questions into one observation each, under the id of the first of their items.

    Its value is the mean of the scored rows (they differ if the expected answers do); it has none where a judge of
    a row is unread. Its status is that of an unread row where there is one, or a truncated or unsupported one, else
    of the first scored one, else of the first failed one.
    """
    drawn = items.unique("item_id", maintain_order=True)
    questions = name_questions(drawn)
    again = questions.filter(pl.col("item_id") != pl.col("first"))
    if again.is_empty():
        return Observations(scores, drawn)
    rows = dict(drawn.group_by("suite").len().iter_rows())
    repeating = again.group_by("suite", maintain_order=True).len().iter_rows()
    doubled = tuple(RepeatedQuestions(suite, rows[suite], n) for suite, n in repeating)
    first_items = drawn.join(again, on="item_id", how="anti", maintain_order="left")
    renamed = scores.with_columns(pl.col("item_id").replace(dict(again.select("item_id", "first").iter_rows())))
    several = renamed.select(pl.struct(_ROW).is_duplicated()).to_series()
    status = pl.col("status")
    # The reply to one row of a question is that of all, but what is unread of one says nothing of another's label.
    is_unread = status == "judge_failed"
    order = pl.when(is_unread).then(-2).when(status.is_in(RAISABLE)).then(-1).when(status.is_in([*LOST])).then(1)
    order = order.when(status == "not_applicable").then(2).otherwise(0)
    ordered = renamed.filter(several).with_columns(_order=order).sort("_order", maintain_order=True)
    value = pl.when(~is_unread.any()).then(get_value().mean())
    columns = (pl.col(name).first() for name in scores.columns if name not in {*_ROW, "value"})
    joined = ordered.group_by(*_ROW, maintain_order=True).agg(value.alias("value"), *columns)
    return Observations(
        pl.concat([renamed.filter(~several), joined.select(scores.columns)]), first_items, doubled, renamed
    )
