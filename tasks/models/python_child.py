"""The program that runs in a user's application process. Python's standard library only, from 3.8 on.

`tasks.models.python` starts it with a module or a file, the folder it is imported from, which goes first on the
path, and the folder of Basic Control's own modules, which must not be on it. Questions arrive as JSON lines on
standard input, answers go as JSON lines to standard output; the application's own output goes to standard error,
and its input is empty. It ends when its standard input closes.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Found = tuple[Callable[..., Any], frozenset[str], bool]
    """A function, the names that it takes, and whether the prompt goes first, without a name."""

OFFERED = ("system", "messages", "tools", "parameters", "item")
"""Arguments a function gets besides the prompt if it has parameters of these names."""
THREADS = 4096
"""Functions that run in parallel: as many as calls may be in flight."""


class NotCallable(Exception):  # noqa: N818 - said of the application
    """The application cannot be called; the text says why."""


class Channel:
    """The lines to and from the parent process, on descriptors that the application does not have."""

    def __init__(self) -> None:
        self.lines = os.fdopen(os.dup(0), "rb")
        self._out = os.fdopen(os.dup(1), "wb")
        self._writing = threading.Lock()
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)

    def send(self, **message: Any) -> None:
        """Send a line; ignore that the parent may be gone."""
        line = json.dumps(message).encode("ascii") + b"\n"
        with self._writing:
            try:
                self._out.write(line)
                self._out.flush()
            except OSError:
                os._exit(0)


def find_module(module: str, place: str, ours: str) -> Any:
    """Import the application with its own folder first on the path, and ours not on it.

    Raises:
        NotCallable: there is no such module.
    """
    kept = [path for path in sys.path if path and os.path.realpath(path) != os.path.realpath(ours)]
    sys.path[:] = [place, *(path for path in kept if path != place)]
    if not module.endswith(".py"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if module == missing or module.startswith(missing + "."):
                raise NotCallable(f"there is no module {missing!r}; install it, or name a file.") from None
            raise
    name = Path(module).stem
    if name in sys.modules:  # a standard module that this file needs keeps its name
        name = "application_" + name
    spec = importlib.util.spec_from_file_location(name, module)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    loaded = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def function_of(module: Any, name: str) -> Found:
    """Return the function of that name in a module, and how it is called.

    Raises:
        NotCallable: it does not exist, or requires other arguments.
    """
    source = Path(getattr(module, "__file__", None) or "").name
    found = module
    for step in name.split("."):
        if not hasattr(found, step):
            where = source or module.__name__
            raise NotCallable(f"{where} has no {step!r}; expected a function of that name.")
        found = getattr(found, step)
    if not callable(found):
        raise NotCallable(f"found a {type(found).__name__}, expected a function.")
    return (found, *accepted(found))


def accepted(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """Return the names that a function takes, and whether the prompt goes first, without a name.

    Raises:
        NotCallable: it requires other arguments.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not written in Python
        return frozenset(), True
    every = list(signature.parameters.values())
    kinds = {one.kind for one in every}
    named = [one for one in every if one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}]
    first = named[0] if named else None
    by_position = inspect.Parameter.VAR_POSITIONAL in kinds or (
        first is not None and first.kind != first.KEYWORD_ONLY and first.name not in OFFERED
    )
    offered = OFFERED if by_position else ("prompt", *OFFERED)
    takes_all = inspect.Parameter.VAR_KEYWORD in kinds
    keywords = {one.name for one in named if one.kind != one.POSITIONAL_ONLY}
    takes = frozenset(name for name in offered if takes_all or name in keywords)
    try:
        if not (by_position or takes):
            raise TypeError("it takes nothing")  # noqa: TRY301 - the same advice as for too much
        signature.bind(*([""] if by_position else []), **dict.fromkeys(takes))
    except TypeError:
        raise NotCallable(
            f"it takes {signature}; expected the prompt first, then only {', '.join(OFFERED)}."
        ) from None
    return takes, by_position


def told_of(error: BaseException, source: str) -> dict[str, str]:
    """Return an exception's type and message, and the line of the user's file that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a class of the user's
        said = ""
    told = f"{type(error).__name__}: {said}" if said else type(error).__name__
    at = f" ({Path(source).name}, line {frames[-1].lineno})" if frames else ""
    return {"raised": told, "at": at}


def answer_of(value: Any) -> dict[str, Any]:
    """Return a function's answer as message fields: a mapping as JSON, or what it is instead."""
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, Mapping):
        return {"returned": type(value).__name__}
    try:
        return {"answer": json.dumps({str(key): entry for key, entry in value.items()})}
    except (TypeError, ValueError, RecursionError) as error:
        return {"returned": f"a mapping that is no JSON ({error})"}


def read(file: str) -> bytes:
    """Return a file's content; nothing if there is no such file."""
    return Path(file).read_bytes() if Path(file).is_file() else b""


class LoadedApplication:
    """A loaded module whose functions are called: in threads, or on the loop where they are coroutines."""

    def __init__(self, module: Any, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        self.module = module
        self.source = getattr(module, "__file__", None) or ""
        self.content = read(self.source)
        self.channel = channel
        self.loop = loop
        self.functions: dict[str, Found] = {}
        self.threads = ThreadPoolExecutor(THREADS)
        self.tasks: dict[int, asyncio.Task[None]] = {}

    def take(self, message: Mapping[str, Any]) -> None:
        """Start what a message asks for, or cancel what it names."""
        number = message["id"]
        if message.get("stop"):
            task = self.tasks.pop(number, None)
            if task is not None:
                task.cancel()
            return
        task = self.tasks[number] = self.loop.create_task(self.answer(message))
        task.add_done_callback(lambda _: self.tasks.pop(number, None))

    async def answer(self, message: Mapping[str, Any]) -> None:
        """Send a function's result or its parameters; an exception fails this call only."""
        number = message["id"]
        try:
            found = self.function(message["function"])
            if "offered" in message:
                value, raised = await self.called(found, message["offered"])
                said = answer_of(value) if raised is None else told_of(raised, self.source)
            else:
                said = {"takes": sorted(found[1]), "digest": self.digest(found[0])}
        except NotCallable as error:
            said = {"refused": str(error)}
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like would end every other call
            if number not in self.tasks:
                return  # it was cancelled, and nobody waits
            said = told_of(error, self.source)
        self.channel.send(id=number, **said)

    def digest(self, function: Callable[..., Any]) -> str:
        """Hash the module's file, and the function's own, from which the module may have imported it."""
        code = (getattr(one, "__code__", None) for one in (inspect.unwrap(function), type(function).__call__))
        own = next((one.co_filename for one in code if one), self.source)
        return hashlib.sha256(self.content + (read(own) if own != self.source else b"")).hexdigest()

    def function(self, name: str) -> Found:
        """Return a function by its name in the module, looked up once."""
        if name not in self.functions:
            self.functions[name] = function_of(self.module, name)
        return self.functions[name]

    async def called(self, found: Found, offered: Mapping[str, Any]) -> tuple[Any, BaseException | None]:
        """Call a function with the arguments it accepts; return its answer, or the exception it raised."""
        function, takes, by_position = found
        given = [offered["prompt"]] if by_position else []
        named = {name: offered[name] for name in takes}
        if inspect.iscoroutinefunction(function):
            return await function(*given, **named), None

        def run() -> tuple[Any, BaseException | None]:
            try:
                return function(*given, **named), None
            except BaseException as raised:  # noqa: BLE001 - handed on, whatever it is
                return None, raised

        result, error = await self.loop.run_in_executor(self.threads, run)
        return await result if inspect.isawaitable(result) else result, error


def listen(channel: Channel, loop: asyncio.AbstractEventLoop, applications: list[LoadedApplication]) -> None:
    """Dispatch every message; end the process when the input closes, whatever the application is doing."""
    for line in channel.lines:
        loop.call_soon_threadsafe(applications[0].take, json.loads(line))
    os._exit(0)


def main(module: str, place: str, ours: str) -> None:
    """Import the application, report that, and answer until the input closes."""
    channel, loop = Channel(), asyncio.new_event_loop()
    applications: list[LoadedApplication] = []
    asyncio.set_event_loop(loop)
    sys.argv[:] = [module]
    threading.Thread(target=listen, args=(channel, loop, applications), daemon=True).start()
    try:
        applications.append(LoadedApplication(find_module(module, place, ours), channel, loop))
    except NotCallable as error:
        channel.send(id=0, refused=str(error))
    except BaseException as error:  # noqa: BLE001 - whatever an import may raise, it is told
        channel.send(id=0, **told_of(error, module))
    else:
        channel.send(id=0)
        loop.run_forever()


if __name__ == "basic_control_application":
    main(*sys.argv[2:])
