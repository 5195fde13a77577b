"""How this user invokes a command: `basic-control store verify`, `python -m basic_control …`, or a Python call."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

TOP = Path(__file__).parents[1]
"""The folder of the rooms."""
CHECKOUT = (TOP / "pyproject.toml").is_file()
"""Whether this is a checkout, not an installed copy."""
SCRIPT = "basic-control"
BASELINES = "baselines"
"""The default folder of baselines."""
LAST = "last"
"""The newest finished evaluation, where a run is named."""
PACKAGE = "python -m basic_control"
_CALLS = {"compare": "bc.compare({})", "run": "bc.run({})", "show": "bc.read({}).samples"}
"""What is called in Python in place of a command that has no options."""
_FROM_PYTHON = ContextVar("from_python", default=False)


@contextmanager
def call_from_python() -> Iterator[None]:
    """Have advice inside the block name calls: it is for somebody who called from Python."""
    token = _FROM_PYTHON.set(True)
    try:
        yield
    finally:
        _FROM_PYTHON.reset(token)


def is_from_python() -> bool:
    """Return whether advice is for somebody who called from Python."""
    return _FROM_PYTHON.get()


def format_command(words: str) -> str:
    """Return a command, such as `store verify`, as this user would type it."""
    command, _, text = words.partition(" ")
    # What has no equal in Python is a command there too, as is what has options.
    if is_from_python() and command in _CALLS and " -" not in f" {text}":
        # Of several runs each is a word; a file is one, whatever its name.
        arguments = [text]
        if command == "compare":
            arguments = text.split()
        return _CALLS[command].format(", ".join(map(json.dumps, arguments)))
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name == "basic_control.__main__":
        return f"{PACKAGE} {words}"
    script = Path(getattr(main, "__file__", None) or "").stem == SCRIPT
    return f"{SCRIPT if script or not CHECKOUT else PACKAGE} {words}"
