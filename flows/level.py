"""Search for a model's level in rounds of maximally informative questions, and report it."""

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
from tasks.report.level import LevelReport, write
from tasks.runtime.logs import event
from tasks.runtime.storage import open_cache, open_store
from tasks.summary import aggregate


@flow(name="level", flow_run_name="level of {plan.title}", validate_parameters=False)
def find_level(plan: Plan) -> tuple[LevelReport, list[Path]]:
    """Search for the level of the plan's one model on its one suite; return the report and the files written.

    Raises:
        InputError: the model cannot be asked.
    """
    (model,), (of_suite,) = plan.models, plan.suites
    suite = of_suite.suite
    open_cache(plan.store)
    opened = open_run(plan, Rerun())
    run = opened.ledger.run
    with opened.recorded(plan) as ended:
        identities = identify_all(plan)
        number = suite.source["n_items"] * len(families(suite)) * len(suite.source["languages"])
        event("suite_started", run=run, suite=suite.name, items=number, calls=number)
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
            run=run,
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
    described = describe(plan, provenance(plan, identities), tables, summary, identities)
    opened.close({**opened.head, **described}, files)
    event("run_ended", run=run, exit_code=found.exit_code, **found.requests)
    return found, files
