"""Limits of an endpoint: calls in flight, calls per minute, and its last error."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import anyio

from basic_control.config.settings import Model
from basic_control.data.characters import make_visible
from basic_control.data.draw import format_canonical
from basic_control.tasks.models.protocol import FATAL, LOST, NOT_ASKED, CallError
from basic_control.tasks.runtime.logs import log_event

PUT_OFF = 3
"""This many consecutive responses that request a wait longer than a call's deadline close an endpoint."""

TOGETHER = 3
"""This many responses 429 in a row, with no reply between them, slow a whole endpoint; one alone its own call."""

REFUSED_IN_A_ROW = 8
"""This many calls in a row that were refused as every call would be give a model up."""
LOST_IN_A_ROW, LOST_S = 20, 600.0
"""This many calls in a row that were lost, over so many seconds, give a model up."""

_log = logging.getLogger(__name__.removeprefix("basic_control."))  # not a child of the events' logger


def _too_long(wait_s: float, patience_s: float) -> str:
    return f"the server asks to wait {wait_s:.0f} s, longer than {patience_s:g} s (deadline_s)"


def find_endpoint(model: Model) -> str:
    """Return the key of the server that models share: this machine's cores, or the provider and its address."""
    if model.unit.at_once:
        return f"{model.provider} {model.concurrency}"
    return f"{model.provider} {model.base_url.rstrip('/') or model.file or format_canonical(model.options)}"


def digest_entry(model: Model) -> str:
    """Return the key of the limits that an entry has for itself, also beside others at its server.

    What runs on this machine shares its cores.
    """
    if model.unit.at_once:
        return find_endpoint(model)
    return f"{type(model).__name__} {model.name} {model.max_concurrency} {find_endpoint(model)}"


@dataclass(slots=True)
class Streak:
    """The calls of one model that failed in a row, counted as they end after their own retries."""

    refused: int = 0
    lost: int = 0
    lost_since: float = 0.0
    has_answered: bool = False

    def end(self) -> None:
        """Record a reply."""
        self.refused = self.lost = 0
        self.has_answered = True

    def count(self, error: CallError) -> int:
        """Record a call's failure; return how many in a row give the model up, 0 if they do not.

        Failures that are the question's count nowhere; so does a 403 of a model that has answered.
        """
        now = time.monotonic()
        is_forbidden = getattr(error, "status", 0) == HTTPStatus.FORBIDDEN
        if error.kind in FATAL and not (is_forbidden and self.has_answered):
            self.refused, self.lost = self.refused + 1, 0
        elif error.kind in LOST:
            self.lost_since = self.lost_since if self.lost else now
            self.refused, self.lost = 0, self.lost + 1
        if self.refused >= REFUSED_IN_A_ROW:
            return self.refused
        return self.lost if self.lost >= LOST_IN_A_ROW and now - self.lost_since >= LOST_S else 0


class Endpoint:
    """One server as an entry asks it, shared by all its batches in this process.

    The number of calls in flight halves on several 429 and grows by one for each full round of replies (additive
    increase, multiplicative decrease, as TCP does). All methods belong to one event loop.
    """

    def __init__(self, max_concurrency: int) -> None:
        self.maximum = float(max_concurrency)
        self.limit = float(max_concurrency)
        self.not_before = 0.0
        self.next_start: dict[str, float] = {}
        self.last_halved = 0.0
        self.limited = 0
        self.run = ""
        self.streaks: dict[object, Streak] = {}
        self.broken: dict[object, CallError] = {}
        self.put_off = 0
        self._slots = anyio.CapacityLimiter(max_concurrency)

    @asynccontextmanager
    async def slot(self, model: Model, last: CallError | None = None) -> AsyncIterator[None]:
        """Hold one of the slots for calls in flight, from when the model's next call may start.

        `last` is how the call's last attempt failed.

        Raises:
            CallError: the server asked for a pause longer than the call's deadline; `last`, if the call was sent.
        """
        async with self._slots:
            now = time.monotonic()
            wait_s = self.not_before - now
            if wait_s > model.deadline_s:
                cause = f"the last {PUT_OFF} responses said: {_too_long(wait_s, model.deadline_s)}"
                raise last or CallError(NOT_ASKED, f"not sent: {cause}")
            start = max(now, self.not_before, self.next_start.get(model.server_name, 0.0))
            if model.requests_per_minute:
                self.next_start[model.server_name] = start + 60.0 / model.requests_per_minute
            if start > now:
                await asyncio.sleep(start - now)
            yield

    def begin(self, run: str) -> None:
        """Forget what failed in another run: this one may have the right key, or find the server up again."""
        if run == self.run:
            return
        self.run = run
        self.broken.clear()
        self.streaks.clear()
        self.not_before, self.put_off = 0.0, 0

    def _limit_to(self, calls: float) -> None:
        self.limit = max(1.0, min(self.maximum, calls))
        self._slots.total_tokens = int(self.limit)

    def record_reply(self) -> None:
        """Record a reply: the server may take slightly more load."""
        self.limited = self.put_off = 0
        self._limit_to(self.limit + 1.0 / self.limit)

    def check(self, asker: object) -> None:
        """Do nothing if a call of an asker can be made.

        Raises:
            CallError: the model was given up.
        """
        # Otherwise an error keeps the frames of every call that it refuses.
        broken = self.broken.get(asker)
        if broken:
            raise broken.with_traceback(None)

    def conclude(self, asker: object, model: Model, error: CallError | None = None) -> None:
        """Record how a call of an asker ended, after its own retries: with a reply, or with an error."""
        streak = self.streaks.setdefault(asker, Streak())
        if error is None:
            streak.end()
            return
        count = streak.count(error)
        if count and asker not in self.broken:
            cause = f"the last {count} calls failed, the last of them with: {error.message}"
            self.broken[asker] = CallError(NOT_ASKED, f"not asked: {cause}")
            # For logs: at a terminal the verdict says it.
            log_event("model_given_up", level=logging.WARNING, model=model.name, why=cause)

    def record_failure(self, error: CallError, started: float, model: Model) -> CallError:
        """Record a failed attempt that began at `started` (monotonic s); return the error that it ends with."""
        now, wait_s = time.monotonic(), error.retry_after_s or 0.0
        self.limited += error.kind == "rate_limit"
        is_limited = error.kind == "rate_limit" and self.limited >= TOGETHER
        # Once for all calls that were in flight together: they all hit the same limit.
        if is_limited and started > self.last_halved:
            self._limit_to(self.limit / 2)
            self.last_halved = now
        # A wait longer than the call's deadline affects only its own call until several responses request one.
        if wait_s > model.deadline_s:
            return self._postpone(error, now + wait_s, model)
        if is_limited:
            self.not_before = max(self.not_before, now + wait_s)
        return error

    def _postpone(self, error: CallError, until: float, model: Model) -> CallError:
        """Return the error of a call whose wait is too long, and close the endpoint after `PUT_OFF` of them."""
        wait = _too_long(error.retry_after_s or 0.0, model.deadline_s)
        refusal = CallError("timeout", f"{error.message}; {wait}")
        self.put_off += 1
        if self.put_off >= PUT_OFF:
            self.not_before = max(self.not_before, until)
        if self.put_off == PUT_OFF:
            text = "model %s: endpoint closed: the last %s responses said: %s. All remaining calls fail."
            _log.warning(text, make_visible(model.name), PUT_OFF, refusal.message)
        return refusal
