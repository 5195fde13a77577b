"""Drive the product from a drawn run's tables to its results, verdict and files; no flow, no server."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from config.settings import Settings
from data.batches import Batch, Cell, QueryResult, Tables
from data.records import Metric
from data.tables import ITEMS, REQUESTS, RESPONSES
from data.units import identity_of
from flows.runs import provenance
from metrics.analysis.document import document as document_of
from metrics.analysis.document import read
from tasks.aggregate import aggregate
from tasks.findings import find_suite
from tasks.gate import gate
from tasks.generate import items_of
from tasks.plan import Identities, resolve
from tasks.report import exports, junit, markdown
from tasks.report.report_data import ReportData, gather
from tasks.results import results
from tasks.score import measure
from tasks.store.tables import Store
from tests.oracle.draws import Reply, Run


@dataclass(frozen=True)
class Output:
    """What the product says of a run: results.json, the exit code, JUnit's cases, Markdown, and its CSV tables."""

    results: Mapping[str, Any]
    exit_code: int
    cases: tuple[ET.Element, ...]
    markdown: str
    tables: Mapping[str, list[dict[str, str]]]
    data: ReportData


def settings_of(run: Run, folder: Path) -> Settings:
    """Return a run's configuration; its rows are written to files."""
    suites = []
    for suite in run.suites:
        path = folder / f"{suite.name}.jsonl"
        lines = [json.dumps({"question": q.text, "answer": q.answer, **q.columns}) for q in suite.questions]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        suites.append({
            "name": suite.name, "items": {"data": str(path)}, "prompt": "{{ question }}",
            "metrics": {suite.metric: {}}, "threshold": suite.threshold, "weight": suite.weight,
            **suite.options,
        })  # fmt: skip
    models = [{"name": name, "provider": "ollama"} for name in run.models]
    store = {"root": str(folder / "store"), "runs": str(folder / "runs")}
    return Settings.model_validate(
        {"models": models, "suites": suites, "threshold": run.threshold, "gate": run.gate,
         "undecided": run.undecided, "repeats": run.repeats, "store": store}
    )  # fmt: skip


def _request(item: str, model: str, repeat: int) -> dict[str, Any]:
    return {
        "request_id": f"{item} {model} {repeat}", "item_id": item, "model": model, "step": "answer", "key": "",
        "repeat": repeat, "payload": "{}",
    }  # fmt: skip


def _response(request_id: str, reply: Reply) -> dict[str, Any]:
    ended = {"error": "the server answered 500", "error_kind": "server"} if reply.failed else {}
    finish = None if reply.failed else "length" if reply.cut else "stop"
    text = None if reply.failed else reply.text
    return {
        "request_id": request_id, "text": text, "finish_reason": finish, "latency_s": 0.1, "cached": False,
        "tokens_in": 10, "tokens_out": 10, **ended,
    }  # fmt: skip


def _tables(run: Run, given: Settings, store: Store) -> dict[str, Tables]:
    """Write what each suite asked, and score it; return the suites' tables."""
    tables = {}
    for drawn, suite in zip(run.suites, given.suites, strict=True):
        rows = ITEMS.frame(items_of(suite))
        ref = store.write(ITEMS, rows)
        asked, scores = [], []
        for model in run.models:
            replies = [
                (_request(row["item_id"], model, repeat), drawn.replies[model, row["index"], repeat])
                for row in rows.iter_rows(named=True)
                for repeat in range(run.repeats)
            ]
            requests = store.write(REQUESTS, REQUESTS.frame(request for request, _ in replies))
            answers = RESPONSES.frame(_response(request["request_id"], reply) for request, reply in replies)
            responses = store.write(RESPONSES, answers)
            batch = Batch(Cell(suite.name, model), ref, requests, responses)
            unit = identity_of(Metric, drawn.metric)
            scores.append(measure.function(given.store, batch, metric=unit, options=suite.options(drawn.metric)))
            n = len(replies)
            asked.append(QueryResult(requests, responses, n, 0, n, 0, tokens_in=n, tokens_out=n, span_s=1.0))
        tables[suite.name] = Tables(items=[ref], asked=asked, scores=scores)
    return tables


def drive(run: Run, folder: Path) -> Output:
    """Score, measure, decide and write a run."""
    given = settings_of(run, folder)
    store, plan = Store(given.store.root), resolve(given)
    parts = _tables(run, given, store)
    identities = Identities({name: {"provider": "ollama"} for name in run.models}, {})
    findings = [find_suite(plan, suite, parts[suite.name], identities, 0) for suite in plan.suites]
    tables = Tables(
        items=[ref for part in parts.values() for ref in part.items],
        asked=[result for part in parts.values() for result in part.asked],
        scores=[ref for part in parts.values() for ref in part.scores],
    )
    summary = aggregate.function(given.store, tables.items, tables.scores, ())
    facts = {"run": "20261105_140233", "started": "2026-11-05T14:02:33+00:00"}
    found = results.function(plan, tables, summary, findings, run=facts, provenance=provenance(plan, identities))
    document = document_of(found, gate.function(found, plan.policy))
    n = sum(result.total for result in tables.asked)
    manifest = {
        "schema": 1, **facts, "versions": {}, "sandbox": {}, "wall_s": 1.0, "tables": {},
        "requests": {"asked": n, "cached": 0, "answered": n, "failed": 0},
    }  # fmt: skip
    data = gather(store, tables, summary, plan=plan, manifest=manifest, results=document)
    return written(data, folder)


def written(data: ReportData, folder: Path) -> Output:
    """Write a run's files and read them back."""
    _, verdict = read(data.results)
    exports.write(data, folder)
    tables = {}
    for name in ("scores", "summary", "verdict"):
        with (folder / "tables" / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
            tables[name] = list(csv.DictReader(file))
    text = markdown.write(data, folder).read_text(encoding="utf-8")
    cases = tuple(junit.compose(data).iter("testcase"))
    return Output(json.loads(json.dumps(data.results)), int(verdict.exit_code), cases, text, tables, data)
