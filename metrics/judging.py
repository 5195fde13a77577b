"""Judging step by step, without a client: the next questions, the parsing of replies, and the score.

A `Session` is one judge on one sample, and frozen. All sessions advance together, in waves: the caller collects
every session's `asks`, has them answered in one batch, and calls `advance` with the replies, until there are none
left. An unreadable reply is requested once more in the next wave; after that the session ends as `judge_failed`.
"""

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from basic_control.data.json_reply import read_object
from basic_control.data.options import options_of
from basic_control.data.records import Found, Message, Metric, Question, Room, Sample, Score, Step, Unparsable
from basic_control.data.typed import TypedQuestion
from basic_control.metrics._reply_bounds import find_cut, limit_reply, widen
from basic_control.metrics.deciding_judges import fence_code, pose, read_probabilities
from basic_control.prompts import fill, languages, render

ENGLISH = "en"
WRITES = "this judge decides, and cannot write"
"""Why a deciding judge fails at a step that is no typed question."""
WAITS = "the reply waits in a batch"
NO_CALL = "call failed"
NOT_ASKED = "not asked: the judge does not count"
UNREADABLE = "unparsable reply"
CUT = "cut reply"
UNSURE = "unsure: "
"""Begins the reason of an answer of which a judge is unsure."""
SHOWN = 4000
"""Characters of an unreadable reply shown to the judge in the repair request."""

Probabilities = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Of a deciding judge: by step, by question (and its part), and by label."""

_TIGHTER = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judge's verdict or rating: its label, its value (higher is better) and the reason given."""

    label: str
    value: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UnansweredRequest:
    """Placeholder for the reply of an unanswered call, with the reason; `waits`: it is still to come."""

    reason: str = ""
    waits: bool = False


@dataclass(frozen=True, slots=True)
class CutReply:
    """A judge's reply that ended at its limit of tokens."""

    text: str


JudgeReply = str | CutReply | UnansweredRequest


class Cut(Unparsable):
    """A reply that does not hold all that the judge had to say; the text says where it was cut."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One request to a judge; `repair` marks the second and last attempt at a question.

    `temperature` is the step's own; None: the metric's. `typed` is what a deciding judge is put in place of
    messages, about one `part` of the question.
    """

    step: str
    question: Question
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    temperature: float | None = None
    repair: bool = False
    typed: TypedQuestion | None = None
    part: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """The state of one judge on one sample. `asks` are the current requests; empty when it has ended.

    `n_calls` and `n_repairs` count requests so far; `failure` is the reason of a `judge_failed`, and `error` what
    was wrong with the last reply. `room`: the judge's for a reply; without, it is unlimited. `decides`: the judge
    is put typed questions; its `probabilities` are by step, by question and part, and by label. `cascade` says
    which judge of a cascade decided, and what each said.
    """

    metric: Metric
    sample: Sample
    options: Mapping[str, Any]
    language: str
    position: int = -1
    replies: Found = field(default_factory=dict)
    asks: tuple[JudgeRequest, ...] = ()
    n_calls: int = 0
    n_repairs: int = 0
    failure: str = ""
    error: str = ""
    room: Room | None = None
    decides: bool = False
    probabilities: Probabilities = field(default_factory=dict)
    cascade: Mapping[str, Any] = field(default_factory=dict)


@cache
def _system(language: str) -> Message:
    return Message("system", render("judging/system", find_template_language("judging/system", language)))


def find_template_language(prompt: str, language: str) -> str:
    """Return the language in which a judge is asked about rows: theirs if the prompt has it, else English.

    A user's own prompt is the same in all of them.
    """
    prompt_languages = languages(prompt)
    if language not in prompt_languages and ENGLISH in prompt_languages:
        return ENGLISH
    return language


def templates(metric: Metric, options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the prompts of a metric's judges: templates' names, or a user's own text."""
    for step in metric.list_steps(options_of(metric, options)):
        yield _prompt(step, options)
    if metric.steps:
        yield from ("judging/system", "judging/repair")


def _prompt(step: Step, options: Mapping[str, Any]) -> str:
    if callable(step.prompt):
        return step.prompt(options)
    return step.prompt


def write(step: Step, question: Question, language: str, options: Mapping[str, Any]) -> JudgeRequest:
    """Build the request for a question: system and user message, and the reply's JSON schema.

    Raises:
        InputError: no prompt in that language, or a prompt of the user's own that cannot be filled.
    """
    values = {**question.values, "mark": fence_code(question.values)}
    prompt = question.prompt or _prompt(step, options)
    user = Message("user", fill(prompt, find_template_language(prompt, language), values, may_print_lists=True))
    schema = question.schema or step.schema_of(question)
    return JudgeRequest(step.name, question, (_system(language), user), schema, step.temperature)


def write_repair(ask: JudgeRequest, reply: str, error: str, language: str) -> JudgeRequest:
    """Build the single repair request: the same prompt, the reply, and what is wrong with it."""
    quoted = reply
    if len(reply) > SHOWN:
        quoted = f"{reply[:SHOWN]} …"
    instruction = render("judging/repair", find_template_language("judging/repair", language), error=error)
    messages = (*ask.messages, Message("assistant", quoted.strip() or "(empty)"), Message("user", instruction))
    return replace(ask, messages=messages, repair=True)


def write_typed(step: Step, question: Question, language: str, options: Mapping[str, Any]) -> list[JudgeRequest]:
    """Build what a deciding judge is put: a typed question for each part of a step's question.

    Raises:
        InputError: as `write`.
    """
    typed = step.find_type(question)
    if typed is None:
        return []
    prompt, mark = question.prompt or _prompt(step, options), fence_code(question.values)
    requests = []
    for part in typed.parts(question.values):
        posed = pose(typed, question, part, prompt=prompt, language=language, mark=mark)
        requests.append(JudgeRequest(step.name, question, (), typed=posed, part=part))
    return requests


def begin(
    metric: Metric,
    sample: Sample,
    *,
    language: str,
    options: Mapping[str, Any] | None = None,
    room: Room | None = None,
    decides: bool = False,
) -> Session:
    """Open a session, with its first requests, or none if the metric needs no judge for this sample.

    `room`: the judge's for a reply; a question whose reply would not fit is asked in parts. `decides`: the judge is
    put typed questions.

    Raises:
        InputError: an option that the metric does not have, or no prompt in that language.
    """
    return _go_on(Session(metric, sample, options_of(metric, options or {}), language, room=room, decides=decides))


def _go_on(session: Session) -> Session:
    """Advance to the next step with any questions, or to the end."""
    for position in range(session.position + 1, len(session.metric.steps)):
        step = session.metric.steps[position]
        if not step.applies(session.options):
            continue
        questions = _divide(step, session, step.rows(session.sample, session.replies, session.options))
        if questions:
            # Replies are told apart by their keys.
            if len({question.key for question in questions}) != len(questions):
                raise ValueError(f"metric {session.metric.name}, step {step.name}: two questions have the same key")
            asks = _ask(session, step, questions)
            if not asks:
                return replace(session, position=position, asks=(), failure=f"{step.name}: {WRITES}")
            return replace(session, position=position, asks=asks, n_calls=session.n_calls + len(asks))
    return replace(session, position=len(session.metric.steps), asks=())


def _ask(session: Session, step: Step, questions: Sequence[Question]) -> tuple[JudgeRequest, ...]:
    """Return the requests for a step's questions; none if the judge decides and the step must be written."""
    language, options = session.language, session.options
    asks: list[JudgeRequest] = []
    for question in questions:
        if session.decides:
            asks += write_typed(step, question, language, options)
        else:
            asks.append(write(step, question, language, options))
    return tuple(asks)


def _divide(step: Step, session: Session, questions: Iterable[Question]) -> tuple[Question, ...]:
    """Return a step's questions, those without room for a whole reply in parts."""
    if step.divide is None or session.room is None:
        return tuple(questions)
    parts = [step.divide(question, session.room, session.language) for question in questions]
    return tuple(itertools.chain.from_iterable(parts))


def _parse(session: Session, ask: JudgeRequest, reply: str | CutReply) -> Any:
    """Return what a reply says.

    Raises:
        Cut: it ended at the token limit, or at a bound of its schema.
        Unparsable: it is not of the form asked for.
    """
    step, room = session.metric.steps[session.position], session.room
    text = reply.text if isinstance(reply, CutReply) else reply
    if ask.typed is not None:
        return read_probabilities(text, ask.typed.labels)
    if isinstance(reply, CutReply):
        try:
            return _parse(session, ask, reply.text)
        except Unparsable as error:
            limit = f" of {room.tokens} tokens" if room else ""
            raise Cut(f"the reply was cut at its limit{limit}; raise the judge's `max_tokens`") from error
    parsed = step.parse(ask.question, reply)
    # A server that holds the reply to a schema may have ended a text at its bound.
    if room and room.is_enforced:
        sent_schema = constrain(ask, room.tokens, session.language)
        cut = find_cut(sent_schema, read_object(reply, *sent_schema.get("required", ()))) if sent_schema else ""
        if cut:
            raise Cut(cut)
    return parsed


def advance(session: Session, replies: Sequence[JudgeReply]) -> Session:
    """Read the replies to `session.asks`, in their order, and return the session's new state."""
    if len(replies) != len(session.asks):
        raise ValueError(f"expected {len(session.asks)} replies, one for each request, found {len(replies)}")
    if not session.asks:
        return session
    step = session.metric.steps[session.position]
    parsed = dict(session.replies.get(step.name, {}))
    repairs: list[JudgeRequest] = []
    if session.decides:
        return _decide(session, step, replies)
    for ask, reply in zip(session.asks, replies, strict=True):
        if isinstance(reply, UnansweredRequest):
            return _end_unanswered(session, step, reply)
        try:
            parsed[ask.question.key] = _parse(session, ask, reply)
        except Unparsable as error:
            if ask.repair:
                return _fail(session, error)
            repairs.append(_repair(session, ask, reply, error))
    session = replace(session, replies={**session.replies, step.name: parsed}, asks=tuple(repairs))
    if repairs:
        n = len(repairs)
        return replace(session, n_calls=session.n_calls + n, n_repairs=session.n_repairs + n)
    return _go_on(session)


def _end_unanswered(session: Session, step: Step, reply: UnansweredRequest) -> Session:
    failure = WAITS if reply.waits else NO_CALL
    return replace(session, asks=(), failure=f"{step.name}: {failure}", error=reply.reason)


def _decide(session: Session, step: Step, replies: Sequence[JudgeReply]) -> Session:
    """Read a deciding judge's answers to a step, which the step's own parser is given as a written reply."""
    probabilities: dict[str, Mapping[str, float]] = {}
    labels: dict[str, dict[str, str]] = {}
    questions = {ask.question.key: ask.question for ask in session.asks}
    parsed: dict[str, Any] = {}
    try:
        for ask, reply in zip(session.asks, replies, strict=True):
            if isinstance(reply, UnansweredRequest):
                return _end_unanswered(session, step, reply)
            name = ".".join(filter(None, [ask.question.key, ask.part]))
            probabilities[name] = _parse(session, ask, reply)
            typed = step.find_type(ask.question)
            if typed is not None:
                labels.setdefault(ask.question.key, {})[ask.part] = typed.decide(probabilities[name])
        for key, question in questions.items():
            typed = step.find_type(question)
            if typed is not None:
                parsed[key] = step.parse(question, typed.reply(labels[key]))
    except Unparsable as error:
        # Asked again in other words it would be the same question.
        return _fail(session, error)
    session = replace(
        session,
        replies={**session.replies, step.name: parsed},
        probabilities={**session.probabilities, step.name: probabilities},
        asks=(),
    )
    return _go_on(session)


def _fail(session: Session, error: Unparsable) -> Session:
    """End a session whose repair could not be read either."""
    step = session.metric.steps[session.position]
    failure = CUT if isinstance(error, Cut) else UNREADABLE
    return replace(session, asks=(), failure=f"{step.name}: {failure}", error=str(error))


def _repair(session: Session, ask: JudgeRequest, reply: str | CutReply, error: Unparsable) -> JudgeRequest:
    """Return the repair of a request; one whose reply its schema's bounds cut gets wider ones."""
    if isinstance(reply, CutReply):
        # The judge is told what is wrong with the form, as of any other reply.
        return write_repair(ask, reply.text, str(error.__cause__ or error), session.language)
    if isinstance(error, Cut) and ask.schema:
        ask = replace(ask, schema=widen(ask.schema))
    return write_repair(ask, reply, str(error), session.language)


def leave_out(session: Session) -> Session:
    """End the session of a judge that does not count, without asking it; one that needs no reply stays."""
    if not session.asks:
        return session
    return replace(session, asks=(), n_calls=0, failure=NOT_ASKED)


def list_unreadable(session: Session, replies: Sequence[JudgeReply]) -> list[int]:
    """Return the indices of the replies to `session.asks` that exist but cannot be read."""
    indices = []
    for index, (ask, reply) in enumerate(zip(session.asks, replies, strict=True)):
        if isinstance(reply, UnansweredRequest):
            continue
        try:
            _parse(session, ask, reply)
        except Unparsable:
            indices.append(index)
    return indices


def constrain(ask: JudgeRequest, max_tokens: int, language: str) -> dict[str, Any] | None:
    """Return the schema of a request, bounded so that the reply ends within the judge's token limit.

    A repair has a third of the room: its first reply may have been truncated, in a language that takes more tokens.
    """
    if ask.schema is None:
        return None
    return limit_reply(ask.schema, max_tokens // _TIGHTER if ask.repair else max_tokens, language)


def outcome(session: Session) -> Score:
    """Return the result of an ended session: the metric's score, or `judge_failed` with the step as its reason."""
    if session.asks:
        raise ValueError(f"metric {session.metric.name}: the session has {len(session.asks)} unanswered requests")
    if session.failure:
        return Score(None, "judge_failed", session.failure, {"error": session.error[:300]})
    return session.metric.score(session.sample, session.replies, session.options)


def _read_reason(entry: object) -> object:
    if isinstance(entry, Mapping):
        return entry.get("reason")
    return getattr(entry, "reason", "")


def count_unsure(replies: Found) -> int:
    """Return how many of a judge's answers it is unsure of, as their reasons say."""
    count = 0
    for step_replies in replies.values():
        for answer in step_replies.values():
            # A verdict or rating; or several verdicts by the ids of claims.
            entries = answer.values() if isinstance(answer, Mapping) else [answer]
            count += sum(str(_read_reason(entry)).startswith(UNSURE) for entry in entries)
    return count


def unify_label(value: object) -> str:
    """Return a verdict in the required form: upper case, `_` between words, no full stop."""
    if not isinstance(value, str):
        return ""
    text = value.strip(" .*\"'`\n\t").upper()
    return "_".join(text.replace("-", " ").replace("_", " ").split())


def read_verdict(text: str, values: Mapping[str, float]) -> Judgement:
    """Read a reply of the form `{"reason": …, "verdict": …}`, with one of `values`' labels as verdict.

    Raises:
        Unparsable: no such object, or another verdict.
    """
    reply = read_object(text, "reason", "verdict")
    verdict = unify_label(reply["verdict"])
    if verdict not in values:
        quoted = json.dumps(reply["verdict"], ensure_ascii=False)
        if len(quoted) > 60:  # noqa: PLR2004 - a glance is enough
            quoted = f"{quoted[:60]}…"
        raise Unparsable(f'"verdict" is {quoted}; expected one of {", ".join(values)}')
    return Judgement(verdict, values[verdict], reason_of(reply))


def read_whole(text: str, key: str, numbers: Collection[int], expected: str) -> tuple[int, str]:
    """Read a reply of the form `{"reason": …, key: one of the whole numbers}`: the number and the reason.

    4.0 and "4" are accepted. Everything else is refused, without clamping or guessing: true and false, 1.5, 90, "1
    (out of 2)", NaN, lists, prose.

    Raises:
        Unparsable: the number is missing or another; it must be what is `expected`.
    """
    reply = read_object(text, key)
    value = reply[key]
    if isinstance(value, str):
        value = dict(zip(map(str, numbers), numbers, strict=True)).get(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in numbers:
        raise Unparsable(f'"{key}" must be {expected}')
    return int(value), reason_of(reply)


def reason_of(reply: Mapping[str, Any]) -> str:
    """Return a judge's reason, at most 500 characters of it."""
    reason = reply.get("reason")
    if not isinstance(reason, str):
        return ""
    return reason.strip()[:500]
