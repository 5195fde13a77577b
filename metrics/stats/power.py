"""Statistical power: Holm's correction, detectable effects, and the n that decides or shows a drop."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from basic_control.metrics.stats.intervals import Interval
from basic_control.metrics.stats.margins import Differences, below, compute_least_p, is_few_clusters

ALPHA = 0.05
POWER = 0.8
_Z_ALPHA, _Z_BETA = NormalDist().inv_cdf(1 - ALPHA / 2), NormalDist().inv_cdf(POWER)
SINGLE_SPREAD = 0.5
"""The largest standard deviation of a yes/no value: half of them right."""
PAIRED_SPREAD = math.sqrt(0.5)
"""The standard deviation of the difference of two yes/no values on one item, with both models right half the time.

They are taken as independent: they disagree on half of the items. It is smaller for models that agree more.
"""
FARTHEST = 10
"""Largest multiple of n that is reported: beyond it the score is too close to its threshold."""
_MOST_PAIRS = 10**6
_SPREADS = 7  # standard deviations that contain all but 1e-11 of a count
_STEPS = 30


class HolmStep(NamedTuple):
    """A p-value, its adjusted one, and the level at which it was decided; all None without a test."""

    p: float | None = None
    adjusted: float | None = None
    level: float | None = None


def holm(p_values: Sequence[float | None]) -> list[HolmStep]:
    """Correct for multiple tests by Holm's step-down method, in order; None (no test) takes no part.

    The k-th smallest of m is rejected below alpha / (m - k + 1); the first that is not rejected, and all after it,
    are decided at its level. A p-value lies below its level exactly if its adjusted one lies below alpha.

    Source: Holm 1979.
    """
    ranked = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    steps = [HolmStep()] * len(p_values)
    highest, has_stopped, level = 0.0, False, ALPHA
    for rank, (p, i) in enumerate(ranked):
        n_left = len(ranked) - rank
        highest = max(highest, min(1.0, p * n_left))
        # The first that is not rejected sets the level of all after it.
        if not has_stopped:
            level = ALPHA / n_left
            has_stopped = p >= level
        steps[i] = HolmStep(p, highest, level)
    return steps


def find_effect(n: int, *, spread: float = SINGLE_SPREAD) -> float | None:
    """Compute the smallest true effect that n units show as significant at 5 % with power 0.8.

    `spread` is the standard deviation of the averaged values: scores for one model against a fixed value (default
    `SINGLE_SPREAD`), or differences for two models on the same items (default `PAIRED_SPREAD`). Needs no data:
    usable before a run. Normal approximation, two-sided. None if no effect within [-1, 1] could be detected, or n
    is 0.
    """
    if n <= 0:
        return None
    effect = (_Z_ALPHA + _Z_BETA) * spread / math.sqrt(n)
    if effect > 1:
        return None
    return effect


def find_difference(n: int, *, discordance: float = PAIRED_SPREAD**2) -> float | None:
    """Compute the smallest difference of two models' shares that McNemar's test shows at 5 % with power 0.8.

    `discordance` is the share of the n items on which exactly one model is right. None if even the largest
    difference it allows (all disagreements on one side) would not do.

    Source: Connor 1987.
    """
    if n <= 0 or discordance <= 0:
        return None
    # z_alpha sqrt(psi) + z_beta sqrt(psi - d^2) = d sqrt(n), squared and solved for d
    a, b = n + _Z_BETA**2, _Z_ALPHA * math.sqrt(discordance * n)
    c = discordance * (_Z_ALPHA**2 - _Z_BETA**2)
    effect = (b + math.sqrt(max(b * b - a * c, 0.0))) / a
    if effect > discordance:
        return None
    return effect


def count_deciding(mean: float, interval: Interval, threshold: float, n: int) -> int | None:
    """Estimate the number of rows with which the interval would exclude the threshold, at the same mean and spread.

    The side of the interval that faces the threshold shrinks as 1 / sqrt(n). `n` if it excludes it already; None
    without an interval, or if it would take more than `FARTHEST` times n: too close to decide here.
    """
    if interval.low is None or interval.high is None:
        return None
    gap = abs(mean - threshold)
    reach = interval.high - mean
    if mean >= threshold:
        reach = mean - interval.low
    if reach < gap or (reach <= gap and mean >= threshold):
        return n
    if reach**2 > FARTHEST * gap**2:
        return None
    return math.ceil(n * (reach / gap) ** 2)


def compute_power(n: int, lost: float, won: float, *, margin: float, level: float) -> float:
    """Compute the exact power of counts against a margin, for given shares of lost and won pairs.

    The test is `margins.below`, one-sided at `level`.
    """
    from scipy.special import bdtr, betaln, xlog1py, xlogy  # half a second; scipy.stats a second, and 50 MB

    psi = min(lost + won, 1.0)
    spread = _SPREADS * math.sqrt(n * psi * (1 - psi)) + 1
    differing = np.arange(max(0, int(n * psi - spread)), min(n, math.ceil(n * psi + spread)) + 1)
    about = (differing + n * margin - NormalDist().inv_cdf(1 - level) * np.sqrt(differing)) // 2
    near = [np.clip(about + side, -1, differing).astype(np.int64) for side in (-2, 3)]
    within = [below(np.maximum(wins, 0), differing - np.maximum(wins, 0), n, margin) < level for wins in near]
    low = np.where(within[0], near[0], -1)
    high = np.where(within[1], differing, np.maximum(near[1] - 1, low))
    while (low < high).any():  # the most wins with which the margin is still rejected
        middle = (low + high + 1) // 2
        wins = np.maximum(middle, 0)
        refused = below(wins, differing - wins, n, margin) < level
        low, high = np.where(refused, middle, low), np.where(refused, high, middle - 1)
    share = min(won / psi, 1.0) if psi > 0 else 0.0
    few: Any = np.where(low >= 0, bdtr(np.maximum(low, 0).astype(float), differing, share), 0.0)
    logs = xlogy(differing, psi) + xlog1py(n - differing, -psi) - betaln(n - differing + 1, differing + 1)
    return float(np.exp(logs) @ few / (n + 1))


def find_drop(n: int, discordance: float, right: float, *, max_drop: float, level: float) -> float | None:
    """Compute the smallest true drop that n yes/no pairs show to be more than `max_drop` with power 0.8.

    Without a drop, a share `discordance` of the pairs differs, equally in both directions, and a share `right` of
    the responses is right; the drop turns right responses wrong at random. None if even losing all of them would
    not do.
    """

    def power(drop: float) -> float:
        won = discordance / 2 * (1 - drop / right)
        return compute_power(n, won + drop, won, margin=-max_drop, level=level)

    if n <= 0:
        return None
    return _find_least(power, max_drop, right)


def count_needed_pairs(discordance: float, *, max_drop: float, level: float) -> int | None:
    """Compute the number of yes/no pairs that distinguish no change from a drop of `max_drop` with power 0.8.

    None if the tolerated drop is 0, which no number shows, or beyond a million pairs.
    """
    half = discordance / 2
    power = partial(compute_power, lost=half, won=half, margin=max_drop, level=level)
    if max_drop <= 0:
        return None
    return find_least_number(lambda n: power(n) >= POWER)


def find_least_number(enough: Callable[[int], bool]) -> int | None:
    """Find the smallest sufficient number; None beyond a million."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST_PAIRS:
            return None
    least = high // 2 + 1
    return least + bisect_left(range(least, high), x=True, key=enough)


def find_detectable(sample: Differences, room: float, *, level: float, max_drop: float = 0.0) -> float | None:
    """Compute the smallest true difference that a test of such a sample finds with power 0.8.

    One-sided at `level`, beyond a tolerated `max_drop`. `room` is the share of responses that a difference can
    turn: to make a side worse, those that are right. The spread is that without the observed difference; for yes/no
    pairs a greater difference turns such responses at random; grades spread wider by two fifths of it. Counts:
    exact. Other samples: by the normal approximation. None if no difference would do, or if so few units could not
    reach the level at all, or were asked in rounds: how many there are hangs on the difference.
    """
    if compute_least_p(sample) >= level or room <= 0 or sample.in_rounds:
        return None
    beyond_chance = math.sqrt(max(sample.mean**2 - sample.variance, 0.0))
    moved = min(beyond_chance, 0.999 * room)
    if sample.counts:
        share = (sample.won + sample.lost) / sample.n
        plain = min(max((share - moved) / (1 - moved / room), 0.0), 1.0)
        return find_drop(sample.n, plain, room, max_drop=max_drop, level=level)
    power_of = _sign_power(sample, level)
    if is_few_clusters(sample):
        power_of = _student(sample, level)
    # Turned responses lose their old variance and add that of the turning itself; grades turn in part.
    part = 1.0 if sample.yes_no else 0.4
    still = max(sample.variance - part * (moved - moved**2) * sample.squares, 0.0) / (1 - part * moved / room)

    def power(drop: float) -> float:
        turned = still * (1 - part * min(drop / room, 1.0)) + part * (drop - drop**2) * sample.squares
        return power_of(drop - max_drop, max(turned, 1e-18))

    return _find_least(power, max_drop, room if sample.yes_no else 1.0)


def _student(sample: Differences, level: float) -> Callable[[float, float], float]:
    """Return the power of Student's t over few clusters, by the true difference and the variance of its mean.

    A variance of few clusters is more often too small than too large: it is treated as the median of its
    distribution.

    Source: Wilson & Hilferty 1931 (the median of chi-squared).
    """
    from scipy.special import nctdtr, stdtrit  # slow import (half a second)

    freedom = 1 / float(sample.sizes @ sample.sizes) - 1
    critical, median = float(stdtrit(freedom, 1 - level)), (1 - 2 / (9 * freedom)) ** 3
    return lambda beyond, variance: 1 - float(nctdtr(freedom, beyond * math.sqrt(median / variance), critical))


def _sign_power(sample: Differences, level: float) -> Callable[[float, float], float]:
    """Return the power of random signs, by the true difference and the variance of its mean.

    Their tails are lighter than a normal sum's, and their spread includes the shift of the units.

    Source: Cornish & Fisher 1938, by the fourth cumulant.
    """
    normal, reach = NormalDist(), float(sample.sizes @ sample.sizes)
    critical = normal.inv_cdf(1 - level)
    squares = np.square(sample.totals)
    if len(squares) > 1 and squares.any():
        heavy = float(squares @ squares) / float(squares.sum()) ** 2
        critical = max(critical - (critical**3 - 3 * critical) * heavy / 12, 0.5 * critical)

    def power(beyond: float, variance: float) -> float:
        spread = variance + beyond**2 * reach
        return normal.cdf((beyond - critical * math.sqrt(spread)) / math.sqrt(variance))

    return power


def count_needed(sample: Differences, *, max_drop: float, level: float) -> int | None:
    """Compute the number of similar units that distinguish no change from a drop of `max_drop` with power 0.8.

    One-sided at `level`; None as in `count_needed_pairs`, or for a single unit.
    """
    if max_drop <= 0 or len(sample.totals) < 2:  # noqa: PLR2004 - a single unit has no spread
        return None
    if sample.counts:
        return count_needed_pairs((sample.won + sample.lost) / sample.n, max_drop=max_drop, level=level)
    reach, units = NormalDist().inv_cdf(1 - level) + _Z_BETA, len(sample.totals)
    factor = max(reach**2 * sample.variance / max_drop**2, math.log2(1 / level) / units)
    # Of pairs that are all equal another share may differ (`margins.EqualPairs`).
    if not sample.won + sample.lost:
        factor = math.log(level) / math.log1p(-max_drop) / units if max_drop < 1 else 1 / units
    needed = math.ceil(units * factor)
    if needed > _MOST_PAIRS:
        return None
    return needed


def _find_least(power: Callable[[float], float], low: float, high: float) -> float | None:
    """Find the smallest drop with the required power; None if the largest lacks it."""
    if high <= low or power(high) < POWER:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if power(middle) >= POWER:
            high = middle
        else:
            low = middle
    return high
