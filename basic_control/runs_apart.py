"""A run in a process of its own, which asks this one's functions and hands back where its results lie."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from basic_control.function_server import FunctionServer, start_thread
from basic_control.targets import Targets

_TOP = str(Path(__file__).resolve().parents[1])
_START = """
import importlib.util, sys
if importlib.util.find_spec("basic_control") is None:
    sys.path.append(sys.argv[1])
from basic_control.run_process import main
main()
"""
"""Where the package is not installed, its folder comes last on the path, where it shadows nothing."""
_STOPPED = 130
IN_RUN = threading.Event()
"""Set in the process of a run: a plug-in that starts one there would start itself again."""


def _is_notebook() -> bool:
    """Return whether this is a notebook's kernel, which shows a cell's last value."""
    package = sys.modules.get("IPython")
    shell = package.get_ipython() if package else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What is asked of the process: a configuration, by name or whole, and what the command line would add to it.

    `targets` replace models and judges, `options` are those of `run`, `keys` values of the configuration.
    `is_brief`: a notebook shows the screen below its cell, so that stderr has the verdict alone.
    """

    configuration: str | Mapping[str, Any]
    suite: str = ""
    targets: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)
    is_brief: bool = field(default_factory=_is_notebook)


class RunApart:
    """A run's process; it ends when this one does."""

    def __init__(self, request: RunRequest, targets: Targets) -> None:
        if IN_RUN.is_set():
            from basic_control.data.errors import InputError

            raise InputError(
                "a run was started by a plug-in while a run loads it; call bc.run and bc.evaluate under "
                "`if __name__ == '__main__':`."
            )
        self._functions = FunctionServer(targets.functions, targets.concurrency)
        self._outcome = b""
        self._interrupts = 0
        self._popen = subprocess.Popen(  # noqa: S603 - this interpreter, and our own program
            [sys.executable, "-P", "-c", _START, _TOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if _is_stderr_terminal() else subprocess.PIPE,
            env=_environment(self._functions.address),
            # Ctrl-C reaches this process, which tells the run: its calls in flight may still end.
            start_new_session=True,
        )
        readers = [start_thread(self._read_outcome, self._popen.stdout)]
        if self._popen.stderr:
            readers.append(start_thread(_show, self._popen.stderr))
        # The pipe stays open: when this process ends, however it does, the run notices that and stops.
        if self._popen.stdin:
            try:
                self._popen.stdin.write(json.dumps(asdict(request)).encode() + b"\n")
                self._popen.stdin.flush()
            except BrokenPipeError:
                pass  # it has ended, and says why
        start_thread(self._close_when_ended, readers)

    def finish(self) -> dict[str, Any]:
        """Answer the run's calls until it ends; return its exit code, its screen and its folder.

        Raises:
            InputError: it ended without results; the message is its own.
            KeyboardInterrupt: it was stopped.
        """
        from basic_control.data.errors import InputError

        while True:
            try:
                self._functions.serve()
                break
            except KeyboardInterrupt:
                self._interrupt()
        outcome: dict[str, Any] = json.loads(self._outcome or b"{}")
        if "stopped" in outcome or self._interrupts:
            raise KeyboardInterrupt(outcome.get("stopped", "Stopped."))
        if "error" in outcome:
            raise InputError(outcome["error"])
        if not outcome:
            raise InputError(f"the run's process ended with exit code {self._popen.returncode} and said nothing.")
        return outcome

    def _interrupt(self) -> None:
        """Stop the run as Ctrl-C would; the third one kills it."""
        self._interrupts += 1
        sign = signal.SIGINT if self._interrupts < 3 else signal.SIGKILL  # noqa: PLR2004 - the run heeds two
        self._popen.send_signal(sign)

    def _read_outcome(self, lines: IO[bytes]) -> None:
        self._outcome = lines.read()

    def _close_when_ended(self, readers: list[threading.Thread]) -> None:
        """Wait for the run to end, then close its pipes and stop serving functions, which ends `finish`."""
        for reader in readers:
            reader.join()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe:
                pipe.close()
        self._functions.close()


def _is_stderr_terminal() -> bool:
    """Return whether stderr is the terminal itself, which the run may then use."""
    try:
        return sys.stderr.isatty() and sys.stderr.fileno() == 2  # noqa: PLR2004 - the descriptor of stderr
    except (OSError, ValueError, AttributeError):
        return False


def _environment(address: str) -> dict[str, str]:
    """Return this process's environment for the run: where the functions are, and the terminal's width."""
    environment = dict(os.environ)
    for name in ("BASIC_CONTROL_CALLER", "FORCE_COLOR"):  # notebooks ask for colours, which a text has not
        environment.pop(name, None)
    if address:
        environment["BASIC_CONTROL_CALLER"] = address
    if _is_stderr_terminal():
        environment.setdefault("COLUMNS", str(shutil.get_terminal_size().columns))
    return environment


def _show(lines: IO[bytes]) -> None:
    """Show what the run says on whatever stderr is by then: a notebook's, a test's."""
    for line in lines:
        # A program without a console has none, and one that ends has closed it; the run must not wait for that.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            sys.stderr.write(line.decode("utf-8", "replace"))
            sys.stderr.flush()
