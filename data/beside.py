"""The tables of a module: the YAML file beside it that has its name."""

from pathlib import Path
from typing import Any

import yaml


def read_beside(file: str) -> Any:
    """Return the content of the YAML file beside a module, given the module's `__file__`."""
    return yaml.load(Path(file).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
