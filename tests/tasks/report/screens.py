"""Runs whose last screens were read by eye."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from basic_control.config.settings import Report
from basic_control.data.tables import ITEMS, REQUESTS, RESPONSES, SCORES, VERDICTS
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.screen import Screen, screen
from tests.helpers.recorded import written
from tests.tasks.report.runs import MODELS, Row, build, chance, complete, settings

RUN = f"{Path.cwd()}/artifacts/runs/20261105_140233"
FILES = (f"{RUN}/reports/report_20261105_140233.html", f"{RUN}/results.json")


def failed_model(_: Path) -> ReportData:
    def away(_item: Row, asked: Row) -> Row:
        gone = {"text": None, "error": "connection refused", "error_kind": "connection", "finish_reason": None}
        return asked if asked["model"] != MODELS[2] else {**asked, **gone}

    return build(4, change=away, suites=["basic_control", "cot"])


def two_prompts(folder: Path) -> ReportData:
    """Two prompts of one model on the same 60 questions, of which the one is right more often."""
    suite = {
        "prompts": {"plain": "{{ question }}", "steps": "{{ question }} Step by step."},
        "metrics": {"exact_match": {}},
        "threshold": 0.7,
    }
    shares = {("gpt-4o-mini [plain]", "exact_match"): 0.5, ("gpt-4o-mini [steps]", "exact_match"): 0.85}
    return tickets(folder, suite, ["gpt-4o-mini"], shares)


def three_metrics(folder: Path) -> ReportData:
    """Two models by three metrics, each with a threshold; one of the models fails one of them."""
    thresholds = {"exact_match": 0.5, "contains": 0.8, "refusal": 0.9}
    suite = {"metrics": {name: {"threshold": limit} for name, limit in thresholds.items()}}
    shares = {}
    for model, of_metrics in {"alpha": (0.7, 0.62, 0.99), "beta": (0.8, 0.97, 0.99)}.items():
        shares |= {(model, metric): share for metric, share in zip(thresholds, of_metrics, strict=True)}
        shares[model, "all"] = min(of_metrics)
    return tickets(folder, suite, ["alpha", "beta"], shares)


def tickets(folder: Path, suite: Row, models: list[str], shares: Mapping[tuple[str, str], float]) -> ReportData:
    """Return a run of 60 questions; of each target's, so large a share is right by each metric."""
    items_key = {"data": written(folder / "tickets.jsonl", [{"question": "?", "answer": "!"}])}
    suite = {"name": "tickets", "items": items_key, **suite}
    given = settings(models=[{"name": name, "provider": "openai"} for name in models], judges=[], suites=[suite])
    blank = dict.fromkeys(ITEMS.columns, "") | {"suite": "tickets", "version": 1, "seed": 0, "facts": "{}"}
    items = ITEMS.frame({**blank, "item_id": f"t{n}", "index": n, "question_id": f"q{n}"} for n in range(60))
    scores = [
        {"item_id": item, "model": target, "repeat": 0, "metric": metric, "status": "scored", "reason": "",
         "value": float(chance(item) < share), "details": "{}"}
        for (target, metric), share in shares.items()
        for item in items["item_id"]
    ]  # fmt: skip
    columns = {**REQUESTS.columns, **RESPONSES.columns}
    nothing = pl.DataFrame(schema={name: kind for name, kind in columns.items() if name != "payload"})
    made = complete(given, items, nothing, verdicts=VERDICTS.frame([]), scores=SCORES.frame(scores), judged=nothing)
    counts = {"asked": 120, "cached": 0, "answered": 120, "failed": 0}
    return replace(made, manifest={**made.manifest, "requests": counts})


RUNS: Mapping[str, Callable[[Path], ReportData]] = {
    "one suite": lambda _: build(4, suites=["basic_control"]),
    "four suites": lambda _: build(4),
    "two prompts": two_prompts,
    "three metrics": three_metrics,
    "three models and two judges": lambda _: build(4, suites=["citation", "rag"]),
    "failed model": failed_model,
    "Russian": lambda _: build(4, report=Report(language="ru")),
}


def made(run: ReportData) -> Screen:
    """Return the screen of a run, as its end shows it."""
    requests, wall_s = run.manifest["requests"], run.manifest["wall_s"]
    with use_language(run.language):
        return screen(run.results, run.verdict, run.plan, requests, wall_s=wall_s, files=FILES)
