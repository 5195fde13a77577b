"""Score recorded replies again by a metric of ours that needs no judge."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from basic_control.data.errors import InputError, plural
from basic_control.data.options import options_of
from basic_control.data.plugins import metric, metrics
from basic_control.data.records import Found, Metric, Sample
from basic_control.data.truncation import CUT
from basic_control.tasks.exchange.records import Log, Recorded, Stated, name_of
from basic_control.tasks.sandbox import run_programs


def verified(log: Log, name: str) -> Log:
    """Return a log with our score of each reply beside the tool's own, under `name_of(name)`.

    Raises:
        InputError: the metric does not exist, needs a judge, or applies to no row.
    """
    unit = metric(name)
    if unit.steps or unit.verifies or unit.opponent:
        able = ", ".join(
            one for one, found in metrics().items() if not (found.steps or found.verifies or found.opponent)
        )
        raise InputError(
            f"--verify {name}: it needs more than a reply and an expected answer; expected one of {able}."
        )
    samples = [*map(_sample, log.rows)]
    options = options_of(unit, {})
    if unit.completes:
        options = unit.completes(filter(None, samples), options)
    found = run_programs(unit, samples, options)

    def scored(row: Recorded, sample: Sample | None, found: Found) -> Recorded:
        if sample is None or (score := unit.score(sample, found, options)).status == "not_applicable":
            return row
        one = Stated(score.value, score.status if score.value is None else "scored", reason=score.reason)
        return row._replace(scores={**row.scores, name_of(unit.name): one})

    again = replace(log, rows=tuple(map(scored, log.rows, samples, found)))
    if remark := _left_out(unit, [sample for sample in samples if sample is not None], options):
        again = replace(again, remarks=(*again.remarks, remark))
    if name_of(unit.name) not in again.metrics:
        raise InputError(f"--verify {name}: no row has both a reply and the expected answer that it needs.")
    return again


def _left_out(unit: Metric, samples: Sequence[Sample], options: Mapping[str, Any]) -> str:
    """Return a remark on the rows whose expected answer a metric cannot read; '' if it reads all."""
    expects = unit.expects
    n_unread = sum(bool(expects(sample, options).problem) for sample in samples) if expects else 0
    if not n_unread:
        return ""
    return f"{unit.name}: {plural(n_unread, 'row')} left out, whose expected answer it cannot read"


def _sample(row: Recorded) -> Sample | None:
    if row.response is None or row.error:
        return None
    text = row.answer if isinstance(row.answer, str) else "; ".join(row.answer)
    return {
        **row.facts,
        "question": row.question,
        "prompt": row.facts.get("prompt", row.question),
        "answer": row.answer,
        "reference": row.facts.get("reference", text),
        "options": [*row.material.choices],
        "response": row.response,
        "facts": json.dumps(dict(row.facts), default=str),
        CUT: row.cut,
    }
