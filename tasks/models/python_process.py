"""The process of a user's application: started where it is first asked, and again after it ended."""

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
from pathlib import Path
from typing import IO, Any

from data.characters import visible
from data.errors import InputError
from tasks.models.python_child import STRANGE
from tasks.models.secrets import Secrets
from tasks.runtime.logs import LOGGER, structured

OURS = Path(__file__).parents[2]
"""The folder of our own modules, which an application must not find in place of its own."""
NAME = "basic_control_application"
START = f"import sys; exec(compile(open(sys.argv[1], 'rb').read(), sys.argv[1], 'exec'), {{'__name__': '{NAME}'}})"
END_S = 2.0
"""How long a process may take to end once there is nothing more to ask."""
LINE = 64 * 1024
"""Bytes of what an application prints that are shown as one line."""

Message = Mapping[str, Any]


class ProcessEnded(Exception):  # noqa: N818 - said of a process, which may be started again
    """The application's process ended; the text says how."""


def interpreter_of(given: str, where: str) -> str:
    """Return the interpreter that a configuration names; our own unless it does.

    Raises:
        InputError: there is none.
    """
    if not given:
        return sys.executable
    found = shutil.which(str(Path(given).expanduser()) if os.sep in given else given)
    if found is None:
        raise InputError(f"{where}: there is no interpreter {given}; expected a Python such as ../venv/bin/python.")
    return found


def environment() -> dict[str, str]:
    """Return our environment, keys included, without what has a Python process find our own modules."""
    known = dict(os.environ)
    listed = known.get("PYTHONPATH", "").split(os.pathsep)
    others = [path for path in listed if path and Path(path).resolve() != OURS.resolve()]
    if len(others) < len([*filter(None, listed)]):
        known["PYTHONPATH"] = os.pathsep.join(others)
        known.pop("PYTHONSAFEPATH", None)
    return known


def said_of(message: Message) -> str:
    """Return what an application raised, in one line."""
    return f"{Secrets().clean(message['raised'])}{visible(message['at'])}"


def _strange(found: dict[str, Any]) -> Any:
    """Return in place of what JSON cannot hold an object of a class of the same name."""
    return type(found[STRANGE], (), {})() if STRANGE in found else found


class Process:
    """A running application. What it prints is shown on standard error; it ends with this process."""

    def __init__(self, interpreter: str, module: str, place: str) -> None:
        child = Path(__file__).with_name("python_child.py")
        self._numbers = itertools.count(1)
        self._ended = ""
        self._lock = threading.Lock()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting: dict[int, Future[Message]] = {0: Future()}
        self.ready = self._waiting[0]
        self._popen = subprocess.Popen(  # noqa: S603 - the user's own interpreter, and their own code
            [interpreter, "-u", "-c", START, str(child), module, place, str(OURS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            # The terminal's Ctrl-C is the run's: calls on their way may still end.
            start_new_session=True,
        )
        reader = self._begin(self._read, self._popen.stdout)
        self._begin(self._write, self._popen.stdin)
        self._begin(self._show, self._popen.stderr)
        self._begin(self._wait, reader)

    @staticmethod
    def _begin(act: Any, *given: Any) -> threading.Thread:
        thread = threading.Thread(target=act, args=given, name="application", daemon=True)
        thread.start()
        return thread

    @property
    def alive(self) -> bool:
        """Say whether it can be asked."""
        return not self._ended

    def ask(self, **message: Any) -> tuple[int, "Future[Message]"]:
        """Send a message; return its number, and what will be its answer or `ProcessEnded`."""
        number, answer = next(self._numbers), Future[Message]()
        with self._lock:
            if self._ended:
                answer.set_exception(ProcessEnded(self._ended))
                return number, answer
            self._waiting[number] = answer
        self._lines.put(json.dumps({"id": number, **message}).encode() + b"\n")
        return number, answer

    def stop(self, number: int) -> None:
        """Have a question be given up; a function that runs in a thread goes on, unheard."""
        if self._waiting.pop(number, None):
            self._lines.put(json.dumps({"id": number, "stop": True}).encode() + b"\n")

    def close(self) -> None:
        """End it: by closing what it reads, and if that is not enough, at once."""
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
            message = json.loads(line, object_hook=_strange)
            answer = self._waiting.pop(message.pop("id"), None)
            if answer and answer.set_running_or_notify_cancel():
                answer.set_result(message)

    def _show(self, printed: IO[bytes]) -> None:
        while line := printed.readline(LINE):
            text = visible(line.decode("utf-8", "replace").rstrip("\r\n"))
            if structured():
                LOGGER.info("%s", text)
            else:
                # In one piece: others write in between. Looked up each time: a run's bars take the place of stderr.
                sys.stderr.write(f"{text}\n")

    def _wait(self, reader: threading.Thread) -> None:
        code = self._popen.wait()
        reader.join(END_S)  # processes that it forked may hold the other end open
        with self._lock:
            self._ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            left = [self._waiting.pop(number) for number in list(self._waiting)]
        for answer in left:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(ProcessEnded(self._ended))


class Application:
    """An application as it is configured, and its process, where there is one."""

    def __init__(self, interpreter: str, module: str, place: str) -> None:
        self._started = (interpreter, module, place)
        self._starting = threading.Lock()
        self._process: Process | None = None
        self._functions: dict[str, Message] = {}

    @property
    def running(self) -> Process | None:
        """The process that can be asked at once, if there is one."""
        process = self._process
        return process if process and process.alive and process.ready.done() else None

    def process(self, where: str) -> Process:
        """Return the application's process, started if it is not there; that takes as long as its import.

        `where`, in messages, says whose it is.

        Raises:
            InputError: it cannot be started, or the application cannot be loaded.
        """
        with self._starting:
            if running := self.running:
                return running
            interpreter = self._started[0]
            try:
                process = self._process = Process(*self._started)
            except OSError as error:
                raise InputError(f"{where}: {interpreter} cannot be started ({error.strerror}).") from error
            try:
                said = process.ready.result()
            except ProcessEnded as error:
                raise InputError(
                    f"{where}: cannot be loaded (the process of {interpreter} ended {error}; expected a Python "
                    "from 3.8 on, and a module that does not end it). Fix it first."
                ) from error
            if "raised" in said:
                raise InputError(f"{where}: cannot be loaded ({said_of(said)}). Fix it first.")
            if "refused" in said:
                raise InputError(f"{where}: {said['refused']}")
            return process

    def function(self, name: str, where: str) -> Message:
        """Return what a function takes, and the digest of its file; asked once. `where`: as `process`.

        Raises:
            InputError: as `process`; or there is no such function, or it asks for other arguments.
        """
        if name not in self._functions:
            try:
                found = self.process(where).ask(function=name)[1].result()
            except ProcessEnded as error:
                raise InputError(f"{where}: its process ended {error}. Fix it first.") from error
            if "refused" in found:
                raise InputError(f"{where}: {found['refused']}")
            self._functions[name] = found
        return self._functions[name]

    def close(self) -> None:
        """End the application's process; it is started again where it is asked again."""
        process, self._process = self._process, None
        if process:
            process.close()


_APPLICATIONS: dict[tuple[int, str, str, str], Application] = {}
_OPENING = threading.Lock()


def application(interpreter: str, module: str, place: str) -> Application:
    """Return the application of a module, one for all its functions; a fork of this process has its own."""
    key = (os.getpid(), interpreter, module, place)
    with _OPENING:
        if key not in _APPLICATIONS:
            _APPLICATIONS[key] = opened = Application(interpreter, module, place)
            atexit.register(opened.close)
        return _APPLICATIONS[key]
