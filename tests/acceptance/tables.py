"""Tables of items and scores with values made by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from basic_control.data.suites import Suite
from basic_control.data.tables import TABLES
from basic_control.metrics.analysis.policy import Gate
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.metrics.stats.margins import PairedSample
from tests.helpers.pairs import pairs_of
from tests.helpers.verdicts import finalise

METRIC = "similarity"
Row = tuple[str, float | None]
"""A status and the value beside it."""


def suite(threshold: float = 0.8, **more: object) -> Suite:
    """Return a suite of one metric."""
    return Suite.model_validate(
        {
            "name": "s",
            "items": {"data": "s.jsonl"},
            "prompt": "p",
            "metrics": {METRIC: {}},
            "threshold": threshold,
            **more,
        }
    )


def items(count: int, name: str = "s", templates: Sequence[str] | None = None) -> pl.DataFrame:
    """Return items of a suite, by templates where these are given."""
    of_suite = {"suite": name, "family": "", "version": 1, "level": "", "language": "en"}
    templates = templates or [""] * count
    return TABLES["items"].frame(
        {**of_suite, "item_id": f"{name}{n:05d}", "template": templates[n], "seed": 0, "index": n, "prompt": str(n)}
        for n in range(count)
    )


def scores(rows: Mapping[str, Sequence[Row]], name: str = "s", metric: str = METRIC) -> pl.DataFrame:
    """Return scores by model: a status and a value an item, in order."""
    return TABLES["scores"].frame(
        {"item_id": f"{name}{n:05d}", "model": model, "repeat": 0, "metric": metric, "version": 1}
        | {"value": value, "status": status, "reason": "", "details": "{}"}
        for model, said in rows.items()
        for n, (status, value) in enumerate(said)
    )


def gated(rows: Sequence[Row], threshold: float, gate: Gate = "point") -> RunVerdict:
    """Sum a model's rows up, and gate them."""
    summary = summarise(scores({"a": rows}), items(len(rows)))
    return finalise(summary, models=["a"], suites=[suite(threshold)], threshold=threshold, gate=gate)


def pairs(
    run: Sequence[float],
    baseline: Sequence[float],
    *,
    upper: Sequence[float] | None = None,
    baseline_upper: Sequence[float] | None = None,
) -> PairedSample:
    """Return pairs of values, each a question of its own."""
    columns = [None if one is None else np.array(one, float) for one in (upper, baseline_upper)]
    after, before = np.array(run, float), np.array(baseline, float)
    return pairs_of(after, before, upper=columns[0], baseline_upper=columns[1])


def counted(won: int, lost: int, n: int, right: int = 0) -> PairedSample:
    """Return yes/no pairs by counts; of those alike, so many are right."""
    alike = n - won - lost
    run = [1.0] * won + [0.0] * lost + [1.0] * right + [0.0] * (alike - right)
    baseline = [0.0] * won + [1.0] * lost + [1.0] * right + [0.0] * (alike - right)
    return pairs(run, baseline)
