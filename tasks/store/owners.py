"""Who holds a claim: a name for this process, and whether the process of such a name still runs."""

import os
import socket
from functools import cache
from pathlib import Path


@cache
def _machine() -> str:
    """Return this machine's name and, where the kernel tells, which of its starts this is and whose processes.

    Containers may share a name, and not their process ids.
    """
    name = socket.gethostname().replace(":", "_")
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
        return f"{name}@{boot}+{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return name


def _boot(machine: str) -> str:
    return machine.partition("@")[2].partition("+")[0]


def owner() -> str:
    """Return a name for this process that no other has: machine, process id, and when it started."""
    return f"{_machine()}:{os.getpid()}:{_started(os.getpid())}"


def _started(pid: int) -> str:
    """Return when a process started, in the kernel's own words; '' where it does not say.

    One that was killed and whose parent has not asked for its exit code is no process any more: `ended`.
    """
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return "ended" if told[0] in {"Z", "X"} else told[19]
    except (OSError, IndexError):
        return ""


def described(claimant: str) -> str:
    """Return a claim's owner in words for people: this process, or which one of which machine."""
    machine, pid, *_ = [*claimant.split(":"), ""]
    if claimant.startswith(f"{owner()}:") or claimant == owner():
        return "another batch of this run"
    if machine == _machine():
        return f"process {pid}"
    return f"process {pid} on {machine.partition('@')[0]}"


def has_ended(claimant: str, *, here: bool) -> bool:
    """Say whether a claim's owner runs no more: a process of this machine, or of an earlier start of it.

    `here`: the cache is of this machine alone, whose clock began again when it started.
    """
    machine, pid, started, *_ = [*claimant.split(":"), "", "", ""]
    boots = {_boot(machine), _boot(_machine())}
    if here and "" not in boots and len(boots) > 1:
        return True
    if machine != _machine() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _started(int(pid)) != started
