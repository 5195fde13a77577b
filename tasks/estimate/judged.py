"""Rehearse judges' questions with cached replies if any, else stand-ins that fit the schema.

Only the metric's own steps determine the questions, so that any metric's calls can be counted before a run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from basic_control.data.draw import format_canonical
from basic_control.data.plugins import metric
from basic_control.data.reading.ends import split
from basic_control.metrics.judging import JudgeRequest, Session, advance, begin
from basic_control.tasks.judge import pose_question, room_of
from basic_control.tasks.plan import MetricPlan, Panel
from basic_control.tasks.store.reply_cache import Remembered
from basic_control.tasks.store.samples import SampleRow

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
    """Calls to a judge: all and cached ones, and the characters of the remaining ones by language."""

    calls: float = 0
    cached: float = 0
    signs: dict[str, float] = field(default_factory=dict)
    reply_signs: float = 0
    known: list[Remembered] = field(default_factory=list)

    def count(self, entry: Remembered | None, language: str, signs: int, reply_signs: int = 0) -> None:
        """Count one call: `entry` is its cached reply, if there is one."""
        self.calls += 1
        if entry:
            self.cached += 1
            self.known.append(entry)
        else:
            self.signs[language] = self.signs.get(language, 0) + signs
            self.reply_signs += reply_signs

    def add(self, other: "JudgeCalls", factor: float) -> None:
        """Add another tally, multiplied by a factor."""
        self.calls += factor * other.calls
        self.cached += factor * other.cached
        self.reply_signs += factor * other.reply_signs
        self.known += other.known
        for language, n in other.signs.items():
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
    own: MetricPlan, samples: Sequence[SampleRow], panel: Panel, lookup: Lookup | None = None
) -> JudgeCalls:
    """Simulate a metric's questions on samples to the panel's first judge, without calls.

    `lookup` is given if the responses are real: what follows from real texts is looked up. A request is counted
    once, as it is asked; of stand-ins, once for each way to it, as other texts will stand in their place.
    """
    judge, seen = panel.judges[0], set[tuple[Way, int, str]]()
    unit = metric(own.name)
    tally = JudgeCalls()
    standing: dict[int, Session] = {
        n: begin(
            unit,
            sample.sample,
            language=sample.language,
            options=own.options,
            room=room_of(judge),
            decides=judge.decides,
        )
        for n, sample in enumerate(samples)
    }
    real = set(standing) if lookup else set[int]()
    ways: dict[int, Way] = {n: () if lookup else (one.model, str(one.repeat)) for n, one in enumerate(samples)}
    for _ in range(_WAVES):
        standing = {n: session for n, session in standing.items() if session.asks}
        if not standing:
            break
        rows = {
            n: [pose_question(judge, panel, samples[n], ask) for ask in session.asks]
            for n, session in standing.items()
        }
        known = lookup(row["request_id"] for n in rows if n in real for row in rows[n]) if lookup else {}
        for n, session in standing.items():
            replies = []
            surely, way = n in real, ways[n]
            for position, (ask, row) in enumerate(zip(session.asks, rows[n], strict=True)):
                entry = known.get(row["request_id"]) if surely else None
                if entry is None:
                    real.discard(n)
                    ways[n] = (*ways[n], row["request_id"])
                replies.append(split(entry.reply.text)[0] if entry else suppose(ask))
                # Real texts that follow from stand-ins differ, such as an answer's claims.
                key = (way, position if way else 0, row["request_id"])
                if key in seen:
                    continue
                seen.add(key)
                # A deciding judge writes nothing.
                written = 0 if ask.typed else len(replies[-1])
                tally.count(entry, samples[n].language, count_signs(ask), written)
            standing[n] = advance(session, replies)
    return tally
