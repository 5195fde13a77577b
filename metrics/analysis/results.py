"""A run's results: every number behind its verdict and reports, computed once from its tables."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from data.batches import TwinCount
from data.suites import Suite
from metrics.analysis.baseline import BaselineComparison
from metrics.analysis.explainability import ExplainabilityResult, Terms, explained
from metrics.analysis.failures import failures
from metrics.analysis.judged import CorrectedMean, JudgeStatus
from metrics.analysis.matching import question_sets
from metrics.analysis.means import repeated, suite_intervals
from metrics.analysis.other_tools import StatedScore, stated_scores
from metrics.analysis.pairs import Comparison, Grouping, compare, groups
from metrics.analysis.passports import Passport
from metrics.analysis.scores import Circumstances, ModelResult, count_answers, model_scores, totals_of
from metrics.analysis.spending import Spending
from metrics.analysis.stopping import ConfidenceSequence
from metrics.analysis.summary import SummaryRow, Total, cells
from metrics.analysis.twins import RenewedScores, TwinResult, twin_results
from metrics.analysis.values import Observations, RepeatedQuestions, few_templates
from metrics.stats.agreement import JudgeAgreement, Repeats, judge_agreement, judge_ratings, repeats


@dataclass(frozen=True, slots=True)
class Results:
    """A run's results.

    `run` identifies the run (id, time, configuration, versions, its suites' questions), `models` holds each model's
    scores by suite, `waiting` the number of a suite's requests waiting in batches; `spending` the cost of its
    calls. `totals` has a TOTAL for each model, `judges` the agreement of judges for each metric, `corrected` judged
    means and their values if judges err as on their exam's texts, `judge_statuses` which judges count at which
    steps, `self_judged`, by suite and judge, the models under test that are the judge's own; `passports` the exam
    results of judges examined in this run; `explainability` the results of SPEC 5; `baseline` the outcome against a
    baseline; `doubled` the suites whose data repeat questions, `few_templates` those whose intervals hold for their
    few templates only. `twins` holds the results on renewed items, `twin_counts` how many originals have a twin of
    each kind, and why the others have none.
    """

    run: Mapping[str, Any]
    models: tuple[ModelResult, ...]
    waiting: Mapping[str, int] = field(default_factory=dict)
    spending: Spending | None = None
    totals: Mapping[str, Total] = field(default_factory=dict)
    cells: Sequence[SummaryRow] = ()
    comparisons: Sequence[Comparison] = ()
    races: Sequence[ConfidenceSequence] = ()
    groups: Sequence[Grouping] = ()
    repeats: Sequence[Repeats] = ()
    judges: Mapping[str, JudgeAgreement] = field(default_factory=dict)
    explainability: Sequence[ExplainabilityResult] = ()
    stated: Sequence[StatedScore] = ()
    corrected: Sequence[CorrectedMean] = ()
    baseline: BaselineComparison | None = None
    doubled: Sequence[RepeatedQuestions] = ()
    few_templates: Sequence[str] = ()
    judge_statuses: Sequence[JudgeStatus] = ()
    self_judged: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    passports: Sequence[Passport] = ()
    twins: Sequence[TwinResult] = ()
    twin_counts: Sequence[TwinCount] = ()


def build(
    once: Observations,
    summary: pl.DataFrame,
    known: Circumstances,
    *,
    run: Mapping[str, Any],
    passports: Sequence[Passport] = (),
    own_models: Mapping[str, Collection[str]] | None = None,
    spending: Spending | None = None,
    baseline: BaselineComparison | None = None,
    terms: Terms | None = None,
    twins: RenewedScores | None = None,
) -> Results:
    """Compute a run's results from its tables, without any verdict; `summary` is that of the scores.

    `own_models` are the targets that are a judge's own model, `terms` configure the explainability result if both
    of its suites ran.

    Raises:
        InputError: no model, a model without a suite, or only with suites of weight 0.
    """
    scores, items, suites = once.scores, once.items, known.suites
    lone = build_interim(once, summary, known)
    leading = scores.filter(pl.col("metric").is_in({name for suite in suites for name in suite.scored_by}))
    pairs = compare(leading, items, suites, order=[*known.members], crossed=known.crossed)
    by_metric = judge_ratings(scores).group_by("metric", maintain_order=True)
    return replace(
        lone,
        run={**run, "items": question_sets(items)},
        spending=spending,
        totals=totals_of(suites, summary),
        cells=cells(summary),
        comparisons=pairs,
        races=[one for one in known.stopping if one.against],
        groups=groups(pairs),
        repeats=[*_repeats(leading, items, suites)],
        judges={str(metric): judge_agreement(own) for (metric,), own in by_metric},
        explainability=explained(lone.models, terms) if terms else (),
        stated=tuple(stated_scores(scores, items, {suite.name: suite.scored_by for suite in suites})),
        corrected=known.corrected,
        baseline=baseline,
        doubled=once.doubled,
        few_templates=few_templates(items),
        judge_statuses=known.judge_statuses,
        self_judged=_self_judged(known.judge_statuses, own_models or {}),
        passports=passports,
        twins=twin_results(scores, items, twins.scores, suites) if twins else (),
        twin_counts=twins.counts if twins else (),
    )


def build_interim(once: Observations, summary: pl.DataFrame, known: Circumstances) -> Results:
    """Compute only what a verdict needs."""
    scores, items, suites = once.scores, once.items, known.suites
    models = model_scores(
        summary,
        known,
        repeated=repeated(scores, items, suites, summary),
        answers=count_answers(scores, items, suites),
        failures=failures(scores, items, suites),
        intervals=suite_intervals(scores, items, known.members),
    )
    return Results({}, models, known.waiting)


def _self_judged(
    found: Sequence[JudgeStatus], own: Mapping[str, Collection[str]]
) -> dict[str, dict[str, Sequence[str]]]:
    told: dict[str, dict[str, Sequence[str]]] = {}
    for one in found:
        if own.get(one.judge):
            told.setdefault(one.suite, {})[one.judge] = sorted(own[one.judge])
    return told


def _repeats(leading: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> Iterator[Repeats]:
    """Yield the statistics of k answers to each question, for suites with repeats."""
    for suite in suites:
        if (n := suite.repeats or 1) > 1:
            own = leading.join(items.filter(suite=suite.name), on="item_id", how="semi")
            yield from repeats(own, k=suite.k or n, suite=suite.name)
