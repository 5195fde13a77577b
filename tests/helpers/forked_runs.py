"""Runs from Python without two seconds of imports: forks in place of the process that `bc.run` starts."""

import io
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.helpers.preloaded import TOP, Preloaded, Started


class Late(io.RawIOBase):
    """What a fork wrote, read once it has ended."""

    def __init__(self, started: Started, stream: int) -> None:
        self._started = started
        self._stream = stream
        self._whole: io.BytesIO | None = None

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for the end, and read on."""
        if self._whole is None:
            self._whole = io.BytesIO(self._started.read_to_end(self._stream))
        return self._whole.readinto(buffer)


class ForkedRun:
    """What a run's caller needs of `subprocess.Popen`."""

    def __init__(self, forks: Preloaded, environment: Mapping[str, str]) -> None:
        reading, writing = os.pipe()
        run = {**environment, "PYTHONPATH": str(TOP)}
        self._started = forks.fork("tests.helpers.forked_runs", [], run, Path.cwd(), [reading])
        os.close(reading)
        self.stdin = os.fdopen(writing, "wb")
        self.stdout, self.stderr = io.BufferedReader(Late(self._started, 1)), Late(self._started, 2)
        self.returncode: int | None = None

    def wait(self) -> int:
        """Return the exit code once there is one."""
        self.returncode = self._started.wait()
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._started.send_signal(number)


def replace_subprocess(forks: Preloaded) -> SimpleNamespace:
    """Return what stands in for `subprocess` where runs are started."""

    def start(command: Sequence[str], *, env: Mapping[str, str], **streams: Any) -> Any:
        # A terminal, or what Prefect reads as it is imported, wants a process of its own.
        if streams["stderr"] is None or not forks.fits({**env, "PYTHONPATH": str(TOP)}):
            return subprocess.Popen(command, env=env, **streams)
        return ForkedRun(forks, env)

    return SimpleNamespace(Popen=start, PIPE=subprocess.PIPE)


if __name__ == "__main__":
    from basic_control.run_process import main

    main()
