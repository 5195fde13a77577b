"""Kotlin programs: compiled, each run in a virtual machine of its own, where there is a compiler.

Elsewhere they are `unavailable`. A virtual machine is less of a wall than WebAssembly: what holds it is the kernel
(limits, Landlock and seccomp: no files but its own, no sockets, no processes; without them nothing is run), its
heap limit, and its CPU time. Its replies are read like the WebAssembly component's.
"""

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, cast

from data.records import Outcome, Program
from tasks.runtime import machine
from tasks.sandbox import child, kotlin_setup, kotlin_tools, replies
from tasks.sandbox.clock import Clock
from tasks.sandbox.kotlin_compiler import BATCH, Compilation, Compiled
from tasks.sandbox.kotlin_setup import Ready
from tasks.sandbox.pool import WALL_MORE_S, refused

START_S = 30.0
"""A virtual machine that is not ready by then will not be."""

REPLY = 1 << 20
"""Bytes of all replies to one program."""

HEAP_MB = 256
"""A virtual machine's heap."""

BESIDE_MB = 256
"""What a virtual machine holds beside its heap: classes, code, stacks, itself."""

_POLL_S = 0.02
_ENDED = Outcome("exception", error="SystemExit", message="the program ended the virtual machine")
_NOT_STARTED = Outcome("unavailable", message="the Java virtual machine did not start")
"""No program has a part in this: nothing of it is run before the machine says that it is ready."""


def run(
    programs: Sequence[Program],
    *,
    cpu_s: float = 2.0,
    compiler: str = "",
    java: str = "",
) -> list[tuple[Outcome, ...]]:
    """Run Kotlin programs; return, in order, one outcome for each of their calls.

    `compiler` and `java` are as in `kotlin_tools.find`; where one is missing or does not work, or a kernel that
    confines, every outcome is `unavailable`. `cpu_s` counts from when a program's virtual machine is ready. What
    runs out of time is tried once more, alone.

    Raises:
        ValueError: a call's arguments cannot be written in Kotlin.
    """
    tools = kotlin_tools.find(compiler, java)
    if isinstance(tools, str):
        return [(Outcome("unavailable", message=tools),) * len(program.calls) for program in programs]
    ready = kotlin_setup.prepare(tools)
    if isinstance(ready, str):
        return [(Outcome("unavailable", message=ready),) * len(program.calls) for program in programs]
    found: list[tuple[Outcome, ...]] = [()] * len(programs)
    chosen = []
    for k, program in enumerate(programs):
        if outcome := refused(program):
            found[k] = (outcome,) * len(program.calls)
        elif program.calls:
            chosen.append(k)
    for start in range(0, len(chosen), BATCH):
        batch = chosen[start : start + BATCH]
        for k, outcomes in zip(batch, _batch(ready, [programs[k] for k in batch], cpu_s), strict=True):
            found[k] = outcomes
    return found


def _batch(ready: Ready, programs: Sequence[Program], cpu_s: float) -> Iterator[tuple[Outcome, ...]]:
    """Compile programs together, run each, and yield its outcomes."""

    def outcomes(compiled: Compiled | Outcome, program: Program) -> tuple[Outcome, ...]:
        if isinstance(compiled, Outcome):
            return (compiled,) * len(program.calls)
        return _Machine(ready, compiled, len(program.calls), cpu_s).run()

    with tempfile.TemporaryDirectory(prefix="basic-control-") as folder:
        compiled = Compilation(ready, Path(folder), programs).run()
        with ThreadPoolExecutor(machine.workers(HEAP_MB + BESIDE_MB)) as threads:
            first = list(threads.map(outcomes, compiled, programs))
        for made, program, found in zip(compiled, programs, first, strict=True):
            late = isinstance(made, Compiled) and found[-1].kind == "timeout"
            yield outcomes(made, program) if late else found


class _Machine:
    """One program in one virtual machine."""

    def __init__(self, ready: Ready, compiled: Compiled, calls: int, cpu_s: float) -> None:
        self.calls, self.cpu_s = calls, cpu_s
        self.nonce = secrets.token_hex(16)
        limits = {
            "core": 0,
            "fsize": 0,
            "nofile": 256,
            "cpu": int(START_S + cpu_s),
            "data": (2 * HEAP_MB + 1024) << 20,
        }
        self.command = ready.program(compiled.jars, compiled.main, limits, HEAP_MB)

    def run(self) -> tuple[Outcome, ...]:
        """Return an outcome for each call; those that did not come back share the reason."""
        process = subprocess.Popen(  # noqa: S603 - our launcher, and through it Java
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child.environment(),
            cwd="/",
            start_new_session=True,
        )
        try:
            with contextlib.suppress(OSError):
                cast("IO[bytes]", process.stdin).write(f"{self.nonce}\n".encode())
                cast("IO[bytes]", process.stdin).close()
            got, rest = self._listen(cast("IO[bytes]", process.stdout), Clock(process.pid))
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            cast("IO[bytes]", process.stdout).close()
        outcomes = [replies.outcome(text) for text in got[: self.calls]]
        return (*outcomes, *[rest] * (self.calls - len(outcomes)))

    def _listen(self, pipe: IO[bytes], clock: Clock) -> tuple[list[str], Outcome]:
        """Return the replies that came in time, and what to say of the calls without one."""
        heard = bytearray()
        cpu_s, own_s = START_S, 2 * START_S
        due = time.monotonic() + own_s
        ready = f"{self.nonce} ready\n".encode()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while True:
                said = selector.select(_POLL_S)
                now = time.monotonic()
                if due <= now:  # no earlier: a program may have thousands of threads to look at
                    due = now + clock.left(own_s)
                if due <= now or (not said and clock.cpu_s() > cpu_s):
                    return self._replies(heard), Outcome("timeout") if ready in heard else _NOT_STARTED
                if not said:
                    continue
                part = os.read(pipe.fileno(), 1 << 16)
                if not part:
                    return self._replies(heard), _ENDED if ready in heard else _NOT_STARTED
                if ready not in heard and ready in heard + part:
                    clock.start()
                    cpu_s, own_s = self.cpu_s, self.cpu_s + WALL_MORE_S
                    due = time.monotonic() + own_s
                elif clock.cpu_s() > cpu_s:
                    return self._replies(heard), Outcome("timeout")
                heard += part
                if len(heard) > REPLY:
                    message = f"the replies are longer than {REPLY} characters"
                    return self._replies(heard), Outcome("bad value", message=message)

    def _replies(self, heard: bytes | bytearray) -> list[str]:
        lines = bytes(heard[:REPLY]).decode("ascii", "replace").split("\n")[:-1]
        own = [line.removeprefix(f"{self.nonce} ") for line in lines if line.startswith(f"{self.nonce} ")]
        return [text for text in own if text not in {"ready", "end"}]
