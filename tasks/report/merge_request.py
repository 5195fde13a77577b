"""The summary of a run for a merge request: its screen, its baseline comparison, the largest changes."""

from collections.abc import Iterator
from pathlib import Path

from basic_control.metrics.analysis.baseline import BaselineComparison, ChangedItem, HeadlineChange
from basic_control.tasks.report.language import say, use_language
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
    with use_language(data.language):
        tables = screen(data.results, data.verdict, data.plan, manifest["requests"], wall_s=manifest.get("wall_s"))
        text = ["## Basic Control", "", *tables.markdown(), ""]
        if baseline:
            text += _against(baseline)
        # Raw results are written of generated items alone.
        names = ["results.json", "reports/"]
        if not data.verdicts.is_empty():
            names.append("raw/")
        files = ", ".join(map(code, names))
        text += [say("regression.files", run=code(data.run), files=files), ""]
    return "\n".join(text)


def _against(comparison: BaselineComparison) -> Iterator[str]:
    yield f"### {escape_markdown(say('regression.head', name=comparison.name, run=comparison.run))}"
    yield ""
    for line in list_differences(comparison):
        yield f"- {escape_markdown(line)}"
    # Headlines of the same suite have the same questions: what changed in them is said once.
    change_lines: dict[str, None] = {}
    for change in comparison.headlines:
        change_lines |= dict.fromkeys(describe_question_changes(change.moved))
    for line in change_lines:
        yield f"- {escape_markdown(line)}"
    yield ""
    yield from _build_table(comparison).markdown()
    yield ""
    if comparison.changed:
        yield from (f"### {say('regression.changed')}", "")
        yield from _build_items_table(comparison).markdown()
        yield ""


def _build_table(comparison: BaselineComparison) -> Table:
    """Return a row for each headline: its score before and now."""
    of_all, column = column_maker("common"), column_maker("regression")

    def interval(change: HeadlineChange) -> str:
        ends = change.pair.test.interval
        return f"{points(ends.low)} … {points(ends.high)}"

    return Table.of(
        comparison.headlines,
        of_all("model", lambda change: change.pair.model_a),
        of_all("suite", lambda change: pair_name(change.pair, comparison)),
        column("baseline", lambda change: percent(change.pair.mean_b), numeric=True),
        column("now", lambda change: percent(change.pair.mean_a), numeric=True),
        column("difference", lambda change: points(change.pair.difference), numeric=True),
        column("interval", interval, numeric=True),
        column("lost_won", lambda change: f"{change.pair.only_b} / {change.pair.only_a}", numeric=True),
        column("outcome", outcome_with_conditions, strong=True),
    )


def _build_items_table(comparison: BaselineComparison) -> Table:
    """Return a row for each of the items whose scores changed the most."""
    column = column_maker("regression")
    pairs = [change.pair for change in comparison.headlines]
    n_headlines = len({(pair.suite, pair.metric) for pair in pairs})
    has_several_metrics = n_headlines > len({pair.suite for pair in pairs})

    def identify(item: ChangedItem) -> str:
        names = [item.suite, item.name or item.item_id]
        if has_several_metrics:
            names.insert(1, item.metric)
        return " ".join(filter(None, names))

    def now(item: ChangedItem) -> str:
        value = localize_digits(f"{item.after:g}")
        return value if item.status == "scored" else f"{value} ({item.status})"

    return Table.of(
        comparison.changed,
        column("item", identify),
        column("baseline", lambda item: localize_digits(f"{item.before:g}"), numeric=True),
        column("now", now, numeric=True),
        column("prompt", lambda item: clip_text(" ".join((item.prompt or "").split()), LONGEST)),
    )


def write(data: ReportData, path: Path) -> Path:
    """Write the summary for a merge request."""
    return write_atomically(path, summary(data))
