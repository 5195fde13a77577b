"""How far a long query is: a progress artifact in Prefect's interface, and a line in the log now and then."""

import contextvars
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import FlowRunContext
from prefect.settings import get_current_settings

from data.characters import inert
from tasks.models.scheduler import BatchProgress
from tasks.runtime.logs import event

EVERY_S = 2.0
"""Between two updates: one costs 9 ms."""

DEPLOYED_S, WATCHED_S = 1.0, 10.0
"""When a query is long enough to be shown: in a deployed run, and at a terminal, where there is a bar."""

LOGGED_S = 10.0
"""Between two lines in the log."""

PATIENCE_S = 5.0
"""How long an ended query waits for its last update: a server that is gone must not hold a run up."""


def deployed() -> bool:
    """Say of the flow that runs here whether it is a deployment's or served; a flow inside another never is."""
    context = FlowRunContext.get()
    return bool(context and context.flow_run and context.flow_run.deployment_id)


def has_pages() -> bool:
    """Say whether Prefect has pages to show artifacts on: not where a run answers itself (`flows.ephemeral`)."""
    return bool(get_current_settings().server.ui.enabled)


def counts(tally: BatchProgress) -> dict[str, int]:
    """Return a batch's progress, as a log has it."""
    names = ("total", "cached", "answered", "failed", "submitted", "elsewhere", "tokens_in", "tokens_out")
    told = {name: getattr(tally, name) for name in names}
    return {name: n for name, n in told.items() if n or name not in {"submitted", "elsewhere"}}


class _Display:
    """One query, seen from a thread of its own: the asking loop never waits for Prefect's server."""

    def __init__(self, label: str, run: str, first_s: float) -> None:
        self.label, self.run, self.first_s = label, run, first_s
        self.shown = has_pages()
        self.tally: BatchProgress | None = None
        self.over = threading.Event()
        self.artifact: UUID | None = None

    def watch(self) -> None:
        """Show the tally until the query is over."""
        logged = started = time.monotonic()
        pause = min(self.first_s, EVERY_S)
        while not self.over.wait(pause):
            pause = EVERY_S
            now = time.monotonic()
            if now - started >= self.first_s:
                self.show()
            if now - logged >= LOGGED_S and self.tally:
                logged = now
                event("progress", run=self.run, stage="query", label=self.label, **counts(self.tally))
        if self.artifact:
            self.show()

    def show(self) -> None:
        """Create or update the artifact; what goes wrong is said once and does not hold the query up."""
        if not self.shown or self.tally is None:
            return
        tally = self.tally
        percent = 100.0 * tally.done / tally.total if tally.total else 100.0
        waits = f", waiting for {tally.elsewhere} ({inert(', '.join(tally.holders))})" if tally.elsewhere else ""
        said = (
            f"{inert(self.label)}: {tally.done} of {tally.total} ({tally.cached} from the cache, "
            f"{tally.failed} failed, {tally.tokens_in + tally.tokens_out} tokens{waits})"
        )
        try:
            if self.artifact is None:
                key = "-".join(("query", *re.findall(r"[a-z0-9]+", self.label.lower())))
                made = create_progress_artifact(percent, key=key, description=said)
                # Prefect's functions are coroutines only where an event loop runs; here none does.
                self.artifact = made if isinstance(made, UUID) else None
            else:
                update_progress_artifact(self.artifact, percent, description=said)
        except Exception as error:  # noqa: BLE001 - whatever the server's trouble is, it is not the evaluation's
            self.shown, kind = False, type(error).__name__
            event("progress_not_shown", level=logging.WARNING, run=self.run, label=self.label, error=kind)


@contextmanager
def showing(label: str, run: str, *, deployed: bool) -> Iterator[Callable[[BatchProgress], None]]:
    """Show a query while it lasts; yield what is to be called with its tally, from any thread."""
    display = _Display(label, run, DEPLOYED_S if deployed else WATCHED_S)
    # The thread has the run's context, by which Prefect knows whose artifact it is.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(display.watch,), daemon=True)
    thread.start()
    try:
        yield partial(setattr, display, "tally")
    finally:
        display.over.set()
        thread.join(PATIENCE_S)
