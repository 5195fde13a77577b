"""Where the next calls buy most: what a score's variance is made of, and which suite's questions narrow it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from data.suites import Suite
from metrics.stats.agreement import judge_ratings
from metrics.verdicts import ModelResult

CALLS = 100
"""The calls that are compared."""
_VALUED = ("scored", "no_answer", "truncated")


@dataclass(frozen=True, slots=True)
class Effort:
    """A model's mean in a suite over `n` items: its variance, and what `CALLS` more calls would do.

    `items`, `repeats`, `judges` are the shares of the variance that come from which questions were drawn, from the
    model answering differently when asked again, and from judges rating differently; None where it was asked once,
    or judged by one, so that the share stands in `items`. `calls_per_item` counts the model's and its judges'.
    `narrowing`: by which share the overall score's standard error would fall with `CALLS` more calls for items
    here, were the spread to stay; None where nothing varies.
    """

    model: str
    suite: str
    n: int
    calls_per_item: float
    items: float | None
    repeats: float | None
    judges: float | None
    narrowing: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Spread:
    """The variance of a mean by where it comes from, and the items under it."""

    n: int
    items: float
    repeats: float | None
    judges: float | None

    @property
    def whole(self) -> float:
        return self.items + (self.repeats or 0.0) + (self.judges or 0.0)


def efforts(
    results: Sequence[ModelResult],
    scores: pl.DataFrame,
    items: pl.DataFrame,
    suites: Sequence[Suite],
    calls: Mapping[str, int],
) -> list[Effort]:
    """Return each model's suites, the one whose next calls buy most first; `calls` were made in each suite."""
    placed = scores.join(items.select("item_id", "suite").unique(), on="item_id")
    by_name = {suite.name: suite for suite in suites}
    asked = placed.group_by("suite").agg(pl.struct("item_id", "model").n_unique()).rows()
    pairs: dict[str, int] = dict(asked)
    found: list[Effort] = []
    for model in results:
        spreads = {
            part.suite: (
                part.weight,
                _spread(placed.filter(suite=part.suite, model=model.model), by_name[part.suite]),
            )
            for part in model.suites
        }
        whole = math.fsum(weight**2 * spread.whole for weight, spread in spreads.values() if spread)
        own = []
        for suite, (weight, spread) in spreads.items():
            if spread is None or not (each := calls.get(suite, 0) / max(pairs.get(suite, 0), 1)):
                continue
            saved = weight**2 * spread.whole * (1 - spread.n / (spread.n + CALLS / each))
            total = spread.whole
            own.append(
                Effort(
                    model=model.model,
                    suite=suite,
                    n=spread.n,
                    calls_per_item=each,
                    items=_part(spread.items, total),
                    repeats=_part(spread.repeats, total),
                    judges=_part(spread.judges, total),
                    narrowing=1 - math.sqrt(max(0.0, 1 - saved / whole)) if whole else None,
                )
            )
        found += sorted(own, key=lambda one: -(one.narrowing or 0.0))
    return found


def _part(value: float | None, total: float) -> float | None:
    return None if value is None or not total else value / total


def _spread(rows: pl.DataFrame, suite: Suite) -> _Spread | None:
    """Return what the variance of a model's mean in a suite is made of; None for fewer than two items."""
    own = rows.filter(pl.col("metric").is_in(suite.scored_by), pl.col("status").is_in(_VALUED))
    asked = own.group_by("item_id", "repeat").agg(value=pl.col("value").fill_null(0.0).mean())
    each = asked.group_by("item_id").agg(mean=pl.col("value").mean(), within=pl.col("value").var(), k=pl.len())
    n = each.height
    if n < 2:  # noqa: PLR2004 - one value has no spread
        return None
    between = float(each["mean"].var() or 0.0)  # type: ignore[arg-type] # of floats, a float
    k = float(each["k"].mean() or 1.0)  # type: ignore[arg-type] # likewise
    again = each["within"].drop_nulls()
    judged = _judged(own)
    noise = None if judged is None else judged / (n * k)
    within = None if again.is_empty() else max(0.0, float(again.mean()) / (n * k) - (noise or 0.0))  # type: ignore[arg-type] # likewise
    return _Spread(n, max(0.0, between / n - (within or 0.0) - (noise or 0.0)), within, noise)


def _judged(rows: pl.DataFrame) -> float | None:
    """Return the variance that judges bring into one reply's score; None where each has one judge."""
    ratings = judge_ratings(rows).drop_nulls("value")
    units = ratings.group_by("metric", "unit").agg(spread=pl.col("value").var(), j=pl.len()).drop_nulls("spread")
    if units.is_empty():
        return None
    return float((units["spread"] / units["j"]).mean())  # type: ignore[arg-type] # of floats, a float
