"""A process's own time: computing and sleeping, without waiting for a core.

Time limits use this clock, so that a busy machine, which makes programs wait, changes no verdict.
"""

import time
from collections.abc import Iterator
from pathlib import Path

ASSUMED_SLOWDOWN = 10
"""By how much programs are slower than on an idle machine, if the kernel does not report run queue waits."""

_SOON_S = 0.02
_CPU_CLOCK = 2
"""The clock of a whole process: user and system time, by the scheduler."""


class Clock:
    """Measures one thread of a process, or all of them together, from `start`."""

    def __init__(self, pid: int, thread: int | None = None) -> None:
        self.pid = pid
        self._tasks = Path(f"/proc/{pid}/task")
        self._thread = thread
        self.start()

    def start(self) -> None:
        """Start counting."""
        self._began, self._cpu = time.monotonic(), self._cpu_now()
        self._waited = dict(self._read_waits())

    def cpu_s(self) -> float:
        """Return the CPU seconds of the whole process; 0 if unknown, or when it is gone."""
        return max(self._cpu_now() - self._cpu, 0.0)

    def active_s(self) -> float:
        """Return the elapsed seconds, less those that the longest-waiting thread waited for a core."""
        elapsed_s = time.monotonic() - self._began
        waits = dict(self._read_waits())
        if not waits:
            return elapsed_s / ASSUMED_SLOWDOWN
        longest_wait_s = max(waited - self._waited.get(name, 0.0) for name, waited in waits.items())
        return elapsed_s - longest_wait_s

    def margin_s(self, limit_s: float) -> float:
        """Return how long from now the limit of `limit_s` cannot be reached; 0 when it is.

        A thread that is running or runnable makes progress: it is limited by its budget of CPU time.
        """
        margin_s = limit_s - self.active_s()
        if margin_s > 0:
            return margin_s
        if any(self._is_running(folder) for folder in self._list_folders()):
            return _SOON_S
        return 0.0

    def _list_folders(self) -> list[Path]:
        """Return the kernel's folders about the threads that are measured."""
        if self._thread:
            return [self._tasks / str(self._thread)]
        try:
            return list(self._tasks.iterdir())
        except OSError:
            return []

    def _read_waits(self) -> Iterator[tuple[str, float]]:
        """Yield each thread's seconds on a run queue, if the kernel counts them."""
        for folder in self._list_folders():
            try:
                ran, waited, _ = (folder / "schedstat").read_text().split()
            except (OSError, ValueError):
                # No such file here, or the thread is gone.
                continue
            # A kernel without these counts reports 0 for all.
            if int(ran):
                yield folder.name, int(waited) / 1e9

    def _is_running(self, folder: Path) -> bool:
        try:
            return (folder / "stat").read_text().rpartition(") ")[2][0] == "R"
        except (OSError, IndexError):
            return False

    def _cpu_now(self) -> float:
        try:
            # As clock_getcpuclockid(3) makes it.
            return time.clock_gettime((~self.pid << 3) | _CPU_CLOCK)
        except (AttributeError, OSError, OverflowError):
            return 0.0
