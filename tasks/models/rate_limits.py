"""Limits of an endpoint: calls in flight, calls per minute, and its last error."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from config.settings import Model
from data.characters import visible
from data.draw import canonical
from tasks.models.protocol import CallError

LEAST = 1
PUT_OFF = 3
"""This many consecutive responses that request a wait longer than a call's deadline close an endpoint."""

_log = logging.getLogger(__name__)


def too_long(wait_s: float, patience_s: float) -> str:
    """Return the message for a requested wait that exceeds a call's patience."""
    return f"; the server asks to wait {wait_s:.0f} s, longer than {patience_s:g} s (deadline_s)"


def endpoint_of(model: Model) -> str:
    """Return the key of the server that models share: this machine's cores, or the provider and its address."""
    if model.unit.at_once:
        return f"{model.provider} {model.concurrency}"
    return f"{model.provider} {model.base_url or model.file or canonical(model.options)}"


class Endpoint:
    """One server, shared by all models, judges and batches of this process.

    The number of calls in flight halves on a 429 and grows back by one for each full round of replies (additive
    increase, multiplicative decrease, as TCP does). All methods belong to one event loop.
    """

    def __init__(self, max_concurrency: int, requests_per_minute: int | None = None) -> None:
        self.most = float(max_concurrency)
        self.limit = float(max_concurrency)
        self.interval_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self.not_before = 0.0
        self.next_start = 0.0
        self.last_halved = 0.0
        self.down_since: float | None = None
        self.broken: dict[object, CallError] = {}
        self.put_off = 0
        self.closed: CallError | None = None
        self.closed_until = 0.0
        self._slots = anyio.CapacityLimiter(max(LEAST, max_concurrency))

    @asynccontextmanager
    async def slot(self, patience_s: float = math.inf) -> AsyncIterator[None]:
        """Hold one of the slots for calls in flight.

        Raises:
            CallError: the server asked for a pause longer than `patience_s`.
        """
        async with self._slots:
            now = time.monotonic()
            if (wait := self.not_before - now) > patience_s:
                said = f"the server asks to wait {wait:.0f} s more, longer than {patience_s:g} s (deadline_s)"
                raise CallError("timeout", said)
            start = max(now, self.not_before, self.next_start)
            if self.interval_s:
                self.next_start = start + self.interval_s
            if start > now:
                await asyncio.sleep(start - now)
            yield

    def forgive(self) -> None:
        """Clear the fatal error: another run may have the right key, or find the server up again."""
        self.broken.clear()
        self.closed, self.closed_until, self.put_off = None, 0.0, 0
        self.down_since = None

    def _limit_to(self, calls: float) -> None:
        self.limit = max(float(LEAST), min(self.most, calls))
        self._slots.total_tokens = int(self.limit)

    def succeeded(self) -> None:
        """Record a reply: the server is up, and may take slightly more load."""
        self.down_since = None
        self.put_off = 0
        self._limit_to(self.limit + 1.0 / self.limit)

    def failed(self, error: CallError, started: float, model: str, patience_s: float = math.inf) -> None:
        """Record a failed attempt that began at `started` (monotonic s), of a call that waits for `patience_s`."""
        now = time.monotonic()
        longer = (error.retry_after_s or 0.0) > patience_s
        if longer:
            self._postpone(error, now, model, patience_s)
        if error.kind == "rate_limit":
            # Once for all calls that were in flight together: they all hit the same limit.
            if started > self.last_halved:
                self._limit_to(self.limit / 2)
                self.last_halved = now
            # A wait longer than any call's deadline affects only its own call until several responses request one.
            if error.retry_after_s and not longer:
                self.not_before = max(self.not_before, now + error.retry_after_s)
        elif error.kind == "connection":
            self.down_since = self.down_since or started
        else:
            self.down_since = None

    def _postpone(self, error: CallError, now: float, model: str, patience_s: float) -> None:
        """Count a response that requests too long a wait, and close the endpoint after `PUT_OFF` of them."""
        self.put_off += 1
        if self.put_off < PUT_OFF or now < self.closed_until:
            return
        wait_s = error.retry_after_s or 0.0
        self.closed_until = now + wait_s
        why = f"{error.message}{too_long(wait_s, patience_s)}"
        self.closed = CallError("timeout", f"not asked: {PUT_OFF} answers in a row said: {why}")
        said = "model %s: closed: %d answers in a row said: %s. The calls that are left fail with this reason."
        _log.warning(said, visible(model), PUT_OFF, why)
