"""Where the next calls buy most: what a score's variance is made of, and which suite's questions narrow it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from data.suites import Suite
from metrics.analysis.scores import ModelScore
from metrics.stats.agreement import judge_ratings
from metrics.stats.intervals import Floats, Interval

CALLS = 100
"""The calls that are compared."""
_VALUED = ("scored", "no_answer", "truncated")
_DRAWS = 500


@dataclass(frozen=True, slots=True)
class Effort:
    """A model's mean in a suite over `n` items: its variance, and what `CALLS` more calls would do.

    `items`, `repeats`, `judges` are the shares of the variance that come from which questions were drawn, from the
    model answering differently when asked again, and from judges rating differently; None where it was asked once,
    or judged by one, so that the share stands in `items`. `judges_interval` is the 95 % interval of the judges'
    share: percentiles over items drawn anew. `calls_per_item` counts the model's and its judges'.
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
    judges_interval: Interval = field(default_factory=Interval)


@dataclass(frozen=True, slots=True)
class _Spread:
    """The variance of a mean by where it comes from, and the items under it."""

    n: int
    items: float
    repeats: float | None
    judges: float | None
    judges_interval: Interval = field(default_factory=Interval)

    @property
    def whole(self) -> float:
        return self.items + (self.repeats or 0.0) + (self.judges or 0.0)


def efforts(
    results: Sequence[ModelScore],
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
                    judges_interval=spread.judges_interval,
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
    if each.height < 2:  # noqa: PLR2004 - one value has no spread
        return None
    joined = each.join(_judged(own), on="item_id", how="left").sort("item_id")  # draws go by place
    columns = joined.select("mean", "within", "k", "spread", "units")
    there = columns.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    items, repeats, judges = _parts(there)
    again, noise = (None if math.isnan(one) else float(one) for one in (repeats, judges))
    found = _Spread(each.height, items, again, noise)
    if found.judges is None or not found.whole:
        return found
    rng, shares = np.random.default_rng(0), []
    for _ in range(_DRAWS):  # one by one: a suite may have tens of thousands of items
        every = np.nan_to_num(np.array(_parts(there[rng.integers(0, each.height, each.height)])))
        shares.append(every[2] / every.sum() if every.sum() else 0.0)
    low, high = np.quantile(shares, [0.025, 0.975]).tolist()
    share = found.judges / found.whole
    return replace(found, judges_interval=Interval(min(low, share), max(high, share), "bootstrap", each.height))


def _parts(rows: Floats) -> tuple[float, float, float]:
    """Return the variance of a mean from items, repeats and judges.

    A row has an item's mean, the variance within it, how often it was asked, and the sum of its replies'
    variances by judges with their number. NaN where there is no such part.
    """
    mean, within, k, spread, units = rows.T
    n = len(rows)
    asked = n * k.mean()
    rated, again = np.nansum(units), within[~np.isnan(within)]
    judges = float(np.nansum(spread) / rated / asked) if rated else math.nan
    noise = np.nan_to_num(judges)
    repeats = max(0.0, float(again.mean() / asked - noise)) if len(again) else math.nan
    return max(0.0, float(mean.var(ddof=1) / n - np.nan_to_num(repeats) - noise)), repeats, judges


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    """Return, by item, the variances that judges bring into its replies' scores, summed, and of how many replies.

    Replies that one judge rated have none.
    """
    ratings = judge_ratings(rows).drop_nulls("value")
    units = ratings.group_by("metric", "unit").agg(spread=pl.col("value").var(), j=pl.len()).drop_nulls("spread")
    named = pl.col("unit").str.json_path_match("$[0]")
    return (
        units.with_columns(item_id=named)
        .group_by("item_id")
        .agg(spread=(pl.col("spread") / pl.col("j")).sum(), units=pl.len())
    )
