"""A batch of calls to one model while it runs: its claims, retries, outcomes and progress."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from basic_control.config.settings import Model
from basic_control.data.errors import Stopped
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.budget import RunBudget
from basic_control.tasks.models.leases import LEASE_S, Lease
from basic_control.tasks.models.protocol import NOT_ASKED, RETRIED, TRIES, UNASKED, CallError, Client, ErrorKind
from basic_control.tasks.models.rate_limits import Endpoint
from basic_control.tasks.models.writer import Writer
from basic_control.tasks.runtime.logs import log_event
from basic_control.tasks.runtime.secrets import mask_keys
from basic_control.tasks.store.reply_cache import FailedCall, Remembered

POLL_S = 0.5
GRACE_S = 5.0
"""How long calls in flight, already paid for, have to end when the run is stopped, or its time is over."""
FIRST_WAIT_S, LONGEST_WAIT_S, JITTER_S = 0.25, 20.0, 0.5
"""The wait before a retry doubles from first to longest, plus jitter, unless the server asks for another."""
ANSWER_S = 10.0
"""How long the server has to report its digest; being busy or unreachable does not count as a change."""

Claimed = asyncio.Queue[tuple[list[str], int] | None]
"""Requests that are asked together, with the term of the lease in which they were claimed."""
Ends = Mapping[str, Remembered | FailedCall]
"""Outcomes of requests so far: replies of any run, and failures of this one."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of a request, and whether it is a `cached` reply."""

    end: Remembered | FailedCall
    cached: bool = False


FRESH_S = 60.0
"""How long a failure counts as one that happens now."""


@dataclass(slots=True)
class Trouble:
    """The failures of a batch's attempts, also of those tried again: how many of each kind, and the last."""

    counts: Counter[ErrorKind] = field(default_factory=Counter)
    messages: dict[ErrorKind, str] = field(default_factory=dict)
    last_s: float = 0.0

    def note(self, error: CallError) -> None:
        """Add a failed attempt; what failed long before is over."""
        now = time.monotonic()
        if now - self.last_s > FRESH_S:
            self.counts.clear()
        self.counts[error.kind] += 1
        self.messages[error.kind], self.last_s = error.message, now

    @property
    def main_cause(self) -> tuple[int, str]:
        """How often the commonest failure happened, and what it says; (0, "") if none happens now."""
        # Another thread asks.
        counts = self.counts.copy()
        if not counts or time.monotonic() - self.last_s > FRESH_S:
            return 0, ""
        ((kind, count),) = counts.most_common(1)
        return count, self.messages[kind]


@dataclass(slots=True)
class BatchProgress:
    """The progress of a batch; passed to the progress callback after every change.

    `elsewhere` are pending elsewhere: `holders` say who is asking them, or in what they wait. `first_s` and
    `last_s` (monotonic) are when the first call began and the last reply came, `deadline_s` how long a call is
    retried.
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
    trouble: Trouble = field(default_factory=Trouble)
    deadline_s: float = 0.0

    @property
    def done(self) -> int:
        """Requests that have ended."""
        return self.cached + self.answered + self.failed + self.submitted


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in one
    return task


def _reschedule(limit: asyncio.Timeout, when: float | None, grace_s: float = 0.0) -> None:
    """Move the end of a block, unless it is ending now."""
    if when is not None and not limit.expired():
        limit.reschedule(when + grace_s)


def group_by_text(request_ids: Iterable[str], calls: Mapping[str, Call]) -> list[list[str]]:
    """Return requests in their order, typed questions about one text together."""
    groups: dict[str, list[str]] = {}
    for request_id in request_ids:
        call = calls[request_id]
        # Without instructions the message says everything: each is another text.
        key = request_id
        if call.typed is not None and call.typed.instructions:
            key = f"text {call.messages[0].content}"
        groups.setdefault(key, []).append(request_id)
    return [*groups.values()]


def gather_windows(groups: Iterable[list[str]], least: int) -> Iterator[list[str]]:
    """Yield the requests of whole groups, at least so many at a time."""
    window: list[str] = []
    for group in groups:
        window += group
        if len(window) >= least:
            yield window
            window = []
    if window:
        yield window


@dataclass(eq=False)
class RunningBatch:
    """One running batch of calls: its shared state and its progress.

    `flying` are the tasks whose call is at the server, or whose reply is being written. `digest`: the model's, if
    it must stay the same.
    """

    model: Model
    client: Client
    endpoint: Endpoint
    writer: Writer
    tally: BatchProgress
    progress: Callable[[BatchProgress], None]
    answers: dict[str, CallResult] = field(default_factory=dict)
    digest: str = ""
    budget: RunBudget | None = None
    stopping: bool = False
    lease: Lease = field(default_factory=Lease)
    flying: set[asyncio.Task[Any]] = field(default_factory=set)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def __post_init__(self) -> None:
        self._ask_together: Any = getattr(self.client, "ask_together", None)

    def stop(self, grace_s: float) -> None:
        """Start no more calls; calls in flight have `grace_s` to end. From any thread."""
        self._loop.call_soon_threadsafe(self._wind_down, grace_s)

    def _wind_down(self, grace_s: float) -> None:
        self.stopping = True
        self._cancel(self._tasks - self.flying)
        self._loop.call_later(grace_s, self._cancel, self._tasks)

    @staticmethod
    def _cancel(tasks: set[asyncio.Task[Any]]) -> None:
        for task in list(tasks):
            task.cancel()

    def _register(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def check_digest(self) -> None:
        """Ask the server for the model's digest; if it changed, forget the fresh replies and end them as errors.

        If the server does not answer, nothing changes.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                digest = (await self.client.identity()).get("digest", "")
        except (CallError, TimeoutError):
            return
        if digest == self.digest:
            return
        error = CallError(
            "unknown_model",
            f"the model was replaced on its server during the run (digest {self.digest[:12]}, now {digest[:12]}); "
            "replies that may come from the new one are not kept. Run again to ask the new one",
        )
        self.endpoint.broken.setdefault(self._asker, error)
        fresh = [
            result.end
            for result in self.answers.values()
            if isinstance(result.end, Remembered) and not result.cached
        ]
        await asyncio.to_thread(self.writer.cache.forget, [end.request_id for end in fresh])
        for end in fresh:
            self.tally.answered -= 1
            self.tally.tokens_in -= end.reply.tokens_in or 0
            self.tally.tokens_out -= end.reply.tokens_out or 0
            self.count(FailedCall(end.request_id, error.kind, error.message))

    async def _retry(self, calls: Sequence[Call], term: int) -> tuple[list[Reply | CallError], float]:
        """Ask until an answer arrives or retries are pointless; return it with the last attempt's latency.

        The deadline counts from the first attempt and excludes the time spent waiting for a free slot. After the
        claim's `term` another may have asked, and nothing is tried again.
        """
        last: CallError | None = None
        tries = Counter[ErrorKind]()
        wait_s = FIRST_WAIT_S
        loop, deadline_s = asyncio.get_running_loop(), self.model.deadline_s
        end = asyncio.timeout_at(self._ends_s)
        try:
            async with end, asyncio.timeout(deadline_s) as limit:
                while True:
                    # Waiting for a slot is our own doing, and does not count against the call.
                    remaining_s = (limit.when() or 0.0) - loop.time()
                    limit.reschedule(None)
                    async with self._within_budget(calls) as answers, self.endpoint.slot(self.model, last):
                        limit.reschedule(loop.time() + remaining_s)
                        _reschedule(end, self._ends_s, GRACE_S)
                        try:
                            return answers, await self._attempt(calls, answers)
                        except CallError as error:
                            tries[error.kind] += 1
                            is_retried = error.kind in RETRIED or tries[error.kind] < TRIES.get(error.kind, 0)
                            if self.stopping or not is_retried or term != self.lease.term:
                                # A call that is given up between two tries keeps its own reason.
                                raise (last if last and error.kind == NOT_ASKED else error) from None
                            last = error
                    _reschedule(end, self._ends_s)
                    await asyncio.sleep(last.retry_after_s or wait_s + random.uniform(0, JITTER_S))
                    wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        except TimeoutError as error:
            if self.budget and end.expired():
                raise self.budget.refuse() from error
            cause = f"; the last attempt: {last.message}" if last else ""
            raise CallError("timeout", f"no reply within {deadline_s:g} s (deadline_s){cause}") from error

    @property
    def _ends_s(self) -> float | None:
        """When the run's time is over, by the loop's clock; None if it has no limit."""
        return self.budget.ends_s if self.budget else None

    @asynccontextmanager
    async def _within_budget(self, calls: Sequence[Call]) -> AsyncIterator[list[Reply | CallError]]:
        """Let calls start if the run may spend them; what they were answered goes into the list.

        Raises:
            CallError: the budget is spent.
        """
        answers: list[Reply | CallError] = []
        if self.budget is None:
            yield answers
            return
        reserved = await self.budget.admit(self.model, calls)
        try:
            yield answers
        finally:
            replies = [answer for answer in answers if isinstance(answer, Reply)]
            self.budget.settle(self.model, reserved, replies)

    @property
    def _asker(self) -> tuple[str, str]:
        """The key of calls that all fail if one of them fails fatally."""
        return self.model.server_name, self.writer.way

    async def _attempt(self, calls: Sequence[Call], answers: list[Reply | CallError]) -> float:
        """Ask once and record the outcome; add what was answered, and return the latency."""
        started, task = time.monotonic(), _this_task()
        self.endpoint.check(self._asker)
        self.flying.add(task)
        try:
            if len(calls) == 1:
                answers.append(await self.client.ask(calls[0]))
            else:
                answers += await self._ask_together(calls)
        except CallError as error:
            self.flying.discard(task)
            self.tally.trouble.note(error)
            raise self.endpoint.record_failure(error, started, self.model) from None
        self.endpoint.record_reply()
        return time.monotonic() - started

    async def _ask_claimed(self, calls: Mapping[str, Call], term: int, elsewhere: list[str]) -> None:
        """Process requests claimed in a term: ask them at once, make replies durable, release claims, count them.

        What fails of several is asked by itself.
        """
        if not self.tally.first_s:
            self.tally.first_s = time.monotonic()
        if term != self.lease.term:
            # Claims may have run out, and others may have asked.
            term = self.lease.term
            granted = await self._claim([*calls], elsewhere)
            calls = {request_id: call for request_id, call in calls.items() if request_id in granted}
        if not calls:
            return
        try:
            answers, latency_s = await self._retry([*calls.values()], term)
        except CallError as error:
            if term != self.lease.term and not self.stopping:
                await self._ask_claimed(calls, term, elsewhere)
                return
            self.endpoint.conclude(self._asker, self.model, error)
            for request_id in calls:
                failure = FailedCall(request_id, error.kind, error.message)
                await self.writer.keep(failure)
                self.count(failure)
            return
        for (request_id, call), answer in zip(calls.items(), answers, strict=True):
            if isinstance(answer, Reply):
                await self._keep(request_id, answer, latency_s)
            else:
                await self._ask_claimed({request_id: call}, term, elsewhere)

    async def _keep(self, request_id: str, reply: Reply, latency_s: float) -> None:
        """Make a reply durable and count it."""
        self.endpoint.conclude(self._asker, self.model)
        self.tally.last_s = time.monotonic()
        entry = Remembered(request_id, mask_keys(reply), latency_s, self.model.name)
        await self.writer.keep(entry)
        self.count(entry)

    def find_ends(self, request_ids: Sequence[str]) -> Ends:
        """Return the outcomes of requests so far; for a worker thread."""
        replies = self.writer.cache.lookup(request_ids)
        unanswered = [request_id for request_id in request_ids if request_id not in replies]
        return {**replies, **self.writer.cache.failures(unanswered, run=self.writer.run, way=self.writer.way)}

    def _count_ends(self, ends: Ends) -> None:
        """Count the outcomes of requests so far."""
        for end in ends.values():
            self.count(end, cached=isinstance(end, Remembered))

    def count(self, end: Remembered | FailedCall, *, cached: bool = False) -> None:
        """Record the outcome of a request."""
        self.answers[end.request_id] = CallResult(end, cached)
        tally = self.tally
        if isinstance(end, Remembered):
            tally.cached += cached
            tally.answered += not cached
            tally.tokens_in += end.reply.tokens_in or 0
            tally.tokens_out += end.reply.tokens_out or 0
        elif end.kind in UNASKED:
            tally.submitted += 1
        else:
            tally.failed += 1
        self.progress(tally)

    async def settle(self, request_ids: Sequence[str]) -> Ends:
        """Count the outcomes of requests so far, and return them."""
        ends = await asyncio.to_thread(self.find_ends, request_ids)
        self._count_ends(ends)
        return ends

    async def await_until_stopped(self, work: Awaitable[None]) -> None:
        """Await work that a stop of the run cancels."""
        task = _this_task()
        self._tasks.add(task)
        try:
            await work
        finally:
            self._tasks.discard(task)
            self.report_waiting(0, [])

    @contextmanager
    def finish_despite_stop(self) -> Iterator[None]:
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
            claimed: Claimed = asyncio.Queue(maxsize=2 * self.model.concurrency)
            async with asyncio.TaskGroup() as group:
                # Slightly more than calls in flight: a slot is reused while replies are being written to disk.
                walkers = min(self.model.concurrency * 9 // 8, len(todo))
                self._register(group.create_task(self._fill_queue(todo, calls, claimed, elsewhere, walkers)))
                for _ in range(walkers):
                    self._register(group.create_task(self._ask_from_queue(claimed, calls, elsewhere)))
            if self.stopping:
                raise Stopped
            todo = elsewhere
            if self.budget and self.budget.is_over:
                self._give_up(todo, self.budget.refuse())
                return
            holders = await asyncio.to_thread(self.writer.cache.holders, todo) if todo else []
            self.report_waiting(len(todo), holders)
            if todo:
                await asyncio.sleep(POLL_S)

    def _give_up(self, request_ids: Iterable[str], error: CallError) -> None:
        """Count requests that others ask as not asked here."""
        for request_id in request_ids:
            self.count(FailedCall(request_id, error.kind, error.message))

    def report_waiting(self, n: int, holders: Sequence[str]) -> None:
        """Report how many requests are pending elsewhere, and who asks them, or in what they wait."""
        tally = self.tally
        if holders and not tally.holders:
            log_event("waiting", model=self.model.name, calls=n, holders=holders)
        if (n, tuple(holders)) != (tally.elsewhere, tally.holders):
            tally.elsewhere, tally.holders = n, tuple(holders)
            self.progress(tally)

    async def _fill_queue(
        self, todo: list[str], calls: Mapping[str, Call], claimed: Claimed, elsewhere: list[str], walkers: int
    ) -> None:
        """Put the requests this worker may ask into the queue, and those held by others into `elsewhere`."""
        for window in gather_windows(self._group(todo, calls), 4 * self.model.concurrency):
            term = self.lease.term
            granted = await self._claim(window, elsewhere)
            for request_ids in self._group([request_id for request_id in window if request_id in granted], calls):
                await claimed.put((request_ids, term))
        for _ in range(walkers):
            await claimed.put(None)

    def _group(self, request_ids: Sequence[str], calls: Mapping[str, Call]) -> list[list[str]]:
        """Return requests in their order, those together that the client can ask together."""
        if self._ask_together is None:
            return [[request_id] for request_id in request_ids]
        return group_by_text(request_ids, calls)

    async def _claim(self, request_ids: list[str], elsewhere: list[str]) -> set[str]:
        """Claim requests and return those to ask here; count the outcomes of others, or add them to `elsewhere`."""
        granted, ends = await asyncio.to_thread(self._claim_window, request_ids)
        self._count_ends(ends)
        elsewhere += [name for name in request_ids if name not in granted and name not in ends]
        return granted

    def _claim_window(self, window: list[str]) -> tuple[set[str], Ends]:
        """Claim requests; return those to ask here, and the outcomes of others; for a worker thread."""
        granted = self.writer.cache.claim(window, holder=self.writer.holder, lease_s=LEASE_S)
        # Outcomes that another worker finished between our last look and the claim.
        ends = self.find_ends(window)
        needless = [request_id for request_id in window if request_id in granted and request_id in ends]
        if needless:
            self.writer.cache.release(needless, holder=self.writer.holder)
        return granted.difference(needless), ends

    async def _ask_from_queue(self, claimed: Claimed, calls: Mapping[str, Call], elsewhere: list[str]) -> None:
        """Ask one request after another.

        The next is asked only when the last reply is durable: a kill loses at most the calls in flight, and an
        eighth of that on its way to the disk.
        """
        while not self.stopping and (entry := await claimed.get()) is not None:
            request_ids, term = entry
            try:
                await self._ask_claimed(
                    {request_id: calls[request_id] for request_id in request_ids}, term, elsewhere
                )
            finally:
                self.flying.discard(_this_task())
