"""A stage: a Prefect task that is cached by the content of what goes into it.

The key holds the stage's name and version, a fingerprint of the rules' source (generators, metrics, prompts,
data), and its inputs, tables by their content. Prefect's own TASK_SOURCE sees only the task's body.
"""

import dataclasses
import hashlib
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE, CachePolicy
from prefect.context import TaskRunContext
from pydantic import BaseModel

from config.settings import Store as StoreSettings
from data.batches import Asked, Cell, Ref
from data.draw import canonical
from tasks.runtime.logs import event
from tasks.runtime.storage import open_results, open_store

P = ParamSpec("P")
R = TypeVar("R")

RULES = ("generators", "metrics", "prompts", "data")
SOURCES = frozenset({".py", ".j2", ".jsonl", ".yaml"})
WORDS = "phrases.yaml"
"""What reports say: no stage depends on it."""


@cache
def fingerprint() -> str:
    """Return a hash over the source of all rules, so that a changed verifier's old verdicts are not trusted."""
    digest = hashlib.sha256()
    top = Path(__file__).parents[1]
    for package in RULES:
        for path in sorted((top / package).rglob("*")):
            if path.suffix in SOURCES and path.name != WORDS:
                digest.update(str(path.relative_to(top)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def encode(value: Any) -> Any:
    """Return a stage's input as JSON that is the same for equal content."""
    if isinstance(value, Ref):
        return {"table": value.table, "content": value.content}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        # What a cell is called does not change what comes out of it.
        return {name: encode(part) for name, part in parts.items() if not isinstance(part, Cell)}
    if isinstance(value, Mapping):
        return {str(key): encode(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [encode(entry) for entry in value]
    return value


def refs_in(value: Any) -> Iterator[Ref]:
    """Yield every table reference in a stage's result."""
    if isinstance(value, Ref):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for part in dataclasses.fields(value):
            yield from refs_in(getattr(value, part.name))
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from refs_in(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from refs_in(entry)


class ContentAddress(CachePolicy):
    """Key a stage by its name, version, rules and inputs; where the store is does not matter."""

    version: int = 1

    def __init__(self, version: int) -> None:
        self.version = version

    def compute_key(
        self,
        task_ctx: TaskRunContext,
        inputs: dict[str, Any],
        flow_parameters: dict[str, Any],  # noqa: ARG002 - Prefect's interface
        **kwargs: Any,  # noqa: ARG002 - Prefect's interface
    ) -> str:
        """Return the content address of one execution."""
        aside = (StoreSettings, Cell)
        named = {name: encode(value) for name, value in inputs.items() if not isinstance(value, aside)}
        identity = {
            "stage": task_ctx.task.name,
            "version": self.version,
            "rules": fingerprint(),
            "inputs": named,
        }
        return f"{task_ctx.task.name}-{hashlib.sha256(canonical(identity).encode()).hexdigest()}"


def calls_in(value: Any) -> dict[str, int]:
    """Return the counts of the calls that a stage's result tells of; empty where it made none."""
    every = [value] if isinstance(value, Asked) else getattr(value, "asked", ())
    found = [one for one in every if isinstance(one, Asked)] if isinstance(every, list | tuple) else []
    if not found:
        return {}
    names = {"asked": "total", **dict.fromkeys(("cached", "answered", "failed", "tokens_in", "tokens_out"))}
    return {name: sum(getattr(one, field or name) for one in found) for name, field in names.items()}


@dataclass(frozen=True, slots=True)
class Execution:
    """What became of one stage in this run: its wall time, when it `ended` (Unix time), its calls by outcome."""

    stage: str
    cell: Cell
    cached: bool
    seconds: float
    note: str = ""
    ended: float = 0.0
    calls: Mapping[str, int] = field(default_factory=dict)


def _nothing(stage: str, cell: Cell) -> bool:
    del stage, cell
    return False


@dataclass
class Ledger:
    """The executions of one run, in order; `anew(stage, cell)` says what it was told to run anew.

    `failed`: judges' replies that could not be read are asked for anew, as calls that failed always are.
    `attempt` is this start of the run alone: what failed in an earlier one is asked again.
    """

    executions: list[Execution] = field(default_factory=list)
    anew: Callable[[str, Cell], bool] = _nothing
    failed: bool = False
    recorded: Ref | None = None
    run: str = ""
    deployed: bool = False
    distributed: bool = False
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex)

    def rows(self) -> list[dict[str, Any]]:
        """Return the executions as JSON."""
        return [
            {
                "stage": e.stage,
                "label": str(e.cell),
                **dataclasses.asdict(e.cell),
                "cached": e.cached,
                "wall_s": round(e.seconds, 4),
                "note": e.note,
            }
            for e in self.executions
        ]


_ledger: ContextVar[Ledger] = ContextVar("ledger")


def ledger() -> Ledger:
    """Return the current run's ledger."""
    try:
        return _ledger.get()
    except LookupError:
        return Ledger()


@contextmanager
def keeping(book: Ledger) -> Iterator[Ledger]:
    """Keep a ledger for the runs of stages inside."""
    token = _ledger.set(book)
    try:
        yield book
    finally:
        _ledger.reset(token)


Given = tuple[tuple[Any, ...], Mapping[str, Any]]
"""What a stage is called with."""


def _place_in(given: Given) -> StoreSettings | None:
    args, kwargs = given
    return next((value for value in (*args, *kwargs.values()) if isinstance(value, StoreSettings)), None)


class Stage(Generic[P, R]):
    """A task with its cell of work, its place in the ledger, and a check of what a cached result promises."""

    def __init__(self, function: Callable[P, R], *, version: int, cached: bool = True) -> None:
        self.function = function
        self.name = function.__name__
        self.cached = cached
        self.task: Task[P, R] = Task(
            function,
            name=self.name,
            cache_policy=ContentAddress(version) if cached else NO_CACHE,
            persist_result=cached,
            result_serializer="json" if cached else None,
        )

    def __call__(self, cell: Cell, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the stage, or take its result from the cache where every table of it is whole."""
        if ledger().distributed:
            return self.start(cell, *args, **kwargs).finish()
        started = self._begin(cell)
        refresh = ledger().anew(self.name, cell)
        state = self._named(cell, (args, kwargs), refresh=refresh)(*args, **kwargs, return_state=True)
        return self._settle(cell, state, started, (args, kwargs))

    def start(self, cell: Cell, /, *args: P.args, **kwargs: P.kwargs) -> "Started[R]":
        """Run the stage on the flow's task runner, beside others; `finish` waits for its result."""
        started = self._begin(cell)
        refresh = ledger().anew(self.name, cell)
        future = self._named(cell, (args, kwargs), refresh=refresh).submit(*args, **kwargs)

        def finish() -> R:
            future.wait()
            return self._settle(cell, future.state, started, (args, kwargs))

        return Started(finish)

    def _begin(self, cell: Cell) -> float:
        """Say that the stage begins, and return when."""
        run, suite, metric = ledger().run, cell.suite, cell.metric
        event("stage_started", run=run, stage=self.name, label=str(cell), suite=suite, metric=metric)
        return time.monotonic()

    def _named(self, cell: Cell, given: Given, *, refresh: bool) -> Any:
        name = f"{self.name} {cell}".replace("{", "(").replace("}", ")")
        options: dict[str, Any] = {"refresh_cache": True} if refresh else {}
        if self.cached and (place := _place_in(given)) and (storage := open_results(place)):
            options["result_storage"] = storage
        return self.task.with_options(task_run_name=name, **options)

    def _settle(self, cell: Cell, state: Any, started: float, given: Given) -> R:
        """Return a state's result, run anew where its tables are not whole, and enter it in the ledger."""
        note = "asked to run anew" if ledger().anew(self.name, cell) else ""
        args, kwargs = given
        try:
            result: R = state.result()
        except JSONDecodeError:
            if not self.cached:
                raise
            # Prefect writes its records in place: another run of this store was just writing the same one anew.
            note = "the record of its result could not be read"
            state = self._named(cell, given, refresh=True)(*args, **kwargs, return_state=True)
            result = state.result()
        cached = state.name == "Cached"
        if cached:
            place = _place_in(given)
            if place and not all(open_store(place).whole(ref) for ref in refs_in(result)):
                note = "a table of its result was missing or damaged"
                state = self._named(cell, given, refresh=True)(*args, **kwargs, return_state=True)
                result, cached = state.result(), False
        seconds = time.monotonic() - started
        book = ledger()
        book.executions.append(Execution(self.name, cell, cached, seconds, note, time.time(), calls_in(result)))
        rows: Counter[str] = Counter()
        for ref in refs_in(result):
            rows[ref.table] += ref.rows
        said: dict[str, Any] = {"cached": cached, "seconds": round(seconds, 4), "rows": rows}
        said |= {"note": note} if note else {}
        event("stage", run=book.run, stage=self.name, label=str(cell), **said)
        return result


@dataclass(frozen=True, slots=True)
class Started(Generic[R]):
    """A stage that runs beside others."""

    finish: Callable[[], R]


def stage(*, version: int, cached: bool = True) -> Callable[[Callable[P, R]], Stage[P, R]]:
    """Make a function a stage.

    `version` is raised when the stage's own code changes what it writes. A stage that is not cached (`query`)
    has a cache of its own, or writes files.
    """

    def make(function: Callable[P, R]) -> Stage[P, R]:
        return Stage(function, version=version, cached=cached)

    return make
