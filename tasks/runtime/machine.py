"""This machine's cores and memory, within its control groups' limits."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

BESIDE_MB = 128
"""Memory of a process besides its component's: Python, the engine, replies in transit."""

_ROOT = Path("/")


def workers(memory_mb: int, asked: int | None = None, root: Path = _ROOT) -> int:
    """Return how many processes of `memory_mb` and BESIDE_MB each to run at once: at least one.

    `asked`, or one per core; fewer if memory does not suffice.
    """
    free = memory(root)
    most = asked or cores(root)
    return max(1, most if free is None else min(most, (free >> 20) // (memory_mb + BESIDE_MB)))


def cores(root: Path = _ROOT) -> int:
    """Return the cores that this process may use, by its affinity and its control groups' quotas: at least one."""
    try:
        found = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS has no such call
        found = os.cpu_count() or 1
    # a fraction of a core counts as a core: what runs on it runs slower
    quotas = [-(-quota // period) for folder in _groups("cpu", root) for quota, period in _quota(folder)]
    return max(1, min([found, *quotas]))


def memory(root: Path = _ROOT) -> int | None:
    """Return the bytes still available, here and in each control group; None if unknown."""
    told = [_number(root / "proc/meminfo", "MemAvailable:", 1024)]
    for folder in _groups("memory", root):
        for most, used, file in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            limit, taken = _number(folder / most), _number(folder / used)
            if limit is not None and taken is not None:
                # the page cache counts as used, but can be reclaimed
                told.append(max(limit - taken + (_number(folder / "memory.stat", file) or 0), 0))
    return min((one for one in told if one is not None), default=None)


def held(root: Path = _ROOT, process: str = "self") -> int | None:
    """Return the memory in bytes of a process and all its descendants; None if unknown.

    Proportional set size: memory shared by several processes counts once in total.
    """
    own = _number(root / f"proc/{process}/smaps_rollup", "Pss:", 1024)
    if own is None:
        return None
    started: list[str] = []
    with contextlib.suppress(OSError):
        for listed in (root / f"proc/{process}/task").glob("*/children"):
            started += listed.read_text().split()
    return own + sum(held(root, child) or 0 for child in started)


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """Yield the folders of this process's control groups with a controller, and of their parents."""
    mount = root / "sys/fs/cgroup"
    with contextlib.suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if names and controller not in names.split(","):
                continue
            base = mount / names
            # in a container the path may be the host's: then the mount is the group itself
            below = [part for part in path.split("/") if part and part != ".."]
            for depth in range(len(below), -1, -1):
                yield base.joinpath(*below[:depth])


def _quota(folder: Path) -> Iterator[tuple[int, int]]:
    with contextlib.suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text().split()
        if quota != "max":
            yield int(quota), int(period)
    quota_us, period_us = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    if quota_us and period_us and quota_us > 0:
        yield quota_us, period_us


def _number(path: Path, name: str = "", unit: int = 1) -> int | None:
    """Return a file's number, or the one after a name; None if it has none."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for row in map(str.split, path.read_text().splitlines()):
            if not name or (row and row[0] == name):
                return int(row[1 if name else 0]) * unit
    return None
