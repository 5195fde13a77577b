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
from itertools import compress
from typing import Any

import polars as pl

from basic_control.config.settings import Judge, StoreSettings
from basic_control.data.batches import Batch, Cell, QueryResult, Ref
from basic_control.data.draw import format_canonical
from basic_control.data.filters import find_loss
from basic_control.data.options import options_of
from basic_control.data.plugins import find_unit
from basic_control.data.records import Message, Metric, Room, Sample
from basic_control.data.tables import JUDGEMENTS, REQUESTS
from basic_control.data.truncation import is_cut
from basic_control.data.typed import TypedQuestion
from basic_control.metrics.analysis.judged import LeftOut
from basic_control.metrics.cascade import Decider, decides_alone, is_checked, join
from basic_control.metrics.deciding_judges import fence_code
from basic_control.metrics.exam import exam_of
from basic_control.metrics.judging import (
    NOT_ASKED,
    CutReply,
    Judgement,
    JudgeReply,
    JudgeRequest,
    Session,
    UnansweredRequest,
    advance,
    begin,
    constrain,
    find_template_language,
    leave_out,
    list_unreadable,
)
from basic_control.prompts import render
from basic_control.tasks.models.openai_forms import LOGPROBS
from basic_control.tasks.models.protocol import UNASKED, find_server_digest
from basic_control.tasks.models.requests import build_request, reuse_recorded
from basic_control.tasks.plan import Panel
from basic_control.tasks.query import query, recall
from basic_control.tasks.runtime.storage import open_cache, open_store
from basic_control.tasks.stage import stage
from basic_control.tasks.store.samples import SampleRow, read_judged

Deciders = Mapping[tuple[str, str], Decider]
"""By cascade and language."""

_ENDS = ("failure", "error", "n_calls", "n_repairs")
"""Columns about a session's end that are stored unchanged."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The judges' findings, and their requests."""

    judgements: Ref
    calls: list[QueryResult]


def encode(parsed: Any) -> Any:
    """Return a step parser's result as JSON."""
    if isinstance(parsed, Judgement):
        return {"judgement": dataclasses.asdict(parsed)}
    if isinstance(parsed, Mapping):
        return {"mapping": {key: encode(value) for key, value in parsed.items()}}
    if isinstance(parsed, list | tuple):
        return [*map(encode, parsed)]
    return parsed


def decode(text: Any) -> Any:
    """Return the value that `encode` turned into JSON."""
    if isinstance(text, list):
        return [*map(decode, text)]
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
    first, *further = ask.messages
    if judge.system:
        first = replace(first, content=f"{judge.system}\n\n{first.content}")
    step = ask.step
    if ask.repair:
        step = f"{step} (repair)"
    return build_request(
        judge,
        panel.identities[judge.name],
        (first, *further),
        item_id=sample.item_id,
        step=step,
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
        values = {"instructions": typed.instructions, "state": typed.state, "labels": typed.labels}
        language = find_template_language("judging/label", sample.language)
        message = render("judging/label", language, **values, mark=fence_code(values))
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


def _write_requests(
    hearing: _JudgingContext, judge: Judge, sessions: Mapping[int, Session]
) -> tuple[pl.DataFrame, dict[int, list[str]]]:
    """Return one judge's current requests of all sessions, and the requests' ids by session."""
    rows, numbers = list[dict[str, Any]](), list[int]()
    for number, session in sessions.items():
        sample = hearing.samples[number]
        rows += [pose_question(judge, hearing.panel, sample, ask) for ask in session.asks]
        numbers += [number] * len(session.asks)
    requests = REQUESTS.frame(rows)
    if hearing.recorded:
        # Another token limit changes no reply that ended by itself.
        requests = reuse_recorded(requests, open_store(hearing.store).read(hearing.recorded))
    ids: dict[int, list[str]] = {number: [] for number in sessions}
    for number, request_id in zip(numbers, requests["request_id"], strict=True):
        ids[number].append(request_id)
    return requests, ids


def _ask_wave(
    hearing: _JudgingContext, judge: Judge, sessions: Mapping[int, Session]
) -> tuple[QueryResult, dict[int, tuple[Session, list[str]]]]:
    """Ask one judge its sessions' current requests; return the advanced sessions with unreadable cached replies."""
    store = open_store(hearing.store)
    requests, ids = _write_requests(hearing, judge, sessions)
    ref = store.write(REQUESTS, requests)
    digest = find_server_digest(hearing.panel.identities[judge.name])
    result = query(
        hearing.cell,
        hearing.store,
        ref,
        model=judge,
        shown_as=hearing.cell,
        digest=digest,
        run=hearing.run,
        stored_only=judge.name in hearing.panel.absent,
    )
    responses = requests.select("request_id", "payload").join(store.read(result.responses), on="request_id")
    rows_by_id = {row["request_id"]: row for row in responses.iter_rows(named=True)}
    advanced: dict[int, tuple[Session, list[str]]] = {}
    for number, session in sessions.items():
        replies = [_reply_of(rows_by_id[request_id]) for request_id in ids[number]]
        unread = [ids[number][position] for position in list_unreadable(session, replies)]
        # Of what was asked just now another reply would be no better.
        cached = [request_id for request_id in unread if rows_by_id[request_id]["cached"]]
        advanced[number] = advance(session, replies), cached
    return result, advanced


def decide(judge: Judge, session: Session) -> Session:
    """Have a judge that needs no call answer all of a session's questions."""
    rule = judge.unit.decide
    while session.asks and rule:
        exam = exam_of(session.metric.name, session.asks[0].step)
        replies = [format_canonical(rule(exam, ask.question.values)) for ask in session.asks]
        session = advance(session, replies)
    return session


def _ask_judge(
    hearing: _JudgingContext, judge: Judge, sessions: Mapping[int, Session]
) -> tuple[dict[int, Session], list[QueryResult]]:
    """Ask one judge until no session has questions left; sessions have the numbers of their samples."""
    current = {**sessions}
    results = list[QueryResult]()
    unread: dict[int, list[str]] = {}
    while waiting := dict(filter(_has_questions, current.items())):
        result, advanced = _ask_wave(hearing, judge, waiting)
        results.append(result)
        for number, (session, ids) in advanced.items():
            current[number] = session
            unread.setdefault(number, []).extend(ids)
    failed = [number for number, ids in unread.items() if ids and current[number].failure]
    if failed and hearing.refresh and judge.name not in hearing.panel.absent:
        # What could not be read in the cache is asked once more.
        for number in failed:
            open_cache(hearing.store).forget(unread[number])
        again = {number: sessions[number] for number in failed}
        renewed, further = _ask_judge(replace(hearing, refresh=False), judge, again)
        current |= renewed
        results += further
    return current, results


def _has_questions(entry: tuple[int, Session]) -> bool:
    return bool(entry[1].asks)


def _recall_judge(
    hearing: _JudgingContext, judge: Judge, sessions: Mapping[int, Session]
) -> tuple[dict[int, Session], list[QueryResult]]:
    """Read what a judge that does not count said before it was excluded; what it did not say stays unasked."""
    current = {**sessions}
    results = list[QueryResult]()
    while waiting := dict(filter(_has_questions, current.items())):
        requests, ids = _write_requests(hearing, judge, waiting)
        result, responses = recall(requests, judge, hearing.store)
        rows_by_id = {row["request_id"]: row for row in responses.iter_rows(named=True)}
        for number, session in waiting.items():
            rows = [*map(rows_by_id.get, ids[number])]
            if None in rows:
                current[number] = leave_out(session)
            else:
                current[number] = advance(session, [*map(_reply_of, filter(None, rows))])
        if result:
            results.append(result)
    return current, results


@dataclass(frozen=True, slots=True)
class _Judging:
    """How judges judge a batch's replies by a metric; `unasked` and `deciders` as `judge` has them."""

    context: _JudgingContext
    unit: Metric
    options: Mapping[str, Any]
    unasked: LeftOut
    deciders: Deciders

    def judge_all(self, judge: Judge) -> tuple[list[Session], list[QueryResult]]:
        """Have one judge, or a cascade, judge all replies."""
        excluded = [judge.name in self.unasked.get(sample.language, ()) for sample in self.context.samples]
        if judge.members:
            return self._judge_in_cascade(judge, excluded)
        return self._judge_alone(judge, excluded, [False] * len(excluded))

    def _judge_alone(
        self, judge: Judge, excluded: Sequence[bool], spared: Sequence[bool]
    ) -> tuple[list[Session], list[QueryResult]]:
        """Have one judge judge the replies; of those where it is `excluded` it is not asked, but read."""
        room = room_of(judge)
        sessions = dict[int, Session]()
        for number, (sample, is_spared) in enumerate(zip(self.context.samples, spared, strict=True)):
            session = begin(
                self.unit,
                sample.sample,
                language=sample.language,
                options=self.options,
                room=room,
                decides=judge.decides,
            )
            sessions[number] = leave_out(session) if is_spared else session
        if judge.unit.decide:
            return [decide(judge, session) for session in sessions.values()], []
        cell = replace(self.context.cell, metric=self.unit.name, judge=judge.name)
        hearing = replace(self.context, cell=cell)
        excluded_sessions = dict(compress(sessions.items(), excluded))
        recalled, results = _recall_judge(hearing, judge, excluded_sessions)
        # Of those that were read none has a question left.
        ended, further = _ask_judge(hearing, judge, sessions | recalled)
        return [*ended.values()], [*results, *further]

    def _judge_in_cascade(
        self, cascade: Judge, excluded: Sequence[bool]
    ) -> tuple[list[Session], list[QueryResult]]:
        panel, samples = self.context.panel, self.context.samples
        nobody = [False] * len(samples)
        small, results = self._judge_alone(panel.find_member(cascade.members[0]), excluded, nobody)
        alone, spared = list[bool](), list[bool]()
        for session, sample in zip(small, samples, strict=True):
            decider = self.deciders.get((cascade.name, sample.language))
            is_unasked = session.failure == NOT_ASKED
            is_alone = is_unasked or decides_alone(session, decider)
            key = f"{self.unit.name} {sample.item_id} {sample.model} {sample.repeat}"
            alone.append(is_alone)
            # The large one answers what the small one does not, and a random share of the rest.
            spared.append(is_unasked or (is_alone and not is_checked(key, cascade.options["check"])))
        large, further = self._judge_alone(panel.find_member(cascade.members[1]), excluded, spared)
        sessions = list[Session]()
        for first, second, is_alone, is_spared in zip(small, large, alone, spared, strict=True):
            session = None if is_spared else second
            sessions.append(join(first, session, cascade.members, alone=is_alone))
        return sessions, [*results, *further]


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
    judges that do not count, by the replies' language: they are not asked, but what they said before is read.
    `deciders` say when the small judge of a cascade decides alone.
    """
    tables = open_store(store)
    unit = find_unit(Metric, metric)
    samples = read_judged(tables, batch)
    context = _JudgingContext(store, panel, samples, batch.cell, refresh, recorded, run)
    judging = _Judging(context, unit, options, unasked or {}, deciders or {})
    # Each in its own context: Prefect's run and the ledger live there.
    with ThreadPoolExecutor(max(1, len(panel.judges))) as pool:
        running = [pool.submit(copy_context().run, judging.judge_all, entry) for entry in panel.judges]
        verdicts = [future.result() for future in running]
    rows, results = list[dict[str, Any]](), list[QueryResult]()
    for entry, (sessions, results_of_judge) in zip(panel.judges, verdicts, strict=True):
        rows += [_write_row(entry.name, *pair) for pair in zip(samples, sessions, strict=True)]
        results += results_of_judge
    return Judged(tables.write(JUDGEMENTS, JUDGEMENTS.frame(rows)), results)


def _write_row(judge: str, sample: SampleRow, session: Session) -> dict[str, Any]:
    """Return an ended session as a row of the judgements table."""
    probabilities = cascade = None
    if session.probabilities:
        probabilities = format_canonical(session.probabilities)
    if session.cascade:
        cascade = format_canonical(session.cascade)
    return {
        "item_id": sample.item_id,
        "model": sample.model,
        "repeat": sample.repeat,
        "metric": session.metric.name,
        "judge": judge,
        "found": format_canonical(encode(session.replies)),
        "probabilities": probabilities,
        "cascade": cascade,
        **{name: getattr(session, name) for name in _ENDS},
    }


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
