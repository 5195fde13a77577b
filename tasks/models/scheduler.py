"""Ask models: one event loop in one thread for the whole process, so that every endpoint has one set of limits.

Retries (in one layer), deadlines, bounded concurrency, claims so that no two batches or workers ask the same
request, durable replies as they arrive, and a stop that keeps everything answered. A claim always ends with its
call, so that waiting for a claim cannot deadlock.
"""

import asyncio
import gc
import hashlib
import threading
import uuid
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import wait
from typing import Any, TypeVar

from basic_control.config.settings import Model
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError, Stopped, quote_first
from basic_control.data.records import Call
from basic_control.tasks.models.batch_queue import BatchQueue
from basic_control.tasks.models.budget import RunBudget
from basic_control.tasks.models.protocol import Client
from basic_control.tasks.models.rate_limits import Endpoint, digest_entry, find_endpoint
from basic_control.tasks.models.readiness import count_connections
from basic_control.tasks.models.running import GRACE_S, BatchProgress, CallResult, RunningBatch
from basic_control.tasks.models.writer import Writer
from basic_control.tasks.store.reply_cache import Remembered, ReplyCache, name_owner
from basic_control.tasks.store.submissions import Submissions

__all__ = ["BatchProgress", "CallResult", "EventLoopThread", "ask_all", "event_loop_thread", "stop"]

NOTED_S = 0.2
"""How long it may take all threads to notice a signal."""
T = TypeVar("T")


class EventLoopThread:
    """The process's asking thread: its loop, its endpoints, and the running batches.

    Starting it makes garbage collections rare in the whole process.
    """

    def __init__(self) -> None:
        # Every call leaves objects behind; by default every 700 of them trigger a garbage collection.
        gc.set_threshold(50_000, 20, 100)
        self.loop = asyncio.new_event_loop()
        self.endpoints: dict[str, Endpoint] = {}
        self.batches: set[RunningBatch] = set()
        self.stopping = threading.Event()
        threading.Thread(target=self.loop.run_forever, name="asking", daemon=True).start()

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
    # Concurrent first calls would each start one, and share clients between two loops.
    with _starting:
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
        batch.stop(GRACE_S)
    return sum(len(batch.flying) for batch in batches)


def digest_way(model: Model) -> str:
    """Return a hash of what decides whether all calls to a model fail: the rest is in their request ids."""
    access = (model.api_key_env, model.api_key_header, model.api_key_query, model.options, model.extra)
    patience = (model.deadline_s, model.max_response_bytes, model.batch == "off")
    return hashlib.sha256(format_canonical([*access, *patience]).encode()).hexdigest()


def _find_doubtful(
    cache: ReplyCache, client: Client, calls: Mapping[str, Any], read: Callable[[Any], Call]
) -> list[str]:
    """Return the requests whose kept replies the client doubts: these are asked for again."""
    doubts = getattr(client, "doubts", None)
    if doubts is None:
        return []
    entries = cache.lookup(list(calls))
    return [request_id for request_id, entry in entries.items() if doubts(read(calls[request_id]), entry.reply)]


async def _read_stored(batch: RunningBatch, calls: Mapping[str, Call], doubtful: Collection[str]) -> None:
    """Count the stored replies to all calls.

    Raises:
        InputError: a reply is not stored, or doubtful.
    """
    ends = await batch.settle(list(calls))
    lacking = [
        call
        for request_id, call in calls.items()
        if request_id in doubtful or not isinstance(ends.get(request_id), Remembered)
    ]
    if lacking:
        name = f"model {batch.model.name} ({batch.model.provider})"
        texts = [call.messages[-1].content for call in lacking]
        raise InputError(
            f"{name}: its server did not answer, and {len(lacking)} of {len(calls)} replies are not stored, the "
            f"first to {quote_first(texts)}. Start its server, and run again."
        )


def _make_ready(client: Client, calls: Sequence[Call]) -> None:
    """Tell a client what it will be asked, and let it import its package before the first call's time counts."""
    expect = getattr(client, "expect", None)
    if expect:
        expect(calls)
    prepare = getattr(client, "prepare", None)
    if prepare:
        prepare()


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
    stored_only: bool = False,
    budget: RunBudget | None = None,
) -> tuple[dict[str, CallResult], BatchProgress]:
    """Bring every request to an end: a cached reply, a fresh one that is durable, or an error.

    Takes (request id, call) pairs, or values that `read` turns into calls; equal ids are asked once, cached ones
    are not read. Runs on the asking loop. With `submissions` they are asked in batches. `digest`: the server's
    model digest, if any, which must not change. `run`: the run whose failures are shared; by default none.
    `stored_only`: nothing is asked. `budget`: what it may spend.

    Raises:
        InputError: the cache cannot be read or written; or it lacks a reply, and nothing may be asked.
        Stopped: the run was stopped.
    """
    distinct = dict(calls)
    shared = event_loop_thread()
    endpoint = shared.endpoints.get(digest_entry(model))
    if not endpoint:
        endpoint = Endpoint(count_connections(model.concurrency))
        shared.endpoints[digest_entry(model)] = endpoint
    tally = BatchProgress(total=len(distinct), deadline_s=model.deadline_s)
    holder = f"{name_owner()}:{uuid.uuid4().hex[:8]}"
    writer = Writer(cache, holder=holder, run=run or holder, way=digest_way(model))
    endpoint.begin(writer.run)
    batch = RunningBatch(model, client, endpoint, writer, tally, progress)
    batch.budget = budget
    # Loaded files do not change.
    batch.digest = "" if model.unit.at_once else digest
    doubtful = await asyncio.to_thread(_find_doubtful, cache, client, distinct, read)
    if stored_only:
        await _read_stored(batch, {name: read(call) for name, call in distinct.items()}, doubtful)
        return batch.answers, tally
    await asyncio.to_thread(cache.forget, doubtful)
    ends = await batch.settle(list(distinct))
    order = [request_id for request_id in distinct if request_id not in ends]
    # What an earlier run did not get to ask comes first.
    missed = await asyncio.to_thread(writer.find_missed, order)
    order.sort(key=lambda request_id: request_id not in missed)
    pending = [(request_id, read(distinct[request_id])) for request_id in order]
    progress(tally)
    if pending:
        _make_ready(client, [call for _, call in pending])
        async with batch.lease.renew_claims(cache, holder):
            shared.batches.add(batch)
            try:
                if shared.stopping.is_set():
                    raise Stopped
                if submissions is not None:
                    queue = BatchQueue(batch, submissions, f"{find_endpoint(model)} {model.server_name}")
                    await batch.await_until_stopped(queue.bring(dict(pending)))
                    return batch.answers, tally
                await batch.work(pending)
                if batch.digest:
                    await batch.check_digest()
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from None
            finally:
                shared.batches.discard(batch)
                await asyncio.shield(writer.settle())
                unanswered = [request_id for request_id in order if request_id not in batch.answers]
                if unanswered:
                    await asyncio.shield(asyncio.to_thread(cache.release, unanswered, holder=holder))
    return batch.answers, tally
