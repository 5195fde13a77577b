"""A run's results: every number behind its verdict and reports, computed once from its tables."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

import polars as pl

from basic_control.data.batches import TwinCount
from basic_control.data.deciding import has_one_headline, headlines, weight_of
from basic_control.data.errors import InputError
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.cascades import CascadeFinding
from basic_control.metrics.analysis.explainability import ExplainabilityResult
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.judged import CorrectedMean, JudgeStatus
from basic_control.metrics.analysis.matching import question_sets
from basic_control.metrics.analysis.observations import (
    Observations,
    RepeatedQuestions,
    list_few_templates,
    place_items,
)
from basic_control.metrics.analysis.other_tools import StatedScore, compare_stated
from basic_control.metrics.analysis.overlaps import Overlap, list_overlaps
from basic_control.metrics.analysis.pairs import Comparison, Grouping, compare, groups
from basic_control.metrics.analysis.passports import Passport
from basic_control.metrics.analysis.scores import Circumstances, score_model, totals_of
from basic_control.metrics.analysis.slices import Slice, slice_suites
from basic_control.metrics.analysis.spending import Spending
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import SummaryRow, Total, cells
from basic_control.metrics.analysis.twins import TwinResult
from basic_control.metrics.stats.agreement import JudgeAgreement, Repeats, judge_agreement, judge_ratings, repeats


@dataclass(frozen=True, slots=True)
class ModelComparisons:
    """How a run's models compare: every two of them, groups that cannot be told apart, and followed differences.

    `slices` compare each model with itself: its score by the values of a column.
    """

    pairs: Sequence[Comparison] = ()
    groups: Sequence[Grouping] = ()
    races: Sequence[ConfidenceSequence] = ()
    slices: Sequence[Slice] = ()


@dataclass(frozen=True, slots=True)
class JudgeFindings:
    """What is known of a run's judges.

    `agreement` is theirs on each metric; `statuses` say which count at which steps; `passports` are the exam
    results of judges examined in this run. `corrected` are judged means and their values if judges err as on their
    exam's texts. `self_judged` are, by suite and judge, the models under test that are the judge's own.
    `cascades` say what each cascade did.
    """

    agreement: Mapping[str, JudgeAgreement] = field(default_factory=dict)
    statuses: Sequence[JudgeStatus] = ()
    passports: Sequence[Passport] = ()
    corrected: Sequence[CorrectedMean] = ()
    self_judged: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    cascades: Sequence[CascadeFinding] = ()


@dataclass(frozen=True, slots=True)
class TwinFindings:
    """Results on renewed items, and how many originals have a twin of each kind, and why the others have none."""

    results: Sequence[TwinResult] = ()
    counts: Sequence[TwinCount] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """A run's results.

    `run` identifies the run (id, time, configuration, versions, its suites' questions), `models` holds each model's
    scores by suite, `waiting` the number of a suite's requests waiting in batches; `spending` the cost of its
    calls. `totals` has a TOTAL for each model, `repeats` the statistics of repeated answers, `stated` another
    tool's scores beside ours; `explainability` the results of SPEC 5; `baseline` the outcome against a baseline;
    `doubled` the suites whose data repeat questions, `few_templates` those whose intervals hold for their few
    templates only.
    """

    run: Mapping[str, Any]
    models: tuple[ModelResult, ...]
    waiting: Mapping[str, int] = field(default_factory=dict)
    spending: Spending | None = None
    totals: Mapping[str, Total] = field(default_factory=dict)
    cells: Sequence[SummaryRow] = ()
    repeats: Sequence[Repeats] = ()
    stated: Sequence[StatedScore] = ()
    explainability: Sequence[ExplainabilityResult] = ()
    baseline: BaselineComparison | None = None
    doubled: Sequence[RepeatedQuestions] = ()
    few_templates: Sequence[str] = ()
    compared: ModelComparisons = field(default_factory=ModelComparisons)
    judged: JudgeFindings = field(default_factory=JudgeFindings)
    twins: TwinFindings = field(default_factory=TwinFindings)


@dataclass(frozen=True, slots=True)
class SuiteFindings:
    """What a suite shows at its end, before any threshold: its models' headlines, without weights."""

    headlines: tuple[Headline, ...]
    circumstances: Circumstances


@dataclass(frozen=True, slots=True)
class Participants:
    """What is compared in a run: its suites, each with its `repeats` and `k`, and each model's suites by name.

    Pairs of models in `crossed` are not compared, since they share neither model nor prompt.
    """

    suites: Sequence[Suite]
    members: Mapping[str, Sequence[str]]
    crossed: Collection[frozenset[str]] = ()


def model_results(
    findings: Sequence[SuiteFindings],
    participants: Participants,
    overlaps: Mapping[str, Sequence[Overlap]] | None = None,
) -> tuple[ModelResult, ...]:
    """Join the suites' headlines by model; `overlaps` are each model's suites that ask the same questions.

    Raises:
        InputError: no model, or a model without a suite.
    """
    members = participants.members
    if not members or not all(members.values()):
        raise InputError("final score: expected at least one model and one suite; enable one in the configuration.")
    joined = [suite for suite in participants.suites if has_one_headline(suite)]
    weights = {(suite.name, headlines(suite)[0].headline): weight_of(suite) for suite in joined}
    by_suite: dict[tuple[str, str], list[Headline]] = {}
    missing: dict[str, str] = {}
    for finding in findings:
        missing.update(finding.circumstances.missing)
        for headline in finding.headlines:
            by_suite.setdefault((headline.model, headline.suite), []).append(headline)
    results = []
    for model, suites in members.items():
        # In the order of the configuration, whatever suite was done first.
        in_order = [*chain.from_iterable(by_suite[model, suite] for suite in suites)]
        overlapping = (overlaps or {}).get(model, ())
        results.append(score_model(model, weights, in_order, missing.get(model, ""), overlapping))
    return tuple(results)


def build_results(
    findings: Sequence[SuiteFindings],
    participants: Participants,
    once: Observations,
    summary: pl.DataFrame,
    *,
    run: Mapping[str, Any],
    own_models: Mapping[str, Collection[str]] | None = None,
) -> Results:
    """Compute a run's results from what its suites showed, and from the tables of all of them, without any verdict.

    `summary` is that of the scores; `own_models` are the targets that are a judge's own model.

    Raises:
        InputError: no model, or a model without a suite.
    """
    scores, items, suites = once.scores, once.items, participants.suites
    # What only stands beside the scores is compared by nobody.
    names = set(chain.from_iterable(map(_list_leading, suites)))
    leading = scores.filter(pl.col("metric").is_in(names))
    pairs = compare(leading, items, suites, order=[*participants.members], crossed=participants.crossed)
    waiting: dict[str, int] = {}
    statuses: list[JudgeStatus] = []
    corrected: list[CorrectedMean] = []
    sequences: list[ConfidenceSequence] = []
    for facts in (finding.circumstances for finding in findings):
        waiting.update(facts.waiting)
        statuses += facts.judge_statuses
        corrected += facts.corrected
        sequences += filter(attrgetter("against"), facts.stopping)
    # Suites may be done in any order; those who read go by name.
    statuses.sort(key=attrgetter("suite"))
    ratings = judge_ratings(scores).group_by("metric", maintain_order=True)
    return Results(
        run={**run, "items": question_sets(items)},
        models=model_results(findings, participants, list_overlaps(once, suites)),
        waiting=waiting,
        totals=totals_of(suites, summary),
        cells=cells(summary),
        repeats=[*_repeats(leading, items, suites)],
        stated=tuple(compare_stated(scores, items, {suite.name: suite.score_metrics for suite in suites})),
        doubled=once.doubled,
        few_templates=list_few_templates(items),
        compared=ModelComparisons(
            pairs,
            groups(pairs),
            sequences,
            slice_suites(suites, scores, items),
        ),
        judged=JudgeFindings(
            agreement={str(metric): judge_agreement(rows) for (metric,), rows in ratings},
            statuses=statuses,
            corrected=corrected,
            self_judged=_self_judged(statuses, own_models or {}),
        ),
    )


def _list_leading(suite: Suite) -> set[str]:
    """Return the metrics whose values make the scores that decide a suite."""
    return set(chain.from_iterable(score.value_metrics for score in headlines(suite)))


def _self_judged(
    statuses: Sequence[JudgeStatus], own_models: Mapping[str, Collection[str]]
) -> dict[str, dict[str, Sequence[str]]]:
    by_suite: dict[str, dict[str, Sequence[str]]] = {}
    for status in statuses:
        if own_models.get(status.judge):
            by_suite.setdefault(status.suite, {})[status.judge] = sorted(own_models[status.judge])
    return by_suite


def _repeats(leading: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> Iterator[Repeats]:
    """Yield the statistics of k answers to each question, for suites with repeats."""
    for suite in suites:
        n = suite.repeats or 1
        if n > 1:
            drawn = items.filter(suite=suite.name)
            rows = leading.join(drawn, on="item_id", how="semi")
            templates: dict[str, int] = dict(place_items(drawn).select("item_id", "cluster").iter_rows())
            yield from repeats(rows, k=suite.k or n, suite=suite.name, templates=templates)
