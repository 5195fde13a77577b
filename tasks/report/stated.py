"""What other tools stated of recorded replies, beside our scores, as reports show it."""

from tasks.report.report_data import ReportData
from tasks.report.tables import Table, columns
from tasks.report.text import percent
from tasks.report.titles import metric_title
from tasks.report.words import shared

SHOWN = 50
"""Items on which the tool and we differ that a report lists for each model; `results.json` has all."""


def tables(data: ReportData) -> tuple[Table, Table]:
    """Return two means of the same replies for each model and suite, and the items where they differ."""
    language = data.settings.report.language
    prompts = dict(data.items.select("item_id", "prompt").iter_rows())
    listed = data.results.get("stated", ())
    means = [
        (
            one["model"],
            one["suite"],
            metric_title(one["metric"], language),
            percent(one["stated"]),
            percent(one["ours"]),
            f"{len(one['differing'])} / {one['n']}",
        )
        for one in listed
    ]
    items = [
        (one["model"], _question(prompts, str(item["item_id"])), f"{item['stated']:g}", f"{item['ours']:g}")
        for one in listed
        for item in one["differing"][:SHOWN]
    ]
    more = sum(max(0, len(one["differing"]) - SHOWN) for one in listed)
    left = shared("more_rows", language, n=more) if more else ""
    model, suite, metric, question, stated, ours, differing = (
        shared(name, language)
        for name in ("model", "suite", "metric", "question", "stated_score", "our_score", "differing")
    )
    numbers = (stated, ours, differing)
    title, note = shared("stated", language), shared("stated_note", language)
    return (
        Table(columns(model, suite, metric, *numbers, numeric=numbers), means, title, note, name="stated"),
        Table(columns(model, question, *numbers[:2], numeric=numbers), items, differing, left, name="differing"),
    )


def _question(prompts: dict[str, str], item: str) -> str:
    return " ".join(str(prompts.get(item, "")).split())[:120]
