"""Look again at recorded replies with a metric of ours that asks nobody."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from data.errors import InputError
from data.options import options_of
from data.plugins import metric, metrics
from data.records import Found, Metric, Sample
from data.truncation import CUT
from tasks.exchange.records import Log, Recorded, Stated, name_of


def verified(log: Log, name: str) -> Log:
    """Return a log whose replies have a score of ours too, under `name_of(name)`.

    Raises:
        InputError: no such metric, one that asks a judge, or no row has what it needs.
    """
    unit = metric(name)
    if unit.steps or unit.verifies or unit.opponent:
        able = ", ".join(
            one for one, found in metrics().items() if not (found.steps or found.verifies or found.opponent)
        )
        raise InputError(
            f"--verify {name}: it needs more than a reply and what is expected; expected one of {able}."
        )
    options = options_of(unit, {})
    samples = [_sample(row) for row in log.rows]
    found = _ran(unit, samples, options)
    rows = tuple(
        _scored(row, unit, *one, options)
        for row, one in zip(log.rows, zip(samples, found, strict=True), strict=True)
    )
    if not any(name_of(name) in row.scores for row in rows):
        raise InputError(f"--verify {name}: no row has a reply and what is expected, as it needs them.")
    return replace(log, rows=rows)


def _sample(row: Recorded) -> Sample | None:
    if row.response is None or row.error:
        return None
    text = row.answer if isinstance(row.answer, str) else "; ".join(row.answer)
    return {
        **row.facts,
        "question": row.question,
        "prompt": row.question,
        "answer": row.answer,
        "reference": row.facts.get("reference", text),
        "options": [*row.choices],
        "response": row.response,
        "facts": json.dumps(dict(row.facts), default=str),
        CUT: row.finish_reason == "length",
    }


def _ran(unit: Metric, samples: Sequence[Sample | None], options: dict[str, Any]) -> list[Found]:
    if unit.programs is None:
        return [{}] * len(samples)
    from tasks.sandbox.samples import run_programs

    return run_programs(unit, samples, options)


def _scored(row: Recorded, unit: Metric, sample: Sample | None, found: Found, options: dict[str, Any]) -> Recorded:
    if sample is None:
        return row
    score = unit.score(sample, found, options)
    if score.status == "not_applicable":
        return row
    one = Stated(score.value, score.status if score.value is None else "scored", reason=score.reason)
    return replace(row, scores={**row.scores, name_of(unit.name): one})
