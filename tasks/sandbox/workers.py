"""A worker process and the job it is on, as the pool sees them."""

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import IO, Any, Literal, cast

from data.records import Outcome, OutcomeKind
from tasks.sandbox import child, frames, replies
from tasks.sandbox.clock import Clock

START_S = 300.0
"""A worker that has not said hello by then will not: on an idle machine it takes a fraction of one."""

_PIPE = 1 << 20
"""Bytes that may lie in the pipe from a worker: it need not wait while this process is kept from reading."""


@dataclass(slots=True, eq=False)
class Job:
    """One program on its way, and the outcomes of its calls so far."""

    index: int
    content: dict[str, Any]
    outcomes: list[Outcome] = field(default_factory=list)
    deaths: int = 0
    alone: bool = False
    """It ran out of time once, and is tried again without company."""

    def finish(self, rest: Outcome) -> tuple[Outcome, ...]:
        """Return an outcome for each call: those that did not come back share `rest`."""
        return (*self.outcomes, *[rest] * (len(self.content["calls"]) - len(self.outcomes)))

    def hear(self, frame: Any) -> tuple[Outcome, ...] | None:
        """Take one frame of the worker's; return the outcomes when it is the last.

        Raises:
            ValueError: the frame is none of those that a worker sends.
        """
        match frame:
            case ["load", 0, reply] if not self.outcomes:
                said = replies.outcome(reply)
                failed = said if said.kind != "value" else Outcome("bad value", message="not a reply")
                self.outcomes = list(self.finish(failed))
            case ["call", int(k), reply] if k == len(self.outcomes) < len(self.content["calls"]):
                self.outcomes.append(replies.outcome(reply))
            case ["end", "done", _, _] if len(self.outcomes) == len(self.content["calls"]):
                return tuple(self.outcomes)
            case ["end", "timeout" | "memory" | "exception" | "bad value" as kind, str(error), str(message)]:
                return self.finish(Outcome(cast("OutcomeKind", kind), error=error, message=message))
            case _:
                raise ValueError("a frame out of turn")
        return None


@dataclass(slots=True, eq=False)
class Worker:
    """One worker process: `starting` until it says hello, then `idle` or `busy` with a job."""

    process: subprocess.Popen[bytes]
    deadline: float
    state: Literal["starting", "idle", "busy"] = "starting"
    job: Job | None = None
    layers: dict[str, str] = field(default_factory=dict)
    unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    clock: Clock | None = None
    _got: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(cls, image: str, memory_mb: int) -> "Worker":
        """Start a process with an empty environment, no descriptors but two pipes, and a session of its own."""
        process = subprocess.Popen(  # noqa: S603 - our own interpreter, running our own module
            child.command("tasks.sandbox.worker", image, str(memory_mb)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child.environment(),
            cwd="/",
            start_new_session=True,
        )
        worker = cls(process, time.monotonic() + START_S)
        os.set_blocking(worker.reading.fileno(), False)
        with contextlib.suppress(AttributeError, OSError):  # Linux only, and only so much for each user
            fcntl.fcntl(worker.reading, fcntl.F_SETPIPE_SZ, _PIPE)
        os.set_blocking(worker.writing.fileno(), False)
        return worker

    @property
    def reading(self) -> IO[bytes]:
        """The pipe that the worker's frames come from."""
        return cast("IO[bytes]", self.process.stdout)

    @property
    def writing(self) -> IO[bytes]:
        """The pipe that its jobs go to."""
        return cast("IO[bytes]", self.process.stdin)

    def greet(self, thread: int, layers: dict[str, str]) -> None:
        """Take what its hello says: the thread that programs run on, and the layers around them."""
        self.clock = Clock(self.process.pid, thread)
        self.layers, self.state = layers, "idle"

    def late(self, now: float) -> bool:
        """Tell whether it has had its time; put the deadline off by what it only waited for a core."""
        if self.state == "idle" or self.deadline > now:
            return False
        if self.state == "busy" and self.job and self.clock:
            self.deadline = now + self.clock.left(self.job.content["wall_s"])
        return self.deadline <= now

    def give(self, job: Job) -> None:
        """Send a job; its time runs from here."""
        self.job, self.state = job, "busy"
        if self.clock:
            self.clock.start()
        self.deadline = time.monotonic() + job.content["wall_s"]
        self.unsent = memoryview(frames.pack(job.content))
        self.send()

    def send(self) -> None:
        """Write as much of the job as the pipe takes."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # a broken pipe is noticed where it is read
            self.unsent = self.unsent[os.write(self.writing.fileno(), self.unsent) :]

    def hear(self) -> list[Any]:
        """Read what has come, and return the frames that are whole.

        Raises:
            EOFError: the worker is gone.
            ValueError: what came is no frame.
        """
        try:
            part = os.read(self.reading.fileno(), 1 << 18)
        except BlockingIOError:
            return []
        if not part:
            raise EOFError
        self._got += part
        *whole, rest = self._got.split(b"\n") if b"\n" in part else [self._got]
        if len(rest) > frames.LARGEST:
            raise ValueError(f"a frame of more than {frames.LARGEST} bytes")
        self._got = rest
        return [frames.unpack(line) for line in whole]

    def end(self) -> int:
        """Kill the process with all of its session, wait for it, and return its exit status."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        status = self.process.wait()
        self.release()
        return status

    def release(self) -> None:
        """Close this process's ends of the pipes."""
        for pipe in (self.reading, self.writing):
            with contextlib.suppress(OSError):
                pipe.close()
