"""Intervals of weighted means of parts: TOTAL over its families, the overall score over its suites.

Each part tells as much as some effective number of yes/no answers (`metrics.stats.intervals.rates`, or what an
interval that was made elsewhere implies). Of independent parts the score interval follows: the values that the
score test does not refuse, each part's share being the likeliest under the value that is tested. Of one part it is
Wilson's. `tests.benchmarks.coverage` measures it.

Source: Miettinen & Nurminen 1985 (the test, and its correction for shares that are estimated); Martín Andrés,
Álvarez Hernández & Herranz Tejedor 2011 (linear combinations of shares).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from metrics.stats.intervals import Floats, Interval, PooledSample, Z, rates

_HALVINGS = 40
_LEAST, _MOST = -4.0, 9.0
"""Decimal exponents between which the multiplier is sought."""


class Stratum(NamedTuple):
    """A part of a weighted mean: its weight, not negative, its mean in [0, 1], and 1 / effective n.

    `units` it had; `fixed_templates` as in `Interval`.
    """

    weight: float
    mean: float
    rate: float
    units: int
    fixed_templates: bool = False


def parts_of(pools: Sequence[PooledSample], weights: Sequence[float], *, yes_no: bool) -> list[Stratum]:
    """Make parts of strata of one kind of values in [0, 1]; no pool is empty."""
    means, each = rates(pools, yes_no=yes_no, weights=np.array(weights))
    return [
        Stratum(weight, float(mean), float(rate), len(sample.sizes), sample.fixed_templates)
        for weight, mean, rate, sample in zip(weights, means, each, pools, strict=True)
    ]


def part_of(weight: float, mean: float, interval: Interval) -> Stratum | None:
    """Make a part of a mean and an interval within [0, 1] that was made elsewhere; None where it has none."""
    if not weight:
        return Stratum(weight, mean, 0.0, 0)
    if interval.low is None or interval.high is None:
        return None
    rate = observed(np.array([mean]), np.array([interval.high - interval.low]))
    return Stratum(weight, mean, float(rate[0]), interval.units, interval.fixed_templates)


def stratified(parts: Sequence[Stratum | None]) -> Interval:
    """Compute the 95 % interval of the weighted sum of independent parts; none where a part is None.

    Weights add up to 1. A part with a rate of 0 is known exactly.
    """
    used = [part for part in parts if part is None or part.weight]
    if not used or None in used:
        return Interval()
    known = [part for part in used if part is not None]
    weights, means, each = (np.array([part[i] for part in known], np.float64) for i in range(3))
    low, high = strata_limits(weights, means[None], each[None])
    fixed = any(part.fixed_templates for part in known)
    return Interval(float(low[0]), float(high[0]), "stratified", sum(part.units for part in known), fixed)


def correlated(parts: Sequence[tuple[float, float, Interval]]) -> Interval:
    """Compute the widest interval that the weighted sum of parts on the same items can need; none as above."""
    total = sum(weight * mean for weight, mean, _ in parts)
    below, above = 0.0, 0.0
    for weight, mean, interval in parts:
        if interval.low is None or interval.high is None:
            return Interval()
        below += weight * max(mean - interval.low, 0.0)
        above += weight * max(interval.high - mean, 0.0)
    return Interval(total - below, total + above, "combined", sum(interval.units for *_, interval in parts))


def at_once(parts: Sequence[tuple[float, Interval]]) -> Interval:
    """Compute the interval of the weighted sum of means whose intervals hold at once, as sequences' do."""
    low, high = 0.0, 0.0
    for weight, interval in parts:
        if interval.low is None or interval.high is None:
            return Interval()
        low, high = low + weight * interval.low, high + weight * interval.high
    return Interval(low, high, "sequence", sum(interval.units for _, interval in parts))


def observed(mean: Floats, width: Floats) -> Floats:
    """Return 1 / n of the Wilson intervals around `mean` that are `width` wide; 0 for a width of 0."""
    spread, square = 4 * mean * (1 - mean), np.square(np.clip(width, 0.0, 1.0))
    # Wilson's width with a = z² / n: width² (1 + a)² = spread a + a²
    first = np.maximum(1 - square, 1e-9)
    second = spread - 2 * square
    root: Floats = np.sqrt(np.square(second) + 4 * first * square)
    found: Floats = (root - second) / (2 * first) / Z**2
    return found


def strata_limits(weights: Floats, means: Floats, each: Floats) -> tuple[Floats, Floats]:
    """Compute the score limits of weighted sums: a row each, a column a part; `each` are 1 / effective n."""
    # A part's variance is estimated with its own share: too small by about 1 / n of it, but for what its own
    # weight gives the sum.
    grown = 1 / (1 - np.minimum(each, 1.0) * (1 - weights))
    found = []
    for side in (1.0, -1.0):
        low, high = np.full(len(means), _LEAST), np.full(len(means), _MOST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            shares = _likeliest(weights, means, each, side * 10**middle)
            parts = np.square(weights) * shares * (1 - shares) * each
            plain, full = parts.sum(axis=1), (parts * grown).sum(axis=1)
            # The sum lies multiplier x plain away from the mean: refused when that is z standard errors.
            beyond = np.square(10**middle * plain) >= Z**2 * full
            beyond &= full > 0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        found.append(_likeliest(weights, means, each, side * 10**high) @ weights)
    at = means @ weights
    low, high = np.minimum(found[0], at), np.maximum(found[1], at)
    return np.clip(low, 0.0, 1.0), np.where((means == 1).all(axis=1), 1.0, np.clip(high, 0.0, 1.0))


def _likeliest(weights: Floats, means: Floats, each: Floats, multiplier: Floats) -> Floats:
    """Return each part's likeliest share where their sum is held: (mean - p) n = multiplier weight p (1 - p)."""
    pull = multiplier[:, None] * weights * each
    middle = 1 + pull
    root = np.sqrt(np.maximum(np.square(middle) - 4 * pull * means, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):  # of the one that is not taken
        shares = np.where(middle > 0, 2 * means / (middle + root), (middle - root) / (2 * pull))
    within: Floats = np.minimum(np.maximum(shares, 0.0), 1.0)
    return within
