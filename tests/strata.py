"""Shares of six families with a given mean, for what measures TOTAL."""

import numpy as np
import numpy.typing as npt

SPREADS = ("equal", "unequal", "wide")
"""Log-odds that differ by nothing, by up to 3, by up to 8."""

_OFFSETS = {"equal": (0.0,) * 6, "unequal": (-1.5, -0.9, -0.3, 0.3, 0.9, 1.5), "wide": (-4, -2, -1, 1, 2, 4)}


def shares(mean: float, spread: str) -> npt.NDArray[np.float64]:
    """Return six shares with this mean, their log-odds spread around a common one."""
    offsets = np.array(_OFFSETS[spread], np.float64)
    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        too_low = (1 / (1 + np.exp(-(middle + offsets)))).mean() < mean
        low, high = (middle, high) if too_low else (low, middle)
    return 1 / (1 + np.exp(-(low + offsets)))
