"""Compile many Kotlin programs, each a module of its own, in one virtual machine: its start costs some seconds.

A program is compiled as it stands; the calls import it from its package, which is where its classes come to lie.
A program that brings the virtual machine down costs a start. Each has CPU time of its own, so that no outcome hangs
on what else is compiled; the compiler is confined like what it compiles.
"""

import contextlib
import os
import re
import secrets
import selectors
import signal
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from data.records import Outcome, Program
from tasks.sandbox import kotlin_setup, kotlin_source
from tasks.sandbox.clock import Clock
from tasks.sandbox.kotlin_setup import Ready
from tasks.sandbox.replies import clean

BATCH = 100
"""Programs in one folder."""

ALONE_S = 20.0
"""CPU seconds of one compilation."""

IDLE_S = 60.0
"""Seconds beside twice its CPU time in which a compiler that makes no progress is ended."""

_POLL_S = 0.2
_ERROR = re.compile(r"^\w+/(Candidate|Calls)\.kt:(\d+):\d+: error: ([^\n]{0,300})", re.MULTILINE)
_SAID = 1 << 20
_LATE = Outcome("timeout", message="the compiler took too long")
_FAILED = Outcome("syntax", message="the compiler failed")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program's own classes and those of its calls, and the class to start."""

    jars: tuple[Path, ...]
    main: str


class Compilation:
    """Programs to compile in one private folder; `run` returns what became of each."""

    def __init__(self, ready: Ready, folder: Path, programs: Sequence[Program]) -> None:
        self.ready, self.folder, self.programs = ready, folder, programs
        self.names = [f"p{secrets.token_hex(8)}" for _ in programs]
        self.found: dict[int, Compiled | Outcome] = {}
        self.starts = 0

    def run(self) -> list[Compiled | Outcome]:
        """Write each program and compile it."""
        for k, (program, name) in enumerate(zip(self.programs, self.names, strict=True)):
            (self.folder / name).mkdir()
            try:
                (self.folder / name / "Candidate.kt").write_text(program.source, encoding="utf-8")
            except UnicodeEncodeError:
                self.found[k] = Outcome("syntax", message="text with half a surrogate pair")
        while self._open():
            before = len(self.found)
            with self._started() as process:
                self._drive(process)
            if len(self.found) == before:
                break
        return [self.found.get(k, _LATE) for k in range(len(self.programs))]

    def _open(self) -> list[int]:
        return [k for k in range(len(self.programs)) if k not in self.found]

    def _drive(self, process: "subprocess.Popen[bytes]") -> None:
        """Hand the programs that are left to the driver, until it is done or one brings it down."""
        clock = Clock(process.pid)
        for k in self._open():
            with contextlib.suppress(BrokenPipeError):
                self.found[k] = self._compiled(process, clock, k)
            if process.poll() is not None or k not in self.found:
                return

    def _compiled(self, process: "subprocess.Popen[bytes]", clock: Clock, k: int) -> Compiled | Outcome:
        """Return a compiled program with its calls, or what the compiler says of the one or the other.

        A program without the word stands in no package: with its calls it takes one compilation instead of two.
        """
        program, name = self.programs[k], self.names[k]
        folder = self.folder / name
        package: tuple[str, ...] = ()
        if apart := "package" in program.source:
            if refused := self._part(process, clock, name, "Candidate"):
                return refused
            package = _package(folder / "Candidate.jar")
        (folder / "Calls.kt").write_text(kotlin_source.calls(program, name, package), encoding="utf-8")
        if refused := self._part(process, clock, name, "Calls" if apart else "Candidate Calls"):
            return refused
        return Compiled((*[folder / "Candidate.jar"] * apart, folder / "Calls.jar"), f"{name}.CallsKt")

    def _part(self, process: "subprocess.Popen[bytes]", clock: Clock, name: str, parts: str) -> Outcome | None:
        """Have files compiled; return why they cannot be. What ends no compilation in its time ends the driver."""
        to, back = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        limit_s = clock.cpu_s() + ALONE_S
        to.write(f"{name} {parts}\n".encode())
        to.flush()
        line = _line(back, clock, limit_s)
        if line == f"{name} {parts} 0":
            return None
        if line and line.startswith(f"{name} {parts} "):
            return _said(_read(self.folder / name / "said"))
        process.kill()
        process.wait()
        return _LATE if line is None else _FAILED

    @contextlib.contextmanager
    def _started(self) -> "Iterator[subprocess.Popen[bytes]]":
        """Start the driver, confined to what it needs; end it with all of its session."""
        self.starts += 1
        process = subprocess.Popen(  # noqa: S603 - our launcher, and through it Java with the user's own compiler
            self.ready.compiler(self.folder),
            cwd=self.folder,
            env=kotlin_setup.environment(self.folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    cast("IO[bytes]", pipe).close()


def _said(said: str) -> Outcome:
    """Return what the compiler says: of the program, or else of its calls."""
    errors = {part: (line, message) for part, line, message in reversed(_ERROR.findall(said))}
    if "Candidate" in errors:
        line, message = errors["Candidate"]
        return Outcome("syntax", message=clean(f"{message} (line {line})"))
    return Outcome("no such function", message=clean(errors["Calls"][1])) if errors else _FAILED


def _package(jar: Path) -> tuple[str, ...]:
    """Return the package of a compiled file, part by part: all its classes lie there. A file without has none."""
    with zipfile.ZipFile(jar) as held:
        classes = [PurePosixPath(name) for name in held.namelist() if name.endswith(".class")]
    return classes[0].parts[:-1] if classes else ()


def _line(pipe: IO[bytes], clock: Clock, limit_s: float) -> str | None:
    """Return the driver's next line, '' when it is gone, None when it takes too long."""
    heard = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not heard.endswith(b"\n"):
            if selector.select(_POLL_S):
                part = os.read(pipe.fileno(), 1 << 10)
                if not part:
                    return ""
                heard += part
            # its own time counts only where it makes no progress
            elif clock.cpu_s() >= limit_s or clock.left(2 * limit_s + IDLE_S) <= 0:
                return None
    return heard.decode("ascii", "replace").rstrip("\n")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_SAID).decode(errors="replace")
    except OSError:
        return ""
