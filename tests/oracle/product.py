"""Drive the product from a drawn run's tables to its results, verdict and files; no flow, no server."""

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
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
from basic_control.tasks.report.report_data import ReportData, gather
from basic_control.tasks.results import results
from basic_control.tasks.score import join_metrics, measure
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.tables import Store
from tests.helpers.inside import call
from tests.oracle.draws import Reply, Run, Suite


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
    """Return a run's configuration; its rows are written to files, with their replies where these are recorded.

    `keys` are the configuration's other ones.
    """
    suites = []
    folder.mkdir(exist_ok=True)
    for suite in run.suites:
        path = folder / f"{suite.name}.jsonl"
        rows: list[dict[str, Any]] = [
            {"question": q.text, "answer": q.answer, **q.columns} for q in suite.questions
        ]
        if is_recorded:
            for index, row in enumerate(rows):
                reply = suite.replies[run.models[0], index, 0]
                row |= {"response": reply.text, "finish_reason": "length" if reply.cut else "stop"}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        source = {"responses_of": run.models[0]} if is_recorded else {}
        suites.append({
            "name": suite.name, "items": {"data": str(path)}, "prompt": "{{ question }}",
            "metrics": suite.metrics, "threshold": suite.threshold, "score": suite.score,
            **({} if suite.weight is None else {"weight": suite.weight}), **suite.options, **source,
        })  # fmt: skip
    models = [] if is_recorded else [{"name": name, "provider": "ollama"} for name in run.models]
    store = {"root": str(folder / "store"), "runs": str(folder / "runs")}
    return {
        "models": models, "suites": suites, "threshold": run.threshold, "gate": run.gate,
        "undecided": run.undecided, "repeats": run.repeats, "store": store, "report": {"html": False}, **keys,
    }  # fmt: skip


def _response(request_id: str, reply: Reply) -> dict[str, Any]:
    ended = {"error": f"no reply: {reply.cause}", "error_kind": reply.cause} if reply.failed else {}
    finish = None if reply.failed else "length" if reply.cut else "stop"
    text = None if reply.failed else reply.text
    return {
        "request_id": request_id, "text": text, "finish_reason": finish, "latency_s": 0.1, "cached": False,
        "tokens_in": 10, "tokens_out": 10, **ended,
    }  # fmt: skip


def _rated(row: dict[str, Any], replies: Mapping[tuple[str, int], Reply]) -> dict[str, Any]:
    """Return a score as a metric leaves it that has no value for the reply, if it is drawn so."""
    reply = replies[row["item_id"], row["repeat"]]
    lacks = reply.state and reply.of in {"", row["metric"]}
    return {**row, "value": None, "status": reply.state} if lacks else row


def _ask(drawn: Suite, planned: SuitePlan, ref: Ref, model: str) -> Tables:
    """Write what a model was asked of a batch of items, and score its replies; return the tables but the items."""
    suite, settings = planned.suite, planned.store
    store = Store(settings.root)
    places = [(row, repeat) for row in store.read(ref).iter_rows(named=True) for repeat in range(planned.repeats)]
    replies = [drawn.replies[model, row["index"], repeat] for row, repeat in places]
    asks: list[dict[str, Any]] = [
        {"request_id": f"{row['item_id']} {model} {repeat}", "item_id": row["item_id"], "model": model,
         "step": "answer", "key": "", "repeat": repeat, "payload": "{}"}
        for row, repeat in places
    ]  # fmt: skip
    answers = [_response(ask["request_id"], reply) for ask, reply in zip(asks, replies, strict=True)]
    requests = store.write(REQUESTS, REQUESTS.frame(asks))
    responses = store.write(RESPONSES, RESPONSES.frame(answers))
    batch = Batch(Cell(suite.name, model), ref, requests, responses)
    by_place = {(ask["item_id"], ask["repeat"]): reply for ask, reply in zip(asks, replies, strict=True)}
    scores = []
    for name in drawn.metrics:
        unit, options = identity_of(Metric, name), suite.options(name)
        frame = store.read(measure.function(settings, batch, metric=unit, options=options))
        rated = (_rated(row, by_place) for row in frame.iter_rows(named=True))
        scores.append(store.write(SCORES, SCORES.frame(rated)))
    if parts := parts_of_all(suite):
        scores.append(join_metrics.function(settings, scores, parts=parts))
    n = len(replies)
    query = QueryResult(requests, responses, n, 0, n, 0, tokens_in=n, tokens_out=n, span_s=1.0)
    return Tables(queries=[query], scores=scores)


def _ask_suite(models: Sequence[str], drawn: Suite, planned: SuitePlan, followed: MonitoredSuite | None) -> Tables:
    """Ask each model a suite, in rounds until it is decided where it is followed."""
    suite, targets = planned.suite, models
    items = ITEMS.frame(items_of(suite))
    tables = Tables()
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
    settings = Settings.model_validate(declared)
    store, plan = Store(settings.store.root), resolve(settings)
    identities = Identities({name: {"provider": "ollama"} for name in run.models}, {})
    followed = {one.suite.name: one for one in list_monitored(plan.suites)}
    parts = {
        drawn.name: _ask_suite(run.models, drawn, planned, followed.get(drawn.name))
        for drawn, planned in zip(run.suites, plan.suites, strict=True)
    }
    findings = [find_suite(plan, suite, parts[suite.name], identities, 0) for suite in plan.suites]
    tables = Tables(
        items=[ref for part in parts.values() for ref in part.items],
        queries=[result for part in parts.values() for result in part.queries],
        scores=[ref for part in parts.values() for ref in part.scores],
    )
    return Measured(plan, store, tables, identities, tuple(findings))


def manifest_of(measured: Measured, name: str) -> dict[str, Any]:
    """Return the manifest of a finished run."""
    tables = measured.tables
    refs = {
        "items": tables.items, "requests": [result.requests for result in tables.queries],
        "responses": [result.responses for result in tables.queries], "scores": tables.scores,
    }  # fmt: skip
    listed = {
        kind: [{"table": ref.table, "digest": ref.digest, "rows": ref.rows} for ref in of_kind]
        for kind, of_kind in refs.items()
    }
    n = sum(result.total for result in tables.queries)
    return {
        "schema": manifests.SCHEMA, "run": name, "started": "2026-11-05T14:02:33+00:00", "status": "completed",
        "versions": {}, "sandbox": {}, "wall_s": 1.0, "tables": listed,
        "requests": {"asked": n, "cached": 0, "answered": n, "failed": 0},
        **provenance(measured.plan, measured.identities),
    }  # fmt: skip


def decide_run(measured: Measured, folder: Path, change: Callable[[Results], Results] = lambda it: it) -> Output:
    """Decide a run that is measured, write it and read its files back; `change` adds to its results."""
    plan, store, tables = measured.plan, measured.store, measured.tables
    summary = aggregate.function(plan.store, tables.items, tables.scores, list_monitored(plan.suites))
    manifest = manifest_of(measured, "20261105_140233")
    facts = {key: manifest[key] for key in ("run", "started")}
    found = change(results.function(
        plan, tables, summary, measured.findings, run=facts, provenance=provenance(plan, measured.identities)
    ))  # fmt: skip
    data = gather(store, tables, summary, plan=plan, manifest=manifest, results=found,
                  verdict=gate.function(found, plan.policy))  # fmt: skip
    return written(data, folder)


def drive(run: Run, folder: Path) -> Output:
    """Score, measure, decide and write a run."""
    return decide_run(measure_run(run, configuration(run, folder)), folder)


def written(data: ReportData, folder: Path) -> Output:
    """Write a run's files and read them back."""
    exports.write(data, folder)
    text = markdown.write(data, folder).read_text(encoding="utf-8")
    document = json.loads(json.dumps(document_of(data.results, data.verdict)))
    return output_of(folder, document, int(data.verdict.exit_code), junit.compose(data), text)


def output_of(folder: Path, document: Mapping[str, Any], exit_code: int, cases: ET.Element, text: str) -> Output:
    """Gather a run's files from its folder."""
    tables = {}
    for name in ("scores", "verdict"):
        with (folder / "tables" / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
            tables[name] = list(csv.DictReader(file))
    return Output(document, exit_code, tuple(cases.iter("testcase")), text, tables)


def command(run: Run, folder: Path) -> Output:
    """Run the command on recorded replies, in this process, and read its files."""
    path, cases = folder / "run.json", folder / "junit.xml"
    path.write_text(json.dumps(configuration(run, folder, is_recorded=True)), encoding="utf-8")
    code, _, errors = call(["run", "--config", str(path), "--junit", str(cases)], dict(os.environ), folder)
    made = max((folder / "runs").glob("*/results.json"), key=lambda path: path.stat().st_mtime_ns)
    document = json.loads(made.read_text(encoding="utf-8"))
    (text,) = (path.read_text(encoding="utf-8") for path in made.parent.glob("reports/*.md"))
    assert "Traceback" not in errors
    return output_of(made.parent, document, code, ET.parse(cases).getroot(), text)  # noqa: S314 - it was written here
