"""The start of an installed Basic Control: its own modules are found first, whatever folder it is started in.

In a wheel the rooms (flows, tasks, data, …) stand inside this folder, in a checkout beside it. Plug-ins import
the same names in both, such as `from data.records import Family`.
"""

from basic_control.interrupts import leave_while_starting

leave_while_starting()

import importlib  # noqa: E402 - imports take longer than people take to press Ctrl-C
import sys  # noqa: E402 - likewise
from pathlib import Path  # noqa: E402 - likewise

_HERE = Path(__file__).resolve().parent
HOME = str(_HERE if (_HERE / "flows").is_dir() else _HERE.parent)
"""The folder of the rooms."""
ROOMS = ("data", "prompts", "metrics", "generators", "config", "tasks", "flows")


def start() -> None:
    """Put the folder of the rooms first on the path, so that no `config.py` or `data/` is taken for ours.

    Processes that `multiprocessing` starts inherit the path; `flows.environment.modules` is for the others.
    """
    sys.path[:] = [HOME, *(path for path in sys.path if path != HOME)]


def hold() -> None:
    """Start, and import every room at once: for processes whose host puts folders before ours later on."""
    start()
    for room in ROOMS:
        importlib.import_module(room)
