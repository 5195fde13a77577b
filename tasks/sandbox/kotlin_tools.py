"""What Kotlin needs here: a compiler, a Java, and a kernel that can hold a virtual machine."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
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
"""The Java that brought `--illegal-native-access`; the one before it, the flag for what would undo that."""


@dataclass(frozen=True, slots=True)
class Tools:
    """A Java, and the folder of a compiler: what lies around `lib/kotlin-compiler.jar`."""

    java: str
    home: Path

    @property
    def jar(self) -> str:
        """The compiler's own jar."""
        return str(self.home / _JAR)

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
        guards = ["--illegal-native-access=deny", "--sun-misc-unsafe-memory-access=deny"]
        return guards if self.major >= _GUARDS else []

    def confined(
        self,
        command: Sequence[str],
        limits: Mapping[str, int],
        *,
        readable: Sequence[Path],
        writable: Sequence[Path],
    ) -> list[str]:
        """Return what runs a command with no more than those files, the Java's own and the system's libraries."""
        given = {
            "limits": limits,
            "readable": [*self._own(), *map(str, readable)],
            "writable": [str(folder) for folder in writable],
            "calls": confinement.MACHINE,
        }
        return child.command("tasks.sandbox.launch", json.dumps(given), *command)

    def _own(self) -> list[str]:
        """Return what a virtual machine has to read: itself, its settings, the system's libraries."""
        home = Path(self.java).parents[1]
        settings = {str(path.resolve().parent) for path in home.glob("conf/**/*") if path.is_symlink()}
        libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo"]
        return [str(home), *settings, *libraries, "/dev/urandom"]


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
    command = tools.confined([], {}, readable=(), writable=())
    tried = subprocess.run(command, env=child.environment(), capture_output=True, check=False)  # noqa: S603 - ours
    root = json.loads(tried.stdout)["root"] if tried.returncode == 0 else ""
    return (
        f"own file system ({root})" if root else "no file system of its own (a program can tell which files exist)"
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
