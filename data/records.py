"""Record types shared by the layers.

Bulk data are Parquet tables (`data.tables`); these are the single rows, and the units such as families and metrics.
All are frozen, so that they can be hashed, cached and shared.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from basic_control.data.options import Declared
from basic_control.data.shown import Shown
from basic_control.data.tools import Tool
from basic_control.data.typed import Typed, TypedQuestion

Status = Literal[
    "scored", "no_answer", "truncated", "unsupported", "filtered", "model_error", "judge_failed", "not_applicable"
]  # fmt: skip
"""Status of an item x model x metric: exactly one of these (SPEC 1).

`unsupported`: a program that may be right, but needs a package that the sandbox does not have. `filtered`: a
content filter refused the reply, or cut it off.
"""
STATUSES: tuple[Status, ...] = get_args(Status)
VALUED: tuple[Status, ...] = ("scored", "no_answer", "truncated", "unsupported")
"""The statuses that count as scored; all but the first are 0 unless the metric sets a value."""


# Rows, and what is computed for them.


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionIdentity:
    """What makes two rows the same question, in any run; `data.questions` derives it from their content."""

    question_id: str = ""
    text_digest: str = ""
    answer_digest: str = ""


@dataclass(frozen=True, slots=True)
class Item(QuestionIdentity):
    """One question.

    A family's `generate` fills `prompt`, `answer`, `facts` and, if it has kinds of tasks, `template`; `data.draw`
    fills the rest. `facts` is JSON with the verifier's inputs. `stated_language` is the row's own language, '' if
    the loader has it from elsewhere; `declared_id` the row's own id, if the suite declares one.
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
    stated_language: str = ""
    declared_id: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verifier's decision on one reply.

    `correct` is None if no answer could be extracted (`no_answer`: scores 0, counted apart). `reason` is a short
    phrase, if possible the same for the same kind of mistake, since reports count it. `details` is JSON with
    further results (precision, recall, soft similarity, ...).
    """

    correct: bool | None
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Program:
    """A model's program to run in the sandbox: one function, called with each tuple of arguments in turn.

    `types` are the parameters' types and, last, the result's, in Python notation (`int`, `list[int]`, `dict[str,
    int]`, `tuple[int, int]`, `str | None`): statically typed languages need them for the calls. Expected values are
    never part of a program.
    """

    language: str
    source: str
    function: str
    calls: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramUnderTest(Program):
    """A program whose calls are tests, each with a time of its own.

    `cpu_s` are its CPU seconds, for loading it and all calls; 0: as many as its runner gives. With `call_s`, a call
    may use so many, and one that uses them up, or ends the interpreter, fails alone: the calls after it are made in
    a fresh interpreter, the first of them as `fresh` has it, if that is not empty. `checker` is the source of a
    function of ours, by the same name, which makes the calls numbered in `apart` where the program cannot reach it.
    """

    cpu_s: float = 0.0
    call_s: float = 0.0
    fresh: tuple[tuple[Any, ...], ...] = ()
    checker: str = ""
    apart: frozenset[int] = frozenset()


OutcomeKind = Literal[
    "value", "timeout", "memory", "exception", "syntax", "no such function", "bad value", "unavailable"
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one call of a program.

    `value` holds plain data only (None, bool, int, float, str, bytes, list, tuple, dict, set, frozenset); `error`
    is the exception's type, `message` its text and `classes` its full class hierarchy, its own class first:
    Python's built-ins by bare name, others qualified by module or package. `unavailable`: no runner for the
    language here.
    """

    kind: OutcomeKind
    value: Any = None
    error: str = ""
    message: str = ""
    classes: tuple[str, ...] = ()


# Units: what plug-ins may add.


@dataclass(frozen=True, slots=True)
class Family:
    """A category of generated tasks: its generator and its verifier.

    `generate(rng, *, language?, **level parameters, **options)` gets `language` only if it has such a parameter,
    and `drawn` if it has one: the language whose draw it words in `language`, as that item's twin. `verify(item,
    reply, *, cut?)` is pure and never raises, and is told whether the reply ended at its token limit if it has that
    parameter; a family whose replies are programs declares `program(item, reply)` (None:
    nothing to run), and then `verify(item, reply, outcomes)` receives one outcome for each call (None without a
    program). `reference(item)` is a reply that must be accepted, `near_misses(item)` replies that must be refused:
    every family is tested on them. `version` is that of the drawn items; `verifier_version` rises when a reply may
    be judged differently.
    """

    name: str
    version: int
    levels: Mapping[str, Mapping[str, Any]]
    generate: Callable[..., Item]
    verify: Callable[..., Verdict]
    languages: tuple[str, ...] = ("en",)
    seed_id: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    options: Declared = field(default_factory=dict)
    program: Callable[[Item, str], Program | None] | None = None
    reference: Callable[[Item], str] = lambda item: f"ANSWER: {item.answer}"
    near_misses: Callable[[Item], Sequence[str]] | None = None
    verifier_version: int = 1


def _sample_rows(options: Mapping[str, Any], maximum: int) -> Mapping[str, Any]:
    """Return options that sample up to the maximum number of rows; options that take all rows are unchanged."""
    sample = options.get("sample")
    # Without a sample the loader yields all of its rows.
    if not isinstance(sample, Mapping) or sample.get("method") == "all":
        return options
    return {**options, "sample": {**sample, "n": maximum}}


@dataclass(frozen=True, slots=True)
class Loader:
    """A source of a suite's items.

    `load(options, required)` yields items in order, each with `answer`, `language`, `facts` (available to the
    prompt and the metrics) and `index`, its position in the data; `prompt` is filled from the suite's prompt unless
    the loader sets it. `required` are the facts that the suite's metrics need. A text fact `response` is a reply
    given with the data: if all items have one, no model is asked. `files(options)` are the items' source files,
    reloaded when their content changes. `generated`: the items are drawn, not read. `units(options)`, if any, are
    the families that draw them, by name. `check(options)` yields errors in options that fit their declaration: the
    path of each, and a message. `offer(options, most)` returns options that offer `most` items, or all there are,
    for a run that asks until it is decided. `count(options)`: the number of drawn items, without drawing them.
    """

    name: str
    version: int
    load: Callable[[Mapping[str, Any], Sequence[str]], Iterable[Item]]
    options: Declared
    files: Callable[[Mapping[str, Any]], Iterable[Path]] = lambda _options: ()
    generated: bool = False
    units: Callable[[Mapping[str, Any]], Mapping[str, Family]] | None = None
    check: Callable[[Mapping[str, Any]], Iterable[tuple[tuple[str | int, ...], str]]] | None = None
    offer: Callable[[Mapping[str, Any], int], Mapping[str, Any]] = _sample_rows
    count: Callable[[Mapping[str, Any]], int] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `role` is one of `data.messages.ROLES`.

    `tool_calls` are the calls that an assistant made, each with `name`, `arguments` and perhaps an `id`;
    `tool_call_id` says which of them a tool's message answers; `name` is the speaker's, or the tool's.
    """

    role: str
    content: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    tool_call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, as a client sees it.

    `parameters` are sampling parameters by their common names (`temperature`, `seed`, `max_tokens`, `top_p`,
    `stop`, ...); `schema` is a JSON schema for the reply; `item_id` and `repeat` identify the question and its
    repeat (a replay looks replies up by them). `item` is the item's facts and its `item_id`, for a provider that
    sees them. `typed` is the question to a deciding judge; the only message is then its state, as JSON, or, if the
    question has no instructions, a prompt that says everything. `tools` are those that the model may call.
    """

    messages: tuple[Message, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    item_id: str = ""
    repeat: int = 0
    item: Mapping[str, Any] = field(default_factory=dict)
    typed: TypedQuestion | None = None
    tools: tuple[Tool, ...] = ()


HIDDEN_KEYS = "hidden_keys"
"""Key of a reply's `extra` for the number of keys hidden in it."""
CONTEXT = "num_ctx"
"""Key of a reply's `extra` for the tokens of context that its prompt was read in, if the client set them."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply. `reasoning` is its thinking, kept apart from the answer in `text`.

    `extra` is JSON: what an application returned with its text (`retrieved_contexts`, `citations`), the calls of
    tools that were made (`tool_calls`: `name`, `arguments`), an application's `messages`, and in `usage`
    the number of written tokens that were `thinking`, and of read tokens that were `cached`, if the server reports
    them.
    """

    text: str
    reasoning: str = ""
    finish_reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


_ROUNDING = 1e-9


ONLY_CALLS = "calls of tools, and no text"
"""Reason of a score of a reply that calls tools and says nothing, by a metric that reads texts."""
NO_CONTEXTS = "no contexts"
"""Reason of the score of a reply that was given without retrieved contexts, by a metric that compares with them."""
TURNS = "\0turns"
"""Key of a sample for the messages that an application says it exchanged since it was asked."""
TYPICAL = "typical"
"""Key of a score's details for the kind of error that reports count, where its `reason` says more."""


_STATUSES = frozenset(get_args(Status))


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value for one sample: from 0 to 1, or None with a status that says why.

    `parts` are additional values from 0 to 1, reported as `<metric>.<part>`; a part that is None is
    `not_applicable`.

    Raises:
        ValueError: a value or part outside 0 and 1, by more than rounding.
    """

    value: float | None
    status: Status = "scored"
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse values and parts outside 0 and 1, which thresholds, bounds and means rely on."""
        if self.status not in _STATUSES:
            states = ", ".join(sorted(_STATUSES))
            raise ValueError(f"status {self.status!r}; expected {states} (a reason is reason='…')")
        object.__setattr__(self, "value", _share(self.value))
        object.__setattr__(self, "parts", {name: _share(value) for name, value in self.parts.items()})


def _share(value: float | None) -> float | None:
    """Return a value without the rounding error of a 0 or a 1: whether an answer is right must not hang on it."""
    if value is None or _ROUNDING < value < 1 - _ROUNDING:
        return value
    if not -_ROUNDING <= value <= 1 + _ROUNDING:
        raise ValueError(f"value {value}; expected a number from 0 to 1, or None with a status")
    return float(value > _ROUNDING)


Sample = Mapping[str, Any]
"""An item's columns, `response`, `response_cut`, whether it is truncated, and the row's own columns (`question`,
`reference`, `retrieved_contexts`, ...), which hold where both have a name, such as `prompt`."""
RENDERED = "\0prompt"
"""Key of a sample for the prompt as it was sent; no file has a column of that name."""
CALLS = "\0calls"
"""Key of a sample for the calls of tools that the reply made; the column `calls` holds the expected ones."""
Found = Mapping[str, Mapping[str, Any]]
"""Results of earlier steps: step name -> question key -> parsed reply."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """How a metric reads a row's expected answer.

    `problem` says what was expected, where the metric cannot read it ('' if it can). `readings` name the forms
    that it was read from, for people; none if it has the usual one. `column` holds it. `is_doubtful`: another
    reading, that of the column's other rows, may be meant.
    """

    problem: str = ""
    readings: tuple[str, ...] = ()
    column: str = "answer"
    is_doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a judge: `key` is unique within its step and sample, `values` fill the prompt.

    `repeat` distinguishes repeats of the same question. `prompt` and `schema` take the place of its step's.
    """

    key: str
    values: Mapping[str, Any]
    repeat: int = 0
    prompt: str = ""
    schema: Mapping[str, Any] | None = None


class Unparsable(ValueError):  # noqa: N818 - said of a reply, like a verdict
    """A judge's reply that does not have the required form; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Room:
    """The room that a judge has for a reply, in tokens; `is_enforced`: its server holds it to the schema sent."""

    tokens: int
    is_enforced: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """One round of questions to a judge.

    `rows(sample, found, options)` returns the questions (none: the step is skipped); `prompt` names the template
    `prompts/<language>/<prompt>.j2`, or is a function of the options that returns a template's name or a user's own
    text; `parse(question, text)` parses a reply or raises `Unparsable`; `schema`, a JSON schema or a function of
    the question, constrains the reply if the client supports it. `temperature` is the step's, if it has one of its
    own; else the metric's. `asks` declares the type of its answer, or is a function of the question that does: the
    schema follows from it, and deciding judges can be put the step. Without it, judges must write.
    `divide(question, room, language)` returns the questions to ask in a question's place, so that the reply to each
    has room. `applies(options)`: with others the step is never asked.
    """

    name: str
    rows: Callable[[Sample, Found, Mapping[str, Any]], Iterable[Question]]
    prompt: str | Callable[[Mapping[str, Any]], str]
    parse: Callable[[Question, str], Any]
    schema: Mapping[str, Any] | Callable[[Question], Mapping[str, Any]] | None = None
    temperature: float | None = None
    asks: Typed | Callable[[Question], Typed] | None = None
    divide: Callable[[Question, Room, str], Sequence[Question]] | None = None
    applies: Callable[[Mapping[str, Any]], bool] = lambda _: True

    def schema_of(self, question: Question) -> Mapping[str, Any] | None:
        """Return the JSON schema of a text judge's reply; None if it has none."""
        # Labels and probabilities have a schema of their own, which the step need not declare.
        answer_type = self.find_type(question)
        if answer_type:
            return answer_type.schema(question.values)
        return self.schema(question) if callable(self.schema) else self.schema

    def find_type(self, question: Question) -> Typed | None:
        """Return the type of a question's answer; None if it is a text."""
        return self.asks(question) if callable(self.asks) else self.asks


Programs = Callable[[Sample, Mapping[str, Any]], Mapping[str, Program]]
"""Programs to run for a sample, by keys of the metric's choice.

`score` receives the outcomes of each program's calls, a tuple, as `found["programs"][key]`.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Judges' verdicts with error rates known from an exam, so that their mean can be corrected.

    `part` names the value that is their mean, '' the metric's own. `exam` is the step's exam; `values` are the
    worth of its labels, best first. `of(details)` yields the labels in one judge's score, from its details.
    `alone(options)`: with these options the part is all of the metric's own value. `fits(options)`: with these the
    labels are worth what `values` says.
    """

    part: str
    exam: str
    values: Mapping[str, float]
    of: Callable[[Mapping[str, Any]], Iterable[str]]
    alone: Callable[[Mapping[str, Any]], bool] | None = None
    fits: Callable[[Mapping[str, Any]], bool] = lambda _: True

    def is_whole(self, options: Mapping[str, Any]) -> bool:
        """Return whether the metric's own value is the mean of these verdicts."""
        # The metric's own value is named ''.
        return not self.part or bool(self.alone and self.alone(options))


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReading:
    """How a metric reads rows and replies; all of it is optional.

    `reads_calls`: it scores the calls of tools that a reply makes, and not its text alone. `sees_filtered`: it
    scores replies that a content filter stopped as well, which `response_filtered` tells it. `opponent(options)`
    names what responses are compared with: a column, or a target of the run, whose reply to the same item is then
    in the sample under that name. `stand_in(sample)` is a response for counting judge calls; by default the
    expected answer. `expects(sample, options)` says how the metric reads a row's expected answer, which is checked
    before anything is asked; `completes(samples, options)` returns the options completed by what all rows of the
    data show. `constrains(options)` returns the JSON schema of a right reply, empty without one. `reads` are the
    columns that its judges are shown, which a recorded reply must have beside those that it needs.
    """

    reads_calls: bool = False
    sees_filtered: bool = False
    opponent: Callable[[Mapping[str, Any]], str] | None = None
    stand_in: Callable[[Sample], str] | None = None
    expects: Callable[[Sample, Mapping[str, Any]], Expectation] | None = None
    completes: Callable[[Iterable[Sample], Mapping[str, Any]], Mapping[str, Any]] | None = None
    constrains: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricMeaning(MetricReading):
    """What a metric's scores mean, for verdicts and reports; all of it is optional.

    `all_or_none`: values between 0 and 1 are partial credit, and an answer is right if its value is 1. `right`: for
    a metric that grades more, the part that is 1 if the answer is right. `measured` are the verdicts whose means a
    judge's passport corrects. `shown` says how reports show it. `internal`: only shipped suites use it.
    """

    all_or_none: bool = False
    right: str = ""
    measured: tuple[Measured, ...] = ()
    shown: Shown = field(default_factory=Shown)
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Metric(MetricMeaning):
    """A value for a sample: steps that ask judges (none: it is computed), and one scoring function.

    `score(sample, found, options)` is pure and never raises on any response. `options` are the metric's parameters
    with their defaults; a suite may set them. `needs` are the facts that a sample must have, or a function of the
    options that names them. `temperature` is the judges' default; `votes`: a majority of several judges makes
    sense. `programs`: run in the sandbox before scoring. `verifies`: the item's family decides what is right; the
    metric has no rules itself. `sources(options)`: cited sources are checked first, on the network if allowed, and
    `score` finds them in `sample["evidence"]`. `yes_no`: every value is 0 or 1. Its other fields are those of
    `MetricReading` and `MetricMeaning`.
    """

    name: str
    version: int
    bounds: tuple[float, float]
    score: Callable[[Sample, Found, Mapping[str, Any]], Score]
    steps: tuple[Step, ...] = ()
    options: Declared = field(default_factory=dict)
    title: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] | Callable[[Mapping[str, Any]], Iterable[str]] = ()
    temperature: float | None = None
    votes: bool = True
    programs: Programs | None = None
    verifies: bool = False
    sources: Callable[[Mapping[str, Any]], bool] | None = None
    yes_no: bool = False

    def list_steps(self, options: Mapping[str, Any]) -> tuple[Step, ...]:
        """Return the steps that are asked with these options, all of which must be given."""
        return tuple(step for step in self.steps if step.applies(options))


@dataclass(frozen=True, slots=True)
class Provider:
    """A source of replies: a kind of server, an engine, an application, or a file of replies.

    `open(model)` returns a client (`tasks.models.protocol.Client`) for an entry of the configuration, importing the
    provider's dependencies. `options` are the keys specific to its entries, found in `model.options`.
    `check(model)` returns what is wrong with an entry as a whole ('' if nothing). `at_once(model)`: the maximum of
    concurrent calls, if set by this machine and not a server; entries with the same maximum share one set of
    limits. `by_item`: it answers by item, not by prompt. `sees(model)`: it is shown the item (`Call.item`), which
    is then part of the request. `brings(model)` are the facts that may come with its answers (`retrieved_contexts`,
    `citations`), so that the data need not have them. `unready(model)` says why it cannot answer now, as far as can
    be told at once without its package: no key, no file. `batches(client)` returns a client's batch endpoint
    (`tasks.models.openai_batches`), if there is one. `decides(model)`: it is put typed questions (`Call.typed`),
    and answers with probabilities. `decide(step, values)` answers a question of a judged step without a call: given
    what fills the step's prompt, it returns the object that a judge replies; `rules` names the steps that it can
    answer, by their exams. Such a provider only judges.
    """

    name: str
    version: int
    open: Callable[[Any], Any]
    options: Declared = field(default_factory=dict)
    check: Callable[[Any], str] | None = None
    at_once: Callable[[Any], int] | None = None
    by_item: bool = False
    sees: Callable[[Any], bool] | None = None
    brings: Callable[[Any], Sequence[str]] | None = None
    unready: Callable[[Any], str] | None = None
    batches: Callable[[Any], Any] | None = None
    decides: Callable[[Any], bool] | None = None
    rules: tuple[str, ...] = ()
    decide: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] | None = None
