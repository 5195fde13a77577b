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

    Target = tuple[Callable[..., Any], frozenset[str], bool]
    """A function, the names that it takes, and whether the prompt goes first, without a name."""

OFFERED = ("system", "messages", "tools", "parameters", "item")
"""Arguments a function gets besides the prompt if it has parameters of these names."""
THREADS = 4096
"""Functions that run in parallel: as many as calls may be in flight."""
_REMAINDERS = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


class NotCallable(Exception):  # noqa: N818 - said of the application
    """The application cannot be called; the text says why."""


class Channel:
    """The lines to and from the parent process, on descriptors that the application does not have."""

    def __init__(self) -> None:
        # What the application itself reads is empty, and what it prints goes to standard error.
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


def find_module(module: str, folder: str, ours: str) -> Any:
    """Import the application with its own folder first on the path, and ours not on it.

    Raises:
        NotCallable: there is no such module.
    """
    foreign_paths = [path for path in sys.path if path and os.path.realpath(path) != os.path.realpath(ours)]
    sys.path[:] = [folder, *(path for path in foreign_paths if path != folder)]
    if not module.endswith(".py"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if module == missing or module.startswith(missing + "."):
                raise NotCallable(f"there is no module {missing!r}; install it, or name a file.") from None
            raise
    name = Path(module).stem
    # A standard module that this file needs keeps its name.
    if name in sys.modules:
        name = "application_" + name
    spec = importlib.util.spec_from_file_location(name, module)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    application = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(application)
    return application


def find_function(module: Any, name: str) -> Target:
    """Return the function of that name in a module, and how it is called.

    Raises:
        NotCallable: it does not exist, or requires other arguments.
    """
    source = Path(getattr(module, "__file__", None) or "").name
    value = module
    for step in name.split("."):
        if not hasattr(value, step):
            where = source or module.__name__
            raise NotCallable(f"{where} has no {step!r}; expected a function of that name.")
        value = getattr(value, step)
    if not callable(value):
        raise NotCallable(f"found a {type(value).__name__}, expected a function.")
    return (value, *inspect_arguments(value))


def inspect_arguments(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """Return the names that a function takes, and whether the prompt goes first, without a name.

    Raises:
        NotCallable: it requires other arguments.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # It is not written in Python.
        return frozenset(), True
    parameters = list(signature.parameters.values())
    kinds = {parameter.kind for parameter in parameters}
    # Without `*args` and `**kwargs`.
    proper = [parameter for parameter in parameters if parameter.kind not in _REMAINDERS]
    # The first parameter gets the prompt, whatever it is called, unless its name says that it wants something else.
    by_position = inspect.Parameter.VAR_POSITIONAL in kinds
    if proper and proper[0].kind != inspect.Parameter.KEYWORD_ONLY and proper[0].name not in OFFERED:
        by_position = True
    offered = set(OFFERED)
    if not by_position:
        offered.add("prompt")
    keywords = {parameter.name for parameter in proper if parameter.kind != parameter.POSITIONAL_ONLY}
    takes = frozenset(offered)
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        takes &= keywords
    try:
        if not (by_position or takes):
            raise TypeError("it takes nothing")  # noqa: TRY301 - the same advice as for too much
        positional = [""] if by_position else []
        signature.bind(*positional, **dict.fromkeys(takes))
    except TypeError:
        raise NotCallable(
            f"it takes {signature}; expected the prompt first, then only {', '.join(OFFERED)}."
        ) from None
    return takes, by_position


def describe_exception(error: BaseException, source: str) -> dict[str, str]:
    """Return an exception's type and message, and the line of the user's file that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
    text = type(error).__name__
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - a class of the user's
        message = ""
    if message:
        text = f"{text}: {message}"
    at = f" ({Path(source).name}, line {frames[-1].lineno})" if frames else ""
    return {"raised": text, "at": at}


def write_answer(value: Any) -> dict[str, Any]:
    """Return a function's answer as message fields: a mapping as JSON, or what it is instead."""
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, Mapping):
        return {"returned": type(value).__name__}
    try:
        return {"answer": json.dumps({str(key): entry for key, entry in value.items()})}
    except (TypeError, ValueError, RecursionError) as error:
        return {"returned": f"a mapping that is no JSON ({error})"}


def read_file(file: str) -> bytes:
    """Return a file's content; nothing if there is no such file."""
    if not Path(file).is_file():
        return b""
    return Path(file).read_bytes()


class LoadedApplication:
    """A loaded module whose functions are called: in threads, or on the loop where they are coroutines."""

    def __init__(self, module: Any, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        self.module = module
        self.source = getattr(module, "__file__", None) or ""
        self.content = read_file(self.source)
        self.channel = channel
        self.loop = loop
        self.functions: dict[str, Target] = {}
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
            target = self.function(message["function"])
            if "offered" not in message:
                fields = {"takes": sorted(target[1]), "digest": self.digest(target[0])}
            else:
                value, error = await self.call(target, message["offered"])
                fields = write_answer(value) if error is None else describe_exception(error, self.source)
        except NotCallable as error:
            fields = {"refused": str(error)}
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like would end every other call
            # A cancelled call, for which nobody waits.
            if number not in self.tasks:
                return
            fields = describe_exception(error, self.source)
        self.channel.send(id=number, **fields)

    def digest(self, function: Callable[..., Any]) -> str:
        """Hash the module's file, and the function's own, from which the module may have imported it."""
        content = self.content
        # An object that is called has its code in its class.
        for candidate in (inspect.unwrap(function), type(function).__call__):
            code = getattr(candidate, "__code__", None)
            if code:
                if code.co_filename != self.source:
                    content += read_file(code.co_filename)
                break
        return hashlib.sha256(content).hexdigest()

    def function(self, name: str) -> Target:
        """Return a function by its name in the module, looked up once."""
        if name not in self.functions:
            self.functions[name] = find_function(self.module, name)
        return self.functions[name]

    async def call(self, target: Target, offered: Mapping[str, Any]) -> tuple[Any, BaseException | None]:
        """Call a function with the arguments it accepts; return its answer, or the exception it raised."""
        function, takes, by_position = target
        positional = [offered["prompt"]] if by_position else []
        keywords = {name: offered[name] for name in takes}
        if inspect.iscoroutinefunction(function):
            return await function(*positional, **keywords), None

        def run() -> tuple[Any, BaseException | None]:
            try:
                return function(*positional, **keywords), None
            except BaseException as error:  # noqa: BLE001 - handed on, whatever it is
                return None, error

        result, error = await self.loop.run_in_executor(self.threads, run)
        if inspect.isawaitable(result):
            result = await result
        return result, error


def listen(channel: Channel, loop: asyncio.AbstractEventLoop, applications: list[LoadedApplication]) -> None:
    """Dispatch every message; end the process when the input closes, whatever the application is doing."""
    for line in channel.lines:
        loop.call_soon_threadsafe(applications[0].take, json.loads(line))
    os._exit(0)


def main(module: str, folder: str, ours: str) -> None:
    """Import the application, report that, and answer until the input closes."""
    channel, loop = Channel(), asyncio.new_event_loop()
    applications: list[LoadedApplication] = []
    asyncio.set_event_loop(loop)
    sys.argv[:] = [module]
    threading.Thread(target=listen, args=(channel, loop, applications), daemon=True).start()
    try:
        applications.append(LoadedApplication(find_module(module, folder, ours), channel, loop))
    except NotCallable as error:
        channel.send(id=0, refused=str(error))
    except BaseException as error:  # noqa: BLE001 - whatever an import may raise, it is told
        channel.send(id=0, **describe_exception(error, module))
    else:
        channel.send(id=0)
        loop.run_forever()


if __name__ == "basic_control_application":
    main(*sys.argv[2:])
