"""What section 9 says of paired values, computed by scipy alone."""

from collections.abc import Sequence
from math import sqrt

from scipy import optimize, stats


def tango(lost: int, won: int, n: int, level: float) -> tuple[float, float]:
    """Return Tango's score interval of the paired difference, won less lost.

    Source: Tango, Statistics in Medicine 17, 1998, equations 9 to 11.
    """

    def z(d: float) -> float:
        a, b, c = 2 * n, -won - lost + (2 * n - won + lost) * d, -lost * d * (1 - d)
        q = (sqrt(b * b - 4 * a * c) - b) / (2 * a)
        return (won - lost - n * d) / sqrt(n * (2 * q + d * (1 - d)))

    k, middle = float(stats.norm.isf((1 - level) / 2)), (won - lost) / n
    low = optimize.brentq(lambda d: z(d) - k, -1 + 1e-9, middle - 1e-12)
    return float(low), float(optimize.brentq(lambda d: z(d) + k, middle + 1e-12, 1 - 1e-9))


def mcnemar(lost: int, won: int) -> float:
    """Return the exact McNemar test's two-sided p-value."""
    return float(stats.binomtest(won, won + lost).pvalue) if won + lost else 1.0


def mcnemar_power(n: int, lost: float, won: float, level: float = 0.05) -> float:
    """Return how often that test finds, in n pairs, that more are lost, where such shares are lost and won."""
    power = 0.0
    for m in range(1, n):
        # The largest number won at which it still says so: two tails of a fair coin.
        worst = int(stats.binom.ppf(level / 2, m, 0.5))
        worst -= int(stats.binom.cdf(worst, m, 0.5) > level / 2)
        power += float(stats.binom.pmf(m, n, lost + won) * stats.binom.cdf(worst, m, won / (lost + won)))
    return power


def flips(differences: Sequence[float]) -> float:
    """Return the exact two-sided p-value of the sign-flip test of a mean: over all flips."""
    found = stats.permutation_test(
        (list(differences),),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=2 ** len(differences),
    )
    return float(found.pvalue)


def gated(lost: int, won: int, n: int, margin: float = -0.02) -> int:
    """Return the exit code of a gate on yes/no pairs whose replies are not the same (section 10, margin not 0)."""
    low, high = tango(lost, won, n, 0.90)
    return 1 if high < margin else 0 if low > margin or (lost + won == 0 and (1 + margin) ** n <= 0.05) else 3
