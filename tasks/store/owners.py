"""Owners of claims: a name for this process, and whether a named process still runs."""

import os
import socket
from functools import cache
from pathlib import Path


@cache
def _machine() -> str:
    """Return this machine's name and, if the kernel provides them, its boot id and process namespace.

    Containers may share a name, but not their process ids.
    """
    name = socket.gethostname().replace(":", "_")
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
        return f"{name}@{boot}+{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return name


def _boot(machine: str) -> str:
    return machine.partition("@")[2].partition("+")[0]


def name_owner() -> str:
    """Return a unique name for this process: machine, process id, and start time."""
    return f"{_machine()}:{os.getpid()}:{_find_start_time(os.getpid())}"


def _find_start_time(pid: int) -> str:
    """Return a process's start time as the kernel writes it; '' if unavailable.

    A zombie, killed but not yet reaped by its parent, counts as no process: `ended`.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        # The fields after the program's name, which may itself have brackets and blanks.
        state, *fields = stat.rpartition(")")[2].split()
        return "ended" if state in {"Z", "X"} else fields[18]
    except (OSError, ValueError, IndexError):
        return ""


def describe_owner(claimant: str) -> str:
    """Return a claim's owner in words: this process, or which process of which machine."""
    machine, pid, *_ = [*claimant.split(":"), ""]
    if claimant.startswith(f"{name_owner()}:") or claimant == name_owner():
        return "another batch of this run"
    if machine == _machine():
        return f"process {pid}"
    return f"process {pid} on {machine.partition('@')[0]}"


def is_running(claimant: str) -> bool:
    """Return whether an owner is a process of this machine that still runs."""
    return claimant.partition(":")[0] == _machine() and not has_ended(claimant, is_sole_user=False)


def has_ended(claimant: str, *, is_sole_user: bool) -> bool:
    """Return whether a claim's owner has ended: a process of this machine, or of an earlier boot of it.

    `is_sole_user`: only this machine uses the cache, and its clock was reset at boot.
    """
    machine, pid, started, *_ = [*claimant.split(":"), "", "", ""]
    boots = {_boot(machine), _boot(_machine())}
    if is_sole_user and "" not in boots and len(boots) > 1:
        return True
    if machine != _machine() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _find_start_time(int(pid)) != started
