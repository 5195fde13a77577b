"""Cases as suites: one for all that share judge, prompts and models, whose rows bring their own checks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from basic_control.metrics.checks.rows import COLUMN
from basic_control.tasks.exchange.moving.conversions import REPLIED, Account, Case, ConvertedCheck
from basic_control.tasks.exchange.moving.variables import write_text

ANSWER = "answer"
CRITERIA = "criteria"
LEFT_OUT = "left_out"
PASS_OR_FAIL = [0, 1]
ROUNDING = 1e-9
_WEIGHT = attrgetter("weight")
LONGEST_ID = 60
"""Characters of an id that is made of a test's variables."""


@dataclass(frozen=True, slots=True)
class ConvertedCase:
    """A test with its checks, the name of its judge if it has one, and the kinds of assertions that it lost."""

    case: Case
    checks: Sequence[ConvertedCheck]
    judge: str = ""
    losses: Sequence[str] = ()

    @property
    def rules(self) -> list[ConvertedCheck]:
        """The checks by rule."""
        return [check for check in self.checks if not check.criterion]

    @property
    def criteria(self) -> list[ConvertedCheck]:
        """The criteria of its judge."""
        return [check for check in self.checks if check.criterion]


@dataclass(frozen=True, slots=True)
class ConvertedThreshold:
    """What a test's threshold of a weighted mean comes to here.

    `checks` is that of the mean of the row's checks, None if each must hold; `criteria` that of the mean of its
    criteria. Where neither says the same, the suite's mean of both by their `weights` decides.
    """

    checks: float | None = None
    criteria: float = 1.0
    weights: tuple[float, float] | None = None


@dataclass(slots=True)
class Group:
    """Cases of one suite: what its prompts and models are chosen by, how it decides, its judge, and its rows."""

    selection: tuple[tuple[str, ...], ...]
    mean: tuple[float, tuple[float, float]] | None = None
    rubric: tuple[str, float] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)


def decide(case: ConvertedCase) -> ConvertedThreshold:
    """Return what a test's threshold comes to: without one, or where all are needed, each check must hold."""
    threshold = case.case.keys.get("threshold")
    if threshold is None or not case.checks:
        return ConvertedThreshold()
    rules, criteria = [*map(_WEIGHT, case.rules)], [*map(_WEIGHT, case.criteria)]
    total = sum(rules) + sum(criteria)
    needed = threshold * total
    is_graded = any(check.check["metric"] == "similarity" for check in case.rules)
    if not is_graded and total - min(rules + criteria) < needed - ROUNDING:
        return ConvertedThreshold()
    if not criteria:
        return ConvertedThreshold(checks=threshold)
    # Where each criterion is needed, the checks must bring what is still missing.
    if rules and total - min(criteria) < needed - ROUNDING:
        return ConvertedThreshold(checks=round(max(0.0, (needed - sum(criteria)) / sum(rules)), 9))
    if not rules and len({*criteria}) == 1:
        return ConvertedThreshold(criteria=threshold)
    return ConvertedThreshold(weights=(sum(rules), sum(criteria)))


def arrange(cases: Sequence[ConvertedCase], account: Account) -> list[Group]:
    """Return the groups of cases that one suite can hold, in the order of their first."""
    groups: list[Group] = []
    ids = _name_cases([*map(attrgetter("case"), cases)])
    for case, row_id in zip(cases, ids, strict=True):
        decision = decide(case)
        mean = None
        if decision.weights:
            mean = (case.case.keys["threshold"], decision.weights)
            account.add("test's threshold", "changed", "decides on the mean of its suite's rows, not on each")
        rubric = None
        if case.criteria:
            rubric = (case.judge, decision.criteria)
        selection = (tuple(case.case.keys.get("prompts", ())), tuple(case.case.keys.get("providers", ())))
        group = _find_group(groups, Group(selection, mean, rubric))
        # A group whose cases had no criteria so far takes this one's judge.
        group.rubric = group.rubric or rubric
        group.rows.append(_write_row(case, row_id, decision))
        for kind in {*case.losses}:
            account.losses.setdefault(kind, []).append(row_id or f"test {len(group.rows)}")
    return groups


def _find_group(groups: list[Group], candidate: Group) -> Group:
    """Return the first group that can take a case; a new one at the end if none can."""
    for group in groups:
        is_judged_alike = None in {group.rubric, candidate.rubric} or group.rubric == candidate.rubric
        if is_judged_alike and (group.selection, group.mean) == (candidate.selection, candidate.mean):
            return group
    groups.append(candidate)
    return candidate


def split_models(group: Group, own_prompts: Mapping[str, Sequence[str]]) -> dict[tuple[str, ...], list[str]]:
    """Return a group's models by the prompts that they are asked with: theirs among the group's."""
    names, models = group.selection
    by_prompts: dict[tuple[str, ...], list[str]] = {}
    for model in models or own_prompts:
        chosen = tuple(name for name in own_prompts[model] if not names or name in names)
        # A model none of whose prompts are the tests' is not asked them.
        if chosen:
            by_prompts.setdefault(chosen, []).append(model)
    return by_prompts


def _name_cases(cases: Sequence[Case]) -> list[str]:
    """Return an id for each test: its description, else its variables; '' for all if none is described.

    The second of a name is `name (2)`, so that another test's change does not rename it.
    """
    if not any(case.keys.get("description") for case in cases):
        return [""] * len(cases)
    counts = Counter[str]()
    names = []
    for case in cases:
        values = ", ".join(map(write_text, case.variables.values()))
        name = " ".join(str(case.keys.get("description") or values[:LONGEST_ID] or "test").split())
        counts[name] += 1
        names.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return names


def _write_row(case: ConvertedCase, row_id: str, decision: ConvertedThreshold) -> dict[str, Any]:
    """Return a case's row: id, description, variables, checks, criteria, and what it lost."""
    row: dict[str, Any] = {}
    if row_id:
        row["id"] = row_id
    notes = {"description": case.case.keys.get("description"), **case.case.keys.get("metadata", {})}
    row |= {name: value for name, value in notes.items() if value not in (None, "")} | case.case.variables
    checks = [_write_check(check, decision) for check in case.rules]
    if checks and decision.checks is not None:
        row[COLUMN] = {"threshold": decision.checks, COLUMN: checks}
    elif checks:
        row[COLUMN] = checks
    criteria = [check.criterion for check in case.criteria]
    if criteria:
        row[CRITERIA] = criteria if len(criteria) > 1 else criteria[0]
    if case.losses:
        row[LEFT_OUT] = [*dict.fromkeys(case.losses)]
    return row


def _write_check(check: ConvertedCheck, decision: ConvertedThreshold) -> dict[str, Any]:
    """Return a check as a row's cell has it."""
    if decision.checks is None:
        return check.check
    # What grades counts as it is where a mean decides.
    written = {key: value for key, value in check.check.items() if key != "threshold"}
    if check.weight != 1:
        written["weight"] = check.weight
    return written


def make_suite(group: Group, judges: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a suite's metrics and what decides it: a row holds if its checks and its criteria do."""
    metrics: dict[str, dict[str, Any]] = {}
    if any(COLUMN in row for row in group.rows):
        metrics[COLUMN] = {}
    if group.rubric:
        metrics["rubric"] = _make_rubric(group, group.rubric, judges)
    if not metrics:
        return {"metrics": REPLIED}
    if group.mean:
        threshold, (rules, criteria) = group.mean
        return {"metrics": metrics, "score": {COLUMN: rules, "rubric": criteria}, "threshold": threshold}
    suite: dict[str, Any] = {"metrics": metrics, "threshold": 1.0}
    if len(metrics) > 1:
        suite["score"] = "all"
    return suite


def _make_rubric(group: Group, rubric: tuple[str, float], judges: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a rubric's options; a criterion that all rows share stands there, and not in the rows."""
    judge, threshold = rubric
    options: dict[str, Any] = {"criteria_column": CRITERIA}
    shared = group.rows[0].get(CRITERIA)
    if isinstance(shared, str) and all(row.get(CRITERIA) == shared for row in group.rows):
        options = {"criteria": shared}
        for row in group.rows:
            del row[CRITERIA]
    options |= {"scale": PASS_OR_FAIL, "threshold": threshold}
    if len(judges) > 1:
        options["judges"] = [judge]
    return options
