"""Limits of an endpoint: calls in flight, calls per minute, and its last error."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from basic_control.config.settings import Model
from basic_control.data.characters import visible
from basic_control.data.draw import canonical
from basic_control.tasks.models.protocol import FATAL, CallError

PUT_OFF = 3
"""This many consecutive responses that request a wait longer than a call's deadline close an endpoint."""

AGAIN_S = 20.0
"""A server that has been down for too long may be asked once more this long after the last attempt."""

_log = logging.getLogger(__name__.removeprefix("basic_control."))  # not a child of the events' logger


def _too_long(wait_s: float, patience_s: float) -> str:
    return f"the server asks to wait {wait_s:.0f} s, longer than {patience_s:g} s (deadline_s)"


def endpoint_of(model: Model) -> str:
    """Return the key of the server that models share: this machine's cores, or the provider and its address."""
    if model.unit.at_once:
        return f"{model.provider} {model.concurrency}"
    return f"{model.provider} {model.base_url.rstrip('/') or model.file or canonical(model.options)}"


def entry_of(model: Model) -> str:
    """Return the key of the limits that an entry has for itself, also beside others at its server.

    What runs on this machine shares its cores.
    """
    if model.unit.at_once:
        return endpoint_of(model)
    return f"{type(model).__name__} {model.name} {model.max_concurrency} {endpoint_of(model)}"


class Endpoint:
    """One server as an entry asks it, shared by all its batches in this process.

    The number of calls in flight halves on a 429 and grows back by one for each full round of replies (additive
    increase, multiplicative decrease, as TCP does). All methods belong to one event loop.
    """

    def __init__(self, max_concurrency: int) -> None:
        self.most = float(max_concurrency)
        self.limit = float(max_concurrency)
        self.not_before = 0.0
        self.next_start: dict[str, float] = {}
        self.last_halved = 0.0
        self.down_since: float | None = None
        self.last_failed = 0.0
        self.run = ""
        self.broken: dict[object, CallError] = {}
        self.put_off = 0
        self.closed: CallError | None = None
        self.closed_until = 0.0
        self._slots = anyio.CapacityLimiter(max_concurrency)

    @asynccontextmanager
    async def slot(self, model: Model) -> AsyncIterator[None]:
        """Hold one of the slots for calls in flight, from when the model's next call may start.

        Raises:
            CallError: the server asked for a pause longer than the call's deadline.
        """
        async with self._slots:
            now = time.monotonic()
            if (wait_s := self.not_before - now) > model.deadline_s:
                raise CallError("timeout", _too_long(wait_s, model.deadline_s))
            start = max(now, self.not_before, self.next_start.get(model.served, 0.0))
            if model.requests_per_minute:
                self.next_start[model.served] = start + 60.0 / model.requests_per_minute
            if start > now:
                await asyncio.sleep(start - now)
            yield

    def begin(self, run: str) -> None:
        """Forget what failed in another run: this one may have the right key, or find the server up again."""
        if run == self.run:
            return
        self.run = run
        self.broken.clear()
        self.closed, self.closed_until, self.put_off = None, 0.0, 0
        self.down_since = None

    def _limit_to(self, calls: float) -> None:
        self.limit = max(1.0, min(self.most, calls))
        self._slots.total_tokens = int(self.limit)

    def succeeded(self) -> None:
        """Record a reply: the server is up, and may take slightly more load."""
        self.down_since = None
        self.put_off = 0
        self._limit_to(self.limit + 1.0 / self.limit)

    def check(self, asker: object, patience_s: float) -> None:
        """Do nothing if a call of an asker can be made.

        Raises:
            CallError: it would fail, as earlier ones did.
        """
        now = time.monotonic()
        if broken := self.broken.get(asker):
            raise broken.with_traceback(None)  # otherwise it keeps the frames of every call that it refuses
        if self.closed and now < self.closed_until:
            raise self.closed.with_traceback(None)
        if self.down_since and now - self.down_since > patience_s and now - self.last_failed < AGAIN_S:
            raise CallError("timeout", f"the server has been down for more than {patience_s:g} s (deadline_s)")

    def failed(self, error: CallError, started: float, asker: object, model: Model) -> CallError:
        """Record a failed attempt that began at `started` (monotonic s); return the error that it ends with."""
        now, wait_s = time.monotonic(), error.retry_after_s or 0.0
        if error.kind in FATAL:
            self.broken.setdefault(asker, error)
        # Once for all calls that were in flight together: they all hit the same limit.
        if error.kind == "rate_limit" and started > self.last_halved:
            self._limit_to(self.limit / 2)
            self.last_halved = now
        self.down_since = (self.down_since or now) if error.kind == "connection" else None
        self.last_failed = now
        # A wait longer than the call's deadline affects only its own call until several responses request one.
        if wait_s > model.deadline_s:
            return self._postponed(error, now + wait_s, model)
        if error.kind == "rate_limit":
            self.not_before = max(self.not_before, now + wait_s)
        return error

    def _postponed(self, error: CallError, until: float, model: Model) -> CallError:
        """Return the error of a call whose wait is too long, and close the endpoint after `PUT_OFF` of them."""
        told = _too_long(error.retry_after_s or 0.0, model.deadline_s)
        found = CallError("timeout", f"{error.message}; {told}")
        self.put_off += 1
        if self.put_off >= PUT_OFF and time.monotonic() >= self.closed_until:
            self.closed_until = until
            self.closed = CallError("timeout", f"not sent: the last {PUT_OFF} responses said: {found.message}")
            said = "model %s: endpoint closed: the last %d responses said: %s. All remaining calls fail."
            _log.warning(said, visible(model.name), PUT_OFF, found.message)
        return found
