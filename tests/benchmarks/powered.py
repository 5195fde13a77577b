"""People's labels with a deciding judge's probabilities in place of its verdicts: width and coverage of PPI++.

`python -m tests.benchmarks.powered` prints both for judges that are calibrated, too sure, and useless.
"""

from typing import Any

import numpy as np

from basic_control.metrics.stats.labelled import prediction_powered

SAMPLES = 1000
DRAWS = 200


def _draw(kind: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the truths of a run's replies, and what a judge says of them: the probability that they are right."""
    shares = rng.beta(0.8, 0.6, SAMPLES)
    truths = (rng.random(SAMPLES) < shares).astype(float)
    if kind == "too sure":
        odds = (shares / (1 - shares)) ** 3
        shares = odds / (1 + odds)
    if kind == "useless":
        shares = rng.permutation(shares)
    return truths, shares


def main() -> None:
    """Print the figures."""
    print("judge        labels  width verdicts  probabilities  ratio  covered verdicts  probabilities")
    for kind in ("calibrated", "too sure", "useless"):
        for n in (50, 100, 300):
            rng = np.random.default_rng(n)
            widths: list[tuple[float, float]] = []
            covered: list[tuple[bool, bool]] = []
            for _ in range(DRAWS):
                truths, shares = _draw(kind, rng)
                picked = rng.choice(SAMPLES, n, replace=False)
                ends = [
                    prediction_powered(scores, picked.tolist(), truths[picked], probabilities=[n / SAMPLES] * n)
                    for scores in ((shares >= 0.5).astype(float), shares)
                ]
                pairs = [(end.interval.low or 0.0, end.interval.high or 1.0) for end in ends]
                widths.append((pairs[0][1] - pairs[0][0], pairs[1][1] - pairs[1][0]))
                mean = truths.mean()
                covered.append((pairs[0][0] <= mean <= pairs[0][1], pairs[1][0] <= mean <= pairs[1][1]))
            verdicts, soft = np.mean(widths, axis=0)
            told, held = np.mean(covered, axis=0)
            row = f"{kind:12} {n:6} {verdicts:15.3f} {soft:14.3f} {soft / verdicts:6.2f} {told:17.1%} {held:14.1%}"
            print(row)


if __name__ == "__main__":
    main()
