"""Score recorded replies again by a metric of ours that needs no judge."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from data.errors import InputError
from data.options import options_of
from data.plugins import metric, metrics
from data.records import Found, Sample
from data.truncation import CUT
from tasks.exchange.records import Recorded, Stated, name_of


def verifier(name: str) -> Callable[[Sequence[Recorded]], list[Recorded]]:
    """Return a function that adds our score to rows, under `name_of(name)`.

    Raises:
        InputError: the metric does not exist, or needs a judge.
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

    def scored(row: Recorded, sample: Sample | None, found: Found) -> Recorded:
        if sample is None or (score := unit.score(sample, found, options)).status == "not_applicable":
            return row
        one = Stated(score.value, score.status if score.value is None else "scored", reason=score.reason)
        return row._replace(scores={**row.scores, name_of(unit.name): one})

    def verified(rows: Sequence[Recorded]) -> list[Recorded]:
        samples, found = [*map(_sample, rows)], [dict[str, Any]()] * len(rows)
        if unit.programs is not None:
            from tasks.sandbox import run_programs

            found = run_programs(unit, samples, options)
        return [*map(scored, rows, samples, found)]

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
