"""Kotlin programs: compiled, and each run in a separate virtual machine, if there is a compiler.

Otherwise they are `unavailable`. A virtual machine isolates less than WebAssembly: it is confined by the kernel
(limits, Landlock and seccomp: no files but its own, no sockets, no processes; without them nothing is run), its
heap limit, and its CPU time. Its replies are read like the WebAssembly component's.

Many programs are compiled, each as a separate module, in one virtual machine, whose start takes some seconds. A
program is compiled unchanged; the calls import it from its package, which determines its classes' location. A
program that crashes the virtual machine costs a restart. Each has its own CPU time, so that no outcome depends on
what else is compiled; the compiler is confined like its output.
"""

import contextlib
import os
import re
import secrets
import selectors
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast

from basic_control.data.records import Outcome, Program
from basic_control.tasks.runtime import machine
from basic_control.tasks.sandbox import guest_replies, kotlin_source, kotlin_tools, processes
from basic_control.tasks.sandbox.clock import Clock
from basic_control.tasks.sandbox.kotlin_tools import Ready
from basic_control.tasks.sandbox.pool import WALL_MORE_S, run_fit

START_S = 30.0
"""Seconds after which a virtual machine that is not ready has failed."""

REPLY = 1 << 20
"""Bytes of all replies to one program."""

HEAP_MB = 256
"""A virtual machine's heap, in MB."""

BESIDE_MB = 256
"""A virtual machine's memory besides its heap: classes, code, stacks, itself."""

BATCH = 100
"""Programs in one folder."""

ALONE_S = 20.0
"""CPU seconds of one compilation."""

IDLE_S = 60.0
"""Seconds, on top of twice its CPU time, after which a compiler without progress is killed."""

_POLL_S = 0.02
_ENDED = Outcome("exception", error="SystemExit", message="the program ended the virtual machine")
_NOT_STARTED = Outcome("unavailable", message="the Java virtual machine did not start")
"""Independent of the program: nothing of it is run before the machine reports that it is ready."""
_LATE = Outcome("timeout", message="the compiler took too long")
_FAILED = Outcome("syntax", message="the compiler failed")

# What the compiler says of a program or its calls: p3f…/Candidate.kt:3:5: error: unresolved reference: x
_ERROR = re.compile(r"^\w+/(Candidate|Calls)\.kt:(\d+):\d+: error: ([^\n]{0,300})", re.MULTILINE)
_OUTPUT = 1 << 20
"""Bytes read of what the compiler says."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The classes of a program and of its calls, and the class to start."""

    jars: tuple[Path, ...]
    main: str


def run(
    programs: Sequence[Program], *, cpu_s: float = 2.0, compiler: str = "", java: str = ""
) -> list[tuple[Outcome, ...]]:
    """Run Kotlin programs; return, in order, one outcome for each of their calls.

    `compiler` and `java` are as in `kotlin_tools.find`; if one is missing or does not work, or the kernel cannot
    confine, every outcome is `unavailable`. `cpu_s` counts from when a program's virtual machine is ready. A
    program that times out is retried once, alone.

    Raises:
        ValueError: a call's arguments cannot be written in Kotlin.
    """
    tools = kotlin_tools.find_tools(compiler, java)
    ready = tools if isinstance(tools, str) else kotlin_tools.prepare(tools)
    if isinstance(ready, str):
        return [(Outcome("unavailable", message=ready),) * len(program.calls) for program in programs]
    return run_fit(programs, partial(_run_in_batches, ready, cpu_s))


def _run_in_batches(ready: Ready, cpu_s: float, programs: Sequence[Program]) -> Iterator[tuple[Outcome, ...]]:
    for start in range(0, len(programs), BATCH):
        yield from _run_batch(ready, programs[start : start + BATCH], cpu_s)


def _run_batch(ready: Ready, programs: Sequence[Program], cpu_s: float) -> Iterator[tuple[Outcome, ...]]:
    """Compile programs together, run each, and yield its outcomes."""

    def find_outcomes(compiled: Compiled | Outcome, program: Program) -> tuple[Outcome, ...]:
        if isinstance(compiled, Outcome):
            return (compiled,) * len(program.calls)
        return run_compiled(ready, compiled, len(program.calls), cpu_s)

    with tempfile.TemporaryDirectory(prefix="basic-control-") as folder:
        results = Compilation(ready, Path(folder), programs).run()
        with ThreadPoolExecutor(machine.count_workers(HEAP_MB + BESIDE_MB)) as threads:
            first_outcomes = list(threads.map(find_outcomes, results, programs))
        for result, program, outcomes in zip(results, programs, first_outcomes, strict=True):
            # Once more, alone.
            if isinstance(result, Compiled) and outcomes[-1].kind == "timeout":
                yield find_outcomes(result, program)
            else:
                yield outcomes


def run_compiled(ready: Ready, compiled: Compiled, calls: int, cpu_s: float) -> tuple[Outcome, ...]:
    """Run a program in a separate virtual machine; return an outcome for each call.

    Calls without a reply share the reason.
    """
    nonce = secrets.token_hex(16)
    data, limit_s = (2 * HEAP_MB + 1024) << 20, int(START_S + cpu_s)
    limits = {"core": 0, "fsize": 0, "nofile": 256, "cpu": limit_s, "data": data}
    process = processes.start(ready.program(compiled.jars, compiled.main, limits, HEAP_MB))
    try:
        pipe = cast("IO[bytes]", process.stdin)
        with contextlib.suppress(OSError):
            pipe.write(f"{nonce}\n".encode())
            pipe.close()
        output, ending = _listen(process, f"{nonce} ready\n".encode(), cpu_s)
    finally:
        processes.end(process)
    lines = bytes(output[:REPLY]).decode("ascii", "replace").split("\n")[:-1]
    # What the program itself prints does not begin with the nonce.
    texts = [line.removeprefix(f"{nonce} ") for line in lines if line.startswith(f"{nonce} ")]
    reply_texts = [text for text in texts if text not in {"ready", "end"}][:calls]
    outcomes = [*map(guest_replies.read_outcome, reply_texts)]
    return (*outcomes, *[ending] * (calls - len(outcomes)))


def _listen(process: "subprocess.Popen[bytes]", ready: bytes, cpu_s: float) -> tuple[bytearray, Outcome]:
    """Return a virtual machine's timely output, and the outcome of calls without a reply."""
    clock, output = Clock(process.pid), bytearray()
    end = _read_until(
        process, clock, output, lambda: ready in output, cpu_limit_s=START_S, active_limit_s=2 * START_S
    )
    if end != "whole":
        return output, _NOT_STARTED
    # The program's own time begins when its virtual machine is ready.
    clock.start()
    end = _read_until(
        process, clock, output, lambda: len(output) > REPLY, cpu_limit_s=cpu_s, active_limit_s=cpu_s + WALL_MORE_S
    )
    outcomes = {
        "gone": _ENDED,
        "late": Outcome("timeout"),
        "whole": Outcome("bad value", message=f"the replies are longer than {REPLY} characters"),
    }
    return output, outcomes[end]


def _read_until(
    process: "subprocess.Popen[bytes]",
    clock: Clock,
    output: bytearray,
    is_whole: Callable[[], bool],
    *,
    cpu_limit_s: float,
    active_limit_s: float,
) -> str:
    """Add a virtual machine's output until it is `whole`; return so, or that the machine is `gone` or `late`.

    The limits are those of its clock: CPU time, and time in which it does not wait for a core.
    """
    pipe = cast("IO[bytes]", process.stdout)
    due = time.monotonic() + active_limit_s - clock.active_s()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not is_whole():
            has_output, now = selector.select(_POLL_S), time.monotonic()
            # No earlier: a program may have thousands of threads to look at.
            if due <= now:
                due = now + clock.margin_s(active_limit_s)
            if due <= now:
                return "late"
            part = os.read(pipe.fileno(), 1 << 16) if has_output else b""
            if has_output and not part:
                return "gone"
            if clock.cpu_s() > cpu_limit_s:
                return "late"
            output += part
    return "whole"


class Compilation:
    """Programs to compile in one private folder; `run` returns each one's result."""

    def __init__(self, ready: Ready, folder: Path, programs: Sequence[Program]) -> None:
        self.ready, self.folder, self.programs = ready, folder, programs
        self.names = [f"p{secrets.token_hex(8)}" for _ in programs]
        self.results: dict[int, Compiled | Outcome] = {}
        self.starts = 0

    def run(self) -> list[Compiled | Outcome]:
        """Write each program and compile it."""
        for k, (program, name) in enumerate(zip(self.programs, self.names, strict=True)):
            (self.folder / name).mkdir()
            try:
                (self.folder / name / "Candidate.kt").write_text(program.source, encoding="utf-8")
            except UnicodeEncodeError:
                self.results[k] = Outcome("syntax", message="text with half a surrogate pair")
        while pending := [k for k in range(len(self.programs)) if k not in self.results]:
            self.starts += 1
            process = processes.start(self.ready.compiler(self.folder), work=self.folder)
            clock = Clock(process.pid)
            try:
                for k in pending:
                    with contextlib.suppress(BrokenPipeError):
                        self.results[k] = self._compile(process, clock, k)
                    # It crashed the compiler.
                    if process.poll() is not None or k not in self.results:
                        break
            finally:
                processes.end(process)
            if self.results.keys().isdisjoint(pending):
                break
        return [self.results.get(k, _LATE) for k in range(len(self.programs))]

    def _compile(self, process: "subprocess.Popen[bytes]", clock: Clock, k: int) -> Compiled | Outcome:
        """Return a compiled program with its calls, or the compiler's error about either.

        A program without the word is in no package: with its calls it takes one compilation instead of two.
        """
        program, name = self.programs[k], self.names[k]
        folder = self.folder / name
        package: tuple[str, ...] = ()
        jars, parts = [folder / "Calls.jar"], "Candidate Calls"
        if "package" in program.source:
            refusal = self._compile_parts(process, clock, name, "Candidate")
            if refusal:
                return refusal
            # All its classes are in its package.
            with zipfile.ZipFile(folder / "Candidate.jar") as jar:
                classes = [PurePosixPath(path) for path in jar.namelist() if path.endswith(".class")]
            if classes:
                package = classes[0].parts[:-1]
            jars, parts = [folder / "Candidate.jar", *jars], "Calls"
        (folder / "Calls.kt").write_text(kotlin_source.write_calls(program, name, package), encoding="utf-8")
        refusal = self._compile_parts(process, clock, name, parts)
        return refusal or Compiled((*jars,), f"{name}.CallsKt")

    def _compile_parts(
        self, process: "subprocess.Popen[bytes]", clock: Clock, name: str, parts: str
    ) -> Outcome | None:
        """Compile files; return why they cannot be compiled, if so. A timeout ends the driver."""
        to, limit_s, output = cast("IO[bytes]", process.stdin), clock.cpu_s() + ALONE_S, bytearray()
        to.write(f"{name} {parts}\n".encode())
        to.flush()
        end = _read_until(
            process,
            clock,
            output,
            lambda: b"\n" in output,
            cpu_limit_s=limit_s,
            active_limit_s=2 * limit_s + IDLE_S,
        )
        line = output.decode("ascii", "replace").rstrip("\n")
        if line == f"{name} {parts} 0":
            return None
        if line.startswith(f"{name} {parts} "):
            with contextlib.suppress(OSError), (self.folder / name / "said").open("rb") as file:
                return _read_errors(file.read(_OUTPUT).decode(errors="replace"))
            return _FAILED
        process.kill()
        process.wait()
        return _LATE if end == "late" else _FAILED


def _read_errors(output: str) -> Outcome:
    """Return the outcome for the compiler's messages: about the program, or else about its calls."""
    # The first error about each counts.
    errors = {part: (line, message) for part, line, message in reversed(_ERROR.findall(output))}
    if "Candidate" in errors:
        line, message = errors["Candidate"]
        return Outcome("syntax", message=guest_replies.clean(f"{message} (line {line})"))
    if not errors:
        return _FAILED
    return Outcome("no such function", message=guest_replies.clean(errors["Calls"][1]))
