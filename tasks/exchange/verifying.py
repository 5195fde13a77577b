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
from basic_control.tasks.exchange.logs import Log, Recorded, Stated, name_our_metric
from basic_control.tasks.sandbox import run_programs


def add_our_scores(log: Log, name: str) -> Log:
    """Return a log with our score of each reply beside the tool's own, under `name_of(name)`.

    Raises:
        InputError: the metric does not exist, needs a judge, or applies to no row.
    """
    unit = metric(name)
    if not _needs_reply_alone(unit):
        candidates = ", ".join(key for key, candidate in metrics().items() if _needs_reply_alone(candidate))
        raise InputError(
            f"--verify {name}: it needs more than a reply and an expected answer; expected one of {candidates}."
        )
    # A row that cannot be scored stays in its position, as None.
    samples = [*map(_build_sample, log.rows)]
    present = [sample for sample in samples if sample is not None]
    options = options_of(unit, {})
    if unit.completes:
        options = unit.completes(present, options)
    outcomes = run_programs(unit, samples, options)

    def add_score(row: Recorded, sample: Sample | None, outcome: Found) -> Recorded:
        if sample is None:
            return row
        score = unit.score(sample, outcome, options)
        if score.status == "not_applicable":
            return row
        status = "scored" if score.value is not None else score.status
        stated = Stated(score.value, status, reason=score.reason)
        return row._replace(scores={**row.scores, name_our_metric(unit.name): stated})

    rows = tuple(map(add_score, log.rows, samples, outcomes))
    remark = _describe_unread(unit, present, options)
    again = replace(log, rows=rows, remarks=(*log.remarks, *filter(None, [remark])))
    if name_our_metric(unit.name) not in again.metrics:
        raise InputError(f"--verify {name}: no row has both a reply and the expected answer that it needs.")
    return again


def _needs_reply_alone(unit: Metric) -> bool:
    """Say whether a metric scores a reply by its expected answer: without a judge, a verifier or a second reply."""
    return not (unit.steps or unit.verifies or unit.opponent)


def _describe_unread(unit: Metric, samples: Sequence[Sample], options: Mapping[str, Any]) -> str:
    """Return a remark on the rows whose expected answer a metric cannot read; '' if it reads all."""
    if not unit.expects:
        return ""
    problems = [unit.expects(sample, options).problem for sample in samples]
    n_unread = len([*filter(None, problems)])
    if not n_unread:
        return ""
    return f"{unit.name}: {plural(n_unread, 'row')} left out, whose expected answer it cannot read"


def _build_sample(row: Recorded) -> Sample | None:
    """Return a row as metrics read it; None if there is no reply to score."""
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
