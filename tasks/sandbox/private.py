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
_LINKS = 40  # on one path, as the kernel counts
_KEY = 32  # bytes
_ADVICE = "Set XDG_CACHE_HOME to a folder of your own on a local disk."


def private(folder: Path) -> Path:
    """Create a folder that only we can enter, and check that nobody can swap it or its parents.

    Raises:
        InputError: someone else could write there, or we cannot.
    """
    folder = folder.absolute()
    try:
        for above in reversed(folder.parents):  # not by `parents=True`, which gives those the mode of the umask
            if not above.exists():
                above.mkdir(_OURS_ALONE)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(_OURS_ALONE)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise InputError(f"sandbox image: {folder} is not a folder that you own. {_ADVICE}")
        _check_way(folder.parent)
        if stat.S_IMODE(found.st_mode) != _OURS_ALONE:
            folder.chmod(_OURS_ALONE)
    except OSError as error:
        raise InputError(f"sandbox image: {folder} cannot be used ({error}). {_ADVICE}") from error
    return folder


def cache(name: str) -> Path:
    """Return a private folder of that name in this user's cache of the sandbox.

    Raises:
        InputError: no private folder is available.
    """
    root = platformdirs.user_cache_path("basic-control", appauthor=False)
    return private(private(private(root) / "sandbox") / name)


@contextlib.contextmanager
def building(folder: Path, progress: Callable[[str], None]) -> Iterator[Path]:
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
        for left in folder.glob("build-*"):  # of a killed builder: the lock is ours
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=folder, ignore_cleanup_errors=True) as work:
            yield Path(work)


def own_file(path: Path) -> BufferedReader:
    """Open a file for reading that only we can write.

    Raises:
        OSError: it is not such a file, or does not exist.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or shared(found):
        file.close()
        raise PermissionError(f"{path} is writable by others")
    return file


def secret(spare: Path) -> bytes:
    """Return this user's key, created at first use: apart from what it seals, in `spare` without a home."""
    try:
        return _key(private(platformdirs.user_state_path("basic-control", appauthor=False)) / "sandbox.key")
    except (InputError, OSError, RuntimeError):
        return _key(spare / "key")


def _key(path: Path) -> bytes:
    with contextlib.suppress(OSError), own_file(path) as file:
        if len(found := file.read()) == _KEY:
            return found
    made = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(secrets.token_bytes(_KEY))
    made.chmod(0o600)
    try:
        if path.is_symlink() or path.exists():  # and it is no key
            made.replace(path)
        else:
            os.link(made, path)
    except FileExistsError:  # another process was first, and its key is everyone's
        pass
    made.unlink(missing_ok=True)
    with own_file(path) as file:
        return file.read()


def _check_way(folder: Path) -> None:
    """Raise an InputError if others could replace any component of a path, a link on it, or a link's target."""
    here, left, links = Path("/"), deque(folder.parts[1:]), 0
    while True:
        if shared(here.lstat()):
            raise InputError(f"sandbox image: {here}, above {folder}, is writable by others. {_ADVICE}")
        if not left:
            return
        step = here / left[0]
        if left.popleft() == "..":
            here = here.parent
        elif step.is_symlink():
            links += 1
            if step.lstat().st_uid not in {0, os.geteuid()} or links > _LINKS:
                raise InputError(f"sandbox image: {step}, above {folder}, is another user's link. {_ADVICE}")
            target = step.readlink()
            left.extendleft(reversed(target.parts[target.is_absolute() :]))
            here = Path("/") if target.is_absolute() else here
        else:
            here = step


def shared(found: os.stat_result) -> bool:
    """Return whether others than us and root can write there (a sticky folder's entries are their owner's)."""
    if found.st_uid not in {0, os.geteuid()}:
        return True
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return False
    group = found.st_mode & stat.S_IWGRP and not _own_group(found.st_gid)
    return bool(group or found.st_mode & stat.S_IWOTH)


def _own_group(gid: int) -> bool:
    """Return whether a group is the user's private one: of the same name, with no other member."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and not set(group.gr_mem) - {user.pw_name}
