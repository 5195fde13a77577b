"""`python -m tasks.sandbox`: build the sandbox if it is not there yet, try it, and say what holds."""

import sys

from data.errors import InputError
from tasks.sandbox import prepare, summary


def main() -> int:
    """Prepare and print the layers; return the exit code."""
    try:
        prepare()
        sys.stdout.write(f"{summary()}\n")
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
