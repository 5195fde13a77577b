"""This machine's cores and memory, within its control groups' limits."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

BESIDE_MB = 128
"""Memory of a process besides its component's: Python, the engine, replies in transit."""

_ROOT = Path("/")


def count_workers(memory_mb: int, requested: int | None = None, root: Path = _ROOT) -> int:
    """Return how many processes of `memory_mb` and BESIDE_MB each to run at once: at least one.

    `requested`, or one per core; fewer if memory does not suffice.
    """
    count = requested or count_cores(root)
    free = measure_free_memory(root)
    if free is not None:
        count = min(count, (free >> 20) // (memory_mb + BESIDE_MB))
    return max(1, count)


def count_cores(root: Path = _ROOT) -> int:
    """Return the cores that this process may use, by its affinity and its control groups' quotas: at least one."""
    try:
        counts = [len(os.sched_getaffinity(0))]
    except AttributeError:
        # macOS has no such call.
        counts = [os.cpu_count() or 1]
    for folder in _find_groups("cpu", root):
        # A fraction of a core counts as a core: what runs on it runs slower.
        counts += [-(-quota // period) for quota, period in _read_quotas(folder)]
    return max(1, min(counts))


def measure_free_memory(root: Path = _ROOT) -> int | None:
    """Return the bytes still available, here and in each control group; None if unknown."""
    amounts = [_read_number(root / "proc/meminfo", "MemAvailable:", 1024)]
    for folder in _find_groups("memory", root):
        for limit_file, used_file, reclaimable in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            limit, used = _read_number(folder / limit_file), _read_number(folder / used_file)
            if limit is not None and used is not None:
                # The page cache counts as used, but can be reclaimed.
                free = limit - used + (_read_number(folder / "memory.stat", reclaimable) or 0)
                amounts.append(max(free, 0))
    return min((amount for amount in amounts if amount is not None), default=None)


def _find_groups(controller: str, root: Path) -> Iterator[Path]:
    """Yield the folders of this process's control groups with a controller, and of their parents."""
    mount = root / "sys/fs/cgroup"
    with contextlib.suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if names and controller not in names.split(","):
                continue
            base = mount / names
            # In a container the path may be the host's: then the mount is the group itself.
            below = [part for part in path.split("/") if part and part != ".."]
            for depth in range(len(below), -1, -1):
                yield base.joinpath(*below[:depth])


def _read_quotas(folder: Path) -> Iterator[tuple[int, int]]:
    with contextlib.suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text().split()
        if quota != "max":
            yield int(quota), int(period)
    quota_us, period_us = _read_number(folder / "cpu.cfs_quota_us"), _read_number(folder / "cpu.cfs_period_us")
    if quota_us and period_us and quota_us > 0:
        yield quota_us, period_us


def _read_number(path: Path, name: str = "", unit: int = 1) -> int | None:
    """Return a file's number, or the one after a name; None if it has none."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for row in map(str.split, path.read_text().splitlines()):
            if not name or (row and row[0] == name):
                return int(row[1 if name else 0]) * unit
    return None
