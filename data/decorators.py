"""Units as decorated functions: `metric`, `family`, `loader`, `provider`, for plug-ins and for our own.

A decorator returns the unit itself, as `UNIT` would hold it. Parameters with a default are the unit's options. A
function with the parameters of a unit's own function is called as it is: `(sample, replies, options)` of a metric,
`(options, required)` of a loader, `(model)` of a provider, which returns a client.
"""

import asyncio
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from pathlib import Path
from typing import Any, Generic, overload

from basic_control.data.errors import ReturnedError
from basic_control.data.plugins import Unit, declare
from basic_control.data.records import Family, Found, Item, Loader, Metric, Provider, Sample, Score, Verdict

Function = Callable[..., Any]
Needs = Sequence[str] | Callable[[Mapping[str, Any]], Iterable[str]]
"""Columns that a metric needs, or a function of its options that names them."""
Files = Sequence[str] | Callable[[Mapping[str, Any]], Iterable[Path]]
"""Options of a loader that hold paths, or a function of its options that returns its files."""
_SCORES = {("sample", replies, "options") for replies in ("found", "replies", "")}
"""Parameters of a metric's `score`, without the underscore of those that it does not use."""
_LOADS = ("options", "required")
"""Parameters of a loader's `load`, likewise."""
_OPENS = ("model",)
"""The parameter of a provider's `open`."""
_ALWAYS_THERE = frozenset({"sample", "response", "answer", "prompt", "language"})
"""Columns that every sample has."""


def _options_of(function: Function) -> dict[str, Any]:
    """Return a function's parameters that have defaults, with these."""
    parameters = inspect.signature(function).parameters.values()
    optional = (parameter for parameter in parameters if parameter.default is not inspect.Parameter.empty)
    return {parameter.name: parameter.default for parameter in optional}


def _read_columns(function: Function) -> tuple[str, ...]:
    """Return the names of a function's parameters without a default."""
    variable = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    parameters = inspect.signature(function).parameters.values()
    required = (parameter for parameter in parameters if parameter.default is inspect.Parameter.empty)
    return tuple(parameter.name for parameter in required if parameter.kind not in variable)


def _name_parameters(function: Function) -> tuple[str, ...]:
    """Return the names of a function's required parameters, as they are called where they are used."""
    return tuple(name.strip("_") for name in _read_columns(function))


def _returns_truth(function: Function) -> bool:
    return inspect.signature(function).return_annotation in {bool, "bool"}


class UnitDecorator(Generic[Unit]):
    """Makes units of functions, where discovery finds them; called with facts, it returns what does."""

    def __init__(self, make: Callable[..., Unit]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __call__(self, function: Function, /) -> Unit: ...
    @overload
    def __call__(self, **facts: Any) -> Callable[[Function], Unit]: ...
    def __call__(self, function: Function | None = None, /, **facts: Any) -> Unit | Callable[[Function], Unit]:
        """Make a unit of a function; without one, return what does."""
        if function is None:
            return partial(self.__call__, **facts)
        if not callable(function):
            # As in @metric("tone"), which forgets name=.
            raise TypeError(f"found {function!r}; expected a function, or facts by their names (name=…)")
        return declare(self.build(function, **facts), function.__module__)

    def build(self, function: Function, *, name: str = "", version: int = 1, **facts: Any) -> Unit:
        """Make a unit of a function, but none that discovery finds."""
        return self._make(function, name=name or function.__name__, version=version, **facts)


def _make_metric(
    function: Function,
    *,
    needs: Needs | None = None,
    yes_no: bool | None = None,
    scores_empty: bool = False,
    **fields: Any,
) -> Metric:
    """Make a metric of a function of a sample's columns, or of a coroutine.

    A parameter without a default is a column by its name (`response`, `answer`, those of the row), or `sample`, all
    of them. It returns a boolean, a number from 0 to 1, or a `Score`; None: not applicable. An empty response is
    `no_answer` and scores 0, unless `scores_empty`. `needs` are the columns that rows must have, or a function of
    the options that names them; default: the parameters. `yes_no`: every value is 0 or 1; default: as annotated,
    `-> bool`. `fields` are others of `Metric`.
    """
    columns = list_columns(function)
    score: Function = function
    if columns or not _takes_replies(function):
        score = wraps(function)(partial(_score, function, columns, scores_empty=scores_empty))
    # Whatever else it reads, rows must have.
    if needs is None:
        needs = [column for column in columns if column not in _ALWAYS_THERE]
    if not callable(needs):
        needs = tuple(needs)
    if yes_no is None:
        yes_no = _returns_truth(function)
    fields = {"options": _options_of(function), **fields}
    return Metric(bounds=(0.0, 1.0), score=score, needs=needs, yes_no=yes_no, **fields)


metric = UnitDecorator(_make_metric)


def _takes_replies(function: Function) -> bool:
    """Return whether a function takes what a metric's own `score` does: the sample, the replies, the options."""
    return _name_parameters(function) in _SCORES


def list_columns(function: Function) -> tuple[str, ...]:
    """Return the columns that a metric's function takes; none if it takes what `score` of a `Metric` does."""
    if _takes_replies(function):
        return ()
    return _read_columns(function)


def _score(
    function: Function,
    columns: Sequence[str],
    sample: Sample,
    _found: Found,
    options: Mapping[str, Any],
    *,
    scores_empty: bool,
) -> Score:
    """Return what a function says of a sample as a score."""
    value = call_metric(function, columns, sample, options, scores_empty=scores_empty)
    if inspect.isawaitable(value):
        value = _wait_for(value)
    return read_score(value)


def call_metric(
    function: Function, columns: Sequence[str], sample: Sample, options: Mapping[str, Any], *, scores_empty: bool
) -> Any:
    """Return what a metric's function returns for a sample: what `read_score` reads, or a coroutine of it.

    A function that takes `score`'s arguments has no columns. Of the others, an empty reply scores 0 without a call,
    unless `scores_empty`.
    """
    if not columns and _takes_replies(function):
        return function(sample, {}, options)
    if not scores_empty and not str(sample["response"]).strip():
        return Score(0.0, "no_answer", "empty reply")
    value_by_column = {**sample, "sample": sample}
    values = [value_by_column[column] for column in columns]
    own_options = {option: options[option] for option in _options_of(function) if option in options}
    return function(*values, **own_options)


def _wait_for(value: Any) -> Any:
    """Return what a coroutine returns, in a loop of its own: the calling thread may have one that runs."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, _await(value)).result()


async def _await(value: Any) -> Any:
    return await value


def read_score(value: Any) -> Score:
    """Return what a metric's function returned as a score.

    Raises:
        ReturnedError: it is none.
    """
    if isinstance(value, Score):
        return value
    if value is None:
        return Score(None, "not_applicable")
    expected = "expected True or False, a number from 0 to 1, bc.Score, or None where it does not apply"
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise ReturnedError(f"returned {str(value)[:60]!r} ({type(value).__name__}); {expected}")
    try:
        return Score(float(value))
    except (TypeError, ValueError):
        raise ReturnedError(f"returned {str(value)[:60]} ({type(value).__name__}); {expected}") from None


def read_last_line(item: Item, reply: str) -> Verdict:
    """Accept a reply whose last line, or what follows `ANSWER:` in it, is the item's answer, in any case.

    An item's family that has no `verify` decides by it. An empty reply is no answer.
    """
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if not lines:
        return Verdict(None, "empty reply")
    # The line is what remains of it behind the last cue.
    start = lines[-1].upper().rfind("ANSWER:") + len("ANSWER:")
    stated = lines[-1][start:] if start >= len("ANSWER:") else lines[-1]
    is_right = stated.strip(" .*`").casefold() == item.answer.strip().casefold()
    return Verdict(is_right, "right" if is_right else "another answer")


def _make_family(
    function: Function,
    *,
    levels: Mapping[str, Mapping[str, Any]] | None = None,
    verify: Callable[..., Verdict] = read_last_line,
    **fields: Any,
) -> Family:
    """Make a family of the function that draws its items from a `Random`.

    It returns an `Item`, or a prompt and the answer. `levels` are the arguments of each level; default: one,
    `easy`, with none. `verify(item, reply)` decides; default: `read_last_line`. Other parameters with a default are
    options. `fields` are others of `Family`.
    """

    @wraps(function)
    def generate(*arguments: Any, **options: Any) -> Item:
        drawn = function(*arguments, **options)
        if isinstance(drawn, Item):
            return drawn
        prompt, answer = drawn
        return Item(prompt=str(prompt), answer=str(answer))

    levels = levels or {"easy": {}}
    # What the levels or the drawing give is no option.
    drawing = {"language", "drawn"}.union(*levels.values())
    options = {option: value for option, value in _options_of(function).items() if option not in drawing}
    fields = {"options": options, **fields}
    return Family(levels=levels, generate=generate, verify=verify, **fields)


family = UnitDecorator(_make_family)


def _make_loader(function: Function, *, files: Files = (), **fields: Any) -> Loader:
    """Make a loader of a function that yields rows: mappings of columns, or `Item`s.

    `files` names the options that hold paths, or is a function of the options that returns them: a run reads these
    anew when they change. `fields` are others of `Loader`.
    """

    @wraps(function)
    def load_rows(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
        for index, row in enumerate(function(**options)):
            yield row if isinstance(row, Item) else _item(row, index)

    def list_files(options: Mapping[str, Any]) -> Iterable[Path]:
        if callable(files):
            return files(options)
        return [Path(str(options[option])) for option in files]

    load: Function = load_rows
    if _name_parameters(function) == _LOADS:
        load = function
    fields = {"options": _options_of(function), "files": list_files, **fields}
    return Loader(load=load, **fields)


loader = UnitDecorator(_make_loader)


def _item(row: Mapping[str, Any], index: int) -> Item:
    """Return a row as an item, whose columns are the row's."""
    answer, language = row.get("answer"), str(row.get("language") or "")
    # Several expected answers are shown in a line; metrics read them from the facts.
    if isinstance(answer, list | tuple):
        answer = "; ".join(map(str, answer))
    return Item(
        prompt="",
        answer="" if answer is None else str(answer),
        facts=dict(row),
        template=str(row.get("template") or ""),
        language=language or "en",
        index=index,
        stated_language=language,
    )


def _make_provider(function: Function, *, name: str, version: int, **fields: Any) -> Provider:
    """Make a provider of a function of the prompt, or a coroutine: what it returns is the reply.

    By name it may also take `system`, `messages`, `parameters`, `item` and `model`, the entry's name for the model.
    It returns a text, or a mapping with `text`, as a function in docs/applications.md does. A function of `model`
    alone, the entry of the configuration, returns a client. `fields` are others of `Provider`.
    """
    if _name_parameters(function) == _OPENS:
        return Provider(name=name, version=version, open=function, **fields)

    # What talks to models is imported only where one is asked, and stands above this room.
    @wraps(function)
    def open_client(model: Any) -> Any:
        client = importlib.import_module("basic_control.tasks.models.functions").FunctionClient
        return client(model, function, {"provider": name, "version": str(version)})

    is_shown_items = "item" in inspect.signature(function).parameters
    fields = {
        "options": _options_of(function),
        "sees": lambda _model: is_shown_items,
        "brings": lambda _model: ("retrieved_contexts", "citations"),
        **fields,
    }
    return Provider(name=name, version=version, open=open_client, **fields)


provider = UnitDecorator(_make_provider)
