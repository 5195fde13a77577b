"""Become another program, confined, or do not: `python -m tasks.sandbox.launch GIVEN COMMAND …`.

GIVEN is JSON: `{"limits": {…}, "readable": […], "writable": […], "calls": […]}`. For virtual machines, which need
threads, files of their own and executable memory, and nothing outside. Without a command it says, as JSON, which
layers hold.
"""

import json
import os
import sys
from functools import partial

from tasks.sandbox import confinement, mounts


def main() -> None:
    """Give up what is not needed, and go: where that cannot be done, not at all."""
    given = json.loads(sys.argv[1])
    confinement.limit(**given["limits"])
    root = mounts.own_root((sys.argv[2:] or [os.devnull])[0], given["readable"], given["writable"])
    confinement.no_new_privs()
    confinement.no_capabilities()
    landlock = confinement.landlock(given["readable"], given["writable"])
    if not landlock:
        sys.exit("no Landlock")
    if not confinement.seccomp(partial(confinement.only_a_machine, calls=given["calls"])):
        sys.exit("no seccomp")
    if not sys.argv[2:]:
        json.dump({"root": root, "landlock": landlock}, sys.stdout)
        return
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - without a shell, as it should be


if __name__ == "__main__":
    main()
