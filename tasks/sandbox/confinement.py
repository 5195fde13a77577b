"""What the kernel still takes from a process that runs models' programs: limits, privileges, files, system calls.

The WebAssembly engine alone holds every attack that we know of, on any system; these layers stand behind it, each
where the system offers it, and each says whether it holds. A process applies them to itself, for good.
"""

import contextlib
import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 28, 47, 4
_NO_ROOT = 0b101111  # no rights by being root, nor kept over a change of user, each locked
_CAPSET, _CAPABILITIES_V3 = (126, 91), 0x20080522
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446  # the same on every architecture
_LANDLOCK_RULE = 445
_LANDLOCK_VERSION = 1
_FILE_RIGHTS = (*[1] * 13, 2, 3, 5)
"""The ABI that brought each right over files, in the order of their bits."""
_TCP, _SCOPES, _BOTH = 4, 6, 0b11
"""The ABIs that brought TCP (bind and connect) and scopes (abstract sockets and signals): two bits each."""
_RUN, _READ, _LIST = 0b0001, 0b0100, 0b1000
_CHANGE = sum(1 << bit for bit in (1, 4, 5, 7, 8, 14))
"""Write, remove folders and files, make folders and files, truncate."""

_X86_64, _AARCH64 = 0xC000003E, 0xC00000B7
_NEEDED: dict[str, tuple[int, int]] = {
    # name: (x86-64, aarch64); -1: the architecture has no such call
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "close": (3, 57), "fstat": (5, 80),
    "lseek": (8, 62), "fcntl": (72, 25), "poll": (7, -1), "ppoll": (271, 73), "select": (23, -1),
    "pselect6": (270, 72), "epoll_create": (213, -1), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, -1), "epoll_pwait": (281, 22), "epoll_pwait2": (441, 441), "eventfd2": (290, 19),
    "munmap": (11, 215), "mremap": (25, 216), "madvise": (28, 233), "brk": (12, 214), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169), "getrusage": (98, 165),
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getcpu": (309, 168), "futex": (202, 98),
    "futex_waitv": (449, 449), "set_robust_list": (273, 99), "rseq": (334, 293), "membarrier": (324, 283),
    "getrandom": (318, 278), "restart_syscall": (219, 128), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
_MACHINE: dict[str, tuple[int, int]] = {
    # beside those: what a Java virtual machine was seen to make of system calls (17 and 25), and its close kin
    "open": (2, -1), "openat": (257, 56), "stat": (4, -1), "lstat": (6, -1), "newfstatat": (262, 79),
    "statx": (332, 291), "statfs": (137, 43), "fstatfs": (138, 44), "access": (21, -1), "faccessat": (269, 48),
    "faccessat2": (439, 439), "readlink": (89, -1), "readlinkat": (267, 78), "getdents64": (217, 61),
    "getcwd": (79, 17), "pread64": (17, 67), "pwrite64": (18, 68), "sendfile": (40, 71),
    "copy_file_range": (326, 285), "fadvise64": (221, 223), "ftruncate": (77, 46), "fsync": (74, 82),
    "fdatasync": (75, 83), "flock": (73, 32), "mkdir": (83, -1), "mkdirat": (258, 34), "rmdir": (84, -1),
    "unlink": (87, -1), "unlinkat": (263, 35), "rename": (82, -1), "renameat": (264, 38), "renameat2": (316, 276),
    "dup": (32, 23), "dup2": (33, -1), "dup3": (292, 24), "pipe": (22, -1), "pipe2": (293, 59),
    "socketpair": (53, 199), "shutdown": (48, 210), "msync": (26, 227), "mincore": (27, 232), "uname": (63, 160),
    "sysinfo": (99, 179), "times": (100, 153), "umask": (95, 166), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrlimit": (97, 163), "arch_prctl": (158, -1),
    "set_tid_address": (218, 96), "execve": (59, 221), "rt_sigtimedwait": (128, 137), "rt_sigpending": (127, 136),
    "rt_sigsuspend": (130, 133), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
}  # fmt: skip
_IOCTL, _PRCTL, _TGKILL = (16, 29), (157, 167), (234, 131)
_TERMINALS = (0x5401, 0x5413, 0x541B)
"""What may be asked of an open file by ioctl: is it a terminal, how large, how many bytes wait."""
_NAMES = (15, 16, 0x53564D41)
"""What may be set by prctl: a thread's name, and that of memory."""
_CLONE, _CLONE3, _MMAP, _MPROTECT, _PRLIMIT = (56, 220), (435, 435), (9, 222), (10, 226), (302, 261)
_CLONE_THREAD, _PROT_EXEC = 0x10000, 4

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in seccomp_data

_libc = ctypes.CDLL(None, use_errno=True)


def _op(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, k)


_PERMIT, _REFUSE = _op(_RETURN, _ALLOW), _op(_RETURN, _ERRNO | errno.EPERM)


def _when(number: int, checked: Iterable[bytes]) -> bytes:
    """Return the check of one call's argument: skipped unless it is that call; it must end in a return."""
    body = b"".join(checked)
    return _op(_EQUAL, number, 0, len(body) // 8) + body


def _frame(audit: int, body: Iterable[bytes], otherwise: int) -> bytes:
    """Return a filter: the right architecture's calls, `body`, only threads as new tasks, and `otherwise`."""
    k = _column(audit)
    ops = [_op(_LOAD, _ARCHITECTURE), _op(_EQUAL, audit, 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    if audit == _X86_64:  # the x32 calls are the same ones under other numbers
        ops += [_op(_AT_LEAST, 0x40000000, 0, 1), _REFUSE]
    # glibc falls back to clone, whose flags can be read here, when clone3 does not exist
    ops.append(_when(_CLONE3[k], [_op(_RETURN, _ERRNO | errno.ENOSYS)]))
    ops.append(_when(_CLONE[k], [_op(_LOAD, _ARGUMENTS), _op(_ANY_BIT, _CLONE_THREAD, 0, 1), _PERMIT, _REFUSE]))
    return b"".join([*ops, *body, _op(_RETURN, otherwise)])


def _column(audit: int) -> int:
    return 0 if audit == _X86_64 else 1


def _each(numbers: Iterable[int], then: bytes) -> list[bytes]:
    return [_op(_EQUAL, number, 0, 1) + then for number in numbers if number >= 0]


def only_computing(audit: int) -> bytes:
    """Return the filter of a worker: what computing needs is allowed, anything else fails with EPERM.

    New processes, files, sockets, signals to others and new executable memory are all of 'anything else'.
    """
    k = _column(audit)
    body = _each([numbers[k] for numbers in _NEEDED.values()], _PERMIT)
    third = _ARGUMENTS + 2 * 8
    for number in (_MMAP[k], _MPROTECT[k]):
        body.append(_when(number, [_op(_LOAD, third), _op(_ANY_BIT, _PROT_EXEC, 0, 1), _REFUSE, _PERMIT]))
    body.append(_own_limits(k))
    return _frame(audit, body, _ERRNO | errno.EPERM)


def only_a_machine(audit: int) -> bytes:
    """Return the filter of a virtual machine, which compiles and loads as it goes; anything else fails with EPERM.

    Beside what computing needs it may open files (Landlock says which), have executable memory, and signal its own
    threads; of new processes, sockets, signals to others and limits of others there is no call.
    """
    k = _column(audit)
    body = _each([numbers[k] for table in (_NEEDED, _MACHINE) for numbers in table.values()], _PERMIT)
    body += [_op(_EQUAL, number, 0, 1) + _PERMIT for number in (_MMAP[k], _MPROTECT[k])]
    body.append(_own_limits(k))
    body.append(_when(_IOCTL[k], _one_of(_ARGUMENTS + 8, _TERMINALS)))
    body.append(_when(_PRCTL[k], _one_of(_ARGUMENTS, _NAMES)))
    # The process's number stays what it is when it becomes the machine.
    body.append(_when(_TGKILL[k], _one_of(_ARGUMENTS, (os.getpid(),))))
    return _frame(audit, body, _ERRNO | errno.EPERM)


def _own_limits(k: int) -> bytes:
    """Return the check of prlimit: of this process alone."""
    return _when(_PRLIMIT[k], _one_of(_ARGUMENTS, (0,)))


def _one_of(place: int, values: Sequence[int]) -> list[bytes]:
    """Return the check of an argument's lower half: allowed where it is one of some values."""
    return [_op(_LOAD, place), *(_op(_EQUAL, value, 0, 1) + _PERMIT for value in values), _REFUSE]


class _Fprog(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def seccomp(filtered: Callable[[int], bytes] = only_computing) -> str:
    """Restrict this process's system calls by `only_computing` or `only_a_machine`; '' where it cannot be done."""
    audit = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine())
    # a 32-bit Python on a 64-bit kernel makes other calls
    if sys.platform != "linux" or audit is None or sys.maxsize < 2**32:
        return ""
    ops = filtered(audit)
    given = _Fprog(len(ops) // 8, ops)
    done = _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(given), 0, 0)
    return "on" if done == 0 else ""


def seccomp_offered() -> bool:
    """Tell whether `seccomp` can be had; the kernel is asked with a filter that is none."""
    if sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"} or sys.maxsize < 2**32:
        return False
    _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT


def no_new_privs() -> str:
    """Give up gaining privileges by running other files; '' where it cannot be done."""
    if sys.platform != "linux":
        return ""
    return "on" if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 else ""


def no_capabilities() -> str:
    """Give up every capability for good, also as root; '' where it cannot be done."""
    if sys.platform != "linux":
        return ""
    for capability in range(64):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # those that the kernel does not know are refused
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    # Else root gets all of its bounding set, and what is inheritable, at the next program.
    _libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT, 0, 0, 0)
    header, none = struct.pack("=Ii", _CAPABILITIES_V3, 0), bytes(24)
    return "on" if _libc.syscall(_CAPSET[_column_here()], header, none) == 0 else ""


def _column_here() -> int:
    return 0 if platform.machine() == "x86_64" else 1


def landlock_abi() -> int:
    """Return the version of Landlock that the kernel offers; 0 where it offers none."""
    if sys.platform != "linux":
        return 0
    return max(int(_libc.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)), 0)


def landlock(readable: Iterable[str] = (), writable: Iterable[str] = ()) -> str:
    """Give up every file and folder but those under `readable` and `writable`, and TCP; '' where it cannot be."""
    abi = landlock_abi()
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
        return f"ABI {abi}" if _libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0 else ""
    finally:
        os.close(ruleset)


def _grant(ruleset: int, path: str, rights: int) -> None:
    """Allow so much with what is under a path, where there is such a path."""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            folder = _LIST if Path(path).is_dir() else 0  # for a file the kernel refuses it
            _libc.syscall(_LANDLOCK_RULE, ruleset, 1, struct.pack("=Qi", rights | folder, opened), 0)
        finally:
            os.close(opened)


def limit(**limits: int) -> str:
    """Lower this process's limits, hard and soft, as far as the system knows them; '' where it knows none.

    The keywords are resource.RLIMIT_* names in lower case. A limit that already is lower stays.
    """
    held = []
    for name, most in limits.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}", None)
        if number is None:
            continue
        _, hard = resource.getrlimit(number)
        lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(number, (lower, lower))
            held.append(name)
    return " ".join(held)
