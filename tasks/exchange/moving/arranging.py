"""Cases as suites: those that are checked alike make one, with what differs between them in its rows."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from operator import attrgetter
from typing import Any

from pydantic import ValidationError

from basic_control.data.options import settle
from basic_control.data.plugins import metric
from basic_control.tasks.exchange.moving.conversions import REPLIED, Account, Case, ConvertedCheck, Outcome

ANSWER = "answer"
MOST_SUITES = 200
MOST_JOINED = 8
"""The checks of a test whose threshold is written as one regular expression."""
ROUNDING = 1e-9
_REFERENCE = re.compile(r"\\[1-9]|\(\?P?<[A-Za-z]")  # \1, (?<year>


@dataclass(slots=True)
class Group:
    """Cases that are checked alike: the keys of their suite, and their rows."""

    suite: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Slots:
    """The metrics of one case as they are filled: at most one of a kind, and one column for what is expected."""

    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    patterns: list[ConvertedCheck] = field(default_factory=list)
    answer: Any = None

    def use(self, check: ConvertedCheck, options: Mapping[str, Any]) -> None:
        """Fill a metric's slot."""
        self.metrics[check.metric] = {**options}
        if check.threshold is not None:
            self.metrics[check.metric]["threshold"] = check.threshold
        self.weights[check.metric] = check.weight


def list_shared(checks: Iterable[Sequence[ConvertedCheck]]) -> set[str]:
    """Return the keys of checks that every case of several has alike: those stand in the suite, not in its rows."""
    cases = list(checks)
    counts = Counter[str]()
    for case in cases:
        counts.update({*map(_key, case)})
    # A key counts once for a case, however often it stands there.
    return {key for key, count in counts.items() if count == len(cases)}


def _key(check: ConvertedCheck) -> str:
    return json.dumps([check.subject, check.options, check.answer], sort_keys=True, ensure_ascii=False)


def fold_threshold(
    checks: Sequence[ConvertedCheck], threshold: float | None, account: Account
) -> tuple[list[ConvertedCheck], float | None]:
    """Return a case's checks so that each row decides as the threshold of the weighted mean of its checks does.

    Where every check must hold, or checks of texts can be joined, no threshold is left; else it is returned, and
    decides on the suite's mean.
    """
    if threshold is None or not checks:
        return [*checks], None
    weights = [check.weight for check in checks]
    needed = threshold * sum(weights) - ROUNDING
    is_yes_no = all(check.metric != "similarity" for check in checks)
    if is_yes_no and sum(weights) - min(weights) < needed:
        return [*checks], None
    are_texts = all(check.pattern and check.metric != "json_match" for check in checks)
    is_joinable = are_texts and not any(_REFERENCE.search(check.pattern) for check in checks)
    if needed > 0 and is_joinable and len(checks) <= MOST_JOINED:
        for check in checks:
            account.add(check.subject, "taken", "with its test's threshold, as one regular expression")
        patterns = [*map(attrgetter("pattern"), checks)]
        joined = "|".join(_join_patterns(patterns, numbers) for numbers in _list_enough(weights, needed))
        check = ConvertedCheck("test's threshold", "regex", pattern=f"(?:{joined})", assertions=len(checks))
        return [check], None
    account.add("test's threshold", "changed", "decides on the mean of its suite's rows, not on each")
    return [*checks], threshold


def _join_patterns(patterns: Sequence[str], numbers: Iterable[int]) -> str:
    """Return lookaheads one after the other: all of them must hold."""
    return "".join(patterns[number] for number in numbers)


def _list_enough(weights: Sequence[float], needed: float) -> list[tuple[int, ...]]:
    """Return the smallest sets of checks whose weights reach what is needed."""
    sets: list[tuple[int, ...]] = []
    for size in range(1, len(weights) + 1):
        for numbers in combinations(range(len(weights)), size):
            is_enough = sum(weights[number] for number in numbers) >= needed
            if is_enough and not any(set(smaller) <= set(numbers) for smaller in sets):
                sets.append(numbers)
    return sets


def fill_slots(checks: Sequence[ConvertedCheck], shared: set[str], account: Account) -> Slots:
    """Return the metrics of a case's checks; what finds no slot becomes part of one regular expression."""
    slots = Slots()
    # Those that need the column come first, then those that differ by row.
    ranks = sorted(checks, key=lambda check: (not check.needs_column, _key(check) in shared))
    for check in ranks:
        is_free = check.metric not in slots.metrics and check.metric != "regex"
        may_use_column = slots.answer is None and check.answer is not None
        outcome: Outcome = "taken"
        reason = check.change
        if check.change:
            outcome = "changed"
        if is_free and may_use_column and (check.needs_column or _key(check) not in shared):
            slots.answer = check.answer
            slots.use(check, check.in_column)
        elif is_free and not check.needs_column:
            slots.use(check, check.options)
            # JSON alone is a matter of the text around it.
            if check.metric == "json_match" and check.pattern:
                slots.patterns.append(check)
        elif check.pattern and check.metric != "json_match":
            slots.patterns.append(check)
        else:
            outcome, reason = "left out", f"a test holds one {check.metric}; make another suite of it"
        account.add(check.subject, outcome, reason)
        if outcome != "left out":
            account.n_taken += check.assertions
    _add_pattern(slots, account)
    return slots


def _add_pattern(slots: Slots, account: Account) -> None:
    """Join the checks of texts that found no slot of their own in one regular expression."""
    checks = slots.patterns
    if not checks:
        return
    if len(checks) == 1 and "pattern" in checks[0].options:
        pattern = checks[0].options["pattern"]
    else:
        # A number of a group would be another's after joining.
        joined = []
        for check in checks:
            if len(checks) == 1 or not _REFERENCE.search(check.pattern):
                joined.append(check)
                continue
            account.add("regex", "left out", "its groups cannot be joined with others; make a suite of it")
            account.n_taken -= 1
        pattern = "\\A" + "".join(check.pattern for check in joined)
    slots.metrics["regex"] = {"pattern": pattern}
    slots.weights["regex"] = sum(check.weight for check in checks if check.metric != "json_match") or 1.0


def make_suite(slots: Slots, threshold: float | None) -> dict[str, Any]:
    """Return a suite's keys: a row passes if every check holds, or if their weighted mean reaches a threshold."""
    if not slots.metrics:
        return {"metrics": REPLIED}
    suite: dict[str, Any] = {"metrics": slots.metrics, "threshold": 1.0}
    if threshold is not None:
        suite |= {"score": dict(slots.weights), "threshold": threshold}
    elif len(slots.metrics) > 1:
        suite["score"] = "all"
    return suite


def is_valid(check: ConvertedCheck) -> str:
    """Return why a check's options are no options of its metric; '' if they are."""
    for options in (check.options, check.in_column):
        values = {**options}
        if check.metric == "regex" and not options:
            values["pattern"] = check.pattern
        try:
            settle(metric(check.metric).options, values)
        except ValidationError as error:
            return str(error.errors()[0]["msg"]).removeprefix("Value error, ")[:150]
    return ""


def arrange(cases: Sequence[tuple[Case, Sequence[ConvertedCheck]]], account: Account) -> list[Group]:
    """Return the groups of cases that are checked alike, in the order of their first."""
    folded = [(case, *fold_threshold(checks, case.threshold, account)) for case, checks in cases]
    shared: set[str] = set()
    if len(cases) > 1:
        shared = list_shared(checks for _, checks, _ in folded)
    groups: dict[str, Group] = {}
    for case, checks, threshold in folded:
        slots = fill_slots(checks, shared, account)
        suite = make_suite(slots, threshold)
        key = json.dumps([suite, slots.answer is None], sort_keys=True, default=str)
        if key not in groups and len(groups) == MOST_SUITES:
            account.add("tests", "left out", f"more than {MOST_SUITES} kinds of checks")
            continue
        row = {**case.variables}
        if slots.answer is not None:
            row[ANSWER] = slots.answer
        groups.setdefault(key, Group(suite)).rows.append(row)
    return list(groups.values())
