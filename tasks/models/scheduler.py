"""Ask models: one event loop in one thread for the whole process, so that every endpoint has one set of limits.

Retries (in one layer), deadlines, bounded concurrency, claims so that no two batches or workers ask the same
request, durable replies as they arrive, and a stop that keeps everything answered. A claim always ends with its
call, so that waiting for a claim cannot deadlock.
"""

import asyncio
import gc
import hashlib
import random
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from config.settings import Model
from data.draw import canonical
from data.errors import InputError, Stopped
from data.records import Call, Reply
from tasks.models.batches import BatchQueue, Known
from tasks.models.protocol import RETRIED, CallError, Client
from tasks.models.rate_limits import Endpoint, endpoint_of
from tasks.models.readiness import connections_allowed
from tasks.models.secrets import masked
from tasks.models.writer import Writer
from tasks.runtime.logs import event
from tasks.store.replies import FailedCall, Remembered, ReplyCache, batched, owner
from tasks.store.submissions import Submissions

LEASE_S = 60.0
POLL_S = 0.5
GRACE_S = 5.0
"""How long calls in flight, already paid for, have to end when the run is stopped."""
NOTED_S = 0.2
"""How long it may take all threads to notice a signal."""
EVERY_S = 5.0
"""Interval between two checks of the server's model digest; the last is made when a batch has ended."""
FIRST_WAIT_S, LONGEST_WAIT_S, JITTER_S = 0.25, 20.0, 0.5
"""The wait before a retry doubles from first to longest, plus jitter, unless the server asks for another."""
ANSWER_S = 10.0
"""How long the server has to report its digest; being busy or unreachable does not count as a change."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of a request, and whether it is a `cached` reply."""

    end: Remembered | FailedCall
    cached: bool = False


@dataclass(slots=True)
class BatchProgress:
    """The progress of a batch; passed to the progress callback after every change.

    `elsewhere` are pending elsewhere: `holders` say who is asking them, or in what they wait.
    """

    total: int
    cached: int = 0
    answered: int = 0
    failed: int = 0
    submitted: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    first_s: float = 0.0
    last_s: float = 0.0
    elsewhere: int = 0
    holders: tuple[str, ...] = ()

    @property
    def done(self) -> int:
        """Requests that have ended."""
        return self.cached + self.answered + self.failed + self.submitted


class EventLoopThread:
    """The process's asking thread: its loop, its endpoints, and the running batches."""

    def __init__(self) -> None:
        # Every call leaves objects behind; by default every 700 of them trigger a garbage collection.
        gc.set_threshold(50_000, 20, 100)
        self.loop = asyncio.new_event_loop()
        self.endpoints: dict[str, Endpoint] = {}
        self.batches: set[_Batch] = set()
        self.stopping = threading.Event()
        threading.Thread(target=self.loop.run_forever, name="asking", daemon=True).start()

    def forgive(self) -> None:
        """Clear the fatal errors of all endpoints for the next run."""
        for endpoint in list(self.endpoints.values()):
            endpoint.forgive()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it; an interrupt or a stop ends it, see `stop`.

        Raises:
            Stopped: the run was stopped.
        """
        if self.stopping.is_set():
            coroutine.close()
            raise Stopped
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            while not self.stopping.is_set():
                try:
                    # Short waits, since a stop must be seen from any thread.
                    return future.result(timeout=0.1)
                except TimeoutError:
                    if future.done():
                        return future.result()
        finally:
            if not future.done():
                # A signal may interrupt this thread before another thread has recorded it as a stop.
                if self.stopping.wait(NOTED_S) and self.batches:
                    wait([future], GRACE_S + 1.0)
                future.cancel()
        raise Stopped


_starting = threading.Lock()
_started: list[EventLoopThread] = []


def event_loop_thread() -> EventLoopThread:
    """Return the process's asking thread, started at first use."""
    with _starting:  # concurrent first calls would each start one, and share clients between two loops
        if not _started:
            _started.append(EventLoopThread())
    return _started[0]


def stop() -> int:
    """Start no more calls, from any thread; return how many are in flight, which have `GRACE_S` to end.

    Calls in flight are already paid for. Everything answered is kept.
    """
    shared = event_loop_thread()
    shared.stopping.set()
    batches = list(shared.batches)
    for batch in batches:
        batch.stop()
    return sum(len(batch.flying) for batch in batches)


def way_of(model: Model) -> str:
    """Return a hash of what decides whether a call fails, apart from what its request id covers."""
    place = (model.api_key_env, model.api_key_header, model.api_key_query, model.options)
    patience = (model.deadline_s, model.max_response_bytes, model.batch == "off")
    return hashlib.sha256(canonical([*place, *patience]).encode()).hexdigest()


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in one
    return task


@dataclass(eq=False)
class _Batch:
    """One running batch: its shared state and its progress.

    `flying` are the tasks whose call is at the server, or whose reply is being written. `digest`: the model's, if
    it must stay the same; `doubtful` are the requests whose replies were kept since the server last reported that
    digest; `changed` is the reason why no more are kept.
    """

    model: Model
    client: Client
    cache: ReplyCache
    endpoint: Endpoint
    writer: Writer
    tally: BatchProgress
    progress: Callable[[BatchProgress], None]
    answers: dict[str, CallResult] = field(default_factory=dict)
    digest: str = ""
    changed: CallError | None = None
    doubtful: list[str] = field(default_factory=list)
    stopping: bool = False
    flying: set[asyncio.Task[Any]] = field(default_factory=set)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def stop(self) -> None:
        """Start no more calls; calls in flight may end. From any thread."""
        self._loop.call_soon_threadsafe(self._wind_down)

    def _wind_down(self) -> None:
        self.stopping = True
        self._cancel(self._tasks - self.flying)
        self._loop.call_later(GRACE_S, self._cancel, self._tasks)

    @staticmethod
    def _cancel(tasks: set[asyncio.Task[Any]]) -> None:
        for task in list(tasks):
            task.cancel()

    def _started(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self) -> None:
        """Ask the server for the model's digest; if it changed, forget the doubtful replies and end them as errors.

        All remaining calls end so too. If the server does not answer, nothing changes.
        """
        doubtful = list(self.doubtful)
        if self.changed is None:
            try:
                async with asyncio.timeout(ANSWER_S):
                    now = (await self.client.identity()).get("digest", "")
            except (CallError, TimeoutError):
                return
            if now == self.digest:
                del self.doubtful[: len(doubtful)]
                return
            doubtful = list(self.doubtful)
            self.changed = CallError(
                "unknown_model",
                f"the model was replaced on its server during the run (digest {self.digest[:12]}, now {now[:12]}"
                "); replies that may come from the new one are not kept. Run again to ask the new one",
            )
            self.endpoint.broken.setdefault(self._asker, self.changed)
        await asyncio.to_thread(self.cache.forget, doubtful)
        del self.doubtful[: len(doubtful)]  # only now: if this is cancelled, the next look does it
        for request_id in doubtful:
            if isinstance(entry := self.answers[request_id].end, Remembered):
                self.tally.answered -= 1
                self.tally.tokens_in -= entry.reply.tokens_in or 0
                self.tally.tokens_out -= entry.reply.tokens_out or 0
            self._count(FailedCall(request_id, self.changed.kind, self.changed.message))

    @asynccontextmanager
    async def monitored(self) -> AsyncIterator[None]:
        """Check periodically while the block runs that the model is the same, and once more at its end."""

        async def keep_looking() -> None:
            while self.changed is None:
                await asyncio.sleep(EVERY_S)
                await self._look()

        task = asyncio.create_task(keep_looking())
        try:
            yield
        finally:
            task.cancel()
        if self.doubtful:
            await self._look()

    async def _attempts(self, call: Call) -> tuple[Reply, float]:
        """Retry until a reply arrives or retries are pointless; return it with the last attempt's latency.

        The deadline counts from the first attempt and excludes the time spent waiting for a free slot.
        """
        last: CallError | None = None
        wait_s = FIRST_WAIT_S
        loop, deadline_s = asyncio.get_running_loop(), self.model.deadline_s
        try:
            async with asyncio.timeout(deadline_s) as limit:
                while True:
                    # Waiting for a slot is our own doing, and does not count against the call.
                    left_s = (limit.when() or 0.0) - loop.time()
                    limit.reschedule(None)
                    async with self.endpoint.slot(deadline_s):
                        limit.reschedule(loop.time() + left_s)
                        try:
                            return await self._attempt(call)
                        except CallError as error:
                            if self.stopping or error.kind not in RETRIED:
                                raise
                            last = error
                    await asyncio.sleep(last.retry_after_s or wait_s + random.uniform(0, JITTER_S))
                    wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        except TimeoutError as error:
            said = f"; the last attempt: {last.message}" if last else ""
            raise CallError("timeout", f"no reply within {deadline_s:g} s (deadline_s){said}") from error

    @property
    def _asker(self) -> tuple[str, str]:
        """The key of calls that all fail if one of them fails fatally."""
        return self.model.served, self.writer.way

    async def _attempt(self, call: Call) -> tuple[Reply, float]:
        """Ask once and record the outcome."""
        started, task = time.monotonic(), _this_task()
        self.endpoint.check(self._asker, self.model.deadline_s)
        self.flying.add(task)
        try:
            reply = masked(await self.client.ask(call))
        except CallError as error:
            self.flying.discard(task)
            raise self.endpoint.failed(error, started, self._asker, self.model) from None
        self.endpoint.succeeded()
        return reply, time.monotonic() - started

    async def _bring(self, request_id: str, call: Call) -> None:
        """Process one request: ask it, make its reply durable, release its claim, and count it."""
        if not self.tally.first_s:
            self.tally.first_s = time.monotonic()
        try:
            reply, latency_s = await self._attempts(call)
        except CallError as error:
            return await self._fail(request_id, error)
        self.tally.last_s = time.monotonic()
        if self.changed:
            return await self._fail(request_id, self.changed)
        entry = Remembered(request_id, reply, latency_s, self.model.name)
        await self.writer.keep(entry)
        self._count(entry)
        if self.digest:
            self.doubtful.append(request_id)
        return None

    async def _fail(self, request_id: str, error: CallError) -> None:
        failure = FailedCall(request_id, error.kind, error.message)
        await self.writer.keep(failure)
        self._count(failure)

    def known(self, request_ids: Sequence[str]) -> Known:
        """Return the outcomes of requests so far; for a worker thread."""
        replies = self.cache.lookup(request_ids)
        left = [one for one in request_ids if one not in replies]
        return {**replies, **self.cache.failures(left, run=self.writer.run, way=self.writer.way)}

    def _recall(self, known: Known) -> None:
        """Count the outcomes of requests so far."""
        for end in known.values():
            self._count(end, cached=isinstance(end, Remembered))

    def _count(self, end: Remembered | FailedCall, *, cached: bool = False) -> None:
        self.answers[end.request_id] = CallResult(end, cached)
        tally = self.tally
        if isinstance(end, Remembered):
            tally.cached += cached
            tally.answered += not cached
            tally.tokens_in += end.reply.tokens_in or 0
            tally.tokens_out += end.reply.tokens_out or 0
        elif end.kind == "submitted":
            tally.submitted += 1
        else:
            tally.failed += 1
        self.progress(tally)

    async def submit(self, pending: list[tuple[str, Call]], submissions: Submissions) -> None:
        """Ask through the server's batch endpoint."""
        make = self.model.unit.batches
        if make is None:
            raise InputError(f"model {self.model.name}: provider {self.model.provider} has no batch endpoint.")

        queue = BatchQueue(
            model=self.model,
            server=make(self.client),
            submissions=submissions,
            endpoint=f"{endpoint_of(self.model)} {self.model.served}",
            writer=self.writer,
            known=self.settled,
            ended=self._count,
            awaiting=self._await,
            lasting=self._lasting,
        )
        task = _this_task()
        self._tasks.add(task)
        try:
            await queue.bring(dict(pending))
        finally:
            self._tasks.discard(task)
            self._await(0, [])

    async def settled(self, request_ids: Sequence[str]) -> Known:
        """Count the outcomes of requests so far, and return them."""
        known = await asyncio.to_thread(self.known, request_ids)
        self._recall(known)
        return known

    @contextmanager
    def _lasting(self) -> Iterator[None]:
        """Let the block finish despite a stop."""
        task = _this_task()
        self.flying.add(task)
        try:
            yield
        finally:
            self.flying.discard(task)
        if self.stopping:
            raise Stopped

    async def work(self, pending: list[tuple[str, Call]]) -> None:
        """Claim and ask until nothing is pending; wait for what others hold."""
        calls = dict(pending)
        todo = list(calls)
        while todo:
            elsewhere: list[str] = []
            # A queue of claimed requests, filled ahead, so that no call waits for a claim.
            claimed: asyncio.Queue[str | None] = asyncio.Queue(maxsize=2 * self.model.concurrency)
            async with asyncio.TaskGroup() as group:
                # Slightly more than calls in flight: a slot is reused while replies are being written to disk.
                walkers = min(self.model.concurrency * 9 // 8, len(todo))
                self._started(group.create_task(self._claim(todo, claimed, elsewhere, walkers)))
                for _ in range(walkers):
                    self._started(group.create_task(self._walk(claimed, calls)))
            if self.stopping:
                raise Stopped
            todo = elsewhere
            holders = await asyncio.to_thread(self.cache.holders, todo) if todo else []
            self._await(len(todo), holders)
            if todo:
                await asyncio.sleep(POLL_S)

    def _await(self, n: int, holders: Sequence[str]) -> None:
        """Report how many requests are pending elsewhere, and who asks them, or in what they wait."""
        tally = self.tally
        if holders and not tally.holders:
            event("waiting", model=self.model.name, calls=n, holders=holders)
        if (n, tuple(holders)) != (tally.elsewhere, tally.holders):
            tally.elsewhere, tally.holders = n, tuple(holders)
            self.progress(tally)

    async def _claim(
        self, todo: list[str], claimed: asyncio.Queue[str | None], elsewhere: list[str], walkers: int
    ) -> None:
        """Put the requests this worker may ask into the queue, and those held by others into `elsewhere`."""
        for window in batched(todo, 4 * self.model.concurrency):
            granted, known = await asyncio.to_thread(self._take, window)
            self._recall(known)
            elsewhere += [one for one in window if one not in granted and one not in known]
            for request_id in window:
                if request_id in granted:
                    await claimed.put(request_id)
        for _ in range(walkers):
            await claimed.put(None)

    def _take(self, window: list[str]) -> tuple[set[str], Known]:
        """Claim requests; return those to ask here, and the outcomes of others; for a worker thread."""
        granted = self.cache.claim(window, holder=self.writer.holder, lease_s=LEASE_S)
        # Outcomes that another worker finished between our last look and the claim.
        known = self.known(window)
        if needless := [one for one in window if one in granted and one in known]:
            self.cache.release(needless, holder=self.writer.holder)
        return granted.difference(needless), known

    async def _walk(self, claimed: asyncio.Queue[str | None], calls: Mapping[str, Call]) -> None:
        """Ask one request after another.

        The next is asked only when the last reply is durable: a kill loses at most the calls in flight, and an
        eighth of that on its way to the disk.
        """
        while not self.stopping and (request_id := await claimed.get()) is not None:
            try:
                await self._bring(request_id, calls[request_id])
            finally:
                self.flying.discard(_this_task())


@asynccontextmanager
async def _renewing(cache: ReplyCache, holder: str) -> AsyncIterator[None]:
    """Renew this process's claims while it asks."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(InputError):  # the database may be back at the next renewal
                await asyncio.to_thread(cache.renew, holder=holder, lease_s=LEASE_S)

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()


async def ask_all(
    calls: Sequence[tuple[str, Any]],
    *,
    read: Callable[[Any], Call] = lambda call: call,
    model: Model,
    client: Client,
    cache: ReplyCache,
    progress: Callable[[BatchProgress], None] = lambda _: None,
    submissions: Submissions | None = None,
    digest: str = "",
    run: str = "",
) -> tuple[dict[str, CallResult], BatchProgress]:
    """Bring every request to an end: a cached reply, a fresh one that is durable, or an error.

    Takes (request id, call) pairs, or values that `read` turns into calls; equal ids are asked once, cached ones
    are not read. Runs on the asking loop. With `submissions` they are asked in batches. `digest`: the server's
    model digest, if any, which must not change. `run`: the run whose failures are shared; by default none.

    Raises:
        InputError: the cache cannot be read or written.
        Stopped: the run was stopped.
    """
    distinct = dict(calls)
    shared = event_loop_thread()
    if not (endpoint := shared.endpoints.get(endpoint_of(model))):
        most = connections_allowed(model.concurrency)
        endpoint = shared.endpoints.setdefault(endpoint_of(model), Endpoint(most, model.requests_per_minute))
    tally = BatchProgress(total=len(distinct))
    holder = f"{owner()}:{uuid.uuid4().hex[:8]}"
    writer = Writer(cache, holder=holder, run=run or holder, way=way_of(model))
    batch = _Batch(model, client, cache, endpoint, writer, tally, progress)
    batch.digest = "" if model.unit.at_once else digest  # loaded files do not change
    known = await batch.settled(list(distinct))
    pending = [(request_id, read(call)) for request_id, call in distinct.items() if request_id not in known]
    progress(tally)
    if pending:
        batch.client = getattr(client, "opened", client)  # before the first call's time counts
        async with _renewing(cache, holder):
            shared.batches.add(batch)
            try:
                if shared.stopping.is_set():
                    raise Stopped
                if submissions is not None:
                    await batch.submit(pending, submissions)
                    return batch.answers, tally
                async with batch.monitored() if batch.digest else nullcontext():
                    await batch.work(pending)
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from None
            finally:
                shared.batches.discard(batch)
                await asyncio.shield(writer.settle())
                if left := [request_id for request_id, _ in pending if request_id not in batch.answers]:
                    await asyncio.shield(asyncio.to_thread(cache.release, left, holder=holder))
    return batch.answers, tally
