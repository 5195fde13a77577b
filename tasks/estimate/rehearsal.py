"""Rehearse judges' questions with cached replies if any, else stand-ins that fit the schema.

Only the metric's own steps determine the questions, so that any metric's calls can be counted before a run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from basic_control.data.draw import format_canonical
from basic_control.data.plugins import metric
from basic_control.data.questions import format_question
from basic_control.data.reading.ends import split_at_end
from basic_control.metrics.judging import JudgeRequest, Session, advance, begin
from basic_control.tasks.judge import pose_question, room_of
from basic_control.tasks.plan import MetricPlan, Panel
from basic_control.tasks.store.reply_cache import Remembered
from basic_control.tasks.store.samples import RENDERED, SampleRow

LISTED = 3
"""Entries of a list, such as claims, in a stand-in reply."""
SENTENCE = "A plain statement of some eight or nine words."
_WAVES = 100

Way = tuple[str, ...]
"""What a sample's next questions follow from that is not known yet: its target, or requests without a reply."""

Lookup = Callable[[Iterable[str]], Mapping[str, Remembered]]
"""Return the cached replies among requests."""


@dataclass
class JudgeCalls:
    """Calls to a judge: all and cached ones; of the remaining ones the questions, and characters by language."""

    calls: float = 0
    cached: float = 0
    signs: dict[str, float] = field(default_factory=dict)
    reply_signs: float = 0
    remembered: list[Remembered] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)

    def count(
        self, entry: Remembered | None, language: str, signs: int, reply_signs: int = 0, question: str = ""
    ) -> None:
        """Count one call: `entry` is its cached reply, if there is one; `question` is named where there is none."""
        self.calls += 1
        if entry:
            self.cached += 1
            self.remembered.append(entry)
        else:
            self.signs[language] = self.signs.get(language, 0) + signs
            self.reply_signs += reply_signs
            self.unanswered.append(question)

    def add(self, tally: "JudgeCalls", factor: float) -> None:
        """Add another tally, multiplied by a factor."""
        self.calls += factor * tally.calls
        self.cached += factor * tally.cached
        self.reply_signs += factor * tally.reply_signs
        # Means are taken of these, which no factor changes.
        self.remembered += tally.remembered
        self.unanswered += tally.unanswered
        for language, n in tally.signs.items():
            self.signs[language] = self.signs.get(language, 0) + factor * n


def stand_in(schema: Mapping[str, Any] | None, n: int = 0) -> Any:
    """Return a value that fits a JSON schema: the n-th of several."""
    if not schema:
        return {}
    if "enum" in schema:
        return schema["enum"][n % len(schema["enum"])]
    kind = schema.get("type")
    if kind == "object":
        return {name: stand_in(part, n) for name, part in (schema.get("properties") or {}).items()}
    if kind == "array":
        length = max(int(schema.get("minItems") or 0), min(LISTED, int(schema.get("maxItems") or LISTED)))
        return [stand_in(schema.get("items"), number) for number in range(length)]
    if kind in {"integer", "number"}:
        return schema.get("minimum", 1)
    return kind == "boolean" or SENTENCE


def suppose(ask: JudgeRequest) -> str:
    """Return a reply that fits a request: of a deciding judge all labels alike."""
    if ask.typed is None:
        return format_canonical(stand_in(ask.schema))
    labels = ask.typed.labels
    return format_canonical({"probabilities": [(label, 1 / len(labels)) for label in labels]})


def count_signs(ask: JudgeRequest) -> int:
    """Return the characters that a request is written with."""
    texts = [message.content for message in ask.messages]
    if ask.typed is not None:
        texts = [ask.typed.instructions, *ask.typed.state.values(), *ask.typed.labels.values()]
    return sum(map(len, texts))


def rehearse(
    metric_plan: MetricPlan, samples: Sequence[SampleRow], panel: Panel, lookup: Lookup | None = None
) -> JudgeCalls:
    """Simulate a metric's questions on samples to the panel's first judge, without calls.

    `lookup` is given if the responses are real: what follows from real texts is looked up. A request is counted
    once, as it is asked; of stand-ins, once for each way to it, as other texts will stand in their place.
    """
    rehearsal = _Rehearsal(panel, samples, lookup)
    judge, unit = panel.judges[0], metric(metric_plan.name)
    room = room_of(judge)
    sessions: dict[int, Session] = {}
    for n, sample in enumerate(samples):
        language, decides = sample.language, judge.decides
        sessions[n] = begin(
            unit, sample.sample, language=language, options=metric_plan.options, room=room, decides=decides
        )
    for _ in range(_WAVES):
        sessions = {n: session for n, session in sessions.items() if session.asks}
        if not sessions:
            break
        sessions = rehearsal.advance_all(sessions)
    return rehearsal.tally


class _Rehearsal:
    """The state of a rehearsal: which samples follow from real texts alone (`real`), and each one's way so far."""

    def __init__(self, panel: Panel, samples: Sequence[SampleRow], lookup: Lookup | None) -> None:
        self.panel, self.samples, self.lookup = panel, samples, lookup
        self.tally = JudgeCalls()
        self.counted = set[tuple[Way, int, str]]()
        self.real = set[int]()
        self.ways: dict[int, Way] = {}
        for n, sample in enumerate(samples):
            self.ways[n] = (sample.model, str(sample.repeat))
            if lookup:
                self.ways[n] = ()
                self.real.add(n)

    def advance_all(self, sessions: Mapping[int, Session]) -> dict[int, Session]:
        """Count the requests of all sessions, and return these as cached replies or stand-ins advance them."""
        judge = self.panel.judges[0]
        ids: dict[int, list[str]] = {}
        for n, session in sessions.items():
            sample = self.samples[n]
            ids[n] = [pose_question(judge, self.panel, sample, ask)["request_id"] for ask in session.asks]
        cached: Mapping[str, Remembered] = {}
        if self.lookup:
            cached = self.lookup(chain.from_iterable(ids[n] for n in ids if n in self.real))
        return {n: self._advance(n, session, ids[n], cached) for n, session in sessions.items()}

    def _advance(self, n: int, session: Session, ids: Sequence[str], cached: Mapping[str, Remembered]) -> Session:
        replies = list[str]()
        is_real, way = n in self.real, self.ways[n]
        for position, (ask, request_id) in enumerate(zip(session.asks, ids, strict=True)):
            entry = None
            if is_real:
                entry = cached.get(request_id)
            if entry is None:
                self.real.discard(n)
                self.ways[n] = (*self.ways[n], request_id)
                replies.append(suppose(ask))
            else:
                replies.append(split_at_end(entry.reply.text)[0])
            # Real texts that follow from stand-ins differ, such as an answer's claims.
            key = (way, position if way else 0, request_id)
            if key in self.counted:
                continue
            self.counted.add(key)
            # A deciding judge writes nothing.
            written = 0 if ask.typed else len(replies[-1])
            row = self.samples[n]
            question = format_question(str(row.sample[RENDERED]), row.sample)
            self.tally.count(entry, row.language, count_signs(ask), written, question)
        return advance(session, replies)
