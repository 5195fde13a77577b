"""One-sided tests of a paired difference against a margin, the limits that they imply, and their power.

Yes/no pairs are counts: of `n` pairs `won` are right in the run alone and `lost` in the baseline alone. The
hypothesis that the true difference is `margin` is refused downwards where the run did too badly for it; upwards is
the same test with the two sides and the margin's sign exchanged.

Source: Tango 1998 (score test and interval of a paired difference); Hartigan 1969 (typical values: the sign-flip
test accepts a margin exactly where it lies among the means of random subsets).
"""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.stats.intervals import MAX_BOOTSTRAP, Floats, Pool
from metrics.stats.power import MOST, POWER

FLIPS = 10_000
_EXACT = 12  # units up to which all sign patterns are listed
_NOTHING = 1e-12
_HALVINGS = 50
_SPREADS = 7  # standard deviations within which all but 1e-11 of a count lies


def tango(won: npt.ArrayLike, lost: npt.ArrayLike, n: int, margin: float) -> Floats:
    """Compute Tango's score statistic: by how many standard errors the difference lies above the margin.

    Counts of pairs, element by element; n > 0.

    Source: Tango 1998.
    """
    b, c = np.asarray(won, np.float64), np.asarray(lost, np.float64)
    middle = (2 * n - b + c) * margin - b - c
    root = np.sqrt(np.maximum(middle**2 + 8 * n * c * margin * (1 - margin), 0.0))
    # The likeliest share of lost pairs where the difference is the margin.
    share = np.maximum((root - middle) / (4 * n), 0.0)
    variance = n * np.maximum(2 * share + margin * (1 - margin), 0.0)
    gap = b - c - n * margin
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(np.abs(gap) <= _NOTHING, 0.0, gap / np.sqrt(variance))
    return found


def below(won: npt.ArrayLike, lost: npt.ArrayLike, n: int, margin: float) -> Floats:
    """Compute one-sided p-values against a true difference of `margin` or more: small where the run lies below it.

    At margin 0 the exact binomial test on the pairs that differ, else Tango's score test.
    """
    from scipy.special import bdtr, ndtr  # half a second

    if margin:
        refused: Floats = ndtr(tango(won, lost, n, margin))
        return refused
    b, differing = np.asarray(won, np.float64), np.asarray(won, np.int64) + np.asarray(lost, np.int64)
    exact: Floats = np.where(differing > 0, bdtr(b, differing, 0.5), 1.0)
    return exact


def share_limits(won: int, lost: int, n: int, levels: tuple[float, float]) -> tuple[float, float]:
    """Compute the lower and upper limit of the difference of paired shares, each one-sided at its own level.

    Tango's; but a limit that would exclude 0 where the exact test does not stays at 0.
    """
    low = -_upper(lost, won, n, levels[0])
    return low + 0.0, _upper(won, lost, n, levels[1])


def _upper(won: int, lost: int, n: int, level: float) -> float:
    critical = NormalDist().inv_cdf(level)
    low, high = (won - lost) / n, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = float(tango(won, lost, n, middle)) >= critical
        low, high = (middle, high) if inside else (low, middle)
    if won - lost == n:
        high = 1.0
    return max(high, 0.0) if high < 0 and float(below(won, lost, n, 0.0)) >= level else high


class Flips:
    """Random sign patterns of a sample's units, and the one-sided p-values and limits that they give.

    A pattern that flips some of the shifted units brings the sum down exactly where the flipped ones' own mean
    lies above the margin; so the means of random subsets are all that the test needs. All subsets for up to 12
    units, else `FLIPS` random ones and the observed pattern; above 10 000 units the normal approximation.
    """

    def __init__(self, sample: Pool, *, seed: int = 0) -> None:
        self._sample = sample
        self._means = _subset_means(sample, seed) if len(sample.sizes) <= MAX_BOOTSTRAP else None

    def below(self, margin: float) -> float:
        """Return the p-value against a true mean of `margin` or more."""
        if self._means is None:
            return self._normal(margin)
        at_least = int((self._means >= margin - _NOTHING).sum())
        return (at_least + 1) / (len(self._means) + 1)

    def above(self, margin: float) -> float:
        """Return the p-value against a true mean of `margin` or less."""
        if self._means is None:
            return 1 - self._normal(margin)
        at_most = int((self._means <= margin + _NOTHING).sum())
        return (at_most + 1) / (len(self._means) + 1)

    def limits(self, levels: tuple[float, float]) -> tuple[float | None, float | None]:
        """Return the lower and upper limit, each one-sided at its own level; None where so few units have none."""
        if self._means is None:
            return self._solved(levels[0], -1.0), self._solved(levels[1], 1.0)
        ends = []
        for level, means in zip(levels, (self._means, self._means[::-1]), strict=True):
            # the first margin that is refused has fewer than level x patterns beyond it, with the observed one
            spare = math.ceil(level * (len(means) + 1)) - 1
            ends.append(float(means[spare - 1]) if 1 <= spare <= len(means) else None)
        return ends[0], ends[1]

    def _normal(self, margin: float) -> float:
        shifted = self._sample.totals - margin * self._sample.sizes
        scale = math.sqrt(float(shifted @ shifted))
        return NormalDist().cdf(float(shifted.sum()) / scale) if scale > _NOTHING else 1.0

    def _solved(self, level: float, side: float) -> float:
        """Solve (T - mN)² = z² Σ(t - ms)² for m."""
        t, s = self._sample.totals, self._sample.sizes
        square = NormalDist().inv_cdf(level) ** 2
        a = float(s.sum()) ** 2 - square * float(s @ s)
        b = float(t.sum() * s.sum()) - square * float(t @ s)
        c = float(t.sum()) ** 2 - square * float(t @ t)
        return (b + side * math.sqrt(max(b * b - a * c, 0.0))) / a


def _subset_means(sample: Pool, seed: int) -> Floats:
    """Return the sorted means of subsets of the units, none of them empty; each unit is in with probability ½."""
    n = len(sample.sizes)
    columns = np.stack([sample.totals, sample.sizes], axis=1)
    if n <= _EXACT:
        chosen = (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
        sums = chosen @ columns
    else:
        rng = np.random.default_rng(seed)
        blocks = [rng.integers(0, 2, (500, n), np.int8).astype(np.float64) @ columns for _ in range(FLIPS // 500)]
        sums = np.concatenate(blocks)
        sums = sums[sums[:, 1] > 0]
    return np.sort(sums[:, 0] / sums[:, 1])


def found_share(n: int, lost: float, won: float, *, margin: float, level: float) -> float:
    """Compute how often `below` refuses a margin, the shares of lost and won pairs being these: its exact power."""
    from scipy.special import bdtr, betaln, xlog1py, xlogy  # half a second; scipy.stats a second, and 50 MB

    psi = min(lost + won, 1.0)
    spread = _SPREADS * math.sqrt(n * psi * (1 - psi)) + 1
    differing = np.arange(max(0, int(n * psi - spread)), min(n, math.ceil(n * psi + spread)) + 1)
    low, high = np.full(len(differing), -1), differing.copy()
    while (low < high).any():  # the most wins with which the margin is still refused
        middle = (low + high + 1) // 2
        wins = np.maximum(middle, 0)
        refused = below(wins, differing - wins, n, margin) < level
        low, high = np.where(refused, middle, low), np.where(refused, high, middle - 1)
    share = min(won / psi, 1.0) if psi > 0 else 0.0
    few: Any = np.where(low >= 0, bdtr(np.maximum(low, 0).astype(float), differing, share), 0.0)
    logs = xlogy(differing, psi) + xlog1py(n - differing, -psi) - betaln(n - differing + 1, differing + 1)
    return float(np.exp(logs) @ few / (n + 1))


def detectable_drop(n: int, discordance: float, right: float, *, max_drop: float, level: float) -> float | None:
    """Compute the smallest true drop that n yes/no pairs show to be more than `max_drop` with power 0.8.

    Without it, a share `discordance` of the pairs differs, as often either way, and a share `right` of the replies
    is right; the drop turns right replies wrong at random. None where not even the loss of all of them would do.
    """

    def enough(drop: float) -> bool:
        won = discordance / 2 * (1 - drop / right)
        return found_share(n, won + drop, won, margin=-max_drop, level=level) >= POWER

    low, high = max_drop, right
    if n < 1 or high <= low or not enough(high):
        return None
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def needed_pairs(discordance: float, *, max_drop: float, level: float) -> int | None:
    """Compute how many yes/no pairs tell 'nothing changed' from a drop of `max_drop` with power 0.8.

    None where the tolerated drop is 0, which no number shows, or beyond a million pairs.
    """
    if max_drop <= 0:
        return None

    def enough(n: int) -> bool:
        return found_share(n, discordance / 2, discordance / 2, margin=max_drop, level=level) >= POWER

    high = 1
    while not enough(high):
        high *= 2
        if high > MOST // 1000:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_shift(units: int, spread: float, *, max_drop: float, level: float) -> float | None:
    """Compute `detectable_drop` for values that are not yes/no, by the normal approximation.

    `spread` is the standard deviation of the units' differences. None beyond 1, or where so few units could never
    be significant.
    """
    if units < 1 or 0.5**units >= level:
        return None
    drop = max_drop + _reach(level) * spread / math.sqrt(units)
    return drop if drop <= 1 else None


def needed_units(spread: float, *, max_drop: float, level: float) -> int | None:
    """Compute `needed_pairs` for values that are not yes/no, by the normal approximation."""
    if max_drop <= 0:
        return None
    return max(math.ceil((_reach(level) * spread / max_drop) ** 2), math.ceil(-math.log2(level)))


def _reach(level: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - level) + normal.inv_cdf(POWER)
