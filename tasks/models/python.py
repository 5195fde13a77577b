"""A function of the user's own in place of a model."""

import asyncio
import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from config.settings import Model
from data.errors import InputError
from data.records import Call, Reply
from tasks.models.answers import FIELDS, read_answer
from tasks.models.protocol import CallError
from tasks.models.secrets import Secrets
from tasks.models.threads import in_thread

OFFERED = ("system", "messages", "parameters", "item")
"""What a function gets beside the prompt where it has parameters of these names."""


@dataclass(frozen=True, slots=True)
class Function:
    """A loaded function; `takes` are the names that it is called with, `digest` the SHA-256 of its source file."""

    call: Callable[..., Any]
    takes: frozenset[str]
    by_position: bool
    digest: str
    source: str

    @property
    def sees(self) -> bool:
        """Say whether it is shown the item."""
        return "item" in self.takes


_LOADED: dict[str, Function] = {}
_LOADING = threading.Lock()


def load(model: Model) -> Function:
    """Load a model's function, once in a process.

    Raises:
        InputError: there is no such file, module or function, it cannot be loaded, or asks for other arguments.
    """
    reference = str(model.options["function"])
    module, _, name = reference.rpartition(":")
    path = Path(module).expanduser().resolve() if module.endswith(".py") else None
    with _LOADING:
        key = f"{path or module}:{name}"
        if key not in _LOADED:
            _LOADED[key] = _load(f"model {model.name!r}: {reference}", module, path, name)
        return _LOADED[key]


def _load(where: str, module: str, path: Path | None, name: str) -> Function:
    if path is not None and not path.is_file():
        raise InputError(f"{where}: there is no file {path}; expected a Python file and a function in it.")
    try:
        found: Any = _from_file(path) if path else importlib.import_module(module)
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and not path and module.startswith(f"{error.name}"):
            raise InputError(f"{where}: there is no module {error.name!r}; install it, or name a file.") from None
        raise InputError(f"{where}: cannot be loaded ({_line(error, str(path or ''))}). Mend it first.") from error
    source = Path(getattr(found, "__file__", None) or "")
    for step in name.split("."):
        if not hasattr(found, step):
            raise InputError(f"{where}: {source.name or module} has no {step!r}; expected a function of that name.")
        found = getattr(found, step)
    if not callable(found):
        raise InputError(f"{where}: found a {type(found).__name__}, expected a function.")
    takes, by_position = _takes(where, found)
    content = source.read_bytes() if source.is_file() else b""
    return Function(found, takes, by_position, hashlib.sha256(content).hexdigest(), str(source))


def _from_file(path: Path) -> ModuleType:
    """Import a file under a name of its own; its folder's other files can be imported by it."""
    name = f"basic_control_app_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _takes(where: str, function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """Return the names that a function is called with, and whether the prompt goes first, without a name."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # one that is not written in Python
        return frozenset(), True
    loose = {one.kind for one in signature.parameters.values()}
    named = [one for one in signature.parameters.values() if one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}]
    first = named[0] if named else None
    by_position = inspect.Parameter.VAR_POSITIONAL in loose or (
        first is not None and first.kind != first.KEYWORD_ONLY and first.name not in OFFERED
    )
    offered = OFFERED if by_position else ("prompt", *OFFERED)
    every = inspect.Parameter.VAR_KEYWORD in loose
    keywords = {one.name for one in named if one.kind != one.POSITIONAL_ONLY}
    takes = frozenset(name for name in offered if every or name in keywords)
    try:
        if not (by_position or takes):
            raise TypeError("it takes nothing")  # noqa: TRY301 - the same advice as for too much
        signature.bind(*([""] if by_position else []), **dict.fromkeys(takes))
    except TypeError:
        raise InputError(
            f"{where}: it takes {signature}; expected the prompt first, and beside it only {', '.join(OFFERED)}."
        ) from None
    return takes, by_position


def _line(error: BaseException, source: str) -> str:
    """Return an exception's type and message in one line, and where in the user's file it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a class of the user's
        said = ""
    told = Secrets().clean(f"{type(error).__name__}: {said}" if said else type(error).__name__)
    return f"{told} ({Path(source).name}, line {frames[-1].lineno})" if frames else told


class PythonClient:
    """A function that is called with the prompt: in a thread, or on the loop where it is a coroutine.

    A thread cannot be stopped: one that passes its deadline goes on until the function returns, unheard.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._reference = str(model.options["function"])
        self._function: Function | None = None

    async def identity(self) -> Mapping[str, str]:
        """Return the function's reference and the SHA-256 of its source file.

        Raises:
            InputError: it cannot be loaded.
        """
        function = await self._loaded()
        identity = {"provider": "python", "model": self._model.served, "function": self._reference}
        version = str(self._model.options["version"])
        return {**identity, "digest": function.digest, **({"version": version} if version else {})}

    async def ask(self, call: Call) -> Reply:
        """Call the function once.

        Raises:
            CallError: it raised, or returned something else than a text or a mapping.
        """
        function = await self._loaded()
        try:
            answer = await _called(function, call)
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            raise self._failed(error, function) from None
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises ends this call alone
            raise self._failed(error, function) from None
        if isinstance(answer, str):
            answer = {"text": answer}
        if not isinstance(answer, Mapping):
            raise CallError(
                "invalid",
                f"{self._reference} returned a {type(answer).__name__}, expected a text or a mapping with text",
            )
        if unknown := [str(key)[:40] for key in answer if key not in FIELDS]:
            raise CallError(
                "invalid", f"{self._reference} returned the key {unknown[0]!r}; expected only {', '.join(FIELDS)}"
            )
        return read_answer(answer, {name: f"{self._reference} returned {name}" for name in FIELDS})

    async def close(self) -> None:
        """Let go of nothing: the function stays loaded."""

    async def _loaded(self) -> Function:
        if self._function is None:
            self._function = await in_thread(partial(load, self._model), "python")
        return self._function

    def _failed(self, error: BaseException, function: Function) -> CallError:
        cause = error.__cause__ if isinstance(error, _Raised) and error.__cause__ else error
        return CallError("invalid", f"{self._reference} raised {_line(cause, function.source)}")


class _Raised(Exception):  # noqa: N818 - carries what a function raised, which may end more than its call
    """What a function raised."""


async def _called(function: Function, call: Call) -> Any:
    prompt = next((m.content for m in reversed(call.messages) if m.role == "user"), "")
    offered = {
        "prompt": prompt,
        "system": "\n\n".join(m.content for m in call.messages if m.role == "system"),
        "messages": [{"role": m.role, "content": m.content} for m in call.messages],
        "parameters": dict(call.parameters),
        "item": dict(call.item),
    }
    named = {name: offered[name] for name in function.takes}
    act = partial(function.call, *([prompt] if function.by_position else []), **named)
    if not inspect.iscoroutinefunction(function.call):
        answer = await in_thread(partial(_guarded, act), "python")
        if not inspect.isawaitable(answer):
            return answer
        act = partial(_itself, answer)
    try:
        return await act()
    except (SystemExit, KeyboardInterrupt, StopAsyncIteration) as error:
        raise _Raised from error


def _itself(answer: Any) -> Any:
    return answer


def _guarded(act: Callable[[], Any]) -> Any:
    """Act; what would end more than the call (SystemExit, StopIteration) is handed on as an ordinary exception."""
    try:
        return act()
    except BaseException as error:
        raise _Raised from error
