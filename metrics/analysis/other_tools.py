"""What another tool says of the replies that it recorded, beside what a metric of ours says of the same ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from metrics.stated import NAME


@dataclass(frozen=True, slots=True)
class StatedDifference:
    """An item on which the other tool and we differ, both scores in [0, 1]."""

    item_id: str
    repeat: int
    stated: float
    ours: float


@dataclass(frozen=True, slots=True)
class StatedScore:
    """What another tool states of a suite's replies, beside what a metric of ours says of the same `n` replies."""

    suite: str
    model: str
    metric: str
    n: int
    stated: float
    ours: float
    differing: tuple[StatedDifference, ...]


def stated_scores(
    scores: pl.DataFrame, items: pl.DataFrame, metrics: Mapping[str, Sequence[str]]
) -> Iterator[StatedScore]:
    """Set stated scores beside ours: for each suite and model, for each of the suite's metrics in `metrics`.

    `scores` and `items` are tables of those names; only replies that have both scores count.
    """
    keys = ["item_id", "model", "repeat"]
    valued = scores.filter(pl.col("value").is_not_null()).join(items.select("item_id", "suite"), on="item_id")
    theirs = valued.filter(pl.col("metric") == NAME).select(*keys, "suite", stated="value")
    pairs = theirs.join(valued.select(*keys, "metric", ours="value"), on=keys, maintain_order="left")
    for key, own in pairs.group_by("suite", "model", "metric", maintain_order=True):
        suite, model, metric = map(str, key)
        if metric != NAME and metric in metrics.get(suite, ()):
            apart = own.filter(pl.col("stated") != pl.col("ours")).select("item_id", "repeat", "stated", "ours")
            differing = tuple(StatedDifference(**row) for row in apart.iter_rows(named=True))
            stated, ours = (float(own[side].sum()) / own.height for side in ("stated", "ours"))
            yield StatedScore(suite, model, metric, own.height, stated, ours, differing)
