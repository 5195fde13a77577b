"""Make the outcomes of calls, replies and failures, durable as they end."""

import asyncio
from collections.abc import Sequence

from tasks.store.replies import FailedCall, Remembered, ReplyCache


class Writer:
    """Makes outcomes of calls durable: one transaction for all that arrived while the last one was written.

    It also releases `holder`'s claim on the request. Failures are visible to those who ask in the same `way` in the
    same `run`.
    """

    def __init__(self, cache: ReplyCache, *, holder: str, run: str, way: str) -> None:
        self.cache = cache
        self.holder, self.run, self.way = holder, run, way
        self._queue: list[tuple[Remembered | FailedCall, asyncio.Future[None]]] = []
        self._busy = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def keep(self, end: Remembered | FailedCall) -> None:
        """Return when a call's outcome is durable."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((end, done))
        if not self._busy:
            self._busy = True
            task = asyncio.create_task(self._drain())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await done

    async def _drain(self) -> None:
        try:
            while self._queue:
                batch, self._queue = self._queue, []
                try:
                    await asyncio.to_thread(self._write, [end for end, _ in batch])
                except Exception as error:  # noqa: BLE001 - handed to every caller that waits for it
                    for _, done in batch:
                        if not done.done():
                            done.set_exception(error)
                else:
                    for _, done in batch:
                        if not done.done():
                            done.set_result(None)
        finally:
            self._busy = False

    def _write(self, ends: Sequence[Remembered | FailedCall]) -> None:
        self.cache.remember([end for end in ends if isinstance(end, Remembered)])
        self.fail([end for end in ends if isinstance(end, FailedCall)])

    def fail(self, failures: Sequence[FailedCall]) -> None:
        """Write failures at once; for a worker thread."""
        self.cache.fail(failures, holder=self.holder, run=self.run, way=self.way)

    async def settle(self) -> None:
        """Wait until everything queued is written."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
