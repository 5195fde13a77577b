"""Two sides in pairs, by the rules alone (sections 9, 10 and 15): differences, tests, Holm and outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from scipy import stats

from tests.oracle.rules import Array, Headline, Within, code_units, headlines_of, list_headlines
from tests.oracle.world import Sequel

Key = tuple[str, str, str, str]
"""A suite, a score, the model and the one that it is compared with."""
ALPHA = 0.05
SIDES = {"difference": (0, 0), "low": (2, 1), "high": (1, 2)}
"""The ends of the baseline and of the run: what is scored, and what is missing or cut for the worst or the best."""
NEAR = 0.25
"""The rules do not say how exactly a sign-flip test is computed: so far from a level its p is the reported one."""


Tested = tuple[float, float, bool]
"""How surely a difference is below the margin, and above it, and whether the rules name the test."""


@dataclass(frozen=True)
class Line:
    """A score of a model on both sides; `earlier` is its name in the baseline, or of the other model."""

    before: Headline
    after: Headline
    model: str
    earlier: str

    @property
    def key(self) -> Key:
        return self.after.suite, self.after.name, self.model, self.earlier

    @property
    def is_short(self) -> bool:
        """Whether both sides have less than 95 % of the baseline's questions that the score applies to."""
        before, after = ({text for it in side.columns for text in it.values} for side in (self.before, self.after))
        return len(before & after) < 0.95 * len(before)

    @property
    def is_identical(self) -> bool:
        """Whether all replies that are scored to the questions that are paired are the same texts."""
        sides, texts = [], {*self.ends["difference"].texts}
        for side, name in ((self.before, self.earlier), (self.after, self.model)):
            suite, columns, replies = side.columns[0].suite, side.columns, dict[Any, str | None]()
            idle = {""} if len(columns) > 1 else {"", columns[0].metric}
            for (model, row, repeat), reply in suite.replies.items():
                question, is_idle = suite.questions[row], reply.state == "not_applicable" and reply.of in idle
                if model == name and question.text in texts and not is_idle:
                    replies[question.text, question.answer, repeat] = None if reply.failed else reply.text
            sides.append(replies)
        # A call that failed brought no reply, which might have been another one.
        return sides[0] == sides[1] and None not in sides[0].values()

    @cached_property
    def ends(self) -> dict[str, "Gaps"]:
        return {end: self._pair(*ends) for end, ends in SIDES.items()}

    def _pair(self, end_before: int, end_after: int) -> "Gaps":
        """Pair the questions that both sides have by all metrics that apply to them on both."""
        columns = [*zip(self.before.columns, self.after.columns, strict=True)]
        by_text: dict[str, Array] = {}
        for part, (before, after) in enumerate(columns):
            for text in before.values.keys() & after.values.keys():
                pair = before.values[text][end_before], after.values[text][end_after]
                by_text.setdefault(text, np.full((len(columns), 2), np.inf))[part] = pair
        texts = [text for text in by_text if not np.isnan(by_text[text]).any()]
        paired = {it.suite.name for it in self.after.columns if not it.values.keys().isdisjoint(texts)}
        if {it.suite.name for it in self.after.columns} - paired:  # a mean over suites needs a pair of each
            texts = []
        sides = np.array([by_text[text] for text in texts]).reshape(-1, len(columns), 2)
        applies = np.isfinite(sides[:, :, 0])
        # The mean is the metrics' by their weights, each the mean over the questions that are paired by it.
        rare = applies * ([weight for weight, _ in self.after.parts] / np.maximum(applies.sum(0), 1))
        shares, gaps = rare.sum(1), np.where(applies, sides[:, :, 1] - np.where(applies, sides[:, :, 0], 0), 0)
        gap = (rare * gaps).sum(1) / shares
        units, n_shared = code_units(self.after.columns, texts)
        kinds = [{*side[np.isfinite(side)].round(9)} for side in sides.transpose(0, 2, 1).reshape(-1, len(columns))]
        is_right_or_wrong = all(values <= {0, 1} for values in kinds)
        is_binary = len(columns) == 1 and all(column.is_binary for column in columns[0])
        # The rules leave open whether a mean is yes/no whose metrics agree on each question.
        kind = is_right_or_wrong and is_binary, is_right_or_wrong and all(len(values) == 1 for values in kinds)
        return Gaps(texts, gap.round(12), shares * len(shares) / (shares.sum() or 1), units, n_shared, kind)


@dataclass(frozen=True)
class Gaps:
    """Each paired question's difference, its share, and its unit; whether all are yes/no, by metric or by value."""

    texts: Sequence[str]
    gaps: Array
    shares: Array
    units: Array
    n_shared: int
    is_binary: tuple[bool, bool]

    def test(self, margin: float, *, by_values: bool = False) -> Tested:
        """Test the difference against −margin, on both sides."""
        lost, won, n = (self.gaps == -1).sum(), (self.gaps == 1).sum(), len(self.gaps)
        if self.n_shared < 5 and self.is_binary[by_values]:
            if not margin:
                p_below, p_above = (float(stats.binom.sf(it - 1, won + lost, 0.5)) for it in (lost, won))
                return p_below, p_above, True
            chance = float(stats.norm.cdf(tango(n, int(won), int(lost), -margin)))
            return chance, 1 - chance, True
        sums = np.bincount(self.units, (self.gaps + margin) * self.shares)
        if self.n_shared >= 5 and len(sums) < 10:  # a question that shares no template is a cluster of one
            apart = sums - np.bincount(self.units, self.shares) * sums.sum() / n
            error = sqrt((apart**2).sum() * len(sums) / (len(sums) - 1))
            if error > 1e-12:
                chance = float(stats.t.cdf(sums.sum() / error, len(sums) - 1))
                return chance, 1 - chance, False
        return flip(sums)


def tango(n: int, won: int, lost: int, margin: float) -> float:
    """Return Tango's score statistic of a paired difference of shares against a margin."""
    if not n:
        return 0.0
    a, b, c = 2 * n, -won - lost + (2 * n - won + lost) * margin, -lost * margin * (1 - margin)
    q = (sqrt(max(b * b - 4 * a * c, 0)) - b) / (2 * a)
    spread = n * (2 * q + margin - margin**2)
    return (won - lost - n * margin) / sqrt(spread) if spread > 0 else 0.0


def flip(sums: Array) -> Tested:
    """Return the shares of all choices of signs whose total is at most, and at least, the one that was seen."""
    sizes, halves = sums[np.abs(sums) > 1e-12], []
    for part in (sizes[::2], sizes[1::2]):
        totals = np.zeros(1)
        for size in part:
            totals = np.concatenate([totals + size, totals - size])
        halves.append(np.sort(totals))
    n, total = len(halves[0]) * len(halves[1]), sizes.sum()
    n_below = np.searchsorted(halves[1], total - halves[0] + 1e-9, side="right").sum()
    n_under = np.searchsorted(halves[1], total - halves[0] - 1e-9, side="left").sum()
    return float(n_below / n), float(1 - n_under / n), False


def holm_steps(chances: Sequence[float]) -> list[tuple[float, float]]:
    """Return Holm's level and adjusted chance of each: the first that is not significant sets all later levels."""
    steps, level, highest, is_open = [(ALPHA, 1.0)] * len(chances), ALPHA, 0.0, True
    for rank, at in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        n_left = len(chances) - rank
        highest = max(highest, min(1.0, chances[at] * n_left))
        level = ALPHA / n_left if is_open else level
        is_open = is_open and chances[at] < level
        steps[at] = level, highest
    return steps


def decide_lines(lines: Sequence[Line], max_drop: float, *, is_allowed: bool) -> dict[Key, set[str]]:
    """Return what the lines may come to: one outcome each, but where a sampled chance is near a level.

    Holm's correction is over all lines with a pair (section 9). Values that are all 0 or 1 may be tested as yes/no,
    or by their metric where it is a graded one.
    """
    allowed = {line.key: set[str]() for line in lines}
    tested = [line for line in lines if line.ends["difference"].texts]
    for factor, by_values in product((1 - NEAR, 1.0, 1 + NEAR), (False, True)):
        by_end = [_decide_at(tested, end, max_drop, factor, by_values=by_values) for end in SIDES]
        for line, at_ends in zip(tested, zip(*by_end, strict=True), strict=True):
            outcome = at_ends[0] if len({*at_ends}) == 1 else "undecided"
            is_short = line.is_short and not is_allowed
            allowed[line.key].add("undecided" if outcome == "held" and is_short else outcome)
    return {key: outcomes or {"undecided"} for key, outcomes in allowed.items()}


def _decide_at(lines: Sequence[Line], end: str, margin: float, factor: float, *, by_values: bool) -> list[str]:
    """Return the lines' outcomes at an end; `factor` is by how much a sampled chance may be off."""
    below, above, held = [], [], []
    for line in lines:
        gaps = line.ends[end]
        (p_below, p_above, is_exact), is_equal = gaps.test(margin, by_values=by_values), not gaps.gaps.any()
        off = 1.0 if is_exact else factor
        below.append(min(p_below * off, 1.0))
        above.append((1 - margin) ** len({*gaps.units}) if is_equal else min(p_above * off, 1.0))
        held.append(is_equal and (line.is_identical or not margin))
    steps = zip(holm_steps(below), holm_steps(above), held, strict=True)
    return [
        "regressed" if low[1] <= ALPHA else "held" if high[1] <= ALPHA or is_held else "undecided"
        for low, high, is_held in steps
    ]


def lines_of(sequel: Sequel) -> tuple[list[Line], list[Any]]:
    """Return the headlines that both sides have, and what of the baseline is missing."""
    before, after = sequel.before, sequel.after
    names = {name: name for name in before.models if name in after.models}
    if len(before.models) == len(after.models) == 1:
        names = {before.models[0]: after.models[0]}
    by_name = {suite.name: suite for suite in after.suites}
    missing: list[Any] = [name for name in before.models if name not in names]
    missing += [suite.name for suite in before.suites if suite.name not in by_name]
    lines = []
    for old, (model, later) in product(before.suites, names.items()):
        if new := by_name.get(old.name):
            olds, news = headlines_of(old, model, before.repeats), headlines_of(new, later, after.repeats)
            paired = [Line(olds[name], news[name], later, model) for name in list_headlines(new) if name in olds]
            # What applies to no row any more is missing.
            missing += [line.key for line in paired if line.before.leaves and not line.after.leaves]
            lines += [line for line in paired if line.before.leaves and line.after.leaves]
    return lines, missing


def expect_pair(line: Line) -> dict[str, Any]:
    """Return what is said of a difference, of two models or of a run and its baseline."""
    gaps = line.ends["difference"]
    if not gaps.texts:
        return {"n": 0, "difference": None}
    expected: dict[str, Any] = {
        "n": len(gaps.texts),
        **{end: float((it.gaps * it.shares).mean()) for end, it in line.ends.items()},
    }
    if not line.after.suite and gaps.n_shared:  # the rules do not say what joins the templates of several suites
        return expected
    expected["interval"] = {"units": len({*gaps.units}), "fixed_templates": 0 < gaps.n_shared < 5}
    p_below, p_above, is_exact = gaps.test(0.0)
    chance = min(1.0, 2 * min(p_below, p_above))
    expected["p_value"] = chance if is_exact else Within(0.7 * chance - 0.02, 1.3 * chance + 0.02)
    return expected


def expect_tests(pairs: Mapping[Key, Mapping[str, Any]]) -> dict[Key, dict[str, Any]]:
    """Return Holm's steps over all that was compared together: no test says more than its interval."""
    tested = {key: pair for key, pair in pairs.items() if pair["p_value"] is not None}
    chances = [pair["p_value"] for pair in tested.values()]
    expected: dict[Key, dict[str, Any]] = {}
    for (key, pair), (level, adjusted) in zip(tested.items(), holm_steps(chances), strict=True):
        gap, low, high = pair["difference"], pair["interval"]["low"], pair["interval"]["high"]
        is_apart = pair["p_value"] < level
        interval: dict[str, Any] = {"low": Within(-1, gap + 1e-9), "high": Within(gap - 1e-9, 1)}
        if is_apart is (low <= 0 <= high):
            interval["low"] = f"a test that its interval {low} to {high} contradicts"
        expected[key] = {"level": level, "p_adjusted": adjusted, "interval": interval}
    # What is missing may change what a comparison says, and through Holm's levels what others say.
    directions: list[set[int]] = [set() for _ in tested]
    for end, p_end in (("difference", "p_value"), ("low", "p_low"), ("high", "p_high")):
        steps = holm_steps([pair["p_value"] if pair[p_end] is None else pair[p_end] for pair in tested.values()])
        for pair, (_, adjusted), ends in zip(tested.values(), steps, directions, strict=True):
            ends.add(0 if adjusted >= ALPHA else 1 if pair[end] > 0 else -1)
    for key, ends in zip(tested, directions, strict=True):
        expected[key] |= {"hangs": len(ends) > 1, "significant": ends in ({1}, {-1})}
    return expected
