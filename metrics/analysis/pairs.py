"""Paired comparison of two models on the same questions, by metric, suite, TOTAL and overall.

Interval, test and decision use one method (`metrics.stats.margins`), at the level that Holm's correction over all
headlines and pairs of a comparison leaves to each: the interval contains 0 exactly if the difference is not
significant. All comparisons of models, prompts, runs and baselines use this module.

Source: SPEC 9.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from data.suites import Suite
from metrics.analysis.values import composites, question_values
from metrics.stats.intervals import Floats, Interval
from metrics.stats.margins import Differences, MarginTest, PairedSample, Test, least_p, method_of, paired, two_sided
from metrics.stats.missing import ALIKE, equated
from metrics.stats.power import ALPHA, HolmStep, detectable, holm

Scope = Literal["metric", "suite", "total", "overall"]
"""What is compared: a metric, the mean of a suite's metrics, a TOTAL over families, or the overall score."""

_PAIR = 2
_QUESTION = ("suite", "item_id")


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The test of a paired difference, and the interval that belongs to it.

    `p_adjusted` is Holm-adjusted over all that was compared together; `interval` has the confidence 1 - `level`, at
    the level of its step: it contains 0 exactly if the difference is not significant. `detectable` is the smallest
    true difference found with power 0.8 at this level and the observed spread. `reachable` is false if so few
    questions could not have reached the level whatever their outcome.
    """

    method: Test = "none"
    p_value: float | None = None
    p_adjusted: float | None = None
    interval: Interval = field(default_factory=Interval)
    level: float | None = None
    detectable: float | None = None
    reachable: bool = True


@dataclass(frozen=True, slots=True)
class MissingPairs:
    """What is missing from a paired difference, in both sides' answers, and the difference at its bounds.

    `n_lost` answers failed, `n_cut` were truncated: `low` and `high` bound the difference, with their p-values.
    `hangs`: the conclusion is not the same at both bounds and between. `n_alike` questions are missing on both
    sides for the same cause and count as equal.
    """

    n_cut: int = 0
    n_lost: int = 0
    n_alike: int = 0
    low: float | None = None
    high: float | None = None
    p_low: float | None = None
    p_high: float | None = None
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Model a compared with model b on one headline, over the questions that both have scored.

    `scope` is the kind of headline: a metric of a suite; the suite's own score (`suite`, without a metric; `total`,
    with strata); or the `overall` score, without a suite. `difference` is mean a - mean b; None without common
    questions. `only_a` and `only_b` count the questions on which a, or b, is better; `n_left_out` lack a score.
    """

    suite: str
    metric: str
    scope: Scope
    model_a: str
    model_b: str
    n: int
    n_left_out: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    only_a: int
    only_b: int
    yes_no: bool
    test: PairedTest = field(default_factory=PairedTest)
    missing: MissingPairs = field(default_factory=MissingPairs)

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at 5 %, after correction, everywhere within the bounds."""
        p_adjusted = self.test.p_adjusted
        return p_adjusted is not None and p_adjusted < ALPHA and not self.missing.hangs


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of models without significant differences on a headline; each is a largest such set.

    Best mean first, within and among groups; a model may be in several groups.
    """

    suite: str
    metric: str
    groups: tuple[tuple[str, ...], ...]
    scope: Scope = "metric"


class SuitePart(NamedTuple):
    """A suite in what is compared: its metrics, its weight, and whether families weigh equally."""

    suite: str
    metrics: tuple[str, ...]
    weight: float = 1.0
    strata: bool = False


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """What is compared: one suite's metrics, or several suites by their weights."""

    scope: Scope
    suite: str
    metric: str
    parts: tuple[SuitePart, ...]


def score_of_metric(suite: str, metric: str, *, strata: bool = False) -> ComparedScore:
    """Return what is compared by a metric of a suite; with strata its TOTAL."""
    return score_of_suite(suite, (metric,), strata=strata)


def score_of_suite(suite: str, metrics: tuple[str, ...], *, strata: bool = False) -> ComparedScore:
    """Return what is compared by a suite's metrics (at least one): of several their mean."""
    whole = SuitePart(suite, metrics, strata=strata)
    if strata:
        return ComparedScore("total", suite, metrics[0], (whole,))
    if len(metrics) == 1:
        return ComparedScore("metric", suite, metrics[0], (whole,))
    return ComparedScore("suite", suite, "", (whole,))


def scores_to_compare(suites: Sequence[Suite], metrics: Collection[str]) -> list[ComparedScore]:
    """List what models are compared on: each metric of a score, each suite's score, and the overall score.

    `metrics` are those in the scores. A suite with one metric is represented by that metric; with strata by its
    TOTAL. There is an overall score if at least two suites have weight and all of these are means over all
    questions.
    """
    listed: list[ComparedScore] = []
    weighing: list[SuitePart] = []
    for suite in suites:
        names = tuple(name for name in suite.scored_by if name in metrics)
        if not names:
            continue
        strata = bool(suite.strata)
        if not strata:
            listed += [score_of_metric(suite.name, name) for name in names]
        if strata or len(names) > 1:
            listed.append(score_of_suite(suite.name, names, strata=strata))
        if suite.weight:
            weighing.append(SuitePart(suite.name, names, suite.weight, strata))
    if len(weighing) > 1 and all(not suite.of_k and not suite.stop for suite in suites if suite.weight):
        listed.append(ComparedScore("overall", "", "", tuple(weighing)))
    return listed


def metrics_to_compare(values: pl.DataFrame, suites: Sequence[Suite] = ()) -> list[ComparedScore]:
    """List every metric of every suite in a table of questions' values; for a suite with strata, its TOTAL."""
    totals = {(suite.name, name) for suite in suites if suite.strata for name in suite.scored_by}
    present = values.select("suite", "metric").unique().sort("suite", "metric").rows()
    return [score_of_metric(suite, metric, strata=(suite, metric) in totals) for suite, metric in present]


def sharing_nothing(prompted: Mapping[str, tuple[str, str]]) -> frozenset[frozenset[str]]:
    """Return the pairs of names that share neither model nor prompt; `prompted` maps names to both."""
    return frozenset(
        frozenset((a, b))
        for a, b in combinations(prompted, _PAIR)
        if prompted[a][0] != prompted[b][0] and prompted[a][1] != prompted[b][1]
    )


@dataclass(frozen=True, slots=True)
class DraftedComparison:
    """A comparison before its test and correction: its sample, and the items that both sides have scored."""

    comparison: Comparison
    sample: PairedSample
    item_ids: pl.Series


def nothing_common(line: ComparedScore, model_a: str, model_b: str) -> DraftedComparison:
    """Return the comparison of two models without a common question."""
    blank = Comparison(
        line.suite, line.metric, line.scope, model_a, model_b, 0, 0, None, None, None, 0, 0, yes_no=False
    )
    return DraftedComparison(blank, PairedSample(), pl.Series("item_id", [], pl.String()))


def compare(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    suites: Sequence[Suite] = (),
    *,
    order: Sequence[str] = (),
    crossed: Collection[frozenset[str]] = (),
) -> tuple[Comparison, ...]:
    """Compare all pairs of models of a scores table, except those in `crossed`, by all `scores_to_compare`.

    A suite with interim looks (`stop`) has its sequences instead of fixed-sample tests.

    A row of `scores` is a metric's value for an item, a model and a repeat, a row of `items` an item. `suites`
    define the scores; without them each metric is compared by itself. Each difference is the model later in `order`
    minus the earlier one (without `order`: alphabetically first minus second). To compare runs of one model, give
    the model a different name in each.

    Raises:
        InputError: a row whose item is not in `items`.
    """
    values = question_values(scores, items)
    lines = scores_to_compare(suites, values["metric"].unique().to_list()) if suites else metrics_to_compare(values)
    followed = {suite.name for suite in suites if suite.stop}
    lines = [line for line in lines if line.suite not in followed]
    return tuple(concluded(drafted(values, lines, pairs_in(values, order, crossed))))


def pairs_in(
    values: pl.DataFrame, order: Sequence[str] = (), crossed: Collection[frozenset[str]] = ()
) -> list[tuple[str, str]]:
    """List the pairs of models of a table, the later in `order` first (without it, alphabetically)."""
    models = values["model"].unique().sort().to_list()
    listed = list(combinations(models, _PAIR))
    if order:
        listed = [
            (later, earlier) for earlier, later in combinations([name for name in order if name in models], _PAIR)
        ]
    return [pair for pair in listed if frozenset(pair) not in crossed]


def drafted(
    values: pl.DataFrame, lines: Sequence[ComparedScore], pairs: Sequence[tuple[str, str]]
) -> list[DraftedComparison]:
    """Pair models on headlines, uncorrected; `concluded` tests all that was compared together.

    `values` are those of `question_values`; of each pair the second is subtracted from the first. A model without
    an answer in one of a headline's suites has no comparison on it.
    """
    drafts = []
    for line in lines:
        rows = pl.concat(_part_values(values, part) for part in line.parts)
        suites_answered = rows.group_by("model").agg(pl.col("suite").n_unique())
        whole = suites_answered.filter(suite=len(line.parts))["model"]
        sides = {name: rows.filter(model=name) for name in whole}
        drafts += [_draft(sides[a], sides[b], a, b, line) for a, b in pairs if a in sides and b in sides]
    return drafts


def _part_values(values: pl.DataFrame, part: SuitePart) -> pl.DataFrame:
    own = values.filter(pl.col("suite") == part.suite, pl.col("metric").is_in(part.metrics))
    family = pl.col("family") if part.strata else pl.lit("")
    return composites(own).with_columns(family=family, weight=pl.lit(part.weight))


def _draft(a: pl.DataFrame, b: pl.DataFrame, model_a: str, model_b: str, line: ComparedScore) -> DraftedComparison:
    both = a.join(b, on=_QUESTION, suffix="_before", maintain_order="left")
    rows = both.drop_nulls(["value", "value_before"])
    if rows["suite"].n_unique() < len(line.parts):
        rows = rows.clear()
    sample = PairedSample()
    n_cut, n_lost = (int((both[name] + both[f"{name}_before"]).sum()) for name in ("n_cut", "n_lost"))
    if rows.height:
        seen = _sample(rows, "value", "value_before")
        sample = PairedSample(seen, *_bounds(both)) if n_cut or n_lost else PairedSample(seen, seen, seen)
    seen = sample.seen
    mean_a, mean_b = seen.means if seen and seen.means else (None, None)
    comparison = Comparison(
        suite=line.suite,
        metric=line.metric,
        scope=line.scope,
        model_a=model_a,
        model_b=model_b,
        n=rows.height,
        n_left_out=both.height - both.drop_nulls(["value", "value_before"]).height,
        mean_a=mean_a,
        mean_b=mean_b,
        difference=seen.mean if seen else None,
        only_a=seen.won if seen else 0,
        only_b=seen.lost if seen else 0,
        yes_no=bool(seen and seen.yes_no),
        missing=MissingPairs(n_cut, n_lost, both.select(ALIKE.sum()).item()),
    )
    return DraftedComparison(comparison, sample, rows["item_id"])


def _bounds(both: pl.DataFrame) -> tuple[Differences, Differences]:
    """Compute a's worst and best differences over all questions that both were asked."""
    known = equated(both)
    return _sample(known, "lower", "upper_before"), _sample(known, "upper", "lower_before")


def _sample(rows: pl.DataFrame, a: str, b: str) -> Differences:
    after, before = (rows[name].to_numpy().astype(np.float64) for name in (a, b))
    return paired(after, before, weights=_weights(rows), clusters=rows["cluster"].to_numpy())


def _weights(rows: pl.DataFrame) -> Floats:
    """Return each question's weight: the suite's, divided equally among its strata, in these by the shares."""
    strata, share = pl.col("family").n_unique().over("suite"), pl.col("share")
    each = pl.col("weight") / strata * share / share.sum().over("suite", "family")
    weights = rows.select(each).to_series().to_numpy().astype(np.float64)
    normalised: Floats = weights / weights.sum()
    return normalised


def concluded(drafts: Sequence[DraftedComparison]) -> list[Comparison]:
    """Test drafts together: each separately, then Holm over all p-values and intervals."""
    smallest = ALPHA / _PAIR / max(sum(draft.sample.seen is not None for draft in drafts), 1)

    samples = [draft.sample for draft in drafts]
    tests = [method_of(sample.seen, level=smallest) if sample.seen else None for sample in samples]

    def steps(end: Literal["worst", "best"]) -> list[HolmStep]:
        p_values = []
        for sample, test in zip(samples, tests, strict=True):
            bound: Differences | None = getattr(sample, end)
            own = test if bound is sample.seen or bound is None else method_of(bound, level=smallest)
            p_values.append(two_sided(own) if own else None)
        return holm(p_values)

    seen = holm([two_sided(test) if test else None for test in tests])
    return [*map(_concluded, drafts, tests, seen, steps("worst"), steps("best"))]


def _concluded(
    draft: DraftedComparison, test: MarginTest | None, step: HolmStep, low: HolmStep, high: HolmStep
) -> Comparison:
    """Conclude from a test at the level of its step; `low` and `high` are those at both bounds."""
    comparison, (seen, worst, best) = draft.comparison, draft.sample
    if test is None or step.level is None or not (seen and worst and best):
        return comparison
    right = max(comparison.mean_a or 0.0, comparison.mean_b or 0.0)
    decided = PairedTest(
        method=test.name,
        p_value=step.p,
        p_adjusted=step.adjusted,
        interval=test.limits((step.level / 2, step.level / 2)),
        level=step.level,
        detectable=detectable(seen, max(right, 1 - right), level=step.level / 2),
        reachable=least_p(seen) < step.level / 2,
    )
    missing = comparison.missing
    if worst is not seen:
        ways = {_direction(sample.mean, one.adjusted) for sample, one in ((seen, step), (worst, low), (best, high))}
        missing = replace(missing, low=worst.mean, high=best.mean, p_low=low.p, p_high=high.p, hangs=len(ways) > 1)
    return replace(comparison, test=decided, missing=missing)


def _direction(difference: float, p_adjusted: float | None) -> int:
    """Return which model a comparison favours: 1 the first, -1 the second, 0 neither."""
    if p_adjusted is None or p_adjusted >= ALPHA:
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
