"""What the HTML report's page says, section by section, before any markup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from basic_control.data.suites import ALL, find_targets
from basic_control.tasks.report import explained, labelling, overview, samples, sections
from basic_control.tasks.report.language import say, use_language
from basic_control.tasks.report.passports import ReliabilityCurve, reliability_curves
from basic_control.tasks.report.ranking import differences
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.tables import Table
from basic_control.tasks.report.text import date_in_words, join_names, shorten_name
from basic_control.tasks.report.warnings import Topic, group_notes, notes
from basic_control.tasks.report.words import cost_lines, name_metric

_MANIFEST = ("wall_s", "cpu_s", "commit", "requests", "identities", "versions", "sandbox", "tables")


@dataclass(frozen=True, slots=True)
class Facts:
    """How a run was made: `rules` are the versions of the units that made or scored its items."""

    language: str
    run: str
    started: datetime
    manifest: Mapping[str, Any]
    rules: Mapping[str, str]
    configuration: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Heading:
    """What a run is about: its `title` is its name, or its tasks; `tasks` is empty where the title says them."""

    title: str
    tasks: str
    date: str
    models: str
    n_rows: int


@dataclass(frozen=True, slots=True)
class Browsed:
    """A run's replies, the names by which they are browsed, and the sheet for labelling them, if any was judged."""

    frames: samples.Frames
    names: Mapping[str, Any]
    sheet: Mapping[str, Any] | None


class DetailSections(TypedDict):
    """The sections that only somebody who looks for a cause opens; empty for what does not apply."""

    suites: Sequence[Mapping[str, Any]]
    judges: Sequence[Mapping[str, Any]]
    reliability: Sequence[ReliabilityCurve]
    typical: Sequence[Mapping[str, Any]]
    failed_by: Mapping[str, int]
    frequent: Sequence[Mapping[str, Any]]
    browsed: Browsed
    operations: tuple[Table, Sequence[str]]


class Contents(DetailSections):
    """The page's sections, by their names in its template; None or empty for what does not apply."""

    facts: Facts
    heading: Heading
    verdict: Mapping[str, Any]
    answers: Sequence[str]
    topics: Sequence[Topic]
    models: Sequence[str]
    heat_map: Mapping[str, Any]
    profile: Mapping[str, Any] | None
    pivot: Mapping[str, Any] | None
    sections: Sequence[Table]
    comparisons: Mapping[str, Any] | None


def contents_of(data: ReportData) -> Contents:
    """Return what a run's page says, in the run's language."""
    with use_language(data.language):
        return _sections(data)


def _sections(data: ReportData) -> Contents:
    results, verdict, titles, plan = data.results, data.verdict, data.titles, data.plan
    models = overview.models_of(verdict, data.scores)
    columns = overview.heat_columns(data.summary, data.items, titles)
    # The chart of categories shows the same cells as the heat map.
    heat_map = overview.heat_map(columns, models, data.summary, verdict, titles.suites)
    # What the scripts of the page need to name what they show.
    names = {
        "titles": overview.names(data.items, titles),
        "scores": {name: name_metric(name) for name in (ALL, "")},
        "targets": overview.targets(plan, verdict, models),
    }
    sample_frames = samples.frames(data)
    return {
        "facts": Facts(
            data.language,
            data.run,
            data.start_time,
            manifest={**dict.fromkeys(_MANIFEST), **data.manifest},
            rules=sections.describe_units(data.manifest),
            configuration=plan.configuration,
        ),
        "heading": _heading(data, models),
        "verdict": overview.verdict_of_run(verdict, results, titles),
        "answers": [*differences(verdict.models, results.compared, find_targets(titles.suites, plan.model_names))],
        "topics": group_notes(notes(results, verdict, plan, data)),
        "models": models,
        "heat_map": heat_map,
        "profile": overview.profile(heat_map, models),
        "pivot": overview.pivot(columns, models, data.summary, data.items),
        "sections": sections.sections(data),
        "comparisons": overview.comparisons(results.compared, titles),
        "suites": explained.suites(data, models),
        "judges": explained.judges(results.judged.agreement, data.scores, data.items),
        "reliability": reliability_curves(results.judged),
        "typical": overview.typical_errors(data.scores, data.items, titles),
        "failed_by": overview.count_failures_by_metric(sample_frames),
        "frequent": overview.frequent_replies(data.scores, data.items, data.replies, titles),
        "browsed": Browsed(sample_frames, names, labelling.sheet_of(data)),
        "operations": (sections.usage(data), [*cost_lines(results.spending)]),
    }


def _heading(data: ReportData, models: Sequence[str]) -> Heading:
    """Return the head of a run's page."""
    tasks = join_names([data.titles.suite(suite.name) for suite in data.plan.declarations])
    name = data.plan.report.name
    names = [shorten_name(model, among=models) for model in models]
    n_models = say("page.models", n=len(names))
    return Heading(
        title=name or tasks,
        tasks=tasks if name else "",
        date=date_in_words(data.start_time),
        models=names[0] if len(names) == 1 else f"{n_models}: {join_names(names)}",
        n_rows=data.items.height,
    )
