"""The summary of a run for a merge request: its screen, what it is against its baseline, what changed most."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prompts.phrases import phrase
from tasks.report.moved import moved_lines
from tasks.report.regressions import apart, around, points, regression
from tasks.report.report_data import ReportData
from tasks.report.screen import screen
from tasks.report.text import clipped, code, percent, plain, table
from tasks.report.words import shared
from tasks.store.tables import write_atomically

LONGEST = 120
"""Characters of a question that is named."""


def summary(data: ReportData) -> str:
    """Return the Markdown for a merge request: the screen, the baseline's table, what changed most, files."""
    language = data.settings.report.language
    final, held = data.results["final"], data.results.get("baseline")
    shown = screen(data.results, data.settings, data.manifest["requests"], data.manifest.get("wall_s"))
    verdict = phrase(f"regression.exit_{final['exit_code']}", language)
    text = [f"## Basic Control: {verdict}", "", *shown.markdown(), ""]
    if held:
        text += list(_against(held, language))
    files = ", ".join(code(name) for name in ("results.json", "reports/", "raw/"))
    text += [phrase("regression.files", language, run=code(data.run), files=files), ""]
    return "\n".join(text)


def _against(held: Mapping[str, Any], language: str) -> Iterator[str]:
    yield f"### {plain(phrase('regression.head', language, name=held['name'], run=held['run']))}"
    yield ""
    yield from (f"- {plain(line)}" for line in apart(held, language))
    moved = (part["moved"] for model in held["models"] for part in model["suites"])
    yield from dict.fromkeys(f"- {plain(line)}" for one in moved for line in moved_lines(one, language))
    names = ("baseline", "now", "difference", "interval", "lost_won", "outcome")
    header = [shared("model", language), shared("suite", language)]
    header += [phrase(f"regression.{name}", language) for name in names]
    rows = [
        [
            plain(model["model"]),
            plain(part["suite"]),
            percent(part["baseline"]),
            percent(part["mean"]),
            points(part["difference"]),
            around(part),
            f"{part['lost']} / {part['won']}",
            f"**{plain(regression(part, language).partition(': ')[2] or regression(part, language))}**",
        ]
        for model in held["models"]
        for part in model["suites"]
    ]
    yield from ("", *table(header, rows, left=2), "")
    changed = [one for model in held["models"] for one in model["changed"]]
    if changed:
        yield f"### {phrase('regression.changed', language)}"
        yield ""
        header = [phrase(f"regression.{name}", language) for name in ("item", "baseline", "now", "prompt")]
        rows = [
            [
                f"{plain(one['suite'])} {code(one['item_id'])}",
                f"{one['before']:g}",
                f"{one['after']:g}" + ("" if one["status"] == "scored" else f" ({one['status']})"),
                plain(clipped(" ".join((one["prompt"] or "").split()), LONGEST)),
            ]
            for one in changed
        ]
        yield from (*table(header, rows, left=1), "")


def write(data: ReportData, path: Path) -> Path:
    """Write the summary for a merge request."""
    write_atomically(path, summary(data).encode("utf-8", "replace"))
    return path
