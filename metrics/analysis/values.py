"""The value of each question: a model's value on a question, for each metric, whatever asked it how often.

The unit of all statistics is the question. Repeats enter by their mean; equal questions are one already
(`metrics.analysis.observations`).

Source: SPEC 9, 10.
"""

import polars as pl

from data.errors import InputError
from metrics.stats.intervals import units_of
from metrics.stats.missing import LOST, cause, highest, lowest, scored

TEMPLATE = ("suite", "family", "template")


def placed(items: pl.DataFrame) -> pl.DataFrame:
    """Give each item its suite, family and the number of its template in its family (-1: it has none).

    A row of `items` is an item; of the result: item_id, suite, family, cluster.
    """
    filled = items.unique("item_id").select("item_id", pl.col(TEMPLATE).fill_null(""))
    there = filled.select(TEMPLATE).filter(pl.col("template") != "").unique().sort(TEMPLATE)
    return filled.join(there.with_row_index("cluster"), on=TEMPLATE, how="left").select(
        "item_id", "suite", "family", pl.col("cluster").cast(pl.Int64).fill_null(-1)
    )


def few_templates(items: pl.DataFrame) -> tuple[str, ...]:
    """List the suites whose questions share a few templates, too few to tell how templates differ."""
    suites = placed(items).group_by("suite")
    few = (str(name) for (name,), own in suites if units_of(own.height, own["cluster"].to_numpy()).fixed_templates)
    return tuple(sorted(few))


def question_values(scores: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each question, model and metric, but where the metric does not apply.

    A row of `scores` is a metric's value for an item, a model and a repeat. Columns: suite, family, cluster,
    item_id, model, metric; `value`, the mean over the repeats that are scored (null: none is), `answers`, how many
    these are of `asked`; `lower` and `upper`, between which the mean over all repeats lies, whatever failed or was
    cut; `plain`, whether each answer is 0 or 1; `cause`, why the first repeat that failed did; `n_cut` and
    `n_lost`, how many were cut, or failed. Metrics are taken to lie within 0 and 1.

    Raises:
        InputError: a row whose item is not in `items`.
    """
    asked = scores.filter(pl.col("status") != "not_applicable")
    rows = asked.select(
        "item_id",
        "model",
        "metric",
        "repeat",
        value=scored(),
        lower=lowest(),
        upper=highest(),
        cut=pl.col("status") == "truncated",
        lost=pl.col("status").is_in(LOST),
        cause=cause(scores),
    )
    means = (
        rows.sort("repeat")
        .group_by("model", "metric", "item_id")
        .agg(
            pl.col("value").mean(),
            answers=pl.col("value").count(),
            asked=pl.len(),
            lower=pl.col("lower").mean(),
            upper=pl.col("upper").mean(),
            plain=pl.col("value").drop_nulls().is_in([0.0, 1.0]).all(),
            cause=pl.col("cause").drop_nulls().first(),
            n_cut=pl.col("cut").sum(),
            n_lost=pl.col("lost").sum(),
        )
    )
    found = means.join(placed(items), on="item_id", how="left").sort(
        "suite", "metric", "model", "family", "item_id"
    )
    if found["suite"].null_count():
        lost = found.filter(pl.col("suite").is_null())["item_id"][0]
        raise InputError(f"scores: item {lost!r} is not in the items table; pass the items of the same runs.")
    return found


def composites(values: pl.DataFrame) -> pl.DataFrame:
    """Join the metrics of each question into one value: their mean, null where one that applies is not scored.

    Rows and columns as in `question_values`, but metric.
    """
    whole = pl.col("value").null_count() == 0
    return values.group_by("suite", "family", "cluster", "item_id", "model", maintain_order=True).agg(
        value=pl.when(whole).then(pl.col("value").mean()),
        lower=pl.col("lower").mean(),
        upper=pl.col("upper").mean(),
        cause=pl.col("cause").drop_nulls().first(),
        n_cut=pl.col("n_cut").max(),
        n_lost=pl.col("n_lost").max(),
    )
