"""What a suite shows at its end: its models' headlines, before any threshold, and what decides them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.data.batches import Tables
from basic_control.data.deciding import columns, components, list_metrics
from basic_control.data.plugins import metric
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.headlines import Headline, Key
from basic_control.metrics.analysis.judged import (
    CorrectedMean,
    JudgeStatus,
    Labels,
    Withheld,
    correct_means,
    withheld_by_judges,
)
from basic_control.metrics.analysis.observations import observations
from basic_control.metrics.analysis.policy import Must
from basic_control.metrics.analysis.results import SuiteFindings
from basic_control.metrics.analysis.scores import Circumstances, headline_parts, suite_headlines
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import summarise
from basic_control.tasks.decide import list_monitored, monitor
from basic_control.tasks.judges.labels import LABELS, load_corrections
from basic_control.tasks.judges.passports import PassportFinder, find_statuses
from basic_control.tasks.plan import Identities, Plan, SuitePlan
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.store.samples import read_calls
from basic_control.tasks.store.tables import Store

UNSETTLED = "without network a source can at best be UNCERTAIN, so no score can decide this suite"


def find_suite(plan: Plan, suite: SuitePlan, tables: Tables, identities: Identities, waiting: int) -> SuiteFindings:
    """Compute what a suite shows when it has been asked and scored; `waiting` of its requests are in batches.

    Raises:
        InputError: a file of labels is damaged.
    """
    store = open_store(plan.store)
    drawn, stored = read_scored(store, tables)
    once = observations(stored, drawn)
    finder = PassportFinder([suite], identities.judges, store)

    followed = monitor(store, tables.items, tables.scores, list_monitored([suite], finder))

    def replies() -> pl.DataFrame:
        return replies_of(store, tables).rename({"text": "response"})

    facts = circumstances(
        suite,
        plan.judges_must_have,
        corrected=correct_means(once.replies, once.items, [suite.suite], finder.passport),
        judge_statuses=find_statuses(drawn, finder),
        labels=load_corrections(Path(plan.store.runs) / LABELS, [suite.suite], stored, drawn, replies),
        stopping=[*_limit_to_rows(followed, tables.n_offered)],
        waiting=waiting,
        missing=identities.missing,
    )
    declaration = with_counts(suite)
    models = [model for model, suites in plan.members.items() if suite.name in suites]
    scores = once.scores.filter(pl.col("metric").is_in([*list_metrics(declaration), *headline_parts(declaration)]))
    telling = replace(once, scores=scores)
    summary = summarise(scores, once.items)
    return SuiteFindings(suite_headlines(declaration, models, telling, summary, facts), facts)


def _limit_to_rows(followed: Sequence[ConfidenceSequence], n_offered: int) -> Iterator[ConfidenceSequence]:
    """Yield sequences with the questions that there are, where those are fewer than might be asked."""
    for sequence in followed:
        yield replace(sequence, most=min(sequence.most, n_offered or sequence.most))


def read_scored(store: Store, tables: Tables) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the items, without duplicates, and their scores."""
    items = store.read_all(tables.items, ITEMS).unique("item_id", maintain_order=True)
    return items, store.read_all(tables.scores, SCORES)


def replies_of(store: Store, tables: Tables) -> pl.DataFrame:
    """Return all replies of a run: item_id, model, repeat, text."""
    answers = read_calls(store, tables.queries)
    return answers.select("item_id", "model", "repeat", "text").unique(["item_id", "model", "repeat"])


def circumstances(
    suite: SuitePlan,
    must: Must = "nothing",
    *,
    corrected: Sequence[CorrectedMean] = (),
    judge_statuses: Sequence[JudgeStatus] = (),
    labels: Labels | None = None,
    stopping: Sequence[ConfidenceSequence] = (),
    waiting: int = 0,
    missing: Mapping[str, str] | None = None,
) -> Circumstances:
    """Return a suite's circumstances, from its plan and from measurements outside its tables.

    `must` says what its judges are required to have; `missing` maps a model's name to why it could not be asked.
    """
    declaration = suite.suite
    if (
        declaration.strata or declaration.of_k
    ):  # labels estimate a mean of replies: neither a TOTAL nor a share of k answers
        labels = None
    # A score may be withheld by its judges, or by sources that nobody may fetch.
    withheld: dict[Key, Withheld] = {}
    for model, score in product(suite.target_names, columns(declaration)):
        reason = withheld_by_judges(score, model, judge_statuses, labels or {}, must)
        if reason is None and sources_unsettled(score):
            reason = Withheld(UNSETTLED)
        if reason:
            withheld[declaration.name, score.headline, model] = reason
    # By the names of targets, each of which is a model with a prompt.
    unasked = missing or {}
    return Circumstances(
        withheld=withheld,
        labels=labels or {},
        corrected=corrected,
        judge_statuses=judge_statuses,
        stopping=stopping,
        waiting={declaration.name: waiting},
        missing={
            target.name: unasked[target.model.name] for target in suite.targets if target.model.name in unasked
        },
    )


def with_counts(suite: SuitePlan) -> Suite:
    """Return a suite with the repeats of each question, and with the k that it is gated on, if any."""
    k = suite.suite.k or suite.repeats if suite.suite.of_k else None
    return suite.suite.model_copy(update={"repeats": suite.repeats, "k": k})


def sources_unsettled(suite: Suite) -> bool:
    """Return whether no score can decide a suite: its sources would need the network, which is not allowed."""
    sources = [(name, metric(name).sources) for name in components(suite)]
    options = {name: suite.options(name) for name, _ in sources}
    return any(
        needs_sources and needs_sources(options[name]) and not options[name].get("network")
        for name, needs_sources in sources
    )


def event_fields(headlines: Iterable[Headline]) -> dict[str, dict[str, Any]]:
    """Return a suite's headlines by model, as the event of its end has them (docs/observability.md).

    A model has the first one's fields, and those of the `further` ones in a list.
    """
    by_model: dict[str, dict[str, Any]] = {}
    for headline in headlines:
        fields = _fields(headline)
        if headline.model in by_model:
            by_model[headline.model]["further"].append(fields)
        else:
            by_model[headline.model] = {**fields, "further": []}
    return by_model


def _fields(headline: Headline) -> dict[str, Any]:
    measured, decided = headline.measured, headline.decided
    return {
        "metric": "" if headline.is_only else headline.metric,
        "only": headline.is_only,
        "score": measured.score.mean,
        "low": measured.score.interval.low,
        "high": measured.score.interval.high,
        "outcome": decided.outcome,
        "reason": decided.reason,
        "n_scored": measured.n_scored,
        "n_asked": measured.n_asked,
        "n_deciding": decided.n_deciding,
        "gate_on": measured.gate_on,
        "k": measured.k,
        "mean": measured.mean.mean,
        "measured": headline.missing.is_measured,
    }
