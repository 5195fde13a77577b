"""Two models on the same items: what changed, by how much, and whether it can be told from chance."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from statistics import NormalDist
from typing import Any, Literal, cast

import numpy as np
import polars as pl

from data.errors import InputError
from data.records import VALUED
from metrics.stats.intervals import (
    MAX_BOOTSTRAP,
    MIN_BOOTSTRAP,
    Floats,
    Interval,
    Pool,
    Z,
    estimate,
    pool,
)
from metrics.stats.power import ALPHA, PAIRED_SPREAD, detectable_effect, holm, holm_levels

Test = Literal["mcnemar", "sign-flip", "none"]
FLIPS = 10_000
_EXACT = 12  # units that differ, up to which all sign patterns are listed
_NOTHING = 1e-12
_SMALLEST = 1e-300


@dataclass(frozen=True, slots=True)
class Comparison:
    """Model a against model b on the items (and repeats) that both have scored, for one metric of a suite.

    `difference` is mean a - mean b with its 95 % interval; None where no pair is. Yes/no metrics: `only_a` and
    `only_b` count the pairs on which just one is right (of the others: on which it is better). `p_value`: exact
    McNemar for yes/no; otherwise, and where items were asked several times, a sign-flip test over items or
    template clusters. `p_adjusted`: after Holm over all metrics and pairs that were compared together, and
    `interval_adjusted` at the level of its step: it holds 0 exactly where the two cannot be told apart.
    `detectable`: the smallest true difference that so many pairs, spread as these are, show with power 0.8 in a
    single test at 5 %; where fewer than ten units, or units all alike, tell no spread, that of yes/no answers at
    worst. Where replies were cut, `low` and `high` are the difference had those of b, or of a, been right, with
    their p-values; `cut`: what can be concluded is not the same at both and between.
    """

    suite: str
    metric: str
    model_a: str
    model_b: str
    n: int
    n_left_out: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    interval: Interval
    yes_no: bool
    only_a: int
    only_b: int
    test: Test
    p_value: float | None
    p_adjusted: float | None
    interval_adjusted: Interval
    detectable: float | None
    low: float | None = None
    high: float | None = None
    p_low: float | None = None
    p_high: float | None = None
    cut: bool = False

    @property
    def significant(self) -> bool:
        """Whether the two can be told apart at the 5 % level, after correction, wherever within the bounds."""
        return self.refused and not self.cut

    @property
    def refused(self) -> bool:
        """Whether the test refuses at the 5 % level, after correction, that the two are equal."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {**asdict(self), "significant": self.significant}


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which models cannot be told apart on a metric: each group is a largest set without a significant pair.

    Best mean first, in groups and among them; a model may stand in several groups.
    """

    suite: str
    metric: str
    groups: tuple[tuple[str, ...], ...]


def compare(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare every two models of a scores table, in each suite and metric, in alphabetical order.

    Rows are paired by item and repeat; a pair counts where both rows have a value (`scored`; `no_answer` and
    `truncated`, which are 0 unless the metric gave a value), the others are in `n_left_out`. To compare runs of
    one model, name the model differently in each. `bounds` are a metric's, (0, 1) unless given. Intervals: Bonett
    and Price's for yes/no values asked once; else those of `metrics.stats.intervals` for the differences, clustered
    by template. Holm's correction is over everything that is returned.

    Raises:
        InputError: a row whose item is not in `items`.
    """
    valued = _valued(scores, items, metrics)
    found: list[Comparison] = []
    for (suite, metric), rows in valued.group_by("suite", "metric", maintain_order=True):
        models = rows["model"].unique().sort().to_list()
        if len(models) < 2:  # noqa: PLR2004 - a pair
            continue
        values = rows["value"].drop_nulls()
        yes_no = bool(values.is_in([0.0, 1.0]).all())
        limits = (bounds or {}).get(str(metric), (0.0, 1.0))
        upper = pl.when("cut").then(pl.lit(limits[1])).otherwise("value")
        wide, best = (
            table.pivot(
                "model", index=["item_id", "question", "repeat", "cluster"], values="value", sort_columns=True
            ).sort("item_id", "repeat")
            for table in (rows, rows.with_columns(value=upper))
        )
        cut = set(rows.filter("cut")["model"])
        same = partial(_compared, suite=str(suite), metric=str(metric), yes_no=yes_no, bounds=limits, seed=seed)
        for a, b in combinations(models, 2):
            pair = same(wide, a, b)
            if {a, b} & cut:
                low, high = (same(wide.with_columns(best[name]), a, b) for name in (b, a))
                pair = replace(
                    pair, low=low.difference, high=high.difference, p_low=low.p_value, p_high=high.p_value
                )
            found.append(pair)
    return tuple(adjusted(found, bounds=bounds))


def adjusted(
    pairs: Sequence[Comparison], *, bounds: Mapping[str, tuple[float, float]] | None = None
) -> list[Comparison]:
    """Correct p-values and intervals for being many, by Holm over all pairs and metrics given."""
    p_values = [pair.p_value for pair in pairs]
    lowest = holm([pair.p_value if pair.low is None else pair.p_low for pair in pairs])
    highest = holm([pair.p_value if pair.high is None else pair.p_high for pair in pairs])
    found = []
    columns = zip(pairs, holm(p_values), holm_levels(p_values), lowest, highest, strict=True)
    for pair, p, level, p_low, p_high in columns:
        low, high = (bounds or {}).get(pair.metric, (0.0, 1.0))
        said = {
            _said(pair.difference, p),
            *((_said(pair.low, p_low), _said(pair.high, p_high)) if pair.low is not None else ()),
        }
        corrected = replace(pair, p_adjusted=p, cut=len(said) > 1)
        found.append(replace(corrected, interval_adjusted=_widened(corrected, level, high - low)))
    return found


def _said(difference: float | None, p_adjusted: float | None) -> int:
    """Return which of two a comparison finds better: 1 the first, -1 the second, 0 neither."""
    if difference is None or p_adjusted is None or p_adjusted >= ALPHA:
        return 0
    return 1 if difference > 0 else -1


def _widened(pair: Comparison, level: float | None, width: float) -> Interval:
    """Stretch a pair's interval to a level, and let it hold 0 exactly where the test does not refuse it.

    Tests are exact and intervals are not, so that near 0 they may disagree: there the end towards 0 is the
    test's own.

    Source: Miettinen 1976 (limits from a test's p-value).
    """
    low, high, difference, p = pair.interval.low, pair.interval.high, pair.difference, pair.p_value
    if level is None or low is None or high is None or difference is None or p is None:
        return Interval()
    critical = -NormalDist().inv_cdf(level / 2)
    low, high = (difference + (end - difference) * critical / Z for end in (low, high))
    if pair.refused == (low <= 0 <= high):
        reached = -NormalDist().inv_cdf(max(p, _SMALLEST) / 2)
        nearest = difference * (1 - critical / reached) if reached > _NOTHING else 0.0
        low, high = (nearest, high) if difference > 0 else (low, nearest)
    return replace(pair.interval, low=max(low, -width), high=min(high, width))


def groups(comparisons: Sequence[Comparison]) -> tuple[Grouping, ...]:
    """Group models that cannot be told apart, from all pairs of `compare`, for each suite and metric."""
    found = []
    for suite, metric in dict.fromkeys((pair.suite, pair.metric) for pair in comparisons):
        pairs = [pair for pair in comparisons if (pair.suite, pair.metric) == (suite, metric)]
        place = _places(pairs)
        near: dict[str, set[str]] = {model: set() for model in place}
        for pair in pairs:
            if not pair.significant:
                near[pair.model_a].add(pair.model_b)
                near[pair.model_b].add(pair.model_a)
        cliques = [sorted(clique, key=place.__getitem__) for clique in _cliques(set(), set(near), set(), near)]
        cliques.sort(key=lambda clique: [place[model] for model in clique])
        found.append(Grouping(suite, metric, tuple(map(tuple, cliques))))
    return tuple(found)


def mcnemar(only_a: int, only_b: int) -> float:
    """Compute the exact two-sided p-value of McNemar's test from the discordant counts; 1 where there are none."""
    if only_a == only_b:
        return 1.0
    from scipy.special import bdtr  # half a second; scipy.stats takes a second, and 50 MB

    # A fair coin's distribution is symmetric: both tails are alike.
    return float(2 * bdtr(min(only_a, only_b), only_a + only_b, 0.5))


def paired_share_interval(only_a: int, only_b: int, n: int) -> Interval:
    """Compute the 95 % interval of the difference of two paired shares; none for n = 0.

    Source: Bonett & Price 2012, adjusted Wald.
    """
    if n == 0:
        return Interval()
    a, b = (only_a + 1) / (n + 2), (only_b + 1) / (n + 2)
    half = Z * ((a + b - (a - b) ** 2) / (n + 2)) ** 0.5
    return Interval(max(a - b - half, -1.0), min(a - b + half, 1.0), "bonett-price", n)


def sign_flip(differences: Floats, *, seed: int = 0) -> float:
    """Compute the two-sided p-value of a mean difference being 0, were each difference's sign a coin's toss.

    One value a unit (an item, a cluster). All sign patterns for up to 12 units that differ; else `FLIPS` random
    ones, the observed pattern counted in; the normal approximation above 10 000 units.
    """
    nonzero = differences[np.abs(differences) > _NOTHING]
    observed = abs(float(nonzero.sum())) - _NOTHING
    n = len(nonzero)
    if n == 0:
        return 1.0
    if n <= _EXACT:
        signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return float((np.abs(signs @ nonzero) >= observed).mean())
    if n > MAX_BOOTSTRAP:
        from scipy.special import ndtr  # half a second

        return float(2 * ndtr(-observed / np.sqrt(float(nonzero @ nonzero))))
    rng = np.random.default_rng(seed)
    beyond = 0
    for _ in range(0, FLIPS, 500):
        signs = rng.integers(0, 2, (500, n), np.int8).astype(np.float64)
        beyond += int((np.abs(2 * (signs @ nonzero) - nonzero.sum()) >= observed).sum())
    return (beyond + 1) / (FLIPS + 1)


def _valued(scores: pl.DataFrame, items: pl.DataFrame, metrics: Sequence[str] | None) -> pl.DataFrame:
    """Join the values that count with their suite and template cluster (negative: none)."""
    template = ["suite", "family", "template"]
    # Rows that ask the same are one observation, and stand or fall together.
    question = pl.coalesce("text_digest", "item_id").alias("question")
    filled = items.select("item_id", question, pl.col(template).fill_null(""))
    clusters = filled.select(template).filter(pl.col("template") != "").unique().sort(template)
    known = filled.join(clusters.with_row_index("cluster"), on=template, how="left").select(
        "item_id", "question", "suite", pl.col("cluster").cast(pl.Int64).fill_null(-1)
    )
    wanted = scores if metrics is None else scores.filter(pl.col("metric").is_in(list(metrics)))
    scored = pl.when(pl.col("status") == "scored").then(pl.col("value"))
    value = scored.when(pl.col("status").is_in(VALUED)).then(pl.col("value").fill_null(0.0))
    rows = wanted.select("item_id", "model", "repeat", "metric", value=value, cut=pl.col("status") == "truncated")
    rows = rows.join(known, on="item_id", how="left").sort("suite", "metric", "model", "item_id", "repeat")
    if rows["suite"].null_count():
        lost = rows.filter(pl.col("suite").is_null())["item_id"][0]
        raise InputError(f"scores: item {lost!r} is not in the items table; pass the items of the same runs.")
    return rows


def _compared(
    wide: pl.DataFrame,
    a: str,
    b: str,
    *,
    suite: str,
    metric: str,
    yes_no: bool,
    bounds: tuple[float, float],
    seed: int,
) -> Comparison:
    both = wide.select("question", "cluster", a=a, b=b)
    pairs = both.drop_nulls().with_columns(d=pl.col("a") - pl.col("b"))
    d = pairs["d"].to_numpy()
    only_a, only_b = int((d > _NOTHING).sum()), int((d < -_NOTHING).sum())
    units = pairs.group_by("question", maintain_order=True).agg(
        pl.col("cluster").first(), total=pl.col("d").sum(), size=pl.len().cast(pl.Float64)
    )
    sample = pool(_floats(units["total"]), _floats(units["size"]), units["cluster"].to_numpy())
    once = units.height == pairs.height
    interval, p_value = Interval(), None
    test: Test = "none"
    if len(d):
        interval = _interval(sample, only_a, only_b, plain=yes_no and once, bounds=bounds, seed=seed)
        test = "mcnemar" if yes_no and once else "sign-flip"
        p_value = mcnemar(only_a, only_b) if test == "mcnemar" else sign_flip(sample.totals, seed=seed)
    return Comparison(
        suite=suite,
        metric=metric,
        model_a=a,
        model_b=b,
        n=pairs.height,
        n_left_out=both.height - pairs.height,
        mean_a=cast("float | None", pairs["a"].mean()),
        mean_b=cast("float | None", pairs["b"].mean()),
        difference=float(d.mean()) if len(d) else None,
        interval=interval,
        yes_no=yes_no,
        only_a=only_a,
        only_b=only_b,
        test=test,
        p_value=p_value,
        p_adjusted=p_value,
        interval_adjusted=interval,
        detectable=_detectable(sample),
    )


def _floats(column: pl.Series) -> Floats:
    return column.to_numpy().astype(np.float64)


def _interval(
    sample: Pool, only_a: int, only_b: int, *, plain: bool, bounds: tuple[float, float], seed: int
) -> Interval:
    units = len(sample.sizes)
    if plain and units == sample.items:
        return paired_share_interval(only_a, only_b, units)
    width = bounds[1] - bounds[0]
    return estimate([sample], yes_no=[False], bounds=[(-width, width)], seed=seed)[0].interval


def _detectable(sample: Pool) -> float | None:
    """The detectable effect for units spread as these are; as yes/no values at worst where too few tell that."""
    units = len(sample.sizes)
    spread = 0.0
    if units >= MIN_BOOTSTRAP:
        mean = sample.totals.sum() / sample.sizes.sum()
        residual = (sample.totals - mean * sample.sizes) / sample.sizes.mean()
        spread = float(np.sqrt(residual @ residual / (units - 1)))
    return detectable_effect(units, spread=spread if spread > _NOTHING else PAIRED_SPREAD)


def _places(pairs: Sequence[Comparison]) -> dict[str, tuple[float, str]]:
    """Order models by their mean, best first; by name where they are equal."""
    means: dict[str, list[float]] = {}
    for pair in pairs:
        for model, mean in ((pair.model_a, pair.mean_a), (pair.model_b, pair.mean_b)):
            means.setdefault(model, []).extend([] if mean is None else [mean])
    return {model: (-sum(found) / len(found) if found else 2.0, model) for model, found in means.items()}


def _cliques(
    chosen: set[str], open_: set[str], closed: set[str], near: Mapping[str, set[str]]
) -> Iterator[set[str]]:
    """Yield the maximal cliques that contain `chosen` (Bron & Kerbosch 1973, with a pivot)."""
    if not open_ and not closed:
        yield chosen
        return
    pivot = max(sorted(open_ | closed), key=lambda model: len(near[model] & open_))
    for model in sorted(open_ - near[pivot]):
        yield from _cliques(chosen | {model}, open_ & near[model], closed & near[model], near)
        open_ = open_ - {model}
        closed = closed | {model}
