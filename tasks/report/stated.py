"""What other tools stated of recorded replies, beside our scores, as reports show it."""

from operator import itemgetter

from tasks.report.report_data import ReportData
from tasks.report.tables import Table, column_maker
from tasks.report.text import percent
from tasks.report.titles import metric_title
from tasks.report.words import shared

SHOWN = 50
"""Items on which the tool and we differ that a report lists for each model; `results.json` has all."""


def tables(data: ReportData) -> tuple[Table, Table]:
    """Return two means of the same replies for each model and suite, and the items where they differ."""
    language = data.language
    prompts = dict(data.items.select("item_id", "prompt").iter_rows())
    listed = data.results.get("stated", ())
    more = sum(max(0, len(one["differing"]) - SHOWN) for one in listed)
    column = column_maker("common", language)
    means = Table.of(
        listed,
        column("model", itemgetter("model")),
        column("suite", itemgetter("suite")),
        column("metric", lambda one: metric_title(one["metric"], language)),
        column("stated_score", lambda one: percent(one["stated"]), numeric=True),
        column("our_score", lambda one: percent(one["ours"]), numeric=True),
        column("differing", lambda one: f"{len(one['differing'])} / {one['n']}", numeric=True),
        title=shared("stated", language),
        caption=shared("stated_note", language),
        name="stated",
    )
    items = Table.of(
        ((one["model"], item) for one in listed for item in one["differing"][:SHOWN]),
        column("model", itemgetter(0)),
        column("question", lambda row: _question(prompts, str(row[1]["item_id"]))),
        column("stated_score", lambda row: f"{row[1]['stated']:g}", numeric=True),
        column("our_score", lambda row: f"{row[1]['ours']:g}", numeric=True),
        title=shared("differing", language),
        caption=shared("more_rows", language, n=more) if more else "",
        name="differing",
    )
    return means, items


def _question(prompts: dict[str, str], item: str) -> str:
    return " ".join(str(prompts.get(item, "")).split())[:120]
