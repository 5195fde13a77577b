"""Observations: rows of a scores table that ask the same question of a model are one.

A question that stands in the data several times is one request, with one remembered reply: its rows tell no more
than one of them. Repeats are asked for on purpose and stay apart.

Source: SPEC 10, 15.
"""

from dataclasses import dataclass

import polars as pl

from metrics.stats.missing import LOST

_PLACE = ("suite", "family", "level", "language")
_ROW = ("item_id", "model", "repeat", "metric")


@dataclass(frozen=True, slots=True)
class RepeatedQuestions:
    """A suite in whose data questions repeat: its rows, and how many of them repeat an earlier one."""

    suite: str
    n_rows: int
    n_repeating: int


@dataclass(frozen=True, slots=True)
class Observations:
    """Scores and items with one row for each question; `doubled` are the suites that had more."""

    scores: pl.DataFrame
    items: pl.DataFrame
    doubled: tuple[RepeatedQuestions, ...]


def observations(scores: pl.DataFrame, items: pl.DataFrame) -> Observations:
    """Join the rows of equal questions into one observation each, under the id of the first of their items.

    Its value is the mean of what is scored of them (they differ where different answers are expected); its status
    is that of the first row that is scored, else of the first that failed.
    """
    drawn = items.unique("item_id", maintain_order=True)
    if "text_digest" not in drawn.columns:
        return Observations(scores, drawn, ())
    first = pl.col("item_id").first().over(*_PLACE, "question")
    named = drawn.with_columns(question=pl.coalesce("text_digest", "item_id")).with_columns(first=first)
    again = named.filter(pl.col("item_id") != pl.col("first"))
    if again.is_empty():
        return Observations(scores, drawn, ())
    rows = dict(drawn.group_by("suite").len().iter_rows())
    repeating = again.group_by("suite", maintain_order=True).len().iter_rows()
    doubled = tuple(RepeatedQuestions(suite, rows[suite], n) for suite, n in repeating)
    kept = drawn.join(again, on="item_id", how="anti", maintain_order="left")
    return Observations(_joined(scores, named.select("item_id", "first")), kept, doubled)


def _joined(scores: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    ids = dict(named.filter(pl.col("item_id") != pl.col("first")).iter_rows())
    renamed = scores.with_columns(pl.col("item_id").replace(ids))
    several = renamed.select(pl.struct(_ROW).is_duplicated()).to_series()
    status = pl.col("status")
    order = pl.when(status.is_in([*LOST])).then(1).when(status == "not_applicable").then(2).otherwise(0)
    ordered = renamed.filter(several).with_columns(_order=order).sort("_order", maintain_order=True)
    joined = ordered.group_by(*_ROW, maintain_order=True).agg(
        pl.col("value").mean(), *(pl.col(name).first() for name in scores.columns if name not in {*_ROW, "value"})
    )
    return pl.concat([renamed.filter(~several), joined.select(scores.columns)])
