"""A stage: a Prefect task that is cached by the content of its inputs.

The key holds the stage's name and version, the source of the rules, and its inputs: tables by their content, units
by their names, versions and sources. Prefect's own TASK_SOURCE covers only the task's body.
"""

import dataclasses
import hashlib
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from json import JSONDecodeError
from typing import Any, Generic, ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE, CachePolicy
from prefect.context import TaskRunContext
from prefect.utilities.annotations import quote
from pydantic import BaseModel

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Cell, Execution, QueryResult, Ref
from basic_control.data.draw import format_canonical
from basic_control.data.units import RULES, digest_of
from basic_control.tasks.held import HeldReplies
from basic_control.tasks.models.progress import has_pages
from basic_control.tasks.runtime.logs import log_event
from basic_control.tasks.runtime.storage import open_result_storage, open_store

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

DECIDING = (*RULES, "tasks/models/requests.py", "tasks/store/samples.py")
"""Our code that determines stages' results. The rest moves tables; a stage's own code has its version."""
FETCHING = ("tasks/web", "metrics/citation")
"""Our code that determines what is fetched from the network: nothing else fetches pages again."""


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields; of another type, none."""
    if not dataclasses.is_dataclass(kind):
        return ()
    return tuple(field.name for field in dataclasses.fields(kind))


def encode(value: Any) -> Any:
    """Return a stage's input as JSON that is the same for equal content."""
    if isinstance(value, Ref):
        return {"table": value.table, "content": value.content}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {name: getattr(value, name) for name in _fields(type(value))}
        # A cell's name does not affect the result.
        return {name: encode(part) for name, part in parts.items() if not isinstance(part, Cell)}
    if isinstance(value, Mapping):
        return {str(key): encode(entry) for key, entry in value.items()}
    # A set's order differs from process to process.
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [encode(entry) for entry in value]
    return value


_PLAIN = (str, int, float, type(None))


def find_values(value: Any, kind: type[T]) -> Iterator[T]:
    """Yield every value of a kind in a stage's result or inputs, such as table references."""
    parts: Iterable[Any] = ()
    if isinstance(value, kind):
        yield value
    elif isinstance(value, _PLAIN):
        return
    elif isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, Mapping):
        parts = value.values()
    else:
        parts = (getattr(value, name) for name in _fields(type(value)))
    for part in parts:
        yield from find_values(part, kind)


def hash_inputs(stage: str, inputs: Mapping[str, Any], **facts: Any) -> str:
    """Hash a stage's inputs, ignoring the store's location and cells' names."""
    ignored = (StoreSettings, Cell)
    encoded = {name: encode(value) for name, value in inputs.items() if not isinstance(value, ignored)}
    return hashlib.sha256(format_canonical({"stage": stage, **facts, "inputs": encoded}).encode()).hexdigest()


class ContentAddress(CachePolicy):
    """Key a stage by its name, its version, the source of its rules, and its inputs."""

    version: int = 1
    rules: tuple[str, ...] = DECIDING

    def __init__(self, version: int, rules: tuple[str, ...] = DECIDING) -> None:
        self.version = version
        self.rules = rules

    def compute_key(
        self,
        task_ctx: TaskRunContext,
        inputs: dict[str, Any],
        flow_parameters: dict[str, Any],  # noqa: ARG002 - Prefect's interface
        **kwargs: Any,  # noqa: ARG002 - Prefect's interface
    ) -> str:
        """Return the content address of one execution."""
        name = task_ctx.task.name
        return f"{name}-{hash_inputs(name, inputs, version=self.version, rules=digest_of(*self.rules))}"


@dataclass
class Ledger:
    """The executions of one run, in order; `refresh(stage, cell)` says what is run again despite the cache.

    `failed`: judges' unreadable replies are requested again, as failed calls always are. `attempt` identifies
    this start of the run: what failed in an earlier one is asked again. `budget` is what it may spend
    (`tasks.models.budget`; None: whatever it takes). `earlier_replies` are an earlier run's, judged in place of new
    ones.
    """

    executions: list[Execution] = field(default_factory=list)
    refresh: Callable[[str, Cell], bool] = lambda _stage, _cell: False
    failed: bool = False
    recorded: Ref | None = None
    run: str = ""
    deployed: bool = False
    distributed: bool = False
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex)
    budget: Any = None
    earlier_replies: HeldReplies | None = None

    def rows(self) -> list[dict[str, Any]]:
        """Return the executions as JSON."""
        rows = []
        for execution in self.executions:
            row = {
                "stage": execution.stage,
                "label": str(execution.cell),
                **dataclasses.asdict(execution.cell),
                "cached": execution.cached,
                "wall_s": round(execution.seconds, 4),
                "note": execution.note,
            }
            rows.append(row)
        return rows


_ledger: ContextVar[Ledger] = ContextVar("ledger")


def current_ledger() -> Ledger:
    """Return the current run's ledger."""
    try:
        return _ledger.get()
    except LookupError:
        return Ledger()


@contextmanager
def recording(ledger: Ledger) -> Iterator[Ledger]:
    """Set the ledger for the stages run inside the block."""
    token = _ledger.set(ledger)
    try:
        yield ledger
    finally:
        _ledger.reset(token)


Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
"""The arguments of a stage."""


def _wrap_input(value: Any) -> Any:
    """Wrap a stage's input so that Prefect does not search configuration for the results of other stages.

    If Prefect shows dependencies between stages in its UI, it still searches the rest.
    """
    return value if has_pages() and next(find_values(value, BaseModel), None) is None else quote(value)


def _find_store(arguments: Arguments) -> StoreSettings | None:
    args, kwargs = arguments
    return next((value for value in (*args, *kwargs.values()) if isinstance(value, StoreSettings)), None)


class Stage(Generic[P, R]):
    """A task with its cell of work, its place in the ledger, and a check of its cached result's tables."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        version: int,
        part: str,
        takes: str = "",
        cached: bool = True,
        rules: tuple[str, ...] = DECIDING,
        name: str = "",
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        self.part = part
        self.takes = takes
        self.rules = rules
        STAGES[self.name] = self
        self.cached = cached
        self.task: Task[P, R] = Task(
            function,
            name=self.name,
            cache_policy=ContentAddress(version, rules) if cached else NO_CACHE,
            persist_result=cached,
            result_serializer="json" if cached else None,
        )

    def __call__(self, cell: Cell, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the stage, or return its cached result if every table of it is intact."""
        if current_ledger().distributed:
            return self.start(cell, *args, **kwargs)()
        started = self._begin(cell)
        return self._settle(cell, self._run(cell, (args, kwargs)), started, (args, kwargs))

    def start(self, cell: Cell, /, *args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
        """Run the stage on the flow's task runner, in parallel; return a function that waits for its result."""
        started = self._begin(cell)
        future = self._prepare_task(cell, (args, kwargs)).submit(*args, **kwargs)

        def finish() -> R:
            future.wait()
            return self._settle(cell, future.state, started, (args, kwargs))

        return finish

    def _run(self, cell: Cell, arguments: Arguments, *, refresh: bool = False) -> Any:
        """Run the task here and return its state."""
        args, kwargs = (
            map(_wrap_input, arguments[0]),
            {name: _wrap_input(value) for name, value in arguments[1].items()},
        )
        return self._prepare_task(cell, arguments, refresh=refresh)(*args, **kwargs, return_state=True)

    def _begin(self, cell: Cell) -> float:
        """Log the stage's start and return the time."""
        run, suite, metric = current_ledger().run, cell.suite, cell.metric
        log_event("stage_started", run=run, stage=self.name, label=str(cell), suite=suite, metric=metric)
        return time.monotonic()

    def _prepare_task(self, cell: Cell, arguments: Arguments, *, refresh: bool = False) -> Any:
        name = f"{self.name} {cell}".replace("{", "(").replace("}", ")")
        refresh = refresh or current_ledger().refresh(self.name, cell)
        options: dict[str, Any] = {}
        if refresh:
            options["refresh_cache"] = True
        store = _find_store(arguments)
        if self.cached and store:
            options["result_storage"] = open_result_storage(store, clustered=current_ledger().distributed)
        # `with_options` would read the function's source again, which takes milliseconds.
        task = copy(self.task)
        vars(task).update(task_run_name=name, **options)
        return task

    def _settle(self, cell: Cell, state: Any, started: float, arguments: Arguments) -> R:
        """Return a state's result, rerunning the stage if tables are damaged, and record it in the ledger."""
        note = "asked to run again" if current_ledger().refresh(self.name, cell) else ""
        try:
            result: R = state.result()
        except JSONDecodeError:
            if not self.cached:
                raise
            # Prefect writes its records in place: another run of this store was just rewriting it.
            note = "the record of its result could not be read"
            state = self._run(cell, arguments, refresh=True)
            result = state.result()
        cached = state.name == "Cached"
        if cached:
            store = _find_store(arguments)
            if store and not all(open_store(store).is_intact(ref) for ref in find_values(result, Ref)):
                note = "a table of its result was missing or damaged"
                state = self._run(cell, arguments, refresh=True)
                result, cached = state.result(), False
        seconds = time.monotonic() - started
        ledger = current_ledger()
        queries = tuple(find_values(result, QueryResult))
        ledger.executions.append(Execution(self.name, cell, cached, seconds, note, time.time(), queries))
        rows: Counter[str] = Counter()
        for ref in find_values(result, Ref):
            rows[ref.table] += ref.rows
        facts: dict[str, Any] = {"cached": cached, "seconds": round(seconds, 4), "rows": rows}
        if note:
            facts["note"] = note
        log_event("stage", run=ledger.run, stage=self.name, label=str(cell), **facts)
        return result


STAGES: dict[str, Stage[..., Any]] = {}
"""All stages of the imported modules, by name."""


def stage(
    *,
    version: int,
    part: str,
    takes: str = "",
    cached: bool = True,
    rules: tuple[str, ...] = DECIDING,
    name: str = "",
) -> Callable[[Callable[P, R]], Stage[P, R]]:
    """Make a function a stage: of the `part` that a user names to rerun it, made from what a part `takes`.

    Raise `version` when the stage's own code changes its output; the files and folders of `rules` are in its key by
    their source, and so are the units passed as `UnitIdentity`. A stage that is not cached (`query`) has its own
    cache, or writes files.
    """

    def make(function: Callable[P, R]) -> Stage[P, R]:
        return Stage(function, version=version, part=part, takes=takes, cached=cached, rules=rules, name=name)

    return make
