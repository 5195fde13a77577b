"""What a run found: every number that its verdict and its reports rest on, made once from its tables."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
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
from metrics.analysis.scores import Circumstances, ModelScore, model_scores, right_answers, totals_of
from metrics.analysis.spending import Spending
from metrics.analysis.stopping import ConfidenceSequence
from metrics.analysis.summary import SummaryRow, Total, cells
from metrics.analysis.twins import RenewedScores, TwinResult, twin_results
from metrics.analysis.values import RepeatedQuestions, few_templates
from metrics.stats.agreement import JudgeAgreement, Repeats, judge_agreement, judge_ratings, repeats


@dataclass(frozen=True, slots=True)
class Results:
    """What a run found.

    `run` says which run it was (id, time, configuration, versions, its suites' questions), `models` what each model
    came to, suite by suite, `waiting` how many requests of a suite wait in batches; `spending` what its calls came
    to. `totals` has a TOTAL for each model, `judges` the agreement of judges for each metric, `corrected` judged
    means, and what they would be if judges err here as on their exam's texts, `judge_statuses` which count in
    which steps, `self_judged`, by suite and judge, the models under test that are the judge's own; `passports` what
    an exam showed of judges that took it in this run; `explainability` the results of SPEC 5; `baseline` what the
    run's outcome against a baseline; `doubled` the suites in whose data questions repeat, `few_templates`
    those whose intervals hold over their few templates only. `twins` is what renewed items show, `twin_counts` how
    many originals have a twin of each kind, and why the others have none.
    """

    run: Mapping[str, Any]
    models: tuple[ModelScore, ...]
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


@dataclass(frozen=True, slots=True)
class RunTables:
    """A run's tables: scores and items, each question once (`metrics.analysis.values`), and their summary.

    `doubled` are the suites in whose data questions repeat.
    """

    scores: pl.DataFrame
    items: pl.DataFrame
    summary: pl.DataFrame
    doubled: tuple[RepeatedQuestions, ...] = ()


def build(
    tables: RunTables,
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
    """Compute what a run found from its tables; nothing is decided here.

    `own_models` are the targets that are a judge's own model,
    `terms` say how the explainability result is made where both its suites ran.

    Raises:
        InputError: no model, a model without a suite, or only with suites of weight 0.
    """
    scores, items, suites = tables.scores, tables.items, known.suites
    lone = build_interim(tables, known, twins)
    leading = scores.filter(pl.col("metric").is_in({name for suite in suites for name in suite.scored_by}))
    pairs = compare(leading, items, suites, order=[*known.members], crossed=known.crossed)
    ratings = judge_ratings(scores)
    return Results(
        run={**run, "items": question_sets(items)},
        models=lone.models,
        waiting=known.waiting,
        spending=spending,
        totals=totals_of(suites, tables.summary),
        cells=cells(tables.summary),
        comparisons=pairs,
        races=[one for one in known.stopping if one.against],
        groups=groups(pairs),
        repeats=[*_repeats(leading, items, suites)],
        judges={str(metric): judge_agreement(own) for (metric,), own in ratings.group_by("metric")},
        explainability=explained(lone.models, terms) if terms else (),
        stated=tuple(stated_scores(scores, items, {suite.name: suite.scored_by for suite in suites})),
        corrected=known.corrected,
        baseline=baseline,
        doubled=tables.doubled,
        few_templates=few_templates(items),
        judge_statuses=known.judge_statuses,
        self_judged=_self_judged(known.judge_statuses, own_models or {}),
        passports=passports,
        twins=lone.twins,
        twin_counts=twins.counts if twins else (),
    )


def build_interim(tables: RunTables, known: Circumstances, twins: RenewedScores | None = None) -> Results:
    """Compute no more than a verdict needs."""
    renewed = twin_results(tables.scores, tables.items, twins.scores, known.suites) if twins else ()
    models = model_scores(
        tables.summary,
        known,
        repeated=repeated(tables.scores, tables.items, known.suites, tables.summary),
        right=right_answers(tables.scores, tables.items, known.suites),
        failures=failures(tables.scores, tables.items, known.suites),
        intervals=suite_intervals(tables.scores, tables.items, known.members),
    )
    return Results({}, models, known.waiting, judge_statuses=known.judge_statuses, twins=renewed)


def _self_judged(
    found: Sequence[JudgeStatus], own: Mapping[str, Collection[str]]
) -> dict[str, dict[str, Sequence[str]]]:
    told: dict[str, dict[str, Sequence[str]]] = {}
    for one in found:
        if own.get(one.judge):
            told.setdefault(one.suite, {})[one.judge] = sorted(own[one.judge])
    return told


def _repeats(leading: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> Iterator[Repeats]:
    """Yield what k answers to each question tell, of the suites that were asked several times."""
    for suite in suites:
        if (n := suite.repeats or 1) > 1:
            own = leading.join(items.filter(suite=suite.name), on="item_id", how="semi")
            yield from repeats(own, k=suite.k or n, suite=suite.name)


_WRITTEN: Mapping[type, Callable[[Any], Any]] = {
    Comparison: Comparison.as_dict,
    Passport: Passport.as_dict,
    ExplainabilityResult: lambda one: dict(one.published),
}
"""How what has more than its fields, or another form, is written."""


def written(results: Results) -> dict[str, Any]:
    """Return the results as JSON, without the models' scores, which stand in the verdict."""
    names = [one.name for one in fields(Results) if one.name not in {"models", "spending", "waiting"}]
    found: dict[str, Any] = {name: _plain(getattr(results, name)) for name in names}
    if results.spending:
        found["run"]["spending"] = asdict(results.spending)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    write = _WRITTEN.get(type(value))
    return write(value) if write else asdict(value) if hasattr(value, "__dataclass_fields__") else value
