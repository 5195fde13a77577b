"""Submit requests to a server's batch endpoint and collect the results.

Each request is in at most one batch; that assignment is durable before the batch is created
(`tasks.store.submissions`). A reply is cached under a direct call's request id; then its submission is deleted.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import stamina
import stamina.instrumentation

from basic_control.config.settings import Model
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.leases import LEASE_S
from basic_control.tasks.models.protocol import RETRIED, BatchState, CallError
from basic_control.tasks.models.running import RunningBatch
from basic_control.tasks.runtime.logs import event
from basic_control.tasks.runtime.secrets import mask
from basic_control.tasks.store.replies import FailedCall, Remembered
from basic_control.tasks.store.submissions import Submissions, Submitted

if TYPE_CHECKING:
    from basic_control.tasks.models.openai_batches import OpenAIBatches

# The arguments of a call do not belong in a log.
stamina.instrumentation.set_on_retry_hooks([])

T = TypeVar("T")
CHUNK = 1_000
"""Replies written at once."""
MOST = 50_000
"""Requests in a batch: OpenAI's limit."""
LARGEST = 100_000_000
"""Characters of a batch's file: half of OpenAI's limit, since a character may be several bytes."""
RETRY_S = 120.0
"""How long an operation is retried while the server is unreachable; giving up loses nothing."""
OUTAGE_S = 3600.0
"""How long a run waits for a server that does not report a batch's state before leaving it to a later run."""
WITHIN_S = 86_400.0
"""A batch's time limit: a server that does not know a batch younger than this is faulty, and may yet know it."""
SOUGHT_S = 300.0
"""How long a batch may be missing from the server's list after its creation before it is created again."""
FIRST_S, LOOK_S, POLL_S = 0.1, 5.0, 30.0
"""The interval between two polls doubles from the first to the longest: of that list, and of a batch's state."""
_AGAIN = "run again to resubmit it, or set batch: off to ask directly"
SOUGHT = "a search for their batch in the server's list"
HELD_S = 0.5
"""Interval between two checks of what others are asking or submitting."""


class BatchQueue:
    """Submits the requests of `running` as batches and collects them; `endpoint` is the server and model."""

    def __init__(self, running: RunningBatch, submissions: Submissions, endpoint: str) -> None:
        make = running.model.unit.batches
        assert make is not None  # noqa: S101 - the configuration has been checked
        self.running = running
        self.model = running.model
        self.writer = running.writer
        self.server: OpenAIBatches = make(running.client)
        self.submissions = submissions
        self.endpoint = endpoint
        self._silent: dict[str, tuple[float, str]] = {}

    async def bring(self, calls: Mapping[str, Call]) -> None:
        """Submit unsubmitted requests and collect results; wait for the rest if the model's entry says so.

        Requests still pending when this returns end with the error `submitted`.
        """
        left = dict(calls)
        self.server.dialect.learn(await asyncio.to_thread(self.submissions.form, self.endpoint))
        pauses = _pauses(POLL_S)
        while left:
            with self.running.lasting():
                held = await self._submit(left)
            for batch in await self._waiting(left):
                if batch.batch_id is not None:
                    with self.running.lasting():
                        await self._collect(batch, batch.batch_id, left)
            await self._settle(left)
            waiting = await self._waiting(left)
            there = {request_id for batch in waiting for request_id in batch.request_ids}
            if any(one not in there and one not in held for one in left):
                continue  # requests that were refused for their form are submitted again
            if held:
                self.running.report_waiting(len(held), await asyncio.to_thread(self.writer.cache.holders, held))
                await asyncio.sleep(HELD_S)
            elif left:
                # Do not wait for a server that is unreachable or never finishes.
                away = any(time.monotonic() - since > OUTAGE_S for since, _ in self._silent.values())
                endless = any(time.time() - batch.submitted_at > 2 * WITHIN_S for batch in waiting)
                if self.model.batch != "wait" or away or endless:
                    break
                self.running.report_waiting(len(left), [f"batch {batch.batch_id}" for batch in waiting[:3]])
                await asyncio.sleep(next(pauses))
        why = next((f" (no status from the server: {said})" for _, said in self._silent.values()), "")
        said = f"pending in a batch at the server{why}; run the same command again later, or with --wait"
        for request_id in left:
            self.running.count(FailedCall(request_id, "submitted", said))

    async def _settle(self, left: dict[str, Call]) -> None:
        """Remove requests that have ended elsewhere."""
        known = await self.running.settled(list(left))
        for request_id in [one for one in left if one in known]:
            left.pop(request_id)

    async def _waiting(self, request_ids: Iterable[str]) -> list[Submitted]:
        return await asyncio.to_thread(self.submissions.find_pending, list(request_ids), self.endpoint)

    async def _submit(self, left: dict[str, Call]) -> list[str]:
        """Submit requests that are in no batch yet, and finish batches whose creation was interrupted by a kill.

        Returns the ids that another process is submitting or asking.
        """
        waiting = await self._waiting(left)
        halves = [batch for batch in waiting if batch.batch_id is None]
        made = {request_id for batch in waiting if batch.batch_id for request_id in batch.request_ids}
        wanted = [request_id for request_id in left if request_id not in made]
        if not wanted:
            return []
        cache, holder = self.writer.cache, self.writer.holder
        # Creating a batch requires the claim on each request: one that is not granted is being batched elsewhere.
        granted = await asyncio.to_thread(cache.claim, wanted, holder=holder, lease_s=LEASE_S)
        try:
            for half in halves:
                if not set(half.request_ids) <= granted:
                    continue
                # Its creation was interrupted; it is forgotten only if it stays unlisted.
                left_s = min(SOUGHT_S, half.submitted_at + SOUGHT_S - time.time())
                if batch_id := await self._found(half.token, left_s, len(half.request_ids)):
                    await asyncio.to_thread(self.submissions.mark_submitted, half.token, batch_id)
                    event("batch_found", model=self.model.name, batch=batch_id, requests=len(half.request_ids))
                else:
                    await asyncio.to_thread(self.submissions.end, half.request_ids)
            await self._settle(left)
            there = {request_id for batch in await self._waiting(wanted) for request_id in batch.request_ids}
            fresh = [one for one in wanted if one in granted and one not in there and one in left]
            for portion in portions({one: left[one] for one in fresh}, self.model):
                await self._make(portion, left)
        finally:
            await asyncio.shield(asyncio.to_thread(cache.release, wanted, holder=holder))
        return [one for one in wanted if one in left and one not in granted and one not in there]

    async def _found(self, token: str, seconds: float, n: int) -> str | None:
        """Poll the server's list for a token's batch for up to `seconds`: it may appear late."""
        until, pauses = time.monotonic() + seconds, _pauses(LOOK_S)
        while not (batch_id := await self._trying(lambda: self.server.find(token))):
            if (rest := until - time.monotonic()) <= 0:
                return None
            self.running.report_waiting(n, [SOUGHT])
            await asyncio.sleep(min(rest, next(pauses)))
        return batch_id

    async def _make(self, portion: Mapping[str, Call], left: dict[str, Call]) -> None:
        """Create a batch; requests that cannot be submitted end with the reason."""
        token = uuid.uuid4().hex
        begun, names = self.submissions.begin, list(portion)
        await asyncio.to_thread(begun, token, self.endpoint, names, form=self.server.dialect.lessons)
        maybe = False
        try:
            file = await self._trying(lambda: self.server.upload(portion, token))
            maybe = True
            batch_id = await self._created(file, token, len(portion))
        except CallError as error:
            if not maybe or error.kind not in RETRIED:  # else it may exist, which the next run finds out
                await asyncio.to_thread(self.submissions.end, names)
            none = CallError(error.kind, f"no batch was created: {error.message}")
            return await self._refuse(dict.fromkeys(names, none), left)
        await asyncio.to_thread(self.submissions.mark_submitted, token, batch_id)
        event("batch_submitted", model=self.model.name, batch=batch_id, requests=len(portion))
        return None

    async def _created(self, file: str, token: str, n: int) -> str:
        """Create a batch from a file; if the response is lost, look for the batch before creating it again."""
        doubtful = False

        async def once() -> str:
            nonlocal doubtful
            if doubtful and (found := await self._found(token, SOUGHT_S, n)):
                return found
            await asyncio.to_thread(self.submissions.mark_asked, token)
            doubtful = True
            try:
                return await self.server.create(file, token)
            except CallError as error:
                doubtful = error.kind in RETRIED - {"rate_limit"}
                raise

        return await self._trying(once)

    async def _collect(self, batch: Submitted, batch_id: str, left: dict[str, Call]) -> None:
        """Cache the results of a finished batch and remove its requests from `left`."""
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
        # Other requests of the same batch are collected by the runs that need them.
        own = {one: found.get(one) or _unanswered(batch_id, state) for one in batch.request_ids}
        kept = [
            Remembered(request_id, mask(reply), state.seconds, self.model.name)
            for request_id, reply in own.items()
            if isinstance(reply, Reply)
        ]
        for start in range(0, len(kept), CHUNK):
            await asyncio.to_thread(self.writer.cache.remember, kept[start : start + CHUNK])
        refused = {one: error for one, error in own.items() if isinstance(error, CallError)}
        if self.server.dialect.lessons != batch.form:  # those refused for their form are submitted in the new one
            await asyncio.to_thread(self.submissions.learn, self.endpoint, self.server.dialect.lessons)
            refused = {one: error for one, error in refused.items() if error.kind != "invalid"}
        await asyncio.to_thread(self.submissions.end, list(own))
        event("batch_collected", model=self.model.name, batch=batch_id, status=state.status, answered=len(kept))
        for entry in kept:
            left.pop(entry.request_id, None)
            self.running.count(entry)
        return await self._refuse(refused, left)

    async def _refuse(self, refused: Mapping[str, CallError], left: dict[str, Call]) -> None:
        """End requests with errors, for everyone waiting for them in this run."""
        failures = [FailedCall(one, error.kind, error.message) for one, error in refused.items()]
        await asyncio.to_thread(self.writer.fail, failures)
        for failure in failures:
            left.pop(failure.request_id, None)
            self.running.count(failure)

    async def _unsaid(self, batch: Submitted, batch_id: str, error: CallError, left: dict[str, Call]) -> None:
        """Handle a server that does not report a batch's state: it is unreachable, lost the batch, or refuses."""
        if error.kind in RETRIED or (error.kind == "missing" and time.time() - batch.submitted_at < WITHIN_S):
            since, _ = self._silent.get(batch_id, (time.monotonic(), ""))
            self._silent[batch_id] = since, error.message
            return
        self._silent.pop(batch_id, None)
        if error.kind == "missing":
            await asyncio.to_thread(self.submissions.end, batch.request_ids)
            event("batch_lost", model=self.model.name, batch=batch_id, requests=len(batch.request_ids))
            error = CallError(
                "missing", f"batch {batch_id} is lost: {error.message}; {_AGAIN}, which may cost extra"
            )
        await self._refuse(dict.fromkeys(batch.request_ids, error), left)

    async def _trying(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run an operation at the server, retrying while the server is unreachable."""

        def passing(error: Exception) -> bool | float:
            return isinstance(error, CallError) and error.kind in RETRIED and (error.retry_after_s or True)

        async for attempt in stamina.retry_context(
            on=passing, attempts=None, timeout=min(RETRY_S, self.model.deadline_s), wait_initial=0.25, wait_max=20.0
        ):
            with attempt:
                return await work()
        raise AssertionError("unreachable: the loop ends by return or raise")


def _pauses(longest_s: float) -> Iterator[float]:
    """Yield the seconds between polls, the longest without end."""
    pause_s = FIRST_S
    while True:
        yield min(pause_s, longest_s)
        pause_s = min(2 * pause_s, longest_s)


def _unanswered(batch_id: str, state: BatchState) -> CallError:
    """Return the error of a request that the results of its finished batch do not include."""
    said = f"batch {batch_id} is {state.status}{f' ({state.message})' if state.message else ''}"
    if state.status in {"expired", "cancelled"}:
        return CallError("expired" if state.status == "expired" else "cancelled", f"{said}; {_AGAIN}")
    if state.status == "failed":
        return CallError("invalid", f"{said}; fix that, or set batch: off to ask directly")
    return CallError("missing", f"{said}, and this request is in none of its files; {_AGAIN}")


def portions(calls: Mapping[str, Call], model: Model) -> Sequence[dict[str, Call]]:
    """Split calls into batches that a server accepts and whose results fit the response size limit."""
    # A reply's tokens as JSON, and the server's overhead around them.
    each = max(1, min(MOST, model.max_response_bytes // (2_000 + 8 * model.token_limit)))
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
