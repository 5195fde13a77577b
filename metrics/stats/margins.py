"""Tests of a mean paired difference against a margin, and the corresponding limits, by one method.

`method_of` chooses the method for a sample of differences:

- `PairCounts` (`tango`): yes/no pairs without clusters and with equal weights are counts. Exact at margin 0 (the
  binomial test on the pairs that differ), else Tango's score test; the interval is Tango's, extended to 0 where the
  exact test does not reject it, and cut short of 0 where it does.
- `StudentT` (`student`): five to nine clusters, too few to flip. Student's t over their sums.
- `SignFlips` (`sign-flip`): everything else. Random signs on the units' weighted sums: exact for differences
  symmetric about the margin, whatever their weights.
- `BetOnUnits` (`sequence`): what was asked until decided. A test for one look says too much where the replies chose
  the number of units; a capital from betting on the units' means, whatever their order, may be looked at any time.
- `EqualPairs` (`equal`): pairs that are all equal. A share q of further units might differ; the limit is the
  largest q that so many equal units do not reject.

A test rejects a margin at a level exactly if the interval at that level excludes it.

Source: Tango 1998 (score test and interval of a paired difference); McNemar 1947; Hartigan 1969 (typical values:
the sign-flip test accepts a margin exactly where it lies among the means of random subsets).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from basic_control.metrics.stats.intervals import Codes, Floats, Interval, sum_by_code, units_of
from basic_control.metrics.stats.sequential import capital, lower

Test = Literal["tango", "student", "sign-flip", "sequence", "equal", "none"]

FEWEST_FLIPPED = 10
"""Minimum number of clusters for sign flips: fewer have too few patterns for small levels."""
FLIPS = 10_000
_MOST_FLIPS = 200_000
_MOST_UNITS = 10_000  # with more units the sum is taken as normal
_EXACT = 14  # maximum number of units for listing all sign patterns
_NOTHING = 1e-12
_WHOLE = 1e-9
_DECIMALS = 12
_HALVINGS = 50
_BYTE = 8


@dataclass(frozen=True, slots=True)
class Differences:
    """Paired differences as weighted units, the sample of a comparison or regression test.

    `totals` are the units' sums of weight x difference, which add up to the `mean` difference; `sizes` their sums
    of weights, which add up to 1. Of `n` questions the first side is better on `won`, the second on `lost`.
    `counts`: yes/no pairs without clusters and with equal weights. `squares`: the sum of the questions' squared
    weights. `fixed_templates`: so few templates are shared that results hold for these only. `means` are those of
    the two sides, where known. `in_rounds`: the number of units was chosen by what was replied.
    """

    totals: Floats
    sizes: Floats
    mean: float
    won: int
    lost: int
    n: int
    yes_no: bool
    counts: bool
    clustered: bool
    squares: float
    fixed_templates: bool = False
    means: tuple[float, float] | None = None
    in_rounds: bool = False

    @property
    def variance(self) -> float:
        """The variance of the mean difference, between units; 0 for fewer than two."""
        units = len(self.totals)
        if units < 2:  # noqa: PLR2004 - a single unit has no spread
            return 0.0
        residual = self.totals - self.mean * self.sizes
        return float(residual @ residual) * units / (units - 1)


def differences(
    values: Floats, *, yes_no: bool, weights: Floats | None = None, clusters: Codes | None = None
) -> Differences:
    """Make a sample of paired differences, a question a row; n > 0.

    `values` in [-1, 1] are the first side's mean minus the second's; `yes_no`: both sides' means are 0 or 1.
    `weights` are the questions' in the mean difference, positive (equal by default); `clusters` as in `units_of`.
    """
    n = len(values)
    shares = np.full(n, 1 / n)
    if weights is not None:
        shares = weights / weights.sum()
    units = units_of(n, clusters)
    return Differences(
        totals=sum_by_code(units.codes, values * shares),
        sizes=sum_by_code(units.codes, shares),
        mean=average(values, shares),
        won=int((values > _NOTHING).sum()),
        lost=int((values < -_NOTHING).sum()),
        n=n,
        yes_no=yes_no,
        counts=yes_no and _is_even(shares) and not units.clustered,
        clustered=units.clustered,
        squares=float(shares @ shares),
        fixed_templates=units.fixed_templates,
    )


def pair_means(after: Floats, before: Floats, *, weights: Floats, clusters: Codes) -> Differences:
    """Make a sample from the means of both sides in [0, 1], a question a row: yes/no if all are 0 or 1."""
    yes_no = all(bool(((means <= _WHOLE) | (means >= 1 - _WHOLE)).all()) for means in (after, before))
    sample = differences(after - before, yes_no=yes_no, weights=weights, clusters=clusters)
    return replace(sample, means=(average(after, weights), average(before, weights)))


class PairedSample(NamedTuple):
    """A paired comparison's differences as observed, and the first side's `worst` and `best`.

    The last two differ from the first where answers are missing or truncated. All are None if nothing is common.
    """

    observed: Differences | None = None
    worst: Differences | None = None
    best: Differences | None = None


def average(values: Floats, weights: Floats) -> float:
    """Compute a mean with weights that add up to 1, avoiding their rounding errors if they are equal."""
    return math.fsum(values) / len(values) if _is_even(weights) else math.fsum(values * weights)


def _is_even(weights: Floats) -> bool:
    return bool(np.ptp(weights) <= _NOTHING)


def method_of(sample: Differences, *, level: float = 0.025) -> "MarginTest":
    """Choose the test of a sample; `level` is the smallest one-sided level at which it will be used."""
    if sample.in_rounds:
        return BetOnUnits(sample)
    if sample.counts:
        return PairCounts(sample.won, sample.lost, sample.n, fixed_templates=sample.fixed_templates)
    if not sample.won + sample.lost:
        return EqualPairs(sample)
    if is_few_clusters(sample) and sample.variance > _NOTHING**2:
        return StudentT(sample)
    return SignFlips(sample, level=level)


End = Literal["observed", "worst", "best"]
"""The differences as they were observed, or at a bound of what is missing."""
Tests = dict[End, list["MarginTest | None"]]
"""The tests of samples that are tested together, at each end; None if nothing is common."""


def choose_tests(samples: Sequence[PairedSample], *, level: float) -> Tests:
    """Choose the tests of samples that are tested together; `level` is the one-sided level of a single test."""
    count = sum(sample.observed is not None for sample in samples)
    smallest = level / max(count, 1)
    tested: Tests = {"observed": [], "worst": [], "best": []}
    for sample in samples:
        # What is not missing anything has one test: random signs take a while.
        tests = {id(end): method_of(end, level=smallest) for end in sample if end}
        for end, differences_at_end in zip(tested, sample, strict=True):
            tested[end].append(tests.get(id(differences_at_end)))
    return tested


def is_few_clusters(sample: Differences) -> bool:
    """Return whether the units are clusters, too few to flip their signs."""
    return sample.clustered and len(sample.totals) < FEWEST_FLIPPED


def compute_least_p(sample: Differences) -> float:
    """Compute the smallest possible one-sided p-value for this number of units; 0 where it is not computed."""
    return (
        0.0
        if is_few_clusters(sample) or sample.in_rounds
        else 0.5 ** (sample.n if sample.counts else len(sample.totals))
    )


def two_sided(test: "MarginTest") -> float:
    """Compute the p-value against no difference: below a level exactly if the interval there excludes 0."""
    return min(1.0, 2 * min(test.below(0.0), test.above(0.0)))


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Yes/no pairs: `n` in total, of which `won` and `lost`."""

    won: int
    lost: int
    n: int
    fixed_templates: bool = False
    name: ClassVar[Test] = "tango"

    def below(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or more."""
        return float(below(self.won, self.lost, self.n, margin))

    def above(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or less."""
        return float(below(self.lost, self.won, self.n, -margin))

    def limits(self, levels: tuple[float, float]) -> Interval:
        """Return Tango's limits, adjusted so that they contain 0 exactly if the exact test does not reject it."""
        low = -_adjust(self.lost, self.won, self.n, levels[0]) + 0.0
        high = _adjust(self.won, self.lost, self.n, levels[1])
        return Interval(low, high, "tango", self.n, self.fixed_templates)

    def limits_at_margin(self, levels: tuple[float, float]) -> Interval:
        """Return Tango's limits as they are: they contain a margin other than 0 exactly if its test accepts it."""
        low = -_upper(self.lost, self.won, self.n, levels[0]) + 0.0
        high = _upper(self.won, self.lost, self.n, levels[1])
        return Interval(low, high, "tango", self.n, self.fixed_templates)


def tango(won: npt.ArrayLike, lost: npt.ArrayLike, n: int, margin: float) -> Floats:
    """Compute Tango's score statistic: how many standard errors the difference lies above the margin.

    Counts of pairs, element by element; n > 0.

    Source: Tango 1998.
    """
    b, c = np.asarray(won, np.float64), np.asarray(lost, np.float64)
    middle = (2 * n - b + c) * margin - b - c
    root = np.sqrt(np.maximum(middle**2 + 8 * n * c * margin * (1 - margin), 0.0))
    # The likeliest share of lost pairs if the difference is the margin.
    share = np.maximum((root - middle) / (4 * n), 0.0)
    variance = n * np.maximum(2 * share + margin * (1 - margin), 0.0)
    gap = b - c - n * margin
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(gap) <= _NOTHING, 0.0, gap / np.sqrt(variance))


def below(won: npt.ArrayLike, lost: npt.ArrayLike, n: int, margin: float) -> Floats:
    """Compute one-sided p-values of counts against a true difference of `margin` or more, element by element.

    At margin 0 the exact binomial test on the pairs that differ, else Tango's score test.
    """
    from scipy.special import bdtr, ndtr  # half a second; scipy.stats takes a second, and 50 MB

    if margin:
        return cast("Floats", ndtr(tango(won, lost, n, margin)))
    b, differing = np.asarray(won, np.float64), np.asarray(won, np.int64) + np.asarray(lost, np.int64)
    return np.where(differing > 0, bdtr(b, differing, 0.5), 1.0)


def _upper(won: int, lost: int, n: int, level: float) -> float:
    """Return Tango's upper limit."""
    critical = NormalDist().inv_cdf(level)
    low, high = (won - lost) / n, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = float(tango(won, lost, n, middle)) >= critical
        low, high = (middle, high) if inside else (low, middle)
    return 1.0 if won - lost == n else high


def _adjust(won: int, lost: int, n: int, level: float) -> float:
    """Return Tango's upper limit, below 0 exactly if the exact test rejects 0."""
    high = _upper(won, lost, n, level)
    refused = float(below(won, lost, n, 0.0)) < level
    # Far out the normal tail is heavier: what the exact test rejects at 0 it would reject above too.
    if refused:
        return min(high, -_NOTHING)
    return max(high, 0.0)


class StudentT:
    """Student's t over the units' sums, with degrees of freedom from the effective number of equal units."""

    name: Test = "student"

    def __init__(self, sample: Differences) -> None:
        self._sample, self._error = sample, math.sqrt(sample.variance)
        self._freedom = 1 / float(sample.sizes @ sample.sizes) - 1

    def below(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or more."""
        from scipy.special import stdtr  # slow import (half a second)

        return float(stdtr(self._freedom, (self._sample.mean - margin) / self._error))

    def above(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or less."""
        return 1 - self.below(margin)

    def limits(self, levels: tuple[float, float]) -> Interval:
        """Return lower and upper limit, each one-sided at its own level."""
        from scipy.special import stdtrit  # slow import (half a second)

        low, high = (float(stdtrit(self._freedom, level)) * self._error for level in levels)
        mean = self._sample.mean
        return Interval(max(mean + low, -1.0), min(mean - high, 1.0), "student", len(self._sample.totals))


class BetOnUnits:
    """A confidence sequence for the mean of the units' differences, after the last of them.

    The bets are fixed, so the capital does not depend on the order of the units.

    Source: SPEC 12; Waudby-Smith and Ramdas 2024.
    """

    name: Test = "sequence"

    def __init__(self, sample: Differences) -> None:
        self._units, self._fixed = len(sample.totals), sample.fixed_templates
        shares = (np.clip(sample.totals / sample.sizes, -1.0, 1.0) + 1) / 2
        self._values, counts = np.unique(np.round(shares, _DECIMALS), return_counts=True)
        self._counts = counts.astype(np.float64)

    def below(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or more."""
        return self._p_value(1 - self._values, (1 - margin) / 2)

    def above(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or less."""
        return self._p_value(self._values, (1 + margin) / 2)

    def _p_value(self, values: Floats, share: float) -> float:
        return math.exp(-max(capital(values, self._counts, max(share, _NOTHING)), 0.0))

    def limits(self, levels: tuple[float, float]) -> Interval:
        """Return lower and upper limit, each one-sided at its own level."""
        low, high = (
            lower(values, self._counts, level)
            for values, level in zip((self._values, 1 - self._values), levels, strict=True)
        )
        return Interval(2 * low - 1, 1 - 2 * high, "sequence", self._units, self._fixed)


class EqualPairs:
    """Pairs that are all equal: bounds on the mean from the share of further units that may differ."""

    name: Test = "equal"

    def __init__(self, sample: Differences) -> None:
        self._units, self._fixed = len(sample.totals), sample.fixed_templates

    def below(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or more."""
        if margin <= 0:
            return 1.0
        return (1 - min(margin, 1.0)) ** self._units

    def above(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or less."""
        return self.below(-margin)

    def limits(self, levels: tuple[float, float]) -> Interval:
        """Return lower and upper limit, each one-sided at its own level."""
        low, high = (1 - level ** (1 / self._units) for level in levels)
        return Interval(-low, high, "constant", self._units, self._fixed)


class SignFlips:
    """Random sign patterns of a sample's units, with the one-sided p-values and limits that they give.

    A pattern that flips some of the shifted units lowers the sum exactly if the mean of the flipped units lies
    above the margin; so the test needs only the means of random subsets. All subsets for up to 14 units, else at
    least `FLIPS` random ones (more for small levels) and the observed pattern; above 10 000 units the normal
    approximation.
    """

    name: Test = "sign-flip"

    def __init__(self, sample: Differences, *, level: float = 0.025) -> None:
        self._sample = sample
        count = min(max(FLIPS, math.ceil(20 / level)), _MOST_FLIPS)
        self._means: Floats | None = None
        if len(sample.totals) <= _MOST_UNITS:
            self._means = _subset_means(sample.totals, sample.sizes, count)

    def below(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or more."""
        means = self._means
        if means is None:
            return self._normal(margin)
        return (int((means >= margin - _NOTHING).sum()) + 1) / (len(means) + 1)

    def above(self, margin: float) -> float:
        """Return the p-value against a true difference of `margin` or less."""
        means = self._means
        if means is None:
            return 1 - self._normal(margin)
        return (int((means <= margin + _NOTHING).sum()) + 1) / (len(means) + 1)

    def limits(self, levels: tuple[float, float]) -> Interval:
        """Return lower and upper limit, each one-sided at its own level; the bounds if there are too few units."""
        ends = []
        for level, side in zip(levels, (-1.0, 1.0), strict=True):
            if self._means is None:
                ends.append(self._solve(level, side))
                continue
            # the first rejected margin has fewer than level x patterns beyond it, including the observed one
            spare = math.ceil(level * (len(self._means) + 1)) - 1
            ordered = self._means if side < 0 else self._means[::-1]
            # the test treats a mean of -3e-17 as 0, so the interval must too
            end = float(ordered[spare - 1]) if 1 <= spare <= len(ordered) else side
            ends.append(round(end, _DECIMALS) + 0.0)
        return Interval(ends[0], ends[1], "sign-flip", len(self._sample.totals), self._sample.fixed_templates)

    def _normal(self, margin: float) -> float:
        shifted = self._sample.totals - margin * self._sample.sizes
        scale = math.sqrt(float(shifted @ shifted))
        if scale <= _NOTHING:
            return 1.0
        return NormalDist().cdf(float(shifted.sum()) / scale)

    def _solve(self, level: float, side: float) -> float:
        """Solve (T - m)² = z² Σ(t - ms)² for m."""
        t, s = self._sample.totals, self._sample.sizes
        square = NormalDist().inv_cdf(level) ** 2
        a = 1 - square * float(s @ s)
        b = self._sample.mean - square * float(t @ s)
        c = self._sample.mean**2 - square * float(t @ t)
        return (b + side * math.sqrt(max(b * b - a * c, 0.0))) / a


MarginTest = PairCounts | StudentT | EqualPairs | SignFlips | BetOnUnits
"""A test of a sample of differences against any margin, and its limits."""


def _subset_means(totals: Floats, sizes: Floats, count: int) -> Floats:
    """Return the sorted means of non-empty subsets of the units; each unit is in with probability ½."""
    n = len(totals)
    if n <= _EXACT:
        chosen = (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
        return np.sort((chosen @ totals) / (chosen @ sizes))
    order = np.lexsort((totals, sizes))  # make the result independent of the order of rows
    totals, sizes = totals[order], sizes[order]
    # Eight units at a time: a random byte picks one of their 256 subsets.
    rng = np.random.default_rng(0)
    sums, weights = np.zeros(count), np.zeros(count)
    patterns = (np.arange(256)[:, None] >> np.arange(_BYTE) & 1).astype(np.float64)
    for start in range(0, n, _BYTE):
        drawn = rng.integers(0, 256, count, np.uint8)
        units = slice(start, start + _BYTE)
        used = patterns[:, : min(_BYTE, n - start)]
        sums += (used @ totals[units])[drawn]
        weights += (used @ sizes[units])[drawn]
    is_drawn = weights > 0
    return cast("Floats", np.sort(sums[is_drawn] / weights[is_drawn]))
