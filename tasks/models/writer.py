"""Make the outcomes of calls, replies and failures, durable as they end."""

import asyncio
from collections.abc import Sequence

from basic_control.tasks.models.protocol import NOT_ASKED
from basic_control.tasks.store.reply_cache import FailedCall, Remembered, ReplyCache


class Writer:
    """Makes outcomes of calls durable: one transaction for all that arrived while the last one was written.

    It also releases `holder`'s claim on the request. Failures are visible to those who ask in the same `way` in the
    same `run`.
    """

    def __init__(self, cache: ReplyCache, *, holder: str, run: str, way: str) -> None:
        self.cache = cache
        self.holder, self.run, self.way = holder, run, way
        self._queue: list[Remembered | FailedCall] = []
        self._next: asyncio.Task[None] | None = None  # writes what is in the queue when its turn comes
        self._turn = asyncio.Lock()

    async def keep(self, end: Remembered | FailedCall) -> None:
        """Return when a call's outcome is durable."""
        self._queue.append(end)
        if self._next is None:
            self._next = asyncio.create_task(self._write_queue())
            # Otherwise asyncio logs an error that all who waited for were cancelled before.
            self._next.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._next)

    async def _write_queue(self) -> None:
        async with self._turn:
            ends, self._queue, self._next = self._queue, [], None
            await asyncio.to_thread(self._write, ends)

    def _write(self, ends: Sequence[Remembered | FailedCall]) -> None:
        self.cache.remember([end for end in ends if isinstance(end, Remembered)])
        self.fail([end for end in ends if isinstance(end, FailedCall)])

    def fail(self, failures: Sequence[FailedCall]) -> None:
        """Write failures at once; for a worker thread."""
        self.cache.remember_failures(failures, holder=self.holder, run=self.run, way=self.way)
        # The next run asks first what this one did not get to.
        missed = [failure for failure in failures if failure.kind == NOT_ASKED]
        self.cache.remember_failures(missed, holder=self.holder, run=NOT_ASKED, way=self.way)

    def find_missed(self, request_ids: Sequence[str]) -> set[str]:
        """Return which requests an earlier run did not get to ask; for a worker thread."""
        return {*self.cache.failures(request_ids, run=NOT_ASKED, way=self.way)}

    async def settle(self) -> None:
        """Wait until everything queued is written."""
        if self._next:
            await asyncio.wait([self._next])
        async with self._turn:
            pass
