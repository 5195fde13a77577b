"""Measure what twins say of scripted models: `python -m tests.benchmarks.twins` (500 runs each of 400 pairs)."""

import sys
from collections import Counter

from tests.helpers.scripted_twins import MODELS, told

RUNS = 500


def main(runs: int = RUNS) -> None:
    """Print, for each model and kind, the share of runs with each outcome."""
    for model in MODELS:
        found = Counter[tuple[str, str]]()
        for seed in range(runs):
            found.update((kind, one.outcome) for kind, one in told(model, seed).items())
        for kind in ("names", "numbers"):
            shares = ", ".join(f"{name} {n / runs:.1%}" for (of, name), n in sorted(found.items()) if of == kind)
            print(f"{model}: {kind}: {shares}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
