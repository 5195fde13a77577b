"""Finished runs of given responses, made by the stages themselves without a server: nothing is asked for them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from basic_control.config.settings import Settings
from basic_control.data.batches import Batch, Cell, Ref
from basic_control.data.loading import responses_of
from basic_control.data.records import Metric
from basic_control.data.tables import ITEMS
from basic_control.data.units import identity_of
from basic_control.flows.runs import provenance
from basic_control.tasks.generate import items_of, record_given
from basic_control.tasks.plan import Identities, resolve
from basic_control.tasks.score import measure
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.tables import Store


def written(path: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as JSONL; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def suite(data: str, name: str = "own", **changes: Any) -> dict[str, Any]:
    """Declare a suite of a file's questions, answers and responses."""
    given_so = {"name": name, "items": {"data": data}, "prompt": "{{ question }}", "metrics": {"exact_match": {}}}
    return {**given_so, "responses_of": "app", **changes}


def recorded_run(folder: Path, name: str, suites: Iterable[Mapping[str, Any]], **changes: Any) -> Path:
    """Score the responses that suites' data holds; return the run's folder, with the tables that a run leaves."""
    given_so = {
        "suites": [*suites],
        "store": {"root": str(folder / "store"), "runs": str(folder / "runs")},
        **changes,
    }
    settings = Settings.model_validate(given_so)
    store = Store(settings.store.root)
    tables: dict[str, list[Ref]] = {one: [] for one in ("items", "requests", "responses", "scores")}
    for one in settings.suites:
        items = store.write(ITEMS, ITEMS.frame(items_of(one)))
        asked = record_given.function(settings.store, items, model=responses_of(one))
        batch = Batch(Cell(one.name), items, asked.requests, asked.responses)
        scores = [
            measure.function(settings.store, batch, metric=identity_of(Metric, metric), options=one.options(metric))
            for metric in one.metric_names
        ]
        for kind, refs in (("items", [items]), ("requests", [asked.requests]), ("responses", [asked.responses])):
            tables[kind] += refs
        tables["scores"] += scores
    run = folder / "runs" / name
    run.mkdir(parents=True)
    listed = {
        kind: [{"table": r.table, "digest": r.digest, "rows": r.rows} for r in refs]
        for kind, refs in tables.items()
    }
    manifests.write(
        run,
        {
            "schema": manifests.SCHEMA,
            "run": name,
            "started": "2026-01-01T00:00:00+00:00",
            "status": "completed",
            **provenance(resolve(settings), Identities({}, {})),
            "tables": listed,
        },
    )
    return run
