"""What the HTML report's page says, section by section, before any markup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from basic_control.data.suites import prompted
from basic_control.tasks.report import explained, labelling, overview, samples, sections
from basic_control.tasks.report.conclusion import differences
from basic_control.tasks.report.language import speaking
from basic_control.tasks.report.passports import ReliabilityCurve, reliability_curves
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.tables import Table
from basic_control.tasks.report.warnings import Note, notes
from basic_control.tasks.report.words import cost_lines

_MANIFEST = ("wall_s", "cpu_s", "memory_mb", "commit", "requests", "identities", "versions", "sandbox", "tables")


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
class Browsed:
    """A run's replies, the names by which they are browsed, and the sheet for labelling them, if any was judged."""

    frames: samples.Frames
    names: Mapping[str, Any]
    sheet: Mapping[str, Any] | None


class Contents(TypedDict):
    """The page's sections, by their names in its template; None or empty for what does not apply."""

    facts: Facts
    verdict: Mapping[str, Any]
    answers: Sequence[str]
    notes: Sequence[Note]
    models: Sequence[str]
    heat_map: Mapping[str, Any]
    profile: Mapping[str, Any] | None
    pivot: Mapping[str, Any] | None
    sections: Sequence[Table]
    comparisons: Mapping[str, Any] | None
    suites: Sequence[Mapping[str, Any]]
    judges: Sequence[Mapping[str, Any]]
    reliability: Sequence[ReliabilityCurve]
    typical: Sequence[Mapping[str, Any]]
    browsed: Browsed
    operations: tuple[Table, Sequence[str]]


def contents_of(data: ReportData) -> Contents:
    """Return what a run's page says, in the run's language."""
    with speaking(data.language):
        return _sections(data)


def _sections(data: ReportData) -> Contents:
    results, verdict, titles, plan = data.results, data.verdict, data.titles, data.plan
    models = overview.models_of(verdict, data.scores)
    columns = overview.heat_columns(data.summary, data.items, titles)
    # The chart of categories shows the same cells as the heat map.
    heat_map = overview.heat_map(columns, models, data.summary, verdict, titles.suites)
    names = {"titles": overview.names(data.items, titles), "targets": overview.targets(plan, verdict, models)}
    return {
        "facts": Facts(
            data.language,
            data.run,
            data.started,
            manifest={**dict.fromkeys(_MANIFEST), **data.manifest},
            rules=sections.rules(data.manifest),
            configuration=plan.configuration,
        ),
        "verdict": overview.verdict_of_run(verdict, results, titles),
        "answers": [*differences(verdict.models, results.compared, prompted(titles.suites, plan.configured))],
        "notes": notes(results, verdict, plan, data),
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
        "browsed": Browsed(samples.frames(data), names, labelling.sheet_of(data)),
        "operations": (sections.usage(data), [*cost_lines(results.spending)]),
    }
