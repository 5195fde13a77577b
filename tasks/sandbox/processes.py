"""Start our own Python processes: isolated, with an empty environment, but able to import our packages."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import basic_control

_BOOT = """\
import runpy, sys, types
name, folder, *roots = sys.argv[1:5]
at = next((k for k, path in enumerate(sys.path) if path.endswith("-packages")), len(sys.path))
sys.path[at:at] = roots
del sys.argv[1:5]
package = name.rpartition(".")[0]
bare = sys.modules[package] = types.ModuleType(package)
bare.__path__ = [folder]
runpy.run_module(name, run_name="__main__", alter_sys=True)
"""
"""Our folder goes before installed packages (which may include another copy) and after the standard library.

Only the requested modules of the module's package are imported: the package's own imports take longer than many
programs.
"""


def build_command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module of this project in an isolated interpreter."""
    spec = importlib.util.find_spec("wasmtime")
    site = Path(spec.origin).parents[1] if spec and spec.origin else Path()
    folder = Path(__file__).parents[2].joinpath(*module.split(".")[1:-1])
    root = Path(basic_control.__file__).parents[1]
    return [sys.executable, "-I", "-c", _BOOT, module, str(folder), str(root), str(site), *arguments]


def build_environment(**variables: str) -> Mapping[str, str]:
    """Return an environment with only the loader's path to Python's own libraries, and some variables."""
    for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        if name in os.environ:
            variables.setdefault(name, os.environ[name])
    return variables


def start(command: Sequence[str], *, work: Path | None = None) -> "subprocess.Popen[bytes]":
    """Start a process with two pipes in a new session; with `work` as its working folder, if given."""
    variables = {}
    if work:
        variables = {"HOME": str(work), "TMPDIR": str(work)}
    return subprocess.Popen(  # noqa: S603 - our own interpreter, running our own module
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=build_environment(**variables),
        cwd=work or "/",
        # So that `end` reaches what the process has started, too.
        start_new_session=True,
    )


def end(process: "subprocess.Popen[bytes]") -> int:
    """Kill a process and its session, wait for it, close its pipes, and return its exit status."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    status = process.wait()
    release(process)
    return status


def release(process: "subprocess.Popen[bytes]") -> None:
    """Close this process's ends of the pipes."""
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe:
                pipe.close()
