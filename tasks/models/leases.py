"""The claims of a batch: renewed while it asks, and confirmed after they may have passed to another."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from basic_control.data.errors import InputError
from basic_control.tasks.store.reply_cache import ReplyCache

LEASE_S = 60.0


class Lease:
    """The lease of a batch's claims; its `term` counts how often it may have run out.

    A process that was suspended finds that others have asked meanwhile what it had claimed.
    """

    def __init__(self) -> None:
        self._term = 0
        self._renewed = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        # A machine that sleeps stops the first of these clocks, and a database may go by either.
        return time.monotonic(), time.time()

    @property
    def term(self) -> int:
        """The present term: claims of an earlier one are confirmed before anything is asked."""
        now = self._now()
        if max(end - begin for begin, end in zip(self._renewed, now, strict=True)) > LEASE_S:
            self._term += 1
            self._renewed = now
        return self._term

    @asynccontextmanager
    async def renew_claims(self, cache: ReplyCache, holder: str) -> AsyncIterator[None]:
        """Renew a holder's claims during the block."""

        async def renew_until_cancelled() -> None:
            while True:
                await asyncio.sleep(LEASE_S / 3)
                before, term = self._now(), self.term
                with suppress(InputError):  # the database may be back at the next renewal
                    await asyncio.to_thread(cache.renew, holder=holder, lease_s=LEASE_S)
                    if term == self.term:
                        self._renewed = before

        task = asyncio.create_task(renew_until_cancelled())
        try:
            yield
        finally:
            task.cancel()
