"""Measure corrected means: do intervals hold their level where a judge's errors are known; what do labels buy.

    python -m tests.benchmarks.calibration [shares|ratings|labels|flawless]

Judges err with 0 to 40 % in either direction, where sensitivity + specificity is 1.4 or more; the truth lies in
0.1 to 0.9; each cell is 2 000 evaluations. `shares`: of yes/no verdicts, exams of 50, 100 and 300 questions of
either truth; beside it the raw share with Wilson's interval. `ratings`: three-way verdicts. `labels`: the
prediction-powered mean of 1 000 samples with 50, 100 and 300 labels, beside the labels alone and the plain form
(normal quantiles): over the evaluations that have an interval, and over all, where one without is not counted as
wrong; then the coverage of every cell. `flawless`: by exact computation, what any interval can cover at most, in
evaluations whose labels show no error of the judge, if a judge without errors is to be covered in 98 % at most.
"""

import itertools
import sys

import numpy as np
from scipy.special import bdtr

from basic_control.metrics.stats.calibration import mean_limits, share_limits
from basic_control.metrics.stats.intervals import Floats, Z, score_limits
from basic_control.metrics.stats.labelled import FEWEST, Moments, choose_lambda, compute_limits, mean_at, moments

TRIALS = 2000
ERRORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
TRUTHS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9)
SIZES = (50, 100, 300)
SAMPLES = 1000

JUDGES = [
    (1 - a, 1 - b) for a, b in itertools.product(ERRORS, ERRORS) if a + b <= 0.6 + 1e-9
]  # sensitivity + specificity of 1.4 or more


def _line(name: str, found: list[float]) -> None:
    cells = np.array(found)
    within = ((cells >= 0.92) & (cells <= 0.98)).mean()
    print(
        f"{name:46}{len(cells):6}{cells.mean():8.3f}{cells.min():8.3f}{cells.max():8.3f}"
        f"{within:9.2f}{(cells < 0.92).mean():9.2f}"
    )


Cells = dict[tuple[float, float, float], float]
"""Coverage by sensitivity, specificity and truth."""


def _grid(cells: Cells) -> None:
    """Print the coverage of every cell in percent, a judge a line; a star where it is outside 92 to 98 %."""
    print(f"\n{'sensitivity, specificity; by the truth':46}" + "".join(f"{truth:>8}" for truth in TRUTHS))
    for yes, no in JUDGES:
        there = (cells.get((yes, no, truth)) for truth in TRUTHS)
        shown = ("–" if x is None else f"{100 * x:.1f}" + "*" * (not 0.92 <= x <= 0.98) for x in there)
        print(f"{f'{yes:.2f}, {no:.2f}':46}" + "".join(f"{x:>8}" for x in shown))


def _head(title: str) -> None:
    print(f"\n{title:46}{'cells':>6}{'mean':>8}{'least':>8}{'most':>8}{'92-98 %':>9}{'below':>9}")


def _held(low: Floats, high: Floats, truth: float) -> Floats:
    covered: Floats = ((low <= truth + 1e-9) & (truth - 1e-9 <= high)).astype(float)
    return covered


def shares() -> None:
    """Print the coverage of corrected shares, and of raw ones."""
    rng = np.random.default_rng(7)
    _head("corrected shares, coverage over cells")
    for n, size in itertools.product((100, SAMPLES), SIZES):
        ours, raw = [], []
        for (yes, no), truth in itertools.product(JUDGES, TRUTHS):
            said = rng.binomial(n, truth * yes + (1 - truth) * (1 - no), TRIALS) / n
            exam = [rng.binomial(size, rate, TRIALS) / size for rate in (yes, no)]
            given = exam[0] + exam[1] - 1 >= 0.2 - 1e-9
            full = [np.full(TRIALS, float(x)) for x in (n, size)]
            low, high = share_limits((said, full[0]), (exam[0], full[1]), (exam[1], full[1]))
            ours.append(float(_held(low, high, truth)[given].mean()))
            if (yes, no) != (1, 1):
                raw.append(float(_held(*score_limits(said, full[0]), truth).mean()))
        _line(f"{n} verdicts, exam of {size} + {size}", ours)
        _line("    the raw share of a judge that errs", raw)


_TABLES = {
    "85 %, errors to the neighbour": [[0.85, 0.15, 0.0], [0.1, 0.85, 0.05], [0.0, 0.15, 0.85]],
    "lenient": [[0.7, 0.2, 0.1], [0.05, 0.75, 0.2], [0.0, 0.05, 0.95]],
    "strict": [[0.95, 0.05, 0.0], [0.25, 0.7, 0.05], [0.1, 0.2, 0.7]],
}
_MIXES = ((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.1, 0.1, 0.8), (1 / 3, 1 / 3, 1 / 3))


def ratings() -> None:
    """Print the coverage of corrected means of three labels worth 0, 1/2 and 1 (200 evaluations a cell)."""
    rng = np.random.default_rng(11)
    values = np.array([0.0, 0.5, 1.0])
    _head("corrected three-way verdicts, coverage over cells")
    for size in SIZES:
        found = []
        for table, mix in itertools.product(_TABLES.values(), _MIXES):
            rates = np.array(table)
            said = rng.multinomial(300, np.array(mix) @ rates, 200).astype(float)
            exams = np.stack([rng.multinomial(size, row, 200) for row in rates], axis=1).astype(float)
            low, high = mean_limits(said, exams, values, rng, draws=300)
            found.append(float(_held(low, high, float(np.array(mix) @ values)).mean()))
        _line(f"300 verdicts, exam of {size} of each", found)


def labels() -> None:
    """Print the coverage and width of the prediction-powered mean."""
    rng = np.random.default_rng(13)
    widths: dict[tuple[int, float], list[tuple[float, float]]] = {}
    for size in SIZES:
        found: dict[str, list[float]] = {}
        cells: Cells = {}
        for (yes, no), truth in itertools.product(JUDGES, TRUTHS):
            human = (rng.random((TRIALS, size)) < truth).astype(float)
            said = np.where(human == 1, rng.random(human.shape) < yes, rng.random(human.shape) >= no).astype(float)
            rest = rng.binomial(SAMPLES - size, truth * yes + (1 - truth) * (1 - no), TRIALS)
            share = (said.sum(axis=1) + rest) / SAMPLES
            sums = moments(share, share * (1 - share), human, said, np.ones_like(human))
            rely = choose_lambda(sums, SAMPLES)
            low, high = compute_limits(sums, rely, SAMPLES)
            least, most = compute_limits(sums, np.zeros(TRIALS), SAMPLES)
            wider = high - low > most - least
            low, high = np.where(wider, least, low), np.where(wider, most, high)
            rare = np.minimum(human.sum(axis=1), size - human.sum(axis=1))
            given = rare >= FEWEST
            covered = _held(low, high, truth)
            plain = _plain(sums, rely, size)
            named = {
                "over all": np.where(given, covered, 1.0).mean(),
                "    plain, normal quantiles, over all": _held(*plain, truth).mean(),
            }
            if given.mean() >= 0.9:
                cells[yes, no, truth] = covered[given].mean()
                named["where 9 in 10 have an interval, of these"] = cells[yes, no, truth]
            for name, value in named.items():
                found.setdefault(name, []).append(float(value))
            alone = score_limits(sums.label, np.full(TRIALS, float(size)))
            ratio = float(((high - low)[given] / (alone[1] - alone[0])[given]).mean()) if given.any() else np.nan
            worst = float(((high - low)[given] / (alone[1] - alone[0])[given]).max(initial=0))
            widths.setdefault((size, yes if yes == no else 0.0), []).append((ratio, worst))
        _head(f"prediction-powered, {size} labels of {SAMPLES}")
        for name, listed in found.items():
            _line(name, listed)
        _grid(cells)
    print(f"\n{'width, as a share of the labels alone (Wilson)':46}{'least':>8}{'mean':>8}{'most':>8}{'any':>8}")
    for (size, right), pairs in sorted(widths.items()):
        ratios = np.array([ratio for ratio, _ in pairs])
        name = f"{size} labels, judges of {right:.0%}" if right else f"{size} labels, uneven judges"
        worst = max(most for _, most in pairs)
        print(f"{name:46}{np.nanmin(ratios):8.2f}{np.nanmean(ratios):8.2f}{np.nanmax(ratios):8.2f}{worst:8.2f}")
    _eighty_five(rng)


def flawless() -> None:
    """Print what any interval of 50 labels can cover at most, where a flawless judge is covered in 98 % at most.

    Where no label differs from the judge, all that is known is the judge's mean, so that the interval reaches from
    `below` it to `above` it. Of a judge that errs in one direction with a rate, evaluations that show an error may
    all be covered; the others are covered where the truth is still within these reaches.
    """
    size, rates = SIZES[0], np.arange(0.01, 0.41, 0.01)
    print(f"\n{f'{size} labels of {SAMPLES}: the most that can be had':46}{'truth':>8}{'as wide':>9}{'any':>8}")
    counts = np.arange(SAMPLES + 1)
    for truth in (0.3, 0.5, 0.7):
        means = {0.0: truth, **{e: truth * (1 - e) for e in rates}, **{-e: truth + (1 - truth) * e for e in rates}}
        within = {rate: bdtr(counts, SAMPLES, mean) for rate, mean in means.items()}
        hidden = {rate: (1 - abs(mean - truth)) ** size for rate, mean in means.items()}
        best = {"same": 0.0, "any": 0.0}
        centre = round(truth * SAMPLES)
        reaches = range(150)
        for below, above in itertools.product(reaches, reaches):
            covered = {rate: summed[centre + below] - summed[centre - above - 1] for rate, summed in within.items()}
            if covered[0.0] > 0.98:
                continue
            least = min(1 - hidden[rate] * (1 - one) for rate, one in covered.items())
            best["any"] = max(best["any"], least)
            if below == above:
                best["same"] = max(best["same"], least)
        print(f"{'':46}{truth:8}{best['same']:9.3f}{best['any']:8.3f}")


def _plain(sums: Moments, rely: Floats, size: int) -> tuple[Floats, Floats]:
    """Return the textbook limits: the estimate and its normal quantiles."""
    variance = (
        (sums.variance - 2 * rely * sums.common + rely**2 * sums.judge + rely**2 * sums.spread / SAMPLES)
        * size
        / (size - 1)
    )
    mean, half = mean_at(sums, rely), Z * np.sqrt(variance)
    return mean - half, mean + half


def _eighty_five(rng: np.random.Generator) -> None:
    """Print how much narrower a judge of 85 % makes the interval, by the truth."""
    print(f"\n{'a judge of 85 %: width, by the truth':46}" + "".join(f"{truth:>8}" for truth in TRUTHS))
    for size in SIZES:
        line = []
        for truth in TRUTHS:
            human = (rng.random((TRIALS, size)) < truth).astype(float)
            said = np.where(rng.random(human.shape) < 0.85, human, 1 - human)
            rest = rng.binomial(SAMPLES - size, 0.7 * truth + 0.15, TRIALS)
            share = (said.sum(axis=1) + rest) / SAMPLES
            sums = moments(share, share * (1 - share), human, said, np.ones_like(human))
            low, high = compute_limits(sums, choose_lambda(sums, SAMPLES), SAMPLES)
            alone = score_limits(sums.label, np.full(TRIALS, float(size)))
            count = human.sum(axis=1)
            given = np.minimum(count, size - count) >= FEWEST
            line.append(float(np.mean(((high - low) / (alone[1] - alone[0]))[given])) if given.any() else np.nan)
        print(f"{f'{size} labels':46}" + "".join(f"{x:8.2f}" for x in line))


MEASURED = {"shares": shares, "ratings": ratings, "labels": labels, "flawless": flawless}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or MEASURED:
        MEASURED[chosen]()
