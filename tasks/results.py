"""Compute a run's results from what its suites showed, and from all of its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import polars as pl

from basic_control.config.settings import Judge
from basic_control.data.batches import Ref, Tables
from basic_control.data.deciding import columns
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.cascades import CascadeFinding, CascadeUse, find_cascades
from basic_control.metrics.analysis.explainability import EXPLAINED, Terms, explain_models
from basic_control.metrics.analysis.observations import Observations, observations
from basic_control.metrics.analysis.passports import passports
from basic_control.metrics.analysis.results import Participants, Results, SuiteFindings, TwinFindings, build_results
from basic_control.metrics.analysis.scores import THRESHOLD
from basic_control.metrics.analysis.twins import add_counts, twin_results
from basic_control.metrics.cascade import Decider
from basic_control.tasks.compare.baseline import compare_planned
from basic_control.tasks.findings import read_scored, replies_of, with_counts
from basic_control.tasks.judges.passports import PassportFinder, exam_results
from basic_control.tasks.plan import MetricPlan, Plan, list_crossed
from basic_control.tasks.runtime.spending import sum_spending
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage
from basic_control.tasks.store.tables import Store
from basic_control.tasks.twins.renew import select_originals


@stage(version=1, part="report", takes="aggregate", cached=False)
def results(
    plan: Plan,
    tables: Tables,
    summary: Ref,
    findings: Sequence[SuiteFindings],
    *,
    run: Mapping[str, Any],
    provenance: Mapping[str, Any],
) -> Results:
    """Compute a run's results from what its suites showed, and all tables; not cached, since spending differs.

    `run` is its name and start, `provenance` what decides its numbers.

    Raises:
        InputError: the baseline is not comparable.
    """
    store = open_store(plan.store)
    drawn, stored = read_scored(store, tables)
    once = observations(stored, drawn)
    computed = build_results(
        findings,
        Participants([with_counts(suite) for suite in plan.suites], plan.members, list_crossed(plan)),
        once,
        store.read(summary),
        run={**run, "identities": provenance["identities"]},
        own_models=plan.own_models,
    )
    day = date.fromisoformat(str(run["started"])[:10])
    texts = replies_of(store, tables) if plan.baseline.name else pl.DataFrame()
    # Of cot and citation, if both run.
    terms = terms_of(plan)
    return replace(
        computed,
        judged=replace(
            computed.judged,
            passports=passports(exam_results(stored, drawn)),
            cascades=_cascades(store, plan, provenance["judge_identities"], stored, drawn),
        ),
        # This run's spending, which is not part of the results: a repeated run finds everything in the cache.
        spending=sum_spending(store, plan, tables.queries, tables.judged, day),
        baseline=compare_planned(plan, provenance, stored, drawn, texts),
        explainability=explain_models(computed.models, terms) if terms else (),
        twins=_twins(store, tables, plan, once),
    )


def _cascades(
    store: Store,
    plan: Plan,
    identities: Mapping[str, Mapping[str, str]],
    scores: pl.DataFrame,
    items: pl.DataFrame,
) -> list[CascadeFinding]:
    """Return what the cascades of a run did."""
    finder = PassportFinder(plan.suites, identities, store)
    uses: dict[CascadeUse, tuple[MetricPlan, Judge]] = {}
    for suite in plan.suites:
        for metric_plan in suite.judge_metrics:
            for judge in metric_plan.judges:
                if judge.members:
                    rule = (judge.options["error"], judge.options["level"])
                    use = CascadeUse(suite.name, metric_plan.name, judge.name, judge.members, *rule)
                    uses[use] = metric_plan, judge

    def decider(use: CascadeUse, language: str) -> Decider:
        metric_plan, judge = uses[use]
        return finder.cascades(use.suite).decider(metric_plan, judge, language)

    if not uses:
        return []
    return find_cascades(uses, scores, items, decider)


def _twins(store: Store, tables: Tables, plan: Plan, once: Observations) -> TwinFindings:
    """Return what renewed items show; nothing for a run without twins."""
    if not tables.twin_counts:
        return TwinFindings()
    scores, twins = store.read_all(tables.twin_scores, SCORES), store.read_all(tables.twin_items, ITEMS)
    renewed = scores.join(select_originals(twins.unique("item_id")), on="item_id")
    counts = add_counts(tables.twin_counts)
    return TwinFindings(twin_results(once.scores, once.items, renewed, plan.declarations), counts)


def terms_of(plan: Plan) -> Terms | None:
    """Return the terms of the explainability result; None if one of its suites does not run."""
    if not set(EXPLAINED) <= {suite.name for suite in plan.suites}:
        return None
    reasoned, cited = (plan.find_suite(name) for name in EXPLAINED)
    part = plan.explainability
    return Terms(
        judge_model=", ".join(judge.name for judge in cited.find_metric(cited.suite.score_metrics[0]).judges),
        weight_cot=part.weight_cot,
        weight_citation=part.weight_citation,
        threshold=part.threshold,
        threshold_cot=_threshold_of(reasoned.suite),
        threshold_citation=_threshold_of(cited.suite),
    )


def _threshold_of(suite: Suite) -> float:
    """Return the threshold of a suite's own score."""
    threshold = columns(suite)[0].threshold
    return THRESHOLD if threshold is None else threshold
