"""Score: verdicts, computed metrics and judges' findings as values, each in exactly one state."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from config.settings import Aggregate, Store
from data.draw import canonical
from data.plugins import metrics
from data.records import Metric, Ref, Score
from data.tables import SCORES
from metrics.judging import combine
from tasks.judge import reopen
from tasks.place import open_store
from tasks.samples import Answered, answered
from tasks.stage import stage

CORRECT = "correct"
BESIDE = ("precision", "recall", "similarity")
"""Values in [0, 1] that a verifier may keep in its details, reported as metrics of their own."""


def scores_of(verdict: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the scores of one row of the verdicts table: `correct`, and the values kept beside it."""
    status = verdict["status"]
    values: dict[str, float | None] = {CORRECT: None}
    if status in {"scored", "no_answer"}:
        values[CORRECT] = 1.0 if verdict["correct"] else 0.0
        details = json.loads(verdict["details"])
        values |= {name: float(details[name]) for name in BESIDE if isinstance(details.get(name), int | float)}
    for metric, value in values.items():
        yield {
            "item_id": verdict["item_id"],
            "model": verdict["model"],
            "repeat": verdict["repeat"],
            "metric": metric,
            "version": 1,
            "value": value,
            "status": status,
            "reason": verdict["reason"],
            "details": verdict["details"] if metric == CORRECT else "{}",
        }


@stage(version=1)
def score(store: Store, verdicts: Ref) -> Ref:
    """Turn a batch of verdicts into scores."""
    place = open_store(store)
    rows = place.read(verdicts).iter_rows(named=True)
    return place.write(SCORES, SCORES.frame(entry for verdict in rows for entry in scores_of(verdict)))


def metric_rows(metric: Metric, scored: Iterable[tuple[Answered, Score]]) -> Iterator[dict[str, Any]]:
    """Yield the metric's row and one for each part, `<metric>.<part>`, of every sample.

    Every sample has every part that any sample has: what it does not have itself is in the metric's own state,
    or `not_applicable` where the metric has a value.
    """
    listed = list(scored)
    names = list(dict.fromkeys(name for _, score in listed for name in score.parts))
    for reply, score in listed:
        shared = {
            "item_id": reply.item_id,
            "model": reply.model,
            "repeat": reply.repeat,
            "version": metric.version,
            "reason": score.reason,
        }
        yield {
            **shared,
            "metric": metric.name,
            "value": score.value,
            "status": score.status,
            "details": canonical(dict(score.details)),
        }
        missing = "not_applicable" if score.value is not None else score.status
        for name in names:
            value = score.parts.get(name)
            status = missing if value is None else "scored"
            yield {**shared, "metric": f"{metric.name}.{name}", "value": value, "status": status, "details": "{}"}


def _model_error(reply: Answered) -> Score:
    return Score(None, "model_error", reply.error_kind or "error", {"error": reply.error})


@stage(version=1)
def measure(
    store: Store, items: Ref, requests: Ref, responses: Ref, *, metric: str, options: Mapping[str, Any]
) -> Ref:
    """Score a batch of replies by a metric that needs no judge."""
    place = open_store(store)
    unit = metrics()[metric]
    used = {**unit.options, **options}
    scored = (
        (reply, _model_error(reply) if reply.error_kind else unit.score(reply.sample, {}, used))
        for reply in answered(place, items, requests, responses)
    )
    return place.write(SCORES, SCORES.frame(metric_rows(unit, scored)))


@stage(version=1)
def weigh(
    store: Store,
    items: Ref,
    requests: Ref,
    responses: Ref,
    judgements: Ref,
    *,
    metric: str,
    options: Mapping[str, Any],
    aggregate: Aggregate,
    evidence: Ref | None = None,
) -> Ref:
    """Score a batch of replies by what judges found."""
    place = open_store(store)
    unit = metrics()[metric]
    found: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in place.read(judgements).iter_rows(named=True):
        found.setdefault((row["item_id"], row["model"], row["repeat"]), []).append(row)

    def value(reply: Answered) -> Score:
        if reply.error_kind:
            return _model_error(reply)
        rows = found[reply.item_id, reply.model, reply.repeat]
        sessions = {row["judge"]: reopen(unit, reply.sample, row, options, reply.language) for row in rows}
        return combine(sessions, aggregate)

    scored = ((reply, value(reply)) for reply in answered(place, items, requests, responses, evidence))
    return place.write(SCORES, SCORES.frame(metric_rows(unit, scored)))
