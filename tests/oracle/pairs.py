"""A run against a baseline, by the rules alone (sections 9, 10 and 15): differences, tests, Holm and outcomes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import stats

from tests.oracle.cases import Sequel
from tests.oracle.rules import (
    ZERO,
    Headline,
    clusters_of,
    headline_names,
    headlines,
    mean,
    mean_of,
    units_of,
    weighted,
)

Key = tuple[str, str, str]
ALPHA = 0.05
SIDES = {"value": ("value", "value"), "worst": ("upper", "lower"), "best": ("lower", "upper")}
"""The ends of the baseline and of the run: what is scored, and what is missing or cut for the worst or the best."""
NEAR = 0.25
"""The rules do not say how exactly a sign-flip test is computed: so far from a level its p is the reported one."""


@dataclass(frozen=True)
class Tested:
    """How surely a difference is below the margin, and above it; `is_exact` where the rules name the test."""

    p_below: float
    p_above: float
    is_exact: bool = False


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
        """The share of the baseline's questions, of those that the score applies to, that both sides have."""
        sides = self.before, self.after
        before, after = ({text for text in side.parts[0][1].questions if side.applies(text)} for side in sides)
        return Fraction(len(before & after), len(before)) if before else Fraction(1)

    @property
    def is_identical(self) -> bool:
        """Whether all replies to the questions that are paired are the same, but for how they ended."""
        listed = []
        for side, name in ((self.before, self.earlier), (self.after, self.model)):
            questions = side.suite.questions
            listed.append({
                (questions[row].text, questions[row].answer, repeat): (reply.text, reply.failed)
                for (model, row, repeat), reply in side.suite.replies.items()
                if model == name and questions[row].text in self.paired["value"]
            })  # fmt: skip
        pairs = [(listed[0][key], listed[1][key]) for key in listed[0].keys() & listed[1].keys()]
        # A call that failed brought no reply, which might have been another one.
        return all(earlier == later and not earlier[1] for earlier, later in pairs)

    @cached_property
    def paired(self) -> dict[str, dict[str, tuple[Fraction, Fraction]]]:
        """Each question's difference by the metrics that both sides have of it, and its share, at each end.

        The mean is the metrics' by their weights, each the mean over the questions that are paired by it.
        """
        return {end: self._pair(*ends) for end, ends in SIDES.items()}

    def _pair(self, end_before: str, end_after: str) -> dict[str, tuple[Fraction, Fraction]]:
        weights = {part.metric: weight for weight, part in self.after.parts}
        gaps: dict[str, dict[str, Fraction | None]] = {}
        for (_, before), (_, after) in zip(self.before.parts, self.after.parts, strict=True):
            olds, news = before.values(end_before), after.values(end_after)
            for text in before.questions:
                if before.applies(text) and after.applies(text):
                    gap = news[text] - olds[text] if text in olds and text in news else None
                    gaps.setdefault(text, {})[before.metric] = gap
        whole = {text: by_metric for text, by_metric in gaps.items() if None not in by_metric.values()}
        numbers = Counter(metric for by_metric in whole.values() for metric in by_metric)
        rare = {metric: weights[metric] / n for metric, n in numbers.items()}
        shares = {text: sum((rare[metric] for metric in by_metric), ZERO) for text, by_metric in whole.items()}
        scale = len(whole) / sum(shares.values(), ZERO) if whole else ZERO
        return {
            text: (
                weighted((rare[metric], gap) for metric, gap in whole[text].items()) or ZERO,
                shares[text] * scale,
            )
            for text in self.before.parts[0][1].questions
            if text in whole
        }

    def mean(self, end: str) -> Fraction | None:
        return mean_of(gap * share for gap, share in self.paired[end].values())

    def is_equal(self, end: str) -> bool:
        return not any(gap for gap, _ in self.paired[end].values())

    def test(self, end: str, margin: Fraction, *, by_values: bool = False) -> Tested:
        """Test the difference against −margin, on both sides."""
        paired, units = self.paired[end], self.units(end)
        clusters = clusters_of(self.after.suite, paired)
        # Below five of them the questions are the units, as without any.
        is_clustered = len(clusters) >= 5
        lost, won = (sum(gap == sign for gap, _ in paired.values()) for sign in (-1, 1))
        if self.is_binary(end, by_values=by_values) and not is_clustered:
            if not margin:
                return Tested(binomial_tail(won + lost, lost), binomial_tail(won + lost, won), is_exact=True)
            chance = NormalDist().cdf(tango(len(paired), won, lost, -float(margin)))
            return Tested(chance, 1 - chance, is_exact=True)
        shifted = [(gap + margin) * share for gap, share in paired.values()]
        # A question that shares no template is a cluster of one.
        chance = student(shifted, units) if is_clustered and len(units) < 10 else None
        if chance is not None:
            return Tested(chance, 1 - chance)
        return Tested(*flipped([sum((shifted[place] for place in places), ZERO) for places in units]))

    def units(self, end: str) -> list[Sequence[int]]:
        return units_of(len(self.paired[end]), clusters_of(self.after.suite, self.paired[end]))

    def is_binary(self, end: str, *, by_values: bool) -> bool:
        """Return whether each question is right or wrong on both sides, once it is paired.

        The rules leave open whether a mean is so whose metrics agree on each question.
        """
        values: set[Fraction] = set()
        does_agree = True
        for side, at in zip((self.before, self.after), SIDES[end], strict=True):
            by_part = [part.values(at) for _, part in side.parts]
            for text in self.paired[end]:
                of_question = {by_text[text] for by_text in by_part if text in by_text}
                values |= of_question
                does_agree &= len(of_question) == 1
        parts = [part for side in (self.before, self.after) for _, part in side.parts]
        is_right_or_wrong = values <= {0, 1}
        if by_values:
            return is_right_or_wrong and does_agree
        return is_right_or_wrong and len(parts) == 2 and all(part.is_binary for part in parts)


def binomial_tail(n: int, k: int) -> float:
    return float(Fraction(sum(comb(n, count) for count in range(k, n + 1)), 2**n))


def tango(n: int, won: int, lost: int, margin: float) -> float:
    """Return Tango's score statistic of a paired difference of shares against a margin."""
    if not n:
        return 0.0
    a, b, c = 2 * n, -won - lost + (2 * n - won + lost) * margin, -lost * margin * (1 - margin)
    q = (sqrt(max(b * b - 4 * a * c, 0)) - b) / (2 * a)
    spread = n * (2 * q + margin - margin**2)
    return (won - lost - n * margin) / sqrt(spread) if spread > 0 else 0.0


def student(values: Sequence[Fraction], units: Sequence[Sequence[int]]) -> float | None:
    """Return where Student's t of a mean lies in its distribution; its error is that of the units' sums, if any."""
    middle = mean(values)
    apart = [float(sum(values[place] - middle for place in places)) for places in units]
    error = sqrt(sum(total**2 for total in apart) * len(units) / (len(units) - 1)) / len(values)
    return float(stats.t.cdf(float(middle) / error, len(units) - 1)) if error > 1e-12 else None


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
    totals = np.zeros(1)
    for size in sizes:
        totals = np.concatenate([totals + size, totals - size])
    return totals


def holm_steps(chances: Sequence[float]) -> list[tuple[float, float]]:
    """Return Holm's level and adjusted chance of each: the first that is not significant sets all later levels."""
    steps, level, highest, is_open = [(ALPHA, 1.0)] * len(chances), ALPHA, 0.0, True
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        n_left = len(chances) - rank
        highest = max(highest, min(1.0, chances[place] * n_left))
        level = ALPHA / n_left if is_open else level
        is_open = is_open and chances[place] < level
        steps[place] = level, highest
    return steps


def outcomes_at(lines: Sequence[Line], end: str, margin: Fraction, factor: float, *, by_values: bool) -> list[str]:
    """Return the lines' outcomes at an end; `factor` is by how much a sampled chance may be off."""
    below, above, held = [], [], []
    for line in lines:
        test, is_equal = line.test(end, margin, by_values=by_values), line.is_equal(end)
        off = 1.0 if test.is_exact else factor
        below.append(min(test.p_below * off, 1.0))
        above.append(float((1 - margin) ** len(line.units(end))) if is_equal else min(test.p_above * off, 1.0))
        held.append(is_equal and (line.is_identical or not margin))
    listed = zip(holm_steps(below), holm_steps(above), held, strict=True)
    return [
        "regressed" if low[1] <= ALPHA else "held" if high[1] <= ALPHA or equal else "undecided"
        for low, high, equal in listed
    ]


def outcomes(lines: Sequence[Line], max_drop: float, *, is_allowed: bool) -> dict[Key, set[str]]:
    """Return what the lines may come to: one outcome each, but where a sampled chance is near a level.

    Holm's correction is over all lines of a comparison (section 9), or over a model's (section 10: its headlines).
    Values that are all 0 or 1 may be tested as yes/no, or by their metric where it is a graded one.
    """
    margin = Fraction(str(max_drop))
    allowed: dict[Key, set[str]] = {line.key: set() for line in lines}
    # Without a pair nothing is tested, and Holm has one test less.
    for line in lines:
        if not line.paired["value"]:
            allowed[line.key].add("undecided")
    lines = [line for line in lines if line.paired["value"]]
    families = [
        lines,
        *([line for line in lines if line.model == model] for model in {line.model for line in lines}),
    ]
    for family, factor, by_values in product(families, (1 - NEAR, 1.0, 1 + NEAR), (False, True)):
        by_end = [outcomes_at(family, end, margin, factor, by_values=by_values) for end in SIDES]
        for line, at_ends in zip(family, zip(*by_end, strict=True), strict=True):
            outcome = at_ends[0] if len({*at_ends}) == 1 else "undecided"
            is_short = line.share < Fraction(95, 100) and not is_allowed
            allowed[line.key].add("undecided" if outcome == "held" and is_short else outcome)
    return allowed


def lines_of(sequel: Sequel) -> tuple[list[Line], list[Any]]:
    """Return the headlines that both sides have, and what of the baseline is missing."""
    before, after = sequel.before, sequel.after
    names = {name: name for name in before.models if name in after.models}
    if len(before.models) == len(after.models) == 1:
        names = {before.models[0]: after.models[0]}
    by_name = {suite.name: suite for suite in after.suites}
    missing = [name for name in before.models if name not in names]
    missing += [suite.name for suite in before.suites if suite.name not in by_name]
    lines = []
    for old, (model, later) in product(before.suites, names.items()):
        if new := by_name.get(old.name):
            earlier_scores, later_scores = (
                headlines(old, model, before.repeats),
                headlines(new, later, after.repeats),
            )
            shared = [name for name in headline_names(new) if name in earlier_scores]
            paired = [Line(earlier_scores[name], later_scores[name], later, model) for name in shared]
            # What applies to no row any more is missing.
            missing += [line.key for line in paired if any(line.before.rows) and not any(line.after.rows)]
            lines += [line for line in paired if any(line.before.rows) and any(line.after.rows)]
    return lines, missing
