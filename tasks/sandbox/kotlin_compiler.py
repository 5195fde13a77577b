"""Compile many Kotlin programs at once: one compiler start costs some seconds, two hundred files little more.

One file with an error leaves its whole batch without output: the files that the errors name are taken out, and the
rest is compiled again; a batch that fails without naming a file is halved.
"""

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from data.records import Outcome, Program
from tasks.sandbox import kotlin_source
from tasks.sandbox.replies import clean

BATCH = 100
"""Programs in one compilation."""

VARIABLE = "BASIC_CONTROL_KOTLINC"
"""The environment variable that names a compiler which is not on the PATH."""

_ERROR = re.compile(r"^(\w+)/(Candidate|Calls)\.kt:(\d+):\d+: error: ([^\n]{0,300})", re.MULTILINE)
_SAID = 1 << 20


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program's own classes, the runtime that all share, and the class to start."""

    jar: Path
    runtime: Path
    main: str


def find(configured: str | None = None) -> str:
    """Return the compiler's path: the one configured, or `$BASIC_CONTROL_KOTLINC`, or `kotlinc` on the PATH; or ''.

    A path that leads nowhere counts as no compiler.
    """
    return shutil.which(configured or os.environ.get(VARIABLE, "") or "kotlinc") or ""


def java() -> str:
    """Return the Java that runs Kotlin programs: JAVA_HOME's, or the PATH's; '' if there is none."""
    home = os.environ.get("JAVA_HOME", "")
    found = (shutil.which("java", path=str(Path(home) / "bin")) if home else None) or shutil.which("java")
    return str(Path(found).resolve()) if found else ""


def _environment(work: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    options = f"-Xmx1536m -Xss16m -Djava.io.tmpdir={work} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
    return {**kept, "HOME": str(work), "TMPDIR": str(work), "JAVA_OPTS": options}


@cache
def version(compiler: str) -> str:
    """Return what the compiler calls itself, or '' where it does not run."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 - the compiler that the user has configured or installed
            [compiler, "-version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if found := re.search(r"kotlinc-jvm (\S{1,40})", done.stdout + done.stderr):
            return found[1]
    return ""


class Batch:
    """Programs to compile together, in one private folder; `run` returns what became of each."""

    def __init__(self, compiler: str, folder: Path, programs: Sequence[Program]) -> None:
        self.compiler, self.folder, self.programs = compiler, folder, programs
        self.names = [f"p{secrets.token_hex(8)}" for _ in programs]
        self.found: dict[int, Compiled | Outcome] = {}

    def run(self) -> list[Compiled | Outcome]:
        """Write, compile and take apart."""
        (self.folder / "harness").mkdir()
        (self.folder / "harness" / "Harness.kt").write_text(kotlin_source.HARNESS, encoding="utf-8")
        for k, (program, name) in enumerate(zip(self.programs, self.names, strict=True)):
            (self.folder / name).mkdir()
            (self.folder / name / "Calls.kt").write_text(kotlin_source.calls(program, name), encoding="utf-8")
            try:
                text = kotlin_source.candidate(program, name)
                (self.folder / name / "Candidate.kt").write_text(text, encoding="utf-8")
            except UnicodeEncodeError:
                self.found[k] = Outcome("syntax", message="text with half a surrogate pair")
        self._compile([k for k in range(len(self.programs)) if k not in self.found])
        return [self.found[k] for k in range(len(self.programs))]

    def _compile(self, chosen: list[int]) -> None:
        while chosen:
            jar = self.folder / f"{secrets.token_hex(4)}.jar"
            status, said = self._kotlinc(chosen, jar)
            if status == 0 and jar.exists():
                self._take_apart(chosen, jar)
                return
            errors = self._errors(said)
            named = [k for k in chosen if self.names[k] in errors]
            for k in named:
                self.found[k] = errors[self.names[k]]
            chosen = [k for k in chosen if k not in self.found]
            if not named:
                self._halve(chosen, status)
                return

    def _halve(self, chosen: list[int], status: int | None) -> None:
        """Look for the program at which the compiler fails without a word, or does not end."""
        if len(chosen) > 1:
            self._compile(chosen[: len(chosen) // 2])
            self._compile(chosen[len(chosen) // 2 :])
        elif status is None:
            self.found[chosen[0]] = Outcome("timeout", message="the compiler took too long")
        else:
            self.found[chosen[0]] = Outcome("syntax", message=f"the compiler failed with exit code {status}")

    def _kotlinc(self, chosen: list[int], jar: Path) -> tuple[int | None, str]:
        """Run the compiler; return its exit status (None: it was ended) and what it said."""
        arguments = self.folder / "arguments"
        files = [f"{self.names[k]}/{part}.kt" for k in chosen for part in ("Candidate", "Calls")]
        arguments.write_text("\n".join(["harness/Harness.kt", *files]))
        said = self.folder / "said"
        with said.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - the compiler that the user has configured or installed
                [self.compiler, "-nowarn", "-include-runtime", "-d", jar.name, f"@{arguments.name}"],
                cwd=self.folder,
                env=_environment(self.folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status: int | None = process.wait(timeout=60 + 2 * len(chosen))
            except subprocess.TimeoutExpired:
                status = None
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        with said.open("rb") as written:
            return status, written.read(_SAID).decode(errors="replace")

    def _errors(self, said: str) -> Mapping[str, Outcome]:
        """Return an outcome for each program that an error names: the first error of its own file goes first."""
        errors: dict[str, Outcome] = {}
        for name, part, line, message in _ERROR.findall(said):
            if part == "Candidate" and errors.get(name, Outcome("no such function")).kind != "syntax":
                errors[name] = Outcome("syntax", message=clean(f"{message} (line {max(int(line) - 2, 1)})"))
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
            for entry in whole.infolist():
                first = entry.filename.split("/", 1)[0]
                if not entry.is_dir() and not entry.filename.startswith("META-INF/"):
                    own.get(first, shared).writestr(entry, whole.read(entry))
