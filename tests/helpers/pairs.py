"""Pairs of a regression, of values of which nothing is missing."""

import numpy as np
import polars as pl

from metrics.stats.intervals import Codes, Floats
from metrics.stats.regression import Pairs


def pairs_of(
    suite: str,
    run: Floats,
    baseline: Floats,
    *,
    upper: Floats | None = None,
    baseline_upper: Floats | None = None,
    clusters: Codes | None = None,
    strata: Codes | None = None,
) -> Pairs:
    """Make pairs of a suite, a question a row; the upper bounds are the values unless they are given."""
    n = len(run)
    sides = (("", run, upper), ("_before", baseline, baseline_upper))
    rows = {
        f"{name}{suffix}": np.asarray(values if name != "upper" or most is None else most, float)
        for suffix, values, most in sides
        for name in ("value", "lower", "upper")
    }
    codes = {
        "cluster": np.full(n, -1) if clusters is None else clusters,
        "stratum": np.zeros(n, np.int64) if strata is None else strata,
        "share": np.ones(n),
        "identical": np.zeros(n, np.bool_),
    }
    return Pairs(suite, pl.DataFrame({**rows, **codes}))
