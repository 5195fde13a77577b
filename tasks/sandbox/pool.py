"""The worker pool: one worker per core, each with a thread that gives it programs; dead and late ones are replaced.

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
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import IO, Any, Self, cast

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
        self._building = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all workers; a later run starts new ones."""
        with self._lock:
            while self.workers:
                child.end(self.workers.pop().process)

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
            jobs = [Job(program, cpu_s) for program in fit]
            with self._lock:
                while len(self.workers) < min(self.size, len(jobs)):
                    self._start()
                attempt = partial(self._attempt, deque(self.workers))
                with ThreadPoolExecutor(self.size) as threads:
                    first = list(threads.map(attempt, jobs))
                return [
                    attempt(job) if outcomes[-1].kind == "timeout" else outcomes
                    for job, outcomes in zip(jobs, first, strict=True)
                ]

        return run_fit(programs, run)

    def _start(self) -> "Worker":
        self._image = self._image or str(prepare())
        self.workers.append(Worker(self._image, rebuilt=self._rebuilt))
        return self.workers[-1]

    def _drop(self, worker: "Worker") -> int:
        self.workers.remove(worker)
        return child.end(worker.process)

    def _attempt(self, idle: "deque[Worker]", job: "Job") -> tuple[Outcome, ...]:
        """Run a job on an idle worker; return its outcomes."""
        status = 0
        for _ in range(_TRIES):
            worker, late = self._ready(idle.pop()), False
            job.outcomes.clear()
            try:
                worker.talk(job.frame, job.wall_s, job.hear)
            except TimeoutError:
                late = True
            except (EOFError, ValueError):  # gone or faulty
                pass
            except BaseException:  # interrupted
                self._drop(worker)
                raise
            else:
                idle.append(worker)
                return tuple(job.outcomes)
            status = self._drop(worker)
            idle.append(self._start())  # at once: the next program should not have to wait for it
            if late or status == -signal.SIGXCPU:
                return job.finish(Outcome("timeout"))
        died = f"the worker died (exit status {status})"
        return job.finish(Outcome("exception", error="SystemError", message=died))

    def _ready(self, worker: "Worker") -> "Worker":
        """Return a worker that has said hello: this one, or if it does not start, another with a rebuilt image."""
        if worker.layers:
            return worker
        try:
            worker.talk(b"", START_S, worker.greet)
        except (EOFError, TimeoutError, ValueError) as error:
            status = self._drop(worker)
            if worker.rebuilt:
                raise InputError(
                    f"sandbox: the worker process did not start ({str(error) or f'exit status {status}'}). Check "
                    f"that wasmtime is installed for this platform and that {MEMORY_MB + 512} MB of memory are "
                    f"free; try `{typed('sandbox')}`."
                ) from error
            with self._building:
                if not self._rebuilt:
                    self._image, self._rebuilt = str(prepare(rebuild=True)), True
            return self._ready(self._start())
        return worker


class Job:
    """One program in progress, and the outcomes of its calls so far."""

    def __init__(self, program: Program, cpu_s: float) -> None:
        self.calls, self.wall_s = len(program.calls), cpu_s + WALL_MORE_S
        load = values.write([program.source, program.function])
        calls = [values.write(values.pack(list(arguments))) for arguments in program.calls]
        self.frame = values.write({"load": load, "calls": calls, "cpu_s": cpu_s}).encode() + b"\n"
        self.outcomes: list[Outcome] = []

    def finish(self, rest: Outcome) -> tuple[Outcome, ...]:
        """Return an outcome for each call: those without a reply share `rest`."""
        self.outcomes += [rest] * (self.calls - len(self.outcomes))
        return tuple(self.outcomes)

    def hear(self, frame: Any) -> bool:
        """Process one frame of the worker's; return whether it is the last.

        Raises:
            ValueError: the frame is invalid.
        """
        match frame:
            case ["load", 0, reply] if not self.outcomes:
                said = replies.outcome(reply)
                self.finish(said if said.kind != "value" else Outcome("bad value", message="not a reply"))
            case ["call", int(k), reply] if k == len(self.outcomes) < self.calls:
                self.outcomes.append(replies.outcome(reply))
            case ["end", "done", _, _] if len(self.outcomes) == self.calls:
                return True
            case ["end", "timeout" | "memory" | "exception" | "bad value" as kind, str(error), str(message)]:
                self.finish(Outcome(cast("OutcomeKind", kind), error=error, message=message))
                return True
            case _:
                raise ValueError("an unexpected frame")
        return False


class Worker:
    """One worker process; `layers` is empty until it says hello, `rebuilt` whether its image was built again."""

    def __init__(self, image: str, *, rebuilt: bool) -> None:
        self.process = child.start(child.command("tasks.sandbox.worker", image, str(MEMORY_MB)))
        self.reading, self.writing = (cast("IO[bytes]", pipe) for pipe in (self.process.stdout, self.process.stdin))
        self.rebuilt = rebuilt
        self.clock: Clock | None = None
        self.layers: dict[str, str] = {}
        self._got = bytearray()
        for pipe in (self.reading, self.writing):
            os.set_blocking(pipe.fileno(), False)
        with contextlib.suppress(AttributeError, OSError):  # Linux only, and limited for each user
            fcntl.fcntl(self.reading, fcntl.F_SETPIPE_SZ, _PIPE)

    def talk(self, said: bytes, most_s: float, take: Callable[[Any], bool]) -> None:
        """Send bytes, and pass each frame that comes back to `take` until that returns true.

        Raises:
            EOFError: the worker is gone.
            TimeoutError: its time is up, not counting waits for a core.
            ValueError: what it sends is no frame, or out of turn.
        """
        if self.clock:  # it has said hello, and nothing since its last job
            if self.hear():
                raise ValueError("an unexpected frame")
            self.clock.start()
        over, late, unsent, deadline = False, False, memoryview(said), time.monotonic() + most_s
        with selectors.DefaultSelector() as selector:
            selector.register(self.reading, selectors.EVENT_READ)
            selector.register(self.writing, selectors.EVENT_WRITE)
            while unsent or not over:
                if late:
                    raise TimeoutError("no reply in time")
                now = time.monotonic()
                if deadline <= now and self.clock:
                    deadline = now + self.clock.left(most_s)
                late = deadline <= now  # what has arrived by then is processed below
                for key, _ in selector.select(max(deadline - now, 0)):
                    if key.fileobj is self.reading:
                        over = self._pass(take, over=over)
                    else:
                        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # noticed where it is read
                            unsent = unsent[os.write(self.writing.fileno(), unsent) :]
                        if not unsent:
                            selector.unregister(self.writing)

    def _pass(self, take: Callable[[Any], bool], *, over: bool) -> bool:
        for frame in self.hear():
            if over:
                raise ValueError("an unexpected frame")
            over = take(frame)
        return over

    def greet(self, frame: Any) -> bool:
        """Process the frame that a worker begins with; return that it is the only one.

        Raises:
            ValueError: the worker could not start, or the frame is invalid.
        """
        match frame:
            case ["hello", int(thread), list(layers)]:
                self.clock = Clock(self.process.pid, thread)
                self.layers = {str(name): str(how) for name, how in layers}
                return True
            case ["failed", str(why)]:
                raise ValueError(why)
        raise ValueError("an unexpected frame")

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
