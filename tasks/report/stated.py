"""What other tools stated of recorded replies, beside our scores, as reports show it."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from tasks.report.report_data import ReportData
from tasks.report.tables import Column, Table
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

    def column(name: str, take: Callable[[Any], str], *, numeric: bool = True) -> Column:
        return Column(shared(name, language), take, numeric=numeric)

    means = Table.of(
        listed,
        column("model", itemgetter("model"), numeric=False),
        column("suite", itemgetter("suite"), numeric=False),
        column("metric", lambda one: metric_title(one["metric"], language), numeric=False),
        column("stated_score", lambda one: percent(one["stated"])),
        column("our_score", lambda one: percent(one["ours"])),
        column("differing", lambda one: f"{len(one['differing'])} / {one['n']}"),
        title=shared("stated", language),
        caption=shared("stated_note", language),
        name="stated",
    )
    items = Table.of(
        ((one["model"], item) for one in listed for item in one["differing"][:SHOWN]),
        column("model", itemgetter(0), numeric=False),
        column("question", lambda row: _question(prompts, str(row[1]["item_id"])), numeric=False),
        column("stated_score", lambda row: f"{row[1]['stated']:g}"),
        column("our_score", lambda row: f"{row[1]['ours']:g}"),
        title=shared("differing", language),
        caption=shared("more_rows", language, n=more) if more else "",
        name="differing",
    )
    return means, items


def _question(prompts: dict[str, str], item: str) -> str:
    return " ".join(str(prompts.get(item, "")).split())[:120]
