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
from basic_control.tasks.runtime.logs import log_event
from basic_control.tasks.runtime.secrets import mask_keys
from basic_control.tasks.store.reply_cache import FailedCall, Remembered
from basic_control.tasks.store.submissions import Submissions, Submitted

if TYPE_CHECKING:
    from basic_control.tasks.models.openai_batches import OpenAIBatches

# The arguments of a call do not belong in a log.
stamina.instrumentation.set_on_retry_hooks([])

T = TypeVar("T")
CHUNK = 1_000
"""Replies written at once."""
MAXIMUM = 50_000
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
SEARCH = "a search for their batch in the server's list"
ELSEWHERE_S = 0.5
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
        """Submit unsubmitted requests and collect results; wait for the others if the model's entry says so.

        Requests still pending when this returns end with the error `submitted`.
        """
        remaining = dict(calls)
        self.server.dialect.learn(await asyncio.to_thread(self.submissions.form, self.endpoint))
        pauses = _yield_pauses(POLL_S)
        while remaining:
            with self.running.finish_despite_stop():
                elsewhere = await self._submit(remaining)
            for batch in await self._find_pending(remaining):
                if batch.batch_id is not None:
                    with self.running.finish_despite_stop():
                        await self._collect(batch, batch.batch_id, remaining)
            await self._settle(remaining)
            batches = await self._find_pending(remaining)
            # Requests that were refused for their form are submitted again.
            if remaining.keys() - _list_requests(batches) - set(elsewhere):
                continue
            if elsewhere:
                holders = await asyncio.to_thread(self.writer.cache.holders, elsewhere)
                self.running.report_waiting(len(elsewhere), holders)
                await asyncio.sleep(ELSEWHERE_S)
            elif remaining:
                # Do not wait for a server that is unreachable or never finishes.
                is_away = any(time.monotonic() - since > OUTAGE_S for since, _ in self._silent.values())
                is_endless = any(time.time() - batch.submitted_at > 2 * WITHIN_S for batch in batches)
                if self.model.batch != "wait" or is_away or is_endless:
                    break
                self.running.report_waiting(len(remaining), [f"batch {batch.batch_id}" for batch in batches[:3]])
                await asyncio.sleep(next(pauses))
        why = next((f" (no status from the server: {message})" for _, message in self._silent.values()), "")
        message = f"pending in a batch at the server{why}; run the same command again later, or with --wait"
        for request_id in remaining:
            self.running.count(FailedCall(request_id, "submitted", message))

    async def _settle(self, remaining: dict[str, Call]) -> None:
        """Remove requests that have ended elsewhere."""
        for request_id in await self.running.settle(list(remaining)):
            remaining.pop(request_id, None)

    async def _find_pending(self, request_ids: Iterable[str]) -> list[Submitted]:
        return await asyncio.to_thread(self.submissions.find_pending, list(request_ids), self.endpoint)

    async def _submit(self, remaining: dict[str, Call]) -> list[str]:
        """Submit requests that are in no batch yet, and finish batches whose creation was interrupted by a kill.

        Returns the ids that another process is submitting or asking.
        """
        batches = await self._find_pending(remaining)
        unfinished = [batch for batch in batches if batch.batch_id is None]
        in_batches = _list_requests(batch for batch in batches if batch.batch_id)
        request_ids = [request_id for request_id in remaining if request_id not in in_batches]
        if not request_ids:
            return []
        cache, holder = self.writer.cache, self.writer.holder
        # Creating a batch requires the claim on each request: one that is not granted is being batched elsewhere.
        granted = await asyncio.to_thread(cache.claim, request_ids, holder=holder, lease_s=LEASE_S)
        try:
            for batch in unfinished:
                if granted.issuperset(batch.request_ids):
                    await self._finish_creation(batch)
            await self._settle(remaining)
            submitted = _list_requests(await self._find_pending(request_ids))
            free = (remaining.keys() & granted) - submitted
            calls = {request_id: remaining[request_id] for request_id in request_ids if request_id in free}
            for portion in split_into_portions(calls, self.model):
                await self._make(portion, remaining)
        finally:
            await asyncio.shield(asyncio.to_thread(cache.release, request_ids, holder=holder))
        elsewhere = remaining.keys() - granted - submitted
        return [request_id for request_id in request_ids if request_id in elsewhere]

    async def _finish_creation(self, batch: Submitted) -> None:
        """Look for a batch whose creation was interrupted; it is forgotten only if it stays unlisted."""
        search_s = min(SOUGHT_S, batch.submitted_at + SOUGHT_S - time.time())
        batch_id = await self._wait_until_listed(batch.token, search_s, len(batch.request_ids))
        if batch_id:
            await asyncio.to_thread(self.submissions.mark_submitted, batch.token, batch_id)
            log_event("batch_found", model=self.model.name, batch=batch_id, requests=len(batch.request_ids))
        else:
            await asyncio.to_thread(self.submissions.end, batch.request_ids)

    async def _wait_until_listed(self, token: str, search_s: float, n_requests: int) -> str | None:
        """Return the batch of a token once the server lists it, which may be late; None after `search_s`."""
        until, pauses = time.monotonic() + search_s, _yield_pauses(LOOK_S)
        while not (batch_id := await self._retry(lambda: self.server.find(token))):
            remaining_s = until - time.monotonic()
            if remaining_s <= 0:
                return None
            self.running.report_waiting(n_requests, [SEARCH])
            await asyncio.sleep(min(remaining_s, next(pauses)))
        return batch_id

    async def _make(self, portion: Mapping[str, Call], remaining: dict[str, Call]) -> None:
        """Create a batch; requests that cannot be submitted end with the reason."""
        token = uuid.uuid4().hex
        begin, request_ids = self.submissions.begin, list(portion)
        await asyncio.to_thread(begin, token, self.endpoint, request_ids, form=self.server.dialect.lessons)
        may_exist = False
        try:
            file = await self._retry(lambda: self.server.upload(portion, token))
            may_exist = True
            batch_id = await self._create(file, token, len(portion))
        except CallError as error:
            # Whether a batch exists that may do so is found out by the next run.
            if not may_exist or error.kind not in RETRIED:
                await asyncio.to_thread(self.submissions.end, request_ids)
            refusal = CallError(error.kind, f"no batch was created: {error.message}")
            return await self._end_refused(dict.fromkeys(request_ids, refusal), remaining)
        await asyncio.to_thread(self.submissions.mark_submitted, token, batch_id)
        log_event("batch_submitted", model=self.model.name, batch=batch_id, requests=len(portion))
        return None

    async def _create(self, file: str, token: str, n_requests: int) -> str:
        """Create a batch from a file; if the response is lost, look for the batch before creating it again."""
        is_doubtful = False

        async def create_once() -> str:
            nonlocal is_doubtful
            batch_id = await self._wait_until_listed(token, SOUGHT_S, n_requests) if is_doubtful else None
            if batch_id:
                return batch_id
            await asyncio.to_thread(self.submissions.mark_asked, token)
            is_doubtful = True
            try:
                return await self.server.create(file, token)
            except CallError as error:
                is_doubtful = error.kind in RETRIED - {"rate_limit"}
                raise

        return await self._retry(create_once)

    async def _collect(self, batch: Submitted, batch_id: str, remaining: dict[str, Call]) -> None:
        """Cache the results of a finished batch and remove its requests from `remaining`."""
        calls = {request_id: remaining[request_id] for request_id in batch.request_ids if request_id in remaining}

        async def read_results() -> dict[str, Reply | CallError]:
            return {request_id: end async for request_id, end in self.server.results(state, calls, batch.form)}

        try:
            state = await self._retry(lambda: self.server.look(batch_id))
            results = await self._retry(read_results) if state.over else {}
        except CallError as error:
            return await self._handle_silence(batch, batch_id, error, remaining)
        self._silent.pop(batch_id, None)
        if not state.over:
            return None
        # Other requests of the same batch are collected by the runs that need them.
        entries: list[Remembered] = []
        refusals: dict[str, CallError] = {}
        for request_id in batch.request_ids:
            end = results.get(request_id) or _explain_absence(batch_id, state)
            if isinstance(end, Reply):
                entries.append(Remembered(request_id, mask_keys(end), state.seconds, self.model.name))
            else:
                refusals[request_id] = end
        for start in range(0, len(entries), CHUNK):
            await asyncio.to_thread(self.writer.cache.remember, entries[start : start + CHUNK])
        # Those refused for their form are submitted in the new one.
        if self.server.dialect.lessons != batch.form:
            await asyncio.to_thread(self.submissions.learn, self.endpoint, self.server.dialect.lessons)
            refusals = {request_id: error for request_id, error in refusals.items() if error.kind != "invalid"}
        await asyncio.to_thread(self.submissions.end, list(batch.request_ids))
        log_event(
            "batch_collected", model=self.model.name, batch=batch_id, status=state.status, answered=len(entries)
        )
        for entry in entries:
            remaining.pop(entry.request_id, None)
            self.running.count(entry)
        return await self._end_refused(refusals, remaining)

    async def _end_refused(self, refusals: Mapping[str, CallError], remaining: dict[str, Call]) -> None:
        """End requests with errors, for everyone waiting for them in this run."""
        failures = [FailedCall(request_id, error.kind, error.message) for request_id, error in refusals.items()]
        await asyncio.to_thread(self.writer.fail, failures)
        for failure in failures:
            remaining.pop(failure.request_id, None)
            self.running.count(failure)

    async def _handle_silence(
        self, batch: Submitted, batch_id: str, error: CallError, remaining: dict[str, Call]
    ) -> None:
        """Handle a server that does not report a batch's state: it is unreachable, lost the batch, or refuses."""
        is_young = time.time() - batch.submitted_at < WITHIN_S
        if error.kind in RETRIED or (error.kind == "missing" and is_young):
            since, _ = self._silent.get(batch_id, (time.monotonic(), ""))
            self._silent[batch_id] = since, error.message
            return
        self._silent.pop(batch_id, None)
        if error.kind == "missing":
            await asyncio.to_thread(self.submissions.end, batch.request_ids)
            log_event("batch_lost", model=self.model.name, batch=batch_id, requests=len(batch.request_ids))
            error = CallError(
                "missing", f"batch {batch_id} is lost: {error.message}; {_AGAIN}, which may cost extra"
            )
        await self._end_refused(dict.fromkeys(batch.request_ids, error), remaining)

    async def _retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run an operation at the server, retrying while the server is unreachable."""

        def find_wait(error: Exception) -> bool | float:
            return isinstance(error, CallError) and error.kind in RETRIED and (error.retry_after_s or True)

        async for attempt in stamina.retry_context(
            on=find_wait,
            attempts=None,
            timeout=min(RETRY_S, self.model.deadline_s),
            wait_initial=0.25,
            wait_max=20.0,
        ):
            with attempt:
                return await work()
        raise AssertionError("unreachable: the loop ends by return or raise")


def _list_requests(batches: Iterable[Submitted]) -> set[str]:
    """Return the ids of the requests in some batches."""
    return set[str]().union(*(batch.request_ids for batch in batches))


def _yield_pauses(longest_s: float) -> Iterator[float]:
    """Yield the seconds between polls, the longest without end."""
    pause_s = FIRST_S
    while True:
        yield min(pause_s, longest_s)
        pause_s = min(2 * pause_s, longest_s)


def _explain_absence(batch_id: str, state: BatchState) -> CallError:
    """Return the error of a request that the results of its finished batch do not include."""
    text = f"batch {batch_id} is {state.status}{f' ({state.message})' if state.message else ''}"
    if state.status == "expired":
        return CallError("expired", f"{text}; {_AGAIN}")
    if state.status == "cancelled":
        return CallError("cancelled", f"{text}; {_AGAIN}")
    if state.status == "failed":
        return CallError("invalid", f"{text}; fix that, or set batch: off to ask directly")
    return CallError("missing", f"{text}, and this request is in none of its files; {_AGAIN}")


def split_into_portions(calls: Mapping[str, Call], model: Model) -> Sequence[dict[str, Call]]:
    """Split calls into batches that a server accepts and whose results fit the response size limit."""
    # A reply's tokens as JSON, and the server's overhead around them.
    limit = max(1, min(MAXIMUM, model.max_response_bytes // (2_000 + 8 * model.token_limit)))
    portions: list[dict[str, Call]] = []
    size = 0
    for request_id, call in calls.items():
        weight = sum(len(message.content) for message in call.messages) + 2_000
        if not portions or len(portions[-1]) >= limit or size + weight > LARGEST:
            portions.append({})
            size = 0
        portions[-1][request_id] = call
        size += weight
    return portions
