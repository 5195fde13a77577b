"""Ask in batches: submit requests to a server's batch endpoint, and collect what has become of them.

Each request is in at most one batch, and which one is durable before the batch is made (`artifacts.submissions`).
A reply is remembered under the same request id as a direct call's, and only then is its submission forgotten.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import stamina

from artifacts.replies import Remembered, ReplyCache
from artifacts.submissions import Submissions, Submitted
from config.settings import Model
from data.records import Call, Reply
from tasks.models.protocol import RETRIED, Batches, BatchState, CallError
from tasks.runtime.logs import event

T = TypeVar("T")
LEASE_S = 60.0
CHUNK = 1_000
"""Replies that are written at once."""
MOST = 50_000
"""Requests in a batch: OpenAI's limit."""
LARGEST = 100_000_000
"""Characters of a batch's file: half of OpenAI's limit, since a character may be several bytes."""
RETRY_S = 120.0
"""How long a server may be away before the run ends; nothing is lost by that."""

Ended = Callable[[str, Remembered | CallError], None]
"""Called with what became of a request."""


@dataclass
class Desk:
    """Where a batch of requests is submitted and collected; `endpoint` names server and model."""

    model: Model
    server: Batches
    cache: ReplyCache
    submissions: Submissions
    endpoint: str
    holder: str
    ended: Ended

    async def bring(self, calls: Mapping[str, Call]) -> None:
        """Submit what waits nowhere, collect what is there; wait for the rest if the model's entry says so.

        What still waits when this returns has ended with the error `submitted`.
        """
        left = dict(calls)
        while left:
            await self._submit(left)
            waiting = await asyncio.to_thread(self.submissions.waiting, list(left), self.endpoint)
            for batch in waiting:
                if batch.batch_id is not None:
                    for request_id in await self._collect(batch, batch.batch_id):
                        left.pop(request_id, None)
            known = await asyncio.to_thread(self.cache.lookup, list(left))
            for request_id, entry in known.items():
                left.pop(request_id)
                self.ended(request_id, entry)
            if not left:
                return
            if self.model.batch != "wait":
                said = "it waits in a batch at the server; run the same command again later, or with --wait"
                for request_id in left:
                    self.ended(request_id, CallError("submitted", said))
                return
            await asyncio.sleep(self.model.batch_poll_s)

    async def _submit(self, left: dict[str, Call]) -> None:
        """Submit what is in no batch yet, and bring batches to an end that somebody was killed at making."""
        waiting = await asyncio.to_thread(self.submissions.waiting, list(left), self.endpoint)
        halves = [batch for batch in waiting if batch.batch_id is None]
        made = {request_id for batch in waiting if batch.batch_id for request_id in batch.request_ids}
        wanted = [request_id for request_id in left if request_id not in made]
        if not wanted:
            return
        # Whoever makes a batch of a request holds its claim: of one that is not granted, another makes it now.
        granted = await asyncio.to_thread(self.cache.claim, wanted, holder=self.holder, lease_s=LEASE_S)
        try:
            for half in halves:
                if set(half.request_ids) <= granted:
                    await self._adopt(half, left)
            known = await asyncio.to_thread(self.cache.lookup, wanted)
            again = await asyncio.to_thread(self.submissions.waiting, wanted, self.endpoint)
            there = {request_id for batch in again for request_id in batch.request_ids} | set(known)
            fresh = [one for one in wanted if one in granted and one not in there and one in left]
            for portion in portions({one: left[one] for one in fresh}, self.model):
                token = uuid.uuid4().hex
                await asyncio.to_thread(self.submissions.begin, token, self.endpoint, list(portion))
                await self._make(token, portion, left)
        finally:
            await asyncio.shield(asyncio.to_thread(self.cache.release, wanted, holder=self.holder))

    async def _adopt(self, half: Submitted, left: dict[str, Call]) -> None:
        """Find the batch of a token whose making was broken off; without one, forget that it was begun."""
        if batch_id := await self._trying(lambda: self.server.find(half.token)):
            await asyncio.to_thread(self.submissions.submitted, half.token, batch_id)
            event("batch_found", model=self.model.name, batch=batch_id, requests=len(half.request_ids))
        else:
            await asyncio.to_thread(self.submissions.end, [one for one in half.request_ids if one in left])

    async def _make(self, token: str, portion: Mapping[str, Call], left: dict[str, Call]) -> None:
        """Make a batch; where the answer to that is lost, look for it before it is made again."""
        asked = False

        async def once() -> str:
            nonlocal asked
            found = await self.server.find(token) if asked else None
            asked = True
            return found or await self.server.submit(portion, token)

        try:
            batch_id = await self._trying(once)
        except CallError as error:
            if error.kind in RETRIED:
                raise CallError(error.kind, f"no batch could be made: {error.message}") from None
            await asyncio.to_thread(self.submissions.end, list(portion))
            for request_id in portion:
                left.pop(request_id)
                self.ended(request_id, error)
            return
        await asyncio.to_thread(self.submissions.submitted, token, batch_id)
        event("batch_submitted", model=self.model.name, batch=batch_id, requests=len(portion))

    async def _collect(self, batch: Submitted, batch_id: str) -> list[str]:
        """Remember what a batch that is over has come to; return the requests that have ended."""
        try:
            state = await self._trying(lambda: self.server.look(batch_id))
        except CallError as error:
            if error.kind != "missing":
                raise
            state = BatchState("missing", over=True, message=error.message)
        if not state.over:
            return []
        found = dict(await self._trying(lambda: self._results(state)))
        # Of others in the same batch, the runs that want them collect them.
        own = {one: found.get(one) or _unanswered(batch_id, state) for one in batch.request_ids}
        kept = [
            Remembered(request_id, reply, state.seconds, self.model.name)
            for request_id, reply in own.items()
            if isinstance(reply, Reply)
        ]
        for start in range(0, len(kept), CHUNK):
            await asyncio.to_thread(self.cache.remember, kept[start : start + CHUNK])
        await asyncio.to_thread(self.submissions.end, list(own))
        event("batch_collected", model=self.model.name, batch=batch_id, status=state.status, answered=len(kept))
        for entry in kept:
            self.ended(entry.request_id, entry)
        for request_id, refused in own.items():
            if isinstance(refused, CallError):
                self.ended(request_id, refused)
        return list(own)

    async def _results(self, state: BatchState) -> list[tuple[str, Reply | CallError]]:
        return [line async for line in self.server.results(state)]

    async def _trying(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do a piece of work at the server, again while that is away; its claims are kept meanwhile."""
        started = time.monotonic()

        def passing(error: Exception) -> bool | float:
            return isinstance(error, CallError) and error.kind in RETRIED and (error.retry_after_s or True)

        async for attempt in stamina.retry_context(
            on=passing, attempts=None, timeout=min(RETRY_S, self.model.deadline_s), wait_initial=0.25, wait_max=20.0
        ):
            with attempt:
                if time.monotonic() - started > LEASE_S / 3:
                    await asyncio.to_thread(self.cache.renew, holder=self.holder, lease_s=LEASE_S)
                return await work()
        raise AssertionError("unreachable: the loop ends by return or raise")


def _unanswered(batch_id: str, state: BatchState) -> CallError:
    """Return the error of a request that a batch which is over does not tell of."""
    said = f"batch {batch_id} is {state.status}{f' ({state.message})' if state.message else ''}"
    todo = "run again to submit it once more, or with batch: off to ask directly"
    if state.status in {"expired", "cancelled"}:
        return CallError("expired" if state.status == "expired" else "cancelled", f"{said}; {todo}")
    if state.status == "failed":
        return CallError("invalid", f"{said}; mend that, or ask directly with batch: off")
    return CallError("missing", f"{said}, and this request is in none of its files; {todo}")


def portions(calls: Mapping[str, Call], model: Model) -> Sequence[dict[str, Call]]:
    """Cut calls into batches that a server takes, and whose results fit what one answer may hold."""
    # A reply's tokens as JSON, and all that a server writes around them.
    each = max(1, min(MOST, model.max_response_bytes // (2_000 + 8 * model.max_tokens)))
    found: list[dict[str, Call]] = []
    size = 0
    for request_id, call in calls.items():
        weight = sum(len(message.content) for message in call.messages) + 2_000
        if not found or len(found[-1]) >= each or size + weight > LARGEST:
            found.append({})
            size = 0
        found[-1][request_id] = call
        size += weight
    return found
