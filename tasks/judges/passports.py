"""Passports: their owners, their computation from an exam's scores, storage and lookup."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from config.settings import Judge
from data.draw import canonical
from data.labelled_sets import SETS
from data.records import Metric, Step
from data.suites import Suite
from metrics.analysis.judged import JudgeStatus, judge_statuses
from metrics.analysis.passports import ExamResult, Passport, passports, read_passport
from metrics.exam import EXAMINED
from metrics.judging import NO_CALL, WAITS
from prompts import digest, languages
from tasks.models.requests import parameters
from tasks.plan import SuitePlan
from tasks.store.manifest import lasting
from tasks.store.tables import Store

EXAM = "exam_"


def _examined(
    judge: Judge,
    identity: Mapping[str, str],
    exam: str,
    language: str,
    temperature: float | None,
    *,
    prompt: str = "",
) -> dict[str, Any]:
    """Return what identifies a judge at a step for an exam: model, sampling, prompts, language.

    `temperature`: the step's, if the judge has none of its own; `prompt`: the user's own.
    """
    metric, step = _step(exam)
    own = step.prompt if isinstance(step.prompt, str) else step.prompt({"prompt": prompt})
    warm = judge.temperature if judge.temperature is not None else temperature or 0.0
    return {
        "identity": lasting(identity),
        "parameters": parameters(judge, temperature=warm),
        "system": judge.system,
        "structured": judge.structured,
        "step": f"{metric.name}.{step.name}",
        "version": metric.version,
        "language": language,
        "prompts": [digest(one, language) for one in (own, "judging/system", "judging/repair")],
    }


def _step(exam: str) -> tuple[Metric, Step]:
    """Return the metric's step that an exam measures."""
    metric, name = EXAMINED[exam]
    return metric, next(step for step in metric.steps if step.name == name)


def _place(identity: Mapping[str, Any]) -> str:
    """Return a passport's path in the store."""
    return f"passports/{hashlib.sha256(canonical(identity).encode()).hexdigest()[:32]}.json"


def exam_results(scores: pl.DataFrame, items: pl.DataFrame) -> Iterator[ExamResult]:
    """Yield each judge's result on each exam item that it answered, from a run's scores."""
    rows = scores.filter(pl.col("metric").str.starts_with(EXAM), pl.col("status") != "not_applicable").join(
        items.select("item_id", "language", "family").unique("item_id"), on="item_id"
    )
    columns = rows.select("item_id", "metric", "language", "family", "details").sort("item_id")
    for item_id, metric, language, family, details in columns.iter_rows():
        for judge, found in json.loads(details).get("judges", {}).items():
            if found["reason"].endswith((WAITS, NO_CALL)):
                continue
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
    listed: Iterable[Judge],
    identities: Mapping[str, Mapping[str, str]],
    scores: pl.DataFrame,
    items: pl.DataFrame,
    store: Store,
    *,
    about: Mapping[str, Any],
) -> list[Passport]:
    """Store the passports of a completed exam, and return them; `about` identifies the run."""
    judges = {judge.name: judge for judge in listed}
    found = passports(exam_results(scores, items))
    for one in found:
        temperature = EXAMINED[one.exam][0].temperature
        identity = _examined(judges[one.judge], identities[one.judge], one.exam, one.language, temperature)
        if one.domain:  # separate: means are corrected by the exam's own
            identity["domain"] = one.domain
        document = {**one.as_dict(), "of": identity, **about}
        store.put_document(_place(identity), json.dumps(document, ensure_ascii=False, indent=1).encode())
    return found


@dataclass(frozen=True, slots=True)
class PassportFinder:
    """Finds the passports of the judges of a run's suites."""

    suites: Sequence[SuitePlan]
    identities: Mapping[str, Mapping[str, str]]
    store: Store

    def passport(self, suite: Suite, metric: str, judge: str, exam: str, language: str) -> Passport | None:
        """Return a judge's passport at a step; None if it has not taken this exam in this configuration."""
        _, step = _step(exam)
        if isinstance(step.prompt, str) and language not in languages(step.prompt):
            return None
        own = next(plan for plan in self.suites if plan.name == suite.name).metric(metric)
        one = next((each for each in own.judges if each.name == judge), None)
        if one is None:
            return None
        prompt = str(own.options.get("prompt", ""))
        identity = _examined(one, self.identities[judge], exam, language, own.temperature, prompt=prompt)
        content = self.store.document(_place(identity))
        try:
            document = json.loads(content or b"null")
        except ValueError:
            return None
        return read_passport(document) if isinstance(document, dict) else None


def statuses_of(items: pl.DataFrame, found: PassportFinder) -> list[JudgeStatus]:
    """Return the status of the judges of all judged metrics, in the languages of each suite's items."""
    plans = {plan.name: plan for plan in found.suites}
    spoken = items.group_by("suite").agg(pl.col("language").unique()).rows()
    return [
        one
        for name, languages in sorted(spoken)
        if name in plans
        for one in statuses_in(plans[name], languages, found)
    ]


def statuses_in(plan: SuitePlan, languages: Iterable[str], found: PassportFinder) -> list[JudgeStatus]:
    """Return the status of the judges of a suite's metrics, in some languages."""
    return [
        one
        for own in plan.judged
        for one in judge_statuses(
            plan.suite, own.name, [judge.name for judge in own.judges], {*languages}, found.passport
        )
    ]


def lacking(suite: Suite, found: Iterable[JudgeStatus]) -> dict[str, set[tuple[str, str]]]:
    """Return the steps, by their exams' names, and languages in which judges of a suite lack a passport."""
    missed: dict[str, set[tuple[str, str]]] = {}
    for one in found:
        # With a user's own prompt it is another step than the short form examines.
        if not one.measured and not suite.options(one.metric).get("prompt"):
            missed.setdefault(one.judge, set()).add((one.exam, one.language))
    return missed
