"""The checks that a row brings, as they are read from its cell: each a metric with its options."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from basic_control.data.draw import format_canonical
from basic_control.data.equivalents import explain_equivalent
from basic_control.data.errors import propose_name
from basic_control.data.options import Number, Share, explain_error, settle
from basic_control.data.plugins import find_unit, metrics
from basic_control.data.records import Metric, Sample
from basic_control.data.tools import parse_json
from basic_control.metrics._expected import ABSENT, is_absent

COLUMN = "checks"
ANSWER = "answer"
MOST = 1000
"""Checks of a row."""
FORM = 'a list such as [{"metric": "contains", "texts": ["Paris"]}]'


class UnreadableChecksError(ValueError):
    """A cell that holds no checks; the text says what is wrong, and with which of them."""


class Keys(BaseModel):
    """The keys of a check besides its metric's options."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True, hide_input_in_errors=True)

    metric: str
    name: str = ""
    weight: Number = Field(1.0, gt=0)
    threshold: Share | None = None
    # A Python name that is no keyword.
    is_inverse: bool = Field(default=False, alias="not")
    answer: Any = None


class _Cell(BaseModel):
    """A cell's checks, and the threshold of their weighted mean if it has one."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    checks: list[Any] = Field(max_length=MOST)
    threshold: Share | None = None


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check of a row: its metric, all options of that, and its own keys."""

    unit: Metric
    options: Mapping[str, Any]
    keys: Keys

    @property
    def label(self) -> str:
        """What reports call it: its name, else its metric's."""
        if self.keys.name:
            return self.keys.name
        if self.keys.is_inverse:
            return f"not {self.unit.name}"
        return self.unit.name

    def complete(self, sample: Sample) -> Sample:
        """Return a sample with the check's own expected answer in place of the row's."""
        if is_absent(self.keys.answer):
            return sample
        return {**sample, ANSWER: self.keys.answer}

    def find_problem(self, sample: Sample) -> str:
        """Return why the check cannot be put to replies to a row; '' if it can."""
        needs = self.unit.needs
        if callable(needs):
            needs = needs(self.options)
        completed = self.complete(sample)
        if ANSWER in needs and is_absent(completed.get(ANSWER)):
            return ABSENT
        if self.unit.expects is None:
            return ""
        return self.unit.expects(completed, self.options).problem


@dataclass(frozen=True, slots=True)
class RowChecks:
    """The checks of a row; all must hold, or their weighted mean must reach the threshold if it has one."""

    checks: tuple[RowCheck, ...] = ()
    threshold: float | None = None


def list_rules() -> list[str]:
    """Return the metrics that a check may name: ours that score a text by rule."""
    names = []
    for name, unit in metrics().items():
        needs_others = unit.steps or unit.programs or unit.verifies or unit.sources or unit.opponent
        # A change of a plug-in's metric would not be noticed: the key of these scores holds our rooms alone.
        is_ours = unit.score.__module__.startswith("basic_control.metrics.")
        needs_columns = not callable(unit.needs) and {*unit.needs} - {ANSWER}
        if is_ours and name != COLUMN and not (needs_others or needs_columns or unit.internal):
            names.append(name)
    return sorted(names)


def read_checks(cell: Any) -> RowChecks:
    """Return the checks in a row's cell: a list, or a mapping of `checks` and `threshold`, also as JSON text.

    Raises:
        UnreadableChecksError: it holds something else.
    """
    value = parse_json(cell)
    if is_absent(value):
        return RowChecks()
    if not isinstance(value, list | Mapping):
        raise UnreadableChecksError(f"expected {FORM}")
    return _read_text(format_canonical(value))


# Each row is read before anything is asked, and again for every target.
@lru_cache(maxsize=4096)
def _read_text(text: str) -> RowChecks:
    value = json.loads(text)
    if isinstance(value, list):
        value = {"checks": value}
    try:
        cell = _Cell.model_validate(value)
    except ValidationError as error:
        problem = _explain(error)
        raise UnreadableChecksError(f"expected {FORM}, or `checks` and `threshold` ({problem})") from error
    checks = []
    for number, entry in enumerate(cell.checks, start=1):
        try:
            checks.append(_read_check(entry, is_mean=cell.threshold is not None))
        except UnreadableChecksError as error:
            raise UnreadableChecksError(f"check {number}: {error}") from error
    return RowChecks(tuple(checks), cell.threshold)


def _explain(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"


def _read_check(entry: Any, *, is_mean: bool) -> RowCheck:
    """Return a check; where a mean decides (`is_mean`), one that grades needs no threshold of its own."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("metric"), str):
        raise UnreadableChecksError("expected a mapping with `metric`, the name of one, and its options")
    name = entry["metric"]
    rules = list_rules()
    if name not in rules:
        raise UnreadableChecksError(_refuse_metric(name, rules))
    unit = find_unit(Metric, name)
    try:
        keys = Keys.model_validate(dict(entry))
    except ValidationError as error:
        raise UnreadableChecksError(_explain(error)) from error
    try:
        options = settle(unit.options, keys.model_extra or {})
    except ValidationError as error:
        problem = explain_error(error, unit.options).removesuffix(".")
        raise UnreadableChecksError(f"{name}: {problem}") from error
    if not unit.yes_no and keys.threshold is None and not is_mean:
        raise UnreadableChecksError(f"{name} grades: expected its `threshold`")
    return RowCheck(unit, options, keys)


def _refuse_metric(name: str, rules: Iterable[str]) -> str:
    names = ", ".join(rules)
    if name in metrics():
        return f"{name} is no rule of ours that reads a text; name it among the suite's metrics. Expected: {names}"
    hint = explain_equivalent(name) or propose_name(name, rules)
    return f"unknown metric {name!r}; expected one of {names}.{hint}"
