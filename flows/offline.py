"""How the commands that ask nothing end: one message and exit code 2, never a traceback."""

import os
import sys
from collections.abc import Callable

from data.errors import InputError
from data.exits import Exit


def carry_out(work: Callable[[], None]) -> int:
    """Do a command's work and return its exit code."""
    try:
        work()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the command line's voice
        return Exit.ERROR
    except Exception as error:
        if os.environ.get("BASIC_CONTROL_DEBUG"):
            raise
        said = f"error: {type(error).__name__}: {error}\n"
        said += "A run that was read may be damaged, or this is a defect of the program; nothing was changed. "
        print(f"{said}BASIC_CONTROL_DEBUG=1 shows where it happened.", file=sys.stderr)  # noqa: T201 - likewise
        return Exit.ERROR
    except KeyboardInterrupt:
        return Exit.STOPPED
    return Exit.PASSED
