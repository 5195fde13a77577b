"""Replies made durable as they arrive."""

import asyncio

from artifacts.replies import Remembered, ReplyCache


class Writer:
    """Makes replies durable: one transaction for all that arrived while the last one was written."""

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache
        self._queue: list[tuple[Remembered, asyncio.Future[None]]] = []
        self._busy = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def remember(self, entry: Remembered) -> None:
        """Return when the entry is durable."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((entry, done))
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
                    await asyncio.to_thread(self._cache.remember, [entry for entry, _ in batch])
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

    async def settle(self) -> None:
        """Wait until everything handed over is written."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
