"""The replies of a run that lost points or are not scored, as a table: what was asked, what came, and why."""

from collections import Counter
from collections.abc import Sequence

from basic_control.tasks.compare.provenance import read_provenance
from basic_control.tasks.compare.rows import ShownRow, list_failed
from basic_control.tasks.exchange.frames import Side
from basic_control.tasks.report.language import say
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.rows import add_name, cut, describe_ending, describe_remarks, find_ending, share_out
from basic_control.tasks.report.tables import Column, Table, column_maker
from basic_control.tasks.report.text import percent
from basic_control.tasks.report.words import suite_title

MOST = 20
"""Rows of the table; `show` and the page have all."""
LONGEST = 200
"""Characters of a text in a cell."""


def build_failed_table(data: ReportData) -> Table:
    """Return the worst replies of a run, of each the question, the reply, its score and what lost it points."""
    failed = list_failed(build_side(data))
    column, of_script = column_maker("common"), column_maker("script")
    caption = ""
    if len(failed) > MOST:
        caption = say("common.failed_more", k=MOST, n=len(failed))
    return Table.of(
        _select_rows(failed),
        column("category", lambda row: suite_title(row.suite)),
        column("model", lambda row: row.model),
        column("metric", lambda row: row.metric),
        of_script("question", lambda row: _shorten(add_name(row.name, row.question))),
        of_script("response", lambda row: _shorten(find_ending(row.reply)) or f"({say('screen.empty_reply')})"),
        Column(say("common.score"), _write_score, numeric=True),
        of_script("reason", _explain),
        title=say("common.failed_head"),
        caption=caption,
    )


def build_side(data: ReportData) -> Side:
    """Return a run as `show` reads it once it has ended."""
    suites = data.items.select("item_id", "suite")
    return Side(
        data.run,
        data.items,
        data.scores.join(suites, on="item_id", how="left", maintain_order="left"),
        data.replies,
        read_provenance(data.manifest),
        suites=tuple(data.plan.declarations),
    )


def _select_rows(rows: Sequence[ShownRow]) -> list[ShownRow]:
    """Return the first rows, at most `MOST`, with a share for each metric of each suite and model."""
    counts = Counter((row.suite, row.model, row.metric) for row in rows)
    shares = dict(zip(counts, share_out(MOST, [*counts.values()]), strict=True))
    selection: list[ShownRow] = []
    for row in rows:
        group = (row.suite, row.model, row.metric)
        if shares[group]:
            shares[group] -= 1
            selection.append(row)
    return selection


def _write_score(row: ShownRow) -> str:
    """Return a row's score in percent, or that it has none."""
    # A dash alone would read like lost points under the table's title.
    if row.is_unscored:
        return f"! {say('script.unscored')}"
    return percent(row.value)


def _explain(row: ShownRow) -> str:
    """Return all that its score says of a row: failed checks, claims, judges' reasons, else what was expected."""
    return _shorten("; ".join(describe_remarks(row)) or describe_ending(row))


def _shorten(text: str) -> str:
    return cut(" ".join(text.split()), LONGEST)
