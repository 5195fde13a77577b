"""Confidence sequences: intervals of a mean that hold at every look, however many there are.

Two gamblers start with capital 1 and bet, before each value in [0, 1] is seen, on a mean above m and on a mean
below m. If m is the mean, neither can expect to gain, and the probability that either ever multiplies the capital
by 2 / alpha is at most alpha / 2 (Ville's inequality). The sequence consists of the m that neither has rejected so
far. Each capital is spread over a fixed set of bets: none needs tuning to the actual gap, and capital is monotone
in m, so the set of remaining m is an interval.

`tests.benchmarks.stopping` measures it against other bets (predictable plug-in, aGRAPA).

Source: Waudby-Smith and Ramdas, JRSS B 2024 (hedged capital; bets on a grid: section B.6); Ville 1939.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from basic_control.metrics.stats.intervals import Floats

Side = Literal["above", "below", ""]
PARTS = np.minimum(np.geomspace(0.03, 1.0, 24), 0.99)
"""Shares of the capital at risk in each bet; geometric, because gaps differ by factors."""


@dataclass(frozen=True, slots=True)
class Look:
    """A confidence sequence after `n` observations: their mean, and the values not rejected by any look so far."""

    n: int
    mean: float
    low: float
    high: float


def divide_alpha(alpha: float, sequences: int) -> float:
    """Return the share of `alpha` for each of several sequences (Bonferroni)."""
    return alpha / max(sequences, 1)


def capital(values: Floats, counts: Floats, m: float) -> float:
    """Compute the log capital from betting on a mean above m, starting from 1; it never increases with m.

    `values` in [0, 1], each seen `counts` times; 0 < m <= 1.
    """
    growth = np.log1p(PARTS[:, None] * (values / m - 1)) @ counts
    return float(np.logaddexp.reduce(growth) - np.log(len(PARTS)))


def lower(values: Floats, counts: Floats, alpha: float) -> float:
    """Return the smallest mean that betting on a greater one has not rejected at level alpha, in [0, 1]."""
    goal = -np.log(alpha)
    mean = float(values @ counts / counts.sum())
    tiny = 1e-12
    if mean <= tiny or capital(values, counts, tiny) < goal:
        return 0.0
    # Only rounding: nothing is won at the observed mean.
    if capital(values, counts, mean) >= goal:
        return mean
    from scipy.optimize import brentq  # slow import (half a second)

    return float(brentq(lambda m: capital(values, counts, m) - goal, tiny, mean, xtol=1e-10))


def follow(
    values: Sequence[float] | Floats,
    *,
    alpha: float,
    looks: Iterable[int] | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    ceiling: Sequence[float] | Floats | None = None,
) -> tuple[Look, ...]:
    """Compute the confidence sequence of the mean of `values`, in the order in which they were seen.

    There is a look after each of `looks` observations (default: every one; excess ones are ignored), whose interval
    is the intersection with all before it. `alpha` is the probability that the mean is ever outside. Values lie
    within `bounds`, (-1, 1) for differences of two scores. `ceiling`: if the values are lower bounds (truncated
    responses), the upper bounds, value by value; the interval then extends from the lower end of the one mean to
    the upper end of the other.

    Raises:
        ValueError: a value out of bounds.
    """
    least, greatest = bounds
    width = greatest - least
    below = (np.asarray(values, np.float64) - least) / width
    above = below
    if ceiling is not None:
        above = (np.asarray(ceiling, np.float64) - least) / width
    for column in (below, above):
        if column.size and not (column.min() >= 0 and column.max() <= 1):
            raise ValueError(f"expected values within {least:g} and {greatest:g}")
    followed: list[Look] = []
    low, high = 0.0, 1.0
    for n in range(1, len(below) + 1) if looks is None else looks:
        if not 0 < n <= len(below):
            continue
        now_low = max(low, _lower_of(below[:n], alpha / 2))
        now_high = min(high, 1 - _lower_of(1 - above[:n], alpha / 2))
        # Else one of the two is wrong: keep the earlier one.
        if now_low <= now_high:
            low, high = now_low, now_high
        mean = float(below[:n].mean())
        followed.append(Look(n, least + width * mean, least + width * low, least + width * high))
    return tuple(followed)


def _lower_of(column: Floats, alpha: float) -> float:
    values, counts = np.unique(column, return_counts=True)
    return lower(values, counts.astype(np.float64), alpha)


def side(look: Look, threshold: float) -> Side:
    """Return the side of a threshold on which the interval lies; '' if the threshold is not excluded."""
    if look.low > threshold:
        return "above"
    return "below" if look.high < threshold else ""


def find_decided(looks: Iterable[Look], threshold: float) -> Look | None:
    """Return the first look that excludes the threshold; None if there is none."""
    return next((look for look in looks if side(look, threshold)), None)
