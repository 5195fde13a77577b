"""What other tools stated of recorded replies, beside our scores, as reports show it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tasks.report.report_data import ReportData
from tasks.report.text import percent, plain, table
from tasks.report.titles import metric_title
from tasks.report.words import shared

SHOWN = 50
"""Items on which the tool and we differ that a report lists; `results.json` has all."""


@dataclass(frozen=True, slots=True)
class StatedRow:
    """One model's replies to a suite: two means of the same `n` replies, and where they differ."""

    model: str
    suite: str
    metric: str
    n: int
    stated: str
    ours: str
    n_differing: int
    differing: tuple[Mapping[str, str], ...]


def rows(data: ReportData) -> list[StatedRow]:
    """Return what stands beside each other; nothing where no tool stated anything."""
    language = data.settings.report.language
    prompts = dict(data.items.select("item_id", "prompt").iter_rows())

    def differing(one: Mapping[str, float | str]) -> Mapping[str, str]:
        item = str(one["item_id"])
        question = " ".join(str(prompts.get(item, "")).split())
        return {
            "item": item,
            "question": question[:120],
            "stated": f"{one['stated']:g}",
            "ours": f"{one['ours']:g}",
        }

    return [
        StatedRow(
            one["model"],
            one["suite"],
            metric_title(one["metric"], language),
            one["n"],
            percent(one["stated"]),
            percent(one["ours"]),
            len(one["differing"]),
            tuple(differing(each) for each in one["differing"][:SHOWN]),
        )
        for one in data.results.get("stated", ())
    ]


def markdown(data: ReportData) -> Iterator[str]:
    """Yield the section of the Markdown report."""
    language = data.settings.report.language
    found = rows(data)
    if not found:
        return
    names = ("model", "suite", "metric", "stated_score", "our_score", "differing")
    whole = [
        [
            plain(one.model),
            plain(one.suite),
            plain(one.metric),
            one.stated,
            one.ours,
            f"{one.n_differing} / {one.n}",
        ]
        for one in found
    ]
    yield from (f"## {shared('stated', language)}", "", shared("stated_note", language), "")
    yield from (*table([shared(name, language) for name in names], whole, left=3), "")
    each = [
        [plain(one.model), plain(item["question"]), item["stated"], item["ours"]]
        for one in found
        for item in one.differing
    ]
    if each:
        head = [shared(name, language) for name in ("model", "question", "stated_score", "our_score")]
        yield from (*table(head, each, left=2), "")
    more = sum(one.n_differing - len(one.differing) for one in found)
    if more:
        yield from (shared("more_rows", language, n=more), "")
