"""Drive the product from a drawn run's tables to its results, verdict and files; no flow, no server."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl

from basic_control.config.settings import Settings
from basic_control.data.batches import Batch, Cell, QueryResult, Ref, Tables
from basic_control.data.deciding import parts_of_all
from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.records import Metric
from basic_control.data.tables import ITEMS, REQUESTS, RESPONSES, SCORES
from basic_control.data.units import identity_of
from basic_control.flows.runs import build_manifest, provenance
from basic_control.metrics.analysis.judged import collect_left_out
from basic_control.metrics.analysis.results import SuiteFindings
from basic_control.metrics.analysis.stopping import cut_into_rounds
from basic_control.metrics.judging import Judgement, Session, begin
from basic_control.metrics.panels import combine
from basic_control.metrics.response_groundedness import response_groundedness
from basic_control.tasks.aggregate import aggregate
from basic_control.tasks.compare.baseline import check_baseline
from basic_control.tasks.decide import decide, list_monitored
from basic_control.tasks.findings import find_suite, read_scored, replies_of
from basic_control.tasks.gate import gate
from basic_control.tasks.generate import items_of
from basic_control.tasks.judges import labels as people
from basic_control.tasks.judges import passports
from basic_control.tasks.plan import Identities, Plan, SuitePlan, resolve
from basic_control.tasks.report.raw import write_results
from basic_control.tasks.report.writing import report
from basic_control.tasks.results import results
from basic_control.tasks.score import join_metrics, measure
from basic_control.tasks.store.tables import Store
from tests.helpers.inside import call
from tests.helpers.passports import passport
from tests.oracle.world import CONTEXT, EXAMS, JUDGED, Reply, Run, Suite

OLLAMA = {"provider": "ollama"}
REASONS = {"judge_failed": "rate: unparsable reply", "not_applicable": ""}
NAMED = {"n_failed": "failed calls", "n_unread": "without a score", "n_truncated": "truncated replies"}
"""What an undecided gate says that it hangs on."""
IDENTITY = ("model", "suite", "metric", "text", "model_a", "model_b")
Replies = Mapping[tuple[str, int], Reply]


@dataclass(frozen=True)
class Output:
    """What the product says of a run: results.json, its CSV tables, its Markdown and JUnit's cases, by names.

    `rounds` are the rows of each suite that were asked, `labelled` those that people labelled.
    """

    said: Mapping[str, Any]
    rounds: Mapping[str, Sequence[Sequence[int]]]
    labelled: Mapping[str, Sequence[int]]


@dataclass
class Measured:
    """A run whose replies are scored: its plan, its tables, what each suite shows, and the labelled rows."""

    plan: Plan
    identities: Identities
    tables: Tables
    findings: list[SuiteFindings]
    labelled: dict[str, Sequence[int]]

    @cached_property
    def store(self) -> Store:
        return Store(self.plan.store.root)

    @cached_property
    def summary(self) -> Ref:
        monitored = list_monitored(self.plan.suites)
        return aggregate.function(self.plan.store, self.tables.items, self.tables.scores, monitored)

    @cached_property
    def facts(self) -> dict[str, Any]:
        return provenance(self.plan, self.identities)

    def manifest(self, name: str) -> dict[str, Any]:
        head = {"run": name, "started": "2026-11-05T14:02:33+00:00", "status": "completed", "wall_s": 1.0}
        return {**head, **build_manifest(self.plan, self.facts, self.tables, self.summary, self.identities)}


def configure(run: Run, folder: Path, *, is_recorded: bool = False, **keys: Any) -> Settings:
    """Write a run's rows to files, with their replies where these are recorded; return its configuration."""
    folder.mkdir(exist_ok=True)
    suites = []
    for suite in run.suites:
        rows = [{"question": it.text, "answer": it.answer, **it.columns} for it in suite.questions]
        if is_recorded:
            for row, columns in enumerate(rows):
                reply = suite.replies[run.models[0], row, 0]
                columns |= {"response": reply.text, "finish_reason": "length" if reply.cut else "stop"}
        path = folder / f"{suite.name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        suites.append({
            "name": suite.name, "items": {"data": str(path)}, "prompt": "{{ question }}", "metrics": suite.metrics,
            "threshold": suite.threshold, "score": suite.score, **suite.options,
            **({} if suite.weight is None else {"weight": suite.weight}),
            **({"responses_of": run.models[0]} if is_recorded else {}),
        })  # fmt: skip
    judges = dict.fromkeys(judge for suite in run.suites for judge in suite.judges)
    declared = {
        "models": [] if is_recorded else [{"name": name, **OLLAMA} for name in run.models],
        "judges": [{"name": name, **OLLAMA} for name in judges], "suites": suites,
        "threshold": run.threshold, "gate": run.gate, "undecided": run.undecided, "repeats": run.repeats,
        "store": {"root": str(folder / "store"), "runs": str(folder / "runs")},
        "report": {"html": False, "junit": str(folder / "junit.xml")}, **keys,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(declared), encoding="utf-8")
    return Settings.model_validate(declared)


def measure_run(run: Run, settings: Settings) -> Measured:
    """Ask a run's models each suite, in rounds until it is decided where it stops early; score and measure it."""
    plan = resolve(settings)
    judges = {judge.name: {**OLLAMA, "model": judge.name} for judge in plan.judges}
    measured = Measured(plan, Identities(dict.fromkeys(run.models, OLLAMA), judges), Tables(), [], {})
    monitored = {it.suite.name: it for it in list_monitored(plan.suites)}
    for drawn, planned in zip(run.suites, plan.suites, strict=True):
        targets, tables, items = [*run.models], Tables(), ITEMS.frame(items_of(planned.suite))
        for batch in cut_into_rounds(items, planned.suite, planned.suite.stop) if planned.suite.stop else [items]:
            if targets:
                tables.items.append(measured.store.write(ITEMS, batch))
                for model in targets:
                    tables = tables.join(_ask(drawn, planned, tables.items[-1], model, measured))
            if planned.name in monitored:
                followed = monitored[planned.name]
                targets = decide.function(plan.store, tables.items, tables.scores, monitored=followed)
        if run.n_labels and JUDGED in drawn.metrics:
            measured.labelled[drawn.name] = _label(run, drawn, planned, tables)
        measured.findings.append(find_suite(plan, planned, tables, measured.identities, 0))
        measured.tables = measured.tables.join(tables)
    return measured


def _ask(drawn: Suite, planned: SuitePlan, ref: Ref, model: str, measured: Measured) -> Tables:
    """Write what a model was asked of a batch of items, and score its replies; return the tables but the items."""
    suite, settings, store = planned.suite, planned.store, measured.store
    asks: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    replies: dict[tuple[str, int], Reply] = {}
    for row in store.read(ref).iter_rows(named=True):
        for repeat in range(planned.repeats):
            reply, request = drawn.replies[model, row["index"], repeat], f"{row['item_id']} {model} {repeat}"
            replies[row["item_id"], repeat] = reply
            step = {"step": "answer", "key": "", "repeat": repeat, "payload": "{}"}
            asks.append({"request_id": request, "item_id": row["item_id"], "model": model, **step})
            ended: dict[str, Any] = {"text": reply.text, "finish_reason": "length" if reply.cut else "stop"}
            if reply.failed:
                ended = {"text": None, "error": f"no reply: {reply.cause}", "error_kind": reply.cause}
            counts = {"latency_s": 0.1, "cached": False, "tokens_in": 10, "tokens_out": 10}
            answers.append({"request_id": request, **ended, **counts})
    written = store.write(REQUESTS, REQUESTS.frame(asks)), store.write(RESPONSES, RESPONSES.frame(answers))
    scores = []
    for name in drawn.metrics:
        if name == JUDGED:
            rows = [*_rate(drawn, planned, replies, model, measured)]
        else:
            batch, unit = Batch(Cell(suite.name, model), ref, *written), identity_of(Metric, name)
            table = measure.function(settings, batch, metric=unit, options=suite.options(name))
            rows = store.read(table).to_dicts()
        for row in rows:  # as a metric leaves a reply for which it has no value, if it is drawn so
            reply = replies[row["item_id"], row["repeat"]]
            if reply.state and reply.of in {"", name}:
                row |= {"value": None, "status": reply.state, "reason": REASONS[reply.state]}
        scores.append(store.write(SCORES, SCORES.frame(rows)))
    if parts := parts_of_all(suite):
        scores.append(join_metrics.function(settings, scores, parts=parts))
    n = len(asks)
    return Tables(queries=[QueryResult(*written, n, 0, n, 0, tokens_in=n, tokens_out=n, span_s=1.0)], scores=scores)


def _rate(
    drawn: Suite, planned: SuitePlan, replies: Replies, model: str, measured: Measured
) -> Iterable[dict[str, Any]]:
    """Score replies by what the judges said of them, of those that passed their exam."""
    (metric,), identities, store = planned.judge_metrics, measured.identities.judges, measured.store
    for judge in metric.judges:
        if judge.name in EXAMS:
            exam = passport("groundedness", EXAMS[judge.name], judge.name)
            of = passports._identify(judge, identities[judge.name], exam.exam, "en", metric.temperature)
            store.put_document(passports._path(of), json.dumps({**exam.as_dict(), "of": of}).encode())
    statuses = passports.find_suite_statuses(
        planned, ["en"], passports.PassportFinder([planned], identities, store)
    )
    for (item, repeat), reply in replies.items():
        sessions = {name: _session(reply, rating) for name, rating in zip(drawn.judges, reply.ratings, strict=True)}
        score = combine(sessions, "mean", collect_left_out(statuses).get("en", {}))
        yield {
            "item_id": item, "model": model, "repeat": repeat, "metric": JUDGED, "value": score.value,
            "status": score.status, "reason": score.reason, "version": response_groundedness.version,
            "details": json.dumps(score.details, separators=(",", ":")),
        }  # fmt: skip


def _session(reply: Reply, rating: int | None) -> Session:
    """Return a judge's ended session that rated a reply so, or failed."""
    sample = {"response": reply.text, "retrieved_contexts": [CONTEXT]}
    if reply.needs_no_judge:
        return begin(response_groundedness, sample, language="en")
    answers = {} if rating is None else {"rate": {"rating": Judgement(str(rating), float(rating))}}
    options, n_steps = options_of(response_groundedness, {}), len(response_groundedness.steps)
    failure = REASONS["judge_failed"] if rating is None else ""
    return Session(response_groundedness, sample, options, "en", n_steps, answers, n_calls=1, failure=failure)


def _label(run: Run, drawn: Suite, planned: SuitePlan, tables: Tables) -> list[int]:
    """Have people fill a sheet of replies, and store it; return the rows that they labelled."""
    store, runs = Store(planned.store.root), Path(planned.store.runs)
    items, scores = read_scored(store, tables)
    texts = replies_of(store, tables).rename({"text": "response"})
    if run.is_labelled_elsewhere:
        texts = texts.with_columns(response=pl.col("response") + " before")
    judged = people.join_judged(scores, items, texts)
    sheet, row_of = people.sheet(judged, n=run.n_labels), dict(items.select("item_id", "index").rows())
    labels = {row_of[item]: str(drawn.replies[run.models[0], row_of[item], 0].label) for item in sheet["item_id"]}
    cells = ["" if at % 10 == 0 and not run.is_complete else label for at, label in enumerate(labels.values())]
    runs.mkdir(exist_ok=True)
    sheet.with_columns(label=pl.Series(cells)).write_csv(runs / "sheet.csv")
    criteria = people.criteria_of([planned.suite])
    people.store_labels(judged, people.read_labels(runs / "sheet.csv"), criteria, runs / people.LABELS)
    return [row for row, cell in zip(labels, cells, strict=True) if cell]


def drive(run: Run, folder: Path, **keys: Any) -> Output | None:
    """Decide a run, write it and read its files back; None if its comparison with a baseline is refused."""
    measured = measure_run(run, configure(run, folder, **keys))
    plan, tables, summary, facts = measured.plan, measured.tables, measured.summary, measured.facts
    try:
        check_baseline(plan.baseline, facts, run.models)
    except InputError:
        return None
    manifest = measured.manifest("20261105_140233")
    head = {key: manifest[key] for key in ("run", "started")}
    final = results.function(plan, tables, summary, measured.findings, run=head, provenance=facts)
    verdict, reported = gate.function(final, plan.policy), {"folder": str(folder), "manifest": manifest}
    write_results(final, verdict, folder)
    report.function(plan, tables, summary, results=final, verdict=verdict, **reported)
    rounds: dict[str, list[list[int]]] = {}
    for frame in map(measured.store.read, tables.items):
        rounds.setdefault(frame["suite"][0], []).append(frame["index"].to_list())
    return _read(folder, folder / "junit.xml", int(verdict.exit_code), rounds, measured.labelled)


def command(run: Run, folder: Path) -> Output:
    """Run the command on recorded replies, in this process, and read its files."""
    configure(run, folder, is_recorded=True)
    code, _, errors = call(["run", "--config", str(folder / "run.json")], dict(os.environ), folder)
    assert "Traceback" not in errors
    written = max((folder / "runs").glob("*/results.json"), key=lambda path: path.stat().st_mtime_ns)
    return _read(written.parent, folder / "junit.xml", code, {}, {})


def _read(folder: Path, cases: Path, code: int, rounds: Mapping[str, Any], labelled: Mapping[str, Any]) -> Output:
    said = _index(json.loads((folder / "results.json").read_text(encoding="utf-8")))
    (page,) = (path.read_text(encoding="utf-8") for path in folder.glob("reports/*.md"))
    rows: dict[tuple[str, ...], Counter[Any]] = {}
    for row in _read_table(folder / "tables" / "scores.csv"):
        counter = rows.setdefault((row["suite"], row["metric"], row["model"]), Counter())
        counter[row["status"], round(float(row["value"]), 9) if row["value"] else None] += 1
    lines = {}
    for row in _read_table(folder / "tables" / "verdict.csv"):
        name = re.sub(", all$", ", all at once", row["Suite"]).replace("_", r"\_")
        cells = next(text for text in page.splitlines() if text.startswith(f"| {row['Model']} | {name} |"))
        number = re.match(r"(?:pass[@^]\d+ )?([\d.]+)%", row["Score"])  # 66.7% (from 60% …), pass@2 80% (mean 75%)
        is_in_page = row["Score"] in cells and row["Outcome"] in cells
        lines[row["Model"], row["Suite"]] = {
            **row,
            "share": number and float(number[1]) / 100,
            "is_in_page": is_in_page,
        }
    is_failed = {}
    for case in ET.parse(cases).getroot().iter("testcase"):  # noqa: S314 - it was written here
        if (case.get("classname"), case.get("name")) in {*lines, *((model, "overall") for model, _ in lines)}:
            failures = case.findall("failure") + case.findall("error")
            is_failed[case.get("classname"), case.get("name")] = bool(failures)
    said |= {"code": code, "rows": rows, "lines": lines, "cases": is_failed}
    return Output(said, rounds, labelled)


def _read_table(path: Path) -> Iterable[dict[str, Any]]:
    return pl.read_csv(path, infer_schema=False).iter_rows(named=True)


def _index(value: Any) -> Any:
    """Return a document with its lists of models, suites, lines and slices by their names; bounds are filled in."""
    if isinstance(value, list):
        entries, keys = [_index(entry) for entry in value], [_name(entry) for entry in value]
        return dict(zip(keys, entries, strict=True)) if keys and all(keys) else entries
    if not isinstance(value, dict):
        return value
    entry = {key: _index(part) for key, part in value.items()}
    if "difference" in entry:  # where nothing is missing, a bound is left out
        entry |= {end: entry["difference"] for end in ("low", "high") if entry[end] is None}
    elif entry.get("low") is not None and entry.get("high") is not None:
        entry["half"] = (entry["high"] - entry["low"]) / 2
    if "score" in entry and "lower" in entry:
        for end in ("lower", "upper"):
            if entry[end] is None:
                entry |= {end: entry["score"], f"{end}_interval": entry["interval"]}
        entry["named"] = {name: words in entry["reason"] for name, words in NAMED.items()}
    return entry


def _name(entry: Any) -> tuple[str, ...]:
    names = entry.get("pair", entry) if isinstance(entry, dict) else {}
    return tuple(names[key] for key in IDENTITY if isinstance(names.get(key), str))
