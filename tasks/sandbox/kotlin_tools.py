"""What Kotlin needs here: a compiler, a Java, and a kernel that can hold a virtual machine."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tasks.sandbox import child, confinement

VARIABLE = "BASIC_CONTROL_KOTLINC"
"""The environment variable that names a compiler which is not on the PATH."""

NO_COMPILER, NO_JAVA = "no Kotlin compiler", "no Java for Kotlin"
NO_CONFINEMENT = "no Landlock or seccomp to confine Kotlin"

_JAR = Path("lib/kotlin-compiler.jar")
_RELEASE = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)
_GUARDS = 24
"""The Java that brought `--illegal-native-access`."""
_MAIN = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"


@dataclass(frozen=True, slots=True)
class Tools:
    """A Java, and the folder of a compiler: what lies around `lib/kotlin-compiler.jar`."""

    java: str
    home: Path

    @property
    def jar(self) -> str:
        """The compiler's own jar."""
        return str(self.home / _JAR)

    def compiler(self) -> list[str]:
        """Return the command of the compiler; its script would start other programs first."""
        return [self.java, *_FLAGS, "-cp", self.jar, _MAIN, "-kotlin-home", str(self.home)]

    @property
    def major(self) -> int:
        """The Java's version, such as 21; 0 where its folder does not tell it."""
        try:
            told = (Path(self.java).parents[1] / "release").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return 0
        found = _RELEASE.search(told)
        return int(found[1]) if found else 0

    @property
    def guarded(self) -> list[str]:
        """The flags by which a Java keeps programs from calling native code, where it knows them."""
        return ["--illegal-native-access=deny"] if self.major >= _GUARDS else []

    def driver(self, jar: Path) -> list[str]:
        """Return the command of `driver.kt`, compiled into `jar`."""
        command = [self.java, *_FLAGS, "-cp", f"{jar}{os.pathsep}{self.jar}", "sandbox.driver.DriverKt"]
        return [*command, "-kotlin-home", str(self.home)]

    def readable(self, *more: Path) -> list[str]:
        """Return what a virtual machine has to read: itself, its settings, the system's libraries, and `more`."""
        home = Path(self.java).parents[1]
        settings = {str(path.resolve().parent) for path in home.glob("conf/**/*") if path.is_symlink()}
        libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo"]
        return [str(home), *settings, *libraries, "/dev/urandom", *map(str, more)]


_FLAGS = (
    "-Xmx1536m", "-Xss16m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto",
    "-Djava.io.tmpdir=.", "-Duser.home=.", "-Djava.awt.headless=true", "-XX:+DisableAttachMechanism",
    "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=/dev/null",
)  # fmt: skip


def find(compiler: str = "", java: str = "", environment: Mapping[str, str] = os.environ) -> Tools | str:
    """Return what runs Kotlin here, or in words what is missing.

    `compiler` is the path of `kotlinc` or of the folder that it was unpacked to; `$BASIC_CONTROL_KOTLINC`, then
    the PATH, unless given. `java` is the path of a Java or of its folder; JAVA_HOME's, then the PATH's, unless
    given. A path that leads nowhere counts as none.
    """
    home = _home(compiler or environment.get(VARIABLE, ""), environment)
    if not home:
        return NO_COMPILER
    found = _java(java, environment)
    if not found:
        return NO_JAVA
    if not confinement.landlock_abi() or not confinement.seccomp_offered():
        return NO_CONFINEMENT
    return Tools(found, home)


def describe(compiler: str = "", java: str = "") -> str:
    """Return what runs Kotlin here, or `off` with what is missing."""
    tools = find(compiler, java)
    if isinstance(tools, str):
        return f"off ({tools})"
    java = f"Java {tools.major}" if tools.major else "a Java that does not say its version"
    native = ", no native code" if tools.guarded else ""
    held = f"{java}{native}, {_root(tools)}, Landlock, seccomp allow-list, no capabilities"
    return f"kotlinc {version(tools) or 'that does not say its version'}, {held}"


@cache
def _root(tools: Tools) -> str:
    """Return whether programs get a file system of their own here, as a process finds that tries it."""
    given = json.dumps({"limits": {}, "readable": tools.readable(), "writable": []})
    command = child.command("tasks.sandbox.launch", given)
    tried = subprocess.run(command, env=child.environment(), capture_output=True, check=False)  # noqa: S603 - ours
    root = json.loads(tried.stdout)["root"] if tried.returncode == 0 else ""
    return (
        f"own file system ({root})" if root else "no file system of its own, so that it can see which files exist"
    )


def _home(named: str, environment: Mapping[str, str]) -> Path | None:
    found = named or shutil.which("kotlinc", path=environment.get("PATH", os.defpath))
    if not found:
        return None
    path = Path(found).expanduser().resolve()
    return next((folder for folder in (path, *path.parents[:2]) if (folder / _JAR).is_file()), None)


def _java(named: str, environment: Mapping[str, str]) -> str:
    home = Path(named or environment.get("JAVA_HOME") or os.devnull).expanduser()
    tried = [home / "bin" / "java", home]
    if not named and (found := shutil.which("java", path=environment.get("PATH", os.defpath))):
        tried.append(Path(found))
    return next((str(path.resolve()) for path in tried if _usable(path)), "")


def _usable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def version(tools: Tools) -> str:
    """Return the compiler's version as its folder tells it, or ''."""
    try:
        return (tools.home / "build.txt").read_text(encoding="utf-8").strip()[:40]
    except (OSError, UnicodeDecodeError):
        return ""


def environment(work: Path) -> Mapping[str, str]:
    """Return the environment of a compiler that works in a folder."""
    return child.environment(HOME=str(work), TMPDIR=str(work))
