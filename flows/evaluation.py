"""One evaluation by a plan: every suite, then one summary, its gate and its reports."""

import time
from typing import Any

from config.settings import Rerun
from data.batches import Cell
from flows.interface import publish
from flows.runs import (
    RunResult,
    check_rerun,
    describe,
    identify_all,
    open_run,
    provenance,
)
from flows.suite import run_suites
from tasks.aggregate import RunContext, results
from tasks.compare.baseline import check as check_baseline
from tasks.decide import monitored_suites
from tasks.gate import gate
from tasks.plan import Plan
from tasks.report.raw import write_results
from tasks.report.writing import report
from tasks.runtime.logs import event
from tasks.runtime.storage import open_cache
from tasks.summary import aggregate


def evaluate(plan: Plan, again: Rerun) -> RunResult:
    """Do what `full_eval` does by a plan."""
    clock = time.monotonic()
    open_cache(plan.store)  # a cache that cannot be opened is said before anything is asked
    identities = identify_all(plan)
    known = provenance(plan, identities)
    check_baseline(plan.baseline, known)
    check_rerun(plan, again)
    run = open_run(plan, again, clock)  # what is refused until here leaves no run behind
    event("run_started", run=run.ledger.run, suites=plan.suite_names, models=plan.configured)
    with run.recorded(plan) as ended:
        tables, waiting = run_suites(plan, identities)
        summary = aggregate(Cell(), plan.store, tables.items, tables.scores, monitored_suites(plan.suites))
        described = describe(plan, known, tables, summary, identities)
        manifest: dict[str, Any] = {**run.head, "rerun": again.model_dump(), **described}
        named = {name: manifest[name] for name in (*run.head, "configuration", "versions")}
        conduct = RunContext(run=named, provenance=known, waiting=waiting)
        found = results(Cell(), plan, tables, summary, identities=identities, conduct=conduct)
        verdict = gate(Cell(), found, plan.policy)
        document = write_results(found, verdict, run.folder)
        manifest |= run.taken()
        folder = str(run.folder)
        reports = report(Cell(), plan, tables, summary, folder=folder, manifest=manifest, results=document)
        run.close(manifest, reports)
        ended.exit_code = int(verdict.exit_code)
    outcome = RunResult(
        run=run.ledger.run,
        folder=folder,
        reports=reports,
        requests=manifest["requests"],
        results=document,
        stages=run.ledger.rows(),
        wall_s=manifest["wall_s"],
        exit_code=int(verdict.exit_code),
    )
    publish(outcome, plan)
    return outcome
