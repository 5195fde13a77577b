"""Kotlin's requirements: a compiler, a Java, a kernel that can confine a virtual machine, and files built here.

Built once are our own classes, and an archive of the compiler's classes in their in-memory form, which halves its
start time. A Java that cannot create or use the archive goes without. The build is also the test: if the two do not
work confined, no program is run.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from basic_control.tasks.sandbox import confinement, private, processes, syscalls
from basic_control.tasks.sandbox.image import say

VARIABLE = "BASIC_CONTROL_KOTLINC"
"""The environment variable that names a compiler which is not on the PATH."""

NO_COMPILER, NO_JAVA = "no Kotlin compiler", "no Java for Kotlin"
NO_CONFINEMENT = "no Landlock or seccomp to confine Kotlin"
BROKEN = "the Kotlin compiler does not work"

_JAR = Path("lib/kotlin-compiler.jar")
_LIBRARIES = ("lib/kotlin-stdlib.jar", "lib/kotlin-reflect.jar")
_MAIN = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
# The line of a Java's `release` file with its version: JAVA_VERSION="21.0.4".
_RELEASE = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)
_GUARDS = 24
"""The Java that introduced `--illegal-native-access`; the one before it, the flag for what would undo that."""

_SOURCES = ("harness.kt", "driver.kt")
_LIMITS = {"core": 0, "fsize": 1 << 28, "nofile": 1024, "cpu": 600}
"""Limits of a compiler: bytes of a jar or an archive, open files, CPU seconds."""
_LIMIT_S = 300.0

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/dev/urandom")
"""Files that a virtual machine must read besides itself and its settings."""

_TRIAL = "data class Side(val length: Int)\n\nfun f(x: Int): Any = listOf(x).map { Side(it * x).length }.first()\n"
_TRIAL_CALLS = "package tried\n\nimport `f` as tried\n\nfun main() = sandbox.harness.serve(listOf({ tried(2) }))\n"

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
class Tools:
    """A Java, and the folder of a compiler, which contains `lib/kotlin-compiler.jar`."""

    java: str
    home: Path

    @property
    def jar(self) -> str:
        """The compiler's own jar."""
        return str(self.home / _JAR)

    @property
    def major(self) -> int:
        """The Java's version, such as 21; 0 if its folder does not say."""
        try:
            text = (Path(self.java).parents[1] / "release").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return 0
        match = _RELEASE.search(text)
        if match is None:
            return 0
        return int(match[1])

    @property
    def native_guards(self) -> list[str]:
        """The flags that keep programs from calling native code, if the Java knows them."""
        if self.major < _GUARDS:
            return []
        return ["--illegal-native-access=deny", "--sun-misc-unsafe-memory-access=deny"]

    def confine(
        self,
        command: Sequence[str],
        limits: Mapping[str, int],
        *,
        readable: Sequence[Path],
        writable: Sequence[Path],
    ) -> list[str]:
        """Return a command confined to those files, the Java's own and the system's libraries."""
        home = Path(self.java).parents[1]
        # A distribution's Java may have its settings elsewhere.
        settings = {str(path.resolve().parent) for path in home.glob("conf/**/*") if path.is_symlink()}
        options = {
            "limits": limits,
            "readable": [str(home), *settings, *_SYSTEM, *map(str, readable)],
            "writable": [str(folder) for folder in writable],
            "calls": syscalls.MACHINE,
        }
        return processes.build_command("basic_control.tasks.sandbox.launch", json.dumps(options), *command)


@dataclass(frozen=True, slots=True)
class Ready:
    """A working compiler and Java, and the folder of files built for them."""

    tools: Tools
    folder: Path

    def compiler(self, work: Path, *, archive: str = "") -> list[str]:
        """Return the confined command of our driver, which compiles in the folder `work`.

        It writes an archive of its classes under the name `archive`, or uses the existing one.
        """
        driver, stored_archive = self.folder / "own.jar", self.folder / "compiler.jsa"
        classes = []
        if archive:
            classes = [f"-XX:ArchiveClassesAtExit={archive}"]
        elif stored_archive.exists():
            classes = [f"-XX:SharedArchiveFile={stored_archive}"]
        command = [self.tools.java, *_FLAGS, *_COMPILER_FLAGS, *classes]
        command += ["-cp", f"{driver}{os.pathsep}{self.tools.jar}", "sandbox.driver.DriverKt"]
        command += [str(driver), "-nowarn", "-kotlin-home", str(self.tools.home)]
        readable = [self.tools.home, self.folder]
        return self.tools.confine(command, _LIMITS, readable=readable, writable=[work])

    def program(self, jars: Sequence[Path], main: str, limits: Mapping[str, int], memory_mb: int) -> list[str]:
        """Return the confined command that runs a program."""
        libraries = [self.folder / "own.jar", *(self.tools.home / name for name in _LIBRARIES)]
        command = [self.tools.java, *self.tools.native_guards, *_FLAGS, *_PROGRAM_FLAGS, f"-Xmx{memory_mb}m"]
        # Ours go first, so that no program can replace its caller.
        command += ["-cp", os.pathsep.join(map(str, [*libraries, *jars])), main]
        return self.tools.confine(command, limits, readable=[*libraries, *jars], writable=[])


def find_tools(compiler: str = "", java: str = "", environment: Mapping[str, str] = os.environ) -> Tools | str:
    """Return the tools that run Kotlin here, or in words what is missing.

    `compiler` is the path of `kotlinc` or of its unpacked folder; by default `$BASIC_CONTROL_KOTLINC`, then the
    PATH. `java` is the path of a Java or of its folder; by default JAVA_HOME's, then the PATH's. A path that leads
    nowhere counts as none.
    """
    path = environment.get("PATH", os.defpath)
    compiler = compiler or environment.get(VARIABLE, "") or shutil.which("kotlinc", path=path) or ""
    location = Path(compiler or os.devnull).expanduser().resolve()
    # The folder itself, or the one with `bin/kotlinc`.
    home = next((folder for folder in (location, *location.parents[:2]) if (folder / _JAR).is_file()), None)
    if not compiler or not home:
        return NO_COMPILER
    location = Path(java or environment.get("JAVA_HOME") or os.devnull).expanduser()
    candidates = [location / "bin" / "java", location]
    java_on_path = shutil.which("java", path=path)
    if java_on_path and not java:
        candidates.append(Path(java_on_path))
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            if confinement.find_landlock_abi() and confinement.is_seccomp_offered():
                return Tools(str(candidate.resolve()), home)
            return NO_CONFINEMENT
    return NO_JAVA


def describe_tools(compiler: str = "", java: str = "") -> str:
    """Return the Kotlin tools here, or `off` with what is missing."""
    tools = find_tools(compiler, java)
    if isinstance(tools, str):
        return f"off ({tools})"
    try:
        version = (tools.home / "build.txt").read_text(encoding="utf-8").strip()[:40]
    except (OSError, UnicodeDecodeError):
        version = ""
    java = f"Java {tools.major}" if tools.major else "a Java that does not say its version"
    native = ", no native code" if tools.native_guards else ""
    layers = f"{java}{native}, {_describe_root(tools)}, Landlock, seccomp allow-list, no capabilities"
    return f"kotlinc {version or 'that does not say its version'}, {layers}"


@cache
def _describe_root(tools: Tools) -> str:
    """Return whether programs get their own file system here, tested in a process."""
    output = _run(tools.confine([], {}, readable=(), writable=()), None, "")
    root = json.loads(output)["root"] if output else ""
    if not root:
        return "no file system of its own (a program can tell which files exist)"
    return f"own file system ({root})"


def prepare(tools: Tools) -> Ready | str:
    """Return a working compiler and Java, built at first use; or in words why they do not work.

    Raises:
        InputError: there is no private folder to store the files.
    """
    ready = Ready(tools, private.make_cache(f"kotlin-{_identity(tools)}"))
    mark = ready.folder / "made"
    if mark.exists():
        return ready
    # Another process may have built it while this one waited.
    with private.hold_lock(ready.folder, say) as work:
        if not mark.exists():
            say("Sandbox: preparing the Kotlin compiler (once, about 20 s) …")
            if not _make(ready, work):
                return BROKEN
            mark.touch(0o600)
    return ready


def _identity(tools: Tools) -> str:
    """Return 16 hex digits over all that the files depend on: our sources, the compiler and the Java."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        digest.update(Path(__file__).with_name(name).read_bytes() + b"\0")
    for path in (Path(tools.jar), Path(tools.java), Path(tools.java).parents[1] / "release"):
        with contextlib.suppress(OSError):
            status = path.stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def _make(ready: Ready, work: Path) -> bool:
    """Compile our classes, test the compiler and a program, and store the archive; return whether all worked."""
    tools = ready.tools
    for name in _SOURCES:
        shutil.copyfile(Path(__file__).with_name(name), work / name)
    command = [tools.java, *_FLAGS, *_COMPILER_FLAGS, "-cp", tools.jar, _MAIN, "-kotlin-home", str(tools.home)]
    command += ["-nowarn", "-cp", tools.jar, "-d", "own.jar", *_SOURCES]
    if _run(tools.confine(command, _LIMITS, readable=[tools.home], writable=[work]), work, "") is None:
        return False
    (work / "own.jar").replace(ready.folder / "own.jar")
    trial = work / "trial"
    trial.mkdir()
    (trial / "Candidate.kt").write_text(_TRIAL)
    (trial / "Calls.kt").write_text(_TRIAL_CALLS)
    output = _run(ready.compiler(work, archive="compiler.jsa"), work, "trial Candidate\ntrial Calls\n")
    if output != "trial Candidate 0\ntrial Calls 0\n":
        return False
    if (work / "compiler.jsa").exists():
        (work / "compiler.jsa").replace(ready.folder / "compiler.jsa")
    jars = [trial / "Candidate.jar", trial / "Calls.jar"]
    output = _run(ready.program(jars, "tried.CallsKt", {}, 256), work, "7\n")
    return '7 ["value",4]\n' in (output or "")


def _run(command: Sequence[str], work: Path | None, text: str) -> str | None:
    """Run one of our own programs; return its output, None if it failed."""
    process = processes.start(command, work=work)
    try:
        output, _ = process.communicate(text.encode(), timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    finally:
        processes.end(process)
    if process.returncode != 0:
        return None
    return output.decode(errors="replace")
