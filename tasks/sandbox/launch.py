"""Become another program, confined: `python -m tasks.sandbox.launch '{"limits": …, "readable": …}' COMMAND …`.

For virtual machines, which need threads, files of their own and executable memory, and nothing outside.
"""

import json
import os
import sys

from tasks.sandbox import confinement


def main() -> None:
    """Give up what can be given up, and go."""
    given = json.loads(sys.argv[1])
    confinement.limit(**given["limits"])
    confinement.no_new_privs()
    confinement.landlock(given["readable"])
    confinement.seccomp(confinement.no_others)
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - without a shell, as it should be


if __name__ == "__main__":
    main()
