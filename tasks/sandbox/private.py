"""Folders and files that nobody else can change, including their parents."""

import contextlib
import fcntl
import grp
import os
import pwd
import secrets
import shutil
import stat
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path

import platformdirs

from basic_control.data.errors import InputError

_OURS_ALONE = 0o700
_LINKS = 40
"""Links on one path, as the kernel counts."""
_KEY = 32
"""Bytes of a key."""
_ADVICE = "Set XDG_CACHE_HOME to a folder of your own on a local disk."


def make_private(folder: Path) -> Path:
    """Create a folder that only we can enter, and check that nobody can swap it or its parents.

    Raises:
        InputError: someone else could write there, or we cannot.
    """
    folder = folder.absolute()
    try:
        # Not by `parents=True`, which gives those the mode of the umask.
        for parent in reversed(folder.parents):
            if not parent.exists():
                parent.mkdir(_OURS_ALONE)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(_OURS_ALONE)
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise InputError(f"sandbox image: {folder} is not a folder that you own. {_ADVICE}")
        _check_way(folder.parent)
        if stat.S_IMODE(status.st_mode) != _OURS_ALONE:
            folder.chmod(_OURS_ALONE)
    except OSError as error:
        raise InputError(f"sandbox image: {folder} cannot be used ({error}). {_ADVICE}") from error
    return folder


def make_cache(name: str) -> Path:
    """Return a private folder of that name in this user's cache of the sandbox.

    Raises:
        InputError: no private folder is available.
    """
    root = platformdirs.user_cache_path("basic-control", appauthor=False)
    return make_private(make_private(make_private(root) / "sandbox") / name)


@contextlib.contextmanager
def hold_lock(folder: Path, progress: Callable[[str], None]) -> Iterator[Path]:
    """Hold the folder's lock, and yield a temporary folder in it to build in.

    The kernel releases the lock when its holder dies, however that happens.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(folder / "lock", flags, 0o600), "rb+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("Sandbox: waiting for another process to build it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Of a killed builder: the lock is ours.
        for abandoned in folder.glob("build-*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=folder, ignore_cleanup_errors=True) as work:
            yield Path(work)


def open_own_file(path: Path) -> BufferedReader:
    """Open a file for reading that only we can write.

    Raises:
        OSError: it is not such a file, or does not exist.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or is_shared(status):
        file.close()
        raise PermissionError(f"{path} is writable by others")
    return file


def read_secret(spare: Path) -> bytes:
    """Return this user's key, created at first use: apart from what it seals, in `spare` without a home."""
    try:
        folder = make_private(platformdirs.user_state_path("basic-control", appauthor=False))
        return _read_or_make_key(folder / "sandbox.key")
    except (InputError, OSError, RuntimeError):
        return _read_or_make_key(spare / "key")


def _read_or_make_key(path: Path) -> bytes:
    with contextlib.suppress(OSError), open_own_file(path) as file:
        key = file.read()
        if len(key) == _KEY:
            return key
    # Written aside, so that a file of this name is always a whole key.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(secrets.token_bytes(_KEY))
    draft.chmod(0o600)
    try:
        # What is there is no key.
        if path.is_symlink() or path.exists():
            draft.replace(path)
        else:
            os.link(draft, path)
    except FileExistsError:
        # Another process was first, and its key is everyone's.
        pass
    draft.unlink(missing_ok=True)
    with open_own_file(path) as file:
        return file.read()


def _check_way(folder: Path) -> None:
    """Raise an InputError if others could replace any component of a path, a link on it, or a link's target."""
    current, remaining_parts, links = Path("/"), deque(folder.parts[1:]), 0
    while True:
        if is_shared(current.lstat()):
            raise InputError(f"sandbox image: {current}, above {folder}, is writable by others. {_ADVICE}")
        if not remaining_parts:
            return
        step = current / remaining_parts[0]
        if remaining_parts.popleft() == "..":
            current = current.parent
        elif step.is_symlink():
            links += 1
            if step.lstat().st_uid not in {0, os.geteuid()} or links > _LINKS:
                raise InputError(f"sandbox image: {step}, above {folder}, is another user's link. {_ADVICE}")
            target = step.readlink()
            # The link's own way is checked too, from the root or from here on.
            remaining_parts.extendleft(reversed(target.parts[target.is_absolute() :]))
            if target.is_absolute():
                current = Path("/")
        else:
            current = step


def is_shared(status: os.stat_result) -> bool:
    """Return whether others than us and root can write there (a sticky folder's entries are their owner's)."""
    if status.st_uid not in {0, os.geteuid()}:
        return True
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return False
    by_group = status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid)
    return bool(by_group or status.st_mode & stat.S_IWOTH)


def _is_private_group(gid: int) -> bool:
    """Return whether a group is the user's private one: of the same name, with no other member."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and not set(group.gr_mem) - {user.pw_name}
