"""Titles of suites, metrics, families and categories in a run's reports."""

from collections.abc import Iterable
from dataclasses import dataclass

from basic_control.data.deciding import headlines
from basic_control.data.errors import InputError
from basic_control.data.plugins import families, metric
from basic_control.data.records import Metric
from basic_control.data.shown import Text
from basic_control.data.suites import ALL, Suite
from basic_control.metrics.analysis.headlines import Headline
from basic_control.tasks.report.language import say, say_declared
from basic_control.tasks.report.words import is_named, name_metric


def family_title(family: str) -> str:
    """Return a family's title."""
    unit = families().get(family)
    if unit is None:
        return family
    return say_declared(unit.titles, family, family)


def metric_title(name: str) -> str:
    """Return a metric's title; for a part, `metric: part`."""
    if name == ALL:
        return name_metric(name)
    base_name, _, part = name.partition(".")
    try:
        unit = metric(base_name)
    except InputError:
        return name
    title = say_declared(unit.title, base_name, base_name)
    if not part:
        return title
    return f"{title}: {part_title(unit, part)}"


def part_title(unit: Metric, part: str) -> str:
    """Return the title of a metric's part."""
    return get_display_text(unit, part, unit.shown.titles.get(part, {}), part)


def get_display_text(unit: Metric, key: str, text: Text, default: str = "") -> str:
    """Return a display text of a metric; `key` is its name in a catalogue, after the metric's."""
    return say_declared(text, f"{unit.name}.{key}", default)


@dataclass(frozen=True, slots=True)
class SuiteTitles:
    """The titles of a run's suites, and of what is measured in them."""

    suites: tuple[Suite, ...]

    @classmethod
    def of(cls, suites: Iterable[Suite]) -> "SuiteTitles":
        """Return the titles of some suites."""
        return cls(tuple(suites))

    def find_suite(self, name: str) -> Suite:
        """Return a suite by its name."""
        return next(suite for suite in self.suites if suite.name == name)

    def suite(self, name: str) -> str:
        """Return a suite's title."""
        return say_declared(self.find_suite(name).title, name, name)

    def headline(self, headline: Headline) -> str:
        """Return the title of a headline: its suite's, with its metric's name if it is one of several.

        Of a run's only suite the metric says enough.
        """
        title = self.suite(headline.suite)
        if not is_named(headline):
            return title
        if len(self.suites) == 1:
            return name_metric(headline.metric)
        return f"{title}: {name_metric(headline.metric)}"

    def category(self, name: str, family: str) -> str:
        """Return a sample's category: its generated family, or its suite (whose family is a data set's name)."""
        is_generated = bool(self.find_suite(name).strata and family)
        return family_title(family) if is_generated else self.suite(name)

    def score(self, name: str, metric_name: str, scope: str = "metric") -> str:
        """Return what is compared: a suite's metric (the suite alone if its score has no other), or a score."""
        if scope == "overall":
            return say("common.overall")
        title, scores = self.suite(name), headlines(self.find_suite(name))
        if scope == "total":
            return f"{title}: TOTAL"
        if scope == "suite":
            return f"{title}: {say('compare.score')}"
        # A suite's title says enough where it has no score but this metric.
        is_only = [score.headline for score in scores] == [metric_name]
        if is_only:
            return title
        return f"{title}: {metric_title(metric_name)}"
