"""Score: verdicts, computed metrics and judges' findings as values, each in exactly one state."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Batch, Ref
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError, RaisedError, ReturnedError
from basic_control.data.filters import KIND
from basic_control.data.options import options_of
from basic_control.data.plugins import format_line
from basic_control.data.records import CALLS, ONLY_CALLS, VALUED, Found, Metric, Score, Status
from basic_control.data.suites import Aggregate
from basic_control.data.tables import SCORES
from basic_control.data.truncation import THINKING_ALONE
from basic_control.data.units import UnitIdentity, load_unit
from basic_control.metrics.analysis.joint import joint_scores
from basic_control.metrics.analysis.judged import LeftOut
from basic_control.metrics.panels import combine
from basic_control.tasks.judge import reopen
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage
from basic_control.tasks.store.samples import SampleRow, read_samples

LONGEST_QUESTION = 80
"""Characters of a question in a message."""


def scores_of(verdict: Mapping[str, Any], unit: Metric) -> Iterator[dict[str, Any]]:
    """Yield the scores of one row of the verdicts table: the family's verdict, and its additional values."""
    family_score = unit.score({"verdict": verdict}, {}, {})
    shared = {
        "item_id": verdict["item_id"],
        "model": verdict["model"],
        "repeat": verdict["repeat"],
        "status": verdict["status"],
        "reason": verdict["reason"],
        "version": unit.version,
    }
    yield {**shared, "metric": unit.name, "value": family_score.value, "details": verdict["details"]}
    for name, value in family_score.parts.items():
        yield {**shared, "metric": name, "value": value, "details": "{}"}


@stage(version=1, part="score", takes="verify")
def score(store: StoreSettings, verdicts: Ref, *, metric: UnitIdentity) -> Ref:
    """Turn a batch of verdicts into scores of the metric that defines their values."""
    opened, unit = open_store(store), load_unit(Metric, metric)
    rows = opened.read(verdicts).iter_rows(named=True)
    return opened.write(SCORES, SCORES.frame(chain.from_iterable(scores_of(verdict, unit) for verdict in rows)))


def metric_rows(metric: Metric, scored: Iterable[tuple[SampleRow, Score]]) -> Iterator[dict[str, Any]]:
    """Yield the metric's row and one for each part, `<metric>.<part>`, of every sample.

    Every sample gets every part that any sample has: a part it lacks has the metric's own status, or
    `not_applicable` if the metric has a value.
    """
    pairs = list(scored)
    names = list(dict.fromkeys(name for _, score in pairs for name in score.parts))
    for reply, score in pairs:
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
            "status": _status(score.value, score.status, reply, best=metric.bounds[1]),
            "details": format_canonical(dict(score.details)),
        }
        # A part that a sample lacks, where the metric has a value or not.
        missing = "not_applicable" if score.value is not None else score.status
        for name in names:
            value, status = score.parts.get(name), missing
            if value is not None:
                status = _status(value, _status_of_part(value, score), reply)
            yield {**shared, "metric": f"{metric.name}.{name}", "value": value, "status": status, "details": "{}"}


def _status_of_part(value: float, score: Score) -> Status:
    """Return the status of a metric's part: what it lacks of 1 may be for the reason that the metric states."""
    if score.status == "unsupported" and value < 1:
        return "unsupported"
    return "scored"


@stage(version=1, part="score", takes="score")
def join_metrics(store: StoreSettings, scores: list[Ref], *, parts: Mapping[str, float]) -> Ref:
    """Score a batch by whether all `parts` hold, from its scores by each metric."""
    opened = open_store(store)
    return opened.write(SCORES, joint_scores(opened.read_all(scores, SCORES), parts))


def _status(value: float | None, status: Status, reply: SampleRow, *, best: float = 1.0) -> Status:
    """Return the status of a value: for a truncated reply, anything not fully right is `truncated`."""
    if reply.cut and status in VALUED and (value is None or value < best):
        return "truncated"
    return status


def run_programs_of(unit: Metric, replies: Sequence[SampleRow], options: Mapping[str, Any]) -> list[Found]:
    """Run a metric's programs in all replies at once; return each reply's results."""
    if unit.programs is None:
        return [{}] * len(replies)
    from basic_control.tasks.sandbox import run_programs

    # A lost reply has no programs, but its place among the results.
    samples: list[Mapping[str, Any] | None] = []
    for reply in replies:
        has_reply = not reply.error_kind or _sees(unit, reply)
        samples.append(reply.sample if has_reply else None)
    return run_programs(unit, samples, options)


def _sees(unit: Metric, reply: SampleRow) -> bool:
    """Return whether a metric scores a reply that a content filter stopped."""
    return unit.sees_filtered and reply.error_kind == KIND


def _score_reply(unit: Metric, reply: SampleRow, make: Callable[[], Score]) -> Score:
    """Score a reply, if there is one; an exception is a defect of the metric."""
    if reply.error_kind and not _sees(unit, reply):
        # What a filter stopped says nothing about the server.
        status: Status = "filtered" if reply.error_kind == KIND else "model_error"
        return Score(None, status, reply.error_kind, {"error": reply.error})
    if reply.sample.get(CALLS) and not unit.reads_calls and not str(reply.sample["response"]).strip():
        return Score(0.0, "no_answer", ONLY_CALLS)
    try:
        score = _check_score(make())
    except InputError:
        raise
    except (RaisedError, ReturnedError) as error:
        raise InputError(_describe_defect(unit, reply, str(error))) from error
    except Exception as error:
        code = getattr(inspect.unwrap(unit.score), "__code__", None)
        file = getattr(code, "co_filename", "")
        location = file and f"{file}{format_line(file, error)}: "
        defect = _describe_defect(unit, reply, f"raised {type(error).__name__} ({error})")
        raise InputError(f"{location}{defect}") from error
    if score.status == "no_answer" and reply.is_thinking:
        return replace(score, reason=THINKING_ALONE)
    return score


def _describe_defect(unit: Metric, reply: SampleRow, event: str) -> str:
    """Return the message for a metric that raised, or returned no score, naming the question as people know it."""
    question = " ".join(str(reply.sample.get("question") or reply.sample.get("prompt") or reply.item_id).split())
    if len(question) > LONGEST_QUESTION:
        question = f"{question[: LONGEST_QUESTION - 1]}…"
    return (
        f"metric {unit.name} {event}, for the question {question!r}. Fix it, then run again: every reply is kept."
    )


def _check_score(value: object) -> Score:
    if not isinstance(value, Score):
        raise TypeError(f"it returned {value!r}; expected a Score")
    return value


@stage(version=3, part="score", takes="query")
def measure(
    store: StoreSettings,
    batch: Batch,
    *,
    metric: UnitIdentity,
    options: Mapping[str, Any],
    files: tuple[str, ...] = (),
) -> Ref:
    """Score a batch of replies by a metric that needs no judge; `files`: the digests of those that options name."""
    del files  # part of the cache key only
    opened = open_store(store)
    unit = load_unit(Metric, metric)
    used = options_of(unit, options)
    replies = list(read_samples(opened, batch))
    scored = (
        (reply, _score_reply(unit, reply, partial(unit.score, reply.sample, results, used)))
        for reply, results in zip(replies, run_programs_of(unit, replies, used), strict=True)
    )
    return opened.write(SCORES, SCORES.frame(metric_rows(unit, scored)))


@stage(version=5, part="score", takes="judge")
def score_judged(
    store: StoreSettings,
    batch: Batch,
    judgements: Ref,
    *,
    metric: UnitIdentity,
    options: Mapping[str, Any],
    aggregate: Aggregate,
    left_out: LeftOut | None = None,
    files: tuple[str, ...] = (),
) -> Ref:
    """Score a batch of replies from judges' findings; `left_out` are judges that do not count, by language.

    `files`: as for `measure`.
    """
    del files
    opened = open_store(store)
    unit = load_unit(Metric, metric)
    judgement_rows: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in opened.read(judgements).iter_rows(named=True):
        judgement_rows.setdefault((row["item_id"], row["model"], row["repeat"]), []).append(row)

    def join_judges(reply: SampleRow) -> Score:
        rows = judgement_rows[reply.item_id, reply.model, reply.repeat]
        sessions = {row["judge"]: reopen(unit, reply.sample, row, options, reply.language) for row in rows}
        return combine(sessions, aggregate, (left_out or {}).get(reply.language))

    scored = (
        (reply, _score_reply(unit, reply, partial(join_judges, reply))) for reply in read_samples(opened, batch)
    )
    return opened.write(SCORES, SCORES.frame(metric_rows(unit, scored)))
