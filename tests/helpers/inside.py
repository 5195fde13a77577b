"""A command of the project in this process: nothing of it outlasts it, as if a process of its own had ended."""

import contextlib
import functools
import gc
import io
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from basic_control import prompts
from basic_control.data import plugins

TOP = Path(__file__).parents[2]
OUTSIDE = ("PREFECT_", "PYTHON", "AWS_", "OTEL_", "BASIC_CONTROL_PLUGINS")
"""What a process reads as it starts, or once: who says it otherwise needs a process of its own."""


def fits(environment: Mapping[str, str], usual: Mapping[str, str]) -> bool:
    """Say whether a command can run here in that environment."""
    return not any(name.startswith(OUTSIDE) for name, _ in environment.items() ^ usual.items())


def call(words: Sequence[str], environment: Mapping[str, str], cwd: Path = TOP) -> tuple[int, str, str]:
    """Run `basic-control WORDS` in a folder; return its exit code and what it printed to stdout and stderr."""
    from basic_control.flows.cli.application import main

    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        _as_at_a_start(environment),
        _collecting(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        # What no handler is there for, Python itself prints; pytest's are there.
        handlers, logging.root.handlers = logging.root.handlers, []
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            logging.root.handlers = handlers
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _collecting() -> Iterator[None]:
    """Have a run leave no garbage: it has the collector look past what is there, since its process ends soon."""
    freeze = gc.freeze
    gc.freeze = lambda: None
    try:
        yield
    finally:
        gc.freeze = freeze
    _freeze_imports()


@functools.cache
def _freeze_imports() -> None:
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def _as_at_a_start(environment: Mapping[str, str]) -> Iterator[None]:
    """Have the environment for the block, and let go afterwards of all that a process's end would let go of."""
    before, found = dict(os.environ), list(sys.path)
    heeded = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    _become(environment)
    try:
        yield
    finally:
        folders = plugins.folders()
        _let_go()
        _become(before)
        sys.path[:] = found
        for each, handler in heeded.items():
            signal.signal(each, handler)
        if folders:
            _forget(folders)


def _become(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ |= environment
    if (console := sys.modules.get("basic_control.flows.cli.console")) is not None:
        console._console.cache_clear()


def _forget(folders: Sequence[Path]) -> None:
    """Forget plug-ins, what they imported from beside them, and their templates."""
    plugins.forget()
    for known in vars(prompts).values():
        if hasattr(known, "cache_clear"):
            known.cache_clear()
    for name, module in [*sys.modules.items()]:
        if (file := getattr(module, "__file__", None)) and any(Path(file).is_relative_to(one) for one in folders):
            del sys.modules[name]


def _let_go() -> None:
    if (query := sys.modules.get("basic_control.tasks.query")) is not None:
        query.close_clients()
        query._watchers.clear()
    if (storage := sys.modules.get("basic_control.tasks.runtime.storage")) is not None:
        storage.close()
    if (wakes := signal.set_wakeup_fd(-1)) >= 0:
        # Ends the thread that heeds a run's signals.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(wakes)) as end:
            end.shutdown(socket.SHUT_WR)
