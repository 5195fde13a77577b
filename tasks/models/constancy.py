"""Notice that a model is exchanged at its server while it is asked, and keep none of the replies in doubt."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from tasks.models.protocol import CallError, Client

EVERY_S = 5.0
"""Between two looks at the server's digest of the model; the last is taken when a batch has ended."""

ANSWER_S = 10.0
"""How long the server has to tell it; one that is busy or gone for the moment has said nothing else."""


def told_by_server(identity: Mapping[str, str]) -> str:
    """Return the digest of a model that a server tells; '' where none does."""
    return identity.get("digest", "") if "server" in identity else ""


class Constancy:
    """What is known of a model's staying the same: by the digest with which its requests were made.

    `doubtful` are the requests whose replies were kept since the server last told that digest; `forget` is called
    with them, and with the reason, when it tells another.
    """

    def __init__(
        self, client: Client, digest: str, forget: Callable[[Sequence[str], CallError], Awaitable[None]]
    ) -> None:
        self._client = client
        self._digest = digest
        self._forget = forget
        self.doubtful: list[str] = []
        self.changed: CallError | None = None

    async def look(self) -> None:
        """Ask the server which model it has now; one that does not say leaves everything as it is."""
        since, self.doubtful = self.doubtful, []
        if self.changed is None:
            try:
                async with asyncio.timeout(ANSWER_S):
                    now = (await self._client.identity()).get("digest", "")
            except (CallError, TimeoutError):
                self.doubtful = since + self.doubtful
                return
            if now == self._digest:
                return
            self.changed = CallError(
                "unknown_model",
                f"the model was replaced on its server during the run (digest {self._digest[:12]}, now {now[:12]}"
                "); replies that may be the new one's are not kept. Run it again to ask the new one",
            )
        both, self.doubtful = since + self.doubtful, []
        await self._forget(both, self.changed)

    @asynccontextmanager
    async def monitored(self) -> AsyncIterator[None]:
        """Look now and then while the block runs, and once more at its end."""
        over = asyncio.Event()

        async def keep_looking() -> None:
            while self.changed is None and not over.is_set():
                try:
                    await asyncio.wait_for(over.wait(), EVERY_S)
                except TimeoutError:
                    await self.look()

        task = asyncio.create_task(keep_looking())
        try:
            yield
        except BaseException:
            task.cancel()
            raise
        over.set()
        await task
        if self.doubtful:
            await self.look()
