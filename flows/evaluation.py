"""Evaluate a plan: identify whom it asks, run every suite, then one summary with its gate, reports and display."""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.events import emit_event

from basic_control.config.settings import Model, Rerun
from basic_control.data.batches import Cell, StoredIdentity
from basic_control.data.characters import make_inert
from basic_control.data.documents import ABSENT, NEWLY_APART
from basic_control.data.errors import InputError
from basic_control.data.exits import Exit
from basic_control.flows.earlier import settings_of
from basic_control.flows.preflight import check_rerun
from basic_control.flows.runs import RunResult, build_manifest, newly_apart, open_run, provenance
from basic_control.flows.suite import run_suites
from basic_control.tasks.aggregate import aggregate
from basic_control.tasks.compare.baseline import check_baseline
from basic_control.tasks.decide import list_monitored
from basic_control.tasks.estimate.stored import find_unstored
from basic_control.tasks.gate import gate
from basic_control.tasks.held import HeldReplies
from basic_control.tasks.judges.cascades import join_identities
from basic_control.tasks.models.identities import remember_identity
from basic_control.tasks.models.progress import has_pages, is_deployed
from basic_control.tasks.plan import Identities, Plan
from basic_control.tasks.plan_judges import check_judges
from basic_control.tasks.plan_remarks import describe_absence
from basic_control.tasks.query import find_identity
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.raw import write_results
from basic_control.tasks.report.screen import screen
from basic_control.tasks.report.writing import report
from basic_control.tasks.results import results
from basic_control.tasks.runtime.logs import log_event
from basic_control.tasks.runtime.storage import open_cache


def evaluate(plan: Plan, again: Rerun) -> RunResult:
    """Run a plan as `full_eval` does."""
    clock = time.monotonic()
    open_cache(plan.store)  # fail on an unusable cache before anything is asked
    # Everything that can be refused is refused before the run's folder is made.
    recorded = None
    if again.replies:
        recorded = HeldReplies(plan.store, settings_of(plan.store.runs, again.replies)[1])
    identities = identify_all(plan, recorded)
    facts = provenance(plan, identities)
    check_baseline(plan.baseline, facts, [*plan.members])
    check_rerun(plan, again)
    apart = newly_apart(plan)
    language = plan.report.language
    absences = [describe_absence(*key, identity, language) for key, identity in identities.absent.items()]
    run = open_run(plan, again, clock, facts["files"])  # refusals up to here leave no run behind
    log_event("run_started", run=run.ledger.run, suites=plan.suite_names, models=plan.model_names)
    with run.record(plan) as ended:
        finished = run_suites(plan, identities)
        tables = finished.tables
        summary = aggregate(Cell(), plan.store, tables.items, tables.scores, list_monitored(plan.suites))
        described = build_manifest(plan, facts, tables, summary, identities)
        manifest: dict[str, Any] = {
            **run.head,
            "rerun": again.model_dump(),
            "criteria": run.criteria,
            ABSENT: absences,
            **described,
        }
        shown_facts = {name: manifest[name] for name in (*run.head, "configuration", "versions")}
        if absences:
            shown_facts[ABSENT] = absences
        if apart:
            shown_facts[NEWLY_APART] = apart
        # The verdict is kept beside the results before any report is written: a report that fails loses neither.
        final_results = results(Cell(), plan, tables, summary, finished.findings, run=shown_facts, provenance=facts)
        verdict = gate(Cell(), final_results, plan.policy)
        write_results(final_results, verdict, run.folder, copy=plan.report.results)
        manifest |= run.measure_use()
        folder = str(run.folder)
        reports = report(
            Cell(), plan, tables, summary, folder=folder, manifest=manifest, results=final_results, verdict=verdict
        )
        run.close(manifest, reports)
        ended.exit_code = int(verdict.exit_code)
    outcome = RunResult(
        run=run.ledger.run,
        folder=folder,
        reports=reports,
        requests=manifest["requests"],
        results=final_results,
        verdict=verdict,
        stages=run.ledger.rows(),
        wall_s=manifest["wall_s"],
        exit_code=int(verdict.exit_code),
    )
    publish(outcome, plan)
    return outcome


CONCLUDED = "basic-control.run.concluded"
"""The event of a deployed run's end; its payload has the exit code and each model's outcome."""
_GATES: dict[int, str] = {Exit.PASSED: "passed", Exit.UNDECIDED: "undecided"}


def rows(outcome: RunResult, plan: Plan) -> list[dict[str, str]]:
    """Return the table of a run's screen for Prefect's pages: one row per model, cells escaped for Markdown."""
    with use_language(plan.report.language):
        table = screen(outcome.results, outcome.verdict, plan, outcome.requests).table()
    return [*map(_escape_row, table.records())]


def _escape_row(row: Mapping[str, str]) -> dict[str, str]:
    return {name: make_inert(text) for name, text in row.items()}


def publish(outcome: RunResult, plan: Plan) -> None:
    """Show a finished run in Prefect's interface and log its end."""
    if has_pages():
        text = next(Path(path) for path in outcome.reports if path.endswith(".md")).read_text(encoding="utf-8")
        create_markdown_artifact(text, key="report", description=outcome.run)
        create_table_artifact(rows(outcome, plan), key="summary", description=outcome.run)
    verdicts: dict[str, Any] = {model.model: model.overall.decided.outcome for model in outcome.verdict.models}
    if is_deployed():
        passed = "off" if plan.policy.gate == "off" else _GATES.get(outcome.exit_code, "below")
        folder = Path(outcome.folder).resolve()
        create_link_artifact(folder.as_uri(), link_text=str(folder), key="folder", description=outcome.run)
        emit_event(
            CONCLUDED,
            resource={"prefect.resource.id": f"basic-control.run.{outcome.run}", "basic-control.gate": passed},
            payload={"exit_code": outcome.exit_code, "outcomes": verdicts, "requests": outcome.requests},
        )
    log_event("run_ended", run=outcome.run, exit_code=outcome.exit_code, outcomes=verdicts, **outcome.requests)


def identify_all(plan: Plan, replies: HeldReplies | None = None) -> Identities:
    """Identify every model and judge that will be asked, before anything is asked or paid for.

    With the replies of an earlier run no model is asked.

    A model that cannot be asked does not stop the others: it is listed as missing, and its verdict is an error.
    Where a server does not answer and all replies that the run needs of it are stored, these are used.

    Raises:
        InputError: no model, or one of the judges, can be reached, or its server does not have it; or a judged
            metric has no judge.
    """
    check_judges(plan)
    # A fresh run's requests must differ from all cached ones.
    mark = {}
    if plan.means.fresh:
        mark["fresh"] = plan.means.fresh
    models: dict[str, Mapping[str, str]] = {}
    missing: dict[str, str] = {}
    absent: dict[tuple[str, str], StoredIdentity] = {}

    def identify(role: str, model: Model) -> dict[str, str]:
        identity = find_identity(plan.store, model)
        remember_identity(plan.store, model, identity)
        if identity.reason:
            absent[role, model.name] = identity
        return {**identity.values, **mark}

    if replies:
        models = dict(replies.identities)
    else:
        for model in plan.models:
            try:
                models[model.name] = identify("model", model)
            except InputError as error:
                missing[model.name] = str(error)
    if missing and not models:
        raise InputError("\n".join(missing.values()))
    judges = {judge.name: identify("judge", judge) for judge in plan.judges}
    identities = Identities(models, join_identities(plan.suites, judges), missing, absent)
    if absent:
        identities = _require_stored(plan, identities, replies)
    for name, why in identities.missing.items():
        log_event("model_missing", level=logging.ERROR, model=name, why=why)
    return identities


def _require_stored(plan: Plan, identities: Identities, replies: HeldReplies | None) -> Identities:
    """Count absent models as missing where the run lacks a reply of theirs.

    Raises:
        InputError: no model is left, or a reply of an absent judge is lacking.
    """
    models, missing, absent = dict(identities.models), dict(identities.missing), dict(identities.absent)
    unstored = find_unstored(plan, identities, replies)
    for (role, name), text in unstored.items():
        del absent[role, name]
        if role == "model":
            del models[name]
            missing[name] = text
    if unstored and (not models or any(role == "judge" for role, _ in unstored)):
        raise InputError("\n".join(dict.fromkeys([*missing.values(), *unstored.values()])))
    return replace(identities, models=models, missing=missing, absent=absent)
