"""What is made once for a compiler and a Java, and kept: our own classes, and archives of classes for quick starts.

An archive holds classes as a virtual machine has them in memory once it has read them; the compiler starts in
half the time with one. A Java that cannot make one, or finds that one does not fit, goes without. Making all this
is also the trial of the two: where they do not work confined, no program is run.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tasks.sandbox import child
from tasks.sandbox.image import say
from tasks.sandbox.kotlin_tools import Tools
from tasks.sandbox.private import locked, private

BROKEN = "the Kotlin compiler does not work"

_SOURCES = ("harness.kt", "driver.kt")
_MAIN = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
_LIBRARIES = ("lib/kotlin-stdlib.jar", "lib/kotlin-reflect.jar")
_FILE = 1 << 28  # bytes of a jar or an archive
_LIMIT_S = 300.0

_TRIAL = "data class Side(val length: Int)\n\nfun f(x: Int): Any = listOf(x).map { Side(it * x).length }.first()\n"
_TRIED = "package tried\n\nimport `f` as tried\n\nfun main() = sandbox.harness.serve(listOf({ tried(2) }))\n"

_FLAGS = (
    "-Xshare:auto", "-Xlog:disable", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
    "-XX:+DisableAttachMechanism", "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=/dev/null",
)  # fmt: skip
_COMPILER_FLAGS = ("-Xmx1536m", "-Xss16m", "-Djava.io.tmpdir=.", "-Duser.home=.", "-Djava.awt.headless=true")
_PROGRAM_FLAGS = (
    "-Xms16m", "-Xss1m", "-XX:MaxMetaspaceSize=128m", "-XX:ReservedCodeCacheSize=48m",
    "-XX:MaxDirectMemorySize=16m", "-XX:CompressedClassSpaceSize=64m", "-Djava.io.tmpdir=/nonexistent",
    "-Duser.home=/", "-Djava.security.egd=file:/dev/urandom",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ready:
    """A compiler and a Java that work, and the folder of what was made for them."""

    tools: Tools
    folder: Path

    def compiler(self, work: Path, *, archive: str = "") -> list[str]:
        """Return the confined command of our driver, which compiles what it is told to in the folder `work`."""
        own = self.folder / "own.jar"
        command = [self.tools.java, *_FLAGS, *_COMPILER_FLAGS, *self._archive(archive)]
        command += ["-cp", f"{own}{os.pathsep}{self.tools.jar}", "sandbox.driver.DriverKt"]
        command += [str(own), "-nowarn", "-kotlin-home", str(self.tools.home)]
        readable = [self.tools.home, self.folder]
        return self.tools.confined(command, _limits(), readable=readable, writable=[work])

    def program(self, jars: Sequence[Path], main: str, limits: Mapping[str, int], memory_mb: int) -> list[str]:
        """Return the confined command that runs a program."""
        libraries = [self.folder / "own.jar", *(self.tools.home / name for name in _LIBRARIES)]
        command = [self.tools.java, *self.tools.guarded, *_FLAGS, *_PROGRAM_FLAGS, f"-Xmx{memory_mb}m"]
        # ours go first, so that no program can stand in for what calls it
        command += ["-cp", os.pathsep.join(map(str, [*libraries, *jars])), main]
        return self.tools.confined(command, limits, readable=[*libraries, *jars], writable=[])

    def _archive(self, made: str) -> list[str]:
        if made:
            return [f"-XX:ArchiveClassesAtExit={made}"]
        path = self.folder / "compiler.jsa"
        return [f"-XX:SharedArchiveFile={path}"] if path.exists() else []


def prepare(tools: Tools) -> Ready | str:
    """Return what runs programs with a compiler and a Java, made at first use; or in words why they do not work.

    Raises:
        InputError: there is no private place to keep it.
    """
    root = platformdirs.user_cache_path("basic-control", appauthor=False)
    folder = private(private(private(root) / "sandbox") / f"kotlin-{_identity(tools)}")
    ready, made = Ready(tools, folder), folder / "made"
    if made.exists():
        return ready
    with locked(folder, say):
        if made.exists():
            return ready
        say("Sandbox: preparing the Kotlin compiler (once, some 20 s) …")
        work = Path(tempfile.mkdtemp(prefix="build-", dir=folder))
        try:
            why = _make(ready, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        if not why:
            made.touch(0o600)
    return why or ready


def _identity(tools: Tools) -> str:
    """Return 16 hex digits over all that the files depend on: our sources, the compiler and the Java."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        digest.update(Path(__file__).with_name(name).read_bytes() + b"\0")
    for path in (Path(tools.jar), Path(tools.java), Path(tools.java).parents[1] / "release"):
        with contextlib.suppress(OSError):
            found = path.stat()
            digest.update(f"{path} {found.st_size} {found.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def _make(ready: Ready, work: Path) -> str:
    """Compile our classes, try the compiler and a program, and keep the archive; return why it cannot be done."""
    tools = ready.tools
    for name in _SOURCES:
        shutil.copyfile(Path(__file__).with_name(name), work / name)
    command = [tools.java, *_FLAGS, *_COMPILER_FLAGS, "-cp", tools.jar, _MAIN, "-kotlin-home", str(tools.home)]
    command += ["-nowarn", "-cp", tools.jar, "-d", "own.jar", *_SOURCES]
    if not _run(tools.confined(command, _limits(), readable=[tools.home], writable=[work]), work, ""):
        return BROKEN
    (work / "own.jar").replace(ready.folder / "own.jar")
    trial = work / "trial"
    trial.mkdir()
    (trial / "Candidate.kt").write_text(_TRIAL)
    (trial / "Calls.kt").write_text(_TRIED)
    parts = "trial Candidate\ntrial Calls\n"
    said = _run(ready.compiler(work, archive="compiler.jsa"), work, parts)
    if said.split("\n") != ["trial Candidate 0", "trial Calls 0", ""]:
        return BROKEN
    if (work / "compiler.jsa").exists():
        (work / "compiler.jsa").replace(ready.folder / "compiler.jsa")
    jars = [trial / "Candidate.jar", trial / "Calls.jar"]
    if '7 ["value",4]\n' not in _run(ready.program(jars, "tried.CallsKt", {}, 256), work, "7\n"):
        return BROKEN
    return ""


def _run(command: Sequence[str], work: Path, given: str) -> str:
    """Run one of our own programs; return what it printed, at least a space, or '' if it failed."""
    try:
        done = subprocess.run(  # noqa: S603 - our launcher, and through it Java
            command, cwd=work, env=environment(work), input=given.encode(), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, check=False, timeout=_LIMIT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ""
    return (done.stdout.decode(errors="replace") or " ") if done.returncode == 0 else ""


def _limits() -> Mapping[str, int]:
    return {"core": 0, "fsize": _FILE, "nofile": 1024, "cpu": 600}


def environment(work: Path) -> Mapping[str, str]:
    """Return the environment of a compiler that works in a folder."""
    return child.environment(HOME=str(work), TMPDIR=str(work))
