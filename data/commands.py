"""How this user types a command: `basic-control store verify`, or `python -m artifacts.store verify`."""

import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
"""The folder of the rooms."""
CHECKOUT = (TOP / "pyproject.toml").is_file()
"""Whether this is a checkout, and not an installed copy."""
SCRIPT = "basic-control"
BASELINES = "baselines"
"""The folder of baselines, unless another is named."""
PACKAGE = "python -m basic_control"
MODULES = {
    "run": "flows.full_eval",
    "compare": "flows.compare",
    "leaderboard": "flows.leaderboard",
    "store": "artifacts.store",
    "fetch": "data.fetch",
    "serve": "flows.deployment server",
    "deploy": "flows.deployment deploy",
    "worker": "flows.deployment worker",
    "sandbox": "tasks.sandbox",
}
"""Commands that are modules of a checkout as well."""


def typed(words: str) -> str:
    """Return a command's words, such as `store verify`, as this user would type them.

    As this process was started; elsewhere (in a worker, in a test) a checkout's modules, in an installed copy the
    script.
    """
    started = _started()
    if started:
        return f"{started} {words}"
    command, _, rest = words.partition(" ")
    return f"python -m {MODULES[command]} {rest}".rstrip() if command in MODULES else f"{PACKAGE} {words}"


def _started() -> str:
    """Return what this process was started as; "" for a module of its own in a checkout."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name == "basic_control.__main__":
        return PACKAGE
    script = Path(getattr(main, "__file__", None) or "").stem == SCRIPT
    return SCRIPT if script or not CHECKOUT else ""
