"""A finished run, or a file, in a few lines: its verdict, the table of its models, and its report."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.report.conclusion import conclusion
from basic_control.tasks.report.language import say
from basic_control.tasks.report.text import shorten_path
from basic_control.tasks.report.verdict_table import verdict_table
from basic_control.tasks.store.runs import Run

if TYPE_CHECKING:
    from rich.console import RenderableType


def summary_parts(results: Results, verdict: RunVerdict, run: Run | None = None) -> "Iterator[RenderableType]":
    """Yield the lines and the table, in the current language."""
    yield str(conclusion(verdict, results.baseline))
    table = verdict_table(verdict.models, results.spending)
    yield table.terminal(len(table.rows))
    for path in sorted((run.folder / "reports").glob("report_*.html")) if run else ():
        yield say("screen.report", link=shorten_path(path))
