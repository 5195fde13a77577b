"""Run what another name of a command stands for: see `flows.cli.application.NAMES`.

Modules below this room (the store, the data sets) and modules that a command imports are such names; they start
this one by name, and import nothing of it.
"""

import sys

from flows.cli.application import NAMES, alias

if __name__ == "__main__":
    spec = sys.modules["__main__"].__spec__
    name = spec.name if spec else ""
    raise SystemExit(alias(name, NAMES[name])())
