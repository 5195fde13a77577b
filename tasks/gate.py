"""Gate: what a run found against what the configuration asks for; and `results.json`, where both are written."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.tables import ITEMS, SCORES
from metrics.analysis.corrected import corrected_means
from metrics.analysis.document import document
from metrics.analysis.observations import observations
from metrics.analysis.policy import Policy
from metrics.analysis.results import Results, RunTables, build_interim
from metrics.analysis.summary import summarise
from metrics.analysis.verdict import RunVerdict, decide
from tasks.aggregate import circumstances
from tasks.decide import monitor, monitored_suites
from tasks.judges.passports import PassportFinder, statuses_of
from tasks.plan import Identities, Plan
from tasks.report.raw import slugs
from tasks.report.report_data import Tables
from tasks.runtime.storage import open_store
from tasks.stage import stage
from tasks.store.tables import write_atomically


@stage(version=1, cached=False)
def gate(results: Results, policy: Policy) -> RunVerdict:
    """Decide whether a run passes."""
    return decide(results, policy)


def interim(
    plan: Plan, tables: Tables, identities: Identities, waiting: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Return each model's result in the one suite of a plan, as it is when the suite has ended."""
    (one,) = plan.suites
    store = open_store(one.store)
    every = store.read_all(tables.scores, SCORES)
    scores = every.filter(every["metric"].is_in(one.suite.scored_by))
    drawn = store.read_all(tables.items, ITEMS).unique("item_id", maintain_order=True)
    once = observations(scores, drawn)
    found = PassportFinder(plan.suites, identities.judges, store)
    known = circumstances(
        plan,
        corrected=corrected_means(once.scores, once.items, [one.suite], found.passport),
        standings=statuses_of(drawn, found),
        stopping=monitor(store, tables.items, tables.scores, monitored_suites(plan.suites, found)),
        waiting=waiting,
        missing=identities.missing,
    )
    counted = RunTables(once.scores, once.items, summarise(once.scores, once.items))
    verdict = decide(build_interim(counted, known), plan.policy)
    told = ("score", "outcome", "reason", "n_scored", "n_asked", "n_deciding", "gate_on", "k", "mean", "measured")
    return {
        model.model: {
            **{name: getattr(one, name) for name in told},
            "low": one.interval.low,
            "high": one.interval.high,
        }
        for model in verdict.models
        for one in model.suites
    }


def write(results: Results, verdict: RunVerdict, folder: Path) -> dict[str, Any]:
    """Write `results.json`, and `FINAL_RESULTS_<YYYYMMDD>.json` where it applies; return the first's document."""
    found = document(results, verdict)
    write_atomically(folder / "results.json", json.dumps(found, ensure_ascii=False, indent=1).encode())
    write_explained(results, folder)
    return found


def write_explained(results: Results, folder: Path) -> None:
    """Write `FINAL_RESULTS_<YYYYMMDD>.json`; of several models, `FINAL_RESULTS_<YYYYMMDD>_<model>.json` of each.

    Where one model reasoned and another cited, the file of several has both their names.
    """
    day = str(results.run["started"])[:10].replace("-", "")
    listed = results.explainability
    for one, name in zip(listed, slugs([one.name for one in listed]), strict=True):
        suffix = f"_{name}" if len(listed) > 1 else ""
        text = json.dumps(one.published, ensure_ascii=False, indent=2)
        write_atomically(folder / f"FINAL_RESULTS_{day}{suffix}.json", text.encode())
