"""Progress of a long query: a progress artifact in Prefect's UI, and an occasional log line."""

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

from basic_control.data.characters import make_inert
from basic_control.tasks.models.scheduler import BatchProgress
from basic_control.tasks.runtime.logs import log_event

EVERY_S = 2.0
"""Interval between two updates, each of which takes 9 ms."""

DEPLOYED_S, WATCHED_S = 1.0, 10.0
"""Minimum duration of a query that is shown: in a deployed run, and at a terminal, which has a progress bar."""

LOGGED_S = 10.0
"""Interval between two log lines."""

PATIENCE_S = 5.0
"""How long a finished query waits for its last update: an unreachable server must not delay a run."""


def is_deployed() -> bool:
    """Return whether the running flow is deployed or served; a subflow never is."""
    context = FlowRunContext.get()
    return bool(context and context.flow_run and context.flow_run.deployment_id)


def has_pages() -> bool:
    """Return whether Prefect has a UI for artifacts: not with an ephemeral server (`flows.ephemeral`)."""
    return bool(get_current_settings().server.ui.enabled)


def count_calls(tally: BatchProgress) -> dict[str, int]:
    """Return a batch's progress as log fields."""
    names = ("total", "cached", "answered", "failed", "submitted", "elsewhere", "tokens_in", "tokens_out")
    fields = {name: getattr(tally, name) for name in names}
    # Nothing is pending in many a run, and then these say nothing.
    for name in ("submitted", "elsewhere"):
        if not fields[name]:
            del fields[name]
    return fields


class _Display:
    """The display of one query, in its own thread: the asking loop never waits for Prefect's server."""

    def __init__(self, label: str, run: str, first_s: float) -> None:
        self.label, self.run, self.first_s = label, run, first_s
        self.is_shown = has_pages()
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
                log_event("progress", run=self.run, stage="query", label=self.label, **count_calls(self.tally))
        if self.artifact:
            self.show()

    def show(self) -> None:
        """Create or update the artifact; a failure is logged once and does not delay the query."""
        if not self.is_shown or self.tally is None:
            return
        tally = self.tally
        percent = 100.0
        if tally.total:
            percent = 100.0 * tally.done / tally.total
        details = f"{tally.failed} failed, {tally.tokens_in + tally.tokens_out} tokens"
        if tally.elsewhere:
            details += f", waiting for {tally.elsewhere} ({make_inert(', '.join(tally.holders))})"
        count, cause = tally.trouble.main_cause
        if count:
            details += f", {count} tries failing: {make_inert(cause)}"
        description = (
            f"{make_inert(self.label)}: {tally.done} of {tally.total} ({tally.cached} already answered, {details})"
        )
        try:
            if self.artifact is None:
                key = "-".join(("query", *re.findall(r"[a-z0-9]+", self.label.lower())))
                artifact = create_progress_artifact(percent, key=key, description=description)
                # Prefect's functions are coroutines only inside an event loop; here there is none.
                self.artifact = artifact if isinstance(artifact, UUID) else None
            else:
                update_progress_artifact(self.artifact, percent, description=description)
        except Exception as error:  # noqa: BLE001 - whatever the server's trouble is, it is not the evaluation's
            self.is_shown, kind = False, type(error).__name__
            log_event("progress_not_shown", level=logging.WARNING, run=self.run, label=self.label, error=kind)


@contextmanager
def show_progress(label: str, run: str, *, deployed: bool) -> Iterator[Callable[[BatchProgress], None]]:
    """Show a query's progress during the block; yield a thread-safe callback for its tally."""
    display = _Display(label, run, DEPLOYED_S if deployed else WATCHED_S)
    # The thread needs the run's context, by which Prefect finds the artifact's run.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(display.watch,), daemon=True)
    thread.start()
    try:
        yield partial(setattr, display, "tally")
    finally:
        display.over.set()
        thread.join(PATIENCE_S)
