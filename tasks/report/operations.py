"""The HTML report's page on time, tokens and cost, and the notes on what to be wary of."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from data.records import HIDDEN_KEYS
from data.truncation import LIMITS
from metrics.analysis.summary import OF_SUITES, cells
from prompts.phrases import translated
from tasks.plan import targets_of
from tasks.report.passports import warnings
from tasks.report.report_data import ReportData
from tasks.report.titles import metric_title, suite_title
from tasks.report.warnings import run_warnings
from tasks.report.words import say
from tasks.runtime.spending import tokens_and_cost

FEW = 10
_TOKENS = 5
"""Kinds of leaked stop tokens that are named."""


def usage(data: ReportData) -> list[dict[str, Any]]:
    """Return a row for each model and judge: replies, errors, latency, tokens and, where priced, cost."""
    settings = data.settings
    # With several prompts, replies name the model with its prompt.
    targets = [target for suite in settings.suites for target in targets_of(settings, suite)]
    models = {target.name: target.model.name for target in targets}
    listed = []
    for role, replies, asked in (
        ("model", data.replies, settings.models),
        ("judge", data.judged, settings.judges),
    ):
        for one in asked:
            own = replies.filter(pl.col("model").replace(models) == one.name)
            own = own.unique("request_id", maintain_order=True)
            if not own.is_empty():
                listed.append({**asdict(tokens_and_cost(role, own, one)), **_used(own)})
    return listed


def _used(replies: pl.DataFrame) -> dict[str, Any]:
    """Sum up distinct requests; a cached reply keeps the latency and tokens of its first asking."""
    latency = replies["latency_s"].drop_nulls()
    seconds = float(latency.sum())
    return {
        "n": replies.height,
        "cached": int(replies["cached"].fill_null(value=False).sum()),
        "failed": int(replies["error"].is_not_null().sum()),
        "cut": int(replies["finish_reason"].is_in(LIMITS).sum()),
        **{f"p{q}": _quantile(latency, q) for q in (5, 25, 50, 75, 95)},
        "max": _quantile(latency, 100),
        "speed": int(replies["tokens_out"].sum()) / seconds if seconds else None,
    }


def _quantile(values: pl.Series, percentile: int) -> float | None:
    value = values.quantile(percentile / 100, "linear")
    return None if value is None else float(value)


def rules(data: ReportData) -> dict[str, str]:
    """Return the version and source of each unit that made or scored the run's items, by name."""
    known = {name: data.manifest.get(name) or {} for name in ("units", "verifiers", "sources")}
    told = {
        name: (str(version), known["sources"].get(name, ""))
        for kind in ("units", "verifiers")
        for name, version in known[kind].items()
    }
    return {name: " · ".join(filter(None, parts)) for name, parts in told.items()}


def stages(data: ReportData) -> list[dict[str, Any]]:
    """Sum up the stages of a run: how often each ran, how often from the cache, and for how long."""
    found: dict[str, dict[str, Any]] = {}
    for one in data.manifest.get("stages", ()):
        row = found.setdefault(one["stage"], {"stage": one["stage"], "n": 0, "cached": 0, "wall_s": 0.0})
        row["n"] += 1
        row["cached"] += bool(one["cached"])
        row["wall_s"] += one["wall_s"]
    return list(found.values())


def notes(data: ReportData, models: Sequence[str]) -> list[tuple[str, str]]:
    """Return what to know before relying on the numbers: (`warn` or `info`, text)."""
    language = data.settings.report.language
    listed = [("warn", said) for said in run_warnings(data.results, language)]
    listed += [*_failures(data, models, language), *_judges(data, language)]
    if days := ((data.results.get("run") or {}).get("spending") or {}).get("stale_days"):
        listed.append(("info", say("prices_stale", language, days=days)))
    return [*listed, *_thin(data, models, language)]


def _failures(data: ReportData, models: Sequence[str], language: str) -> Iterator[tuple[str, str]]:
    for model in models:
        own = data.replies.filter(model=model)
        # What waits in a batch has not failed: the verdict says how many wait.
        failed = own.filter(pl.col("error").is_not_null(), pl.col("error_kind").ne_missing("submitted"))
        if failed.height:
            told = (translated(str(k), language) for k in failed["error_kind"].drop_nulls().unique().sort())
            kinds = ", ".join(told) or "–"
            yield "warn", say("note_errors", language, model=model, k=failed.height, n=own.height, kinds=kinds)
        if leaked := own["stop_tokens"].drop_nulls().to_list():
            tokens = ", ".join([*dict.fromkeys(token for one in leaked for token in one.split())][:_TOKENS])
            yield "info", say("note_stop_tokens", language, model=model, k=len(leaked), n=own.height, tokens=tokens)
        if n := own.filter(pl.col("extra").fill_null("").str.contains(f'"{HIDDEN_KEYS}"', literal=True)).height:
            yield "warn", say("note_keys", language, model=model, k=n, n=own.height)
        if cut := int(own["finish_reason"].is_in(LIMITS).sum()):
            yield "warn", say("note_cut", language, model=model, k=cut, n=own.height)
    plain = ~pl.col("metric").str.contains(".", literal=True)
    for cell in cells(data.summary.filter(OF_SUITES & plain & (pl.col("n_judge_failed") > 0))):
        metric = metric_title(cell.metric, language)
        yield (
            "warn",
            say("note_judges", language, model=cell.model, metric=metric, k=cell.n_judge_failed, n=cell.n_asked),
        )


def _judges(data: ReportData, language: str) -> Iterator[tuple[str, str]]:
    for said in dict.fromkeys(said for _, _, said in warnings(data.results, language)):
        yield "warn", said


def _thin(data: ReportData, models: Sequence[str], language: str) -> Iterator[tuple[str, str]]:
    """Name the suites whose score rests on few answers, with the models that gave them."""
    found: dict[str, list[str]] = {}
    for one in data.results.get("final", {}).get("models", ()):
        for suite in one["suites"]:
            if one["model"] in models and 0 < suite["n_scored"] < FEW:
                found.setdefault(suite["suite"], []).append(f"{one['model']} {suite['n_scored']}")
    for suite, told in found.items():
        yield "info", say("note_few", language, name=suite_title(data, suite), models=", ".join(told))
