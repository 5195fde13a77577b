"""How this user invokes a command: `basic-control store verify`, or `python -m basic_control store verify`."""

import sys
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


def format_command(words: str) -> str:
    """Return a command, such as `store verify`, as this user would type it."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name == "basic_control.__main__":
        return f"{PACKAGE} {words}"
    script = Path(getattr(main, "__file__", None) or "").stem == SCRIPT
    return f"{SCRIPT if script or not CHECKOUT else PACKAGE} {words}"
