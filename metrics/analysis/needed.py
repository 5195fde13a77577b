"""How many questions like these would show a drop, from the spread that results have.

Source: SPEC 9, 10 (power 0.8, the decision of `metrics.stats.margins`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from metrics.stats.intervals import Floats
from metrics.stats.power import ALPHA, POWER, detectable_drop, least_number


@dataclass(frozen=True, slots=True)
class NeededQuestions:
    """How many questions show a true drop with power 0.8 in a paired comparison; None: more than a million."""

    drop: float
    n: int | None


@dataclass(frozen=True, slots=True)
class Spread:
    """What questions of a file are like: `n` of them with mean `mean`, all 0 or 1 (`yes_no`) or grades.

    `discordance` is the share of yes/no questions on which two runs would differ without a drop, or the variance
    of grades' differences; `seen`: as two files show it, else as if the two answered independently: the worst.
    """

    n: int
    mean: float
    yes_no: bool
    discordance: float
    seen: bool


def spread(values: Floats, other: Floats | None = None) -> Spread:
    """Return the spread of a file's values, a question each; of pairs where `other` has those of a second file."""
    yes_no = bool(np.isin(values, (0.0, 1.0)).all() and (other is None or np.isin(other, (0.0, 1.0)).all()))
    mean = float(values.mean())
    if other is not None:
        apart = values - other
        # Half of what differs either way: what a drop adds is no part of it.
        found = float((apart != 0).mean()) - abs(float(apart.mean())) if yes_no else float(apart.var(ddof=1))
        return Spread(len(values), mean, yes_no, max(found, 0.0), seen=True)
    variance = mean * (1 - mean) if yes_no else float(values.var(ddof=1)) if len(values) > 1 else 0.25
    return Spread(len(values), mean, yes_no, 2 * variance, seen=False)


def needed(found: Spread, drops: Sequence[float]) -> tuple[NeededQuestions, ...]:
    """Return how many questions show each drop (in (0, 1)), two-sided at 5 %."""
    shown = _counts(found) if found.yes_no else _grades(found)
    return tuple(NeededQuestions(drop, least_number(partial(shown, drop), first=8, parts=200)) for drop in drops)


def _counts(found: Spread) -> Callable[[float, int], bool]:
    def shown(drop: float, n: int) -> bool:
        least = detectable_drop(n, found.discordance, found.mean, max_drop=0.0, level=ALPHA / 2)
        return least is not None and least <= drop

    return shown


def _grades(found: Spread) -> Callable[[float, int], bool]:
    normal = NormalDist()
    reach = normal.inv_cdf(1 - ALPHA / 2) + normal.inv_cdf(POWER)
    return lambda drop, n: reach * math.sqrt(found.discordance / n) <= drop
