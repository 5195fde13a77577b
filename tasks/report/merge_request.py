"""The summary of a run for a merge request: its screen, its baseline comparison, the largest changes."""

from collections.abc import Iterator
from pathlib import Path

from basic_control.metrics.analysis.baseline import BaselineComparison, ChangedItem, HeadlineChange
from basic_control.tasks.report.language import say, speaking
from basic_control.tasks.report.regressions import (
    describe_question_changes,
    list_differences,
    outcome_with_conditions,
    pair_name,
)
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.screen import screen
from basic_control.tasks.report.tables import Table, column_maker
from basic_control.tasks.report.text import clip_text, code, escape_markdown, localize_digits, percent, points
from basic_control.tasks.store.tables import write_atomically

LONGEST = 120
"""Maximum characters of a question."""


def summary(data: ReportData) -> str:
    """Return the Markdown for a merge request: the screen, the baseline's table, the largest changes, files."""
    manifest, baseline = data.manifest, data.results.baseline
    with speaking(data.language):
        shown = screen(data.results, data.verdict, data.plan, manifest["requests"], wall_s=manifest.get("wall_s"))
        text = ["## Basic Control", "", *shown.markdown(), ""]
        if baseline:
            text += _against(baseline)
        # Raw results are written of generated items alone.
        raw = [] if data.verdicts.is_empty() else ["raw/"]
        files = ", ".join(code(name) for name in ("results.json", "reports/", *raw))
        text += [say("regression.files", run=code(data.run), files=files), ""]
    return "\n".join(text)


def _against(comparison: BaselineComparison) -> Iterator[str]:
    yield f"### {escape_markdown(say('regression.head', name=comparison.name, run=comparison.run))}"
    yield ""
    yield from (f"- {escape_markdown(line)}" for line in list_differences(comparison))
    moved = (line for change in comparison.headlines for line in describe_question_changes(change.moved))
    yield from dict.fromkeys(f"- {escape_markdown(line)}" for line in moved)
    yield ""
    of_all, column = column_maker("common"), column_maker("regression")

    def interval(change: HeadlineChange) -> str:
        ends = change.pair.test.interval
        return f"{points(ends.low)} … {points(ends.high)}"

    def now(item: ChangedItem) -> str:
        return localize_digits(f"{item.after:g}") + ("" if item.status == "scored" else f" ({item.status})")

    yield from Table.of(
        comparison.headlines,
        of_all("model", lambda change: change.pair.model_a),
        of_all("suite", lambda change: pair_name(change.pair, comparison)),
        column("baseline", lambda change: percent(change.pair.mean_b), numeric=True),
        column("now", lambda change: percent(change.pair.mean_a), numeric=True),
        column("difference", lambda change: points(change.pair.difference), numeric=True),
        column("interval", interval, numeric=True),
        column("lost_won", lambda change: f"{change.pair.only_b} / {change.pair.only_a}", numeric=True),
        column("outcome", outcome_with_conditions, strong=True),
    ).markdown()
    yield ""
    several = len({(change.pair.suite, change.pair.metric) for change in comparison.headlines}) > len(
        {change.pair.suite for change in comparison.headlines}
    )
    if comparison.changed:
        yield from (f"### {say('regression.changed')}", "")
        yield from Table.of(
            comparison.changed,
            column(
                "item",
                lambda item: " ".join(filter(None, (item.suite, item.metric if several else "", item.item_id))),
            ),
            column("baseline", lambda item: localize_digits(f"{item.before:g}"), numeric=True),
            column("now", now, numeric=True),
            column("prompt", lambda item: clip_text(" ".join((item.prompt or "").split()), LONGEST)),
        ).markdown()
        yield ""


def write(data: ReportData, path: Path) -> Path:
    """Write the summary for a merge request."""
    return write_atomically(path, summary(data))
