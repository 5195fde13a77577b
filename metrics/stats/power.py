"""Small formulas of experiments: correction for many tests, effects that can be detected, n that decides."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from metrics.stats.intervals import Interval

ALPHA = 0.05
POWER = 0.8
SINGLE_SPREAD = 0.5
"""The standard deviation of a yes/no value at worst: half of them right."""
PAIRED_SPREAD = math.sqrt(0.5)
"""That of the difference of two yes/no values on one item, where the models are right half the time and
independently: they disagree on half of the items. Models that agree more can be told apart sooner."""
MOST = 10**9


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for being many by Holm's step-down method, in order; None (no test) stays None.

    Source: Holm 1979.
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[i] = highest
    return adjusted


def holm_levels(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the level of Holm's step at which each p-value was decided, in order; None (no test) stays None.

    The k-th smallest of m is refused below alpha / (m - k + 1); the first that is not refused, and all after it,
    are decided at its level. A p-value lies below its level exactly where its adjusted one lies below alpha.
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    levels: list[float | None] = [None] * len(p_values)
    stopped = None
    for rank, (p, i) in enumerate(known):
        level = ALPHA / (len(known) - rank)
        stopped = level if stopped is None and p >= level else stopped
        levels[i] = level if stopped is None else stopped
    return levels


def detectable_effect(
    n: int, *, spread: float = SINGLE_SPREAD, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Compute the smallest true effect that n units show as significant with the given power.

    `spread` is the standard deviation of what is averaged: of scores for one model against a fixed value
    (`SINGLE_SPREAD` unless known), of differences for two models on the same items (`PAIRED_SPREAD` unless
    known). Needs no data: usable before a run. Normal approximation, two-sided. None where no effect within
    [-1, 1] could be detected, or n is 0.
    """
    if n <= 0:
        return None
    normal = NormalDist()
    effect = (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * spread / math.sqrt(n)
    return effect if effect <= 1 else None


def detectable_difference(
    n: int, *, discordance: float = PAIRED_SPREAD**2, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Compute the smallest difference of two models' shares that McNemar's test shows with the given power.

    `discordance` is the share of the n items on which exactly one model is right. None where not even the
    largest difference it allows (all disagreements on one side) would do.

    Source: Connor 1987.
    """
    if n <= 0 or discordance <= 0:
        return None
    normal = NormalDist()
    z_alpha, z_beta = normal.inv_cdf(1 - alpha / 2), normal.inv_cdf(power)
    # z_alpha sqrt(psi) + z_beta sqrt(psi - d^2) = d sqrt(n), squared and solved for d
    a, b = n + z_beta**2, z_alpha * math.sqrt(discordance * n)
    c = discordance * (z_alpha**2 - z_beta**2)
    effect = (b + math.sqrt(max(b * b - a * c, 0.0))) / a
    return effect if effect <= discordance else None


def deciding_n(mean: float, interval: Interval, threshold: float, n: int) -> int | None:
    """Estimate with how many rows the interval would exclude the threshold, if mean and spread stay.

    The side of the interval that faces the threshold shrinks as 1 / sqrt(n). `n` where it excludes it already;
    None where mean and threshold are equal, where there is no interval, or beyond 1e9 rows.
    """
    if interval.low is None or interval.high is None:
        return None
    gap = abs(mean - threshold)
    reach = mean - interval.low if mean >= threshold else interval.high - mean
    if reach < gap or (reach <= gap and mean >= threshold):
        return n
    if gap < 1e-9:  # noqa: PLR2004 - a difference that is only rounding
        return None
    needed = math.ceil(n * (reach / gap) ** 2)
    return needed if needed <= MOST else None
