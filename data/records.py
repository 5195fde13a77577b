"""The few nouns that flow between the layers.

Everything in bulk travels as Parquet tables (`data.tables`); these are the single rows and the units that
families and metrics are made of. All are frozen, so that they can be hashed, cached and shared.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, Protocol

Status = Literal["scored", "no_answer", "model_error", "judge_failed", "not_applicable"]
"""How an item x model x metric ends: exactly one of these (SPEC 1)."""

STATUSES: tuple[Status, ...] = ("scored", "no_answer", "model_error", "judge_failed", "not_applicable")


@dataclass(frozen=True, slots=True)
class Item:
    """One question.

    A family's `generate` fills `prompt`, `answer`, `facts` and, where it has kinds of tasks, `template`; the
    drawing (`data.draw`) fills the rest. `facts` is JSON: what the verifier needs to know.
    """

    prompt: str
    answer: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    template: str = ""
    item_id: str = ""
    suite: str = ""
    family: str = ""
    version: int = 1
    level: str = ""
    language: str = "en"
    seed: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verifier's decision on one reply.

    `correct` is None where no answer could be extracted (`no_answer`: scores 0, counted apart). `reason` is a
    short phrase, the same for the same kind of mistake where possible, since reports count it. `details` is
    JSON kept beside the verdict (precision, recall, soft similarity, ...).
    """

    correct: bool | None
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Program:
    """A model's program to run in the sandbox: one function, called with each tuple of arguments in turn.

    `types` are the parameters' types and, last, the result's, in Python notation (`int`, `list[int]`,
    `dict[str, int]`, `tuple[int, int]`, `str | None`): a statically typed language needs them to write the
    calls down. The expected values are never part of a program.
    """

    language: str
    source: str
    function: str
    calls: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...] = ()


OutcomeKind = Literal[
    "value", "timeout", "memory", "exception", "syntax", "no such function", "bad value", "unavailable"
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call of a program came to.

    `value` holds plain data only (None, bool, int, float, str, bytes, list, tuple, dict, set, frozenset);
    `error` is the exception's type and `message` its text. `unavailable`: no runner for the language here.
    """

    kind: OutcomeKind
    value: Any = None
    error: str = ""
    message: str = ""


class Generate(Protocol):
    """Draw one item; the keywords are a level's parameters, `language`, and the family's options."""

    def __call__(self, rng: Random, /, **parameters: Any) -> Item:
        """Return an item with prompt, answer and facts."""


def _reply(item: Item) -> str:
    return f"ANSWER: {item.answer}"


@dataclass(frozen=True, slots=True)
class Family:
    """A category of generated tasks: its generator and its verifier.

    `generate(rng, *, language?, **level parameters, **options)` gets `language` only when it has such a
    parameter. `verify(item, reply)` is pure and never raises; a family whose replies are programs declares
    `program(item, reply)` (None: nothing to run), and then `verify(item, reply, outcomes)` receives one outcome
    for each call (None when there was no program). `reference(item)` is a reply that must be accepted,
    `near_misses(item)` replies that must be refused: every family is tested on them.
    """

    name: str
    version: int
    levels: Mapping[str, Mapping[str, Any]]
    generate: Callable[..., Item]
    verify: Callable[..., Verdict]
    languages: tuple[str, ...] = ("en",)
    seed_id: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    program: Callable[[Item, str], Program | None] | None = None
    reference: Callable[[Item], str] = _reply
    near_misses: Callable[[Item], Sequence[str]] | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """A table in the store: the SHA-256 of its Parquet file, and its number of rows.

    `content` is what later stages depend on: the digest of the same table without its volatile columns.
    """

    table: str
    digest: str
    rows: int
    content: str


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `role` is system, user or assistant."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, as a client sees it.

    `parameters` are sampling parameters by their common names (`temperature`, `seed`, `max_tokens`, `top_p`,
    `stop`, ...); `schema` is a JSON schema that the reply should satisfy; `item_id` and `repeat` say which
    question and which asking of it (a replay looks replies up by them).
    """

    messages: tuple[Message, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    item_id: str = ""
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply. `reasoning` is what it thought aloud, kept apart from the answer in `text`."""

    text: str
    reasoning: str = ""
    finish_reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value for one sample: in the metric's bounds, or None with a status that says why.

    `parts` are values that stand beside it and are reported as `<metric>.<part>`; a part that is None is
    `not_applicable`.
    """

    value: float | None
    status: Status = "scored"
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, float | None] = field(default_factory=dict)


Sample = Mapping[str, Any]
"""What a metric sees: an item's columns with `facts` decoded, and `response`; data sets add their columns
(`question`, `reference`, `retrieved_contexts`, ...)."""

Found = Mapping[str, Mapping[str, Any]]
"""What earlier steps found: step name -> question key -> parsed reply."""


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to ask a judge: `key` is unique within its step and sample, `values` fill the prompt."""

    key: str
    values: Mapping[str, Any]


class Unparsable(ValueError):  # noqa: N818 - said of a reply, like a verdict
    """A judge's reply that does not have the form asked for; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One round of questions to a judge.

    `rows(sample, found, options)` says what to ask (nothing: the step is skipped); `prompt` names the template
    `prompts/<language>/<prompt>.j2`; `parse(question, text)` reads a reply or raises `Unparsable`; `schema`, a
    JSON schema or a function of the question, constrains the reply where the client can.
    """

    name: str
    rows: Callable[[Sample, Found, Mapping[str, Any]], Iterable[Question]]
    prompt: str
    parse: Callable[[Question, str], Any]
    schema: Mapping[str, Any] | Callable[[Question], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A value for a sample: steps that ask judges (none: it is computed), and one scoring function.

    `score(sample, found, options)` is pure and never raises on any response. `options` are the metric's
    parameters with their defaults; a configuration may set them.
    """

    name: str
    version: int
    bounds: tuple[float, float]
    score: Callable[[Sample, Found, Mapping[str, Any]], Score]
    steps: tuple[Step, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
