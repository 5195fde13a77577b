"""Simulated replies: what each question of a suite comes to, drawn from models whose true shares are known."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from basic_control.metrics.stats.intervals import Codes, Floats

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
"""True shares over which coverage is averaged."""
ALIKE = 0.2
"""How alike a template's questions are, and a question's answers: the intraclass correlation."""


def templates_of(n: int, shared: int) -> Codes:
    """Return the template of n questions, by turns; -1 for all where none are shared."""
    return np.arange(n) % shared if shared else np.full(n, -1)


def chances(rng: np.random.Generator, share: float, clusters: Codes, alike: float = ALIKE) -> Floats:
    """Draw each question's chance of a right answer: those of a template are alike, and of mean `share`."""
    if clusters.max() < 0:
        return np.full(len(clusters), share)
    return _around(rng, np.full(int(clusters.max()) + 1, share), alike)[clusters]


def _around(rng: np.random.Generator, mean: Floats, alike: float) -> Floats:
    """Draw chances around means, such that yes/no answers by one chance correlate by `alike`."""
    if not alike:
        return mean
    count = (1 - alike) / alike
    return rng.beta(np.maximum(mean * count, 1e-9), np.maximum((1 - mean) * count, 1e-9))


def yes_no(rng: np.random.Generator, chance: Floats, repeats: int = 1, alike: float = ALIKE) -> Floats:
    """Draw each question's share of right answers of so many; a question's answers are alike by `alike`."""
    return rng.binomial(repeats, _around(rng, chance, alike if repeats > 1 else 0.0)) / repeats


def graded(rng: np.random.Generator, chance: Floats, repeats: int = 1) -> Floats:
    """Draw each question's mean grade in quarters, of so many answers."""
    return rng.binomial(4 * repeats, _around(rng, chance, 0.3)) / (4 * repeats)


def frame(
    worth: Floats,
    *,
    families: Sequence[str],
    clusters: Codes,
    repeats: int = 1,
    metric: str = "m",
    plain: bool = True,
) -> pl.DataFrame:
    """Return drawn values as `metrics.analysis.observations.question_values` has them, of one suite and model."""
    n = len(worth)
    return pl.DataFrame(
        {
            "item_id": [str(number) for number in range(n)],
            "family": list(families),
            "cluster": clusters,
            "metric": [metric] * n,
            "value": worth,
            "answers": np.full(n, repeats),
            "plain": np.full(n, plain),
        }
    )
