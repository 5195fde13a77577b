"""Pairs of a regression, of values of which nothing is missing."""

import numpy as np

from metrics.stats.intervals import Codes, Floats
from metrics.stats.regression import BoundedValues, Pairs


def pairs_of(
    suite: str, run: Floats, baseline: Floats, *, clusters: Codes | None = None, strata: Codes | None = None
) -> Pairs:
    """Make pairs of a suite, a question a row."""
    n = len(run)
    return Pairs(
        suite,
        BoundedValues(run, run, run),
        BoundedValues(baseline, baseline, baseline),
        np.full(n, -1) if clusters is None else clusters,
        np.zeros(n, np.int64) if strata is None else strata,
        np.zeros(n, np.bool_),
    )
