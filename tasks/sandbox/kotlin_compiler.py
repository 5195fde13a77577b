"""Compile many Kotlin programs at once: one compiler start costs some seconds, a hundred files little more.

One file with an error leaves its whole batch without output: the files that the errors name are taken out, and the
rest is compiled again. A batch that fails without naming a file is compiled one by one, in one virtual machine. All
of it has one budget of CPU time, and the compiler is confined like what it compiles.
"""

import contextlib
import json
import os
import re
import secrets
import selectors
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from data.records import Outcome, Program
from tasks.sandbox import child, kotlin_source, kotlin_tools
from tasks.sandbox.clock import Clock
from tasks.sandbox.kotlin_tools import Tools
from tasks.sandbox.replies import clean

BATCH = 100
"""Programs in one compilation."""

STARTS_S, EACH_S = 120.0, 4.0
"""CPU seconds of a batch: for the compiler's starts, and for each program."""

TOGETHER_S, ALONE_S = 60.0, 20.0
"""CPU seconds of one compilation: of many programs, beside one for each; of a single program."""

IDLE_S = 60.0
"""Seconds beside twice its CPU time in which a compiler that makes no progress is ended."""

_ROUNDS = 6
"""Compilations of a batch: errors come in the compiler's phases, and what fails later is compiled one by one."""

_POLL_S = 0.2
_ERROR = re.compile(r"^(\w+)/(Candidate|Calls)\.kt:(\d+):\d+: error: ([^\n]{0,300})", re.MULTILINE)
_SAID = 1 << 20
_FILE = 1 << 28  # bytes of a jar
_LATE = Outcome("timeout", message="the compiler took too long")
_FAILED = Outcome("syntax", message="the compiler failed")
_BROKEN = Outcome("unavailable", message="the Kotlin compiler does not work")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program's own classes, the runtime that all share, and the class to start."""

    jar: Path
    runtime: Path
    main: str


class Batch:
    """Programs to compile together, in one private folder; `run` returns what became of each."""

    def __init__(self, tools: Tools, folder: Path, programs: Sequence[Program]) -> None:
        self.tools, self.folder, self.programs = tools, folder, programs
        self.names = [f"p{secrets.token_hex(8)}" for _ in programs]
        self.found: dict[int, Compiled | Outcome] = {}
        self.left_s = STARTS_S + EACH_S * len(programs)
        self.starts = 0

    def run(self) -> list[Compiled | Outcome]:
        """Write, compile and take apart."""
        for file in ("harness.kt", "driver.kt"):
            shutil.copyfile(Path(__file__).with_name(file), self.folder / file)
        for k, (program, name) in enumerate(zip(self.programs, self.names, strict=True)):
            (self.folder / name).mkdir()
            (self.folder / name / "Calls.kt").write_text(kotlin_source.calls(program, name), encoding="utf-8")
            try:
                text = kotlin_source.candidate(program, name)
                (self.folder / name / "Candidate.kt").write_text(text, encoding="utf-8")
            except UnicodeEncodeError:
                self.found[k] = Outcome("syntax", message="text with half a surrogate pair")
        self._compile()
        return [self.found.get(k, _LATE) for k in range(len(self.programs))]

    def _open(self) -> list[int]:
        return [k for k in range(len(self.programs)) if k not in self.found]

    def _compile(self) -> None:
        for _ in range(_ROUNDS):
            chosen = self._open()
            if not chosen:
                return
            jar = self.folder / "all.jar"
            files = [f"{self.names[k]}/{part}.kt" for k in chosen for part in ("Candidate", "Calls")]
            limit_s = min(TOGETHER_S + len(chosen), self.left_s)
            done, said = self._together(["harness.kt", *files], jar, limit_s)
            if done:
                self._take_apart(chosen, jar)
                return
            errors = self._errors(said)
            self.found |= {k: errors[self.names[k]] for k in chosen if self.names[k] in errors}
            if len(self._open()) == len(chosen):
                break
        self._one_by_one()

    def _together(self, files: Sequence[str], jar: Path, limit_s: float, *more: str) -> tuple[bool, str]:
        """Run the compiler; return whether it made the jar, and what it said."""
        jar.unlink(missing_ok=True)
        (self.folder / "arguments").write_text("\n".join(files))
        command = [*self.tools.compiler(), "-nowarn", "-include-runtime", *more, "-d", jar.name, "@arguments"]
        said = self.folder / "said"
        with said.open("wb") as output, self._started(command, output) as process:
            clock, used = Clock(process.pid), 0.0
            while process.poll() is None and self._may(clock, limit_s):
                used = max(used, clock.cpu_s())
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_S)
        self.left_s -= used
        return process.returncode == 0 and jar.exists(), _read(said)

    def _one_by_one(self) -> None:
        """Compile what is left in one virtual machine, which is started anew where a program brings it down."""
        jar, runtime, driver = (self.folder / f"{name}.jar" for name in ("tools", "runtime", "driver"))
        classpath = ("-cp", self.tools.jar)
        if not self._together(["harness.kt", "driver.kt"], jar, TOGETHER_S, *classpath)[0]:
            # no program had a part in this
            self.found |= dict.fromkeys(self._open(), _BROKEN)
            return
        with (
            zipfile.ZipFile(jar) as all_,
            zipfile.ZipFile(runtime, "w") as ran,
            zipfile.ZipFile(driver, "w") as own,
        ):
            for entry in all_.infolist():  # the compiler finds functions by what stands in META-INF
                (own if entry.filename.startswith("sandbox/driver/") else ran).writestr(entry, all_.read(entry))
        while self._open() and self.left_s > 0:
            before = len(self.found)
            command = [*self.tools.driver(driver), "-nowarn", "-cp", runtime.name]
            with self._started(command, subprocess.PIPE) as process:
                self._drive(process, runtime)
            if len(self.found) == before:
                return

    def _drive(self, process: "subprocess.Popen[bytes]", runtime: Path) -> None:
        """Hand the programs that are left to the driver, until it is done or one brings it down."""
        clock, spent = Clock(process.pid), 0.0
        to, back = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        for k in self._open():
            name = self.names[k]
            with contextlib.suppress(OSError):
                to.write(f"{name}\n".encode())
                to.flush()
            line = self._line(back, clock, spent + min(ALONE_S, self.left_s))
            used = clock.cpu_s()
            self.left_s, spent = self.left_s - max(used - spent, 0.0), used
            if line is None and self.left_s <= 0:
                return
            jar = self.folder / f"{name}.jar"
            if line == f"{name} 0" and jar.exists():
                self.found[k] = Compiled(jar, runtime, f"{name}.calls.CallsKt")
            elif line is not None and line.startswith(f"{name} "):
                self.found[k] = self._errors(_read(self.folder / name / "said")).get(name, _FAILED)
            else:
                self.found[k] = _LATE if line is None else _FAILED
                return

    def _line(self, pipe: IO[bytes], clock: Clock, limit_s: float) -> str | None:
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
                elif not self._may(clock, limit_s):
                    return None
        return heard.decode("ascii", "replace").rstrip("\n")

    def _may(self, clock: Clock, limit_s: float) -> bool:
        """Tell whether the compiler may go on: by its CPU time, and its own time where it makes no progress."""
        return clock.cpu_s() < limit_s and clock.left(2 * limit_s + IDLE_S) > 0

    @contextlib.contextmanager
    def _started(self, command: Sequence[str], output: "int | IO[bytes]") -> "Iterator[subprocess.Popen[bytes]]":
        """Start a compiler, confined to what it needs; end it with all of its session."""
        self.starts += 1
        limits = {"core": 0, "fsize": _FILE, "nofile": 1024, "cpu": int(STARTS_S + EACH_S * BATCH) + 60}
        readable = self.tools.readable(self.tools.home)
        given = json.dumps({"limits": limits, "readable": readable, "writable": [str(self.folder)]})
        process = subprocess.Popen(  # noqa: S603 - our launcher, and through it Java with the user's own compiler
            child.command("tasks.sandbox.launch", given, *command),
            cwd=self.folder,
            env=kotlin_tools.environment(self.folder),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.DEVNULL if output == subprocess.PIPE else subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def _errors(self, said: str) -> Mapping[str, Outcome]:
        """Return an outcome for each program that an error names: the first error of its own file goes first."""
        errors: dict[str, Outcome] = {}
        for name, part, line, message in _ERROR.findall(said):
            if part == "Candidate" and errors.get(name, Outcome("no such function")).kind != "syntax":
                errors[name] = Outcome("syntax", message=clean(f"{message} (line {line})"))
            elif name not in errors:
                errors[name] = Outcome("no such function", message=clean(message))
        return errors

    def _take_apart(self, chosen: list[int], jar: Path) -> None:
        """Split the jar: each program gets its own classes, so that it cannot find another's at run time."""
        runtime = jar.with_suffix(".runtime.jar")
        with zipfile.ZipFile(jar) as whole, contextlib.ExitStack() as stack:
            shared = stack.enter_context(zipfile.ZipFile(runtime, "w"))
            own = {}
            for k in chosen:
                target = self.folder / f"{self.names[k]}.jar"
                own[self.names[k]] = stack.enter_context(zipfile.ZipFile(target, "w"))
                self.found[k] = Compiled(target, runtime, f"{self.names[k]}.calls.CallsKt")
            for entry in _classes(whole):
                first = entry.filename.split("/", 1)[0]
                own.get(first, shared).writestr(entry, whole.read(entry))


def _classes(jar: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    for entry in jar.infolist():
        if not entry.is_dir() and not entry.filename.startswith("META-INF/"):
            yield entry


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_SAID).decode(errors="replace")
    except OSError:
        return ""
