"""Stated: the score that another tool gave a recorded reply, as its log states it, to stand beside ours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from data.records import Found, Metric, Sample, Score

NAME = "stated"


@dataclass(frozen=True, slots=True)
class Difference:
    """An item on which the other tool and we differ, both scores in [0, 1]."""

    item_id: str
    repeat: int
    stated: float
    ours: float


@dataclass(frozen=True, slots=True)
class Stated:
    """What another tool states of a suite's replies, beside what a metric of ours says of the same `n` replies."""

    suite: str
    model: str
    metric: str
    n: int
    stated: float
    ours: float
    differing: tuple[Difference, ...]


def beside(scores: pl.DataFrame, items: pl.DataFrame, metrics: Mapping[str, Sequence[str]]) -> Iterator[Stated]:
    """Set stated scores beside ours: for each suite and model, for each of the suite's metrics in `metrics`.

    `scores` and `items` are tables of those names; only replies that have both scores count.
    """
    keys = ["item_id", "model", "repeat"]
    valued = scores.filter(pl.col("value").is_not_null()).join(items.select("item_id", "suite"), on="item_id")
    theirs = valued.filter(pl.col("metric") == NAME).select(*keys, "suite", stated="value")
    pairs = theirs.join(valued.select(*keys, "metric", ours="value"), on=keys, maintain_order="left")
    for (suite, model, metric), own in pairs.group_by("suite", "model", "metric", maintain_order=True):
        if metric == NAME or metric not in metrics.get(str(suite), ()):
            continue
        apart = own.filter(pl.col("stated") != pl.col("ours")).select("item_id", "repeat", "stated", "ours")
        differing = tuple(Difference(**row) for row in apart.iter_rows(named=True))
        theirs_sum, ours_sum = float(own["stated"].sum()), float(own["ours"].sum())
        yield Stated(
            str(suite),
            str(model),
            str(metric),
            own.height,
            theirs_sum / own.height,
            ours_sum / own.height,
            differing,
        )


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return the row's `stated` as it is; nothing is computed.

    Source: SPEC 13.
    """
    del found, options
    stated = sample.get("stated")
    if isinstance(stated, bool | int | float) and 0 <= stated <= 1:
        return Score(float(stated), reason="as the log states")
    return Score(None, "not_applicable", "the log states no score between 0 and 1")


UNIT = Metric(
    name=NAME,
    version=1,
    bounds=(0.0, 1.0),
    score=score,
    needs=("stated",),
    title={"en": "Stated by the other tool", "ru": "Указано другим инструментом"},
)
