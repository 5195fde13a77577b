"""Show a run's results: the table, the verdict, where the reports lie, and what was run again."""

from typing import TYPE_CHECKING

from flows.cli.console import show

if TYPE_CHECKING:
    from config.settings import Settings
    from flows.runs import RunResult


def show_outcome(outcome: "RunResult", settings: "Settings") -> None:
    """Print the table, the verdict, and where the reports lie."""
    from prompts.phrases import phrase
    from tasks.report import terminal
    from tasks.report.warnings import alarms

    language = settings.report.language
    table = terminal.summary(outcome.results, settings, phrase("terminal.run", language, run=outcome.run))
    show(*alarms(outcome.results, language))
    show(table.terminal(len(table.rows)), *terminal.lines(outcome.results, outcome.requests, settings))
    show(*(phrase("terminal.report", language, path=path) for path in outcome.reports[:2]))
    if settings.report.junit:
        show(phrase("terminal.junit", language, path=settings.report.junit))


def show_stages(outcome: "RunResult", settings: "Settings") -> None:
    """Say of every stage whether it was cached or run, and why."""
    from tasks.report.terminal import stage_line

    show(*(f"  {stage_line(row, settings.report.language)}" for row in outcome.stages))
