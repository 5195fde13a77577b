"""Run an evaluation from the command line: Prefect and its server first, which take seconds, and signals heeded.

Prefect is imported only here, after arguments and configuration have been found good.
"""

import gc
import importlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from data.exits import Exit
from flows.cli.console import complain, say
from flows.cli.progress import progress
from tasks.runtime.logs import structured

if TYPE_CHECKING:
    from config.settings import Rerun, Settings
    from flows.runs import Outcome

T = TypeVar("T")
STOPPING = (signal.SIGINT, signal.SIGTERM)
AHEAD = ("prefect.flow_engine", "prefect.task_engine", "fastapi.encoders", "scipy.special")
"""What Prefect and the statistics import when a run comes to them: half a second."""


def evaluate(settings: "Settings", again: "Rerun", *, only_failed: bool) -> "Outcome":
    """Run the evaluation and return what it came to; `only_failed` brings an earlier run's answers back first.

    Raises:
        InputError: it would come to nothing, which is told before Prefect is there; or as the flow itself.
    """

    def imported() -> "Callable[[], Outcome]":
        from flows.full_eval import full_eval

        def work() -> "Outcome":
            if only_failed:
                from flows.earlier import settings_of
                from flows.runs import restore

                restore(settings, settings_of(settings.store.runs, again.of)[1])
            # Checked already; and Prefect would take a JSON schema's `$ref` for a reference to a block of its own.
            return full_eval.with_options(validate_parameters=False)(settings, again)

        return work

    return serve(settings, imported)


def serve(settings: "Settings", imported: Callable[[], Callable[[], T]]) -> T:
    """Run a flow beside a Prefect server, its progress shown; `imported` imports it and returns its start.

    Raises:
        InputError: as `evaluate`.
    """
    from flows.environment import database_of, prepare, results_of
    from flows.preflight import check

    check(settings)
    prepare(results_of(settings))
    with ExitStack() as stack:
        shown = None if structured() else stack.enter_context(progress())
        # Importing Prefect makes hundreds of thousands of objects that stay: nothing to collect among them.
        gc.disable()
        server = None
        from flows import ephemeral

        if ephemeral.wanted():
            say("Starting a temporary Prefect server (set PREFECT_API_URL to use a running one) …")
            server = stack.enter_context(ephemeral.serving(database_of(settings), say, _end))
        work = imported()
        from tasks.query import watch

        _interruptible()
        if server:
            _import_ahead(settings)
        gc.freeze()
        gc.enable()
        if server:
            server.wait()
        if shown:
            watch(shown.note)
        return work()


def _import_ahead(settings: "Settings") -> None:
    """Import what the run will import anyway, while it can only wait for its server to come up.

    What cannot be imported is told by what needs it.
    """
    asked = {entry.unit.slow for entry in (*settings.models, *settings.judges)} - {""}
    for name in (*AHEAD, *sorted(asked)):
        with suppress(ImportError):
            importlib.import_module(name)


def _end(why: str) -> None:
    """End the run at once, from whatever thread: without a Prefect server it would wait for minutes."""
    from rich.console import Console

    complain(f"{why} Everything answered so far is kept; run the same command again to go on.")
    Console(stderr=True).show_cursor()  # which the progress display hides
    sys.stdout.flush()
    os._exit(Exit.ERROR)


def _interruptible() -> None:
    """Have Ctrl-C and a polite kill stop the asking first, from whatever thread waits for it."""
    from tasks.models.scheduler import stop

    def interrupt(_signal: int, _frame: Any) -> None:
        stop()
        raise KeyboardInterrupt

    for each in STOPPING:
        signal.signal(each, interrupt)
    # While a flow runs, Prefect's own handler stands in for ours at SIGTERM: it unwinds the flow, which waits for
    # the tasks, which would ask on. The wake-up tells of a signal whoever handles it.
    told, wakes = socket.socketpair()
    wakes.settimeout(0)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)

    def heed() -> None:
        with wakes:
            while heard := told.recv(1):
                if heard[0] in STOPPING:
                    stop()

    threading.Thread(target=heed, name="signals", daemon=True).start()
