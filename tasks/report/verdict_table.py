"""What each model of a run came to, as one table, defined here for every place that shows it.

Where a model has one row (the screen, a merge request, Prefect's interface, the page), its suites stand side by
side; where each of its suites has a row (the Markdown report, CSV), their columns do. JUnit has a case for each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.report.tables import Column, Table, spoken
from tasks.report.text import percent
from tasks.report.words import models_in, parts, scored, shared, why

Results = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A suite of a model, or its overall score, as `results.json` has them (docs/results.md)."""

    results: Results
    model: Mapping[str, Any]
    part: Mapping[str, Any]


def of_models(language: str) -> list[Column]:
    """Return what is told of a model as a whole; another column here stands in every place."""
    return [Column(shared("model", language), lambda row: row.model["model"], whole=True)]


def of_suites(language: str) -> list[Column]:
    """Return what is told of each of a model's suites, and of its overall score."""
    column = spoken("common", language)
    return [
        column("suite", lambda row: row.part["suite"]),
        column("score", lambda row: scored(row.part, language), numeric=True),
        column("interval", lambda row: around(row.part["interval"]), numeric=True),
        column("threshold_head", lambda row: percent(row.part["threshold"]), numeric=True),
        column("weight", _weight, numeric=True),
        column("outcome", lambda row: shared(row.part["outcome"], language), strong=True),
        column("why", lambda row: why(row.part, language)),
    ]


def around(interval: Mapping[str, Any] | None) -> str:
    """Write an interval of a share."""
    return f"{percent(interval['low'])} – {percent(interval['high'])}" if interval else "–"


def _weight(row: VerdictRow) -> str:
    weight = row.part.get("weight")
    return "–" if weight is None else f"{weight:g}"


def suites_below(results: Results, language: str, *, title: str = "") -> Table:
    """Return the table with a row for each suite of a model, one below another, and for its overall score."""
    model, *more = of_models(language)
    rows = (VerdictRow(results, one, part) for one in models_in(results) for part in parts(one, language))
    return Table.of(rows, model, *of_suites(language), *more, title=title)


def whole_models(results: Results, language: str) -> Iterator[VerdictRow]:
    """Yield a row for each model: of several suites that of its overall score, else that of its last."""
    yield from (VerdictRow(results, one, parts(one, language)[-1]) for one in models_in(results))


def beside(row: VerdictRow, language: str) -> dict[str, str]:
    """Return what a model's row tells beside its name and its suites, by column."""
    return {one.name: one.take(row) for one in of_models(language)[1:]}
