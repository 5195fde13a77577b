"""The pool: as many workers as there are cores, programs handed out, dead and late workers replaced.

What ran out of time is tried once more, alone: the company of others slows a program down.
"""

import contextlib
import selectors
import signal
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Self

from data.commands import typed
from data.errors import InputError
from data.records import Outcome, Program
from tasks.runtime import machine
from tasks.sandbox import values
from tasks.sandbox.image import prepare
from tasks.sandbox.workers import Job, Worker

SOURCE = 100_000
"""Characters of a program's source."""

WALL_MORE_S = 1.0
"""A program that sleeps or hangs is ended past its CPU budget by this, its waiting for a core not counted."""

MEMORY_MB = 256
"""Memory of a component: its interpreter takes 60 of them."""

_TRIES = 2
"""A program whose worker dies is tried once more: the system, not it, may have been the reason."""

_TIMEOUT = Outcome("timeout")


class WorkerPool:
    """Workers that run Python programs: a context manager, safe to share between threads.

    `workers` is the number of processes (one for each core unless given; fewer where their memory would not fit).
    Runs from several threads take turns: each uses all the workers.
    """

    def __init__(self, *, workers: int | None = None) -> None:
        self.size = machine.workers(MEMORY_MB, workers)
        self._image = ""
        self._rebuilt = False
        self._workers: list[Worker] = []
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; a later run starts new ones."""
        with self._lock:
            while self._workers:
                self._workers.pop().end()

    def abandon(self) -> None:
        """Let go of the workers without ending them: after a fork they are the parent's."""
        for worker in self._workers:
            worker.release()
        self._workers, self._lock = [], threading.RLock()

    def layers(self) -> dict[str, str]:
        """Return the layers around a worker, each with how it holds; start one if there is none.

        Raises:
            InputError: the image cannot be built, or no worker starts.
        """
        with self._lock:
            if not any(w.layers for w in self._workers):
                Round(self, []).greet()
            return next(dict(w.layers) for w in self._workers if w.layers)

    def run(self, programs: Sequence[Program], *, cpu_s: float = 2.0) -> list[tuple[Outcome, ...]]:
        """Run Python programs; return, in order, one outcome for each of their calls.

        `cpu_s` is one program's budget of CPU seconds, for its loading and all its calls together; what sleeps is
        ended `WALL_MORE_S` after as many seconds, not counting those in which it waited for a core: how busy the
        machine is changes nothing. What runs out of time is tried once more, alone. Calls that a program did not
        come to, because an earlier one ended it, share that one's outcome.

        Raises:
            InputError: the image cannot be built, or no worker starts; never for what a program did.
            ValueError: a call's arguments are not plain values.
        """
        found: list[tuple[Outcome, ...]] = [()] * len(programs)
        jobs = []
        for index, program in enumerate(programs):
            if outcome := refused(program):
                found[index] = (outcome,) * len(program.calls)
            elif program.calls:
                jobs.append(_job(index, program, cpu_s))
        with self._lock:
            for index, outcomes in Round(self, jobs).run().items():
                found[index] = outcomes
        return found

    def start(self) -> Worker:
        """Start one more worker."""
        self._image = self._image or str(prepare())
        worker = Worker.start(self._image, MEMORY_MB)
        self._workers.append(worker)
        return worker

    def drop(self, worker: Worker) -> int:
        """End a worker; return its exit status."""
        self._workers.remove(worker)
        return worker.end()

    def refresh(self, why: str) -> None:
        """Build the image rebuild, once, after a worker could not start with it.

        Raises:
            InputError: it has been rebuilt already.
        """
        if self._rebuilt:
            raise InputError(
                f"sandbox: its worker process does not start ({why}). Check that wasmtime is installed for this "
                f"platform and that {MEMORY_MB + 512} MB of memory are free; try `{typed('sandbox')}`."
            )
        self._rebuilt = True
        self._image = str(prepare(rebuild=True))

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The workers that live now."""
        return tuple(self._workers)


def refused(program: Program) -> Outcome | None:
    """Return the outcome of a program that no worker needs to see."""
    if len(program.source) > SOURCE:
        return Outcome("syntax", message=f"the source is longer than {SOURCE} characters")
    if not program.function.isidentifier():
        return Outcome("no such function")
    return None


def _job(index: int, program: Program, cpu_s: float) -> Job:
    calls = [values.write(values.pack(list(arguments))) for arguments in program.calls]
    load = values.write([program.source, program.function])
    return Job(index, {"load": load, "calls": calls, "cpu_s": cpu_s, "wall_s": cpu_s + WALL_MORE_S})


class Round:
    """One run: hands jobs to the pool's workers until each has its outcomes."""

    def __init__(self, pool: WorkerPool, jobs: list[Job]) -> None:
        self.pool, self.queue, self.left = pool, deque(jobs), len(jobs)
        self.alone: deque[Job] = deque()
        self.found: dict[int, tuple[Outcome, ...]] = {}
        self.selector = selectors.DefaultSelector()

    def run(self) -> dict[int, tuple[Outcome, ...]]:
        """Return the outcomes by the jobs' indices."""
        try:
            for worker in self.pool.workers:
                self._watch(worker)
            while len(self.found) < self.left:
                self._fill()
                self._wait()
        finally:
            for worker in self.pool.workers:
                if worker.state == "busy":  # interrupted: its job is nobody's any more
                    self.pool.drop(worker)
            self.selector.close()
        return self.found

    def greet(self) -> None:
        """Wait for one worker's hello."""
        with self.selector:
            for worker in self.pool.workers:
                self._watch(worker)
            while not any(w.layers for w in self.pool.workers):
                if not self.pool.workers:
                    self._watch(self.pool.start())
                self._wait()

    def _watch(self, worker: Worker) -> None:
        self.selector.register(worker.reading, selectors.EVENT_READ, worker)

    def _fill(self) -> None:
        coming = sum(w.state == "starting" for w in self.pool.workers)
        for worker in self.pool.workers:
            if self.queue and worker.state == "idle":
                self._give(worker, self.queue.popleft())
        if self.alone and not self.queue and all(w.state == "idle" for w in self.pool.workers):
            if not self.pool.workers:
                self._watch(self.pool.start())
            else:
                self._give(self.pool.workers[0], self.alone.popleft())
        for _ in range(min(len(self.queue) - coming, self.pool.size - len(self.pool.workers))):
            self._watch(self.pool.start())

    def _give(self, worker: Worker, job: Job) -> None:
        worker.give(job)
        if worker.unsent:
            self.selector.register(worker.writing, selectors.EVENT_WRITE, worker)

    def _wait(self) -> None:
        watched = [w for w in self.pool.workers if w.state != "idle"]
        now = time.monotonic()
        most = min((w.deadline for w in watched), default=now) - now
        for key, _ in self.selector.select(max(most, 0)):
            worker: Worker = key.data
            if worker not in self.pool.workers:  # ended while its other pipe was handled
                continue
            if key.fileobj is worker.reading:
                self._hear(worker)
            else:
                worker.send()
                if not worker.unsent:
                    self.selector.unregister(worker.writing)
        for worker in watched:
            # by the time before the pipes were read: what had come by then has been heard
            if worker in self.pool.workers and worker.late(now):
                self._end(worker, late=True)

    def _hear(self, worker: Worker) -> None:
        try:
            heard = worker.hear()
            for frame in heard:
                self._take(worker, frame)
        except EOFError:
            self._end(worker)
        except ValueError as error:
            self._end(worker, why=str(error))

    def _take(self, worker: Worker, frame: Any) -> None:
        match worker.state, frame:
            case "starting", ["hello", int(thread), dict(layers)]:
                worker.greet(thread, {str(name): str(how) for name, how in layers.items()})
            case "starting", ["failed", str(why)]:
                raise ValueError(why)
            case "busy", _ if worker.job:
                outcomes = worker.job.hear(frame)
                if outcomes is not None:
                    job, worker.job, worker.state = worker.job, None, "idle"
                    self._finish(job, outcomes)
            case _:
                raise ValueError("a frame out of turn")

    def _finish(self, job: Job, outcomes: tuple[Outcome, ...]) -> None:
        if outcomes[-1].kind == "timeout" and not job.alone:
            job.alone = True
            job.outcomes.clear()
            self.alone.append(job)
            return
        self.found[job.index] = outcomes

    def _end(self, worker: Worker, *, late: bool = False, why: str = "") -> None:
        """End a worker that is late, gone or out of its mind, and see to its job."""
        self.selector.unregister(worker.reading)
        if worker.unsent:
            with contextlib.suppress(KeyError):
                self.selector.unregister(worker.writing)
        status = self.pool.drop(worker)
        if worker.state == "starting":
            self.pool.refresh(why or ("no hello in time" if late else f"exit status {status}"))
            return
        self._watch(self.pool.start())  # at once: the next program should not have to wait for it
        if job := worker.job:
            job.deaths += 1
            if late or status == -signal.SIGXCPU:
                self._finish(job, job.finish(_TIMEOUT))
            elif job.deaths < _TRIES:
                job.outcomes.clear()
                (self.alone if job.alone else self.queue).appendleft(job)
            else:
                ended = Outcome("exception", error="SystemError", message=f"the worker died (exit status {status})")
                self._finish(job, job.finish(ended))
