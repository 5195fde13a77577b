"""The command line of Basic Control: `basic-control COMMAND …` or `python -m basic_control COMMAND …`."""

import sys
from collections.abc import Sequence

from basic_control import start
from basic_control.interrupts import leave_at_once


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    leave_at_once()
    start()
    # Only now can our packages be imported.
    from flows.cli.application import main as run

    return run(argv)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `-m` alone puts the working directory first; remove it, as with the console script.
        del sys.path[0]
    raise SystemExit(main())
