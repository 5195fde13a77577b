"""Correct what a judge with measured error rates says: shares of yes/no verdicts, means of ratings and verdicts.

A judge that sat an exam has a confusion table: how often it said what, where the truth was known. A share of
its verdicts p is then corrected to (p + specificity - 1) / (sensitivity + specificity - 1); with more than two
labels the table is inverted by maximum likelihood, which cannot leave [0, 1]. Intervals hold the uncertainty of the
exam as well as that of the run. Which of them was settled by measurement (`tests.benchmarks.calibration`).

Source: Rogan & Gladen 1978; Lang & Reiczigel 2014 (the interval); ours (the least contrast of several labels).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metrics.stats.intervals import Codes, Floats, Interval, Z, wilson
from metrics.stats.sequential import follow

UNUSABLE = 0.2
"""Sensitivity + specificity - 1 below which nothing is corrected: such a judge cannot measure."""

TOO_WEAK = "this judge cannot measure this"
UNTESTED = "the exam asked nothing of one kind"

_DRAWS = 2000
_ROUNDS = 400
_PRIOR = 0.5
_LEAST = 1e-6
_TWO = 2


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of an exam's questions, k of n: a sensitivity or a specificity."""

    k: int
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.k <= self.n:
            raise ValueError(f"expected 0 <= k <= n, found {self.k} of {self.n}")

    @property
    def share(self) -> float:
        """K of n; 0 of nothing."""
        return self.k / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """Wilson's interval."""
        return wilson(self.k, self.n)


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected mean in [0, 1] with its 95 % interval; None with the `reason` where there is none.

    `informedness` is sensitivity + specificity - 1; of several labels the least difference that the judge makes
    between a label, or a mixture of labels, and any mixture of the others. 1: no errors, 0: mere chance.
    """

    value: float | None
    interval: Interval
    informedness: float | None
    reason: str = ""


def corrected_share(share: float, n: float, sensitivity: Rate, specificity: Rate) -> Corrected:
    """Correct the share of a judge's verdicts that say yes, of n (effective) observations.

    None where the exam had no question of one kind, or sensitivity + specificity - 1 is below `UNUSABLE`.

    Raises:
        ValueError: a share outside [0, 1], or no observation.
    """
    if not 0 <= share <= 1 or n <= 0:
        raise ValueError(f"expected a share in [0, 1] of n > 0 observations, found {share} of {n}")
    if not sensitivity.n or not specificity.n:
        return Corrected(None, Interval(), None, UNTESTED)
    informedness = sensitivity.share + specificity.share - 1
    if informedness < UNUSABLE - 1e-9:
        return Corrected(None, Interval(), informedness, TOO_WEAK)
    low, high = share_limits(*(_shares(*one) for one in ((share, n), _pair(sensitivity), _pair(specificity))))
    value = min(max((share + specificity.share - 1) / informedness, 0.0), 1.0)
    interval = Interval(min(float(low[0]), value), max(float(high[0]), value), "corrected", round(n))
    return Corrected(value, interval, informedness)


def _pair(rate: Rate) -> tuple[float, float]:
    return rate.share, float(rate.n)


def _shares(share: float, n: float) -> "Shares":
    return np.array([share]), np.array([n])


Shares = tuple[Floats, Floats]
"""Shares, and of how many observations each."""


def share_limits(said: Shares, sensitivity: Shares, specificity: Shares) -> tuple[Floats, Floats]:
    """Compute the 95 % limits of corrected shares, element by element; NaN where the judge is worth nothing.

    Source: Lang & Reiczigel 2014.
    """
    square = Z**2
    (share, n), (right_yes, n_yes), (right_no, n_no) = said, sensitivity, specificity
    p = (n * share + square / 2) / (n + square)
    yes, no = (n_yes * right_yes + 1) / (n_yes + 2), (n_no * right_no + 1) / (n_no + 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        informed = np.where(yes + no > 1, yes + no - 1, np.nan)
        middle = (p + no - 1) / informed
        within = np.clip(middle, 0.0, 1.0)
        shift = 2 * square * (within * yes * (1 - yes) / n_yes - (1 - within) * no * (1 - no) / n_no)
        variance = (
            p * (1 - p) / (n + square)
            + np.square(middle) * yes * (1 - yes) / n_yes
            + np.square(1 - middle) * no * (1 - no) / n_no
        )
        half = Z * np.sqrt(variance) / informed
    low: Floats = np.clip(middle + shift - half, 0.0, 1.0)
    high: Floats = np.clip(middle + shift + half, 0.0, 1.0)
    return low, high


def corrected_mean(
    counts: Sequence[float], confusion: Sequence[Sequence[int]], values: Sequence[float], *, seed: int = 0
) -> Corrected:
    """Correct the mean of a judge's ratings or verdicts, each worth one of `values` in [0, 1].

    `counts` are the run's (effective) numbers of each label, as the judge said them; `confusion` has a row for each
    true label of the exam and a column for each label said. Of two labels it is the corrected share.

    Raises:
        ValueError: nothing was counted, or the shapes do not fit.
    """
    said, table, worth = np.asarray(counts, float), np.asarray(confusion, float), np.asarray(values, float)
    if table.shape != (len(worth), len(worth)) or said.shape != worth.shape or said.sum() <= 0:
        raise ValueError(f"expected counts and values of {len(worth)} labels, and a square table of them")
    if not table.sum(axis=1).all():
        return Corrected(None, Interval(), None, UNTESTED)
    if len(worth) == _TWO:
        return _of_two(said, table, worth)
    contrast = least_contrast(table / table.sum(axis=1, keepdims=True))
    if contrast < UNUSABLE - 1e-9:
        return Corrected(None, Interval(), contrast, TOO_WEAK)
    value = float(_likeliest(said[None], table / table.sum(axis=1, keepdims=True))[0] @ worth)
    low, high = mean_limits(said[None], table[None], worth, np.random.default_rng(seed))
    interval = Interval(min(float(low[0]), value), max(float(high[0]), value), "corrected", round(said.sum()))
    return Corrected(value, interval, contrast)


def _of_two(said: Floats, table: Floats, worth: Floats) -> Corrected:
    """Correct the mean of two labels as the share of the second."""
    first, second = table.astype(int)
    total = float(said.sum())
    found = corrected_share(
        float(said[1]) / total,
        total,
        Rate(int(second[1]), int(second.sum())),
        Rate(int(first[0]), int(first.sum())),
    )
    if found.value is None or found.interval.low is None or found.interval.high is None:
        return found
    low, value, high = (
        float(worth[0] + x * (worth[1] - worth[0])) for x in (found.interval.low, found.value, found.interval.high)
    )
    ends = sorted((low, high))
    return Corrected(
        value, Interval(ends[0], ends[1], "corrected", found.interval.units), found.informedness, found.reason
    )


def mean_limits(
    counts: Floats, confusions: Floats, values: Floats, rng: np.random.Generator, draws: int = _DRAWS
) -> tuple[Floats, Floats]:
    """Compute the 95 % limits of corrected means, a run and its exam each: percentiles over draws of both.

    What run and exam counted is drawn anew from what could have made it (Dirichlet, half a count to every label).
    """
    size = len(values)
    lows, highs = np.empty(len(counts)), np.empty(len(counts))
    for i, (said, table) in enumerate(zip(counts, confusions, strict=True)):
        shares = rng.dirichlet(said + _PRIOR / size, draws)
        rows = np.stack([rng.dirichlet(row + _PRIOR / size, draws) for row in table], axis=1)
        means = _likeliest(shares, rows) @ values
        lows[i], highs[i] = np.quantile(means, [0.025, 0.975])
    return lows, highs


def _likeliest(said: Floats, table: Floats) -> Floats:
    """Return the true shares that make what was said likeliest, by expectation maximisation: always shares."""
    said = said / said.sum(axis=-1, keepdims=True)
    truth = np.full(said.shape, 1 / said.shape[-1])
    table = np.broadcast_to(table, (*said.shape, said.shape[-1]))
    for _ in range(_ROUNDS):
        expected = np.einsum("...t,...ts->...s", truth, table)
        ratio = np.divide(said, expected, out=np.zeros_like(said), where=expected > 0)
        truth = truth * np.einsum("...ts,...s->...t", table, ratio)
        truth /= np.maximum(truth.sum(axis=-1, keepdims=True), 1e-300)
    return truth


def least_contrast(rows: Floats) -> float:
    """Return the least total variation between what is said of some labels, mixed at will, and of the others.

    `rows` are the shares of what is said, a row for each true label. 0: some mixture of truths cannot be told from
    another, so that nothing can be inverted. Of two labels it is |sensitivity + specificity - 1|.
    """
    from scipy.optimize import linprog  # half a second

    size = len(rows)
    least = 1.0
    for chosen in range(1, 2 ** (size - 1)):
        here = np.array([chosen >> label & 1 for label in range(size)], bool)
        # Mixture weights w, then slack |difference| for each label said: minimise half the sum of the slack.
        difference = np.where(here[:, None], rows, -rows).T
        bounds_above = np.block([[difference, -np.eye(size)], [-difference, -np.eye(size)]])
        mixed = np.zeros((2, 2 * size))
        mixed[0, :size], mixed[1, :size] = here, ~here
        cost = np.concatenate([np.zeros(size), np.full(size, 0.5)])
        found = linprog(cost, bounds_above, np.zeros(2 * size), mixed, np.ones(2))
        least = min(least, float(found.fun or 0.0))
    return least


def informedness_limits(sensitivity: Rate, specificity: Rate) -> Interval:
    """Return the 95 % interval of sensitivity + specificity - 1, from Wilson's of both; none of nothing.

    Source: the method of variance estimates recovery, Donner & Zou 2012.
    """
    yes, no = sensitivity.interval, specificity.interval
    if yes.low is None or yes.high is None or no.low is None or no.high is None:
        return Interval()
    middle = sensitivity.share + specificity.share - 1
    below = math.hypot(sensitivity.share - yes.low, specificity.share - no.low)
    above = math.hypot(yes.high - sensitivity.share, no.high - specificity.share)
    return Interval(max(middle - below, -1.0), min(middle + above, 1.0), "recovered", sensitivity.n + specificity.n)


def bounds(
    said: tuple[float, float], confusion: Sequence[Sequence[int]], values: Sequence[float], alpha: float
) -> tuple[float, float]:
    """Bound the true mean, where what a judge says has a mean within `said`, whatever the share of each truth.

    `confusion` and `values` as for `corrected_mean`. What is said, on average, of each truth is bounded from the
    exam's answers, all of them together wrong with a chance of `alpha` at most; truths that are settled without the
    judge may be mixed in. So it holds wherever `said` does, also where that may be looked at, and is never narrower
    than that.
    """
    from scipy.optimize import linprog  # half a second

    worth = np.asarray(values, np.float64)
    limits = [_said_of(np.asarray(row), worth, alpha / len(worth)) for row in confusion]
    least, most = (np.array([*(limit[end] for limit in limits), 0.0, 1.0]) for end in (0, 1))
    truths = np.concatenate([worth, [0.0, 1.0]])
    found = [
        linprog(
            sign * truths,
            np.stack([least, -most]),
            [said[1], -said[0]],
            np.ones((1, len(truths))),
            [1.0],
        ).fun
        for sign in (1, -1)
    ]
    low, high = found
    return (0.0 if low is None else float(low), 1.0 if high is None else -float(high))


def _said_of(row: Codes, worth: Floats, alpha: float) -> tuple[float, float]:
    """Bound the mean of what is said of one truth, from how often the exam heard each label."""
    total = int(row.sum())
    if not total:
        return 0.0, 1.0
    (look,) = follow(np.repeat(worth, row), alpha=alpha, looks=[total])
    return look.low, look.high


def kappa(confusion: Sequence[Sequence[int]]) -> float | None:
    """Compute Cohen's κ between the truth (rows) and what was said (columns); None where it is undefined."""
    table = np.asarray(confusion, float)
    total = float(table.sum())
    if not total:
        return None
    rows, columns = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
    chance = math.fsum(map(math.prod, zip(rows, columns, strict=True))) / total**2
    return None if chance >= 1 else (float(np.trace(table)) / total - chance) / (1 - chance)


def kappa_limits(confusion: Sequence[Sequence[int]], *, seed: int = 0) -> Interval:
    """Return the 95 % interval of Cohen's κ: percentiles over tables that could have made this one.

    Tables are drawn anew (Dirichlet) with one count more, spread as by chance: a few questions without an error do
    not prove that there is none.

    Source: ours; the prior after Jeffreys.
    """
    table = np.asarray(confusion, float)
    total = float(table.sum())
    value = kappa(confusion)
    if value is None:
        return Interval()
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / total**2
    drawn = (
        np.random.default_rng(seed).dirichlet((table + chance).ravel() + _LEAST, _DRAWS).reshape(-1, *table.shape)
    )
    expected = np.einsum("dr,dr->d", drawn.sum(axis=2), drawn.sum(axis=1))
    low, high = np.quantile((np.einsum("drr->d", drawn) - expected) / (1 - expected), [0.025, 0.975]).tolist()
    return Interval(min(low, value), max(high, value), "bootstrap", round(total))
