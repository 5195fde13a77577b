"""Ctrl-C while a command starts: one line and the exit code 130 instead of a traceback from some import."""

import os
import signal
import sys
from types import FrameType

SCRIPT, STOPPED = "basic-control", 130
"""As in `data`, which cannot be imported before the packages' folder is on the path."""


def _leave(_signal: int, _frame: FrameType | None) -> None:
    # An exception would be raised in the middle of an import, and some code swallows or prints it.
    if os.isatty(2):
        os.write(2, b"\x1b[?25h")  # the cursor, which a progress display hides
    os.write(2, b"Stopped before anything was asked.\n")
    os._exit(STOPPED)


def leave_at_once() -> None:
    """Make Ctrl-C end the process from now on, until something begins that must be ended in order."""
    signal.signal(signal.SIGINT, _leave)


def interrupt_again() -> None:
    """Make Ctrl-C raise KeyboardInterrupt again if `leave_at_once` was in effect."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave_while_starting() -> None:
    """Make Ctrl-C end the process if it is our script, or `python -m` while it looks for one of our modules."""
    if not sys.argv:
        return
    is_script = os.path.basename(sys.argv[0]) == SCRIPT  # noqa: PTH119 - no import yet
    # Python has "-m" there until it has found the module, which may be another's that imports us.
    is_module = sys.argv[0] == "-m" and _names_ours(sys.orig_argv)
    if is_script or is_module:
        leave_at_once()


def _names_ours(words: list[str]) -> bool:
    """Return whether the words of a command line run one of our modules."""
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    return module.partition(".")[0] in {__package__, "flows"}
