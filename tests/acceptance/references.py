"""Statistics by their published formulas, or by counting everything out: what ours are compared with."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

Floats = npt.NDArray[np.float64]
HALF = Fraction(1, 2)


def coin(at_least: int, tosses: int) -> Fraction:
    """Return the exact chance of so many heads or more."""
    return sum((math.comb(tosses, k) for k in range(at_least, tosses + 1)), Fraction(0)) * HALF**tosses


def two_sided(one: int, other: int) -> Fraction:
    """Return McNemar's exact p-value of two discordant counts."""
    return min(Fraction(1), 2 * coin(max(one, other), one + other))


def wilson_limits(k: int, n: int, tail: float = 0.025) -> tuple[float, float]:
    """Return the shares that the score test does not refuse, found numerically."""
    z, share = stats.norm.isf(tail), k / n

    def excess(p: float) -> float:
        return (share - p) ** 2 - z * z * p * (1 - p) / n

    low = 0.0 if k == 0 else optimize.brentq(excess, 0.0, share - 1e-12)
    high = 1.0 if k == n else optimize.brentq(excess, share + 1e-12, 1.0)
    return float(low), float(high)


def likeliest_lost(won: int, lost: int, n: int, margin: float) -> float:
    """Return the likeliest share of lost pairs where won - lost pairs is `margin`, found numerically."""
    if margin < 0:
        return likeliest_lost(lost, won, n, -margin) - margin
    most = (1 - margin) / 2

    def slope(share: float) -> float:
        gained = won / (share + margin) if won else 0.0
        kept = n - won - lost
        return gained + (lost / share if lost else 0.0) - (2 * kept / (1 - 2 * share - margin) if kept else 0.0)

    low, high = most * 1e-12, most * (1 - 1e-9)
    if slope(low) <= 0:
        return 0.0
    if slope(high) >= 0:
        return most
    return float(optimize.brentq(slope, low, high, xtol=1e-16, rtol=1e-14, maxiter=500))


def tango_score(won: int, lost: int, n: int, margin: float) -> float:
    """Return Tango's (1998) score: the distance from the margin in standard errors under it."""
    share = likeliest_lost(won, lost, n, margin)
    spread = (2 * share + margin - margin**2) / n
    return ((won - lost) / n - margin) / math.sqrt(spread)


def tango_limits(won: int, lost: int, n: int, levels: tuple[float, float]) -> tuple[float, float]:
    """Return the margins at which the score is at the critical values."""

    def end(z: float, inwards: float, edge: float) -> float:
        def excess(margin: float) -> float:
            return tango_score(won, lost, n, margin) - z

        near, beyond = (won - lost) / n + inwards, edge * (1 - 1e-6)
        return float(optimize.brentq(excess, near, beyond)) if excess(beyond) * z > 0 else edge

    # The score falls as the margin rises: it is +z at the lower limit, -z at the upper.
    return end(stats.norm.isf(levels[0]), -1e-9, -1.0), end(-stats.norm.isf(levels[1]), 1e-9, 1.0)


def tango_scores(won: Floats, lost: Floats, n: int, margin: float) -> Floats:
    """Return Tango's score by its closed form, for many counts at once."""
    b = (2 * n - won + lost) * margin - won - lost
    c = -lost * margin * (1 - margin)
    share = (np.sqrt(np.maximum(b * b - 8 * n * c, 0)) - b) / (4 * n)
    spread = np.maximum(n * (2 * share + margin * (1 - margin)), 1e-300)
    scores: Floats = (won - lost - n * margin) / np.sqrt(spread)
    return scores


def trinomial(n: int, lost: float, won: float) -> tuple[Floats, Floats, Floats]:
    """Return every count of lost and won pairs, and its chance."""
    losses, wins = (one.ravel() for one in np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij"))
    keep = losses + wins <= n
    losses, wins = losses[keep], wins[keep]
    chances = stats.multinomial.pmf(
        np.stack([losses, wins, n - losses - wins], axis=1), n, [lost, won, 1 - lost - won]
    )
    return losses, wins, chances


def power(n: int, lost: float, won: float, margin: float, level: float) -> float:
    """Return how often the one-sided test refuses a margin: every outcome counted out."""
    losses, wins, chances = trinomial(n, lost, won)
    if margin:
        p_values = np.asarray(stats.norm.cdf(tango_scores(wins, losses, n, margin)))
    else:
        p_values = np.asarray(stats.binom.sf(losses - 1, losses + wins, 0.5))
    return float(chances[p_values < level].sum())


def flipped(values: Sequence[float], margin: float = 0.0) -> Fraction:
    """Return the share of sign patterns of the shifted values whose sum is no greater: all of them counted out."""
    shifted = [Fraction(str(value)) - Fraction(str(margin)) for value in values]
    seen = sum(shifted)
    sums = (
        sum(map(lambda s, v: s * v, signs, shifted)) for signs in itertools.product((1, -1), repeat=len(shifted))
    )
    return Fraction(sum(one <= seen for one in sums), 2 ** len(shifted))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's (1979) adjusted p-values by the definition."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def coverage(
    runs: int, truth: float, draw: Callable[[np.random.Generator], tuple[float, float]], seed: int
) -> float:
    """Return in what share of seeded runs the interval that is drawn holds the truth."""
    rng = np.random.default_rng(seed)
    limits = [draw(rng) for _ in range(runs)]
    return sum(low <= truth <= high for low, high in limits) / runs
