"""Ask models: one event loop in one thread for the whole process, so that every endpoint has one set of limits.

Retries (one layer, stamina), deadlines, bounded concurrency, claims so that no two batches or workers ask the
same request, durable replies as they arrive, and a stop that keeps everything answered.
"""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import stamina
import stamina.instrumentation

from artifacts.replies import Remembered, ReplyCache, batched, owner
from artifacts.submissions import Submissions
from config.settings import Model
from data.draw import canonical
from data.errors import InputError
from data.records import Call, Reply
from tasks.models.batches import Desk
from tasks.models.constancy import Constancy
from tasks.models.protocol import RETRIED, CallError, Client
from tasks.models.rate_limits import Endpoint, too_long
from tasks.models.writer import Writer

LEASE_S = 60.0
POLL_S = 0.5
T = TypeVar("T")

# Retries are shown in the progress bar; the arguments of a call do not belong in a log.
stamina.instrumentation.set_on_retry_hooks([])


class Stopped(Exception):  # noqa: N818 - said of a run
    """The run was stopped; everything answered so far is kept."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request ended: with a reply, fresh or remembered, or with an error."""

    request_id: str
    reply: Reply | None
    latency_s: float
    cached: bool
    error: CallError | None = None


@dataclass(slots=True)
class Tally:
    """What a batch has come to so far; handed to the progress callback after every change."""

    total: int
    cached: int = 0
    answered: int = 0
    failed: int = 0
    submitted: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    limit: int = 0
    first_s: float = 0.0
    last_s: float = 0.0

    @property
    def done(self) -> int:
        """Requests that have ended."""
        return self.cached + self.answered + self.failed + self.submitted


class _Line:
    """The process's asking thread: its loop and its endpoints."""

    def __init__(self) -> None:
        # Every call leaves objects behind; by default each 700 of them set off a search for garbage.
        gc.set_threshold(50_000, 20, 100)
        self.loop = asyncio.new_event_loop()
        self.endpoints: dict[str, Endpoint] = {}
        self.stopping = threading.Event()
        threading.Thread(target=self._run, name="asking", daemon=True).start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it; an interrupt or a stop cancels it."""
        if self.stopping.is_set():
            coroutine.close()
            raise Stopped
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            while True:
                try:
                    # Short waits, since a stop must be seen from any thread.
                    return future.result(timeout=0.1)
                except TimeoutError:
                    if future.done():
                        return future.result()
                    if self.stopping.is_set():
                        raise Stopped from None
        except BaseException:
            future.cancel()
            raise


@cache
def line() -> _Line:
    """Return the process's asking thread, started at first use."""
    return _Line()


def stop() -> None:
    """Stop asking, from any thread or signal handler; everything answered so far is kept."""
    line().stopping.set()


def endpoint_of(model: Model) -> str:
    """Return what models share a server by: this machine's cores, or the provider and its address."""
    if model.unit.at_once:
        return f"{model.provider} {model.concurrency}"
    return f"{model.provider} {model.base_url or model.file or canonical(model.options)}"


async def _attempts(client: Client, call: Call, endpoint: Endpoint, model: Model) -> tuple[Reply, float]:
    """Ask until a reply comes or no more tries make sense; return it with the last attempt's latency.

    The deadline counts from the first attempt and leaves out the time spent waiting for a free slot.
    """
    last: CallError | None = None
    loop = asyncio.get_running_loop()

    def decide(error: Exception) -> bool | float:
        return isinstance(error, CallError) and error.kind in RETRIED and (error.retry_after_s or True)

    async def once() -> tuple[Reply, float]:
        nonlocal last
        # Waiting for a slot is our own doing, and does not count against the call.
        left = model.deadline_s if limit.when() is None else (limit.when() or 0.0) - loop.time()
        limit.reschedule(None)
        async with endpoint.slot(model.deadline_s):
            limit.reschedule(loop.time() + left)
            started = time.monotonic()
            _refuse(endpoint, model)
            try:
                reply = await client.ask(call)
            except CallError as error:
                last = error
                endpoint.failed(error, started, model.name, model.deadline_s)
                if (wait_s := error.retry_after_s or 0.0) > model.deadline_s:
                    raise CallError("timeout", f"{error.message}{too_long(wait_s, model.deadline_s)}") from None
                raise
            endpoint.succeeded()
            return reply, time.monotonic() - started

    try:
        async with asyncio.timeout(None) as limit:
            try:
                return await once()
            except CallError as error:
                failed: CallError | None = error
            async for attempt in stamina.retry_context(
                on=decide, attempts=None, timeout=None, wait_initial=0.25, wait_max=20.0, wait_jitter=0.5
            ):
                with attempt:
                    # The first attempt is made before the retries are set up, which costs as much as the rest of a
                    # call's bookkeeping, and most calls need none.
                    if failed:
                        refused, failed = failed, None
                        raise refused
                    return await once()
    except TimeoutError as error:
        said = f"; the last attempt: {last.message}" if last else ""
        raise CallError("timeout", f"no reply within {model.deadline_s:g} s (deadline_s){said}") from error
    raise AssertionError("unreachable: the loop ends by return or raise")


def _refuse(endpoint: Endpoint, model: Model) -> None:
    """Raise what every further call of this endpoint would meet as well."""
    if broken := endpoint.broken.get(model.name):
        raise broken
    if endpoint.closed and time.monotonic() < endpoint.closed_until:
        raise endpoint.closed
    if endpoint.down_since and time.monotonic() - endpoint.down_since > model.deadline_s:
        raise CallError("timeout", f"the server has been down for more than {model.deadline_s:g} s (deadline_s)")


@dataclass
class _Batch:
    """One batch on its way: what it shares, and what it has come to."""

    model: Model
    client: Client
    cache: ReplyCache
    endpoint: Endpoint
    writer: Writer
    tally: Tally
    progress: Callable[[Tally], None]
    holder: str
    answers: dict[str, Answer] = field(default_factory=dict)
    constancy: Constancy | None = None

    @asynccontextmanager
    async def watched(self, digest: str) -> AsyncIterator[None]:
        """See to it that the model stays the same while the block runs; files that are loaded do."""
        if not digest or self.model.unit.at_once:
            yield
            return
        self.constancy = Constancy(self.client, digest, self.take_back)
        async with self.constancy.watched():
            yield

    async def take_back(self, request_ids: Sequence[str], error: CallError) -> None:
        """Forget replies that may be another model's; they end as errors, as all calls that are left do."""
        self.endpoint.broken.setdefault(self.model.name, error)
        await asyncio.to_thread(self.cache.forget, request_ids)
        for request_id in request_ids:
            reply = self.answers[request_id].reply
            self.tally.answered -= 1
            if reply:
                self.tally.tokens_in -= reply.tokens_in or 0
                self.tally.tokens_out -= reply.tokens_out or 0
            self._count(Answer(request_id, None, 0.0, cached=False, error=error))

    async def _ask(self, request_id: str, call: Call) -> Remembered | None:
        """Ask one request; an error is counted, a reply is returned to be kept."""
        if not self.tally.first_s:
            self.tally.first_s = time.monotonic()
        try:
            reply, latency_s = await _attempts(self.client, call, self.endpoint, self.model)
        except CallError as error:
            self._count(Answer(request_id, None, 0.0, cached=False, error=error))
            return None
        self.tally.last_s = time.monotonic()
        return Remembered(request_id, reply, latency_s, self.model.name)

    def recall(self, entries: Mapping[str, Remembered]) -> None:
        """Take remembered replies over."""
        for entry in entries.values():
            self._count(Answer(entry.request_id, entry.reply, entry.latency_s, cached=True))

    def _count(self, answer: Answer) -> None:
        self.answers[answer.request_id] = answer
        tally = self.tally
        if answer.cached:
            tally.cached += 1
        elif answer.error and answer.error.kind == "submitted":
            tally.submitted += 1
        elif answer.error:
            tally.failed += 1
        else:
            tally.answered += 1
        if answer.reply:
            tally.tokens_in += answer.reply.tokens_in or 0
            tally.tokens_out += answer.reply.tokens_out or 0
        tally.limit = int(self.endpoint.limit)
        self.progress(tally)

    async def submit(self, pending: list[tuple[str, Call]], submissions: Submissions) -> None:
        """Ask by way of the server's batch endpoint."""
        make = self.model.unit.batches
        if make is None:
            raise InputError(f"model {self.model.name}: provider {self.model.provider} has no batch endpoint.")

        def ended(request_id: str, found: Remembered | CallError) -> None:
            if isinstance(found, CallError):
                self._count(Answer(request_id, None, 0.0, cached=False, error=found))
            else:
                self._count(Answer(request_id, found.reply, found.latency_s, cached=False))

        served = f"{endpoint_of(self.model)} {self.model.served}"
        await Desk(self.model, make(self.client), self.cache, submissions, served, self.holder, ended).bring(
            dict(pending)
        )

    async def work(self, pending: list[tuple[str, Call]]) -> None:
        """Claim and ask until nothing is pending; what other workers hold is waited for."""
        calls = dict(pending)
        todo = list(calls)
        while todo:
            elsewhere: list[str] = []
            # A queue of claimed requests, kept filled ahead, so that no call waits for a claim.
            claimed: asyncio.Queue[str | None] = asyncio.Queue(maxsize=2 * self.model.concurrency)
            async with asyncio.TaskGroup() as group:
                walkers = min(self.model.concurrency, len(todo))
                group.create_task(self._claim(todo, claimed, elsewhere, walkers))
                for _ in range(walkers):
                    group.create_task(self._walk(claimed, calls))
            todo = elsewhere
            if todo:
                await asyncio.sleep(POLL_S)

    async def _claim(
        self, todo: list[str], claimed: asyncio.Queue[str | None], elsewhere: list[str], walkers: int
    ) -> None:
        """Put what this worker may ask into the queue, and what another holds into `elsewhere`."""
        for window in batched(todo, 4 * self.model.concurrency):
            granted = await asyncio.to_thread(self.cache.claim, window, holder=self.holder, lease_s=LEASE_S)
            # Answered by another worker between our look-up and our claim.
            known = await asyncio.to_thread(self.cache.lookup, window)
            self.recall(known)
            if needless := [i for i in window if i in granted and i in known]:
                await asyncio.to_thread(self.cache.release, needless, holder=self.holder)
            elsewhere += [i for i in window if i not in granted and i not in known]
            for request_id in window:
                if request_id in granted and request_id not in known:
                    await claimed.put(request_id)
        for _ in range(walkers):
            await claimed.put(None)

    async def _walk(self, claimed: asyncio.Queue[str | None], calls: Mapping[str, Call]) -> None:
        """Ask one request after another.

        The next is asked only when the last reply is durable: a kill loses no more than what is in flight.
        """
        while (request_id := await claimed.get()) is not None:
            if entry := await self._ask(request_id, calls[request_id]):
                if self.constancy and self.constancy.changed:
                    self._count(Answer(request_id, None, 0.0, cached=False, error=self.constancy.changed))
                    continue
                await self.writer.remember(entry)
                self._count(Answer(entry.request_id, entry.reply, entry.latency_s, cached=False))
                if self.constancy:
                    self.constancy.doubtful.append(request_id)


@asynccontextmanager
async def _renewing(cache: ReplyCache, holder: str) -> AsyncIterator[None]:
    """Keep this process's claims alive while it asks."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
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
    progress: Callable[[Tally], None] = lambda _: None,
    submissions: Submissions | None = None,
    digest: str = "",
) -> tuple[dict[str, Answer], Tally]:
    """Bring every request to an end: a remembered reply, a fresh one that is durable, or an error.

    Takes (request id, call) pairs, or what `read` makes a call of; equal ids are asked once, remembered ones not
    read. Runs on the asking loop. With `submissions` they are asked in batches. `digest`: the server's of the
    model, where it has one, which must stay what it is.

    Raises:
        InputError: the cache cannot be read or written.
    """
    distinct = dict(calls)
    shared = line()
    endpoint = shared.endpoints.setdefault(
        endpoint_of(model), Endpoint(model.concurrency, model.requests_per_minute)
    )
    tally = Tally(total=len(distinct), limit=int(endpoint.limit))
    writer = Writer(cache)
    holder = f"{owner()}:{id(writer)}"
    batch = _Batch(model, client, cache, endpoint, writer, tally, progress, holder)
    known = await asyncio.to_thread(cache.lookup, list(distinct))
    batch.recall(known)
    pending = [(request_id, read(call)) for request_id, call in distinct.items() if request_id not in known]
    progress(tally)
    if pending:
        async with _renewing(cache, holder):
            try:
                if submissions is not None:
                    await batch.submit(pending, submissions)
                    return batch.answers, tally
                async with batch.watched(digest):
                    await batch.work(pending)
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from None
            finally:
                await asyncio.shield(writer.settle())
                unanswered = [i for i, _ in pending if i not in batch.answers or batch.answers[i].error]
                if unanswered:
                    await asyncio.shield(asyncio.to_thread(cache.release, unanswered, holder=holder))
    return batch.answers, tally
