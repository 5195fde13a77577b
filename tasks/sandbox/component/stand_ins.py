"""Stand-ins for what WASI lacks: threads, an event loop's wake-up pipe, `resource`, streams of one's own.

They serve honest programs only: a program shares this interpreter, and gains nothing by changing them.
"""

import _thread
import asyncio.selector_events
import atexit
import builtins
import concurrent.futures
import fileinput
import io
import os
import selectors
import stat
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

_STREAMS = {
    "/dev/stdin": 0,
    "/dev/fd/0": 0,
    "/proc/self/fd/0": 0,
    "/dev/stdout": 1,
    "/dev/fd/1": 1,
    "/dev/stderr": 2,
}
_OUTPUTS = (1, 2)
_real_open, _real_read, _real_write, _real_fstat = io.open, os.read, os.write, os.fstat


class _Stream(io.BytesIO):
    """A standard stream's bytes; closing one of the files over it leaves it open."""

    def __init__(self, number: int, content: bytes = b"") -> None:
        super().__init__(content)
        self.number = number

    def fileno(self) -> int:
        return self.number

    def close(self) -> None:
        pass


class _Streams:
    """The standard streams of one run of a program: input to read, output that is kept, errors that are dropped."""

    def __init__(self, text: str) -> None:
        content = text.encode("utf-8", "replace")
        self.by_number = {0: _Stream(0, content), 1: _Stream(1), 2: _Stream(2)}

    def open(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        """Open a file as `open` does, or one of the streams by its number or path."""
        number = _STREAMS.get(str(file), -1) if isinstance(file, str | os.PathLike) else file
        # True is no number of a file.
        stream = self.by_number.get(number) if type(number) is int else None
        if stream is None:
            return _real_open(file, mode, *args, **options)
        if "b" in mode:
            return stream
        return self.text(stream)

    def text(self, stream: _Stream) -> io.TextIOWrapper:
        """Return a text file over a stream, whose lines are written at once."""
        newline, mode = ("\n", "w") if stream.number else (None, "r")
        file: Any = io.TextIOWrapper(stream, "utf-8", "replace", newline, write_through=True)
        file.mode = mode
        return file

    def divert(self, act: Callable[..., Any], act_elsewhere: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a file's number that acts on a stream, and elsewhere on any other file."""

        def choose(number: int, *args: Any) -> Any:
            stream = self.by_number.get(number)
            if stream is None:
                return act_elsewhere(number, *args)
            return act(stream, *args)

        return choose


def _find_status(stream: _Stream) -> os.stat_result:
    """Return what reads of a whole input look at: its size."""
    return os.stat_result((stat.S_IFREG | 0o600, 0, 0, 1, 0, 0, len(stream.getvalue()), 0, 0, 0))


def run_whole(source: str, text: str) -> str:
    """Run a program as `python FILE` would, with a text as its standard input; return what it wrote to its output.

    Raises:
        BaseException: what the program raised, but a `SystemExit` of success.
    """
    module = sys.modules["__main__"] = ModuleType("__main__")
    streams = _Streams(text)
    files = {name: streams.text(streams.by_number[k]) for k, name in enumerate(("stdin", "stdout", "stderr"))}
    for name, file in files.items():
        _replace(sys, {name: file, f"__{name}__": file})
    _replace(fileinput, {"_state": None})
    _replace(builtins, {"open": streams.open})
    _replace(io, {"open": streams.open})
    _replace(os, {"fdopen": streams.open, "read": streams.divert(_Stream.read, _real_read)})
    _replace(os, {"write": streams.divert(_Stream.write, _real_write)})
    _replace(os, {"fstat": streams.divert(_find_status, _real_fstat)})
    try:
        exec(compile(source, "<program>", "exec", dont_inherit=True), vars(module))  # noqa: S102 - what it is for
    except SystemExit as ended:
        if ended.code not in {None, 0}:
            raise
    atexit._run_exitfuncs()
    # The program may have put a buffer of its own there.
    sys.stdout.flush()
    return streams.by_number[1].getvalue().decode("utf-8", "replace")


class _Waits(selectors._BaseSelectorImpl):
    """A selector without files: it waits for the next timer."""

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout:
            time.sleep(timeout)
        return []


def _start(thread: Any) -> None:
    """Run a thread's target at once, in place."""
    if thread._started.is_set():
        raise RuntimeError("threads can only be started once")
    thread._started.set()
    try:
        thread.run()
    except SystemExit:
        pass
    except BaseException as error:  # noqa: BLE001 - it ends the thread alone, as anywhere
        sys.stderr.write(f"{type(error).__name__}: {error}\n")


def _start_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] = {}) -> int:
    threading.Thread(target=function, args=args, kwargs=kwargs).start()
    return 1


def _submit(
    _executor: concurrent.futures.Executor, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> concurrent.futures.Future[Any]:
    """Run a task at once, in place."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    try:
        future.set_result(function(*args, **kwargs))
    except Exception as error:  # noqa: BLE001 - the future has it
        future.set_exception(error)
    return future


def _make_resource() -> ModuleType:
    """Return a module `resource` whose limits can be asked and set, without an effect."""
    module = ModuleType("resource")
    names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_NOFILE", "RLIMIT_STACK")
    vars(module).update({name: number for number, name in enumerate(names)}, RLIM_INFINITY=-1, RUSAGE_SELF=0)
    vars(module).update(
        getrlimit=lambda _limit: (-1, -1),
        setrlimit=lambda _limit, _limits: None,
        error=OSError,
        getpagesize=lambda: 65536,
    )
    return module


def _do_nothing(*_: Any, **__: Any) -> None:
    pass


def install() -> None:
    """Put the stand-ins into place, once, before any program."""
    loop = asyncio.selector_events.BaseSelectorEventLoop
    _replace(threading.Thread, {"start": _start, "join": _do_nothing, "is_alive": lambda _: False})
    _replace(threading, {"stack_size": lambda _size=0: 0})
    _replace(_thread, {"start_new_thread": _start_function, "start_new": _start_function})
    _replace(concurrent.futures.ThreadPoolExecutor, {"submit": _submit})
    _replace(loop, dict.fromkeys(("_make_self_pipe", "_close_self_pipe", "_write_to_self"), _do_nothing))
    _replace(selectors, {"DefaultSelector": _Waits})
    sys.modules["resource"] = _make_resource()


def _replace(owner: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(owner, name, value)
