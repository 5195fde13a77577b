"""Ask in batches: submit requests to a server's batch endpoint, and collect what has become of them.

Each request is in at most one batch, and which one is durable before the batch is made (`tasks.store.submissions`).
A reply is remembered under the same request id as a direct call's, and only then is its submission forgotten.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import stamina

from config.settings import Model
from data.characters import visible
from data.records import Call, Reply
from tasks.models.protocol import RETRIED, BatchState, CallError
from tasks.models.secrets import masked
from tasks.models.writer import Writer
from tasks.runtime.logs import event
from tasks.store.replies import FailedCall, Remembered
from tasks.store.submissions import Submissions, Submitted

if TYPE_CHECKING:
    from tasks.models.openai_batches import OpenAIBatches

T = TypeVar("T")
_log = logging.getLogger(__name__)
LEASE_S = 60.0
CHUNK = 1_000
"""Replies that are written at once."""
MOST = 50_000
"""Requests in a batch: OpenAI's limit."""
LARGEST = 100_000_000
"""Characters of a batch's file: half of OpenAI's limit, since a character may be several bytes."""
RETRY_S = 120.0
"""How long a piece of work is tried again while the server is away; nothing is lost by giving it up."""
OUTAGE_S = 3600.0
"""How long a run waits for a server that does not tell of a batch, before it leaves the batch to a later run."""
WITHIN_S = 86_400.0
"""The time that a batch has: a server that does not know one within it is not in order, and may yet know it."""
SOUGHT_S = 300.0
"""How long a batch may be missing from the server's list after its making: before, it is not made once more."""
LOOK_S = 5.0
"""Between two looks at that list."""
SOUGHT = "their batch may be there, and is looked for in the server's list"
HELD_S = 0.5
"""Between two looks at what others are just asking or submitting."""

Known = Mapping[str, Remembered | FailedCall]
"""What has become of requests already: replies of whatever run, and failures of this one."""


@dataclass
class BatchQueue:
    """Where requests are submitted as batches and collected; `endpoint` names server and model.

    `known` counts what has become of requests already and returns it; `ended` is told what becomes of one;
    `awaiting` how many are waited for, and what for. `lasting` is put around work that a stop lets come to its end.
    """

    model: Model
    server: "OpenAIBatches"
    submissions: Submissions
    endpoint: str
    writer: Writer
    known: Callable[[Sequence[str]], Awaitable[Known]]
    ended: Callable[[str, Remembered | CallError], None]
    awaiting: Callable[[int, Sequence[str]], None]
    lasting: Callable[[], AbstractContextManager[None]]
    _lost: set[str] = field(default_factory=set)  # requests whose batch is lost, and the tokens of such batches
    _dead: set[str] = field(default_factory=set)
    _silent: dict[str, tuple[float, str]] = field(default_factory=dict)

    async def bring(self, calls: Mapping[str, Call]) -> None:
        """Submit what waits nowhere, collect what is there; wait for the rest if the model's entry says so.

        What still waits when this returns has ended with the error `submitted`.
        """
        left = dict(calls)
        self.server.client.learn(await asyncio.to_thread(self.submissions.form, self.endpoint))
        while left:
            with self.lasting():
                held = await self._submit(left)
            for batch in await self._waiting(left):
                if batch.batch_id is not None:
                    with self.lasting():
                        await self._collect(batch, batch.batch_id, left)
            await self._settle(left)
            waiting = await self._waiting(left)
            there = {request_id for batch in waiting for request_id in batch.request_ids}
            if any(one not in there and one not in held for one in left):
                continue  # what was lost, or refused for its form, is submitted once more
            if held:
                self.awaiting(len(held), await asyncio.to_thread(self.writer.cache.holders, held))
                await asyncio.sleep(HELD_S)
            elif left:
                # It makes no sense to wait on for a server that is away, or never comes to an end.
                away = any(time.monotonic() - since > OUTAGE_S for since, _ in self._silent.values())
                endless = any(time.time() - batch.submitted_at > 2 * WITHIN_S for batch in waiting)
                if self.model.batch != "wait" or away or endless:
                    break
                self.awaiting(len(left), [f"batch {batch.batch_id}" for batch in waiting[:3]])
                await asyncio.sleep(self.model.batch_poll_s)
        why = next((f" (which does not report on it now: {said})" for _, said in self._silent.values()), "")
        said = f"it waits in a batch at the server{why}; run the same command again later, or with --wait"
        for request_id in left:
            self.ended(request_id, CallError("submitted", said))

    async def _settle(self, left: dict[str, Call]) -> None:
        """Take out what has ended elsewhere."""
        known = await self.known(list(left))
        for request_id in [one for one in left if one in known]:
            left.pop(request_id)

    async def _waiting(self, request_ids: Iterable[str]) -> list[Submitted]:
        found = await asyncio.to_thread(self.submissions.waiting, list(request_ids), self.endpoint)
        return [batch for batch in found if batch.token not in self._dead]

    async def _submit(self, left: dict[str, Call]) -> list[str]:
        """Submit what is in no batch yet, and bring batches to an end that somebody was killed at making.

        Returns what another is just submitting or asking.
        """
        waiting = await self._waiting(left)
        halves = [batch for batch in waiting if batch.batch_id is None]
        made = {request_id for batch in waiting if batch.batch_id for request_id in batch.request_ids}
        wanted = [request_id for request_id in left if request_id not in made]
        if not wanted:
            return []
        cache, holder = self.writer.cache, self.writer.holder
        # Whoever makes a batch of a request holds its claim: of one that is not granted, another makes it now.
        granted = await asyncio.to_thread(cache.claim, wanted, holder=holder, lease_s=LEASE_S)
        try:
            for half in halves:
                if not set(half.request_ids) <= granted:
                    continue
                # Its making was broken off; it is forgotten only when it stays unlisted.
                left_s = min(SOUGHT_S, half.submitted_at + SOUGHT_S - time.time())
                if batch_id := await self._found(half.token, left_s, len(half.request_ids)):
                    await asyncio.to_thread(self.submissions.submitted, half.token, batch_id)
                    event("batch_found", model=self.model.name, batch=batch_id, requests=len(half.request_ids))
                else:
                    await asyncio.to_thread(self.submissions.end, half.request_ids)
            await self._settle(left)
            there = {request_id for batch in await self._waiting(wanted) for request_id in batch.request_ids}
            fresh = [one for one in wanted if one in granted and one not in there and one in left]
            for again in (False, True):
                chosen = {one: left[one] for one in fresh if (one in self._lost) is again}
                for portion in portions(chosen, self.model):
                    await self._make(portion, left, again=again)
        finally:
            await asyncio.shield(asyncio.to_thread(cache.release, wanted, holder=holder))
        return [one for one in wanted if one in left and one not in granted and one not in there]

    async def _found(self, token: str, seconds: float, n: int) -> str | None:
        """Look for a token's batch in the server's list, for some time: it may be late to show one."""
        until = time.monotonic() + seconds
        while not (batch_id := await self._trying(lambda: self.server.find(token))):
            if (rest := until - time.monotonic()) <= 0:
                return None
            self.awaiting(n, [SOUGHT])
            await asyncio.sleep(min(rest, LOOK_S, self.model.batch_poll_s))
        return batch_id

    async def _make(self, portion: Mapping[str, Call], left: dict[str, Call], *, again: bool) -> None:
        """Make a batch; what cannot be submitted ends with the reason."""
        token = uuid.uuid4().hex
        begun, names = self.submissions.begin, list(portion)
        await asyncio.to_thread(begun, token, self.endpoint, names, form=self.server.client.learned, again=again)
        maybe = False
        try:
            file = await self._trying(lambda: self.server.upload(portion, token))
            maybe = True
            batch_id = await self._created(file, token, len(portion))
        except CallError as error:
            if not maybe or error.kind not in RETRIED:  # else it may be there, which the next run finds out
                await asyncio.to_thread(self.submissions.end, names)
            none = CallError(error.kind, f"no batch was made: {error.message}")
            return await self._refuse(dict.fromkeys(names, none), left)
        await asyncio.to_thread(self.submissions.submitted, token, batch_id)
        event("batch_submitted", model=self.model.name, batch=batch_id, requests=len(portion))
        return None

    async def _created(self, file: str, token: str, n: int) -> str:
        """Make a batch of a file; where the answer to that is lost, look for it before it is made again."""
        doubtful = False

        async def once() -> str:
            nonlocal doubtful
            if doubtful and (found := await self._found(token, SOUGHT_S, n)):
                return found
            await asyncio.to_thread(self.submissions.asked, token)
            doubtful = True
            try:
                return await self.server.create(file, token)
            except CallError as error:
                doubtful = error.kind in RETRIED - {"rate_limit"}
                raise

        return await self._trying(once)

    async def _collect(self, batch: Submitted, batch_id: str, left: dict[str, Call]) -> None:
        """Remember the results of a batch that is over, and take it out of what is left."""
        calls = {one: left[one] for one in batch.request_ids if one in left}

        async def results() -> dict[str, Reply | CallError]:
            return {one: end async for one, end in self.server.results(state, calls, batch.form)}

        try:
            state = await self._trying(lambda: self.server.look(batch_id))
            found = await self._trying(results) if state.over else {}
        except CallError as error:
            return await self._unsaid(batch, batch_id, error, left)
        self._silent.pop(batch_id, None)
        if not state.over:
            return None
        # Of others in the same batch, the runs that want them collect them.
        own = {one: found.get(one) or _unanswered(batch_id, state) for one in batch.request_ids}
        kept = [
            Remembered(request_id, masked(reply), state.seconds, self.model.name)
            for request_id, reply in own.items()
            if isinstance(reply, Reply)
        ]
        for start in range(0, len(kept), CHUNK):
            await asyncio.to_thread(self.writer.cache.remember, kept[start : start + CHUNK])
        refused = {one: error for one, error in own.items() if isinstance(error, CallError)}
        if self.server.client.learned != batch.form:  # those who were refused for it are submitted in the new one
            await asyncio.to_thread(self.submissions.learn, self.endpoint, self.server.client.learned)
            refused = {one: error for one, error in refused.items() if error.kind != "invalid"}
        await asyncio.to_thread(self.submissions.end, list(own))
        event("batch_collected", model=self.model.name, batch=batch_id, status=state.status, answered=len(kept))
        for entry in kept:
            left.pop(entry.request_id, None)
            self.ended(entry.request_id, entry)
        return await self._refuse(refused, left)

    async def _refuse(self, refused: Mapping[str, CallError], left: dict[str, Call]) -> None:
        """End requests with errors, for all who want them in this run."""
        failures = [FailedCall(one, error.kind, error.message) for one, error in refused.items()]
        await asyncio.to_thread(self.writer.fail, failures)
        for request_id, error in refused.items():
            left.pop(request_id, None)
            self.ended(request_id, error)

    async def _unsaid(self, batch: Submitted, batch_id: str, error: CallError, left: dict[str, Call]) -> None:
        """Heed that the server does not tell what became of a batch: it is away, or has lost it, or refuses to."""
        if error.kind in RETRIED or (error.kind == "missing" and time.time() - batch.submitted_at < WITHIN_S):
            since, _ = self._silent.get(batch_id, (time.monotonic(), ""))
            self._silent[batch_id] = since, error.message
            return
        self._silent.pop(batch_id, None)
        if error.kind == "missing" and not batch.again:
            said = "model %s: batch %s is lost: %s. Its %d requests are submitted once more, which may cost again."
            told = map(visible, (self.model.name, batch_id, error.message))
            _log.warning(said, *told, len(batch.request_ids))
            event("batch_lost", model=self.model.name, batch=batch_id, requests=len(batch.request_ids))
            self._dead.add(batch.token)
            self._lost.update(batch.request_ids)
            return
        if error.kind == "missing":
            await asyncio.to_thread(self.submissions.end, batch.request_ids)
            said = f"batch {batch_id}, in which it was submitted once more, is lost as well: {error.message}"
            error = CallError("missing", f"{said}; run again to resubmit it, or with batch: off to ask directly")
        await self._refuse(dict.fromkeys(batch.request_ids, error), left)

    async def _trying(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do a piece of work at the server, again while that is away."""

        def passing(error: Exception) -> bool | float:
            return isinstance(error, CallError) and error.kind in RETRIED and (error.retry_after_s or True)

        async for attempt in stamina.retry_context(
            on=passing, attempts=None, timeout=min(RETRY_S, self.model.deadline_s), wait_initial=0.25, wait_max=20.0
        ):
            with attempt:
                return await work()
        raise AssertionError("unreachable: the loop ends by return or raise")


def _unanswered(batch_id: str, state: BatchState) -> CallError:
    """Return the error of a request that a batch which is over does not tell of."""
    said = f"batch {batch_id} is {state.status}{f' ({state.message})' if state.message else ''}"
    todo = "run again to submit it once more, or with batch: off to ask directly"
    if state.status in {"expired", "cancelled"}:
        return CallError("expired" if state.status == "expired" else "cancelled", f"{said}; {todo}")
    if state.status == "failed":
        return CallError("invalid", f"{said}; fix that, or ask directly with batch: off")
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
