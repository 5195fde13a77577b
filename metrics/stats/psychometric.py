"""The level of a model: where on a scale of difficulty it is right half of the time, with an interval.

A curve gives the probability of a right answer at each rung of a scale, rungs numbered from 1, the easiest: a
falling logistic function between the success rate of a blind guess and 1 less a few lapses. Its position (where the
probability is a half) and its steepness are on a grid, with a flat prior over position and log steepness; the
position may lie beyond either end of the scale. The next questions go where the answer is expected to be most
informative about the position.

The number of questions is fixed beforehand: stopping once the interval is narrow enough makes intervals too narrow
(`tests.benchmarks.level` measures it).

Source: Kontsevich and Tyler 1999 (the psi method); Prins 2013 (steepness as a nuisance); Wichmann and Hill 2001
(lapses); Robertson, Wright and Dykstra 1988 (the likelihood ratio of order).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from metrics.stats.intervals import Codes, Floats

LAPSES = 0.02
"""Probability of a slip on the easiest rung, and of luck beyond guessing on the hardest."""
STEPS = 4
"""Grid positions per rung."""
STEEPNESSES = 14
FLATTEST = 3.0
"""The flattest curve, in units of one over the number of rungs: it hardly falls within the scale."""
STEEPEST = 60.0
"""The steepest curve: all or nothing between two rungs."""
_TAIL = 0.025
DRAWS = 400
"""Number of draws from a falling curve with which observed shares are compared."""


@dataclass(frozen=True, slots=True)
class Level:
    """Where a curve crosses one half, with its 95 % interval: positions, 1 for the first rung.

    They extend at most half a scale beyond either end.
    """

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Order:
    """Test of whether shares of right answers fall from rung to rung, as on a valid scale.

    `p` is the probability of shares this contrary on a falling curve; `rises` are the first and last rung of the
    greatest rise, None if no share is above an easier rung's.
    """

    p: float
    rises: tuple[int, int] | None


class CurveGrid:
    """Curves over a scale, and their posterior given answers.

    `chance` is the success rate of a blind guess at each rung, in [0, 0.5). Counts are arrays, a number for each
    rung.
    """

    def __init__(self, chance: Sequence[float]) -> None:
        rungs = len(chance)
        self.rungs = rungs
        beyond = max(rungs / 2, 1.0)
        self.places = np.linspace(1 - beyond, rungs + beyond, round((rungs - 1 + 2 * beyond) * STEPS) + 1)
        steepness = np.geomspace(FLATTEST / rungs, STEEPEST, STEEPNESSES)[None, :, None]
        floor = np.maximum(np.asarray(chance, np.float64), LAPSES)
        share = (0.5 - floor) / (1 - LAPSES - floor)  # relative height of one half between floor and lapses
        away = steepness * (self.places[:, None, None] - np.arange(1, rungs + 1)) + np.log(share / (1 - share))
        self._right = floor + (1 - LAPSES - floor) / (1 + np.exp(-np.clip(away, -60.0, 60.0)))
        self._gain, self._loss = np.log(self._right), np.log1p(-self._right)

    def posterior(self, asked: Codes, right: Codes) -> Floats:
        """Return the weight of each curve, positions x steepnesses, given the right answers at each rung."""
        logarithm = self._gain @ right + self._loss @ (asked - right)
        weight = np.exp(logarithm - logarithm.max())
        return np.asarray(weight / weight.sum())

    def quantiles(self, weight: Floats, shares: Sequence[float]) -> list[float]:
        """Return the positions below which these shares of the weight lie."""
        half = (self.places[1] - self.places[0]) / 2
        edges = np.concatenate([self.places[:1] - half, self.places + half])
        below = np.concatenate([[0.0], weight.sum(axis=1).cumsum()])
        return [float(np.interp(share, below, edges)) for share in shares]

    def level(self, asked: Codes, right: Codes) -> Level:
        """Return the level, given the answers."""
        low, at, high = self.quantiles(self.posterior(asked, right), (_TAIL, 0.5, 1 - _TAIL))
        return Level(at, low, high)

    def band(self, asked: Codes, right: Codes) -> list[tuple[float, float, float]]:
        """Return the probability of a right answer at each rung: its mean, and its central 95 % interval."""
        weight = self.posterior(asked, right).ravel()
        found = []
        for chances in self._right.reshape(-1, self.rungs).T:
            order = chances.argsort()
            at = weight[order].cumsum().searchsorted((_TAIL, 1 - _TAIL))
            low, high = chances[order][np.minimum(at, len(order) - 1)].tolist()
            found.append((float(weight @ chances), low, high))
        return found

    def ask(self, asked: Codes, right: Codes, number: int) -> Codes:
        """Return how many of the next questions go to each rung: each rung once first, then the most informative.

        Each of several questions is chosen as if those before it had been answered as expected.
        """
        plan = np.zeros(self.rungs, np.int64)
        if not asked.any():
            first = np.linspace(0, self.rungs - 1, min(number, self.rungs)).round().astype(np.int64)
            np.add.at(plan, first, 1)
            return plan
        weight = self.posterior(asked, right)
        for _ in range(number):
            chance = (weight[:, :, None] * self._right).sum(axis=1)
            place = weight.sum(axis=1)[:, None]
            rung = int(np.argmin(_spread(chance) + _spread(place - chance)))
            plan[rung] += 1
            expected = chance[:, rung].sum()
            weight = weight * np.exp(expected * self._gain[:, :, rung] + (1 - expected) * self._loss[:, :, rung])
            weight /= weight.sum()
        return plan


@lru_cache(maxsize=64)
def search(chance: tuple[float, ...]) -> CurveGrid:
    """Return the curves over a scale; see `CurveGrid`."""
    return CurveGrid(chance)


def _spread(weight: Floats) -> Floats:
    """Return the entropy of the position, times the probability of the answer, for each rung's column."""
    weight = np.maximum(weight, 1e-300)
    return np.asarray(-(weight * np.log(weight / weight.sum(axis=0))).sum(axis=0))


def order(asked: Codes, right: Codes) -> Order:
    """Test whether shares of right answers contradict a curve that never rises: the likelihood ratio of order.

    Its distribution is drawn from the falling curve that fits best (a parametric bootstrap with a fixed seed).
    """
    there = np.flatnonzero(asked)
    n, k = asked[there], right[there]
    if len(there) < 2:  # noqa: PLR2004 - nothing to compare
        return Order(1.0, None)
    fitted = falling(n, k)
    observed = _ratio(n, k, fitted)
    if observed <= 0:
        return Order(1.0, None)
    draws = np.random.default_rng(0).binomial(n, fitted, (DRAWS, len(n)))
    contrary = sum(_ratio(n, drawn, falling(n, drawn)) >= observed - 1e-9 for drawn in draws)
    shares = k / n
    _, first, last = max(
        ((shares[b] - shares[a]) * math.sqrt(n[a] * n[b] / (n[a] + n[b])), a, b)
        for a, b in combinations(range(len(n)), 2)
    )
    return Order((1 + contrary) / (1 + DRAWS), (int(there[first]) + 1, int(there[last]) + 1))


def falling(n: Codes, k: Codes) -> Floats:
    """Return the non-increasing shares that are likeliest given k of n."""
    from scipy.optimize import isotonic_regression  # slow import (half a second)

    return np.asarray(isotonic_regression(k / n, weights=n, increasing=False).x, np.float64)


def _ratio(n: Codes, k: Codes, fitted: Floats) -> float:
    """Return the log-likelihood ratio of each rung's own share to the falling curve."""
    return _likelihood(n, k, k / n) - _likelihood(n, k, fitted)


def _likelihood(n: Codes, k: Codes, shares: Floats) -> float:
    inside = (shares > 0) & (shares < 1)  # at 0 and 1 the fit is exact
    n, k, shares = n[inside], k[inside], shares[inside]
    return float(k @ np.log(shares) + (n - k) @ np.log1p(-shares))
