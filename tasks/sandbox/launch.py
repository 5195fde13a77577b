"""Confine this process and replace it by a program, or fail: `python -m tasks.sandbox.launch LIMITS COMMAND …`.

LIMITS is JSON: `{"limits": {…}, "readable": […], "writable": […], "calls": […]}`. For virtual machines, which need
threads, their own files and executable memory, and nothing outside. Without a command it prints, as JSON, the
active layers.

Landlock keeps a process from opening files, but still reveals whether one exists, or how large it is. So a process
gets a mount namespace whose root contains only what it was given: the machine's root user makes one directly,
others within a user namespace, if the system allows that.
"""

import contextlib
import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from basic_control.tasks.sandbox import confinement, syscalls

_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000
_NOSUID, _NODEV, _RECURSIVE, _PRIVATE, _DETACH = 2, 4, 0x4000, 0x40000, 2  # of mount and umount2
_CLONE, _WHOLE, _FROM_OPEN, _OF_OPEN = 1, 0x8000, 4, 0x1000
_READ_ONLY = 1  # of a mount's attributes; no set-user-id files and no devices are as for mount
_AT_CWD = -100

_BASE = "/proc"
"""Where the new root is assembled: any folder would do, as nobody else sees it, and this one exists."""

_libc = ctypes.CDLL(None, use_errno=True)


def enter_root(program: str, readable: Iterable[str], writable: Iterable[str]) -> str:
    """Give this process, permanently, a root with only those files and folders; '' if unavailable.

    Keeps the working folder if it is one of them. /proc only has the location of `program`, which the loader reads.
    The caller has one thread, and gives up its capabilities afterwards.
    """
    if sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"}:
        return ""
    folder, paths, writable_paths = Path.cwd(), sorted({*readable, *writable}), set(writable)
    # Tried in another process first: half done it would leave neither the old root nor a new one.
    trial = os.fork()
    if trial == 0:
        with contextlib.suppress(OSError):
            _mount_root(program, paths, writable_paths)
            os._exit(0)
        os._exit(1)
    if os.waitpid(trial, 0)[1] != 0:
        return ""
    how = _mount_root(program, paths, writable_paths)
    os.chdir(folder if folder.is_dir() else "/")
    return how


def _check_result(result: int) -> int:
    """Return a system call's result, or raise an OSError."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _mount_root(program: str, paths: Iterable[str], writable: set[str]) -> str:
    """Enter a new root with a link to `program` and copies of the mounts below some paths."""
    user, group = os.geteuid(), os.getegid()
    how = "mount namespace"
    if _libc.unshare(_NEW_MOUNTS) != 0:
        how = "mount and user namespace"
        _check_result(_libc.unshare(_NEW_MOUNTS | _NEW_USER))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    # None of this is seen outside.
    _check_result(_libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None))
    real_paths = {path: str(Path(path).resolve()) for path in paths if os.access(path, os.F_OK)}
    trees: dict[str, int] = {}
    for path, real in sorted(real_paths.items(), key=lambda link: link[1]):
        # What lies below a copied folder came with it.
        if path in writable or not any(Path(real).is_relative_to(folder) for folder in trees):
            trees[real] = _copy_mounts(real, path in writable)
    _check_result(_libc.mount(b"none", _BASE.encode(), b"tmpfs", _NOSUID | _NODEV, b"size=1m,mode=755"))
    for real, tree in trees.items():
        _attach(tree, f"{_BASE}{real}", folder=Path(real).is_dir())
    os.chdir(_BASE)
    _check_result(_libc.syscall(syscalls.find_numbers()["pivot_root"], b".", b"."))
    _check_result(_libc.umount2(b".", _DETACH))
    os.chdir("/")
    for path, real in {**real_paths, "/proc/self/exe": program}.items():
        if not os.path.lexists(path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).symlink_to(real)
    _restrict(_AT_CWD, b"/", 0, _READ_ONLY)
    return how


def _copy_mounts(path: str, writable: bool) -> int:  # noqa: FBT001 - it is what the copy is for
    """Return a copy of the mounts below a path, not mounted anywhere yet."""
    flags = _CLONE | _WHOLE | os.O_CLOEXEC
    tree = _check_result(_libc.syscall(syscalls.find_numbers()["open_tree"], _AT_CWD, os.fsencode(path), flags))
    device = Path(path).is_char_device()
    _restrict(tree, b"", _OF_OPEN | _WHOLE, _NOSUID | _READ_ONLY * (not writable) | _NODEV * (not device))
    return tree


def _restrict(at: int, path: bytes, flags: int, attributes: int) -> None:
    structure = struct.pack("=4Q", attributes, 0, 0, 0)
    number = syscalls.find_numbers()["mount_setattr"]
    _check_result(_libc.syscall(number, at, path, flags, structure, len(structure)))


def _attach(tree: int, target: str, *, folder: bool) -> None:
    if folder:
        Path(target).mkdir(parents=True, exist_ok=True)
    elif not Path(target).exists():
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).touch()
    number = syscalls.find_numbers()["move_mount"]
    _check_result(_libc.syscall(number, tree, b"", _AT_CWD, os.fsencode(target), _FROM_OPEN))
    os.close(tree)


def main() -> None:
    """Apply the confinement and run the command; fail if it cannot be applied."""
    options = json.loads(sys.argv[1])
    confinement.limit(**options["limits"])
    root = enter_root((sys.argv[2:] or [os.devnull])[0], options["readable"], options["writable"])
    confinement.drop_new_privs()
    confinement.drop_capabilities()
    landlock = confinement.restrict_files(options["readable"], options["writable"])
    if not landlock:
        sys.exit("no Landlock")
    if not confinement.restrict_calls(partial(confinement.build_machine_filter, calls=options["calls"])):
        sys.exit("no seccomp")
    if not sys.argv[2:]:
        json.dump({"root": root, "landlock": landlock}, sys.stdout)
        return
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - without a shell, as it should be


if __name__ == "__main__":
    main()
