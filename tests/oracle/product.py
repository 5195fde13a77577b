"""Drive the product from a drawn run's tables to its results, verdict and files; no flow, no server."""

import csv
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from basic_control.config.settings import Settings
from basic_control.data.batches import Batch, Cell, QueryResult, Ref, Tables
from basic_control.data.deciding import parts_of_all
from basic_control.data.records import Metric
from basic_control.data.tables import ITEMS, REQUESTS, RESPONSES, SCORES
from basic_control.data.units import identity_of
from basic_control.flows.runs import provenance
from basic_control.metrics.analysis.document import document as document_of
from basic_control.metrics.analysis.results import Results, SuiteFindings
from basic_control.metrics.analysis.stopping import cut_into_rounds
from basic_control.tasks.aggregate import aggregate
from basic_control.tasks.decide import MonitoredSuite, decide, list_monitored
from basic_control.tasks.findings import find_suite
from basic_control.tasks.gate import gate
from basic_control.tasks.generate import items_of
from basic_control.tasks.plan import Identities, Plan, SuitePlan, resolve
from basic_control.tasks.report import exports, junit, markdown
from basic_control.tasks.report.report_data import gather
from basic_control.tasks.results import results
from basic_control.tasks.score import join_metrics, measure
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.tables import Store
from tests.helpers.inside import call
from tests.oracle.cases import Reply, Run, Suite

REASONS = {"judge_failed": "rate: unparsable reply", "not_applicable": ""}
BEFORE, NOW = "20261104_140233", "20261105_140233"


@dataclass(frozen=True)
class Output:
    """What the product says of a run: results.json, the exit code, JUnit's cases, Markdown, and its CSV tables."""

    results: Mapping[str, Any]
    exit_code: int
    cases: tuple[ET.Element, ...]
    markdown: str
    tables: Mapping[str, list[dict[str, str]]]


@dataclass(frozen=True)
class Measured:
    """A run whose replies are scored: its plan, its store, its tables, and what each suite shows."""

    plan: Plan
    store: Store
    tables: Tables
    identities: Identities
    findings: tuple[SuiteFindings, ...]


def configuration(run: Run, folder: Path, *, is_recorded: bool = False, **keys: Any) -> dict[str, Any]:
    """Write a run's rows to files, with their replies where these are recorded; return its configuration."""
    folder.mkdir(exist_ok=True)
    suites = []
    for suite in run.suites:
        path, rows = folder / f"{suite.name}.jsonl", []
        for row, question in enumerate(suite.questions):
            rows.append({"question": question.text, "answer": question.answer, **question.columns})
            if is_recorded:
                reply = suite.replies[run.models[0], row, 0]
                rows[-1] |= {"response": reply.text, "finish_reason": "length" if reply.cut else "stop"}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        suites.append({
            "name": suite.name, "items": {"data": str(path)}, "prompt": "{{ question }}", "metrics": suite.metrics,
            "threshold": suite.threshold, "score": suite.score, **suite.options,
            **({} if suite.weight is None else {"weight": suite.weight}),
            **({"responses_of": run.models[0]} if is_recorded else {}),
        })  # fmt: skip
    return {
        "models": [] if is_recorded else [{"name": name, "provider": "ollama"} for name in run.models],
        "suites": suites, "threshold": run.threshold, "gate": run.gate, "undecided": run.undecided,
        "repeats": run.repeats, "store": {"root": str(folder / "store"), "runs": str(folder / "runs")},
        "report": {"html": False}, **keys,
    }  # fmt: skip


def _response(request_id: str, reply: Reply) -> dict[str, Any]:
    ended = {"text": reply.text, "finish_reason": "length" if reply.cut else "stop"}
    if reply.failed:
        ended = {
            "text": None,
            "finish_reason": None,
            "error": f"no reply: {reply.cause}",
            "error_kind": reply.cause,
        }
    counts = {"latency_s": 0.1, "cached": False, "tokens_in": 10, "tokens_out": 10}
    return {"request_id": request_id, **ended, **counts}


def _ask(drawn: Suite, planned: SuitePlan, ref: Ref, model: str) -> Tables:
    """Write what a model was asked of a batch of items, and score its replies; return the tables but the items."""
    suite, settings = planned.suite, planned.store
    store = Store(settings.root)
    asks: list[dict[str, Any]] = []
    replies: dict[tuple[str, int], Reply] = {}
    for row in store.read(ref).iter_rows(named=True):
        for repeat in range(planned.repeats):
            ask = {"request_id": f"{row['item_id']} {model} {repeat}", "item_id": row["item_id"], "model": model}
            asks.append({**ask, "step": "answer", "key": "", "repeat": repeat, "payload": "{}"})
            replies[row["item_id"], repeat] = drawn.replies[model, row["index"], repeat]
    answers = [_response(ask["request_id"], replies[ask["item_id"], ask["repeat"]]) for ask in asks]
    requests = store.write(REQUESTS, REQUESTS.frame(asks))
    responses = store.write(RESPONSES, RESPONSES.frame(answers))
    batch = Batch(Cell(suite.name, model), ref, requests, responses)
    scores = []
    for name in drawn.metrics:
        unit, options = identity_of(Metric, name), suite.options(name)
        rows = store.read(measure.function(settings, batch, metric=unit, options=options)).to_dicts()
        for row in rows:  # as a metric leaves a reply for which it has no value, if it is drawn so
            reply = replies[row["item_id"], row["repeat"]]
            if reply.state and reply.of in {"", name}:
                row |= {"value": None, "status": reply.state, "reason": REASONS[reply.state]}
        scores.append(store.write(SCORES, SCORES.frame(rows)))
    if parts := parts_of_all(suite):
        scores.append(join_metrics.function(settings, scores, parts=parts))
    n = len(asks)
    query = QueryResult(requests, responses, n, 0, n, 0, tokens_in=n, tokens_out=n, span_s=1.0)
    return Tables(queries=[query], scores=scores)


def _ask_suite(run: Run, drawn: Suite, planned: SuitePlan, followed: MonitoredSuite | None) -> Tables:
    """Ask each model a suite, in rounds until it is decided where it is followed."""
    suite, targets, tables = planned.suite, [*run.models], Tables()
    items = ITEMS.frame(items_of(suite))
    for batch in cut_into_rounds(items, suite, suite.stop) if suite.stop else [items]:
        if not targets:
            break
        ref = Store(planned.store.root).write(ITEMS, batch)
        tables.items.append(ref)
        for model in targets:
            answered = _ask(drawn, planned, ref, model)
            tables.queries.extend(answered.queries)
            tables.scores.extend(answered.scores)
        if followed:
            targets = decide.function(planned.store, tables.items, tables.scores, monitored=followed)
    return tables


def measure_run(run: Run, declared: Mapping[str, Any]) -> Measured:
    """Score and measure a run by its configuration."""
    plan = resolve(Settings.model_validate(declared))
    identities = Identities({name: {"provider": "ollama"} for name in run.models}, {})
    followed = {monitored.suite.name: monitored for monitored in list_monitored(plan.suites)}
    tables, findings = Tables(), []
    for drawn, planned in zip(run.suites, plan.suites, strict=True):
        part = _ask_suite(run, drawn, planned, followed.get(drawn.name))
        findings.append(find_suite(plan, planned, part, identities, 0))
        tables.items.extend(part.items)
        tables.queries.extend(part.queries)
        tables.scores.extend(part.scores)
    return Measured(plan, Store(plan.store.root), tables, identities, tuple(findings))


def manifest_of(measured: Measured, name: str) -> dict[str, Any]:
    tables = measured.tables
    refs = {
        "items": tables.items, "requests": [result.requests for result in tables.queries],
        "responses": [result.responses for result in tables.queries], "scores": tables.scores,
    }  # fmt: skip
    written = {
        kind: [{"table": ref.table, "digest": ref.digest, "rows": ref.rows} for ref in of_kind]
        for kind, of_kind in refs.items()
    }
    n = sum(result.total for result in tables.queries)
    return {
        "schema": manifests.SCHEMA, "run": name, "started": "2026-11-05T14:02:33+00:00", "status": "completed",
        "versions": {}, "sandbox": {}, "wall_s": 1.0, "tables": written,
        "requests": {"asked": n, "cached": 0, "answered": n, "failed": 0},
        **provenance(measured.plan, measured.identities),
    }  # fmt: skip


def decide_run(measured: Measured, folder: Path, change: Callable[[Results], Results] = lambda it: it) -> Output:
    """Decide a run that is measured, write it and read its files back; `change` adds to its results."""
    plan, store, tables = measured.plan, measured.store, measured.tables
    summary = aggregate.function(plan.store, tables.items, tables.scores, list_monitored(plan.suites))
    manifest = manifest_of(measured, NOW)
    facts = {key: manifest[key] for key in ("run", "started")}
    final = change(results.function(
        plan, tables, summary, measured.findings, run=facts, provenance=provenance(plan, measured.identities)
    ))  # fmt: skip
    verdict = gate.function(final, plan.policy)
    data = gather(store, tables, summary, plan=plan, manifest=manifest, results=final, verdict=verdict)
    exports.write(data, folder)
    document = json.loads(json.dumps(document_of(data.results, data.verdict)))
    return _read(folder, document, int(verdict.exit_code), junit.compose(data), markdown.write(data, folder))


def drive(run: Run, folder: Path) -> Output:
    return decide_run(measure_run(run, configuration(run, folder)), folder)


def _read(folder: Path, document: Mapping[str, Any], code: int, cases: ET.Element, page: Path) -> Output:
    tables = {}
    for name in ("scores", "verdict"):
        with (folder / "tables" / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
            tables[name] = list(csv.DictReader(file))
    return Output(document, code, tuple(cases.iter("testcase")), page.read_text(encoding="utf-8"), tables)


def command(run: Run, folder: Path) -> Output:
    """Run the command on recorded replies, in this process, and read its files."""
    path, cases = folder / "run.json", folder / "junit.xml"
    path.write_text(json.dumps(configuration(run, folder, is_recorded=True)), encoding="utf-8")
    code, _, errors = call(["run", "--config", str(path), "--junit", str(cases)], dict(os.environ), folder)
    assert "Traceback" not in errors
    written = max((folder / "runs").glob("*/results.json"), key=lambda path: path.stat().st_mtime_ns)
    document = json.loads(written.read_text(encoding="utf-8"))
    (page,) = written.parent.glob("reports/*.md")
    return _read(written.parent, document, code, ET.parse(cases).getroot(), page)  # noqa: S314 - it was written here
