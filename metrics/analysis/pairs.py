"""Paired comparison of two models on the same questions, by metric, suite, TOTAL and overall.

Interval, test and decision use one method (`metrics.stats.margins`), at the level that Holm's correction over all
headlines and pairs of a comparison leaves to each: the interval contains 0 exactly if the difference is not
significant. All comparisons of models, prompts, runs and baselines use this module.

Source: SPEC 9.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from basic_control.data.deciding import headlines, weight_of
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.observations import composites, join_clusters, question_values
from basic_control.metrics.stats.intervals import Floats, Interval
from basic_control.metrics.stats.margins import (
    Differences,
    MarginTest,
    PairedSample,
    Test,
    choose_tests,
    compute_least_p,
    pair_means,
    two_sided,
)
from basic_control.metrics.stats.missing import ALIKE, equate_alike
from basic_control.metrics.stats.power import ALPHA, HolmStep, find_detectable, holm

Scope = Literal["metric", "suite", "total", "overall"]
"""What is compared: a metric, the mean of a suite's metrics, a TOTAL over families, or the overall score."""

LEAST_COMMON = 0.95
"""Minimum share of the earlier side's questions in common, for these to stand for all of them."""
_PAIR = 2
_QUESTION = ("suite", "item_id")
_SIDES = ("", "_before")


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

    `n_before` questions have the earlier side's answer, of which `n_unasked` have none of the later side. `n_lost`
    answers failed, `n_cut` were truncated: `low` and `high` bound the difference, with their p-values. `hangs`: the
    conclusion is not the same at both bounds and between. `n_alike` questions are missing on both sides for the
    same cause and count as equal.
    """

    n_cut: int = 0
    n_lost: int = 0
    n_alike: int = 0
    n_before: int = 0
    n_unasked: int = 0
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

    @property
    def n_units(self) -> int:
        """The number of independent units among the questions; that of the questions where nothing was tested."""
        return self.test.interval.units or self.n

    @property
    def is_partial(self) -> bool:
        """Whether fewer than 95 % of the earlier side's questions are in common: they do not stand for all."""
        missing = self.missing
        return missing.n_before - missing.n_unasked < LEAST_COMMON * missing.n_before


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
    """A suite in what is compared: its metrics by their weights, its own, and whether families weigh equally."""

    suite: str
    metrics: Mapping[str, float]
    weight: float = 1.0
    strata: bool = False


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """What is compared: one suite's metrics, or several suites by their weights.

    `in_rounds`: a side was asked until decided, so its number of questions hangs on the replies.
    """

    scope: Scope
    suite: str
    metric: str
    parts: tuple[SuitePart, ...]
    in_rounds: bool = False


def score_of_metric(suite: str, metric: str, *, strata: bool = False) -> ComparedScore:
    """Return what is compared by a metric of a suite; with strata its TOTAL."""
    return score_of_suite(suite, {metric: 1.0}, strata=strata)


def score_of_suite(suite: str, metrics: Mapping[str, float], *, strata: bool = False) -> ComparedScore:
    """Return what is compared by a suite's metrics (at least one): of several their mean, by their weights."""
    whole = SuitePart(suite, metrics, strata=strata)
    first = next(iter(metrics))
    if strata:
        return ComparedScore("total", suite, first, (whole,))
    if len(metrics) == 1:
        return ComparedScore("metric", suite, first, (whole,))
    return ComparedScore("suite", suite, "", (whole,))


def scores_to_compare(suites: Sequence[Suite], metrics: Collection[str]) -> list[ComparedScore]:
    """List what models are compared on: each headline, each metric of a mean, and the overall score.

    `metrics` are those in the scores. A headline with one metric is represented by that metric; with strata by its
    TOTAL. There is an overall score if at least two suites have weight and all of these are means over all
    questions.
    """
    scores: list[ComparedScore] = []
    weighing: list[SuitePart] = []
    for suite in suites:
        strata = bool(suite.strata)
        for headline in headlines(suite):
            shares = {name: share for name, share in headline.shares.items() if name in metrics}
            if not shares:
                continue
            if not strata:
                scores += [score_of_metric(suite.name, name) for name in shares]
            if strata or len(shares) > 1:
                scores.append(score_of_suite(suite.name, shares, strata=strata))
            weight = weight_of(suite)
            if weight:
                weighing.append(SuitePart(suite.name, shares, weight, strata))
    joined = {part.suite for part in weighing}
    if len(weighing) > 1 and not any(suite.of_k or suite.stop for suite in suites if suite.name in joined):
        scores.append(ComparedScore("overall", "", "", tuple(weighing)))
    # A metric of a mean may be a headline as well.
    return [*{(score.scope, score.suite, score.metric): score for score in scores}.values()]


def metrics_to_compare(values: pl.DataFrame, suites: Sequence[Suite] = ()) -> list[ComparedScore]:
    """List every metric of every suite in a table of questions' values; for a suite with strata, its TOTAL."""
    totals = {(suite.name, name) for suite in suites if suite.strata for name in suite.value_metrics}
    present = values.select("suite", "metric").unique().sort("suite", "metric").rows()
    return [score_of_metric(suite, metric, strata=(suite, metric) in totals) for suite, metric in present]


def find_crossed(prompted: Mapping[str, tuple[str, str]]) -> frozenset[frozenset[str]]:
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


def draft_nothing(line: ComparedScore, model_a: str, model_b: str) -> DraftedComparison:
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
    lines = metrics_to_compare(values)
    if suites:
        lines = scores_to_compare(suites, values["metric"].unique().to_list())
    followed = {suite.name for suite in suites if suite.stop}
    lines = [line for line in lines if line.suite not in followed]
    return tuple(conclude(draft_comparisons(values, lines, pairs_in(values, order, crossed))))


def pairs_in(
    values: pl.DataFrame, order: Sequence[str] = (), crossed: Collection[frozenset[str]] = ()
) -> list[tuple[str, str]]:
    """List the pairs of models of a table, the later in `order` first (without it, alphabetically)."""
    models = values["model"].unique().sort().to_list()
    pairs = list(combinations(models, _PAIR))
    if order:
        ordered = [model for model in order if model in models]
        pairs = [(later, earlier) for earlier, later in combinations(ordered, _PAIR)]
    return [pair for pair in pairs if frozenset(pair) not in crossed]


def draft_comparisons(
    values: pl.DataFrame, lines: Sequence[ComparedScore], pairs: Sequence[tuple[str, str]]
) -> list[DraftedComparison]:
    """Pair models on headlines, uncorrected; `conclude` tests all that was compared together.

    `values` are those of `question_values`; of each pair the second is subtracted from the first. A model without
    an answer in one of a headline's suites has no comparison on it.
    """
    drafts = []
    for line in lines:
        rows = pl.concat(
            values.filter(pl.col("metric").is_in([*part.metrics]), suite=part.suite) for part in line.parts
        )
        suites_answered = rows.group_by("model").agg(pl.col("suite").n_unique())
        whole = suites_answered.filter(suite=len(line.parts))["model"]
        sides = {name: rows.filter(model=name) for name in whole}
        drafts += [_draft(sides[a], sides[b], a, b, line) for a, b in pairs if a in sides and b in sides]
    return drafts


def _join_metrics(pairs: pl.DataFrame, line: ComparedScore) -> pl.DataFrame:
    """Return a row for each question of a pair of models: the values by the metrics that both sides have of it."""
    questions = []
    for part in line.parts:
        rows = composites(pairs.filter(suite=part.suite), part.metrics, sides=_SIDES)
        family = pl.col("family") if part.strata else pl.lit("")
        questions.append(rows.with_columns(family=family, weight=pl.lit(part.weight)))
    return pl.concat(questions)


def _draft(a: pl.DataFrame, b: pl.DataFrame, model_a: str, model_b: str, line: ComparedScore) -> DraftedComparison:
    """Pair two models' questions; `a` and `b` have a row for each question and metric."""
    pairs = a.join(b, on=(*_QUESTION, "metric"), suffix=_SIDES[1], maintain_order="left")
    questions = _join_metrics(pairs, line)
    scored = questions.drop_nulls(["value", "value_before"])
    if scored.height < questions.height:
        # Metrics weigh by the questions that are compared.
        scored = _join_metrics(pairs.join(scored, on=_QUESTION, how="semi"), line)
    n_left_out = questions["question"].n_unique() - scored["question"].n_unique()
    if scored["suite"].n_unique() < len(line.parts):
        scored = scored.clear()  # a mean over suites needs each of them
    before = b["question"].n_unique()
    n_unasked = b.join(a, on=_QUESTION, how="anti")["question"].n_unique()
    n_cut, n_lost = (int((questions[name] + questions[f"{name}_before"]).sum()) for name in ("n_cut", "n_lost"))
    missing = MissingPairs(n_cut, n_lost, questions.select(ALIKE.sum()).item(), before, n_unasked)
    draft = draft_nothing(line, model_a, model_b)
    if scored.is_empty():
        comparison = replace(draft.comparison, n_left_out=n_left_out, missing=missing)
        return replace(draft, comparison=comparison)
    difference = _sample(scored, "value", "value_before", line)
    mean_a, mean_b = difference.means or (None, None)
    comparison = replace(
        draft.comparison,
        n=difference.n,
        n_left_out=n_left_out,
        mean_a=mean_a,
        mean_b=mean_b,
        difference=difference.mean,
        only_a=difference.won,
        only_b=difference.lost,
        yes_no=difference.yes_no,
        missing=missing,
    )
    ends = (difference, difference)
    if n_cut or n_lost:  # a's worst and best over all questions that both were asked
        rows = equate_alike(questions)
        worst, best = _sample(rows, "lower", "upper_before", line), _sample(rows, "upper", "lower_before", line)
        ends = (worst, best)
    # A TOTAL in rounds has rounds for units, which two runs need not have in common.
    sample = PairedSample(difference, *ends)
    if line.in_rounds and line.scope == "total":
        sample = PairedSample()
    return DraftedComparison(comparison, sample, scored["item_id"])


def _sample(rows: pl.DataFrame, a: str, b: str, line: ComparedScore) -> Differences:
    questions = rows.select("question", "cluster", a, b, weight=pl.Series(_weights(rows)))
    # A question that several suites ask is one, by the weights that it has in them.
    if len(line.parts) > 1:
        questions = _join_suites(questions, (a, b))
    after, before, weights = (questions[name].to_numpy().astype(np.float64) for name in (a, b, "weight"))
    sample = pair_means(after, before, weights=weights, clusters=questions["cluster"].to_numpy())
    return replace(sample, in_rounds=line.in_rounds)


def _join_suites(rows: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """Return a row for each distinct question: its mean over the suites that ask it, by weight, and its weight."""
    weight = pl.col("weight")
    means = ((pl.col(name) * weight).sum() / weight.sum() for name in values)
    joined = rows.group_by("question", maintain_order=True).agg(*means, weight.sum())
    return joined.join(join_clusters(rows), on="question", maintain_order="left")


def _weights(rows: pl.DataFrame) -> Floats:
    """Return each question's weight: the suite's, divided equally among its strata, in these by the shares."""
    strata, share = pl.col("family").n_unique().over("suite"), pl.col("share")
    weight = pl.col("weight") / strata * share / share.sum().over("suite", "family")
    weights = rows.select(weight).to_series().to_numpy().astype(np.float64)
    normalised: Floats = weights / weights.sum()
    return normalised


def conclude(drafts: Sequence[DraftedComparison]) -> list[Comparison]:
    """Test drafts together: each separately, then Holm over all p-values and intervals."""
    tested = choose_tests([draft.sample for draft in drafts], level=ALPHA / 2)
    # What is missing may change the order of the p-values, so each end has a correction of its own.
    steps = [holm([*map(_p_value, tests)]) for tests in tested.values()]
    return [*map(_conclude, drafts, tested["observed"], *steps)]


def _p_value(test: MarginTest | None) -> float | None:
    return two_sided(test) if test else None


def _conclude(
    draft: DraftedComparison, test: MarginTest | None, step: HolmStep, low: HolmStep, high: HolmStep
) -> Comparison:
    """Conclude from a test at the level of its step; `low` and `high` are those at both bounds."""
    comparison, (observed, worst, best) = draft.comparison, draft.sample
    if test is None or step.level is None or not (observed and worst and best):
        return comparison
    # A difference can turn what is right on the better side, or what is wrong.
    right = max(comparison.mean_a or 0.0, comparison.mean_b or 0.0)
    conclusion = PairedTest(
        method=test.name,
        p_value=step.p,
        p_adjusted=step.adjusted,
        interval=test.limits((step.level / 2, step.level / 2)),
        level=step.level,
        detectable=find_detectable(observed, max(right, 1 - right), level=step.level / 2),
        reachable=compute_least_p(observed) < step.level / 2,
    )
    missing = comparison.missing
    if worst is not observed:
        missing = replace(missing, low=worst.mean, high=best.mean, p_low=low.p, p_high=high.p)
    # What other lines are missing may change the level of this one.
    directions = {
        _direction(end.mean, at_end.adjusted)
        for end, at_end in zip(draft.sample, (step, low, high), strict=True)
        if end
    }
    missing = replace(missing, hangs=len(directions) > 1)
    return replace(comparison, test=conclusion, missing=missing)


def _direction(difference: float, p_adjusted: float | None) -> int:
    """Return which model a comparison favours: 1 the first, -1 the second, 0 neither."""
    if p_adjusted is None or p_adjusted >= ALPHA:
        return 0
    if difference > 0:
        return 1
    return -1


def groups(comparisons: Sequence[Comparison]) -> tuple[Grouping, ...]:
    """Group models without significant differences, for each headline on which all pairs were compared.

    There are no groups without a pair.
    """
    groupings = []
    by_headline: dict[tuple[str, str], list[Comparison]] = {}
    for pair in comparisons:
        by_headline.setdefault((pair.suite, pair.metric), []).append(pair)
    for (suite, metric), pairs in by_headline.items():
        rank = _ranks(pairs)
        # Where some pairs were not compared, nothing says who belongs together.
        if {frozenset((pair.model_a, pair.model_b)) for pair in pairs} < {
            *map(frozenset, combinations(rank, _PAIR))
        }:
            continue
        near: dict[str, set[str]] = {model: set() for model in rank}
        for pair in pairs:
            if not pair.significant:
                near[pair.model_a].add(pair.model_b)
                near[pair.model_b].add(pair.model_a)
        by_rank = partial(sorted, key=rank.__getitem__)
        cliques = [*map(by_rank, _cliques(set(), set(near), set(), near))]
        cliques.sort(key=lambda clique: [*map(rank.__getitem__, clique)])
        groupings.append(Grouping(suite, metric, tuple(map(tuple, cliques)), pairs[0].scope))
    return tuple(groupings)


def _ranks(pairs: Sequence[Comparison]) -> dict[str, tuple[float, str]]:
    """Order models by mean, best first; ties by name."""
    means: dict[str, list[float]] = {}
    for pair in pairs:
        for model, mean in ((pair.model_a, pair.mean_a), (pair.model_b, pair.mean_b)):
            known_means = means.setdefault(model, [])
            if mean is not None:
                known_means.append(mean)
    ranks = {}
    for model, known_means in means.items():
        # One without a mean comes after all that have one.
        first = -math.fsum(known_means) / len(known_means) if known_means else 2.0
        ranks[model] = (first, model)
    return ranks


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
