"""Startup of an installed Basic Control: its own modules are found first, whatever the working directory.

In a wheel the packages (flows, tasks, data, …) are inside this folder, in a checkout beside it. Plug-ins use the
same imports in both, such as `from data.records import Family`.
"""

from basic_control.interrupts import leave_while_starting

leave_while_starting()

import importlib  # noqa: E402 - imports take longer than people take to press Ctrl-C
import sys  # noqa: E402 - likewise
from pathlib import Path  # noqa: E402 - likewise

_HERE = Path(__file__).resolve().parent
HOME = str(_HERE if (_HERE / "flows").is_dir() else _HERE.parent)
"""The folder of the packages."""
ROOMS = ("data", "prompts", "metrics", "generators", "config", "tasks", "flows")


def start() -> None:
    """Put the packages' folder first on the path, so that no local `config.py` or `data/` shadows ours.

    Processes started by `multiprocessing` inherit the path; `flows.environment.modules` is for all others.
    """
    sys.path[:] = [HOME, *(path for path in sys.path if path != HOME)]


def hold() -> None:
    """Call `start` and import every package at once, for hosts that later put other folders before ours."""
    start()
    for room in ROOMS:
        importlib.import_module(room)
