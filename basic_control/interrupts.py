"""Ctrl-C while a command only starts: one line and the exit code 130, in place of a traceback from some import."""

import os
import signal
import sys
from types import FrameType

SCRIPT, STOPPED = "basic-control", 130
"""As `data` has them, which cannot be imported yet where the rooms have not been found."""


def _leave(_signal: int, _frame: FrameType | None) -> None:
    # An exception would be raised in the middle of an import, and some places swallow or print it.
    if os.isatty(2):
        os.write(2, b"\x1b[?25h")  # the cursor, which a progress display hides
    os.write(2, b"Stopped before anything was asked.\n")
    os._exit(STOPPED)


def leave_at_once() -> None:
    """Have Ctrl-C end the process, from now on and until something that is to be ended in order begins."""
    signal.signal(signal.SIGINT, _leave)


def interrupt_again() -> None:
    """Have Ctrl-C raise KeyboardInterrupt again, where `leave_at_once` stood."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave_while_starting() -> None:
    """Have Ctrl-C end the process if it is our script, or `python -m` that just looks for a module of ours."""
    if sys.argv and (sys.argv[0] == "-m" or os.path.basename(sys.argv[0]) == SCRIPT):  # noqa: PTH119 - no import yet
        leave_at_once()
