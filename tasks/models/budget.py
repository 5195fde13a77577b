"""The budget of a run while it asks: no call starts that could exceed it."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable

from basic_control.config.budget import Budget, describe_budget
from basic_control.config.settings import Model
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.protocol import CallError

_UNMEASURED = (
    "not asked: an answer did not say how many tokens it took, so that no budget in money can be kept; set "
    "`budget: {calls: …}`"
)
_EXACT = 1 + 1e-9
"""Room for the rounding of sums."""


class RunBudget:
    """What one start of a run has spent, and may spend still; all methods belong to the asking loop.

    Beside others in flight a call is taken to cost as much as it can, or as the dearest to its model so far; alone,
    as the dearest. Before the first is answered, nothing is known, and one is asked alone. So what is spent exceeds
    the limit at most by what one call costs more than all before it. `started` is the run's start (monotonic s).
    """

    def __init__(self, limits: Budget, currency: str, started: float | None = None) -> None:
        if started is None:
            started = time.monotonic()
        self.ends_s = None if limits.minutes is None else started + 60 * limits.minutes
        self._limits = limits
        self._words = describe_budget(limits, currency)
        self._started = 0
        self._spent = 0.0
        self._reserved = 0.0
        self._in_flight = Counter[str]()
        self._dearest: dict[str, float] = {}
        self._is_unmeasured = False
        self._freed: asyncio.Event | None = None

    @property
    def is_over(self) -> bool:
        """Whether its time is over."""
        return self.ends_s is not None and time.monotonic() >= self.ends_s

    def refuse(self) -> CallError:
        """Return the error of a call that is not asked since the budget is spent."""
        return CallError("budget", f"not asked: the budget of {self._words} is spent")

    async def admit(self, model: Model, calls: Iterable[Call]) -> float:
        """Reserve the cost of what is asked at once, and return it; wait for calls in flight if it depends on them.

        Raises:
            CallError: the call could exceed the budget.
        """
        reserved = dearest = 0.0
        if self._limits.usd is not None:
            dearest = find_highest_cost(model, calls)
        while True:
            has_calls = self._limits.calls is None or self._started < self._limits.calls
            if self.is_over or not has_calls:
                raise self.refuse()
            if self._limits.usd is None or not model.cost(1, 1):
                break
            if self._is_unmeasured:
                raise CallError("budget", _UNMEASURED)
            # What a model's calls cost is not known before one has ended: its first call is made alone.
            if model.name in self._dearest or not self._in_flight[model.name]:
                expected = self._dearest.get(model.name, 0.0)
                reserved = max(expected, dearest)
                if self._in_flight.total():
                    expected = reserved
                total = self._spent + self._reserved + expected
                if self._spent < self._limits.usd and total <= self._limits.usd * _EXACT:
                    break
            if not self._in_flight.total():
                raise self.refuse()
            self._freed = self._freed or asyncio.Event()
            await self._freed.wait()
        self._started += 1
        self._in_flight[model.name] += 1
        self._reserved += reserved
        return reserved

    def settle(self, model: Model, reserved: float, replies: Iterable[Reply]) -> None:
        """Take a call out of flight, and count what its replies cost."""
        self._in_flight[model.name] -= 1
        self._reserved -= reserved
        costs = [self._cost(model, reply) for reply in replies]
        if costs:
            self._spent += sum(costs)
            self._dearest[model.name] = max(sum(costs), self._dearest.get(model.name, 0.0))
        if self._freed:
            self._freed.set()
            self._freed = None

    def _cost(self, model: Model, reply: Reply) -> float:
        if not model.cost(1, 1):
            return 0.0
        if reply.tokens_in is None or reply.tokens_out is None:
            self._is_unmeasured = True
            return 0.0
        usage = reply.extra.get("usage") or {}
        cost = model.cost(reply.tokens_in, reply.tokens_out, usage.get("cached", 0), usage.get("thinking", 0))
        return cost or 0.0


def find_highest_cost(model: Model, calls: Iterable[Call]) -> float:
    """Return what calls cost if each reply is as long as it may be; 0 without prices.

    A token of a prompt has at least one byte.
    """
    if not model.cost(1, 1):
        return 0.0
    total, limit = 0.0, model.token_limit
    for call in calls:
        n_bytes = len(repr((call.messages, call.schema, call.tools)).encode(errors="replace"))
        costs = [model.cost(n_bytes, limit, 0, n_thinking) or 0.0 for n_thinking in (0, limit)]
        total += max(costs)
    return total
