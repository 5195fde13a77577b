"""Look again at recorded replies with a metric of ours that asks nobody."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from data.errors import InputError
from data.options import options_of
from data.plugins import metric, metrics
from data.records import Found, Metric, Sample
from data.truncation import CUT
from tasks.exchange.records import Recorded, Stated, name_of


def verifier(name: str) -> Callable[[Sequence[Recorded]], list[Recorded]]:
    """Return what gives rows a score of ours too, under `name_of(name)`.

    Raises:
        InputError: no such metric, or one that asks a judge.
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

    def verified(rows: Sequence[Recorded]) -> list[Recorded]:
        samples = [_sample(row) for row in rows]
        found = _ran(unit, samples, options)
        return [
            _scored(row, unit, sample, programs, options)
            for row, sample, programs in zip(rows, samples, found, strict=True)
        ]

    return verified


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
    return row._replace(scores={**row.scores, name_of(unit.name): one})
