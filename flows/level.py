"""The search for a model's level: rounds of questions, each where its answer tells most, then a report."""

import time
from pathlib import Path

from prefect import flow

from config.settings import Rerun
from data.batches import Cell, Tables
from data.loading import makers_of
from data.tables import ITEMS, SCORES
from flows.runs import counts_of, describe, identify_all, open_run, provenance
from flows.suite import Numbered, evaluate
from tasks.plan import Plan
from tasks.probe import curves, families, probe
from tasks.query import sharing_failures
from tasks.report.level import LevelReport, write
from tasks.runtime.logs import event
from tasks.runtime.storage import open_cache, open_store
from tasks.runtime.telemetry import traced
from tasks.stage import Ledger, recording
from tasks.store import manifest as manifests
from tasks.summary import aggregate


@flow(name="level", flow_run_name="level of {plan.title}", validate_parameters=False)
def find_level(plan: Plan) -> tuple[LevelReport, list[Path]]:
    """Search the level of the one model at the one suite; return what was found and the files that say so.

    Raises:
        InputError: the model cannot be asked.
    """
    clock = time.monotonic()
    (model,), (of_suite,) = plan.models, plan.suites
    suite = of_suite.suite
    open_cache(plan.store)
    opened = open_run(plan, Rerun())
    ledger = Ledger(run=opened.folder.name)
    shared = sharing_failures(plan.store, ledger.attempt)
    with recording(ledger), shared, traced(plan.collector, ledger.run, ledger.executions) as ended:
        identities = identify_all(plan)
        number = suite.source["n_items"] * len(families(suite)) * len(suite.source["languages"])
        event("suite_started", run=ledger.run, suite=suite.name, items=number, calls=number)
        tables, units = Tables(), makers_of(suite)
        while batch := probe(
            Cell(suite.name, batch=len(tables.items)),
            plan.store,
            tables.items,
            tables.scores,
            suite=suite,
            units=units,
        ):
            rounds: Numbered = {len(tables.items): batch[0]}
            tables = tables.join(evaluate(of_suite, rounds, identities, [model.name], left_out={}))
        summary = aggregate(Cell(), plan.store, tables.items, tables.scores)
        store = open_store(plan.store)
        found = LevelReport(
            run=ledger.run,
            started=opened.started,
            model=model.name,
            seed=suite.seed,
            questions=suite.source["n_items"],
            curves=curves(suite, store.read_all(tables.items, ITEMS), store.read_all(tables.scores, SCORES)),
            requests=counts_of(tables),
            language=plan.report.language,
        )
        ended.exit_code = found.exit_code
    files = write(found, opened.folder)
    manifest = {
        **opened.head,
        "status": "completed",
        **describe(plan, provenance(plan, identities), tables, summary, identities),
        "wall_s": round(time.monotonic() - clock, 3),
        "stages": ledger.rows(),
        "reports": [str(path.relative_to(opened.folder)) for path in files],
    }
    manifests.write(opened.folder, manifest)
    event("run_ended", run=ledger.run, exit_code=found.exit_code, **found.requests)
    return found, files
