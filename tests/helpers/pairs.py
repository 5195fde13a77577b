"""Samples of a regression, of values of which nothing is missing."""

import numpy as np

from basic_control.metrics.stats.intervals import Codes, Floats
from basic_control.metrics.stats.margins import Differences, PairedSample, pair_means


def pairs_of(
    run: Floats,
    baseline: Floats,
    *,
    upper: Floats | None = None,
    baseline_upper: Floats | None = None,
    clusters: Codes | None = None,
    strata: Codes | None = None,
) -> PairedSample:
    """Make a sample, a question a row; the upper bounds are the values unless they are given."""
    n = len(run)
    families = np.zeros(n, np.int64) if strata is None else strata
    sizes = np.bincount(families)[families]
    weights = 1 / sizes / len(np.unique(families)) if n else np.zeros(0)
    templates = np.full(n, -1) if clusters is None else clusters

    def sample(after: Floats, before: Floats) -> Differences | None:
        return pair_means(after, before, weights=weights, clusters=templates) if n else None

    seen = sample(run, baseline)
    if upper is None and baseline_upper is None:
        return PairedSample(seen, seen, seen)
    worst = sample(run, baseline if baseline_upper is None else baseline_upper)
    best = sample(run if upper is None else upper, baseline)
    return PairedSample(seen, worst, best)
