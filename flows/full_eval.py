"""The full evaluation: every enabled suite, then one summary and its reports.

`python -m flows.full_eval [--config FILE] [--set path.to.key=value …]`
"""

if __name__ == "__main__":  # before Prefect is imported: --help and errors answer at once
    from flows.cli.application import alias

    raise SystemExit(alias("flows.full_eval", ("run",))())

import logging
import time
from functools import cache, partial
from pathlib import Path

from prefect import flow

from config.settings import Rerun, Settings
from data.batches import Cell
from data.errors import InputError
from data.files import parsed_once
from flows.interface import publish
from flows.runners import running
from flows.runs import RunResult, anew, counts_of, describe, facts, open_run, recorded
from flows.suite import run_suite
from tasks.aggregate import Conduct, results
from tasks.compare.baseline import check
from tasks.decide import watched
from tasks.gate import gate, interim, policy_of, write
from tasks.models.progress import deployed
from tasks.models.systems import Identities, asked_judges, asked_models, took_part
from tasks.query import identify, sharing_failures
from tasks.report.material import Tables
from tasks.report.writing import report
from tasks.runtime.logs import event
from tasks.runtime.storage import open_cache
from tasks.runtime.telemetry import traced
from tasks.stage import Ledger, keeping
from tasks.store import manifest as manifests
from tasks.summary import aggregate


def identify_all(settings: Settings) -> Identities:
    """Identify every model and judge that will be asked, before anything is asked or paid.

    A model that cannot be asked does not stop the others: it is missing, and its verdict an error.

    Raises:
        InputError: no model, or one of the judges, can be reached, or its server does not have it.
    """
    # A fresh run's requests are other requests than any remembered ones.
    mark = {"fresh": settings.fresh} if settings.fresh else {}
    models: dict[str, dict[str, str]] = {}
    missing: dict[str, str] = {}
    for one in asked_models(settings):
        try:
            models[one.name] = identify(one) | mark
        except InputError as error:
            missing[one.name] = str(error)
    if missing and not models:
        raise InputError("\n".join(missing.values()))
    for name, why in missing.items():
        event("model_missing", level=logging.ERROR, model=name, why=why)
    return Identities(models, {one.name: identify(one) | mark for one in asked_judges(settings)}, missing)


def _times(clock: float) -> dict[str, float]:
    """Return the run's wall time and the CPU time of its whole process, in seconds."""
    return {"wall_s": round(time.monotonic() - clock, 3), "cpu_s": round(time.process_time(), 3)}


@flow(name="full_eval", flow_run_name="{settings.title}")
@parsed_once()
def full_eval(settings: Settings, again: Rerun | None = None) -> RunResult:
    """Run every enabled suite on every model; aggregate, gate and report.

    `again` says what of an earlier run is done again. A stage that is not cached is run; `query` asks what the
    reply cache does not hold.
    """
    again = again or Rerun()
    clock = time.monotonic()
    open_cache(settings.store)
    took_part(settings)
    identities = identify_all(settings)
    check(settings, facts(settings, identities))
    opened = open_run(settings, again)  # what is refused until here leaves no run behind
    names = [model.name for model in settings.models]
    event("run_started", run=opened.folder.name, suites=settings.named, models=names)
    book = Ledger(anew=anew(again), failed=again.failed, run=opened.folder.name, deployed=deployed())
    book.earlier = cache(partial(manifests.scored_before, Path(settings.store.runs)))
    if again.truncated:
        book.recorded = recorded(settings, again)
    shared = sharing_failures(settings.store, book.attempt)
    with keeping(book), shared, traced(settings, book.run, book.executions) as ended:
        tables, waiting = Tables(), dict[str, int]()
        with running(settings) as runner:
            book.distributed = runner is not None
            for suite in settings.suites:
                named = run_suite.with_options(name=suite.name, flow_run_name=suite.name, task_runner=runner)
                part = named(settings, suite, identities)
                waiting[suite.name] = sum(one.submitted for one in (*part.asked, *part.judged))
                tables = tables.join(part)
                if changed := book.changed(suite.name):
                    event("scored_again", run=opened.folder.name, suite=suite.name, changed=changed)
                models = interim(settings, suite, part, identities, waiting)
                event("suite_ended", run=opened.folder.name, suite=suite.name, models=models)
            book.distributed = False
        summary = aggregate(Cell(), settings.store, tables.items, tables.scores, watched(settings))
        manifest = {**opened.facts, "rerun": again.model_dump(), **describe(settings, tables, summary, identities)}
        conduct = Conduct(
            run={
                **opened.facts,
                "configuration": manifest["configuration"],
                "versions": manifest["versions"],
            },
            facts=facts(settings, identities),
            waiting=waiting,
            labelled=str(Path(settings.store.runs) / of) if (of := again.resume or again.of) else "",
        )
        found = results(Cell(), settings, tables, summary, identities=identities, conduct=conduct)
        verdict = gate(Cell(), found, policy_of(settings))
        document = write(found, verdict, opened.folder)
        manifest |= {**_times(clock), "stages": book.rows()}
        reports = report(
            Cell(),
            settings,
            tables,
            summary,
            started=opened.started,
            folder=str(opened.folder),
            manifest=manifest,
            results=document,
        )
        manifest |= {
            "status": "completed",
            **_times(clock),
            "stages": book.rows(),
            "reports": [str(Path(path).relative_to(opened.folder)) for path in reports],
        }
        manifests.write(opened.folder, manifest)
        ended.exit_code = int(verdict.exit_code)
    outcome = RunResult(
        run=opened.folder.name,
        folder=str(opened.folder),
        reports=reports,
        summary=summary,
        requests=counts_of(tables),
        results=document,
        stages=book.rows(),
        exit_code=int(verdict.exit_code),
    )
    publish(outcome, settings)
    return outcome
