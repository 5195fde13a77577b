"""Intervals of weighted means of parts: TOTAL over its families, the overall score over its suites.

Each part's interval tells its effective number of observations, whatever it was made from: the n of the Wilson
interval that is as wide. Of independent parts the score interval follows: the values that the score test does not
refuse, each part's share being the likeliest under the value that is tested. Of one part it is Wilson's.
`tests.benchmarks.statistics strata` measures its coverage.

Source: Miettinen & Nurminen 1985 (the test, and its correction for shares that are estimated); Martín Andrés,
Álvarez Hernández & Herranz Tejedor 2011 (linear combinations of shares).
"""

import math
from collections.abc import Sequence

import numpy as np

from metrics.stats.intervals import Floats, Interval, Z

Part = tuple[float, float, Interval]
"""A part's weight, not negative, its mean in [0, 1], and its 95 % interval within [0, 1]."""

_HALVINGS = 60
_LEAST, _MOST = -4.0, 9.0
"""Decimal exponents between which the multiplier is sought."""


def stratified(parts: Sequence[Part]) -> Interval:
    """Compute the interval of the weighted sum of independent parts; none where a part has none.

    Weights add up to 1. A part whose interval is one point is known exactly.
    """
    used = [part for part in parts if part[0]]
    if len(used) == 1 and used[0][0] == 1:
        return used[0][2]
    weights, means, ends = [], [], []
    for weight, mean, interval in used:
        if interval.low is None or interval.high is None:
            return Interval()
        weights.append(weight)
        means.append(mean)
        ends.append(interval.high - interval.low)
    if not used:
        return Interval()
    share = np.array([means])
    low, high = strata_limits(np.array(weights), share, observed(share, np.array([ends])))
    return Interval(float(low[0]), float(high[0]), "stratified", sum(interval.units for _, _, interval in used))


def correlated(parts: Sequence[Part]) -> Interval:
    """Compute the widest interval that the weighted sum of parts on the same items can need; none as above."""
    total = math.fsum(weight * mean for weight, mean, _ in parts)
    below, above = [], []
    for weight, mean, interval in parts:
        if weight == 0:
            continue
        if interval.low is None or interval.high is None:
            return Interval()
        below.append(weight * max(mean - interval.low, 0.0))
        above.append(weight * max(interval.high - mean, 0.0))
    if not below:
        return Interval()
    units = sum(interval.units for weight, _, interval in parts if weight)
    return Interval(total - math.fsum(below), total + math.fsum(above), "combined", units)


def at_once(parts: Sequence[Part]) -> Interval:
    """Compute the interval of the weighted sum of means whose intervals hold at once, as sequences' do."""
    low, high = 0.0, 0.0
    for weight, _, interval in parts:
        if interval.low is None or interval.high is None:
            return Interval()
        low, high = low + weight * interval.low, high + weight * interval.high
    return Interval(low, high, "sequence", sum(interval.units for _, _, interval in parts))


def observed(mean: Floats, width: Floats) -> Floats:
    """Return 1 / n of the Wilson intervals around `mean` that are `width` wide; 0 for a width of 0."""
    spread, square = 4 * mean * (1 - mean), np.square(np.clip(width, 0.0, 1.0))
    # Wilson's width with a = z² / n: width² (1 + a)² = spread a + a²
    first = np.maximum(1 - square, 1e-9)
    second = spread - 2 * square
    root: Floats = np.sqrt(np.square(second) + 4 * first * square)
    rates: Floats = (root - second) / (2 * first) / Z**2
    return rates


def strata_limits(weights: Floats, means: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """Compute the score limits of weighted sums: a row each, a column a part; `rates` are 1 / n of the parts."""
    # A part's variance is estimated with its own share: too small by about 1 / n of it, but for what its own
    # weight gives the sum.
    grown = 1 / (1 - np.minimum(rates, 1.0) * (1 - weights))
    found = []
    for side in (1.0, -1.0):
        low, high = np.full(len(means), _LEAST), np.full(len(means), _MOST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            shares = _likeliest(weights, means, rates, side * 10**middle)
            parts = np.square(weights) * shares * (1 - shares) * rates
            plain, full = parts.sum(axis=1), (parts * grown).sum(axis=1)
            # The sum lies multiplier x plain away from the mean: refused when that is z standard errors.
            beyond = np.square(10**middle * plain) >= Z**2 * full
            beyond &= full > 0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        found.append(_likeliest(weights, means, rates, side * 10**high) @ weights)
    at = means @ weights
    low, high = np.minimum(found[0], at), np.maximum(found[1], at)
    return np.clip(low, 0.0, 1.0), np.where((means == 1).all(axis=1), 1.0, np.clip(high, 0.0, 1.0))


def _likeliest(weights: Floats, means: Floats, rates: Floats, multiplier: Floats) -> Floats:
    """Return each part's likeliest share where their sum is held: (mean - p) n = multiplier weight p (1 - p)."""
    pull = multiplier[:, None] * weights * rates
    middle = 1 + pull
    root = np.sqrt(np.maximum(np.square(middle) - 4 * pull * means, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(middle > 0, 2 * means / (middle + root), (middle - root) / (2 * pull))
    within: Floats = np.clip(np.nan_to_num(shares, nan=1.0), 0.0, 1.0)
    return within
