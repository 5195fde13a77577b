"""Kernel confinement of processes that run models' programs: limits, privileges, files, system calls.

The WebAssembly engine alone stops every attack that we know of, on any system; these layers are defence in depth,
each used if the system offers it, and each reports whether it is active. A process applies them to itself for good.
"""

import contextlib
import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from basic_control.tasks.sandbox import syscalls

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 28, 47, 4
_NO_ROOT = 0b101111  # no rights by being root, nor kept over a change of user, each locked
_CAPABILITIES_V3 = 0x20080522
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446  # the same on every architecture
_LANDLOCK_RULE = 445
_LANDLOCK_VERSION = 1
_FILE_RIGHTS = (*[1] * 13, 2, 3, 5)
"""The ABI that introduced each file right, in the order of their bits."""
_TCP, _SCOPES, _BOTH = 4, 6, 0b11
"""The ABIs that introduced TCP (bind and connect) and scopes (abstract sockets and signals): two bits each."""
_RUN, _READ, _LIST = 0b0001, 0b0100, 0b1000
_CHANGE = sum(1 << bit for bit in (1, 4, 5, 7, 8, 14))
"""Write, remove folders and files, make folders and files, truncate."""

_X86_64, _AARCH64 = 0xC000003E, 0xC00000B7
_TERMINALS = (0x5401, 0x5413, 0x541B)
"""Allowed ioctl requests: whether a file is a terminal, its size, how many bytes are waiting."""
_NAMES = (15, 16, 0x53564D41)
"""Allowed prctl options: setting the name of a thread, and of memory."""
_DESCRIPTORS = (*range(8), 1030)
"""Allowed fcntl commands: duplicate, flags, locks. Not F_SETOWN and F_SETSIG, which direct signals."""
_OTHERS_CLOCK, _OF_THREAD = 0x80000000, 4
"""Clock numbers: of another process; of a thread, which the kernel shows only to its own process."""
_CLONE_THREAD, _PROT_EXEC = 0x10000, 4

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in seccomp_data

_libc = ctypes.CDLL(None, use_errno=True)


def _op(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, k)


_PERMIT, _REFUSE = _op(_RETURN, _ALLOW), _op(_RETURN, _ERRNO | errno.EPERM)


def _build_filter(architecture: int, calls: Iterable[str], checked: Mapping[str, Sequence[bytes]]) -> bytes:
    """Return a filter that allows `calls` of an architecture, others by an argument check, and nothing else.

    An architecture is its AUDIT_ARCH number, as the kernel writes it into each call that a filter sees.
    New tasks may only be threads; calls that can affect other processes, their limits and clocks, are checked too.
    A check ends in a return.
    """
    # glibc falls back to clone, whose flags can be read here, when clone3 does not exist
    threads = [_op(_LOAD, _ARGUMENTS), _op(_ANY_BIT, _CLONE_THREAD, 0, 1), _PERMIT, _REFUSE]
    clock = [_op(_LOAD, _ARGUMENTS), _op(_AT_LEAST, _OTHERS_CLOCK, 0, 2), _op(_ANY_BIT, _OF_THREAD, 1, 0)]
    clock += [_REFUSE, _PERMIT]
    checks: dict[str, Sequence[bytes]] = {
        "clone3": [_op(_RETURN, _ERRNO | errno.ENOSYS)],
        "clone": threads,
        **{name: [_PERMIT] for name in calls},
        **checked,
        "prlimit64": _check_argument(_ARGUMENTS, (0,)),
        "fcntl": _check_argument(_ARGUMENTS + 8, _DESCRIPTORS),
        "clock_gettime": clock,
        "clock_getres": clock,
    }
    ops = [_op(_LOAD, _ARCHITECTURE), _op(_EQUAL, architecture, 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    # The x32 calls are the same ones under other numbers.
    if architecture == _X86_64:
        ops += [_op(_AT_LEAST, 0x40000000, 0, 1), _REFUSE]
    numbers = syscalls.X86_64 if architecture == _X86_64 else syscalls.AARCH64
    for name, check in checks.items():
        if name in numbers:
            ops += [_op(_EQUAL, numbers[name], 0, len(b"".join(check)) // 8), *check]
    return b"".join([*ops, _REFUSE])


def build_worker_filter(architecture: int) -> bytes:
    """Return a worker's filter: what computing needs is allowed, anything else fails with EPERM.

    New processes, files, sockets, signals to others and new executable memory are all of 'anything else'.
    """
    memory = [_op(_LOAD, _ARGUMENTS + 2 * 8), _op(_ANY_BIT, _PROT_EXEC, 0, 1), _REFUSE, _PERMIT]
    return _build_filter(architecture, syscalls.COMPUTING, {"mmap": memory, "mprotect": memory})


def build_machine_filter(architecture: int, calls: Iterable[str] = syscalls.MACHINE) -> bytes:
    """Return the filter of a virtual machine, which compiles and loads at run time; else EPERM.

    Beyond computing it may open files (Landlock says which), have executable memory, and signal its own threads;
    new processes, sockets, signals to others and limits of others are not allowed.
    """
    checked = {
        "ioctl": _check_argument(_ARGUMENTS + 8, _TERMINALS),
        "prctl": _check_argument(_ARGUMENTS, _NAMES),
        # The process id stays the same when it becomes the machine.
        "tgkill": _check_argument(_ARGUMENTS, (os.getpid(),)),
    }
    return _build_filter(architecture, calls, checked)


def _check_argument(offset: int, values: Sequence[int]) -> list[bytes]:
    """Return a check of an argument's lower half: allowed if it is one of `values`."""
    return [_op(_LOAD, offset), *(_op(_EQUAL, value, 0, 1) + _PERMIT for value in values), _REFUSE]


class _Fprog(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def restrict_calls(build_filter: Callable[[int], bytes] = build_worker_filter) -> str:
    """Restrict this process's system calls by a worker's or a machine's filter; '' if unavailable."""
    architecture = _find_architecture()
    if architecture is None:
        return ""
    ops = build_filter(architecture)
    program = ctypes.byref(_Fprog(len(ops) // 8, ops))
    return _report(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0))


def _report(result: int) -> str:
    """Return the state of a layer from its system call's result."""
    return "on" if result == 0 else ""


def _find_architecture() -> int | None:
    # a 32-bit Python on a 64-bit kernel makes other calls
    if sys.platform != "linux" or sys.maxsize < 2**32:
        return None
    return {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine())


def is_seccomp_offered() -> bool:
    """Return whether `restrict_calls` is available; the kernel is probed with an invalid filter."""
    if _find_architecture() is None:
        return False
    _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT


def drop_new_privs() -> str:
    """Give up gaining privileges by running other files; '' if unavailable."""
    if sys.platform != "linux":
        return ""
    return _report(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def drop_capabilities() -> str:
    """Give up every capability permanently, also as root; '' if unavailable."""
    if sys.platform != "linux":
        return ""
    for capability in range(64):
        # The kernel refuses unknown ones.
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    # Else root gets all of its bounding set, and what is inheritable, at the next program.
    _libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT, 0, 0, 0)
    header, none = struct.pack("=Ii", _CAPABILITIES_V3, 0), bytes(24)
    return _report(_libc.syscall(syscalls.find_numbers()["capset"], header, none))


def find_landlock_abi() -> int:
    """Return the version of Landlock that the kernel offers; 0 if none."""
    if sys.platform != "linux":
        return 0
    return max(int(_libc.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)), 0)


def restrict_files(readable: Iterable[str] = (), writable: Iterable[str] = ()) -> str:
    """Give up all files and folders not under `readable` or `writable`, and TCP; '' if unavailable."""
    abi = find_landlock_abi()
    if not abi:
        return ""
    files = (1 << sum(abi >= since for since in _FILE_RIGHTS)) - 1
    fields = [files, *[_BOTH for since in (_TCP, _SCOPES) if abi >= since]]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _libc.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    if ruleset < 0:
        return ""
    try:
        for path in readable:
            _grant(ruleset, path, _RUN | _READ)
        for path in writable:
            _grant(ruleset, path, (_READ | _CHANGE) & files)
        if _libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
            return ""
        return f"ABI {abi}"
    finally:
        os.close(ruleset)


def _grant(ruleset: int, path: str, rights: int) -> None:
    """Grant `rights` on a path, if it exists."""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            # For a file the kernel refuses the right to list.
            if Path(path).is_dir():
                rights |= _LIST
            _libc.syscall(_LANDLOCK_RULE, ruleset, 1, struct.pack("=Qi", rights, opened), 0)
        finally:
            os.close(opened)


def limit(**limits: int) -> str:
    """Lower this process's limits, hard and soft, where the system knows them; '' if it knows none.

    The keywords are resource.RLIMIT_* names in lower case. A limit that already is lower stays.
    """
    names = []
    for name, maximum in limits.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}", None)
        if number is None:
            continue
        _, hard = resource.getrlimit(number)
        lower = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(number, (lower, lower))
            names.append(name)
    return " ".join(names)
