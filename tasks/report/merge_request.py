"""The summary of a run for a merge request: its screen, its baseline comparison, the largest changes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prompts.phrases import phrase
from tasks.report.regressions import apart, around, moved_lines, regression
from tasks.report.report_data import ReportData
from tasks.report.screen import screen
from tasks.report.tables import Table, column_maker
from tasks.report.text import clipped, code, percent, plain, points, speaking, written
from tasks.report.words import suites_in
from tasks.store.tables import write_atomically

LONGEST = 120
"""Maximum characters of a question."""


@speaking(lambda data, *_, **__: data.language)
def summary(data: ReportData) -> str:
    """Return the Markdown for a merge request: the screen, the baseline's table, the largest changes, files."""
    language = data.language
    held = data.results.get("baseline")
    shown = screen(data.results, data.plan, data.manifest["requests"], data.manifest.get("wall_s"))
    text = ["## Basic Control", "", *shown.markdown(), ""]
    if held:
        text += list(_against(held, language))
    files = ", ".join(code(name) for name in ("results.json", "reports/", "raw/"))
    text += [phrase("regression.files", language, run=code(data.run), files=files), ""]
    return "\n".join(text)


def _against(held: Mapping[str, Any], language: str) -> Iterator[str]:
    yield f"### {plain(phrase('regression.head', language, name=held['name'], run=held['run']))}"
    yield ""
    yield from (f"- {plain(line)}" for line in apart(held, language))
    moved = (line for _, part in suites_in(held) for line in moved_lines(part["moved"], language))
    yield from dict.fromkeys(f"- {plain(line)}" for line in moved)
    yield ""
    of_all, column = column_maker("common", language), column_maker("regression", language)

    def how(part: Mapping[str, Any]) -> str:
        whole, named = regression(part, language), "improved" if part["improved"] else part["outcome"]
        return whole[max(0, whole.find(phrase(f"regression.{named}", language))) :]

    def now(one: Mapping[str, Any]) -> str:
        return written(f"{one['after']:g}") + ("" if one["status"] == "scored" else f" ({one['status']})")

    yield from Table.of(
        suites_in(held),
        of_all("model", lambda one: one[0]),
        of_all("suite", lambda one: one[1]["suite"]),
        column("baseline", lambda one: percent(one[1]["baseline"]), numeric=True),
        column("now", lambda one: percent(one[1]["mean"]), numeric=True),
        column("difference", lambda one: points(one[1]["difference"]), numeric=True),
        column("interval", lambda one: around(one[1]), numeric=True),
        column("lost_won", lambda one: f"{one[1]['lost']} / {one[1]['won']}", numeric=True),
        column("outcome", lambda one: how(one[1]), strong=True),
    ).markdown()
    yield ""
    if changed := [one for model in held["models"] for one in model["changed"]]:
        made = Table.of(
            changed,
            column("item", lambda one: f"{one['suite']} {one['item_id']}"),
            column("baseline", lambda one: written(f"{one['before']:g}"), numeric=True),
            column("now", now, numeric=True),
            column("prompt", lambda one: clipped(" ".join((one["prompt"] or "").split()), LONGEST)),
            title=phrase("regression.changed", language),
        )
        yield from (f"### {made.title}", "", *made.markdown(), "")


def write(data: ReportData, path: Path) -> Path:
    """Write the summary for a merge request."""
    return write_atomically(path, summary(data))
