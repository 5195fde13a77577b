"""Paired comparison of two models on the same questions, by metric, suite, TOTAL and overall.

Interval, test and decision use one method (`metrics.stats.margins`), at the level that Holm's correction over all
headlines and pairs of a comparison leaves to each: the interval contains 0 exactly if the difference is not
significant. All comparisons of models, prompts or runs use this module.

Source: SPEC 9.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from data.suites import Suite
from metrics.analysis.values import composites, question_values
from metrics.stats.intervals import Floats, Interval
from metrics.stats.margins import (
    Differences,
    MarginTest,
    Test,
    least_p,
    method_of,
    paired,
    two_sided,
    weighted_mean,
)
from metrics.stats.missing import ALIKE, equated
from metrics.stats.power import ALPHA, HolmStep, detectable, holm

Scope = Literal["metric", "suite", "total", "overall"]
"""What is compared: a metric, the mean of a suite's metrics, a TOTAL over families, or the overall score."""

_PAIR = 2
_KEY = ("suite", "item_id")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Model a compared with model b on one headline, over the questions that both have scored.

    `scope` is the kind of headline: a metric of a suite; the suite's own score (`suite`, without a metric; `total`,
    with strata); or the `overall` score, without a suite. `difference` is mean a - mean b with its 95 % interval;
    None without common questions. `only_a` and `only_b` count the questions on which a, or b, is better. `p_value`
    belongs to the `test` that gives the interval; `p_adjusted` is Holm-adjusted over all that was compared
    together, and `interval_adjusted` is at the level of its step: it contains 0 exactly if the difference is not
    significant.

    `detectable` is the smallest true difference found with power 0.8 at this level and the observed spread.
    `reachable` is false if so few questions could not have reached the level whatever their outcome. Where answers
    failed or were truncated (`n_lost`, `n_cut`, of both models), `low` and `high` bound the difference, with their
    p-values; `hangs`: the conclusion is not the same at both bounds and between. `n_alike` questions are missing on
    both sides for the same cause and count as equal.
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
    yes_no: bool
    only_a: int
    only_b: int
    scope: Scope = "metric"
    interval: Interval = field(default_factory=Interval)
    test: Test = "none"
    p_value: float | None = None
    p_adjusted: float | None = None
    interval_adjusted: Interval = field(default_factory=Interval)
    detectable: float | None = None
    reachable: bool = True
    low: float | None = None
    high: float | None = None
    p_low: float | None = None
    p_high: float | None = None
    n_cut: int = 0
    n_lost: int = 0
    n_alike: int = 0
    hangs: bool = False

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at 5 %, after correction, everywhere within the bounds."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA and not self.hangs

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {**asdict(self), "significant": self.significant}


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of models without significant differences on a headline; each is a largest such set.

    Best mean first, within and among groups; a model may be in several groups.
    """

    suite: str
    metric: str
    groups: tuple[tuple[str, ...], ...]
    scope: Scope = "metric"


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """What is compared: suites with their metrics, the suite's weight, and whether families weigh equally."""

    scope: Scope
    suite: str
    metric: str
    parts: tuple[tuple[str, tuple[str, ...], float, bool], ...]


def headlines(suites: Sequence[Suite], metrics: Collection[str]) -> list[ComparedScore]:
    """List what models are compared on: each metric of a score, each suite's score, and the overall score.

    `metrics` are those in the scores. A suite with one metric is represented by that metric; with strata by its
    TOTAL. There is an overall score if at least two suites have weight and all of these are means over all
    questions.
    """
    found: list[ComparedScore] = []
    weighed: list[tuple[str, tuple[str, ...], float, bool]] = []
    for suite in suites:
        names = tuple(name for name in suite.scored_by if name in metrics)
        strata = bool(suite.strata)
        alone = (suite.name, names, 1.0, strata)
        if strata and names:
            found.append(ComparedScore("total", suite.name, names[0], (alone,)))
        else:
            found += [
                ComparedScore("metric", suite.name, name, ((suite.name, (name,), 1.0, False),)) for name in names
            ]
        if len(names) > 1:
            found.append(ComparedScore("suite", suite.name, "", (alone,)))
        if suite.weight and names:
            weighed.append((suite.name, names, suite.weight, strata))
    if len(weighed) > 1 and all(not suite.of_k and not suite.stop for suite in suites if suite.weight):
        found.append(ComparedScore("overall", "", "", tuple(weighed)))
    return found


def by_metric(values: pl.DataFrame, suites: Sequence[Suite]) -> list[ComparedScore]:
    """List every metric of every suite present; for a suite with strata, its TOTAL."""
    totals = {(suite.name, name) for suite in suites if suite.strata for name in suite.scored_by}
    there = values.select("suite", "metric").unique().sort("suite", "metric").rows()
    return [
        ComparedScore("total" if (total := (suite, metric) in totals) else "metric", suite, metric,
                 ((suite, (metric,), 1.0, total),))
        for suite, metric in there
    ]  # fmt: skip


def sharing_nothing(prompted: Mapping[str, tuple[str, str]]) -> frozenset[frozenset[str]]:
    """Return the pairs of names that share neither model nor prompt; `prompted` maps names to both."""
    return frozenset(
        frozenset((a, b))
        for a, b in combinations(prompted, _PAIR)
        if all(one != other for one, other in zip(prompted[a], prompted[b], strict=True))
    )


@dataclass(frozen=True, slots=True)
class UncorrectedComparison:
    """A comparison before correction: the observed sample, and those at the bounds if there are any."""

    seen: Comparison
    sample: Differences | None
    ends: tuple[Differences, Differences] | None


def compare(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    suites: Sequence[Suite] = (),
    *,
    order: Sequence[str] = (),
    crossed: Collection[frozenset[str]] = (),
) -> tuple[Comparison, ...]:
    """Compare all pairs of models of a scores table on every headline (`headlines`), except pairs in `crossed`.

    A suite with interim looks (`stop`) has its sequences instead of fixed-sample tests.

    A row of `scores` is a metric's value for an item, a model and a repeat, a row of `items` an item. `suites`
    define the scores; without them each metric is compared by itself. Each difference is the model later in `order`
    minus the earlier one (without `order`: alphabetically first minus second). To compare runs of one model, give
    the model a different name in each.

    Raises:
        InputError: a row whose item is not in `items`.
    """
    looked = {suite.name for suite in suites if suite.stop}
    drafts = drafted(scores, items, suites, order=order, crossed=crossed)
    return tuple(concluded([draft for draft in drafts if draft.seen.suite not in looked]))


def drafted(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    suites: Sequence[Suite] = (),
    *,
    metrics: Collection[str] = (),
    order: Sequence[str] = (),
    crossed: Collection[frozenset[str]] = (),
) -> list[UncorrectedComparison]:
    """Pair models on every headline, uncorrected; `concluded` tests all that was compared together.

    `metrics`: compare each of these instead of the headlines.
    """
    values = question_values(scores.filter(pl.col("metric").is_in(list(metrics))) if metrics else scores, items)
    there = values["model"].unique().sort().to_list()
    pairs = list(combinations(there, _PAIR))
    if order:
        pairs = [(a, b) for b, a in combinations([name for name in order if name in there], _PAIR)]
    pairs = [pair for pair in pairs if frozenset(pair) not in crossed]
    single = metrics or not suites
    listed = by_metric(values, suites) if single else headlines(suites, values["metric"].unique().to_list())
    found = []
    for headline in listed:
        rows = pl.concat(
            composites(values.filter(pl.col("suite") == suite, pl.col("metric").is_in(names))).with_columns(
                family=pl.col("family") if strata else pl.lit(""), weight=pl.lit(weight)
            )
            for suite, names, weight, strata in headline.parts
        )
        took_part = rows.group_by("model").agg(pl.col("suite").n_unique())
        sides = {name: rows.filter(model=name) for name in took_part.filter(suite=len(headline.parts))["model"]}
        found += [_draft(sides[a], sides[b], a, b, headline) for a, b in pairs if a in sides and b in sides]
    return found


def _draft(
    a: pl.DataFrame, b: pl.DataFrame, model_a: str, model_b: str, headline: ComparedScore
) -> UncorrectedComparison:
    both = a.join(b, on=_KEY, suffix="_before", maintain_order="left")
    there = both.drop_nulls(["value", "value_before"])
    cut, lost = ((pl.col(name) + pl.col(f"{name}_before")).sum() for name in ("n_cut", "n_lost"))
    n_cut, n_lost, n_alike = map(int, both.select(n_cut=cut, n_lost=lost, n_alike=ALIKE.sum()).row(0))
    sample, means = None, (None, None)
    if whole := there["suite"].n_unique() == len(headline.parts):
        weights = _weights(there)
        sample = _sample(there, "value", "value_before", weights)
        means = tuple(weighted_mean(_floats(there[name]), weights) for name in ("value", "value_before"))
    seen = Comparison(
        suite=headline.suite,
        metric=headline.metric,
        scope=headline.scope,
        model_a=model_a,
        model_b=model_b,
        n=there.height if whole else 0,
        n_left_out=both.height - there.height,
        mean_a=means[0],
        mean_b=means[1],
        difference=sample.mean if sample else None,
        yes_no=bool(sample and sample.yes_no),
        only_a=sample.won if sample else 0,
        only_b=sample.lost if sample else 0,
        n_cut=n_cut,
        n_lost=n_lost,
        n_alike=n_alike,
    )
    return UncorrectedComparison(seen, sample, _bounds(both) if sample and (n_cut or n_lost) else None)


def _bounds(both: pl.DataFrame) -> tuple[Differences, Differences]:
    """Compute a's worst and best differences over all questions that both were asked."""
    known, weights = equated(both), _weights(both)
    return _sample(known, "lower", "upper_before", weights), _sample(known, "upper", "lower_before", weights)


def _weights(rows: pl.DataFrame) -> Floats:
    """Return each question's weight: the suite's, divided equally among its strata, in these by the shares."""
    strata, share = pl.col("family").n_unique().over("suite"), pl.col("share")
    each = pl.col("weight") / strata * share / share.sum().over("suite", "family")
    weights = _floats(rows.select(each).to_series())
    found: Floats = weights / weights.sum()
    return found


def _sample(rows: pl.DataFrame, a: str, b: str, weights: Floats) -> Differences:
    return paired(_floats(rows[a]), _floats(rows[b]), weights=weights, clusters=rows["cluster"].to_numpy())


def _floats(column: pl.Series) -> Floats:
    return column.to_numpy().astype(np.float64)


def concluded(drafts: Sequence[UncorrectedComparison]) -> list[Comparison]:
    """Test drafts together: each separately, then Holm over all p-values and intervals."""
    smallest = ALPHA / _PAIR / max(sum(draft.sample is not None for draft in drafts), 1)
    tests = [method_of(draft.sample, level=smallest) if draft.sample else None for draft in drafts]
    seen = [two_sided(test) if test else None for test in tests]
    ends = [
        [two_sided(method_of(end, level=smallest)) for end in draft.ends] if draft.sample and draft.ends else [p, p]
        for draft, p in zip(drafts, seen, strict=True)
    ]
    each = (seen, [low for low, _ in ends], [high for _, high in ends])
    return [*map(_concluded, drafts, tests, zip(*map(holm, each), strict=True))]


def _concluded(draft: UncorrectedComparison, test: MarginTest | None, steps: tuple[HolmStep, ...]) -> Comparison:
    """Conclude from a test at the level of its step; `steps`: as observed, and at both bounds."""
    seen, sample, ends = draft.seen, draft.sample, draft.ends
    own, low, high = steps
    if sample is None or test is None or own.level is None:
        return seen
    right = max(seen.mean_a or 0.0, seen.mean_b or 0.0)
    found = replace(
        seen,
        interval=test.limits((ALPHA / 2, ALPHA / 2)),
        test=test.name,
        p_value=own.p,
        p_adjusted=own.adjusted,
        interval_adjusted=test.limits((own.level / 2, own.level / 2)),
        detectable=detectable(sample, max(right, 1 - right), level=own.level / 2),
        reachable=least_p(sample) < own.level / 2,
    )
    if not ends:
        return found
    worst, best = (end.mean for end in ends)
    ways = {*map(_direction, (seen.difference, worst, best), (step.adjusted for step in steps))}
    return replace(found, low=worst, high=best, p_low=low.p, p_high=high.p, hangs=len(ways) > 1)


def _direction(difference: float | None, p_adjusted: float | None) -> int:
    """Return which model a comparison favours: 1 the first, -1 the second, 0 neither."""
    if difference is None or p_adjusted is None or p_adjusted >= ALPHA:
        return 0
    return 1 if difference > 0 else -1


def groups(comparisons: Sequence[Comparison]) -> tuple[Grouping, ...]:
    """Group models without significant differences, for each headline on which all pairs were compared.

    There are no groups without a pair.
    """
    found = []
    for suite, metric in dict.fromkeys((pair.suite, pair.metric) for pair in comparisons):
        pairs = [pair for pair in comparisons if (pair.suite, pair.metric) == (suite, metric)]
        rank = _ranks(pairs)
        if {frozenset((one.model_a, one.model_b)) for one in pairs} < {*map(frozenset, combinations(rank, _PAIR))}:
            continue
        near: dict[str, set[str]] = {model: set() for model in rank}
        for pair in pairs:
            if not pair.significant:
                near[pair.model_a].add(pair.model_b)
                near[pair.model_b].add(pair.model_a)
        cliques = [sorted(clique, key=rank.__getitem__) for clique in _cliques(set(), set(near), set(), near)]
        cliques.sort(key=lambda clique: [rank[model] for model in clique])
        found.append(Grouping(suite, metric, tuple(map(tuple, cliques)), pairs[0].scope))
    return tuple(found)


def _ranks(pairs: Sequence[Comparison]) -> dict[str, tuple[float, str]]:
    """Order models by mean, best first; ties by name."""
    means: dict[str, list[float]] = {}
    for pair in pairs:
        for model, mean in ((pair.model_a, pair.mean_a), (pair.model_b, pair.mean_b)):
            means.setdefault(model, []).extend([] if mean is None else [mean])
    return {model: (-math.fsum(found) / len(found) if found else 2.0, model) for model, found in means.items()}


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
