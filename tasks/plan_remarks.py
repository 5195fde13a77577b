"""What is said of a plan besides its questions: how rows are read, which are left out, what decides anew."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from basic_control.data.batches import StoredIdentity
from basic_control.data.documents import NEWLY_APART
from basic_control.data.errors import InputError
from basic_control.data.expected import list_doubts, list_remarks
from basic_control.prompts.phrases import phrase
from basic_control.tasks.plan import Plan

DIGEST_SIGNS = 12
"""The characters of a digest that tell it apart for people."""
_SAID_ELSEWHERE = {"model", "unit"}


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


def format_doubts(plan: Plan) -> Iterator[str]:
    """Yield which expected answers may be misread."""
    for suite in plan.suites:
        for name, values in list_doubts(suite.suite, suite.expected):
            yield phrase(name, plan.report.language, **values)


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


def describe_absence(role: str, name: str, identity: StoredIdentity, language: str) -> str:
    """Return in a sentence that a server does not answer, and whose stored replies are used."""
    facts = []
    for key, value in identity.values.items():
        if key not in _SAID_ELSEWHERE:
            facts.append(f"{key} {value[:DIGEST_SIGNS] if key == 'digest' else value}")
    moment = datetime.fromtimestamp(identity.identified_at, UTC).astimezone()
    values = {"role": phrase(f"page.role_{role}", language), "name": name, "date": f"{moment:%Y-%m-%d %H:%M}"}
    return phrase("common.server_absent", language, identity=", ".join(facts), **values)
