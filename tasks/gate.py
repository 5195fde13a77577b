"""Gate: a run's results against the configured thresholds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from data.batches import Tables
from metrics.analysis.policy import Policy
from metrics.analysis.results import Results, build_interim
from metrics.analysis.summary import summarise
from metrics.analysis.verdict import RunVerdict, verdict_of
from tasks.aggregate import measure_run
from tasks.plan import Identities, Plan
from tasks.stage import stage


@stage(version=1, part="report", takes="report", cached=False)
def gate(results: Results, policy: Policy) -> RunVerdict:
    """Decide whether a run passes."""
    return verdict_of(results, policy)


def interim(
    plan: Plan, tables: Tables, identities: Identities, waiting: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Return each model's result in the one suite of a plan, at the suite's end."""
    (one,) = plan.suites
    measured = measure_run(plan, tables, identities, waiting=waiting)
    own = replace(measured.once, scores=measured.once.scores.filter(pl.col("metric").is_in(one.suite.scored_by)))
    results = build_interim(own, summarise(own.scores, own.items), measured.circumstances)
    verdict = verdict_of(results, plan.policy)
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
