"""A user's function in place of a model, in its own process, which is restarted if it has ended."""

import asyncio
import atexit
import contextlib
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import IO, Any

from basic_control.config.settings import Model
from basic_control.data.characters import make_visible
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.functions import read_message
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.replies import build_offer
from basic_control.tasks.models.server_errors import clean_error
from basic_control.tasks.models.threads import run_in_thread
from basic_control.tasks.runtime.logs import LOGGER, is_structured

OURS = Path(__file__).parents[2]
"""The folder of our own modules, which must not shadow the application's."""
NAME = "basic_control_application"
START = f"import sys; exec(compile(open(sys.argv[1], 'rb').read(), sys.argv[1], 'exec'), {{'__name__': '{NAME}'}})"
END_S = 2.0
"""How long a process may take to exit after its last call."""
LINE = 64 * 1024
"""Bytes of an application's output that are shown as one line."""

Message = Mapping[str, Any]


class ProcessEnded(Exception):  # noqa: N818 - said of a process, which may be started again
    """The application's process ended; the text says how."""


def _build_environment() -> dict[str, str]:
    """Return our environment, keys included, without the variables that put our modules on Python's path."""
    variables = dict(os.environ)
    paths = [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]
    foreign_paths = [path for path in paths if Path(path).resolve() != OURS.resolve()]
    if len(foreign_paths) < len(paths):
        variables["PYTHONPATH"] = os.pathsep.join(foreign_paths)
        variables.pop("PYTHONSAFEPATH", None)
    return variables


class Process:
    """A running application. Its output is shown on standard error; it ends with this process."""

    def __init__(self, interpreter: str, module: str, folder: str) -> None:
        child = Path(__file__).with_name("python_child.py")
        self._numbers = itertools.count(1)
        self.ended = ""
        self._lock = threading.Lock()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting: dict[int, Future[Message]] = {0: Future()}
        self.ready = self._waiting[0]
        self._popen = subprocess.Popen(  # noqa: S603 - the user's own interpreter, and their own code
            [interpreter, "-u", "-c", START, str(child), module, folder, str(OURS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_build_environment(),
            # Ctrl-C at the terminal is for the run: calls in flight may still end.
            start_new_session=True,
        )
        reader = self._begin(self._read, self._popen.stdout)
        self._begin(self._write, self._popen.stdin)
        self._begin(self._show, self._popen.stderr)
        self._begin(self._wait, reader)

    @staticmethod
    def _begin(act: Any, *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=act, args=arguments, name="application", daemon=True)
        thread.start()
        return thread

    def ask(self, **message: Any) -> "Future[Message]":
        """Send a message; return a future of its answer, which may fail with `ProcessEnded`, or be cancelled."""
        number, answer = next(self._numbers), Future[Message]()
        with self._lock:
            if self.ended:
                answer.set_exception(ProcessEnded(self.ended))
                return answer
            self._waiting[number] = answer
        self._lines.put(json.dumps({"id": number, **message}).encode() + b"\n")
        answer.add_done_callback(partial(self._stop, number))
        return answer

    def _stop(self, number: int, answer: "Future[Message]") -> None:
        """Cancel an abandoned call; a function that runs in a thread continues, and its result is ignored."""
        if answer.cancelled() and self._waiting.pop(number, None):
            self._lines.put(json.dumps({"id": number, "stop": True}).encode() + b"\n")

    def close(self) -> None:
        """End the process by closing its input, and if that is not enough, kill it."""
        self._lines.put(None)
        try:
            self._popen.wait(END_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()

    def _write(self, to: IO[bytes]) -> None:
        with contextlib.suppress(OSError), to:
            while line := self._lines.get():
                to.write(line)
                to.flush()

    def _read(self, lines: IO[bytes]) -> None:
        for line in lines:
            message = json.loads(line)
            answer = self._waiting.pop(message.pop("id"), None)
            if answer and answer.set_running_or_notify_cancel():
                answer.set_result(message)

    def _show(self, printed: IO[bytes]) -> None:
        while line := printed.readline(LINE):
            text = make_visible(line.decode("utf-8", "replace").rstrip("\r\n"))
            if is_structured():
                LOGGER.info("%s", text)
            else:
                # In one write, since others write too. Looked up each time, since progress bars replace stderr.
                sys.stderr.write(f"{text}\n")

    def _wait(self, reader: threading.Thread) -> None:
        code = self._popen.wait()
        # Forked processes may hold the other end open.
        reader.join(END_S)
        with self._lock:
            self.ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            answers = [self._waiting.pop(number) for number in list(self._waiting)]
        for answer in answers:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(ProcessEnded(self.ended))


class Application:
    """A configured application and its process, if there is one."""

    def __init__(self, interpreter: str, module: str, folder: str) -> None:
        self._command = (interpreter, module, folder)
        self._starting = threading.Lock()
        self._process: Process | None = None
        self._functions: dict[str, Message] = {}

    @property
    def live_process(self) -> Process | None:
        """The process, if it is running."""
        process = self._process
        if process and not process.ended and process.ready.done():
            return process
        return None

    def process(self, where: str) -> Process:
        """Return the application's process, starting it if necessary, which takes as long as its import.

        `where` is the owner's name in messages.

        Raises:
            InputError: it cannot be started, or the application cannot be loaded.
        """
        with self._starting:
            live_process = self.live_process
            if live_process:
                return live_process
            interpreter = self._command[0]
            try:
                process = self._process = Process(*self._command)
                message = process.ready.result()
            except OSError as error:
                raise InputError(f"{where}: {interpreter} cannot be started ({error.strerror}).") from error
            except ProcessEnded as error:
                raise InputError(
                    f"{where}: cannot be loaded (the process of {interpreter} ended {error}; expected Python "
                    "3.8 or later, and a module that does not exit). Fix it first."
                ) from error
            if "raised" in message:
                reason = clean_error(message["raised"]) + make_visible(message["at"])
                raise InputError(f"{where}: cannot be loaded ({reason}). Fix it first.")
            if "refused" in message:
                raise InputError(f"{where}: {message['refused']}")
            return process

    def function(self, name: str, where: str) -> Message:
        """Return a function's parameters and the digest of its file, cached. `where`: as for `process`.

        Raises:
            InputError: as `process`; or the function does not exist, or requires other arguments.
        """
        if name not in self._functions:
            try:
                message = self.process(where).ask(function=name).result()
            except ProcessEnded as error:
                raise InputError(f"{where}: its process ended {error}. Fix it first.") from error
            if "refused" in message:
                raise InputError(f"{where}: {message['refused']}")
            self._functions[name] = message
        return self._functions[name]

    def close(self) -> None:
        """End the application's process; the next call restarts it."""
        process, self._process = self._process, None
        if process:
            process.close()


_APPLICATIONS: dict[tuple[int, str, str, str], Application] = {}
_OPENING = threading.Lock()


def load(model: Model) -> tuple[Application, Message]:
    """Load a model's function; return its application, and its parameters with the digest of its file.

    All functions of a module share an application; a fork of this process has its own.

    Raises:
        InputError: the interpreter, file, module or function does not exist, it cannot be loaded, or requires other
            arguments.
    """
    where, python = _locate(model), str(model.options["python"])
    # A path, a name to be looked for on the search path, or nothing for our own.
    interpreter: str | None = sys.executable
    if os.sep in python:
        interpreter = shutil.which(str(Path(python).expanduser()))
    elif python:
        interpreter = shutil.which(python)
    if interpreter is None:
        raise InputError(
            f"{where}: there is no interpreter {python}; expected a Python such as ../venv/bin/python."
        )
    module, _, name = str(model.options["function"]).rpartition(":")
    folder = Path.cwd()
    if module.endswith(".py"):
        path = Path(module).expanduser().resolve()
        if not path.is_file():
            raise InputError(f"{where}: there is no file {path}; expected a Python file and a function in it.")
        module, folder = str(path), path.parent
    key = (os.getpid(), interpreter, module, str(folder))
    with _OPENING:
        if key not in _APPLICATIONS:
            _APPLICATIONS[key] = Application(*key[1:])
            atexit.register(_APPLICATIONS[key].close)
        application = _APPLICATIONS[key]
    return application, application.function(name, where)


def _locate(model: Model) -> str:
    """Return the name of a model's function for messages."""
    return f"model {model.name!r}: {model.options['function']}"


class PythonClient:
    """Calls a function with the prompt, in its own process: in a thread, or on a loop if it is async.

    A thread cannot be stopped: one that passes its deadline runs until the function returns, and is ignored.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._reference = str(model.options["function"])
        self._loaded: tuple[Application, Message] | None = None
        self._alone = asyncio.Lock()

    async def identity(self) -> Mapping[str, str]:
        """Return the function's reference and the SHA-256 of its source file.

        Raises:
            InputError: it cannot be loaded.
        """
        _, function = await self._load()
        identity = {"provider": "python", "model": self._model.server_name, "function": self._reference}
        identity["digest"] = function["digest"]
        for name in ("version", "python"):
            if self._model.options[name]:
                identity[name] = str(self._model.options[name])
        return identity

    async def ask(self, call: Call) -> Reply:
        """Call the function once.

        Raises:
            CallError: it raised, returned neither text nor a mapping, or ended its process.
        """
        application, _ = await self._load()
        # While a call is repeated alone, the others wait until it has ended.
        if self._alone.locked():
            async with self._alone:
                pass
        try:
            message = await self._answer(application, call)
        except ProcessEnded:
            # A concurrent call may have ended the process: retry once, alone.
            async with self._alone:
                try:
                    message = await self._answer(application, call)
                except ProcessEnded as error:
                    raise CallError("invalid", f"{self._reference} ended its process {error}") from None
        return read_message(message, self._reference)

    async def close(self) -> None:
        """End the function's process."""
        if self._loaded:
            await run_in_thread(self._loaded[0].close, "python")

    async def _load(self) -> tuple[Application, Message]:
        if self._loaded is None:
            self._loaded = await run_in_thread(partial(load, self._model), "python")
        return self._loaded

    async def _answer(self, application: Application, call: Call) -> Message:
        """Call the function in its process, starting one if necessary."""
        process = application.live_process
        if process is None:
            try:
                process = await run_in_thread(partial(application.process, _locate(self._model)), "python")
            except InputError as error:
                raise CallError("invalid", str(error)) from None
        answer = process.ask(function=self._reference.rpartition(":")[2], offered=build_offer(call))
        return await asyncio.wrap_future(answer)
