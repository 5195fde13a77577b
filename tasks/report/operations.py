"""The HTML report's page on time, tokens and cost."""

from dataclasses import asdict
from typing import Any

import polars as pl

from data.truncation import LIMITS
from tasks.report.report_data import ReportData
from tasks.runtime.spending import tokens_and_cost


def usage(data: ReportData) -> list[dict[str, Any]]:
    """Return a row for each model and judge: replies, errors, latency, tokens and, where priced, cost."""
    # With several prompts, replies name the model with its prompt.
    models = {target.name: target.model.name for suite in data.plan.suites for target in suite.targets}
    listed = []
    for role, replies, asked in (
        ("model", data.replies, data.plan.models),
        ("judge", data.judged, data.plan.judges),
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
