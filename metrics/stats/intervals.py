"""95 % intervals of means: of one sample, or of several strata together.

All bounded values use one form: Wilson's score interval with the number of yes/no answers that would carry the same
information (*effective n*). The unit is the question: repeats enter by their mean, and questions with the same
template are one unit if at least `MIN_CLUSTERS` templates are shared. Effective n follows from how similar answers
within a unit are (yes/no values), or from how little the units' values vary (other values), with one extra unit
(half a unit for grades) at one half: estimates from few units, or few wrong answers, are overconfident.
`tests.benchmarks.coverage` measures it.

For a mean over parts (TOTAL over its families, the overall score over its suites), each part has an effective
number of yes/no answers, its own or the one implied by an interval made elsewhere. For independent parts the
interval contains the values that the score test does not reject, each part's share being the likeliest under the
tested value. For one part it is Wilson's.

`Interval.method` is how an interval was made:

- `wilson`: as above. For yes/no values asked once without shared templates, Wilson's own.
- `constant`: other values that do not vary. With 95 % confidence at most a share q of further values differ from
  those seen (Wilson's limit for 0 of n), and these may lie anywhere within the bounds.
- `student`: paired differences of five to nine clusters, Student's t over the units.
- `combine_strata`, `combined`: several means together.
- `tango`, `sign-flip`: paired differences (`metrics.stats.margins`).
- `corrected`, `prediction-powered`: judged means and their errors.
- `bootstrap`: percentiles of resamples, for agreement and labels.
- `sequence`: a confidence sequence, which holds at every look (`metrics.stats.sequential`).
- `none`: no value: both ends are None.

Source: Wilson 1927; Korn & Graubard 1998 (effective sample size); Donner 1986 (likeness by analysis of variance);
Miettinen & Nurminen 1985 (the test over parts, and its correction for shares that are estimated); Martín Andrés,
Álvarez Hernández & Herranz Tejedor 2011 (linear combinations of shares).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Method = Literal[
    "wilson",
    "constant",
    "student",
    "stratified",
    "combined",
    "tango",
    "sign-flip",
    "corrected",
    "prediction-powered",
    "bootstrap",
    "sequence",
    "none",
]

LEVEL = 0.95
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
MIN_CLUSTERS = 5
"""Number of shared templates from which templates are the units."""
_NOTHING = 1e-20  # a variance below this is a rounding error
_WHOLE = 1e-9
_HALVINGS = 40
_LEAST, _MOST = -4.0, 9.0
"""Range of decimal exponents in which the multiplier is searched."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval over `units` independent units; both ends are None if undefined.

    `fixed_templates`: too few templates are shared to estimate how templates differ; it holds for these templates
    only.
    """

    low: float | None = None
    high: float | None = None
    method: Method = "none"
    units: int = 0
    fixed_templates: bool = False


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean (None for no data) and its interval."""

    mean: float | None = None
    interval: Interval = field(default_factory=Interval)


class PooledSample(NamedTuple):
    """A sample by units: each one's number of questions, the sum of their means, and its independent answers.

    `items` counts the questions; `fixed_templates` as in `Interval`.
    """

    sizes: Floats
    totals: Floats
    answers: Floats
    items: int
    fixed_templates: bool = False

    @property
    def mean(self) -> float:
        """The mean over the questions."""
        return float(self.totals.sum() / self.sizes.sum())


class Units(NamedTuple):
    """The unit of each question; `clustered` if templates are units. `fixed_templates` as in `Interval`."""

    codes: Codes
    clustered: bool = False
    fixed_templates: bool = False


def units_of(n: int, clusters: Codes | None) -> Units:
    """Assign n questions to units; `clusters` is each question's template, negative for none.

    Templates of two or more questions are clusters: with at least `MIN_CLUSTERS` of them, the units are the
    clusters and the remaining questions.
    """
    questions = np.arange(n)
    if clusters is None:
        return Units(questions)
    has_template = clusters >= 0
    _, templates, counts = np.unique(clusters[has_template], return_inverse=True, return_counts=True)
    n_shared = int((counts > 1).sum())
    if n_shared < MIN_CLUSTERS:
        return Units(questions, fixed_templates=n_shared > 0)
    codes = np.empty(n, np.int64)
    codes[has_template] = templates
    codes[~has_template] = len(counts) + np.arange(n - len(templates))
    return Units(codes, clustered=True)


def pool(values: Floats, *, answers: Floats | None = None, clusters: Codes | None = None) -> PooledSample:
    """Make a sample of units (`units_of`) from questions' means, a question a row.

    `answers` is the number of independent answers behind each mean (`independent`; 1 by default).
    """
    return join_units(values, answers, units_of(len(values), clusters))


def join_units(values: Floats, answers: Floats | None, units: Units) -> PooledSample:
    """Make a sample from questions' means, as `pool` does, with known units."""
    ones = np.ones(len(values))
    if answers is None:
        answers = ones
    if not units.clustered:
        return PooledSample(ones, values, answers, len(values), units.fixed_templates)
    _, codes = np.unique(units.codes, return_inverse=True)
    sizes, totals, n_answers = (sum_by_code(codes, column) for column in (ones, values, answers))
    return PooledSample(sizes, totals, n_answers, len(values))


def sum_by_code(codes: Codes, column: Floats) -> Floats:
    """Sum a column by code."""
    return np.bincount(codes, weights=column).astype(np.float64)


def group_rows(totals: Floats, sizes: Floats) -> PooledSample:
    """Make a sample of units with several rows each, from the number of rows and their sum."""
    return PooledSample(sizes, totals, sizes, len(totals))


def independent(means: Floats, answers: Floats, strata: Codes | None = None) -> Floats:
    """Compute the number of independent yes/no answers behind each question's mean, from 1 to its `answers`.

    A question a row: the mean of its answers, and their number. One similarity of answers is estimated for all
    questions, within `strata` if given. If no question was ever answered in two ways, repeats added no information.
    """
    if (answers <= 1).all() or not ((means > _WHOLE) & (means < 1 - _WHOLE)).any():
        return np.ones(len(means))
    if strata is None:
        strata = np.zeros(len(means), np.int64)
    likeness = _likeness(means, answers, strata)
    return cast("Floats", 1 / (likeness + (1 - likeness) / answers))


def _likeness(means: Floats, answers: Floats, strata: Codes) -> float:
    """Estimate the intraclass correlation of a unit's yes/no answers, from 0 (uncorrelated) to 1.

    A unit a row: the mean of its answers, and their number.
    """
    n = np.bincount(strata, weights=answers)
    units = np.bincount(strata)
    with np.errstate(invalid="ignore"):
        centre = np.nan_to_num(np.bincount(strata, weights=answers * means) / n)
    information = 4 * float(units @ (centre * (1 - centre)))
    used = units > 0
    free, spare = int((units[used] - 1).sum()), float(n.sum()) - len(means)
    if free < 1:
        return 1.0
    if information <= _WHOLE or spare <= _WHOLE:
        return 0.5
    between = float(answers @ np.square(means - centre[strata])) / free
    within = float(answers @ (means * (1 - means))) / spare
    if within <= _NOTHING:
        return 1.0
    squares = np.bincount(strata, weights=np.square(answers))[used]
    typical = (float(n.sum()) - float((squares / n[used]).sum())) / free
    likeness = (between - within) / (between + (typical - 1) * within)
    return (information * min(max(likeness, 0.0), 1.0) + 0.5) / (information + 1)


def _spread(pools: Sequence[PooledSample], means: Floats, weights: Floats) -> float:
    """Estimate the units' variance as a fraction of that of yes/no values with the same means.

    For few units it is widened, by half of what Student's t would, and by an extra half question at one half.
    """
    spread = widest = information = 0.0
    free = sum(len(sample.sizes) - 1 for sample in pools)
    for sample, mean, weight in zip(pools, means, weights, strict=True):
        units = len(sample.sizes)
        information += 4 * units * mean * (1 - mean)
        if units > 1:
            residual, n = sample.totals - mean * sample.sizes, float(sample.sizes.sum())
            share = weight**2 * units / (units - 1) / n**2
            spread += share * float(residual @ residual)
            widest += share * float(sample.sizes @ sample.sizes) * mean * (1 - mean)
    if widest <= _NOTHING:
        return 1.0
    # The variance of Student's t is free / (free - 2).
    wider = (free - 1) / max(free - 2, _NOTHING)
    return (information * min(wider * spread / widest, 1.0) + 0.25) / (information + 0.5)


def rates(pools: Sequence[PooledSample], *, yes_no: bool, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Compute the means of strata of values in [0, 1], and 1 / effective n of each.

    Similarity and spread are estimated over all strata, which have more units. `weights` are those of the strata in
    the final mean (equal by default). No pool is empty.
    """
    means = np.clip([sample.mean for sample in pools], 0.0, 1.0)
    if not yes_no:
        if weights is None:
            weights = np.ones(len(pools))
        ratio = _spread(pools, means, weights)
        return means, np.array([ratio * float(s.sizes @ s.sizes) / float(s.sizes.sum()) ** 2 for s in pools])
    n_units = [len(sample.sizes) for sample in pools]
    columns = zip(*((sample.sizes, sample.totals, sample.answers) for sample in pools), strict=True)
    sizes, totals, answers = map(np.concatenate, columns)
    # Where each unit is a question, nothing is alike within units.
    if (sizes == 1).all():
        return means, np.array([float((1 / s.answers).sum()) / len(s.sizes) ** 2 for s in pools])
    strata = np.repeat(np.arange(len(pools)), n_units)
    likeness = _likeness(np.clip(totals / sizes, 0.0, 1.0), answers, strata)
    variances = np.square(sizes) * (likeness + (1 - likeness) / np.maximum(answers, 1.0))
    n = np.bincount(strata, weights=sizes)
    return means, np.bincount(strata, weights=variances) / np.square(n)


def score_limits(mean: Floats, n: Floats, critical: Floats | float = Z) -> tuple[Floats, Floats]:
    """Compute Wilson's limits for means in [0, 1] of `n` effective observations, n > 0; element by element."""
    square = np.square(critical)
    centre = (mean * n + square / 2) / (n + square)
    half = critical / (n + square) * np.sqrt(np.maximum(mean * (1 - mean), 0) * n + square / 4)
    low = np.where(mean <= 0, 0.0, np.clip(centre - half, 0, 1))
    high = np.where(mean >= 1, 1.0, np.clip(centre + half, 0, 1))
    return low, high


def wilson(k: int, n: int) -> Interval:
    """Compute Wilson's interval of a share, k of n; none for n = 0.

    Raises:
        ValueError: k is not within 0 and n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"expected 0 <= k <= n, found {k} of {n}")
    if n == 0:
        return Interval()
    low, high = score_limits(np.array([k / n]), np.array([float(n)]))
    return Interval(float(low[0]), float(high[0]), "wilson", n)


@dataclass(frozen=True, slots=True)
class Share:
    """K of n with Wilson's interval; `share` is None for n = 0."""

    k: int
    n: int
    share: float | None
    interval: Interval

    @classmethod
    def of(cls, k: int, n: int) -> "Share":
        """Count k of n."""
        return cls(k, n, k / n if n else None, wilson(k, n))


def mean_interval(
    values: Sequence[float] | Floats,
    *,
    clusters: Sequence[int] | Codes | None = None,
    yes_no: bool | None = None,
) -> MeanEstimate:
    """Estimate the mean of values in [0, 1] with its 95 % interval, a question a row.

    `clusters`: each question's template (`pool`); `yes_no`, whether all are 0 or 1, is inferred by default.
    """
    column = np.asarray(values, np.float64)
    codes = None if clusters is None else np.asarray(clusters, np.int64)
    if yes_no is None:
        yes_no = bool(np.isin(column, (0.0, 1.0)).all())
    return estimate(pool(column, clusters=codes), yes_no=yes_no)


def estimate(sample: PooledSample, *, yes_no: bool) -> MeanEstimate:
    """Estimate the mean of a sample of values in [0, 1] with its 95 % interval; the order of units is free."""
    units = len(sample.sizes)
    if not units:
        return MeanEstimate()
    mean = sample.mean
    (share,), (rate,) = rates([sample], yes_no=yes_no)
    if not yes_no and units > 1 and np.ptp(sample.totals / sample.sizes) <= _WHOLE:
        n = float(sample.sizes.sum())
        # At worst the questions of a unit are half alike.
        inverse_n = float(np.square(sample.sizes) @ (0.5 + 0.5 / sample.sizes)) / n**2
        q = Z**2 * inverse_n / (1 + Z**2 * inverse_n)
        ends = mean - q * mean, mean + q * (1 - mean)
        return MeanEstimate(mean, Interval(*ends, "constant", units, sample.fixed_templates))
    lower, upper = score_limits(np.array([share]), np.array([1 / rate]))
    return MeanEstimate(mean, Interval(float(lower[0]), float(upper[0]), "wilson", units, sample.fixed_templates))


class Stratum(NamedTuple):
    """A part of a weighted mean: its weight (not negative), its mean in [0, 1], 1 / effective n, and its `units`.

    `fixed_templates` as in `Interval`.
    """

    weight: float
    mean: float
    rate: float
    units: int
    fixed_templates: bool = False


def parts_of(pools: Sequence[PooledSample], weights: Sequence[float], *, yes_no: bool) -> list[Stratum]:
    """Make parts from strata of one kind of values in [0, 1]; no pool is empty."""
    means, inverse_n = rates(pools, yes_no=yes_no, weights=np.array(weights))
    return [
        Stratum(weight, float(mean), float(rate), len(sample.sizes), sample.fixed_templates)
        for weight, mean, rate, sample in zip(weights, means, inverse_n, pools, strict=True)
    ]


def part_of(weight: float, mean: float, interval: Interval) -> Stratum | None:
    """Make a part from a mean and its interval within [0, 1]; None without an interval."""
    if not weight:
        return Stratum(weight, mean, 0.0, 0)
    if interval.low is None or interval.high is None:
        return None
    rate = infer_rate(np.array([mean]), np.array([interval.high - interval.low]))
    return Stratum(weight, mean, float(rate[0]), interval.units, interval.fixed_templates)


def join_parts(parts: Sequence[Stratum], correlations: Floats) -> Stratum:
    """Join parts whose means are correlated into one, as independent of others; its units are the sum of theirs.

    Its 1 / effective n gives the variance of the weighted sum, with half an answer of each kind added to each part:
    parts that are one and the same are joined into it.
    """
    weights, means, inverse_n, *_ = map(np.array, zip(*parts, strict=True))
    shares = weights / weights.sum()
    # A mean of 0 or 1 has a spread too.
    drawn = (means + inverse_n / 2) / (1 + inverse_n)
    errors = shares * np.sqrt(drawn * (1 - drawn) * inverse_n)
    variance, joint = float(errors @ correlations @ errors), float(shares @ drawn)
    rate = 0.0
    if variance > 0:
        rate = variance / (joint * (1 - joint))
    is_fixed = any(part.fixed_templates for part in parts)
    units = sum(part.units for part in parts)
    return Stratum(float(weights.sum()), float(shares @ means), rate, units, is_fixed)


def combine_strata(parts: Sequence[Stratum | None]) -> Interval:
    """Compute the 95 % interval of the weighted sum of independent parts; none if a part is None.

    Weights add up to 1. A part with a rate of 0 is known exactly.
    """
    weighing = [part for part in parts if part and part.weight]
    if not weighing or None in parts:
        return Interval()
    weights, means, inverse_n, units, fixed = map(np.array, zip(*weighing, strict=True))
    columns = (column.astype(np.float64) for column in (weights, means[None], inverse_n[None]))
    low, high = strata_limits(*columns)
    return Interval(float(low[0]), float(high[0]), "stratified", int(units.sum()), bool(fixed.any()))


def limit_mixture(
    judged: float, around: Interval, settled: float, share: float, units: int
) -> tuple[float | None, float | None]:
    """Compute the 95 % limits of a mean over judged units, a `share` in (0, 1) of all, and settled ones.

    `around` is the interval of the judged ones' mean; `settled` is the mean of the others, whose values are known.
    How many are of which kind, and what the settled ones are, vary from sample to sample like all else. None
    without an interval.

    Source: Donner & Zou 2012 (the method of variance estimates recovery).
    """
    if around.low is None or around.high is None:
        return None, None
    ends = score_limits(np.array([share]), np.array([float(units)]))
    reach = [abs(float(end[0]) - share) * abs(judged - settled) for end in ends]
    # The larger share lies at the higher end where the judged mean is the higher one.
    below, above = reach if judged >= settled else reversed(reach)
    spread = Z**2 * (1 - share) * settled * (1 - settled) / units
    mean = share * judged + (1 - share) * settled
    low = mean - math.sqrt((share * (judged - around.low)) ** 2 + below**2 + spread)
    high = mean + math.sqrt((share * (around.high - judged)) ** 2 + above**2 + spread)
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def combine_ends(parts: Sequence[tuple[float, float, Interval]], method: Method = "combined") -> Interval:
    """Sum the ends of means' intervals by weight, as far as their sum can lie; none where one has none.

    It is that of means of the same items, and of means whose intervals hold simultaneously, as sequences' do.
    """
    low, high = 0.0, 0.0
    for weight, _, interval in parts:
        if interval.low is None or interval.high is None:
            return Interval()
        low, high = low + weight * interval.low, high + weight * interval.high
    return Interval(low, high, method, sum(interval.units for *_, interval in parts))


def infer_rate(mean: Floats, width: Floats) -> Floats:
    """Return 1 / n of the Wilson interval of width `width` around `mean`; 0 for a width of 0."""
    spread, square = 4 * mean * (1 - mean), np.square(np.clip(width, 0.0, 1.0))
    # Wilson's width with a = z² / n: width² (1 + a)² = spread a + a²
    first = np.maximum(1 - square, 1e-9)
    second = spread - 2 * square
    root: Floats = np.sqrt(np.square(second) + 4 * first * square)
    return cast("Floats", (root - second) / (2 * first) / Z**2)


def strata_limits(weights: Floats, means: Floats, inverse_n: Floats) -> tuple[Floats, Floats]:
    """Compute the score limits of weighted sums: a row each, a column a part; `inverse_n` are 1 / effective n."""
    # A part's variance is estimated with its own share: too small by about 1 / n of it, less what its own
    # weight contributes to the sum.
    growth = 1 / (1 - np.minimum(inverse_n, 1.0) * (1 - weights))
    limits = []
    for side in (1.0, -1.0):
        # Halve, for each sum, the exponents between which its multiplier begins to be rejected.
        accepted, rejected = np.full(len(means), _LEAST), np.full(len(means), _MOST)
        for _ in range(_HALVINGS):
            middle = (accepted + rejected) / 2
            multiplier = 10**middle
            shares = _find_likeliest(weights, means, inverse_n, side * multiplier)
            variances = np.square(weights) * shares * (1 - shares) * inverse_n
            plain, grown = variances.sum(axis=1), (variances * growth).sum(axis=1)
            # The sum lies multiplier x plain away from the mean: rejected if that is z standard errors.
            is_rejected = np.square(multiplier * plain) >= Z**2 * grown
            is_rejected &= grown > 0
            accepted = np.where(is_rejected, accepted, middle)
            rejected = np.where(is_rejected, middle, rejected)
        limits.append(_find_likeliest(weights, means, inverse_n, side * 10**rejected) @ weights)
    sums = means @ weights
    lower, upper = np.minimum(limits[0], sums), np.maximum(limits[1], sums)
    return np.clip(lower, 0.0, 1.0), np.where((means == 1).all(axis=1), 1.0, np.clip(upper, 0.0, 1.0))


def _find_likeliest(weights: Floats, means: Floats, inverse_n: Floats, multiplier: Floats) -> Floats:
    """Return inverse_n part's likeliest share given their sum: (mean - p) n = multiplier weight p (1 - p)."""
    pull = multiplier[:, None] * weights * inverse_n
    middle = 1 + pull
    root = np.sqrt(np.maximum(np.square(middle) - 4 * pull * means, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):  # of the branch not taken
        shares = np.where(middle > 0, 2 * means / (middle + root), (middle - root) / (2 * pull))
    return np.clip(shares, 0.0, 1.0)
