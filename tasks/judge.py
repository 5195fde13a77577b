"""Judge: ask every judge a judged metric's questions, wave by wave, until none is left.

The rules (which questions, how a reply is parsed, one repair, then failed) are `metrics.judging`'s; the calls are
`query`'s, as for any model.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

from basic_control.config.settings import Judge, StoreSettings
from basic_control.data.batches import Batch, Cell, QueryResult, Ref
from basic_control.data.draw import format_canonical
from basic_control.data.filters import find_loss
from basic_control.data.options import options_of
from basic_control.data.plugins import find
from basic_control.data.records import CALLS, Message, Metric, Room, Sample
from basic_control.data.tables import JUDGEMENTS, REQUESTS
from basic_control.data.truncation import is_cut
from basic_control.data.typed import TypedQuestion
from basic_control.metrics import cascade
from basic_control.metrics.analysis.judged import LeftOut
from basic_control.metrics.cascade import Decider
from basic_control.metrics.exam import exam_of
from basic_control.metrics.judging import (
    CutReply,
    Judgement,
    JudgeReply,
    JudgeRequest,
    Session,
    UnansweredRequest,
    advance,
    begin,
    constrain,
    fence_code,
    language_of,
    leave_out,
    list_unreadable,
)
from basic_control.prompts import render
from basic_control.tasks.models.openai_forms import LOGPROBS
from basic_control.tasks.models.protocol import UNASKED, find_server_digest
from basic_control.tasks.models.requests import build_request, reuse_recorded
from basic_control.tasks.plan import Panel
from basic_control.tasks.query import query
from basic_control.tasks.runtime.storage import open_cache, open_store
from basic_control.tasks.stage import stage
from basic_control.tasks.store.samples import SampleRow, read_samples

Deciders = Mapping[tuple[str, str], Decider]
"""By cascade and language."""

_ENDS = ("failure", "error", "n_calls", "n_repairs")
"""Columns about a session's end that are stored unchanged."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The judges' findings, and their requests."""

    judgements: Ref
    asked: list[QueryResult]


def encode(found: Any) -> Any:
    """Return a step parser's result as JSON."""
    if isinstance(found, Judgement):
        return {"judgement": dataclasses.asdict(found)}
    if isinstance(found, Mapping):
        return {"mapping": {key: encode(value) for key, value in found.items()}}
    if isinstance(found, list | tuple):
        return [encode(value) for value in found]
    return found


def decode(text: Any) -> Any:
    """Return the value that `encode` turned into JSON."""
    if isinstance(text, list):
        return [decode(value) for value in text]
    if isinstance(text, dict):
        if "judgement" in text:
            return Judgement(**text["judgement"])
        return {key: decode(value) for key, value in text["mapping"].items()}
    return text


def pose_question(judge: Judge, panel: Panel, sample: SampleRow, ask: JudgeRequest) -> dict[str, Any]:
    """Return a question to a judge as a row of the requests table.

    A judge's own temperature overrides the step's, and that the metric's. The judge's system prompt is placed
    before the metric's, in the same message: of two, many servers accept only one. Deciding judges sample nothing.
    """
    if ask.typed is not None:
        return _pose_typed(judge, panel, sample, ask, ask.typed)
    temperatures = (judge.temperature, ask.temperature, panel.temperature)
    temperature = next((value for value in temperatures if value is not None), 0.0)
    first, *rest = ask.messages
    if judge.system:
        first = replace(first, content=f"{judge.system}\n\n{first.content}")
    return build_request(
        judge,
        panel.identities[judge.name],
        (first, *rest),
        item_id=sample.item_id,
        step=f"{ask.step} (repair)" if ask.repair else ask.step,
        subject=(sample.model, sample.repeat),
        key=ask.question.key,
        repeat=ask.question.repeat,
        schema=constrain(ask, judge.max_tokens, sample.language),
        changes={"temperature": temperature},
    )


def _pose_typed(
    judge: Judge, panel: Panel, sample: SampleRow, ask: JudgeRequest, typed: TypedQuestion
) -> dict[str, Any]:
    """Return a typed question as a row of the requests table; the judge's system prompt begins its instructions.

    A chat judge whose probabilities are read is shown all in one prompt.
    """
    if judge.system:
        typed = replace(typed, instructions=f"{judge.system}\n\n{typed.instructions}")
    message = json.dumps(typed.state, ensure_ascii=False, indent=1)
    if judge.options.get("api") == LOGPROBS:
        shown = {"instructions": typed.instructions, "state": typed.state, "labels": typed.labels}
        language = language_of("judging/label", sample.language)
        message = render("judging/label", language, **shown, mark=fence_code(shown))
        typed = replace(typed, instructions="", state={})
    return build_request(
        judge,
        panel.identities[judge.name],
        (Message("user", message),),
        item_id=sample.item_id,
        step=ask.step,
        subject=(sample.model, sample.repeat),
        key=ask.question.key,
        repeat=ask.question.repeat,
        changes={"temperature": None, "seed": None, "max_tokens": None},
        typed=typed,
    )


@dataclass(frozen=True, slots=True)
class _JudgingContext:
    """Shared state of one batch's waves; `refresh`: sessions failed by cached replies are repeated once."""

    store: StoreSettings
    panel: Panel
    samples: Sequence[SampleRow]
    cell: Cell
    refresh: bool
    recorded: Ref | None
    run: str


def _reply_of(row: Mapping[str, Any]) -> JudgeReply:
    """Return the reply in a row of the responses, joined with its request."""
    if loss := find_loss(row):
        kind, error = loss
        return UnansweredRequest(error or "no reply", kind in UNASKED)
    return CutReply(row["text"]) if is_cut(row) else str(row["text"])


def room_of(judge: Judge) -> Room | None:
    """Return the room that a judge has for a reply; None for one that writes none."""
    if judge.decides or judge.unit.decide:
        return None
    return Room(judge.max_tokens, is_enforced=judge.structured == "schema")


def _ask_wave(
    hearing: _JudgingContext, judge: Judge, sessions: Mapping[int, Session]
) -> tuple[QueryResult, dict[int, tuple[Session, list[str]]]]:
    """Ask one judge its sessions' current requests; return the advanced sessions with unreadable cached replies."""
    store = open_store(hearing.store)
    asks = {
        number: [pose_question(judge, hearing.panel, hearing.samples[number], ask) for ask in session.asks]
        for number, session in sessions.items()
    }
    made = REQUESTS.frame(row for rows in asks.values() for row in rows)
    if hearing.recorded:
        made = reuse_recorded(made, store.read(hearing.recorded))
        kept_ids = iter(made["request_id"])
        asks = {number: [{**row, "request_id": next(kept_ids)} for row in rows] for number, rows in asks.items()}
    ref = store.write(REQUESTS, made)
    digest = find_server_digest(hearing.panel.identities[judge.name])
    asked = query(
        hearing.cell, hearing.store, ref, model=judge, shown_as=hearing.cell, digest=digest, run=hearing.run
    )
    responses = made.select("request_id", "payload").join(store.read(asked.responses), on="request_id")
    rows_by_id = {row["request_id"]: row for row in responses.iter_rows(named=True)}
    replies = {request_id: _reply_of(row) for request_id, row in rows_by_id.items()}
    kept = {request_id for request_id, row in rows_by_id.items() if row["cached"]}
    heard: dict[int, tuple[Session, list[str]]] = {}
    for number, session in sessions.items():
        ids = [row["request_id"] for row in asks[number]]
        given = [replies[one] for one in ids]
        unread = [ids[place] for place in list_unreadable(session, given) if ids[place] in kept]
        heard[number] = advance(session, given), unread
    return asked, heard


def decide(judge: Judge, session: Session) -> Session:
    """Have a judge that needs no call answer all of a session's questions."""
    rule = judge.unit.decide
    while session.asks and rule:
        exam = exam_of(session.metric.name, session.asks[0].step)
        replies = [format_canonical(rule(exam, ask.question.values)) for ask in session.asks]
        session = advance(session, replies)
    return session


def _ask_judge(
    hearing: _JudgingContext, judge: Judge, sessions: Sequence[Session]
) -> tuple[list[Session], list[QueryResult]]:
    """Ask one judge until no session has questions left."""
    current = list(sessions)
    asked: list[QueryResult] = []
    unread: dict[int, list[str]] = {}
    while waiting := {n: session for n, session in enumerate(current) if session.asks}:
        calls, heard = _ask_wave(hearing, judge, waiting)
        asked.append(calls)
        for number, (session, ids) in heard.items():
            current[number] = session
            unread.setdefault(number, []).extend(ids)
    again = [number for number, ids in unread.items() if ids and current[number].failure] if hearing.refresh else []
    if again:
        open_cache(hearing.store).forget([one for number in again for one in unread[number]])
        anew, more = _ask_judge(replace(hearing, refresh=False), judge, [sessions[number] for number in again])
        for number, session in zip(again, anew, strict=True):
            current[number] = session
        asked += more
    return current, asked


@stage(version=1, part="judge", takes="query", cached=False)
def judge(
    store: StoreSettings,
    batch: Batch,
    *,
    metric: str,
    options: Mapping[str, Any],
    panel: Panel,
    refresh: bool = False,
    recorded: Ref | None = None,
    run: str = "",
    unasked: LeftOut | None = None,
    deciders: Deciders | None = None,
) -> Judged:
    """Have every judge judge every reply; a judge's failure ends its own session only.

    `refresh`: where unreadable cached replies failed a session, they are deleted and requested once more.
    `recorded` are requests whose replies another token limit would not change. `run`: as for `query`. `unasked` are
    judges that do not count, by the replies' language: they are not asked. `deciders` say when the small judge of
    a cascade decides alone.
    """
    tables = open_store(store)
    unit = find(Metric, metric)
    replies = [reply for reply in read_samples(tables, batch) if reply.error_kind is None]
    # A reply that only calls tools has no text to be judged.
    samples = [reply for reply in replies if reply.sample["response"] or not reply.sample.get(CALLS)]

    def hear(one: Judge) -> tuple[list[Session], list[QueryResult]]:
        excluded = [one.name in (unasked or {}).get(sample.language, ()) for sample in samples]
        if one.members:
            return hear_cascade(one, excluded)
        return hear_one(one, excluded)

    def hear_one(one: Judge, excluded: Sequence[bool]) -> tuple[list[Session], list[QueryResult]]:
        room = room_of(one)
        opened = [
            begin(unit, s.sample, language=s.language, options=options, room=room, decides=one.decides)
            for s in samples
        ]
        for number, is_excluded in enumerate(excluded):
            if is_excluded:
                opened[number] = leave_out(opened[number])
        if one.unit.decide:
            return [decide(one, session) for session in opened], []
        cell = replace(batch.cell, metric=metric, judge=one.name)
        return _ask_judge(_JudgingContext(store, panel, samples, cell, refresh, recorded, run), one, opened)

    def hear_cascade(one: Judge, excluded: Sequence[bool]) -> tuple[list[Session], list[QueryResult]]:
        small, asked = hear_one(panel.member(one.members[0]), excluded)
        alone = [
            is_excluded or cascade.decides_alone(session, (deciders or {}).get((one.name, sample.language)))
            for session, sample, is_excluded in zip(small, samples, excluded, strict=True)
        ]
        checked = [
            cascade.is_checked(f"{unit.name} {sample.item_id} {sample.model} {sample.repeat}", one.options["check"])
            for sample in samples
        ]
        # The large one answers what the small one does not, and a random share of the rest.
        spared = [
            is_excluded or (is_alone and not is_checked)
            for is_alone, is_checked, is_excluded in zip(alone, checked, excluded, strict=True)
        ]
        large, more = hear_one(panel.member(one.members[1]), spared)
        joined = [
            cascade.join(first, None if is_spared else second, one.members, alone=is_alone)
            for first, second, is_alone, is_spared in zip(small, large, alone, spared, strict=True)
        ]
        return joined, [*asked, *more]

    # Each in its own context: Prefect's run and the ledger live there.
    with ThreadPoolExecutor(max(1, len(panel.judges))) as pool:
        running = [pool.submit(copy_context().run, hear, one) for one in panel.judges]
        heard = [future.result() for future in running]
    rows = [
        {
            "item_id": sample.item_id,
            "model": sample.model,
            "repeat": sample.repeat,
            "metric": unit.name,
            "judge": one.name,
            "found": format_canonical(encode(session.replies)),
            "probabilities": format_canonical(session.probabilities) if session.probabilities else None,
            "cascade": format_canonical(session.cascade) if session.cascade else None,
            **{name: getattr(session, name) for name in _ENDS},
        }
        for one, (sessions, _) in zip(panel.judges, heard, strict=True)
        for sample, session in zip(samples, sessions, strict=True)
    ]
    ref = tables.write(JUDGEMENTS, JUDGEMENTS.frame(rows))
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
        replies=decode(json.loads(row["found"])),
        probabilities=json.loads(row["probabilities"] or "{}"),
        cascade=json.loads(row["cascade"] or "{}"),
        **{name: row[name] for name in _ENDS},
    )
