"""A run against a baseline, by the rules alone (sections 9, 10 and 15): differences, tests, Holm and outcomes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import comb, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import stats

from tests.oracle.draws import Reply, Run, headline_names
from tests.oracle.rules import Headline, clusters_of, headlines, mean

Key = tuple[str, str, str]
ALPHA = 0.05
SIDES = {"value": ("value", "value"), "worst": ("upper", "lower"), "best": ("lower", "upper")}
"""The ends of the baseline and of the run: what is scored, and what is missing or cut for the worst or the best."""

NEAR = 0.25
"""The rules do not say how exactly a sign-flip test is computed: so far from a level its p is the reported one."""


@dataclass(frozen=True)
class Sequel:
    """A run, and one after it that is compared with it; `changed` is a rule that differs, if any."""

    before: Run
    after: Run
    max_drop: float
    changed: str = ""
    is_allowed: bool = False


@dataclass(frozen=True)
class Tested:
    """How surely a difference is below the margin, and above it; `is_exact` where the rules name the test."""

    p_below: float
    p_above: float
    is_exact: bool


@dataclass(frozen=True)
class Line:
    """A headline of a model on both sides; `earlier` is its name in the baseline."""

    before: Headline
    after: Headline
    model: str
    earlier: str

    @property
    def key(self) -> Key:
        """What the line is called: its model, suite and score."""
        return self.model, self.after.suite.name, self.after.name

    @property
    def share(self) -> Fraction:
        """The share of the baseline's questions that the run has in common with it."""
        texts = [{question.text for question in side.suite.questions} for side in (self.before, self.after)]
        return Fraction(len(texts[0] & texts[1]), len(texts[0]))

    @property
    def is_identical(self) -> bool:
        """Whether all replies to the questions that are paired are the same."""
        replies = [replies_of(self.before, self.earlier), replies_of(self.after, self.model)]
        paired = self.differences("worst")
        shared = [key for key in replies[0].keys() & replies[1].keys() if key[0] in paired]
        return all(replies[0][key] == replies[1][key] for key in shared)

    def is_equal(self, end: str) -> bool:
        """Whether no question differs."""
        return not any(self.differences(end).values())

    def n_units(self, end: str) -> int:
        """Return the number of independent differences."""
        values = self.differences(end)
        return len(units_of(len(values), clusters_of(self.after.suite, values)))

    def differences(self, end: str) -> dict[str, Fraction]:
        """Return run − baseline of each question that both have, at an end, by its share."""
        return {text: gap * share for text, (gap, share) in self.paired(end).items()}

    def paired(self, end: str) -> dict[str, tuple[Fraction, Fraction]]:
        """Return each question's difference by the metrics that both sides have of it, and its share of the mean.

        The mean is the metrics' by their weights, each the mean over the questions that are paired by it.
        """
        gaps: dict[str, dict[str, Fraction | None]] = {}
        for (_, old), (_, new) in zip(self.before.parts, self.after.parts, strict=True):
            olds, news = (part.values(at) for part, at in zip((old, new), SIDES[end], strict=True))
            for text in old.applying & new.applying:
                is_missing = text not in olds or text not in news
                gaps.setdefault(text, {})[old.metric] = None if is_missing else news[text] - olds[text]
        whole = {text: by_metric for text, by_metric in gaps.items() if None not in by_metric.values()}
        numbers = Counter(metric for by_metric in whole.values() for metric in by_metric)
        rare = {
            part.metric: weight / numbers[part.metric] for weight, part in self.after.parts if numbers[part.metric]
        }
        shares = {text: sum(map(rare.__getitem__, by_metric), Fraction(0)) for text, by_metric in whole.items()}
        total = sum(shares.values(), Fraction(0))
        return {
            text: (
                sum((rare[metric] * (gap or 0) for metric, gap in whole[text].items()), Fraction(0)) / shares[text],
                shares[text] * len(whole) / total,
            )
            for text in (text for text in self.before.parts[0][1].questions if text in whole)
        }

    def test(self, end: str, margin: Fraction) -> Tested:
        """Test the difference against −margin, on both sides."""
        found = self.differences(end)
        clusters = clusters_of(self.after.suite, found)
        values = [side.values(at) for side, at in zip((self.before, self.after), SIDES[end], strict=True)]
        whole = {value for side in values for text, value in side.items() if text in found} <= {0, 1}
        lost, won = (sum(one == sign for one in found.values()) for sign in (-1, 1))
        if self.is_binary and whole and not clusters:
            if not margin:
                return Tested(binomial_tail(won + lost, lost), binomial_tail(won + lost, won), is_exact=True)
            z = tango(len(found), won, lost, -float(margin))
            return Tested(NormalDist().cdf(z), 1 - NormalDist().cdf(z), is_exact=True)
        shifted = [(gap + margin) * share for gap, share in self.paired(end).values()]
        units = units_of(len(found), clusters)
        if 5 <= len(clusters) < 10 and len({*shifted}) > 1:
            at = student(shifted, units, len(clusters) - 1)
            return Tested(at, 1 - at, is_exact=False)
        sums = [sum((shifted[place] for place in places), Fraction(0)) for places in units]
        return Tested(*flipped(sums), is_exact=False)

    @property
    def is_binary(self) -> bool:
        """Whether each question is right or wrong."""
        parts = [part for side in (self.before, self.after) for _, part in side.parts]
        return len(parts) == 2 and all(part.is_binary for part in parts)


def replies_of(side: Headline, model: str) -> dict[tuple[str, str, int], Reply]:
    """Return a model's replies, but for how they ended, by question, label and repeat."""
    questions = side.suite.questions
    return {
        (questions[row].text, questions[row].answer, repeat): replace(reply, cut=False, cause="", state="", of="")
        for (name, row, repeat), reply in side.suite.replies.items()
        if name == model
    }


def units_of(n: int, clusters: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the places of each unit's questions: from five clusters on, these are units."""
    grouped = clusters if len(clusters) >= 5 else ()
    alone = sorted(set(range(n)) - {place for places in grouped for place in places})
    return [*grouped, *((place,) for place in alone)]


def binomial_tail(n: int, k: int) -> float:
    """Return the chance of k or more heads of n."""
    return float(Fraction(sum(comb(n, count) for count in range(k, n + 1)), 2**n))


def tango(n: int, won: int, lost: int, margin: float) -> float:
    """Return Tango's score statistic of a paired difference of shares against a margin."""
    if not n:
        return 0.0
    a, b, c = 2 * n, -won - lost + (2 * n - won + lost) * margin, -lost * margin * (1 - margin)
    q = (sqrt(max(b * b - 4 * a * c, 0)) - b) / (2 * a)
    spread = n * (2 * q + margin - margin**2)
    return (won - lost - n * margin) / sqrt(spread) if spread > 0 else 0.0


def student(values: Sequence[Fraction], units: Sequence[Sequence[int]], freedom: int) -> float:
    """Return where Student's t of a mean lies in its distribution; its error is that of the units' sums."""
    middle = mean(values)
    apart = [float(sum(values[place] - middle for place in places)) for places in units]
    error = sqrt(sum(total**2 for total in apart) * len(units) / (len(units) - 1)) / len(values)
    return float(stats.t.cdf(float(middle) / error, freedom))


def flipped(sums: Sequence[Fraction]) -> tuple[float, float]:
    """Return the shares of all choices of signs whose total is at most, and at least, the one that was seen."""
    sizes = [abs(float(total)) for total in sums if total]
    seen, half = float(sum(sums)), len(sizes) // 2
    first, second = (np.sort(signed(part)) for part in (sizes[:half], sizes[half:]))
    n_below = np.searchsorted(second, seen - first + 1e-9, side="right").sum()
    n_under = np.searchsorted(second, seen - first - 1e-9, side="left").sum()
    n = len(first) * len(second)
    return float(n_below / n), float(1 - n_under / n)


def signed(sizes: Sequence[float]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return the totals of all choices of signs."""
    totals = np.zeros(1)
    for size in sizes:
        totals = np.concatenate([totals + size, totals - size])
    return totals


def holm(chances: Sequence[float]) -> list[bool]:
    """Return which are significant with Holm's correction."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    significant = [False] * len(chances)
    for rank, place in enumerate(order):
        if chances[place] > ALPHA / (len(chances) - rank):
            break
        significant[place] = True
    return significant


def outcomes_at(lines: Sequence[Line], end: str, margin: Fraction, factor: float) -> list[str]:
    """Return the lines' outcomes at an end; `factor` is by how much a sampled chance may be off."""
    tests = [line.test(end, margin) for line in lines]
    factors = [1.0 if test.is_exact else factor for test in tests]
    below = [min(test.p_below * off, 1.0) for test, off in zip(tests, factors, strict=True)]
    above = [min(test.p_above * off, 1.0) for test, off in zip(tests, factors, strict=True)]
    is_held = [line.is_equal(end) and (line.is_identical or not margin) for line in lines]
    for place, line in enumerate(lines):
        if line.is_equal(end):
            above[place] = float((1 - margin) ** line.n_units(end))
    fallen, held = holm(below), holm(above)
    listed = zip(fallen, held, is_held, strict=True)
    return ["regressed" if low else "held" if high or equal else "undecided" for low, high, equal in listed]


def outcomes(lines: Sequence[Line], max_drop: float, *, is_allowed: bool) -> dict[Key, set[str]]:
    """Return what the lines may come to: one outcome each, but where a sampled chance is near a level.

    Holm's correction is over all lines of a comparison (section 9), or over a model's (section 10: its headlines).
    """
    margin = Fraction(str(max_drop))
    allowed: dict[Key, set[str]] = {line.key: set() for line in lines}
    families = [
        lines,
        *([line for line in lines if line.model == model] for model in {line.model for line in lines}),
    ]
    for family, factor in product(families, (1 - NEAR, 1.0, 1 + NEAR)):
        by_end = [outcomes_at(family, end, margin, factor) for end in SIDES]
        for line, found in zip(family, zip(*by_end, strict=True), strict=True):
            outcome = found[0] if len({*found}) == 1 else "undecided"
            is_short = line.share < Fraction(95, 100) and not is_allowed
            allowed[line.key].add("undecided" if outcome == "held" and is_short else outcome)
    return allowed


def lines_of(sequel: Sequel) -> tuple[list[Line], list[str]]:
    """Return the headlines that both sides have, and what of the baseline is missing."""
    before, after = sequel.before, sequel.after
    names = {name: name for name in before.models if name in after.models}
    if len(before.models) == len(after.models) == 1:
        names = {before.models[0]: after.models[0]}
    missing = [name for name in before.models if name not in names]
    by_name = {suite.name: suite for suite in after.suites}
    missing += [suite.name for suite in before.suites if suite.name not in by_name]
    lines = []
    for old in before.suites:
        new = by_name.get(old.name)
        if new is None:
            continue
        missing += [metric for metric in old.metrics if metric not in new.metrics]
        for model, later in names.items():
            earlier_lines, later_lines = headlines(old, model, before.repeats), headlines(new, later, after.repeats)
            lines += [
                Line(earlier_lines[name], later_lines[name], later, model)
                for name in headline_names(new)
                if name in earlier_lines
            ]
    return lines, missing
