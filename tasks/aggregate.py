"""Results: what all of a run's tables come to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from config.settings import Settings
from data.batches import Ref
from data.plugins import metric
from data.suites import Suite
from data.tables import ITEMS, REQUESTS, RESPONSES, SCORES
from metrics.analysis.corrected import CorrectedMean, corrected_means
from metrics.analysis.explainability import EXPLAINED, Terms
from metrics.analysis.judged import Standing, withheld_by_judges
from metrics.analysis.observations import observations
from metrics.analysis.passports import passports
from metrics.analysis.results import Circumstances, Results, RunTables, build
from metrics.analysis.scores import THRESHOLD, Labels, Withheld
from metrics.analysis.stopping import Narrowing
from tasks.compare.baseline import against
from tasks.decide import follow_all, watched
from tasks.judges.labels import kept_labels
from tasks.judges.passports import Examined, exam_results, standings_of
from tasks.models.systems import Identities, judges_of, own_models, systems_of, took_part
from tasks.report.material import Tables
from tasks.runtime.spending import spending_of
from tasks.runtime.storage import open_store
from tasks.stage import stage
from tasks.store.tables import Store

UNSETTLED = "without network a source can at best be UNCERTAIN, so no score can decide this suite"


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a run was conducted: its own facts, what a baseline compares, what was asked, where its labels lie.

    `labelled` is the folder of the run whose replies these are, where people may have labelled them.
    """

    run: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    labelled: str = ""


@stage(version=1, cached=False)
def results(
    settings: Settings, tables: Tables, summary: Ref, *, identities: Identities, conduct: Conduct
) -> Results:
    """Compute what a run found from all of its tables; what was spent differs each time, so nothing is cached.

    Raises:
        InputError: the baseline cannot be compared with, or the labels' file is damaged.
    """
    place = open_store(settings.store)
    drawn = place.read_all(tables.items, ITEMS).unique("item_id", maintain_order=True)
    every = place.read_all(tables.scores, SCORES)
    once = observations(every, drawn)
    found = Examined(settings, identities.judges, place)
    known = circumstances(
        settings,
        corrected=corrected_means(once.scores, once.items, settings.suites, found.passport),
        standings=standings_of(settings, drawn, found),
        labels=kept_labels(Path(conduct.labelled), every, drawn) if conduct.labelled else {},
        stopping=follow_all(place, tables.items, tables.scores, watched(settings, found)),
        waiting=conduct.waiting,
        missing=identities.missing,
    )
    day = date.fromisoformat(str(conduct.run["started"])[:10])
    texts = _texts(place, tables) if settings.baseline else pl.DataFrame()
    return build(
        RunTables(once.scores, once.items, place.read(summary), once.doubled),
        known,
        run={**conduct.run, "identities": conduct.facts.get("identities", {})},
        passports=passports(exam_results(every, drawn)),
        own_models=own_models(settings),
        # Of this run, not of what it found: one that does it again finds all in the cache.
        spending=spending_of(place, settings, tables.asked, tables.judged, day),
        baseline=against(settings, conduct.facts, every, drawn, texts),
        terms=terms_of(settings),
    )


def _texts(place: Store, tables: Tables) -> pl.DataFrame:
    """Return all replies of a run: item_id, model, repeat, text."""
    requests = place.read_all([one.requests for one in tables.asked], REQUESTS)
    responses = place.read_all([one.responses for one in tables.asked], RESPONSES).unique("request_id")
    asked = requests.select("request_id", "item_id", "model", "repeat").join(responses, on="request_id", how="left")
    return asked.select("item_id", "model", "repeat", "text").unique(["item_id", "model", "repeat"])


def circumstances(
    settings: Settings,
    *,
    corrected: Sequence[CorrectedMean] = (),
    standings: Sequence[Standing] = (),
    labels: Labels | None = None,
    stopping: Sequence[Narrowing] = (),
    waiting: Mapping[str, int] | None = None,
    missing: Mapping[str, str] | None = None,
) -> Circumstances:
    """Return what the configuration, and what was measured beside a run's tables, say of its models and suites.

    `missing` says by the model's name why it could not be asked.
    """
    by_name = {suite.name: suite for suite in _counted(settings)}
    members = {
        model: _weighing([by_name[name] for name in listed]) for model, listed in took_part(settings).items()
    }
    sources = {
        (model, suite.name): Withheld(UNSETTLED)
        for model, suites in members.items()
        for suite in suites
        if sources_unsettled(suite)
    }
    return Circumstances(
        suites=tuple(by_name.values()),
        members=members,
        withheld=sources | withheld_by_judges(members, standings, labels or {}, settings.judges_must_have),
        labels=labels or {},
        corrected=corrected,
        standings=standings,
        stopping=stopping,
        waiting=waiting or {},
        missing=_missing(settings, missing or {}),
    )


def _counted(settings: Settings) -> list[Suite]:
    """Return the suites with how often each question was asked, and with the k that they are gated on, if any."""
    found = []
    for suite in settings.suites:
        n = settings.times(suite)
        k = suite.k if suite.gate_on == "mean" else suite.k or n
        found.append(suite.model_copy(update={"repeats": n, "k": k}))
    return found


def _weighing(suites: Sequence[Suite]) -> Sequence[Suite]:
    """Return suites of which one weighs something: all alike where none does."""
    if any(suite.weight for suite in suites):
        return suites
    return [suite.model_copy(update={"weight": 1.0}) for suite in suites]


def sources_unsettled(suite: Suite) -> bool:
    """Say whether no score can decide a suite: its sources would have to be looked up, and must not be."""
    asking = [(name, metric(name).sources) for name in suite.scored_by]
    options = {name: suite.options(name) for name, _ in asking}
    return any(wanted and wanted(options[name]) and not options[name].get("network") for name, wanted in asking)


def _missing(settings: Settings, missing: Mapping[str, str]) -> dict[str, str]:
    """Return why systems could not be asked, by name."""
    asked: Iterable[Any] = (pair for suite in settings.suites for pair in systems_of(settings, suite))
    return {system.name: why for system, model in asked if (why := missing.get(model.name))}


def terms_of(settings: Settings) -> Terms | None:
    """Return how the explainability result is made; None where one of its suites does not run."""
    if not set(EXPLAINED) <= set(settings.named):
        return None
    reasoned, cited = (settings.suite(name) for name in EXPLAINED)
    part = settings.explainability
    return Terms(
        judge_model=", ".join(judge.name for judge in judges_of(settings, cited, cited.scored_by[0])),
        weight_cot=part.weight_cot,
        weight_citation=part.weight_citation,
        threshold=part.threshold,
        threshold_cot=THRESHOLD if reasoned.threshold is None else reasoned.threshold,
        threshold_citation=THRESHOLD if cited.threshold is None else cited.threshold,
    )
