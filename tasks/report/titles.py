"""Titles and order of suites, metrics and categories in a run's reports."""

from collections.abc import Sequence

from data.errors import InputError
from data.plugins import families, metric
from data.records import Metric
from data.shown import Text
from data.suites import Suite
from prompts.phrases import declared, phrase
from tasks.report.report_data import ReportData


def title_of(family: str, language: str) -> str:
    """Return a family's title in the report's language."""
    unit = families().get(family)
    return declared(unit.titles, family, language, family) if unit else family


def suite_title(data: ReportData, name: str) -> str:
    """Return a suite's title in the report's language."""
    return titled(data.plan.suite(name).suite, data.language)


def titled(suite: Suite, language: str) -> str:
    """Return a suite's title in a language."""
    return declared(suite.title, suite.name, language, suite.name)


def metric_title(name: str, language: str) -> str:
    """Return a metric's title; for a part, `metric: part`."""
    own, _, part = name.partition(".")
    try:
        unit = metric(own)
    except InputError:
        return name
    title = declared(unit.title, own, language, own)
    return f"{title}: {part_title(unit, part, language)}" if part else title


def part_title(unit: Metric, part: str, language: str) -> str:
    """Return the title of a metric's part."""
    return shown_text(unit, part, unit.shown.titles.get(part, {}), language, part)


def shown_text(unit: Metric, key: str, text: Text, language: str, default: str = "") -> str:
    """Return a display text of a metric; `key` is its name in a catalogue, after the metric's."""
    return declared(text, f"{unit.name}.{key}", language, default)


def counted(data: ReportData, name: str) -> Sequence[str]:
    """Return the metrics that make a suite's score."""
    return data.plan.suite(name).suite.scored_by


def where(data: ReportData, suite: str, metric_name: str, scope: str = "metric") -> str:
    """Return what is compared: a suite's metric (the suite alone if its score has no other), or a score."""
    language = data.language
    if scope == "overall":
        return phrase("common.overall", language)
    title = suite_title(data, suite)
    if scope == "total":
        return f"{title}: TOTAL"
    if scope == "suite":
        return f"{title}: {phrase('compare.score', language)}"
    if len(counted(data, suite)) > 1 or metric_name not in counted(data, suite):
        return f"{title}: {metric_title(metric_name, language)}"
    return title


def category(data: ReportData, suite: str, family: str) -> str:
    """Return a sample's category: its generated family, or its suite (whose family is a data set's name)."""
    if data.plan.suite(suite).suite.strata and family:
        return title_of(family, data.language)
    return suite_title(data, suite)
