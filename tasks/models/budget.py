"""The budget of a run while it asks: no call starts that could exceed it."""

import asyncio
from collections import Counter
from collections.abc import Iterable

from basic_control.config.budget import Budget, describe_budget
from basic_control.config.settings import Model
from basic_control.data.records import Reply
from basic_control.tasks.models.protocol import CallError

_UNMEASURED = (
    "not asked: an answer did not say how many tokens it took, so that no budget in money can be kept; set "
    "`budget: {calls: …}`"
)
_EXACT = 1 + 1e-9
"""Room for the rounding of sums."""


class RunBudget:
    """What one start of a run has spent, and may spend still; all methods belong to the asking loop.

    A call is taken to cost as much as the dearest to its model so far. Before the first is answered, nothing is
    known, and one is asked alone.
    """

    def __init__(self, limits: Budget, currency: str) -> None:
        self._limits = limits
        self._words = describe_budget(limits, currency)
        self._started = 0
        self._spent = 0.0
        self._reserved = 0.0
        self._in_flight = Counter[str]()
        self._dearest: dict[str, float] = {}
        self._is_unmeasured = False
        self._freed: asyncio.Event | None = None

    async def admit(self, model: Model) -> float:
        """Reserve the cost of a call, which is returned; wait for calls in flight if it depends on what they cost.

        Raises:
            CallError: the call could exceed the budget.
        """
        expected = 0.0
        while True:
            if self._limits.calls is not None and self._started >= self._limits.calls:
                raise CallError("budget", f"not asked: the budget of {self._words} is spent")
            if self._limits.usd is None or not model.cost(1, 1):
                break
            if self._is_unmeasured:
                raise CallError("budget", _UNMEASURED)
            # What a model's calls cost is not known before one has ended: its first call is made alone.
            if model.name in self._dearest or not self._in_flight[model.name]:
                expected = self._dearest.get(model.name, 0.0)
                total = self._spent + self._reserved + expected
                if self._spent < self._limits.usd and total <= self._limits.usd * _EXACT:
                    break
            if not self._in_flight.total():
                raise CallError("budget", f"not asked: the budget of {self._words} is spent")
            self._freed = self._freed or asyncio.Event()
            await self._freed.wait()
        self._started += 1
        self._in_flight[model.name] += 1
        self._reserved += expected
        return expected

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
