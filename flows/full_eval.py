"""The full evaluation: every enabled suite, then one summary and its reports.

`python -m flows.full_eval [--config FILE] [--set path.to.key=value …]`
"""

if __name__ == "__main__":  # before Prefect is imported: --help and errors answer at once
    from flows.command import main

    raise SystemExit(main())

import time
from pathlib import Path

from prefect import flow

from artifacts import manifest as manifests
from config.settings import Again, Settings
from flows.asking import Identities
from flows.basic_control import basic_control
from flows.citation import citation
from flows.cot import cot
from flows.exhibits import exhibit
from flows.rag import guest_of, rag
from flows.runners import running
from flows.runs import Outcome, anew, counts_of, describe, open_run
from tasks.aggregate import aggregate
from tasks.conclude import conclude, took_part
from tasks.logs import event
from tasks.place import open_cache
from tasks.progress import deployed
from tasks.query import identify
from tasks.report.material import Tables
from tasks.report.writing import report
from tasks.stage import Ledger, keeping

FLOWS = {"basic_control": basic_control, "cot": cot, "citation": citation, "rag": rag}


def identify_all(settings: Settings, guest: str) -> Identities:
    """Identify every model and judge that will be asked, before anything is asked or paid.

    Raises:
        InputError: one cannot be reached, or its server does not have it.
    """
    only_guest = bool(guest) and settings.suites == ("rag",)
    judges = settings.judges if {"citation", "rag"} & set(settings.suites) else ()
    models = () if only_guest else settings.models
    # A fresh run's requests are other requests than any remembered ones.
    mark = {"fresh": settings.fresh} if settings.fresh else {}
    return Identities(*({one.name: identify(one) | mark for one in listed} for listed in (models, judges)))


def _times(clock: float) -> dict[str, float]:
    """Return the run's wall time and the CPU time of its whole process, in seconds."""
    return {"wall_s": round(time.monotonic() - clock, 3), "cpu_s": round(time.process_time(), 3)}


@flow(name="full_eval", flow_run_name="{settings.title}")
def full_eval(settings: Settings, again: Again | None = None) -> Outcome:
    """Run every enabled suite on every model; aggregate, conclude and report.

    `again` says what of an earlier run is done again. A stage that is not cached is run; `query` asks what the
    reply cache does not hold.
    """
    again = again or Again()
    clock = time.monotonic()
    open_cache(settings.store)
    guest = guest_of(settings) if "rag" in settings.suites else ""
    took_part(settings, {guest: "rag"} if guest else {})
    opened = open_run(settings, again)
    names = [model.name for model in settings.models]
    event("run_started", run=opened.folder.name, suites=settings.suites, models=names)
    with keeping(Ledger(anew=anew(again, names), run=opened.folder.name, deployed=deployed())) as book:
        identities = identify_all(settings, guest)
        tables = Tables()
        with running(settings) as runner:
            book.distributed = runner is not None
            for suite in settings.suites:
                suite_flow = FLOWS[suite].with_options(task_runner=runner) if runner else FLOWS[suite]
                tables = tables.join(suite_flow(settings, identities))
            book.distributed = False
        summary = aggregate("all", settings.store, tables.items, tables.scores)
        manifest = {**opened.facts, "rerun": again.model_dump(), **describe(settings, tables, summary, identities)}
        concluded = conclude(
            "all",
            settings,
            tables.items,
            tables.scores,
            summary,
            run={**opened.facts, "configuration": manifest["configuration"], "versions": manifest["versions"]},
            folder=str(opened.folder),
            guests={guest: "rag"} if guest else {},
        )
        manifest |= {**_times(clock), "stages": book.rows()}
        reports = report(
            "all",
            settings,
            tables,
            summary,
            started=opened.started,
            folder=str(opened.folder),
            manifest=manifest,
            results=concluded.document,
        )
        manifest |= {
            "status": "completed",
            **_times(clock),
            "stages": book.rows(),
            "reports": [str(Path(path).relative_to(opened.folder)) for path in reports],
        }
        manifests.write(opened.folder, manifest)
    outcome = Outcome(
        run=opened.folder.name,
        folder=str(opened.folder),
        reports=reports,
        summary=summary,
        requests=counts_of(tables),
        results=concluded.document,
        stages=book.rows(),
        exit_code=concluded.exit_code,
    )
    exhibit(outcome, settings)
    return outcome
