"""The worker pool: one worker per core; distributes programs, and replaces dead and late workers.

A program that times out is retried once, alone: concurrent programs slow it down.
"""

import contextlib
import fcntl
import os
import selectors
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any, Literal, Self, cast

from data.commands import typed
from data.errors import InputError
from data.records import Outcome, OutcomeKind, Program
from tasks.runtime import machine
from tasks.sandbox import child, replies, values
from tasks.sandbox.clock import Clock
from tasks.sandbox.image import prepare

SOURCE = 100_000
"""Maximum characters of a program's source."""

WALL_MORE_S = 1.0
"""A program that sleeps or hangs is ended this long after its CPU budget, not counting waits for a core."""

MEMORY_MB = 256
"""Memory of a component in MB: its interpreter takes 60 of them."""

START_S = 300.0
"""A worker that has not said hello by then has failed: on an idle machine it takes a fraction of a second."""

LARGEST = 16 << 20
"""Maximum bytes in a frame: all replies to one program, escaped in the worst case. Nobody reads past it."""

_PIPE = 1 << 20
"""Buffer size of the pipe from a worker, in bytes: it need not wait while this process cannot read."""

_TRIES = 2
"""A program whose worker dies is retried once: the system may have been the cause."""

_NOTHING = Program("python", "def f(): pass", "f", ((),))


def run_fit(
    programs: Sequence[Program], run: Callable[[list[Program]], Iterable[tuple[Outcome, ...]]]
) -> list[tuple[Outcome, ...]]:
    """Return, in order, the outcomes of programs; `run` gets only those that must be run, and yields theirs."""
    found = {k: (why,) * len(program.calls) for k, program in enumerate(programs) if (why := _refused(program))}
    fit = [k for k, program in enumerate(programs) if program.calls and k not in found]
    found |= zip(fit, run([programs[k] for k in fit]), strict=True)
    return [found.get(k, ()) for k in range(len(programs))]


def _refused(program: Program) -> Outcome | None:
    """Return the outcome of a program that can be decided without an interpreter."""
    if len(program.source) > SOURCE:
        return Outcome("syntax", message=f"the source is longer than {SOURCE} characters")
    return None if program.function.isidentifier() else Outcome("no such function")


class WorkerPool:
    """Workers that run Python programs: a context manager, safe to share between threads.

    `workers` is the number of processes (by default one per core, fewer if their memory would not fit). Runs from
    several threads take turns: each uses all the workers.
    """

    def __init__(self, *, workers: int | None = None) -> None:
        self.size = machine.workers(MEMORY_MB, workers)
        self.workers: list[Worker] = []
        self._image = ""
        self._rebuilt = False
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all workers; a later run starts new ones."""
        with self._lock:
            while self.workers:
                child.end(self.workers.pop().process)

    def abandon(self) -> None:
        """Forget the workers without stopping them: after a fork they are the parent's."""
        for worker in self.workers:
            child.release(worker.process)
        self.workers, self._lock = [], threading.RLock()

    def layers(self) -> dict[str, str]:
        """Return the layers around a worker, each with its state; start one if there is none.

        Raises:
            InputError: the image cannot be built, or no worker starts.
        """
        with self._lock:
            while not (held := [worker.layers for worker in self.workers if worker.layers]):
                self.run([_NOTHING])
            return dict(held[0])

    def run(self, programs: Sequence[Program], *, cpu_s: float = 2.0) -> list[tuple[Outcome, ...]]:
        """Run Python programs; return, in order, one outcome for each of their calls.

        `cpu_s` is one program's budget of CPU seconds, for its loading and all its calls together; a sleeping
        program is ended `WALL_MORE_S` after as many seconds, not counting waits for a core: machine load changes
        nothing. A program that times out is retried once, alone. Calls not reached because an earlier one ended the
        program share that one's outcome.

        Raises:
            InputError: the image cannot be built, or no worker starts; never for what a program did.
            ValueError: a call's arguments are not plain values.
        """

        def run(fit: list[Program]) -> list[tuple[Outcome, ...]]:
            jobs = [Job(index, program, cpu_s) for index, program in enumerate(fit)]
            with self._lock:
                found = Round(self, jobs).run()
            return [found[job.index] for job in jobs]

        return run_fit(programs, run)

    def start(self) -> "Worker":
        """Start one more worker."""
        self._image = self._image or str(prepare())
        self.workers.append(Worker(self._image))
        return self.workers[-1]

    def rebuild(self, why: str) -> None:
        """Rebuild the image, once, after a worker could not start with it.

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


class Job:
    """One program in progress, and the outcomes of its calls so far."""

    def __init__(self, index: int, program: Program, cpu_s: float) -> None:
        self.index, self.calls, self.wall_s = index, len(program.calls), cpu_s + WALL_MORE_S
        load = values.write([program.source, program.function])
        calls = [values.write(values.pack(list(arguments))) for arguments in program.calls]
        self.frame = values.write({"load": load, "calls": calls, "cpu_s": cpu_s}).encode() + b"\n"
        self.outcomes: list[Outcome] = []
        self.deaths = 0
        self.alone = False  # it timed out once, and is retried alone

    def finish(self, rest: Outcome) -> tuple[Outcome, ...]:
        """Return an outcome for each call: those without a reply share `rest`."""
        return (*self.outcomes, *[rest] * (self.calls - len(self.outcomes)))

    def hear(self, frame: Any) -> tuple[Outcome, ...] | None:
        """Process one frame of the worker's; return the outcomes when it is the last.

        Raises:
            ValueError: the frame is invalid.
        """
        match frame:
            case ["load", 0, reply] if not self.outcomes:
                said = replies.outcome(reply)
                failed = said if said.kind != "value" else Outcome("bad value", message="not a reply")
                self.outcomes = list(self.finish(failed))
            case ["call", int(k), reply] if k == len(self.outcomes) < self.calls:
                self.outcomes.append(replies.outcome(reply))
            case ["end", "done", _, _] if len(self.outcomes) == self.calls:
                return tuple(self.outcomes)
            case ["end", "timeout" | "memory" | "exception" | "bad value" as kind, str(error), str(message)]:
                return self.finish(Outcome(cast("OutcomeKind", kind), error=error, message=message))
            case _:
                raise ValueError("a frame out of turn")
        return None


class Worker:
    """One worker process: `starting` until it says hello, then `idle` or `busy` with a job."""

    def __init__(self, image: str) -> None:
        self.process = child.start(child.command("tasks.sandbox.worker", image, str(MEMORY_MB)))
        self.deadline = time.monotonic() + START_S
        self.state: Literal["starting", "idle", "busy"] = "starting"
        self.job: Job | None = None
        self.clock: Clock | None = None
        self.layers: dict[str, str] = {}
        self.unsent = memoryview(b"")
        self._got = bytearray()
        for pipe in (self.reading, self.writing):
            os.set_blocking(pipe.fileno(), False)
        with contextlib.suppress(AttributeError, OSError):  # Linux only, and limited for each user
            fcntl.fcntl(self.reading, fcntl.F_SETPIPE_SZ, _PIPE)

    @property
    def reading(self) -> IO[bytes]:
        """The pipe that the worker's frames come from."""
        return cast("IO[bytes]", self.process.stdout)

    @property
    def writing(self) -> IO[bytes]:
        """The pipe that its jobs go to."""
        return cast("IO[bytes]", self.process.stdin)

    def late(self, now: float) -> bool:
        """Return whether its time is up; extend the deadline by its waits for a core."""
        if self.state == "idle" or self.deadline > now:
            return False
        if self.state == "busy" and self.job and self.clock:
            self.deadline = now + self.clock.left(self.job.wall_s)
        return self.deadline <= now

    def give(self, job: Job) -> None:
        """Send a job; its time runs from here."""
        self.job, self.state = job, "busy"
        if self.clock:
            self.clock.start()
        self.deadline = time.monotonic() + job.wall_s
        self.unsent = memoryview(job.frame)
        self.send()

    def send(self) -> None:
        """Write as much of the job as the pipe takes."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # a broken pipe is noticed where it is read
            self.unsent = self.unsent[os.write(self.writing.fileno(), self.unsent) :]

    def hear(self) -> list[Any]:
        """Read available data, and return the complete frames.

        Raises:
            EOFError: the worker is gone.
            ValueError: the data is no frame.
        """
        try:
            part = os.read(self.reading.fileno(), 1 << 18)
        except BlockingIOError:
            return []
        if not part:
            raise EOFError
        self._got += part
        *whole, rest = self._got.split(b"\n") if b"\n" in part else [self._got]
        if len(rest) > LARGEST:
            raise ValueError(f"a frame of more than {LARGEST} bytes")
        self._got = rest
        return list(map(values.read, whole))


class Round:
    """One run: distributes jobs to the pool's workers until each has its outcomes."""

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
            for worker in [worker for worker in self.pool.workers if worker.state == "busy"]:
                self._drop(worker)  # interrupted: its job was dropped
            self.selector.close()
        return self.found

    def _watch(self, worker: Worker) -> None:
        self.selector.register(worker.reading, selectors.EVENT_READ, worker)

    def _fill(self) -> None:
        workers = self.pool.workers
        for worker in workers:
            if self.queue and worker.state == "idle":
                self._give(worker, self.queue.popleft())
        if self.alone and not self.queue and all(worker.state == "idle" for worker in workers):
            if not workers:
                self._watch(self.pool.start())
            else:
                self._give(workers[0], self.alone.popleft())
        coming = sum(worker.state == "starting" for worker in workers)
        for _ in range(min(len(self.queue) - coming, self.pool.size - len(workers))):
            self._watch(self.pool.start())

    def _give(self, worker: Worker, job: Job) -> None:
        worker.give(job)
        if worker.unsent:
            self.selector.register(worker.writing, selectors.EVENT_WRITE, worker)

    def _wait(self) -> None:
        watched = [worker for worker in self.pool.workers if worker.state != "idle"]
        now = time.monotonic()
        most = min((worker.deadline for worker in watched), default=now) - now
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
            # by the time before the pipes were read: what had arrived by then has been processed
            if worker in self.pool.workers and worker.late(now):
                self._end(worker, late=True)

    def _hear(self, worker: Worker) -> None:
        try:
            for frame in worker.hear():
                self._take(worker, frame)
        except (EOFError, ValueError) as error:
            self._end(worker, why=str(error))

    def _take(self, worker: Worker, frame: Any) -> None:
        match worker.state, frame:
            case "starting", ["hello", int(thread), list(layers)]:
                worker.clock = Clock(worker.process.pid, thread)
                worker.layers, worker.state = {str(name): str(how) for name, how in layers}, "idle"
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
        else:
            self.found[job.index] = outcomes

    def _drop(self, worker: Worker) -> int:
        self.pool.workers.remove(worker)
        return child.end(worker.process)

    def _end(self, worker: Worker, *, late: bool = False, why: str = "") -> None:
        """End a worker that is late, gone or faulty, and handle its job."""
        self.selector.unregister(worker.reading)
        if worker.unsent:
            with contextlib.suppress(KeyError):
                self.selector.unregister(worker.writing)
        status = self._drop(worker)
        if worker.state == "starting":
            self.pool.rebuild(why or ("no hello in time" if late else f"exit status {status}"))
            return
        self._watch(self.pool.start())  # at once: the next program should not have to wait for it
        if job := worker.job:
            job.deaths += 1
            if late or status == -signal.SIGXCPU:
                self._finish(job, job.finish(Outcome("timeout")))
            elif job.deaths < _TRIES:
                job.outcomes.clear()
                (self.alone if job.alone else self.queue).appendleft(job)
            else:
                ended = Outcome("exception", error="SystemError", message=f"the worker died (exit status {status})")
                self._finish(job, job.finish(ended))
