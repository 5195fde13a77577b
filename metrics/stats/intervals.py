"""95 % intervals of means: for one sample, or for thousands of cells at once.

What is resampled or counted is a *unit*: a row; an item, where items were asked several times; a cluster (a
template), where there are at least `MIN_CLUSTERS`. Which method a sample gets is in `Interval.method`:

- `wilson`: yes/no values. Where units hold several rows, with the effective sample size that the variance
  between units tells (at most the number of items) and Student's t for the number of units.
- `bootstrap`: other values, from `MIN_BOOTSTRAP` units to `MAX_BOOTSTRAP` rows. Percentiles of the mean over
  Poisson-weighted resamples, taken further out for few units (Student's t in place of the normal): of the
  variants simulated (`tests.benchmarks.statistics`) it holds its level best for its width.
- `analytic`: other values, fewer or more than that. Wilson's formula with an effective sample size, which
  keeps within the bounds; Student's t where a metric has no bounds.
- `constant`: nothing varies, so nothing can be resampled. With 95 % confidence at most a share q of further
  values differ from those seen (Wilson's limit for 0 of n), and these may lie anywhere within the bounds. At 0
  and 1 this is Wilson's interval.
- `stratified`, `combined`: of several means together (`metrics.stats.strata`).
- `bonett-price`, `tango`, `sign-flip`: of paired differences (`metrics.stats.pairs`, `metrics.stats.margins`).
- `corrected`, `prediction-powered`: of judged means (`metrics.stats.calibration`, `metrics.stats.labelled`).
- `sequence`: a confidence sequence, which holds at every look (`metrics.stats.sequential`).
- `none`: no value, or a single or constant one without bounds: both ends are None.

Source: Wilson 1927; Korn & Graubard 1998 (effective sample size); Hesterberg 2015 (percentiles for small
samples); Chamandy et al. 2012 (Poisson bootstrap).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]
Bounds = tuple[float, float] | None
Method = Literal[
    "wilson",
    "bootstrap",
    "analytic",
    "constant",
    "stratified",
    "combined",
    "bonett-price",
    "tango",
    "sign-flip",
    "corrected",
    "recovered",
    "prediction-powered",
    "posterior",
    "sequence",
    "none",
]

LEVEL = 0.95
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
MIN_CLUSTERS = 10
MIN_BOOTSTRAP = 10
MAX_BOOTSTRAP = 10_000
RESAMPLES = 2000
_TAIL = 0.5 - LEVEL / 2
_BLOCK = 256  # units weighted at a time: bounds the memory, and keeps a cell's draws apart from its neighbours'
_BATCH = 2048  # cells resampled at a time
# Poisson(1) by its quantiles, to look up with 16 random bits: ten times as fast as drawing it
_POISSON = np.searchsorted(
    np.cumsum([math.exp(-1) / math.factorial(k) for k in range(12)]), (np.arange(2**16) + 0.5) / 2**16
).astype(np.float32)
_NOTHING = 1e-20  # a variance that is only rounding


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval; both ends are None where there is none. `units` is how many independent units it had."""

    low: float | None = None
    high: float | None = None
    method: Method = "none"
    units: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean (None: of nothing) and its interval."""

    mean: float | None
    interval: Interval


class Pool(NamedTuple):
    """A sample as units: each unit's number of rows and their sum; `items` counts the units before clustering."""

    sizes: Floats
    totals: Floats
    items: int


def pool(totals: Floats, sizes: Floats | None = None, clusters: Codes | None = None) -> Pool:
    """Make a sample of units, clustered where there are at least `MIN_CLUSTERS` clusters.

    `totals` and `sizes` have a unit a row (sizes default to one row each); `clusters` gives each unit its
    cluster, negative where it has none and stands for itself.
    """
    sizes = np.ones(len(totals)) if sizes is None else sizes
    apart = Pool(sizes, totals, len(totals))
    if clusters is None or not (named := clusters >= 0).any():
        return apart
    codes = clusters[named] - clusters[named].min()
    counts = np.bincount(codes)
    there = counts > 0
    if there.sum() < MIN_CLUSTERS:
        return apart
    joined = [np.bincount(codes, weights=column[named])[there] for column in (sizes, totals)]
    alone = ~named
    return Pool(np.concatenate([joined[0], sizes[alone]]), np.concatenate([joined[1], totals[alone]]), len(totals))


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


def mean_interval(
    values: Sequence[float] | Floats,
    *,
    clusters: Sequence[int] | Codes | None = None,
    bounds: Bounds = (0.0, 1.0),
    yes_no: bool | None = None,
    seed: int = 0,
) -> Estimate:
    """Estimate one mean with its interval.

    Values within `bounds` (None: no bounds); `yes_no` is read from the values unless given (all 0 or 1, with
    bounds 0 and 1).
    """
    column = np.asarray(values, np.float64)
    codes = None if clusters is None else np.asarray(clusters, np.int64)
    if yes_no is None:
        yes_no = bounds == (0.0, 1.0) and bool(np.isin(column, (0.0, 1.0)).all())
    return estimate([pool(column, clusters=codes)], yes_no=[yes_no], bounds=[bounds], seed=seed)[0]


def estimate(
    pools: Sequence[Pool], *, yes_no: Sequence[bool], bounds: Sequence[Bounds], seed: int = 0
) -> list[Estimate]:
    """Estimate the means of many samples with their intervals, in order.

    A sample's interval depends on its own units and the seed, not on their order nor on the other samples.
    """
    moments = [_moments(sample) for sample in pools]
    methods = [
        _method(sample, moment, kind, bound)
        for sample, moment, kind, bound in zip(pools, moments, yes_no, bounds, strict=True)
    ]
    limits: dict[int, tuple[float, float]] = {}
    resampled = [i for i, method in enumerate(methods) if method == "bootstrap"]
    limits.update(zip(resampled, _bootstrap([pools[i] for i in resampled], seed), strict=True))
    for method, compute in _FORMULAS.items():
        chosen = [i for i, found in enumerate(methods) if found == method]
        if chosen:
            limits.update(
                zip(
                    chosen,
                    compute([pools[i] for i in chosen], [moments[i] for i in chosen], [bounds[i] for i in chosen]),
                    strict=True,
                )
            )
    return [
        Estimate(
            moment.mean if moment.n else None,
            Interval(*limits[i], methods[i], len(pools[i].sizes)) if i in limits else Interval(),
        )
        for i, moment in enumerate(moments)
    ]


class _Moments(NamedTuple):
    n: float
    mean: float
    variance: float  # of the mean, between units; 0 for a single unit
    plain: bool  # each unit is one row


def _moments(sample: Pool) -> _Moments:
    units = len(sample.sizes)
    n = float(sample.sizes.sum())
    if not units or not n:
        return _Moments(0.0, 0.0, 0.0, plain=True)
    mean = float(sample.totals.sum()) / n
    residual = sample.totals - mean * sample.sizes
    variance = float(residual @ residual) * units / (units - 1) / n**2 if units > 1 else 0.0
    return _Moments(n, mean, variance, plain=n == units == sample.items)


def _method(sample: Pool, moment: _Moments, yes_no: bool, bounds: Bounds) -> Method:  # noqa: FBT001 - a column
    """Choose a sample's method; the module's docstring says which and why."""
    units = len(sample.sizes)
    if not moment.n or (bounds is None and moment.variance <= _NOTHING):
        return "none"
    if yes_no and moment.plain:
        return "wilson"
    if moment.variance <= _NOTHING and (moment.plain or units > 1):
        return "constant"
    if yes_no:
        return "wilson"
    return "bootstrap" if units >= MIN_BOOTSTRAP and moment.n <= MAX_BOOTSTRAP else "analytic"


_Limits = list[tuple[float, float]]


def _critical(units: Floats) -> Floats:
    """Return Student's t for each number of units, at least 2."""
    from scipy.special import stdtrit  # half a second

    return cast("Floats", -stdtrit(units - 1, _TAIL))


def _pairs(low: Floats, high: Floats) -> _Limits:
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _share(pools: Sequence[Pool], moments: Sequence[_Moments], bounds: Sequence[Bounds]) -> _Limits:
    """Wilson's limits; of units of several rows with their effective sample size."""
    del bounds
    mean = np.array([moment.mean for moment in moments])
    n = np.array([moment.n for moment in moments])
    critical = np.full(len(n), Z)
    rough = np.array([not moment.plain for moment in moments])
    if rough.any():
        items = np.array([float(sample.items) for sample in pools])
        units = np.array([float(len(sample.sizes)) for sample in pools])
        variance = np.array([moment.variance for moment in moments])
        told = rough & (units > 1)
        n = np.where(rough, items, n)
        n[told] = np.minimum(items[told], (mean * (1 - mean))[told] / variance[told])
        critical[told] = _critical(units[told])
    return _pairs(*score_limits(mean, n, critical))


def _formula(pools: Sequence[Pool], moments: Sequence[_Moments], bounds: Sequence[Bounds]) -> _Limits:
    """Limits from mean and variance: Wilson's form within bounds, Student's t without."""
    found: _Limits = []
    for sample, moment, bound in zip(pools, moments, bounds, strict=True):
        units = len(sample.sizes)
        critical = float(_critical(np.array([float(units)]))[0]) if units > 1 else Z
        if bound is None:
            half = critical * math.sqrt(moment.variance)
            found.append((moment.mean - half, moment.mean + half))
            continue
        width = bound[1] - bound[0]
        share = np.array([min(max((moment.mean - bound[0]) / width, 0.0), 1.0)])
        # A single unit of several rows tells no variance: one observation of the widest spread.
        n = share * (1 - share) / (moment.variance / width**2) if units > 1 else np.ones(1)
        low, high = score_limits(share, n, critical)
        found.append((bound[0] + width * float(low[0]), bound[0] + width * float(high[0])))
    return found


def _unseen(pools: Sequence[Pool], moments: Sequence[_Moments], bounds: Sequence[Bounds]) -> _Limits:
    """Limits for a constant sample: what a share q of unlike values could do."""
    found: _Limits = []
    for sample, moment, bound in zip(pools, moments, bounds, strict=True):
        low, high = cast("tuple[float, float]", bound)
        q = Z**2 / (sample.items + Z**2)
        found.append((moment.mean - q * (moment.mean - low), moment.mean + q * (high - moment.mean)))
    return found


_FORMULAS: dict[Method, Callable[[Sequence[Pool], Sequence[_Moments], Sequence[Bounds]], _Limits]] = {
    "wilson": _share,
    "analytic": _formula,
    "constant": _unseen,
}


def _bootstrap(pools: Sequence[Pool], seed: int) -> _Limits:
    """Percentile limits over Poisson-weighted resamples, largest samples first so that each block is full."""
    order = sorted(range(len(pools)), key=lambda i: -len(pools[i].sizes))
    limits: dict[int, tuple[float, float]] = {}
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        limits.update(zip(batch, _resample([pools[i] for i in batch], seed), strict=True))
    return [limits[i] for i in range(len(pools))]


def _resample(pools: Sequence[Pool], seed: int) -> _Limits:
    """Resample samples (sorted, largest first) by weights that they share: two matrix products a block."""
    units = np.array([len(sample.sizes) for sample in pools])
    means = np.array([float(sample.totals.sum() / sample.sizes.sum()) for sample in pools])
    ordered = [_sorted(sample, mean) for sample, mean in zip(pools, means, strict=True)]
    uneven = np.array([bool((columns[0] != 1).any()) for columns in ordered])
    rows = np.zeros((len(pools), RESAMPLES), np.float32)
    sums = np.zeros_like(rows)
    rng = np.random.default_rng(seed)
    for start in range(0, int(units[0]), _BLOCK):
        weights = _POISSON[rng.integers(0, len(_POISSON), (_BLOCK, RESAMPLES), np.uint16)]
        active = int((units > start).sum())
        sums[:active] += _blocks(ordered[:active], 1, start) @ weights
        full = int((units >= start + _BLOCK).sum())
        even = np.flatnonzero(~uneven[:active])
        rows[even[even < full]] += weights.sum(axis=0)
        for i in even[even >= full]:
            rows[i] += weights[: units[i] - start].sum(axis=0)
        rough = np.flatnonzero(uneven[:active])
        if len(rough):
            rows[rough] += _blocks([ordered[i] for i in rough], 0, start) @ weights
    with np.errstate(invalid="ignore"):
        shifts = np.sort(sums / rows, axis=1)  # an empty resample is NaN and sorts last
    tails = _percentiles(units.astype(np.float64))
    last = np.isfinite(shifts).sum(axis=1) - 1
    low, high = _at(shifts, tails * last), _at(shifts, (1 - tails) * last)
    # A resample's mean lies between its units'; in single precision it may pass them by 1e-8.
    units_means = [sample.totals / sample.sizes for sample in pools]
    least, most = ([end(one) for one in units_means] for end in (np.min, np.max))
    return _pairs(np.maximum(means + low, least), np.minimum(means + high, most))


def _blocks(samples: Sequence[Singles], column: int, start: int) -> Singles:
    """Return a column of each sample's units from `start` on, filled up with zeros to a block."""
    found = np.zeros((len(samples), _BLOCK), np.float32)
    for row, sample in zip(found, samples, strict=True):
        part = sample[column, start : start + _BLOCK]
        row[: len(part)] = part
    return found


def _sorted(sample: Pool, mean: float) -> Singles:
    """Return the units' sizes and deviations from the mean in a fixed order, so that rows may come in any."""
    deviations = sample.totals - mean * sample.sizes  # centred: single precision is then ample
    if sample.sizes.max() == sample.sizes.min():
        return np.stack([sample.sizes, np.sort(deviations)]).astype(np.float32)
    order = np.lexsort((deviations, sample.sizes))
    return np.stack([sample.sizes[order], deviations[order]]).astype(np.float32)


def _percentiles(units: Floats) -> Floats:
    from scipy.special import ndtr  # half a second

    return ndtr(-_critical(units))


def _at(rows: Singles, positions: Floats) -> Floats:
    """Read each sorted row at a position, between two columns linearly."""
    left = np.floor(positions).astype(np.int64)
    right = np.minimum(left + 1, rows.shape[1] - 1)
    index = np.arange(len(rows))
    part = positions - left
    first, second = rows[index, left].astype(np.float64), rows[index, right].astype(np.float64)
    return np.where(part > 0, first * (1 - part) + second * part, first)
