"""Passports: whose a passport is, and how it is read out of an exam's scores, kept and found."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from config.settings import Judge, Settings
from data.draw import canonical
from data.labelled_sets import SETS
from data.loading import judged_by
from data.suites import Suite
from metrics.analysis.judged import Standing, standings
from metrics.analysis.passports import ExamResult, Passport, passports, read_passport
from metrics.exam import EXAMINED
from prompts import digest, languages
from tasks.models.requests import parameters
from tasks.models.systems import judges_of, panel_of
from tasks.store import passports as kept
from tasks.store.tables import Store

EXAM = "exam_"


@dataclass(frozen=True, slots=True)
class ExamConditions:
    """How a step is asked: which exam measures it, in which language, how warm, by which prompt of the user's."""

    exam: str
    language: str
    temperature: float | None
    prompt: str = ""


def identity_of(judge: Judge, identity: Mapping[str, str], asked: ExamConditions) -> dict[str, Any]:
    """Return all that makes a judge at a step the one that took the exam: model, sampling, prompts, language."""
    metric, name = EXAMINED[asked.exam]
    step = next(step for step in metric.steps if step.name == name)
    own = step.prompt if isinstance(step.prompt, str) else step.prompt({"prompt": asked.prompt})
    temperature = judge.temperature if judge.temperature is not None else asked.temperature or 0.0
    return {
        "identity": {key: value for key, value in identity.items() if key != "fresh"},
        "parameters": parameters(judge, temperature=temperature),
        "system": judge.system,
        "structured": judge.structured,
        "step": f"{metric.name}.{name}",
        "version": metric.version,
        "language": asked.language,
        "prompts": [digest(one, asked.language) for one in (own, "judging/system", "judging/repair")],
    }


def key_of(identity: Mapping[str, Any]) -> str:
    """Return the name under which a passport is kept."""
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:32]


def exam_results(scores: pl.DataFrame, items: pl.DataFrame) -> Iterator[ExamResult]:
    """Yield what each judge made of each exam item, from a run's scores."""
    rows = scores.filter(pl.col("metric").str.starts_with(EXAM), pl.col("status") != "not_applicable").join(
        items.select("item_id", "language", "family").unique("item_id"), on="item_id"
    )
    columns = rows.select("item_id", "metric", "language", "family", "details").sort("item_id")
    for item_id, metric, language, family, details in columns.iter_rows():
        for judge, found in json.loads(details).get("judges", {}).items():
            yield ExamResult(
                judge,
                metric.removeprefix(EXAM),
                language,
                item_id,
                found["status"],
                found["details"],
                found["n_repairs"],
                family if family in SETS else "",
            )


def keep_passports(
    settings: Settings,
    identities: Mapping[str, Mapping[str, str]],
    scores: pl.DataFrame,
    items: pl.DataFrame,
    store: Store,
    *,
    about: Mapping[str, Any],
) -> list[Passport]:
    """Keep the passports of an exam that was run, and return them; `about` says which run it was."""
    judges = {judge.name: judge for judge in settings.judges}
    found = passports(exam_results(scores, items))
    for one in found:
        temperature = EXAMINED[one.exam][0].temperature
        asked = ExamConditions(one.exam, one.language, temperature)
        identity = identity_of(judges[one.judge], identities[one.judge], asked)
        if one.domain:  # kept apart: means are corrected by the exam's own
            identity["domain"] = one.domain
        kept.keep(store, key_of(identity), {**one.as_dict(), "of": identity, **about})
    return found


@dataclass(frozen=True, slots=True)
class Examined:
    """Where a run looks passports up."""

    settings: Settings
    identities: Mapping[str, Mapping[str, str]]
    store: Store

    def passport(self, suite: Suite, metric: str, judge: str, exam: str, language: str) -> Passport | None:
        """Return a judge's passport at a step; None where it has not taken this exam as it is asked here."""
        home, name = EXAMINED[exam]
        step = next(step for step in home.steps if step.name == name)
        if isinstance(step.prompt, str) and language not in languages(step.prompt):
            return None
        panel = panel_of(self.settings, suite, metric, self.identities)
        one = next((each for each in panel.judges if each.name == judge), None)
        if one is None:
            return None
        asked = ExamConditions(exam, language, panel.temperature, str(suite.options(metric).get("prompt", "")))
        document = kept.find(self.store, key_of(identity_of(one, panel.identities[judge], asked)))
        return read_passport(document) if document else None


def standings_of(settings: Settings, items: pl.DataFrame, found: Examined) -> list[Standing]:
    """Return how the judges of all judged metrics stand, in the languages of each suite's items."""
    spoken = items.group_by("suite").agg(pl.col("language").unique()).rows()
    return [
        one
        for name, languages in sorted(spoken)
        if name in settings.named
        for one in standings_in(settings, settings.suite(name), languages, found)
    ]


def standings_in(settings: Settings, suite: Suite, languages: Iterable[str], found: Examined) -> list[Standing]:
    """Return how the judges of a suite's metrics stand, in some languages."""
    return [
        one
        for name in judged_by(suite)
        for one in standings(
            suite, name, [judge.name for judge in judges_of(settings, suite, name)], {*languages}, found.passport
        )
    ]


def lacking(suite: Suite, found: Iterable[Standing]) -> dict[str, set[tuple[str, str]]]:
    """Return the steps, by their exams' names, and languages in which judges of a suite have no passport."""
    missed: dict[str, set[tuple[str, str]]] = {}
    for one in found:
        # With a prompt of the user's own it is another step than the short form examines.
        if not one.measured and not suite.options(one.metric).get("prompt"):
            missed.setdefault(one.judge, set()).add((one.exam, one.language))
    return missed
