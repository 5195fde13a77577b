"""Passports: their owners, their computation from an exam's scores, storage and lookup."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.config.settings import Judge
from basic_control.data.draw import format_canonical
from basic_control.data.exam import edition
from basic_control.data.labelled_sets import SETS
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.judged import JudgeStatus, judge_statuses
from basic_control.metrics.analysis.passports import ExamResult, Passport, passports, read_passport
from basic_control.metrics.exam import EXAMINED, exam_score, prompt_of, step_of
from basic_control.metrics.judging import NO_CALL, WAITS, WRITES, find_template_language
from basic_control.prompts import digest_template, languages
from basic_control.tasks.judges.cascades import CascadeFinder
from basic_control.tasks.models.requests import list_parameters
from basic_control.tasks.plan import Plan, SuitePlan
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.store.manifest import strip_freshness
from basic_control.tasks.store.runs import load_table, read_run
from basic_control.tasks.store.tables import Store


def _identify(
    judge: Judge,
    identity: Mapping[str, str],
    exam: str,
    language: str,
    temperature: float | None,
    *,
    prompt: str = "",
) -> dict[str, Any]:
    """Return what identifies a judge at a step for an exam: model, sampling, prompts, language, questions.

    `temperature`: the step's, if the judge has none of its own; `prompt`: the user's own.
    """
    metric, step = step_of(exam)
    # The judge's own setting overrides the step's, as when it is asked.
    if judge.temperature is not None:
        temperature = judge.temperature
    prompts = (prompt_of(step, prompt), "judging/system", "judging/repair")
    return {
        "identity": strip_freshness(identity),
        "parameters": list_parameters(judge, temperature=temperature or 0.0),
        "system": judge.system,
        "structured": judge.structured,
        "step": f"{metric.name}.{step.name}",
        "version": metric.version,
        "language": language,
        "prompts": [digest_template(name, find_template_language(name, language)) for name in prompts],
        "questions": edition(exam),
    }


def _path(identity: Mapping[str, Any]) -> str:
    """Return a passport's path in the store."""
    return f"passports/{hashlib.sha256(format_canonical(identity).encode()).hexdigest()[:32]}.json"


def exam_results(scores: pl.DataFrame, items: pl.DataFrame) -> Iterator[ExamResult]:
    """Yield each judge's result on each exam item that it answered, from a run's scores."""
    rows = scores.filter(metric=exam_score.name).join(
        items.select("item_id", "language", "family").unique("item_id"), on="item_id"
    )
    columns = rows.select("item_id", "language", "family", "details").sort("item_id")
    for item_id, language, family, details in columns.iter_rows():
        # The family of a question of the exam is its step, that of others their labelled set.
        domain, exam = "", family
        if family in SETS:
            domain, exam = family, SETS[family].exam
        for judge, result in json.loads(details).get("judges", {}).items():
            if not result["reason"].endswith((WAITS, NO_CALL, WRITES)):
                shares = result.get("probabilities", {}).get(exam, {})
                yield ExamResult(
                    judge, exam, language, item_id, result["status"], result["details"], domain, shares
                )


def keep_passports(
    examined: Iterable[Judge],
    identities: Mapping[str, Mapping[str, str]],
    scores: pl.DataFrame,
    items: pl.DataFrame,
    store: Store,
    *,
    about: Mapping[str, Any],
) -> list[Passport]:
    """Store the passports of a completed exam, and return them; `about` identifies the run."""
    judges = {judge.name: judge for judge in examined}
    earned = passports(exam_results(scores, items))
    for passport in earned:
        name, exam = passport.judge, passport.exam
        temperature = EXAMINED[exam][0].temperature
        identity = _identify(judges[name], identities[name], exam, passport.language, temperature)
        if passport.domain:  # separate: means are corrected by the exam's own
            identity["domain"] = passport.domain
        document = {**passport.as_dict(), "of": identity, **about}
        store.put_document(_path(identity), json.dumps(document, ensure_ascii=False, indent=1).encode())
    return earned


def record_passports(plan: Plan, folder: str) -> list[Passport]:
    """Store the passports that the judges earned in the exam run of a folder, and return them."""
    run = read_run(Path(folder))
    return keep_passports(
        plan.judges,
        run.manifest["judge_identities"],
        load_table(run, "scores"),
        load_table(run, "items"),
        open_store(plan.store),
        about={"run": run.name, "started": run.manifest["started"]},
    )


@dataclass(frozen=True, slots=True)
class PassportFinder:
    """Finds the passports of the judges of a run's suites."""

    suites: Sequence[SuitePlan]
    identities: Mapping[str, Mapping[str, str]]
    store: Store

    def passport(self, suite: Suite, metric: str, judge: str, exam: str, language: str) -> Passport | None:
        """Return a judge's passport at a step; None if it has not taken this exam in this configuration."""
        _, step = step_of(exam)
        # A user's own prompt is the same in all languages.
        if isinstance(step.prompt, str) and language not in languages(step.prompt):
            return None
        plan = next(plan for plan in self.suites if plan.name == suite.name).find_metric(metric)
        judges = (*plan.judges, *plan.members)
        examined = next((entry for entry in judges if entry.name == judge), None)
        if examined is None:
            return None
        if examined.members:
            return self.cascades(suite.name).passport(plan, examined, language)
        prompt = str(plan.options.get("prompt", ""))
        identity = _identify(examined, self.identities[judge], exam, language, plan.temperature, prompt=prompt)
        return self._read(_path(identity))

    def cascades(self, suite: str) -> CascadeFinder:
        """Return what finds when the small judges of a suite's cascades decide alone."""
        plan = next(plan for plan in self.suites if plan.name == suite)
        return CascadeFinder(plan, self.passport, self.identities)

    def _read(self, path: str) -> Passport | None:
        """Return the passport at a path of the store; None if there is none that can be read."""
        try:
            document = json.loads(self.store.document(path) or b"null")
        except ValueError:
            return None
        return read_passport(document) if isinstance(document, dict) else None


def find_statuses(items: pl.DataFrame, finder: PassportFinder) -> list[JudgeStatus]:
    """Return the status of the judges of all judged metrics, in the languages of each suite's items."""
    plans = {plan.name: plan for plan in finder.suites}
    statuses: list[JudgeStatus] = []
    languages_by_suite = items.group_by("suite").agg(pl.col("language").unique())
    for name, suite_languages in sorted(languages_by_suite.iter_rows()):
        if name in plans:
            statuses += find_suite_statuses(plans[name], suite_languages, finder)
    return statuses


def find_suite_statuses(
    plan: SuitePlan, suite_languages: Iterable[str], finder: PassportFinder, *, in_cascades: bool = False
) -> list[JudgeStatus]:
    """Return the status of the judges of a suite's metrics, in the languages of its items.

    `in_cascades`: of a cascade's judges in its place.
    """
    suite_languages = {*suite_languages}
    statuses: list[JudgeStatus] = []
    for metric in plan.judge_metrics:
        judges = [judge.name for judge in (metric.panel_judges if in_cascades else metric.judges)]
        statuses += judge_statuses(plan.suite, metric.name, judges, suite_languages, finder.passport)
    return statuses


def find_missing_exams(
    suite: Suite, judges: Iterable[Judge], statuses: Iterable[JudgeStatus]
) -> dict[str, set[tuple[str, str]]]:
    """Return the steps, by their exams' names, and languages in which judges of a suite lack a passport.

    One of fewer questions than a judge's `exam` asks for lacks it too: the exam was raised since.
    """
    lengths = {judge.name: judge.exam or 0 for judge in judges}
    missing: dict[str, set[tuple[str, str]]] = {}
    for status in statuses:
        is_enough = status.measured and status.n_of_each >= lengths.get(status.judge, 0)
        # With a user's own prompt it is another step than the short form examines.
        if not is_enough and not suite.options(status.metric).get("prompt"):
            missing.setdefault(status.judge, set()).add((status.exam, status.language))
    return missing
