"""Compute a run's results from all of its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from data.batches import Ref, Tables
from data.plugins import metric
from data.suites import Suite
from data.tables import ITEMS, SCORES
from metrics.analysis.explainability import EXPLAINED, Terms
from metrics.analysis.judged import (
    CorrectedMean,
    JudgeStatus,
    Labels,
    Withheld,
    corrected_means,
    withheld_by_judges,
)
from metrics.analysis.passports import passports
from metrics.analysis.results import Results, build
from metrics.analysis.scores import THRESHOLD, Circumstances
from metrics.analysis.stopping import ConfidenceSequence
from metrics.analysis.twins import RenewedScores, counted
from metrics.analysis.values import Observations, observations
from tasks.compare.baseline import against
from tasks.decide import monitor, monitored_suites
from tasks.judges.labels import LABELS, kept_labels
from tasks.judges.passports import PassportFinder, exam_results, statuses_of
from tasks.plan import Identities, Plan, crossed
from tasks.runtime.spending import spending_of
from tasks.runtime.storage import open_store
from tasks.stage import stage
from tasks.store.samples import answers_of
from tasks.store.tables import Store
from tasks.twins.renew import named

UNSETTLED = "without network a source can at best be UNCERTAIN, so no score can decide this suite"


@stage(version=1, part="report", takes="aggregate", cached=False)
def results(
    plan: Plan,
    tables: Tables,
    summary: Ref,
    *,
    identities: Identities,
    run: Mapping[str, Any],
    provenance: Mapping[str, Any],
    waiting: Mapping[str, int],
) -> Results:
    """Compute a run's results from all of its tables; not cached, since spending differs each time.

    `run` is its name and start, `provenance` what decides its numbers, `waiting` counts pending requests by suite.

    Raises:
        InputError: the baseline is not comparable, or the labels' file is damaged.
    """
    store = open_store(plan.store)
    found = measure_run(plan, tables, identities, waiting=waiting)
    day = date.fromisoformat(str(run["started"])[:10])
    texts = _texts(store, tables) if plan.baseline.name else pl.DataFrame()
    return build(
        found.once,
        store.read(summary),
        found.circumstances,
        run={**run, "identities": provenance["identities"]},
        passports=passports(exam_results(found.stored, found.drawn)),
        own_models=plan.own_models,
        # This run's spending, which is not part of the results: a repeated run finds everything in the cache.
        spending=spending_of(store, plan, tables.asked, tables.judged, day),
        baseline=against(plan, provenance, found.stored, found.drawn, texts),
        terms=terms_of(plan),
        twins=renewed_scores(store, tables),
    )


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run's items and scores as they are `drawn` and `stored`, each question `once`, and their circumstances."""

    drawn: pl.DataFrame
    stored: pl.DataFrame
    once: Observations
    circumstances: Circumstances


def measure_run(plan: Plan, tables: Tables, identities: Identities, *, waiting: Mapping[str, int]) -> MeasuredRun:
    """Read the suites' results, and measure what affects them: judges, labels, stopping.

    Raises:
        InputError: a file of labels is damaged.
    """
    store = open_store(plan.store)
    drawn = store.read_all(tables.items, ITEMS).unique("item_id", maintain_order=True)
    stored = store.read_all(tables.scores, SCORES)
    once = observations(stored, drawn)
    found = PassportFinder(plan.suites, identities.judges, store)
    suites = [one.suite for one in plan.suites]

    def replies() -> pl.DataFrame:
        return _texts(store, tables).rename({"text": "response"})

    known = circumstances(
        plan,
        corrected=corrected_means(once.scores, once.items, suites, found.passport),
        judge_statuses=statuses_of(drawn, found),
        labels=kept_labels(Path(plan.store.runs) / LABELS, suites, stored, drawn, replies),
        stopping=monitor(store, tables.items, tables.scores, monitored_suites(plan.suites, found)),
        waiting=waiting,
        missing=identities.missing,
    )
    return MeasuredRun(drawn, stored, once, known)


def renewed_scores(store: Store, tables: Tables) -> RenewedScores | None:
    """Return the scores of renewed items, with kind and original, and the originals' counts; None without twins."""
    if not tables.twin_counts:
        return None
    scores, twins = store.read_all(tables.twin_scores, SCORES), store.read_all(tables.twin_items, ITEMS)
    return RenewedScores(scores.join(named(twins.unique("item_id")), on="item_id"), counted(tables.twin_counts))


def _texts(store: Store, tables: Tables) -> pl.DataFrame:
    """Return all replies of a run: item_id, model, repeat, text."""
    asked = answers_of(store, tables.asked)
    return asked.select("item_id", "model", "repeat", "text").unique(["item_id", "model", "repeat"])


def circumstances(
    plan: Plan,
    *,
    corrected: Sequence[CorrectedMean] = (),
    judge_statuses: Sequence[JudgeStatus] = (),
    labels: Labels | None = None,
    stopping: Sequence[ConfidenceSequence] = (),
    waiting: Mapping[str, int] | None = None,
    missing: Mapping[str, str] | None = None,
) -> Circumstances:
    """Return the circumstances of models and suites, from the plan and from measurements outside the tables.

    `missing` maps a model's name to why it could not be asked.
    """
    targets = [(target.model.name, target) for suite in plan.suites for target in suite.targets]
    by_name = {suite.name: suite for suite in _counted(plan)}
    # They estimate a mean of replies: neither a TOTAL nor a share of k answers.
    labels = {
        key: one for key, one in (labels or {}).items() if not (by_name[key[0]].strata or by_name[key[0]].of_k)
    }
    members = {model: _weighing([by_name[name] for name in listed]) for model, listed in plan.members.items()}
    sources = {
        (model, suite.name): Withheld(UNSETTLED)
        for model, suites in members.items()
        for suite in suites
        if sources_unsettled(suite)
    }
    return Circumstances(
        suites=tuple(by_name.values()),
        members=members,
        withheld=sources | withheld_by_judges(members, judge_statuses, labels, plan.judges_must_have),
        labels=labels,
        corrected=corrected,
        judge_statuses=judge_statuses,
        stopping=stopping,
        waiting=waiting or {},
        missing={target.name: missing[name] for name, target in targets if missing and name in missing},
        crossed=crossed(plan),
    )


def _counted(plan: Plan) -> list[Suite]:
    """Return the suites with the repeats of each question, and with the k that they are gated on, if any."""
    found = []
    for one in plan.suites:
        k = one.suite.k or one.repeats if one.suite.of_k else None
        found.append(one.suite.model_copy(update={"repeats": one.repeats, "k": k}))
    return found


def _weighing(suites: Sequence[Suite]) -> Sequence[Suite]:
    """Return the suites that have a weight; all if none does."""
    if any(suite.weight for suite in suites):
        return suites
    return [suite.model_copy(update={"weight": 1.0}) for suite in suites]


def sources_unsettled(suite: Suite) -> bool:
    """Return whether no score can decide a suite: its sources would need the network, which is not allowed."""
    asking = [(name, metric(name).sources) for name in suite.scored_by]
    options = {name: suite.options(name) for name, _ in asking}
    return any(wanted and wanted(options[name]) and not options[name].get("network") for name, wanted in asking)


def terms_of(plan: Plan) -> Terms | None:
    """Return the terms of the explainability result; None if one of its suites does not run."""
    if not set(EXPLAINED) <= {suite.name for suite in plan.suites}:
        return None
    reasoned, cited = (plan.suite(name) for name in EXPLAINED)
    part = plan.explainability
    return Terms(
        judge_model=", ".join(judge.name for judge in cited.metric(cited.suite.scored_by[0]).judges),
        weight_cot=part.weight_cot,
        weight_citation=part.weight_citation,
        threshold=part.threshold,
        threshold_cot=THRESHOLD if reasoned.suite.threshold is None else reasoned.suite.threshold,
        threshold_citation=THRESHOLD if cited.suite.threshold is None else cited.suite.threshold,
    )
