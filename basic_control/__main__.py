"""The command line of Basic Control: `basic-control COMMAND …` or `python -m basic_control COMMAND …`."""

import sys
from collections.abc import Sequence

from basic_control.interrupts import leave_at_once


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    leave_at_once()
    # Imported late: until Ctrl-C ends the process cleanly, nothing slow may happen.
    from basic_control.flows.cli.application import main as run

    return run(argv)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `-m` alone puts the working directory first; remove it, as with the console script.
        del sys.path[0]
    raise SystemExit(main())
