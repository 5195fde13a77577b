"""The full evaluation: every enabled suite, then one summary and its reports.

`python -m flows.full_eval [--config FILE] [--set path.to.key=value …]`
"""

if __name__ == "__main__":  # before Prefect is imported: --help and errors answer at once
    from flows.cli.application import alias

    raise SystemExit(alias("flows.full_eval", ("run",))())

import time
from collections.abc import Callable
from functools import partial

from prefect import flow

from config.settings import Rerun, Settings
from data.batches import Cell
from data.files import parsed_once
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
from flows.variants import part_of, variant
from tasks.aggregate import RunContext, results
from tasks.compare.baseline import check as check_baseline
from tasks.decide import monitored_suites
from tasks.gate import gate
from tasks.models.progress import has_pages
from tasks.plan import Plan, resolve
from tasks.report.final_results import write
from tasks.report.writing import report
from tasks.runtime.logs import event
from tasks.runtime.storage import open_cache
from tasks.summary import aggregate


@flow(name="full_eval", flow_run_name="{settings.title}")
@parsed_once()
def full_eval(settings: Settings, again: Rerun | None = None) -> RunResult:
    """Run every enabled suite on every model; aggregate, gate and report.

    `again` says what of an earlier run is done again. A stage that is not cached is run; `query` asks what the
    reply cache does not hold.
    """
    return evaluate(resolve(settings), again or Rerun())


def planned(plan: Plan) -> Callable[[Settings, Rerun], RunResult]:
    """Return a start of the same flow for a plan that is resolved already, and for settings that are checked."""

    def run(settings: Settings, again: Rerun) -> RunResult:
        del settings  # which Prefect's pages show
        return evaluate(plan, again)

    def start(settings: Settings, again: Rerun) -> RunResult:
        if has_pages():
            # Prefect would take a JSON schema's `$ref` for a reference to a block of its own.
            return variant(full_eval, should_validate_parameters=False, fn=run)(settings, again)
        # Nobody would see the parameters.
        return part_of(partial(run, settings, again), full_eval.name, run=settings.title, like=full_eval)()

    return start


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
        manifest = {**run.head, "rerun": again.model_dump(), **described}
        named = {name: manifest[name] for name in (*run.head, "configuration", "versions")}
        conduct = RunContext(run=named, provenance=known, waiting=waiting)
        found = results(Cell(), plan, tables, summary, identities=identities, conduct=conduct)
        verdict = gate(Cell(), found, plan.policy)
        document = write(found, verdict, run.folder)
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
