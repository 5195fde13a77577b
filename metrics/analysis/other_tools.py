"""Scores that another tool recorded with its responses, compared with ours for the same responses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from basic_control.metrics.stated import NAME


@dataclass(frozen=True, slots=True)
class StatedDifference:
    """An item on which the other tool's score and ours differ, both in [0, 1]."""

    item_id: str
    repeat: int
    stated: float
    ours: float


@dataclass(frozen=True, slots=True)
class StatedScore:
    """Another tool's scores for a suite, compared with a metric of ours on the same `n` responses."""

    suite: str
    model: str
    metric: str
    n: int
    stated: float
    ours: float
    differing: tuple[StatedDifference, ...]


def compare_stated(
    scores: pl.DataFrame, items: pl.DataFrame, metrics: Mapping[str, Sequence[str]]
) -> Iterator[StatedScore]:
    """Compare recorded scores with ours, for each suite, model and metric in the suite's `metrics`.

    `scores` and `items` are the tables of those names; only responses with both scores count.
    """
    keys = ["item_id", "model", "repeat"]
    valued = scores.filter(pl.col("value").is_not_null()).join(items.select("item_id", "suite"), on="item_id")
    theirs = valued.filter(pl.col("metric") == NAME).select(*keys, "suite", stated="value")
    pairs = theirs.join(valued.select(*keys, "metric", ours="value"), on=keys, maintain_order="left")
    for key, replies in pairs.group_by("suite", "model", "metric", maintain_order=True):
        suite, model, metric = map(str, key)
        if metric != NAME and metric in metrics.get(suite, ()):
            apart = replies.filter(pl.col("stated") != pl.col("ours")).select("item_id", "repeat", "stated", "ours")
            differing = tuple(StatedDifference(**row) for row in apart.iter_rows(named=True))
            stated, ours = (float(replies[side].sum()) / replies.height for side in ("stated", "ours"))
            yield StatedScore(suite, model, metric, replies.height, stated, ours, differing)
