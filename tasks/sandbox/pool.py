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
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import IO, Any, Self, cast

from basic_control.data.commands import format_command
from basic_control.data.errors import InputError
from basic_control.data.records import Outcome, OutcomeKind, Program, ProgramUnderTest
from basic_control.tasks.runtime import machine
from basic_control.tasks.sandbox import guest_replies, processes, values
from basic_control.tasks.sandbox.clock import Clock
from basic_control.tasks.sandbox.image import prepare

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

AT_ONCE_S = 0.1
"""Frames that follow each other within this time share one reading of a worker's clock."""

_TRIES = 2
"""A program whose worker dies is retried once: the system may have been the cause."""

_NOTHING = Program("python", "def f(): pass", "f", ((),))


def run_fit(
    programs: Sequence[Program], run: Callable[[list[Program]], Iterable[tuple[Outcome, ...]]]
) -> list[tuple[Outcome, ...]]:
    """Return, in order, the outcomes of programs; `run` gets only those that must be run, and yields theirs."""
    outcomes: list[tuple[Outcome, ...]] = [()] * len(programs)
    fit = []
    for position, program in enumerate(programs):
        refusal = _find_refusal(program)
        if refusal:
            outcomes[position] = (refusal,) * len(program.calls)
        elif program.calls:
            fit.append(position)
    for position, result in zip(fit, run([programs[position] for position in fit]), strict=True):
        outcomes[position] = result
    return outcomes


def _find_refusal(program: Program) -> Outcome | None:
    """Return the outcome of a program that can be decided without an interpreter."""
    if len(program.source) > SOURCE:
        return Outcome("syntax", message=f"the source is longer than {SOURCE} characters")
    if not program.function.isidentifier():
        return Outcome("no such function")
    return None


class WorkerPool:
    """Workers that run Python programs: a context manager, safe to share between threads.

    `workers` is the number of processes (by default one per core, fewer if their memory would not fit). Runs from
    several threads take turns: each uses all the workers.
    """

    def __init__(self, *, workers: int | None = None) -> None:
        self.size = machine.count_workers(MEMORY_MB, workers)
        self.workers: list[Worker] = []
        self._image = ""
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all workers; a later run starts new ones."""
        with self._lock:
            while self.workers:
                processes.end(self.workers.pop().process)

    def layers(self) -> dict[str, str]:
        """Return the layers around a worker, each with its state; start one if there is none.

        Raises:
            InputError: the image cannot be built, or no worker starts.
        """
        with self._lock:
            while True:
                for worker in self.workers:
                    if worker.layers:
                        return dict(worker.layers)
                self.run([_NOTHING])

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
                    results = list(threads.map(attempt, jobs))
                # Once more, alone.
                for position, program in enumerate(fit):
                    if _has_timeout(results[position]):
                        results[position] = attempt(Job(program, cpu_s))
                return results

        return run_fit(programs, run)

    def _start(self) -> "Worker":
        self._image = self._image or str(prepare())
        self.workers.append(Worker(self._image))
        return self.workers[-1]

    def _drop(self, worker: "Worker") -> int:
        self.workers.remove(worker)
        return processes.end(worker.process)

    def _attempt(self, idle: "deque[Worker]", job: "Job") -> tuple[Outcome, ...]:
        """Run a job on idle workers; return its outcomes."""
        while not job.is_done:
            self._go_on(idle, job)
        return tuple(job.outcomes)

    def _go_on(self, idle: "deque[Worker]", job: "Job") -> None:
        """Run what is left of a job on an idle worker, to its end or to a call that fails alone."""
        status = 0
        for _ in range(_TRIES):
            worker, is_late = self._make_ready(idle.pop()), False
            try:
                worker.talk(job.begin(), job.left_s + WALL_MORE_S, job.hear, job.call_s)
            except TimeoutError:
                is_late = True
                job.left_s -= worker.deadline.active_s()
            except (EOFError, ValueError):
                # It is gone, or faulty.
                pass
            except BaseException:
                # This process is interrupted.
                self._drop(worker)
                raise
            else:
                idle.append(worker)
                return
            status = self._drop(worker)
            # At once: the next program should not have to wait for it.
            idle.append(self._start())
            if is_late or status == -signal.SIGXCPU:
                job.fail(Outcome("timeout"))
                return
        job.fail(Outcome("exception", error="SystemError", message=f"the worker died (exit status {status})"))

    def _make_ready(self, worker: "Worker") -> "Worker":
        """Return a worker that has said hello: this one, or if it does not start, another."""
        tries = 0
        while not worker.layers:
            tries += 1
            try:
                worker.talk(b"", START_S, worker.greet)
            except (EOFError, TimeoutError, ValueError) as error:
                status = self._drop(worker)
                if tries == _TRIES:
                    raise InputError(
                        f"sandbox: the worker process did not start ({str(error) or f'exit status {status}'}). "
                        f"Check that wasmtime is installed for this platform and that {MEMORY_MB + 512} MB of "
                        f"memory are free; try `{format_command('sandbox')}`. If it does not start there either, "
                        f"delete {self._image}, which is then built again."
                    ) from error
                worker = self._start()
        return worker


def _has_timeout(outcomes: Iterable[Outcome]) -> bool:
    return any(outcome.kind == "timeout" for outcome in outcomes)


def _write_request(arguments: Iterable[Any]) -> str:
    return values.write(values.pack(list(arguments)))


class Job:
    """One program in progress: the outcomes of its calls so far, and the CPU seconds left for the others."""

    def __init__(self, program: Program, cpu_s: float) -> None:
        self.call_s = 0.0
        self.fresh: Sequence[Any] = ()
        self.apart: Collection[int] = frozenset[int]()
        self.checker = ""
        self.left_s = cpu_s
        self.load = values.write([program.source, program.function])
        self.calls = [*map(_write_request, program.calls)]
        self.outcomes: list[Outcome] = []
        self.is_loaded = False
        self._first = 0
        """The first call of this interpreter."""
        if isinstance(program, ProgramUnderTest):
            self.left_s = program.cpu_s or cpu_s
            self.call_s = program.call_s
            self.fresh, self.apart = program.fresh, program.apart
            if program.checker:
                self.checker = values.write([program.checker, program.function])

    @property
    def is_done(self) -> bool:
        """Whether each call has its outcome."""
        return len(self.outcomes) == len(self.calls)

    @property
    def frame(self) -> bytes:
        """The calls without an outcome, for a fresh interpreter."""
        done = len(self.outcomes)
        calls = self.calls[done:]
        if done and self.fresh:
            calls[0] = _write_request(self.fresh[done])
        call_s = self.call_s or self.left_s
        content = {
            "load": self.load,
            "calls": calls,
            "cpu_s": self.left_s,
            "call_s": call_s,
            "checker": self.checker,
            "apart": sorted(number - done for number in self.apart if number >= done),
        }
        return values.write(content).encode() + b"\n"

    def begin(self) -> bytes:
        """Begin in a fresh interpreter, without outcomes if calls fail together; return the frame for it."""
        if not self.call_s:
            self.outcomes.clear()
        self.is_loaded, self._first = False, len(self.outcomes)
        return self.frame

    def fail(self, outcome: Outcome) -> None:
        """Give an outcome to the call that ended the interpreter, and to all after it that cannot go on."""
        if self.call_s and self.is_loaded and self.left_s > 0 and not self.is_done:
            self.outcomes.append(outcome)
        else:
            self.outcomes += [outcome] * (len(self.calls) - len(self.outcomes))

    def hear(self, frame: Any) -> bool:
        """Process one frame of the worker's; return whether it is the last.

        Raises:
            ValueError: the frame is invalid.
        """
        match frame:
            case ["load", 0, reply] if not self.is_loaded and len(self.outcomes) == self._first:
                self.is_loaded = reply == values.LOADED
                if not self.is_loaded:
                    outcome = guest_replies.read_outcome(reply)
                    # No program has been called yet that could return a value.
                    if outcome.kind == "value":
                        outcome = Outcome("bad value", message="not a reply")
                    self.fail(outcome)
            case ["call", int(k), reply] if self._first + k == len(self.outcomes) and not self.is_done:
                self.outcomes.append(guest_replies.read_outcome(reply))
            case ["end", "done", _, _, int()] if self.is_done:
                return True
            case [
                "end",
                "timeout" | "memory" | "exception" | "bad value" as kind,
                str(error),
                str(message),
                int(ms),
            ]:
                self.left_s -= ms / 1000
                self.fail(Outcome(cast("OutcomeKind", kind), error=error, message=message))
                return True
            case _:
                raise ValueError("an unexpected frame")
        return False


class Deadline:
    """When a worker that says nothing is late; what it waits for a core is not counted.

    It may say nothing for `silent_s`, from one frame to the next, and `whole_s` in all; 0: the whole time.
    """

    def __init__(self, clock: Clock | None, whole_s: float, silent_s: float) -> None:
        self._clock, self._whole_s, self._silent_s = clock, whole_s, silent_s
        self._spent_s = 0.0
        self._begin()

    def _begin(self) -> None:
        if self._clock:
            self._clock.start()
        self._began = time.monotonic()
        self._at = self._began + self._limit_s()

    def _limit_s(self) -> float:
        left_s = self._whole_s - self._spent_s
        if self._silent_s:
            return min(self._silent_s + WALL_MORE_S, left_s)
        return left_s

    def active_s(self) -> float:
        """Return the seconds so far."""
        if self._clock:
            return self._spent_s + self._clock.active_s()
        return self._spent_s + (time.monotonic() - self._began)

    def wait_s(self) -> float:
        """Return for how long the worker cannot be late; 0: it is."""
        now = time.monotonic()
        if self._at <= now and self._clock:
            self._at = now + self._clock.margin_s(self._limit_s())
        return max(self._at - now, 0.0)

    def renew(self) -> None:
        """Begin anew after a frame. Between frames that come at once the clock, which takes longer, is not read."""
        if self._silent_s and time.monotonic() - self._began > AT_ONCE_S:
            self._spent_s = self.active_s()
            self._begin()


class Worker:
    """One worker process; `layers` is empty until it says hello."""

    def __init__(self, image: str) -> None:
        self.process = processes.start(
            processes.build_command("basic_control.tasks.sandbox.worker", image, str(MEMORY_MB))
        )
        self.reading, self.writing = (cast("IO[bytes]", pipe) for pipe in (self.process.stdout, self.process.stdin))
        self.clock: Clock | None = None
        self.deadline = Deadline(None, START_S, 0.0)
        self.layers: dict[str, str] = {}
        self._buffer = bytearray()
        for pipe in (self.reading, self.writing):
            os.set_blocking(pipe.fileno(), False)
        # Linux only, and limited for each user.
        with contextlib.suppress(AttributeError, OSError):
            fcntl.fcntl(self.reading, fcntl.F_SETPIPE_SZ, _PIPE)

    def talk(self, content: bytes, limit_s: float, take: Callable[[Any], bool], silent_s: float = 0.0) -> None:
        """Send bytes, and pass each frame that comes back to `take` until that returns true.

        Raises:
            EOFError: the worker is gone.
            TimeoutError: its time is up, not counting waits for a core.
            ValueError: what it sends is no frame, or out of turn.
        """
        # A worker that has said hello says nothing between two jobs.
        if self.clock and self.hear():
            raise ValueError("an unexpected frame")
        self.deadline = Deadline(self.clock, limit_s, silent_s)
        is_over, is_late, unsent = False, False, memoryview(content)
        with selectors.DefaultSelector() as selector:
            selector.register(self.reading, selectors.EVENT_READ)
            selector.register(self.writing, selectors.EVENT_WRITE)
            while unsent or not is_over:
                if is_late:
                    raise TimeoutError("no reply in time")
                wait_s = self.deadline.wait_s()
                # What has arrived by then is processed below.
                is_late = wait_s == 0
                for key, _ in selector.select(wait_s):
                    if key.fileobj is self.reading:
                        is_over = self._pass(take, is_over=is_over)
                        self.deadline.renew()
                    else:
                        # A broken pipe is noticed where the worker is read.
                        with contextlib.suppress(BlockingIOError, BrokenPipeError):
                            unsent = unsent[os.write(self.writing.fileno(), unsent) :]
                        if not unsent:
                            selector.unregister(self.writing)

    def _pass(self, take: Callable[[Any], bool], *, is_over: bool) -> bool:
        for frame in self.hear():
            if is_over:
                raise ValueError("an unexpected frame")
            is_over = take(frame)
        return is_over

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
        self._buffer += part
        frames: list[bytearray] = []
        # A long frame comes in many parts, and is looked through once.
        if b"\n" in part:
            *frames, self._buffer = self._buffer.split(b"\n")
        if len(self._buffer) > LARGEST:
            raise ValueError(f"a frame of more than {LARGEST} bytes")
        return list(map(values.read, frames))
