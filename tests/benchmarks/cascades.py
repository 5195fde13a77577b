"""Cascades by simulation: how often the error among what the small judge decides alone exceeds what is tolerated.

`python -m tests.benchmarks.cascades` prints, for calibrated, over-confident and useless small judges, the share of
draws of labelled items whose rule tolerates more than it should, and the share that is decided alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from basic_control.metrics.stats.cascade import LabelledAnswer, find_rule

Floats = np.ndarray
POPULATION = 200_000
"""Items by which the true error above a confidence is known."""


def _calibrated(shares: Floats) -> Floats:
    return shares


def _sure(shares: Floats) -> Floats:
    """Return what an over-confident judge says: far nearer to 1 than it is right."""
    return 1 - (1 - shares) ** 3


def _useless(shares: Floats) -> Floats:
    """Return confidences that say nothing of being right."""
    return np.random.default_rng(7).permutation(shares)


SAYS: dict[str, Callable[[Floats], Floats]] = {"calibrated": _calibrated, "sure": _sure, "useless": _useless}


@dataclass(frozen=True, slots=True)
class Simulated:
    """The share of draws in which the true error exceeds what is tolerated, and the mean share decided alone."""

    exceeded: float
    alone: float


def simulate(kind: str, n: int, *, draws: int, error: float, level: float, rng: np.random.Generator) -> Simulated:
    """Draw n labelled items again and again from a population whose errors are known."""
    shares = 0.5 + 0.5 * rng.beta(2.5, 1.0, POPULATION)
    is_wrong = rng.random(POPULATION) > shares
    confidence = np.round(SAYS[kind](shares), 4)
    order = np.argsort(-confidence, kind="stable")
    running = np.cumsum(is_wrong[order]) / np.arange(1, POPULATION + 1)
    exceeded, alone = 0, 0.0
    for _ in range(draws):
        picked = rng.integers(0, POPULATION, n)
        answers = [LabelledAnswer(float(confidence[i]), bool(is_wrong[i])) for i in picked]
        rule = find_rule(answers, error=error, level=level)
        if rule.confidence is None:
            continue
        decided = int(np.searchsorted(-confidence[order], -rule.confidence, side="right"))
        exceeded += bool(running[decided - 1] > error)
        alone += decided / POPULATION
    return Simulated(exceeded / draws, alone / draws)


def main() -> None:
    """Print the figures."""
    print("small judge   labels  error  exceeded  decided alone")
    for error in (0.05, 0.1):
        for kind in SAYS:
            for n in (50, 200, 1000):
                found = simulate(kind, n, draws=300, error=error, level=0.05, rng=np.random.default_rng(n))
                print(f"{kind:12} {n:7} {error:6} {found.exceeded:8.1%} {found.alone:13.1%}")


if __name__ == "__main__":
    main()
