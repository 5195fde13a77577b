"""The common form of other tools' files: a reply to a question, with every score that the tool states of it.

Source: SPEC 18 (the canonical row: one for each score of a reply).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from basic_control.data.characters import make_storable
from basic_control.data.errors import InputError
from basic_control.data.filters import is_filtered
from basic_control.data.messages import is_chat
from basic_control.data.records import Message, Status
from basic_control.data.truncation import LIMITS
from basic_control.metrics.stats.missing import UNSTATED

UNNAMED_JUDGE = "a model"
FILTER = "filter"
"""Begins the name of a fact: how the filter of that name reads a reply, where a tool scores one by several."""


class AggregatesAlone(InputError):  # noqa: N818 - said of a file
    """A file of a known tool has aggregates and no row for each reply."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A score on the tool's own scale; None if `status` says why there is none.

    `judge` names the model that gave it, '' if it was computed. `reason` is a judge's, or that of a failure.
    """

    value: float | None
    status: Status = "scored"
    judge: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Turns:
    """A recorded conversation: what came `before` the last reply, and the `calls` that this reply made."""

    before: tuple[Message, ...] = ()
    calls: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_chat(self) -> bool:
        """Whether it is more than one message of a user."""
        return is_chat(self.before)


class Usage(NamedTuple):
    """The tokens of a call; None if the file does not say."""

    tokens_in: int | None = None
    tokens_out: int | None = None


class Material(NamedTuple):
    """What a question shows beside its text: the options of a choice, the texts that it is about.

    `sent` is the whole prompt, where the file has it beside the question; `messages` are the question itself, where
    a run of ours asks that conversation.
    """

    choices: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    sent: str = ""
    messages: tuple[Message, ...] = ()


class Recorded(NamedTuple):
    """One recorded reply: `answer` is the expected one, `scores` the tool's own by metric, the main one first.

    `id` is the declared id of the question across files, '' if there are only row numbers. `target` is the model,
    with its prompt if there are several. `repeat` is None if the file does not distinguish repeats. `template`:
    questions of one template are not independent. `response` is None if nothing was written, `finish_reason` is the
    server's (`stop`, `length`, …), '' if the file does not say. `error` says why the call failed; `facts` are the
    remaining columns of a table. `turns` are what a conversation was before the reply, and what the reply called.
    """

    id: str
    question: str
    answer: str | list[str]
    response: str | None
    scores: Mapping[str, Stated]
    target: str = ""
    suite: str = ""
    repeat: int | None = None
    template: str = ""
    finish_reason: str = ""
    error: str = ""
    usage: Usage = Usage()
    material: Material = Material()
    facts: Mapping[str, Any] = MappingProxyType({})
    turns: Turns = Turns()

    @property
    def question_key(self) -> tuple[str, str]:
        """The question's id and text."""
        return self.id, self.question

    @property
    def cut(self) -> bool:
        """Whether the reply ended at its token limit."""
        return self.finish_reason.strip().lower() in LIMITS

    @property
    def is_filtered(self) -> bool:
        """Whether a content filter stopped the reply."""
        return is_filtered(self.finish_reason)


Found = Recorded | str | Mapping[str, str] | frozenset[str]
"""What an adapter yields: rows; remarks on what could not be carried over; what the file states of itself; names of
metrics of which less is better."""


@dataclass(frozen=True, slots=True)
class Log:
    """The content of one file. `facts` are what it states of versions, options and prompts, by the field's names.

    `remarks` say what could not be carried over. `lower_is_better` names metrics.
    """

    tool: str
    rows: tuple[Recorded, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    lower_is_better: frozenset[str] = frozenset()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The scores that any reply has, the main one first."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.scores))


_RIGHT = {"pass": 1.0, "passed": 1.0, "true": 1.0, "yes": 1.0, "correct": 1.0, "fail": 0.0, "failed": 0.0,
          "false": 0.0, "no": 0.0, "incorrect": 0.0, "c": 1.0, "i": 0.0}  # fmt: skip


def read_stated_value(value: object) -> float | None:
    """Return a score as a number, words such as pass and fail as 1 and 0; None for other values."""
    if isinstance(value, str):
        value = value.strip().lower()
        if value in _RIGHT:
            return _RIGHT[value]
    elif not isinstance(value, (int, float)):
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    # NaN and the infinities are what other tools write where there was no score.
    if not math.isfinite(result):
        return None
    return result


UNREAD = f"{UNSTATED}: "
"""Prefix of the reason of a score that is neither a number nor one of the words."""


def build_score(value: object, *, judge: str = "", reason: object = "", error: object = "") -> Stated:
    """Return a score; without a number it is a judge's failure, or with an `error` the call's."""
    number = read_stated_value(value)
    status: Status = "scored"
    if error:
        number, status, reason = None, "model_error", error
    elif number is None:
        status, reason = "judge_failed", reason or _describe_missing(value)
    elif not judge:
        return Stated(number)
    # A judge's words may hold half of a surrogate pair, which no table of ours can.
    judge, reason = (make_storable(join_parts(text)[:200]) for text in (judge, reason))
    return Stated(number, status, judge, reason)


def _describe_missing(value: object) -> str:
    if value in (None, ""):
        return f"{UNSTATED} in the file"
    return UNREAD + repr(value)[:60]


def read_share(value: object) -> float | None:
    """Return a score as a share in [0, 1]; None for other values."""
    number = None if isinstance(value, str) else read_stated_value(value)
    if number is None or not 0 <= number <= 1:
        return None
    return number


def read_count(value: object) -> int | None:
    """Return a count of tokens; None for other values."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return None
    return value


def read_mapping(value: object) -> Mapping[str, Any]:
    """Return a file's object; empty for other values."""
    if not isinstance(value, dict):
        return {}
    return value


def within(value: object, *names: str) -> Any:
    """Return the value at nested keys of a file's objects; None if one is missing."""
    for name in names:
        value = read_mapping(value).get(name)
    return value


def list_objects(value: Any) -> list[Mapping[str, Any]]:
    """Return a file's list with each element as an object; empty if there is none."""
    return [*map(read_mapping, value or ())]


def find_first(values: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first non-empty value under some names; None if there is none."""
    for name in names:
        if values.get(name) not in (None, ""):
            return values[name]
    return None


def join_parts(value: object) -> str:
    """Return a text in a file: a string, or the text parts of a message's content."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        # A message's content may be a list of parts, of which images and other things have no text.
        texts = [*map(_read_part, value)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return "" if value is None else str(value)


def _read_part(part: object) -> object:
    if isinstance(part, Mapping):
        return part.get("text")
    return part


def name_our_metric(metric: str) -> str:
    """Return the name of our metric beside the tool's own, which may have the same name."""
    return f"{metric} (ours)"


def join_messages(messages: object) -> str:
    """Return the joined texts of a list of chat messages; a text unchanged."""
    if isinstance(messages, list) and messages and all(isinstance(message, dict) for message in messages):
        return "\n\n".join(join_parts(message.get("content")) for message in messages)
    return join_parts(messages)


def read_expected(value: object) -> str | list[str]:
    """Return the expected answer: a text, or several alternatives."""
    if isinstance(value, list):
        return [*map(join_parts, value)]
    return join_parts(value).strip()


def collect_facts(**facts: object) -> dict[str, str]:
    """Return the facts that a file states, without missing ones."""
    stated: dict[str, str] = {}
    for name, value in facts.items():
        if value not in (None, "", {}, []):
            stated[make_storable(name.replace("_", " "))] = make_storable(str(value))
    return stated
