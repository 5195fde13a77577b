"""What is said of a plan besides its questions: how rows are read, which are left out, what decides anew."""

from collections.abc import Iterator, Mapping
from typing import Any

from basic_control.data.documents import NEWLY_APART
from basic_control.data.errors import InputError
from basic_control.data.expected import list_remarks
from basic_control.prompts.phrases import phrase
from basic_control.tasks.plan import Plan


def check_expected(plan: Plan) -> None:
    """Refuse rows whose expected answer a metric cannot read.

    Raises:
        InputError: there are some, and their suite does not set `skip_unreadable`.
    """
    problems: list[str] = []
    for suite in plan.suites:
        problems.extend(suite.expected.problems)
    if problems:
        raise InputError("\n".join(problems))


def format_expected_remarks(plan: Plan) -> Iterator[str]:
    """Yield how the suites' expected answers are read, and how many rows are left out."""
    for suite in plan.suites:
        for name, values in list_remarks(suite.suite, suite.expected):
            yield phrase(name, plan.report.language, **values)
        if suite.around.n_systems:
            values = {"suite": suite.name, "n": suite.around.n_systems}
            yield phrase("common.systems_replaced", plan.report.language, **values)
        if suite.around.excluded:
            n_rows = len(suite.around.excluded)
            yield phrase("common.examples_not_asked", plan.report.language, suite=suite.name, n=n_rows)


def format_newly_apart(plan: Plan, run: Mapping[str, Any]) -> Iterator[str]:
    """Yield once which suites' metrics are decided by themselves now, where their mean was before."""
    for name in run.get(NEWLY_APART, ()):
        metrics = ", ".join(plan.find_suite(name).suite.metric_names)
        yield phrase("common.each_decides", plan.report.language, suite=name, metrics=metrics)
