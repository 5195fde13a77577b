"""Measure stopping early: false decisions, calls, and the calls that other rules need.

    python -m tests.benchmarks.stopping [false|calls|recorded|judged]

`false`: the share of runs that decide against the truth, where looks are taken after every answer from the first 30
to `MOST`; Wilson's interval, looked at in the same way, is beside it. `calls`: the median number of answers until
the verdict, in units of ln(1 / alpha) / KL, for gaps of 5 points and more, beside other bets of the same paper and
a fixed-n design. `recorded`: recorded solutions of four models against a threshold, and in paired races
(../shared/data). `judged`: how often the true mean leaves what a judge's errors make of a sequence.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from basic_control.metrics.stats.calibration import ExamTable, bounds
from basic_control.metrics.stats.intervals import Floats, score_limits, wilson
from basic_control.metrics.stats.sequential import PARTS, divide_alpha, find_decided, follow, side

Counts = npt.NDArray[np.int64]
Rule = Callable[[Floats, float, float], tuple[Counts, Counts]]
"""Answers (a run a row), the threshold and alpha to when each run was decided (0: never), and on which side."""

ALPHA = 0.05
FIRST = 30
MOST = 3000
RUNS = 5000
LOOKS = (30, 36, 42, 50, 60, 70, 80, 95, 110, 125, 145, 170, 195, 225, 260, 300, 345, 400)
"""After how many answers recorded solutions are looked at: rounds that grow by 15 %."""
TRUTHS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
GAPS = (0.05, 0.1, 0.15, 0.2, 0.3)
DATA = Path("../shared/data/gsm8k_model_solutions_dev.jsonl")


def divergence(p: float, q: float) -> float:
    """Return the Kullback-Leibler divergence of two yes/no distributions."""
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a)


def _stopped(above: npt.NDArray[np.bool_], below: npt.NDArray[np.bool_]) -> tuple[Counts, Counts]:
    either = above | below
    either[:, : FIRST - 1] = False
    ever = either.any(axis=1)
    at = either.argmax(axis=1)
    rows = np.arange(len(at))
    return np.where(ever, at + 1, 0), np.where(ever, np.where(above[rows, at], 1, -1), 0)


def spread_bets(answers: Floats, threshold: float, alpha: float) -> tuple[Counts, Counts]:
    """Stop as the product does: a fixed spread of bets; yes/no answers only."""
    n = answers.shape[1]
    right = answers.cumsum(axis=1).astype(np.int64)

    def goal(m: float) -> Counts:
        """Return, for each number of answers, how many of them have to be right for a refusal upwards."""
        asked, low, high = np.arange(1, n + 1), np.zeros(n, np.int64), np.arange(2, n + 2)
        won, lost = np.log1p(PARTS * (1 / m - 1)), np.log1p(-PARTS)
        for _ in range(13):
            middle = (low + high) // 2
            made = logsumexp(middle[:, None] * won + (asked - middle)[:, None] * lost, axis=1) - np.log(len(PARTS))
            enough = made >= math.log(2 / alpha)
            low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        return high

    return _stopped(right >= goal(threshold), np.arange(1, n + 1) - right >= goal(1 - threshold))


def _bettors(stakes: Callable[[int, Floats, Floats], tuple[Floats, Floats]]) -> Rule:
    """Make a rule of bets that are fixed by what was seen before: (t, mean, variance) to both stakes."""

    def rule(answers: Floats, threshold: float, alpha: float) -> tuple[Counts, Counts]:
        runs, n = answers.shape
        capital = np.zeros((2, runs))
        mean, spread = np.full(runs, 0.5), np.full(runs, 0.25)
        sums, squares = np.full(runs, 0.5), np.full(runs, 0.25)
        above, below = np.zeros((2, runs, n), bool)
        for t in range(1, n + 1):
            up, down = stakes(t, mean - threshold, spread)
            x = answers[:, t - 1]
            capital[0] += np.log1p(np.minimum(up, 0.5 / threshold) * (x - threshold))
            capital[1] += np.log1p(-np.minimum(down, 0.5 / (1 - threshold)) * (x - threshold))
            above[:, t - 1], below[:, t - 1] = capital >= math.log(2 / alpha)
            sums += x
            mean = sums / (t + 1)
            squares += np.square(x - mean)
            spread = squares / (t + 1)
        return _stopped(above, below)

    return rule


def _agrapa(t: int, gap: Floats, spread: Floats) -> tuple[Floats, Floats]:
    del t
    stake = gap / (spread + np.square(gap))
    return np.maximum(stake, 0.0), np.maximum(-stake, 0.0)


def _plug_in(t: int, gap: Floats, spread: Floats) -> tuple[Floats, Floats]:
    del gap
    stake = np.sqrt(2 * math.log(2 / ALPHA) / (spread * t * math.log(1 + t)))
    return stake, stake


def peeking(answers: Floats, threshold: float, alpha: float) -> tuple[Counts, Counts]:
    """Stop as soon as Wilson's interval excludes the threshold: what must not be done."""
    n = np.arange(1, answers.shape[1] + 1)
    low, high = score_limits(answers.cumsum(axis=1) / n, n.astype(float), NormalDist().inv_cdf(1 - alpha / 2))
    return _stopped(low > threshold, high < threshold)


def fixed_n(truth: float, threshold: float, power: float = 0.95) -> int:
    """Return how many answers a fixed design needs that knows the gap: two-sided at `ALPHA`."""
    normal = NormalDist()
    spread = [math.sqrt(p * (1 - p)) for p in (threshold, truth)]
    z = normal.inv_cdf(1 - ALPHA / 2) * spread[0] + normal.inv_cdf(power) * spread[1]
    return math.ceil((z / (truth - threshold)) ** 2)


RULES: dict[str, Rule] = {
    "spread bets": spread_bets,
    "aGRAPA": _bettors(_agrapa),
    "plug-in": _bettors(_plug_in),
}


def _answers(truth: float, seed: int, runs: int = RUNS) -> Floats:
    return (np.random.default_rng(seed).random((runs, MOST)) < truth).astype(np.float64)


def _pairs() -> Iterator[tuple[float, float]]:
    for truth in TRUTHS:
        for gap in GAPS:
            for threshold in (round(truth - gap, 2), round(truth + gap, 2)):
                if 0.3 <= threshold <= 0.98:
                    yield truth, threshold


def false_decisions() -> None:
    """Print the share of runs that decide against the truth: at the threshold, and one point beside it."""
    print(f"{RUNS} runs each, a look after every answer from {FIRST} to {MOST}, alpha {ALPHA}")
    print("| truth | threshold | stopping | 95 % interval | Wilson, peeking |\n|--:|--:|--:|:--|--:|")
    for seed, truth in enumerate(TRUTHS):
        answers = _answers(truth, seed)
        for threshold in (truth, round(truth + 0.01, 2), round(truth - 0.01, 2)):
            shares = []
            for rule in (spread_bets, peeking):
                _, sides = rule(answers, threshold, ALPHA)
                wrong = sides != 0 if threshold == truth else sides == (-1 if truth > threshold else 1)
                shares.append(int(wrong.sum()))
            around = wilson(shares[0], RUNS)
            print(
                f"| {truth:.2f} | {threshold:.2f} | {shares[0] / RUNS:.4f} |"
                f" {around.low:.4f} to {around.high:.4f} | {shares[1] / RUNS:.3f} |"
            )


def calls(runs: int = 1000) -> None:
    """Print median calls over ln(1 / alpha) / KL, for one sequence and for one of six."""
    for sequences in (1, 6):
        alpha = divide_alpha(ALPHA, sequences)
        print(f"\nalpha of the sequence {alpha:.4f}, {runs} runs each, first {FIRST}")
        print("| truth | threshold | ideal | spread bets | over ideal | aGRAPA | plug-in | undecided | fixed n |")
        print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
        worst = dict.fromkeys(RULES, 0.0)
        over = 0
        for seed, (truth, threshold) in enumerate(_pairs()):
            ideal = math.log(1 / alpha) / divergence(truth, threshold)
            answers = _answers(truth, seed, runs)
            medians, missed = {}, 0.0
            for name, rule in RULES.items():
                when, _ = rule(answers[: runs if rule is spread_bets else 300], threshold, alpha)
                medians[name] = float(np.median(np.where(when == 0, MOST + 1, when)))
                if rule is spread_bets:
                    missed = float((when == 0).mean())
                if medians[name] > FIRST:
                    worst[name] = max(worst[name], medians[name] / ideal)
            over += medians["spread bets"] > max(FIRST, 2 * ideal)
            print(
                f"| {truth:.2f} | {threshold:.2f} | {ideal:.0f} | {medians['spread bets']:.0f} |"
                f" {medians['spread bets'] / ideal:.2f} | {medians['aGRAPA']:.0f} | {medians['plug-in']:.0f} |"
                f" {missed:.3f} | {fixed_n(truth, threshold)} |"
            )
        print(f"worst over ideal: {', '.join(f'{k} {v:.2f}' for k, v in worst.items())}; above 2: {over}")


def recorded(orders: int = 200) -> None:
    """Print the calls saved on recorded solutions, over random orders, and decisions against the full data's."""
    rows = [json.loads(line) for line in DATA.read_text().splitlines()]
    names = [key for key, value in rows[0].items() if isinstance(value, dict)]
    right = {name: np.array([float(row[name]["is_correct"]) for row in rows]) for name in names}
    rng, n = np.random.default_rng(7), len(rows)
    shuffles = [rng.permutation(n) for _ in range(orders)]
    print(f"{n} problems, {orders} orders; alpha {ALPHA} over {len(names)} models, threshold 0.8")
    print("| model | right | median calls | saved | undecided | against the full data |\n|:--|--:|--:|--:|--:|--:|")
    for name in names:
        _table(name, right[name], shuffles, (0.8, divide_alpha(ALPHA, len(names))), (0.0, 1.0))
    pairs = list(combinations(names, 2))
    print(f"\npaired, alpha {ALPHA} over {len(pairs)} pairs, margin 0")
    print("| pair | difference | median pairs | saved | undecided | against |\n|:--|--:|--:|--:|--:|--:|")
    for one, other in pairs:
        rule = (0.0, divide_alpha(ALPHA, len(pairs)))
        _table(f"{one} - {other}", right[one] - right[other], shuffles, rule, (-1, 1))


def _table(
    name: str,
    values: Floats,
    shuffles: list[npt.NDArray[np.intp]],
    rule: tuple[float, float],
    bounds: tuple[float, float],
) -> None:
    threshold, alpha = rule
    asked, undecided, against = [], 0, 0
    truth = "above" if values.mean() > threshold else "below"
    for order in shuffles:
        found = find_decided(follow(values[order], alpha=alpha, looks=LOOKS, bounds=bounds), threshold)
        asked.append(found.n if found else len(values))
        undecided += found is None
        against += found is not None and side(found, threshold) != truth
    saved = 1 - np.mean(asked) / len(values)
    print(
        f"| {name} | {values.mean():.3f} | {np.median(asked):.0f} | {saved:.0%} | {undecided / len(shuffles):.2f} |"
        f" {against} of {len(shuffles)} |"
    )


def judged(runs: int = 100) -> None:
    """Print how often the true mean is ever left out, and what it costs, of a judge with errors and its exam."""
    print("| truth | sensitivity | specificity | exam | left out | 95 % interval | mean width |")
    print("|--:|--:|--:|--:|--:|:--|--:|")
    random = np.random.default_rng(15)
    for truth, sensitivity, specificity, n in (
        (0.7, 0.95, 0.9, 60), (0.9, 0.95, 0.9, 60), (0.8, 0.98, 0.7, 60), (0.8, 0.98, 0.7, 300),
    ):  # fmt: skip
        missed, widths = 0, []
        for _ in range(runs):
            yes, no = (int(random.binomial(n, rate)) for rate in (sensitivity, specificity))
            said = random.random(400) < truth * sensitivity + (1 - truth) * (1 - specificity)
            looks = follow(said.astype(np.float64), alpha=ALPHA / 2, looks=(50, 150, 400))
            exam = ExamTable((1.0, 0.0), (1.0, 0.0), ((yes, n - yes), (n - no, no)))
            limits = [bounds((one.low, one.high), exam, ALPHA / 2) for one in looks]
            missed += not all(low <= truth <= high for low, high in limits)
            widths.append(limits[-1][1] - limits[-1][0])
        around = wilson(missed, runs)
        print(
            f"| {truth} | {sensitivity} | {specificity} | {n} + {n} | {missed / runs:.1%} |"
            f" {around.low:.1%} to {around.high:.1%} | {np.mean(widths):.3f} |"
        )


if __name__ == "__main__":
    parts = {"false": false_decisions, "calls": calls, "recorded": recorded, "judged": judged}
    for wanted in sys.argv[1:] or parts:
        parts[wanted]()
