"""Judge: put a judged metric's questions to every judge, wave by wave, until none is left.

The rules (which questions, how a reply reads, one repair, then failed) are `metrics.judging`'s; the asking is
`query`'s, as for any model.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

from artifacts.samples import Answered, answered
from config.settings import Judge
from config.settings import Store as StoreSettings
from data.draw import canonical
from data.options import options_of
from data.plugins import metrics
from data.records import Asked, Batch, Cell, Metric, Ref, Sample
from data.tables import JUDGEMENTS, REQUESTS
from metrics.judging import Ask, Failed, Judgement, Session, advance, begin
from tasks.models.requests import request
from tasks.query import query
from tasks.runtime.storage import open_store
from tasks.stage import stage


@dataclass(frozen=True, slots=True)
class Judged:
    """What judges found, and what they were asked."""

    judgements: Ref
    asked: list[Asked]


@dataclass(frozen=True, slots=True)
class Panel:
    """The judges of a metric: who they are, and the sampling temperature that the metric asks for, if any."""

    judges: tuple[Judge, ...]
    identities: Mapping[str, Mapping[str, str]]
    temperature: float | None = None


def encode(found: Any) -> Any:
    """Return what a step's parser found as JSON."""
    if isinstance(found, Judgement):
        return {"judgement": dataclasses.asdict(found)}
    if isinstance(found, Mapping):
        return {"mapping": {key: encode(value) for key, value in found.items()}}
    if isinstance(found, list | tuple):
        return [encode(value) for value in found]
    return found


def decode(text: Any) -> Any:
    """Return what `encode` made JSON of."""
    if isinstance(text, list):
        return [decode(value) for value in text]
    if isinstance(text, dict):
        if "judgement" in text:
            return Judgement(**text["judgement"])
        return {key: decode(value) for key, value in text["mapping"].items()}
    return text


def pose_question(judge: Judge, panel: Panel, sample: Answered, ask: Ask) -> dict[str, Any]:
    """Return a question to a judge as a row of the requests table.

    A temperature that the judge was given stands over the metric's. What it was given as its system prompt is said
    before the metric's own, in the same message: of two, many servers take only one.
    """
    own = judge.temperature
    temperature = own if own is not None else panel.temperature or 0.0
    first, *rest = ask.messages
    if judge.system:
        first = replace(first, content=f"{judge.system}\n\n{first.content}")
    return request(
        judge,
        panel.identities[judge.name],
        (first, *rest),
        item_id=sample.item_id,
        step=f"{ask.step} (repair)" if ask.repair else ask.step,
        subject=(sample.model, sample.repeat),
        key=ask.question.key,
        schema=ask.schema,
        changes={"temperature": temperature},
    )


@dataclass(frozen=True, slots=True)
class _Hearing:
    """What the waves of one batch share."""

    store: StoreSettings
    panel: Panel
    samples: Sequence[Answered]
    cell: Cell


def _wave(hearing: _Hearing, judge: Judge, sessions: Mapping[int, Session]) -> tuple[dict[int, Session], Asked]:
    """Ask one judge all that its sessions ask now; return them advanced."""
    place = open_store(hearing.store)
    asks = {
        number: [pose_question(judge, hearing.panel, hearing.samples[number], ask) for ask in session.asks]
        for number, session in sessions.items()
    }
    ref = place.write(REQUESTS, REQUESTS.frame(row for rows in asks.values() for row in rows))
    asked = query(hearing.cell, hearing.store, ref, model=judge, cell=hearing.cell)
    columns = place.read(asked.responses).select("request_id", "text", "error").iter_rows()
    replies = {
        request_id: Failed(error or "no reply") if text is None else text for request_id, text, error in columns
    }
    advanced = {
        number: advance(session, [replies[row["request_id"]] for row in asks[number]])
        for number, session in sessions.items()
    }
    return advanced, asked


def _hear(hearing: _Hearing, judge: Judge, sessions: Sequence[Session]) -> tuple[list[Session], list[Asked]]:
    """Put one judge's questions until no session asks any more."""
    standing = list(sessions)
    asked: list[Asked] = []
    while waiting := {n: session for n, session in enumerate(standing) if session.asks}:
        advanced, came = _wave(hearing, judge, waiting)
        asked.append(came)
        for number, session in advanced.items():
            standing[number] = session
    return standing, asked


def _row(sample: Answered, judge: str, session: Session) -> dict[str, Any]:
    return {
        "item_id": sample.item_id,
        "model": sample.model,
        "repeat": sample.repeat,
        "metric": session.metric.name,
        "judge": judge,
        "found": canonical(encode(session.found)),
        "failure": session.failure,
        "error": session.error,
        "n_calls": session.n_calls,
        "n_repairs": session.n_repairs,
    }


@stage(version=1, cached=False)
def judge(store: StoreSettings, batch: Batch, *, metric: str, options: Mapping[str, Any], panel: Panel) -> Judged:
    """Have every judge go through every reply; a judge's failure ends its own session only."""
    place = open_store(store)
    unit = metrics()[metric]
    samples = [s for s in answered(place, batch) if s.error_kind is None]
    opened = [begin(unit, s.sample, language=s.language, options=options) for s in samples]

    def hear(one: Judge) -> tuple[list[Session], list[Asked]]:
        cell = replace(batch.cell, metric=metric, judge=one.name)
        return _hear(_Hearing(store, panel, samples, cell), one, opened)

    # Each in a context of its own: Prefect's run and the ledger live there.
    with ThreadPoolExecutor(max(1, len(panel.judges))) as pool:
        running = [pool.submit(copy_context().run, hear, one) for one in panel.judges]
        heard = [future.result() for future in running]
    rows = [
        _row(sample, one.name, session)
        for one, (sessions, _) in zip(panel.judges, heard, strict=True)
        for sample, session in zip(samples, sessions, strict=True)
    ]
    ref = place.write(JUDGEMENTS, JUDGEMENTS.frame(rows))
    return Judged(ref, [asked for _, several in heard for asked in several])


def reopen(
    unit: Metric, sample: Sample, row: Mapping[str, Any], options: Mapping[str, Any], language: str
) -> Session:
    """Return an ended session from its row of the judgements table."""
    return Session(
        metric=unit,
        sample=sample,
        options=options_of(unit, options),
        language=language,
        position=len(unit.steps),
        found=decode(json.loads(row["found"])),
        n_calls=row["n_calls"],
        n_repairs=row["n_repairs"],
        failure=row["failure"],
        error=row["error"],
    )
