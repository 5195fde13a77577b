"""Correction for judges' measured error rates: shares of yes/no verdicts, means of ratings and verdicts.

A judge's exam gives a confusion table: how often it gave each verdict, by known truth. A share p of its verdicts is
corrected to (p + specificity - 1) / (sensitivity + specificity - 1); with more than two labels the table is
inverted by maximum likelihood, which cannot leave [0, 1]. Intervals include the uncertainty of both exam and run.
The methods were chosen by measurement (`tests.benchmarks.calibration`).

Source: Rogan & Gladen 1978; Lang & Reiczigel 2014 (the interval); ours (the least contrast of several labels).
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from operator import mul

import numpy as np

from basic_control.metrics.stats.intervals import Codes, Floats, Interval, Share, Z, score_limits
from basic_control.metrics.stats.sequential import follow

UNUSABLE = 0.2
"""Sensitivity + specificity - 1 below which nothing is corrected: such a judge cannot measure."""

TOO_WEAK = "it cannot tell right replies from wrong ones"
NOT_SHOWN = "its exam does not show that it can tell right replies from wrong ones"
UNTESTED = "its exam had right replies only, or wrong ones only"
UNREAD = "none of its replies in the exam could be read"
HARDLY_READ = "too few of its replies in the exam could be read"

SIDE = 2.241
"""Normal quantile for contrast limits: 95 % with half on either side, since the data choose the side."""

_DRAWS = 2000
_ROUNDS = 400
_PRIOR = 0.5
_LEAST = 1e-6
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class MeanRate:
    """A rate over n questions of an exam; a mean rate for several judges, whose joint verdicts lie in [0, 1]."""

    share: float
    n: int


@dataclass(frozen=True, slots=True)
class ExamTable:
    """An exam's verdicts by truth: the worth of `truths`, and of the verdicts, `outcomes`; `counts` by truth."""

    truths: tuple[float, ...]
    outcomes: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def n(self) -> int:
        """The number of answers."""
        return sum(map(sum, self.counts))

    def rates(self) -> tuple[MeanRate, MeanRate]:
        """Return sensitivity and specificity if truths are worth 1 and 0; for several judges their mean rates."""
        sums = {
            truth: (math.fsum(map(mul, row, self.outcomes)), sum(row))
            for truth, row in zip(self.truths, self.counts, strict=True)
        }
        (yes, n_yes), (no, n_no) = sums.get(1.0, (0, 0)), sums.get(0.0, (0, 0))
        # Without a question of a kind its rate is 0, of none.
        sensitivity = yes / n_yes if n_yes else 0.0
        specificity = 1 - no / n_no if n_no else 0.0
        return MeanRate(sensitivity, n_yes), MeanRate(specificity, n_no)


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected mean in [0, 1] with its 95 % interval; None with the `reason` if undefined.

    `informedness` is sensitivity + specificity - 1; for several labels the least difference that the judge makes
    between a label, or a mixture of labels, and any mixture of the others. 1: no errors, 0: chance.
    """

    value: float | None
    interval: Interval
    informedness: float | None
    reason: str = ""


def correct_share(share: float, n: float, sensitivity: MeanRate, specificity: MeanRate) -> Corrected:
    """Correct the share (in [0, 1]) of a judge's yes verdicts, over n > 0 (effective) observations.

    None if the exam had no question of one kind, or sensitivity + specificity - 1 is below `UNUSABLE`.
    """
    if not sensitivity.n or not specificity.n:
        return Corrected(None, Interval(), None, UNTESTED)
    informedness = sensitivity.share + specificity.share - 1
    if informedness < UNUSABLE - 1e-9:
        return Corrected(None, Interval(), informedness, TOO_WEAK)
    rates = ((share, n), (sensitivity.share, sensitivity.n), (specificity.share, specificity.n))
    low, high = share_limits(*((np.array([rate]), np.array([float(n_asked)])) for rate, n_asked in rates))
    value = min(max((share + specificity.share - 1) / informedness, 0.0), 1.0)
    interval = Interval(min(float(low[0]), value), max(float(high[0]), value), "corrected", round(n))
    return Corrected(value, interval, informedness)


Shares = tuple[Floats, Floats]
"""Shares, each with its number of observations."""


def share_limits(verdicts: Shares, sensitivity: Shares, specificity: Shares) -> tuple[Floats, Floats]:
    """Compute the 95 % limits of corrected shares, element by element; NaN for a judge without information.

    Source: Lang & Reiczigel 2014.
    """
    square = Z**2
    (share, n), (right_yes, n_yes), (right_no, n_no) = verdicts, sensitivity, specificity
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
    ends: tuple[Floats, Floats] = middle + shift - half, middle + shift + half
    return np.clip(ends[0], 0.0, 1.0), np.clip(ends[1], 0.0, 1.0)


def correct_mean(counts: Sequence[float], confusion: Sequence[Sequence[int]], values: Sequence[float]) -> Corrected:
    """Correct the mean verdict of a judge, or of several joined, by the exam's confusion table.

    `counts` are the run's (effective) numbers of each possible verdict, not all 0; `confusion` has a row for each
    true label of the exam, worth one of `values` in [0, 1], and a column for each verdict.
    """
    run_counts, table, worth = np.asarray(counts, float), np.asarray(confusion, float), np.asarray(values, float)
    if not table.sum(axis=1).all():
        return Corrected(None, Interval(), None, UNTESTED)
    apart = compute_contrast(table).value
    if apart is None or apart < UNUSABLE - 1e-9:
        return Corrected(None, Interval(), apart, TOO_WEAK)
    value = float(_find_shares(run_counts, table / table.sum(axis=1, keepdims=True)) @ worth)
    low, high = mean_limits(run_counts[None], table[None], worth, np.random.default_rng(0))
    interval = Interval(min(float(low[0]), value), max(float(high[0]), value), "corrected", round(run_counts.sum()))
    return Corrected(value, interval, apart)


def mean_limits(
    counts: Floats, confusions: Floats, values: Floats, rng: np.random.Generator, draws: int = _DRAWS
) -> tuple[Floats, Floats]:
    """Compute the 95 % limits of corrected means, for a run and its exam each: percentiles over draws of both.

    The counts of run and exam are drawn from their posterior (Dirichlet, half a count for each label).
    """
    size = counts.shape[1]
    lows, highs = np.empty(len(counts)), np.empty(len(counts))
    for i, (run_counts, table) in enumerate(zip(counts, confusions, strict=True)):
        shares = rng.dirichlet(run_counts + _PRIOR / size, draws)
        rows = np.stack([rng.dirichlet(row + _PRIOR / size, draws) for row in table], axis=1)
        means = _find_likeliest(shares, rows) @ values
        lows[i], highs[i] = np.quantile(means, [0.025, 0.975])
    return lows, highs


def _find_shares(counts: Floats, table: Floats) -> Floats:
    """Return the likeliest true shares for a run's verdicts: those that make them exactly, where there are some."""
    if table.shape[0] == table.shape[1]:
        exact: Floats = np.linalg.solve(table.T, counts / counts.sum())
        if exact.min() >= -_ROUNDING:
            return np.clip(exact, 0.0, 1.0)
    # A share that would be negative is sought step by step within [0, 1].
    return _find_likeliest(counts[None], table)[0]


def _find_likeliest(shares: Floats, table: Floats) -> Floats:
    """Return the maximum-likelihood true shares for the observed verdicts, by expectation maximisation."""
    shares = shares / shares.sum(axis=-1, keepdims=True)
    table = np.broadcast_to(table, (*shares.shape[:-1], *table.shape[-2:]))
    truth = np.full(table.shape[:-1], 1 / table.shape[-2])
    for _ in range(_ROUNDS):
        expected = np.einsum("...t,...ts->...s", truth, table)
        ratio = np.divide(shares, expected, out=np.zeros_like(shares), where=expected > 0)
        truth = truth * np.einsum("...ts,...s->...t", table, ratio)
        truth /= np.maximum(truth.sum(axis=-1, keepdims=True), 1e-300)
    return truth


@dataclass(frozen=True, slots=True)
class Contrast:
    """How well an exam shows a judge to separate truths, 0 (chance) to 1, with the interval's lower end.

    For a yes/no step it is sensitivity + specificity - 1, which may be negative; for three or more labels the least
    contrast. None if the exam has no answer of one kind.
    """

    value: float | None
    low: float | None

    @property
    def is_shown(self) -> bool:
        """Whether the contrast is high enough for the judge to count (SPEC 16)."""
        return self.value is not None and self.value >= UNUSABLE - 1e-9 and self.low is not None and self.low > 0


def contrast(
    confusion: Sequence[Sequence[int]], sensitivity: Share, specificity: Share, *, of_two: bool
) -> Contrast:
    """Return a judge's contrast at a step: from its two rates, or from the whole table of its labels.

    It is negative for a judge of many labels that rates the worst truth above the best.
    """
    if of_two:
        return _informedness(sensitivity, specificity)
    table = np.asarray(confusion, float)
    if not table.sum(axis=1).all():
        return Contrast(None, None)
    least = compute_contrast(table)
    ranks = table @ np.arange(table.shape[1]) / table.sum(axis=1)
    if ranks[0] > ranks[-1] and least.value is not None:
        return Contrast(-least.value, -1.0)
    return least


def compute_contrast(table: Floats) -> Contrast:
    """Return the least total variation between verdicts on a mixture of some labels and a mixture of the others.

    `table` counts the verdicts, with a row for each true label. 0: some mixture of truths cannot be told from
    another, so nothing can be inverted. For two labels it is |sensitivity + specificity - 1|. The lower end is the
    least over all partitions of the labels: by Wilson's limits, recovered, of the shares that separate them best.
    """
    from scipy.optimize import linprog  # slow import (half a second)

    size, width = table.shape
    counts = table.sum(axis=1)
    rows = table / counts[:, None]
    value, lowest = 1.0, 1.0
    for chosen in range(1, 2 ** (size - 1)):
        is_first = np.array([chosen >> label & 1 for label in range(size)], bool)
        # Mixture weights w, then slack |difference| for each verdict: minimise half the sum of the slack.
        difference = np.where(is_first[:, None], rows, -rows).T
        bounds_above = np.block([[difference, -np.eye(width)], [-difference, -np.eye(width)]])
        mixed = np.zeros((2, size + width))
        mixed[0, :size], mixed[1, :size] = is_first, ~is_first
        cost = np.concatenate([np.zeros(size), np.full(width, 0.5)])
        solution = linprog(cost, bounds_above, np.zeros(2 * width), mixed, np.ones(2))
        apart = float(solution.fun or 0.0)
        mixture = np.asarray(solution.x)[:size]
        weights = np.where(is_first, mixture, -mixture)
        parting = weights @ rows > 0
        shares = rows[:, parting].sum(axis=1)
        low, high = score_limits(np.clip(shares, 0.0, 1.0), counts, SIDE)
        room = np.where(weights > 0, shares - low, high - shares)
        value, lowest = min(value, apart), min(lowest, apart - float(np.sqrt(np.square(weights * room).sum())))
    return Contrast(value, lowest)


def _informedness(sensitivity: Share, specificity: Share) -> Contrast:
    """Return sensitivity + specificity - 1 with the lower end of its interval, from Wilson's of both.

    Source: the method of variance estimates recovery, Donner & Zou 2012.
    """
    (yes, yes_low), (no, no_low) = ((rate.share, rate.interval.low) for rate in (sensitivity, specificity))
    if yes is None or no is None or yes_low is None or no_low is None:
        return Contrast(None, None)
    return Contrast(yes + no - 1, max(yes + no - 1 - math.hypot(yes - yes_low, no - no_low), -1.0))


def bounds(mean: tuple[float, float], exam: ExamTable, alpha: float) -> tuple[float, float]:
    """Bound the true mean for a judge's mean within `mean`, whatever the share of each truth.

    The mean verdict on each truth is bounded from the exam's answers, with a joint error probability of at most
    `alpha`; truths settled without the judge may be mixed in. So the bounds hold wherever `mean` does, at every
    look, and are never narrower.
    """
    from scipy.optimize import linprog  # slow import (half a second)

    worth = np.asarray(exam.outcomes, np.float64)
    limits = [_limit_verdict(np.asarray(row), worth, alpha / len(exam.truths)) for row in exam.counts]
    # What was settled without the judge is exactly 0 or 1.
    lows, highs = zip(*limits, (0.0, 0.0), (1.0, 1.0), strict=True)
    least, greatest = np.array(lows), np.array(highs)
    truths = np.array([*exam.truths, 0.0, 1.0])
    conditions = np.stack([least, -greatest]), [mean[1], -mean[0]], np.ones((1, len(truths))), [1.0]
    low, high = (linprog(sign * truths, *conditions).fun for sign in (1, -1))
    # No mixture of truths fits: nothing is bounded.
    if low is None or high is None:
        return 0.0, 1.0
    return float(low), -float(high)


def _limit_verdict(row: Codes, worth: Floats, alpha: float) -> tuple[float, float]:
    """Bound the mean verdict on one truth, from the exam's counts of each label."""
    total = int(row.sum())
    if not total:
        return 0.0, 1.0
    (look,) = follow(np.repeat(worth, row), alpha=alpha, looks=[total])
    return look.low, look.high


def tabulate(
    pairs: Iterable[tuple[Hashable, Hashable]], rows: Iterable[Hashable], columns: Sequence[Hashable]
) -> tuple[tuple[int, ...], ...]:
    """Count pairs by their first, a row, and their second, a column; there is a column at least."""
    counts, width = Counter(pairs), len(columns)
    cells = [counts[pair] for pair in product(rows, columns)]
    return tuple(tuple(cells[start : start + width]) for start in range(0, len(cells), width))


def kappa(confusion: Sequence[Sequence[int]]) -> float | None:
    """Compute Cohen's κ between truth (rows) and verdict (columns); None if undefined."""
    table = np.asarray(confusion, float)
    total = float(table.sum())
    if not total:
        return None
    rows, columns = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
    chance = math.fsum(map(math.prod, zip(rows, columns, strict=True))) / total**2
    return None if chance >= 1 else (float(np.trace(table)) / total - chance) / (1 - chance)


def kappa_limits(confusion: Sequence[Sequence[int]]) -> Interval:
    """Return the 95 % interval of Cohen's κ: percentiles over tables drawn from the posterior.

    The Dirichlet prior adds one count, spread as by chance: a few questions without an error do not prove that
    there are none.

    Source: ours; the prior after Jeffreys.
    """
    table = np.asarray(confusion, float)
    total = float(table.sum())
    value = kappa(confusion)
    if value is None:
        return Interval()
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / total**2
    drawn = np.random.default_rng(0).dirichlet((table + chance).ravel() + _LEAST, _DRAWS).reshape(-1, *table.shape)
    expected = np.einsum("dr,dr->d", drawn.sum(axis=2), drawn.sum(axis=1))
    low, high = np.quantile((np.einsum("drr->d", drawn) - expected) / (1 - expected), [0.025, 0.975]).tolist()
    return Interval(min(low, value), max(high, value), "bootstrap", round(total))
