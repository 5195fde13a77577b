"""Passports: whose a passport is, and how it is read out of an exam's scores, kept and found."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from artifacts import passports as kept
from artifacts.store import Store
from config.settings import Judge, Settings
from data.draw import canonical
from data.labelled_sets import SETS
from data.suites import Suite
from metrics.corrected import corrected_means
from metrics.exam import EXAMINED
from metrics.passports import Passport, Sitting, passports, read_passport
from prompts import digest, languages
from tasks.models.requests import parameters
from tasks.models.systems import panel_of

EXAM = "exam_"


@dataclass(frozen=True, slots=True)
class Asked:
    """How a step is asked: which exam measures it, in which language, how warm, by which prompt of the user's."""

    exam: str
    language: str
    temperature: float | None
    prompt: str = ""


def identity_of(judge: Judge, identity: Mapping[str, str], asked: Asked) -> dict[str, Any]:
    """Return all that makes a judge at a step the one that sat the exam: model, sampling, prompts, language."""
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


def sittings(scores: pl.DataFrame, items: pl.DataFrame) -> Iterator[Sitting]:
    """Yield what each judge made of each exam item, from a run's scores."""
    rows = scores.filter(pl.col("metric").str.starts_with(EXAM), pl.col("status") != "not_applicable").join(
        items.select("item_id", "language", "family").unique("item_id"), on="item_id"
    )
    for metric, language, family, details in rows.select("metric", "language", "family", "details").iter_rows():
        for judge, found in json.loads(details).get("judges", {}).items():
            yield Sitting(
                judge,
                metric.removeprefix(EXAM),
                language,
                found["status"],
                found["details"],
                found["n_repairs"],
                family if family in SETS else "",
            )


def sat(
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
    found = passports(sittings(scores, items))
    for one in found:
        temperature = EXAMINED[one.exam][0].temperature
        asked = Asked(one.exam, one.language, temperature)
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
        """Return a judge's passport at a step; None where it has not sat this exam as it is asked here."""
        home, name = EXAMINED[exam]
        step = next(step for step in home.steps if step.name == name)
        if isinstance(step.prompt, str) and language not in languages(step.prompt):
            return None
        panel = panel_of(self.settings, suite, metric, self.identities)
        one = next((each for each in panel.judges if each.name == judge), None)
        if one is None:
            return None
        asked = Asked(exam, language, panel.temperature, str(suite.options(metric).get("prompt", "")))
        document = kept.find(self.store, key_of(identity_of(one, panel.identities[judge], asked)))
        return read_passport(document) if document else None


def lacking(
    found: Examined, suite: Suite, scores: pl.DataFrame, items: pl.DataFrame
) -> dict[str, set[tuple[str, str]]]:
    """Return the steps, by their exams' names, and languages in which judges of a suite have no passport."""
    missed: dict[str, set[tuple[str, str]]] = {}

    def look(suite: Suite, metric: str, judge: str, exam: str, language: str) -> Passport | None:
        passport = found.passport(suite, metric, judge, exam, language)
        # With a prompt of the user's own it is another step than the short form examines.
        if passport is None and not suite.options(metric).get("prompt"):
            missed.setdefault(judge, set()).add((exam, language))
        return passport

    corrected_means(scores, items, [suite], look)
    return missed
