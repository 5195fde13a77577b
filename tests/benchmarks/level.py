"""Measure the search for a model's level: coverage, and the questions that fixed levels need for the same width.

    python -m tests.benchmarks.level [cover|calls|stop|order]

`cover`: how often the 95 % interval holds the place where a known curve crosses one half, in 500 runs. `calls`: as
many questions of each rung, or of three levels, until the mean interval is as narrow. `stop`: coverage where the
search stops at a width, which is why it does not. `order`: how often falling curves are taken for others, and
others found. Steepness is in units of one over the scale's length: at 24, a curve falls from 90 to 10 % within 18 %
of the scale.
"""

import math
import sys
from collections.abc import Callable, Iterator
from statistics import fmean

import numpy as np

from metrics.stats.intervals import Codes, Floats, wilson
from metrics.stats.psychometric import CurveGrid, order

RUNGS = 12
QUESTIONS = 40
ROUND = 4
RUNS = 500
MOST = 1600
"""Questions of a fixed design that are tried."""
Curve = Callable[[float], Floats]
"""The chance to be right at each rung, by the place where it is one half."""


def logistic(steepness: float, floor: float = 0.0, lapses: float = 0.0) -> Curve:
    """Return logistic curves that fall from 1 - lapses to floor."""
    slope = steepness / RUNGS
    share = (0.5 - floor) / (1 - floor - lapses)

    def curve(place: float) -> Floats:
        away = slope * (place - np.arange(1, RUNGS + 1)) + math.log(share / (1 - share))
        return np.asarray(floor + (1 - floor - lapses) / (1 + np.exp(-away)))

    return curve


def normal(steepness: float) -> Curve:
    """Return curves of another form: a normal distribution's, as steep in the middle."""
    slope = steepness / RUNGS * math.sqrt(2 * math.pi) / 4

    def curve(place: float) -> Floats:
        return np.array([0.5 * math.erfc(-slope * (place - rung) / math.sqrt(2)) for rung in range(1, RUNGS + 1)])

    return curve


CURVES: dict[str, tuple[Curve, float]] = {
    **{f"logistic, steepness {steepness}": (logistic(steepness), 0.0) for steepness in (6, 12, 18, 24, 36, 48, 96)},
    "normal, steepness 24": (normal(24), 0.0),
    "logistic, 24, a tenth of slips": (logistic(24, lapses=0.1), 0.0),
    "logistic, 24, guesses 1/5, declared": (logistic(24, floor=0.2), 0.2),
    "logistic, 24, guesses 1/5, not declared": (logistic(24, floor=0.2), 0.0),
    "logistic, 24, guesses 1/5 declared, none made": (logistic(24), 0.2),
}


def searched(
    search: CurveGrid, shares: Floats, random: np.random.Generator, questions: int = QUESTIONS, narrow: float = 0.0
) -> tuple[Codes, Codes]:
    """Search a scripted model's level; return how many of each rung were asked, and were right."""
    asked, right = np.zeros(RUNGS, np.int64), np.zeros(RUNGS, np.int64)
    while (left := questions - int(asked.sum())) > 0:
        plan = search.ask(asked, right, min(ROUND if asked.any() else RUNGS, left))
        right = right + random.binomial(plan, shares)
        asked = asked + plan
        if narrow and width(search, asked, right) <= narrow:
            break
    return asked, right


def ends(search: CurveGrid, asked: Codes, right: Codes) -> tuple[float, float]:
    """Return the interval, also where it leaves the scale."""
    low, high = search.quantiles(search.posterior(asked, right), (0.025, 0.975))
    return low, high


def width(search: CurveGrid, asked: Codes, right: Codes) -> float:
    """Return the interval's width within the scale and half a rung around it."""
    low, high = ends(search, asked, right)
    return min(high, RUNGS + 0.5) - max(low, 0.5)


def _runs(runs: int = RUNS) -> Iterator[tuple[np.random.Generator, float]]:
    for seed in range(runs):
        random = np.random.default_rng([15, seed])
        yield random, float(random.uniform(1, RUNGS))


def _trial(curve: Curve, chance: float, narrow: float = 0.0, runs: int = RUNS) -> tuple[int, float, float, float]:
    """Return how many intervals hold the truth, their mean width, the mean error, and the mean questions."""
    search = CurveGrid([chance] * RUNGS)
    held, widths, errors, questions = 0, [], [], []
    for random, place in _runs(runs):
        asked, right = searched(search, curve(place), random, narrow=narrow)
        low, high = ends(search, asked, right)
        (middle,) = search.quantiles(search.posterior(asked, right), (0.5,))
        held += low <= place <= high
        widths.append(width(search, asked, right))
        errors.append(abs(middle - place))
        questions.append(int(asked.sum()))
    return held, fmean(widths), fmean(errors), fmean(questions)


def cover() -> None:
    """Print coverage on every curve."""
    print(f"{RUNS} runs each, {RUNGS} rungs, {QUESTIONS} questions, places drawn over the whole scale")
    print("| curve | covers | 95 % interval | mean width | mean error |\n|:--|--:|:--|--:|--:|")
    total = 0
    for name, (curve, chance) in CURVES.items():
        held, wide, error, _ = _trial(curve, chance)
        total += held
        around = wilson(held, RUNS)
        print(f"| {name} | {held / RUNS:.1%} | {around.low:.1%} to {around.high:.1%} | {wide:.2f} | {error:.2f} |")
    print(f"all: {total} of {RUNS * len(CURVES)}")


def _fixed(search: CurveGrid, curve: Curve, questions: int, rungs: Codes, runs: int) -> float:
    """Return the mean width where the same number of questions goes to each of some rungs."""
    plan = np.zeros(RUNGS, np.int64)
    plan[rungs] = questions // len(rungs)
    plan[rungs[: questions % len(rungs)]] += 1
    return fmean(
        width(search, plan, random.binomial(plan, curve(place)).astype(np.int64)) for random, place in _runs(runs)
    )


def _needed(search: CurveGrid, curve: Curve, goal: float, rungs: Codes, runs: int = 150) -> int:
    """Return how many questions such a design needs for a mean width; `MOST` + 1 where that is not enough."""
    if _fixed(search, curve, MOST, rungs, runs) > goal:
        return MOST + 1
    low, high = len(rungs), MOST
    while high - low > max(2, low // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if _fixed(search, curve, middle, rungs, runs) <= goal else (middle, high)
    return high


def calls() -> None:
    """Print the questions that fixed levels need for the width that the search comes to."""
    print("| curve | mean width | searching | every rung | three levels |\n|:--|--:|--:|--:|--:|")
    for name, (curve, chance) in CURVES.items():
        search = CurveGrid([chance] * RUNGS)
        wide = _trial(curve, chance, runs=200)[1]
        every = _needed(search, curve, wide, np.arange(RUNGS))
        three = _needed(search, curve, wide, np.array([1, 5, 9]))
        shown = three if three <= MOST else f"over {MOST}"
        print(f"| {name} | {wide:.2f} | {QUESTIONS} | {every} | {shown} |")


def stop() -> None:
    """Print coverage where the search stops as soon as the interval is narrow enough."""
    print("| curve | covers, stopped at 2 rungs | questions |\n|:--|--:|--:|")
    for name, (curve, chance) in CURVES.items():
        held, _, _, questions = _trial(curve, chance, narrow=2.0)
        print(f"| {name} | {held / RUNS:.1%} | {questions:.0f} |")


def _dent(place: float) -> Floats:
    """Return a curve that is wrong on the four easiest rungs as well."""
    shares = logistic(24)(max(place, 8.0))
    shares[:4] = 0.1
    return shares


def alarms() -> None:
    """Print how often shares are found to contradict the scale."""
    print("| curve | found contrary | 95 % interval |\n|:--|--:|:--|")
    listed = {**CURVES, "not falling: the four easiest rungs at 10 %": (_dent, 0.0)}
    for name, (curve, chance) in listed.items():
        search = CurveGrid([chance] * RUNGS)
        found = sum(order(*searched(search, curve(place), random)).p <= 0.05 for random, place in _runs(200))
        around = wilson(found, 200)
        print(f"| {name} | {found / 200:.1%} | {around.low:.1%} to {around.high:.1%} |")


if __name__ == "__main__":
    parts = {"cover": cover, "calls": calls, "stop": stop, "order": alarms}
    for name in sys.argv[1:] or parts:
        parts[name]()
