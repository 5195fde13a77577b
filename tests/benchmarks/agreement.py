"""How often the intervals of κ and of Krippendorff's alpha cover the truth: `python -m tests.benchmarks.agreement`.

Two labels, as likely; a judge against the truth (κ), or two labellers who see the same truth (alpha), each right
with the same probability.
"""

import numpy as np
import polars as pl

from basic_control.metrics.stats.agreement import agreement
from basic_control.metrics.stats.calibration import kappa_limits
from basic_control.metrics.stats.intervals import Interval

RUNS = 400


def covers(found: Interval, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def kappas(rng: np.random.Generator, n: int, right: float) -> float:
    """Return the share of κ's intervals that hold it, 2 x right - 1."""
    shares = np.array([right, 1 - right, 1 - right, right]) / 2
    tables = rng.multinomial(n, shares, RUNS).reshape(-1, 2, 2)
    return float(np.mean([covers(kappa_limits(one.tolist()), 2 * right - 1) for one in tables]))


def alphas(rng: np.random.Generator, n: int, right: float) -> float:
    """Return the share of alpha's intervals that hold it: they differ in 2 right (1 - right), by chance in half."""
    truth = 1 - 4 * right * (1 - right)
    held = 0
    for _ in range(RUNS):
        true = rng.random(n) < 1 / 2
        said = [np.where(rng.random(n) < right, true, ~true).astype(float) for _ in range(2)]
        units = [str(one) for one in range(n)] * 2
        held += covers(agreement(pl.DataFrame({"unit": units, "value": np.concatenate(said)})).interval, truth)
    return held / RUNS


def main() -> None:
    """Print the coverage by n and by how often a judge or labeller is right."""
    rng = np.random.default_rng(7)
    for n in (20, 60, 200):
        for right in (0.6, 0.7, 0.85, 0.9, 0.97):
            print(f"n {n}, right {right}: kappa {kappas(rng, n, right):.3f}, alpha {alphas(rng, n, right):.3f}")


if __name__ == "__main__":
    main()
