"""The exit codes of every command: what a shell, a build or a scheduler reads."""

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    PASSED = 0
    """Done; every gate was passed, or none was asked for."""
    FAILED = 1
    """A model below a threshold, a regression, or damage that was looked for and found."""
    ERROR = 2
    """Bad input, or something that broke; where a gate failed as well, this goes before it."""
    UNDECIDED = 3
    """No gate failed, but the data could not decide one."""
    STOPPED = 130
    """Stopped by Ctrl-C or SIGTERM; what was answered is kept."""


EXPLAINED = "Exit codes: 0 passed, 1 failed or regressed, 2 error, 3 undecided, 130 stopped."
"""What every `--help` says."""
