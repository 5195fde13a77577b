"""How large a model is, as far as its name tells, and whether that makes a judge."""

import re

from config.settings import Model

SMALL = 4.0
"""Parameters, in 1e9, below which a judge is too small: its grades were no better than chance."""

_SIZE = re.compile(r"(?<![\w.])(\d{1,4}(?:\.\d{1,3})?) ?([bm])(?![a-z])", re.IGNORECASE)


def size_of(model: Model) -> float | None:
    """Read a model's number of parameters, in 1e9, out of its name; None where it does not say."""
    told = f"{model.served} {model.file}".translate(str.maketrans("-_:", "   "))
    found = [float(n) / (1000 if unit in "mM" else 1) for n, unit in _SIZE.findall(told)]
    return max(found, default=None)


def too_small(judge: Model) -> bool:
    """Say whether a judge is known to be too small: by its name, or as the bundled model."""
    size = size_of(judge)
    return size < SMALL if size is not None else judge.provider == "embedded" and not judge.file
