"""A run's results, as lines and a table for the terminal, in the report's language."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.settings import Settings
from data.commands import SCRIPT
from data.plugins import metric
from metrics.analysis.scores import is_headline
from metrics.analysis.summary import SummaryRow
from prompts.phrases import phrase
from tasks.report import regressions, spending, twins
from tasks.report.passports import warnings
from tasks.report.stopping import lines_of
from tasks.report.tables import Table, columns
from tasks.report.text import percent, total_percent
from tasks.report.titles import row_title, shown_text
from tasks.report.warnings import run_warnings
from tasks.report.words import parts, say, scored, shared, unmeasured, why

COLUMNS = ("model", "what", "metric", "mean", "interval", "scored")
"""The table's columns; the last three are numbers."""


def header(language: str) -> list[str]:
    """Return the heads of the table's columns."""
    return [phrase(f"terminal.{name}", language) for name in COLUMNS]


def rows(results: Mapping[str, Any], settings: Settings) -> Iterator[tuple[str, ...]]:
    """Yield a row for each model and family, or suite: its mean, interval and counts."""
    not_measured = unmeasured(results)
    for found in results["cells"]:
        cell = SummaryRow(**found)
        if not cell.family or cell.level or cell.language or not is_headline(cell.metric):
            continue
        hidden = (cell.model, cell.suite) in not_measured
        interval = "–" if cell.ci_low is None or hidden else f"{percent(cell.ci_low)} – {percent(cell.ci_high)}"
        what = row_title(settings, cell.suite, cell.family)
        mean = percent(None if hidden else cell.mean)
        yield cell.model, what, cell.metric, mean, interval, f"{cell.n_scored} / {cell.n_asked}"


def summary(results: Mapping[str, Any], settings: Settings, title: str = "") -> Table:
    """Return what `rows` are, as a table."""
    names = header(settings.report.language)
    return Table(columns(*names, numeric=names[3:], whole=names[3:]), list(rows(results, settings)), title)


def lines(results: Mapping[str, Any], requests: Mapping[str, int], settings: Settings) -> Iterator[str]:
    """Yield a run's results: TOTAL, suites and overall of each model, and what was asked."""
    language = settings.report.language
    final = results["final"]
    for model in final["models"]:
        total = results["totals"].get(model["model"])
        if total and total["percent"] is not None:
            said = phrase("terminal.total", language, model=model["model"], total=total_percent(total["percent"]))
            names = ", ".join(total["left_out"])
            yield f"{said} ({phrase('terminal.left_out', language, names=names)})" if names else said
        else:
            yield f"{model['model']}:"
        for part in parts(model, language):
            yield f"  {_part(part, language)}"
    yield from (f"  {line}" for line in lines_of(results, language))
    yield from (f"  {line}" for line in twins.lines(results, language))
    warned = dict.fromkeys(
        (*run_warnings(results, language), *(said for _, _, said in warnings(results, language)))
    )
    yield from (f"{shared('warning', language)}: {said}" for said in warned)
    yield from regressions.lines(results.get("baseline"), language)
    yield from _notes(final["models"], settings)
    live = any(model.provider != "replay" for model in settings.models)  # recorded replies stay as they were cut
    if live and any(suite.get("n_truncated") for model in final["models"] for suite in model["suites"]):
        yield phrase("terminal.cut_again", language, command=f"{SCRIPT} run", run=results["run"]["run"])
    if final["gate"] == "off":
        yield phrase("terminal.gate_off", language)
    if requests["asked"] and requests["cached"] == requests["asked"]:
        yield phrase("terminal.no_call", language, n=requests["asked"])
    else:
        yield shared("calls", language, **requests)
    yield from spending.lines(results, language)


def _part(part: Mapping[str, Any], language: str) -> str:
    """Return a suite's or the overall score beside its threshold, with what it comes to and why."""
    figures = {"suite": part["suite"], "score": scored(part, language)}
    if part["threshold"] is None and part["outcome"] == "none":
        said = phrase("terminal.measured", language, **figures)
    else:
        outcome = say(part["outcome"], language).lower()
        said = phrase("terminal.score", language, **figures, threshold=percent(part["threshold"]), outcome=outcome)
    told = why(part, language)
    beside = "".join(f"; {name} {percent(mean)}" for name, mean in part.get("beside", {}).items())
    return f"{said}{f': {told}' if told else ''}{beside}"


def _notes(models: Sequence[Mapping[str, Any]], settings: Settings) -> Iterator[str]:
    """Say what a metric that has another headline beside its score can tell, and what it cannot."""
    there = {(suite["suite"], name) for model in models for suite in model["suites"] for name in suite["beside"]}
    for suite in settings.suites:
        for unit in map(metric, suite.used):
            note = shown_text(unit, "note", unit.shown.note, settings.report.language)
            if note and any((suite.name, f"{unit.name}.{part}") in there for part in unit.shown.headline):
                yield f"{suite.name}: {note}"


def stage_line(stage: Mapping[str, Any], language: str) -> str:
    """Say of a stage whether it came from the cache or was run, and why."""
    if stage["cached"]:
        return f"{stage['stage']} {stage['label']}: {phrase('terminal.cached', language)}"
    name = stage["stage"] if stage["stage"] in {"query", "judge", "results", "gate", "report"} else "other"
    why_run = stage["note"] or phrase(f"terminal.why_{name}", language)
    return f"{stage['stage']} {stage['label']}: {phrase('terminal.done', language)} ({why_run})"
