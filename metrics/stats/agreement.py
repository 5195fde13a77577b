"""Agreement: of judges with each other, and of a model with itself when it is asked again."""

import json
import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from data.errors import InputError
from data.records import VALUED
from metrics.stats.intervals import Floats, Interval, MeanEstimate, mean_interval, wilson

Scale = Literal["nominal", "ordinal", "interval"]
_NOTHING = 1e-12
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class JudgeFailures:
    """How often a judge's call or reply failed: the share with its interval; None where it was not asked."""

    judge: str
    n_asked: int
    n_failed: int
    rate: float | None
    interval: Interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's alpha over `n_units` that several rated, and its 95 % interval; None where it is undefined."""

    alpha: float | None
    interval: Interval
    n_units: int


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """Krippendorff's alpha over the units that several judges rated, and each judge's failures.

    `alpha`, with its 95 % `interval`, is None where it is undefined: no unit with two ratings, or no two different
    ratings at all.
    """

    scale: Scale
    alpha: float | None
    n_units: int
    judges: tuple[JudgeFailures, ...]
    interval: Interval = field(default_factory=Interval)


@dataclass(frozen=True, slots=True)
class Repeats:
    """What asking k times tells about a yes/no metric of a model; means over the items asked at least k times.

    `pass_at`: at least one of k answers is right; `pass_all` (pass^k): all of them are; `agreement`: two
    answers to an item score the same. None where no item was asked (and scored) often enough; the intervals
    are over items.
    """

    suite: str
    model: str
    metric: str
    k: int
    n_items: int
    pass_at: MeanEstimate
    pass_all: MeanEstimate
    agreement: MeanEstimate


def krippendorff(ratings: pl.DataFrame, scale: Scale = "nominal") -> float | None:
    """Compute Krippendorff's alpha: 1 agreement, 0 as by chance, below 0 disagreement.

    A row of `ratings` is one rating, in any order: `unit` (what was rated) and `value` (null: no rating; a
    number unless nominal). Units with a single rating do not count. None where alpha is undefined.

    Source: Krippendorff 2011. Ordinal distance is interval distance between mid-ranks; a sum of squared
    distances between pairs is a sum of squares about the mean.
    """
    rated = ratings.select("unit", "value").drop_nulls().filter(pl.len().over("unit") > 1)
    n = rated.height
    if not n:
        return None
    size = pl.len().over("unit")
    if scale == "nominal":
        # each rating against the others of its unit, and against all others
        unlike_here = (size - pl.len().over("unit", "value")) / (size - 1)
        unlike_anywhere = (n - pl.len().over("value")) / (n - 1)
        found = rated.select(seen=unlike_here.sum(), expected=unlike_anywhere.sum())
    else:
        value = pl.col("value").rank("average") if scale == "ordinal" else pl.col("value").cast(pl.Float64)
        placed = rated.with_columns(at=value)
        within = (pl.col("at") - pl.col("at").mean().over("unit")) ** 2 * size / (size - 1)
        overall = (pl.col("at") - pl.col("at").mean()) ** 2 * n / (n - 1)
        found = placed.select(seen=within.sum(), expected=overall.sum())
    seen, expected = found.row(0)
    return None if expected <= _NOTHING else 1 - seen / expected


def agreement(ratings: pl.DataFrame, scale: Scale = "nominal", *, seed: int = 0) -> Agreement:
    """Compute Krippendorff's alpha with its 95 % interval, and over how many units that several rated.

    The interval is that of a bootstrap over units with random weights, to which one unit is added that agrees no
    better than chance: a few units on which all agree do not prove that all always do.

    Source: Rubin 1981 (the Bayesian bootstrap); the added unit ours.
    """
    alpha = krippendorff(ratings, scale)
    rated = ratings.select("unit", "value").drop_nulls().filter(pl.len().over("unit") > 1)
    units = rated["unit"].n_unique()
    if alpha is None:
        return Agreement(None, Interval(), units)
    size, unlike, categories = _units(rated, scale)
    rng = np.random.default_rng(seed)
    weights = rng.gamma(1.0, size=(_DRAWS, units))
    extra = rng.gamma(1.0, size=_DRAWS)
    n = weights @ size
    if scale == "nominal":
        counts = weights @ categories
        expected = (n**2 - np.square(counts).sum(axis=1)) / n
    else:
        sums, squares = (weights @ categories[:, place] for place in (0, 1))
        expected = squares - sums**2 / n
    # As large as the units are on the mean, and as unlike within as all ratings are.
    chance = extra * size.mean() * expected / n
    alphas = 1 - (weights @ unlike + chance) / np.maximum(expected * (1 + extra * size.mean() / n), _NOTHING)
    low, high = np.quantile(alphas, [0.025, 0.975]).tolist()
    return Agreement(alpha, Interval(min(low, alpha), max(high, alpha), "bootstrap", units), units)


def _units(rated: pl.DataFrame, scale: Scale) -> tuple[Floats, Floats, Floats]:
    """Return each unit's number of ratings, how unlike they are, and its counts of labels (or sum and squares)."""
    if scale == "nominal":
        table = (
            rated.with_columns(n=1).pivot("value", index="unit", values="n", aggregate_function="sum").fill_null(0)
        )
        counts = table.drop("unit").to_numpy().astype(float)
        size = counts.sum(axis=1)
        return size, (counts * (size[:, None] - counts)).sum(axis=1) / (size - 1), counts
    value = pl.col("value").rank("average") if scale == "ordinal" else pl.col("value").cast(pl.Float64)
    placed = rated.with_columns(at=value)
    middle = placed["at"].mean()
    at = (pl.col("at") - middle).alias("at")  # about the middle: sums of squares lose nothing
    grouped = (
        placed.with_columns(at)
        .group_by("unit", maintain_order=True)
        .agg(n=pl.len(), total=pl.col("at").sum(), squares=(pl.col("at") ** 2).sum())
    )
    size, total, squares = (grouped[name].to_numpy().astype(float) for name in ("n", "total", "squares"))
    unlike = (squares - total**2 / size) * size / (size - 1)
    return size, unlike, np.stack([total, squares], axis=1)


def judge_ratings(scores: pl.DataFrame) -> pl.DataFrame:
    """Read each judge's own score out of the details of a scores table, as rows for `judge_agreement`.

    Columns: metric, unit (item, model and repeat), judge, value (null: that judge failed). Judges for whom the
    metric was not applicable are left out; so are scores that no judge was asked for (computed, or settled by a
    shortcut): there all judges would agree, and none could fail.
    """
    schema = {"metric": pl.String(), "unit": pl.String(), "judge": pl.String(), "value": pl.Float64()}
    rows = []
    columns = scores.select("item_id", "model", "repeat", "metric", "details")
    for item_id, model, repeat, metric, details in columns.filter(pl.col("details").is_not_null()).iter_rows():
        judges = json.loads(details).get("judges")
        for judge, found in judges.items() if isinstance(judges, dict) else ():
            if isinstance(found, dict) and found.get("status") != "not_applicable" and found.get("n_calls") != 0:
                value = found.get("value")
                rows.append((metric, json.dumps([item_id, model, repeat]), judge, value))
    return pl.DataFrame(rows, schema=schema, orient="row")


def judge_agreement(ratings: pl.DataFrame, scale: Scale = "nominal") -> JudgeAgreement:
    """Compute agreement and failures of judges.

    A row of `ratings` is what one judge made of one unit: `unit`, `judge`, `value` (null: the call failed or
    its reply could not be parsed). Give only what was asked: what was not applicable is not a failure.

    Raises:
        InputError: a judge rated a unit twice; average its ratings or rate one repeat.
    """
    twice = ratings.filter(pl.struct("unit", "judge").is_duplicated()).head(1)
    if twice.height:
        row = twice.row(0, named=True)
        raise InputError(
            f"ratings: judge {row['judge']!r} rated unit {row['unit']!r} more than once; expected one rating for "
            "each judge and unit. Put what tells them apart (the step, the repeat) into the unit."
        )
    counts = (
        ratings.group_by("judge").agg(asked=pl.len(), failed=pl.col("value").null_count()).sort("judge").iter_rows()
    )
    judges = tuple(
        JudgeFailures(judge, asked, failed, failed / asked if asked else None, wilson(failed, asked))
        for judge, asked, failed in counts
    )
    found = agreement(ratings, scale)
    return JudgeAgreement(scale, found.alpha, found.n_units, judges, found.interval)


def pass_at(n: int, c: int, k: int) -> float:
    """Return the chance that at least one of k answers is right, drawn from n of which c are; n >= k.

    Source: Chen et al. 2021 (pass@k).
    """
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_all(n: int, c: int, k: int) -> float:
    """Return the chance that all of k answers are right, drawn from n of which c are; n >= k.

    Source: Yao et al. 2024 (pass^k).
    """
    return math.comb(c, k) / math.comb(n, k)


def repeats(scores: pl.DataFrame, *, k: int, suite: str = "") -> tuple[Repeats, ...]:
    """Compute pass@k, pass^k and agreement for each model and each yes/no metric of a suite's scores.

    A row is a metric's value for an item, a model and a repeat. Of an item with n scored repeats of which c are
    right, pass@k = 1 - C(n - c, k) / C(n, k) and pass^k = C(c, k) / C(n, k): unbiased for any n >= k. Agreement
    is the share of an item's pairs of repeats that score the same.

    Source: Chen et al. 2021 (pass@k); Yao et al. 2024 (pass^k).

    Raises:
        InputError: k is not positive.
    """
    if k < 1:
        raise InputError(f"repeats: expected k to be 1 or more, found {k}.")
    counts = (
        scores.filter(pl.col("status").is_in(VALUED))
        .with_columns(pl.col("value").fill_null(0.0))
        .filter(((pl.col("value") == 0) | (pl.col("value") == 1)).all().over("metric"))
        .group_by("model", "metric", "item_id")
        .agg(n=pl.len(), c=(pl.col("value") == 1).sum())
        .sort("model", "metric", "item_id")
    )
    return tuple(
        _repeats((suite, str(model), str(metric)), items, k=k)
        for (model, metric), items in counts.group_by("model", "metric", maintain_order=True)
    )


def _repeats(named: tuple[str, str, str], items: pl.DataFrame, *, k: int) -> Repeats:
    enough = list(items.filter(pl.col("n") >= k).select("n", "c").iter_rows())
    several = list(items.filter(pl.col("n") > 1).select("n", "c").iter_rows())
    at_least_one = [pass_at(n, c, k) for n, c in enough]
    every = [pass_all(n, c, k) for n, c in enough]
    same = [(math.comb(c, 2) + math.comb(n - c, 2)) / math.comb(n, 2) for n, c in several]
    return Repeats(
        *named,
        k,
        len(enough),
        *(mean_interval(values) for values in (at_least_one, every, same)),
    )
