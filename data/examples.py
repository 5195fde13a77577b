"""Examples before each question (few-shot): answered rows, drawn once for a suite; and its tools."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from basic_control.data.draw import content_id
from basic_control.data.errors import InputError
from basic_control.data.loading import EXPECTED_CALLS, add_tools, needs_of_metric, offer_items
from basic_control.data.notations import parse_cell
from basic_control.data.plugins import loader
from basic_control.data.questions import identify_asked
from basic_control.data.records import Item
from basic_control.data.suites import Suite
from basic_control.data.tools import TOOLS, Tool, choose_arguments, read_calls, read_tools, show, write_calls
from basic_control.data.usual_columns import name_facts

_ANSWERS = ("answer", "reference")
_ABSENT = "found no answer, expected one in column answer"
_ABSENT_CALLS = (
    "found no call, expected some in column calls, or in column answer the text that is right without any"
)


@dataclass(frozen=True, slots=True)
class Example:
    """An answered row: its columns, its text and calls (`name`, `arguments`), and the digest of its question."""

    facts: Mapping[str, Any]
    language: str
    answer: str
    text_digest: str
    calls: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What goes with each question of a suite: tools, and examples before it.

    `examples` are one more than the `n_examples` that stand before a question: a row among these gets the last in
    its own place. `form` is `turns` or `text`; `prompt` is what examples are asked with, if the target has no
    template. `excluded` are the positions of drawn rows that are examples and are not asked;
    `n_systems` counts the rows whose own system message replaces the suite's. `parameters` are of the request, over
    the model's own.
    """

    has_tools: bool = False
    examples: tuple[Example, ...] = ()
    n_examples: int = 0
    form: str = "turns"
    prompt: str = ""
    excluded: frozenset[int] = field(default_factory=frozenset)
    n_systems: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def examples_for(self, text_digest: str) -> Iterator[Example]:
        """Yield the examples before a question, never the question itself."""
        for example in self.examples[: self.n_examples]:
            is_itself = example.text_digest == text_digest
            yield self.examples[self.n_examples] if is_itself else example


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """What of a suite's rows is part of the question: columns, that of its conversation, and tools."""

    read: Collection[str]
    column: str = ""
    tools: Any = ""

    def digest_of(self, item: Item) -> str:
        """Return the digest of an item's question, as the items table has it."""
        item = name_facts(item, self.read)
        if self.tools:
            item = add_tools(item, self.tools)
        return identify_asked(item, self.read, self.column).text_digest


def surround(suite: Suite, form: QuestionForm) -> Surroundings:
    """Return what goes with a suite's questions; draws its examples.

    Raises:
        InputError: the examples cannot be read, have no answer, or are too few.
    """
    declared = suite.examples
    if declared is None or not declared.n:
        return Surroundings(has_tools=bool(form.tools), parameters=suite.extra)
    unit = loader(suite.loader)
    if unit.generated:
        raise InputError(f"suite {suite.name}: examples need rows of a file; {unit.name} draws its items.")
    examples = _draw(suite, form)
    # Digests of the asked rows, by position: those among the examples are asked with the spare one, or not at all.
    positions = dict[str, list[int]]()
    for position, item in enumerate(unit.load(offer_items(suite), ())):
        positions.setdefault(form.digest_of(item), []).append(position)
    shots = examples[: declared.n]
    has_asked = any(example.text_digest in positions for example in shots)
    excluded = frozenset[int]()
    if declared.exclude:
        excluded = frozenset(n for example in shots for n in positions.get(example.text_digest, ()))
    if len(shots) < declared.n or (has_asked and not declared.exclude and len(examples) == declared.n):
        raise InputError(
            f"suite {suite.name}: examples: {declared.data} has {len(examples)} different rows, expected at least "
            f"{declared.n + 1}: n ({declared.n}), and one in place of a row that is asked itself. Lower `n`."
        )
    return Surroundings(
        has_tools=bool(form.tools),
        examples=tuple(examples),
        n_examples=declared.n,
        form=declared.form,
        prompt=suite.item_prompt,
        excluded=excluded,
        parameters=suite.extra,
    )


def _draw(suite: Suite, form: QuestionForm) -> list[Example]:
    """Return the examples of a suite, one more than stand before a question if there are so many, by its seed."""
    declared = suite.examples
    if declared is None:
        return []
    options: dict[str, Any] = {**suite.source, "data": declared.data}
    if isinstance(options.get("sample"), Mapping):
        options["sample"] = {**options["sample"], "method": "all"}
    distinct = dict[str, Item]()
    for row_item in loader(suite.loader).load(options, ()):
        item = name_facts(row_item, form.read)
        distinct.setdefault(form.digest_of(item), item)
    # By content, so that the file's order and its other rows do not matter.
    order = sorted(distinct, key=lambda digest: content_id("example", declared.seed, digest))
    reads_calls = [EXPECTED_CALLS in needs_of_metric(suite, name) for name in suite.metric_names]
    absent = _ABSENT
    if any(reads_calls):
        absent = _ABSENT_CALLS
    examples = list[Example]()
    for digest in order[: declared.n + 1]:
        item = distinct[digest]
        where = f"examples: {declared.data}, row {item.index + 1}"
        calls: tuple[Mapping[str, Any], ...] = ()
        if any(reads_calls):
            calls = _read_calls(item, form, where)
        text = _read_text(item)
        if not text and not calls:
            raise InputError(f"{where}: {absent}.")
        # A suite that scores calls alone shows no text beside them.
        if calls and all(reads_calls):
            text = ""
        examples.append(Example(dict(item.facts), item.language, text, digest, calls))
    return examples


def _read_text(item: Item) -> str:
    """Return the text that a row answers; '' if it has none."""
    for name in _ANSWERS:
        value = item.facts.get(name)
        if isinstance(value, list | tuple) and value:
            value = value[0]
        if value is not None and str(value).strip():
            return str(value).strip()
    return ""


def _read_calls(item: Item, form: QuestionForm, where: str) -> tuple[Mapping[str, Any], ...]:
    """Return the calls that a row expects as a model makes them; none if it expects none.

    Raises:
        InputError: they are no calls.
    """
    value = item.facts.get(EXPECTED_CALLS)
    if value is None or not str(value).strip():
        return ()
    expected_calls = read_calls(parse_cell(value))
    if expected_calls is None:
        raise InputError(f"{where}: found {show(value)} in column calls, expected a list of {{name, arguments}}.")
    tools = dict[str, Tool]()
    if form.tools:
        described = add_tools(item, form.tools).facts.get(TOOLS) or ()
        tools |= {tool.name: tool for tool in read_tools(described)}
    calls = [choose_arguments(call, tools.get(call.name, Tool(call.name))) for call in expected_calls]
    return tuple(write_calls(calls))
