"""The HTML report: one self-contained file that loads nothing else.

Its content-security policy allows exactly the embedded script and style sheet, by their hashes. Text from models
and data sets is escaped here (Jinja's autoescape) and set as text there (page.js). The samples are written chunk by
chunk.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from basic_control.data.suites import ALL, find_targets
from basic_control.prompts.phrases import list_phrases
from basic_control.tasks.report import chunks, explained, labelling, overview, pages, samples, sections
from basic_control.tasks.report.language import say, say_on_page, say_reason, use_language
from basic_control.tasks.report.passports import reliability_curves
from basic_control.tasks.report.ranking import differences
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.text import date_in_words, join_names, shorten_name
from basic_control.tasks.report.warnings import group_notes, notes
from basic_control.tasks.report.words import (
    bounds,
    cost_lines,
    describe_calls,
    format_labelled_score,
    measure,
    name_metric,
)
from basic_control.tasks.store.tables import open_atomically

_SCRIPT = ("page.js", "chunks.js", "samples.js", "sample.js", "matrix.js", "sharing.js", "label.js")
_MANIFEST = (
    "wall_s",
    "cpu_s",
    "commit",
    "requests",
    "identities",
    "judge_identities",
    "versions",
    "sandbox",
    "tables",
)


def address(**parts: str) -> str:
    """Return the link to the page's samples of a model, category, level, with a text (sharing.js reads it)."""
    return f"#samples?{urlencode({name: text for name, text in parts.items() if text})}"


def _build_head(data: ReportData, models: Sequence[str]) -> dict[str, Any]:
    """Return what a run is about, and how it was made: its title is its name, or its tasks."""
    tasks = join_names([data.titles.suite(suite.name) for suite in data.plan.declarations])
    name = data.plan.report.name
    names = [shorten_name(model, among=models) for model in models]
    n_models = say("page.models", n=len(names))
    return {
        "title": name or tasks,
        "tasks": tasks if name else "",
        "date": date_in_words(data.start_time),
        "named_models": names[0] if len(names) == 1 else f"{n_models}: {join_names(names)}",
        "n_rows": data.items.height,
        "language": data.language,
        "run": data.run,
        "started": data.start_time,
        "manifest": {**dict.fromkeys(_MANIFEST), **data.manifest},
        "rules": sections.describe_units(data.manifest),
        "configuration": json.dumps(data.plan.configuration, ensure_ascii=False, indent=2),
    }


def _build_sections(data: ReportData, models: Sequence[str], frames: samples.Frames) -> dict[str, Any]:
    """Return the page's sections, by their names in its template; None or empty for what does not apply."""
    results, verdict, titles, plan = data.results, data.verdict, data.titles, data.plan
    columns = overview.heat_columns(data.summary, data.items, titles)
    # The chart of categories shows the same cells as the heat map.
    heat_map = overview.heat_map(columns, models, data.summary, verdict, titles.suites)
    return {
        "verdict": overview.verdict_of_run(verdict, results, titles),
        "answers": [*differences(verdict.models, results.compared, find_targets(titles.suites, plan.model_names))],
        "topics": group_notes(notes(results, verdict, plan, data)),
        "models": models,
        "heat_map": heat_map,
        "profile": overview.profile(heat_map, models),
        "pivot": overview.pivot(columns, models, data.summary, data.items),
        "sections": sections.sections(data),
        "comparisons": overview.comparisons(results.compared, titles),
        "suites": explained.suites(data, models),
        "judges": explained.judges(results.judged.agreement, data.scores, data.items),
        "reliability": reliability_curves(results.judged),
        "typical": overview.typical_errors(data.scores, data.items, titles),
        "failed_by": overview.count_failures_by_metric(frames),
        "frequent": overview.frequent_replies(data.scores, data.items, data.replies, titles),
        "operations": (sections.usage(data), [*cost_lines(results.spending)]),
    }


def _build_samples(data: ReportData, models: Sequence[str], frames: samples.Frames, size: int) -> dict[str, Any]:
    """Return the samples for the page's script: their index, their chunks, the sheet for labelling them."""
    chunked = chunks.Chunks(frames, size=size)
    # What the scripts of the page need to name what they show.
    index, index_encoding = chunks.encode({
        "titles": overview.names(data.items, data.titles),
        "scores": {name: name_metric(name) for name in (ALL, "")},
        "targets": overview.targets(data.plan, data.verdict, models),
        **chunked.index(),
    })  # fmt: skip
    rows = labelling.sheet_of(data)
    sheet, sheet_encoding = chunks.encode(rows) if rows else ("", "")
    return {
        "index": Markup(index),  # noqa: S704 - escaped by chunks.inline
        "index_encoding": index_encoding,
        "chunks": ((chunk.name, chunk.encoding, Markup(chunk.text)) for chunk in chunked),  # noqa: S704 - escaped by chunks.inline
        "sheet": Markup(sheet),  # noqa: S704 - escaped by chunks.inline
        "sheet_encoding": sheet_encoding,
        "words_json": Markup(chunks.inline(list_phrases("script", data.language))),  # noqa: S704 - escaped by chunks.inline
    }


def _pieces(data: ReportData, size: int) -> Iterator[str]:
    """Yield the page's text, its markup first and then the samples chunk by chunk."""
    models, frames = overview.models_of(data.verdict, data.scores), samples.frames(data)
    style, style_hash = pages.inline_text(pages.read(pages.STYLES))
    script, script_hash = pages.inline_text(
        "".join(('"use strict";\n(() => {\n', *map(pages.read, _SCRIPT), "})();\n"))
    )
    template = pages.environment().get_template("page.html.j2")
    return template.generate(
        **_build_head(data, models),
        **_build_sections(data, models, frames),
        **_build_samples(data, models, frames, size),
        style=style,
        script=script,
        # Only this script, this style sheet and inlined images.
        policy=f"{pages.policy(style_hash, script_hash)}; img-src data:",
        heat=overview.heat,
        few=overview.is_imprecise,
        address=address,
        titled=name_metric,
        frequent_reasons=overview.frequent_reasons,
        t=say_on_page,
        translated=say_reason,
        measure=measure,
        bounds=bounds,
        labelled=format_labelled_score,
        asked=describe_calls,
        most=overview.SERIES,
    )


def compose(data: ReportData) -> str:
    """Return the whole page with its samples."""
    with use_language(data.language):
        return "".join(_pieces(data, chunks.SIZE))


def write(data: ReportData, path: Path, *, size: int = chunks.SIZE) -> Path:
    """Write the page to a file, at most `size` samples a chunk."""
    with open_atomically(path) as file, use_language(data.language):
        for piece in _pieces(data, size):
            file.write(piece.encode("utf-8", "replace"))
    return path
