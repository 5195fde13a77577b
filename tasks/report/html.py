"""The HTML report: one self-contained file that loads nothing else.

Its content-security policy allows exactly the embedded script and style sheet, by their hashes. Text from models
and data sets is escaped here (Jinja's autoescape) and set as text there (page.js). The samples are written chunk by
chunk.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup

from data.suites import prompted
from prompts.phrases import section, translated
from tasks.report import (
    chunks,
    explained,
    labelling,
    overview,
    pages,
    samples,
    sections,
)
from tasks.report.conclusion import differences
from tasks.report.report_data import ReportData
from tasks.report.text import speaking
from tasks.report.titles import metric_title, suite_title
from tasks.report.warnings import notes
from tasks.report.words import asked, bound, cost_lines, has_overall, measure, say
from tasks.store.tables import replacing

_SCRIPT = ("page.js", "chunks.js", "samples.js", "sample.js", "matrix.js", "sharing.js", "label.js")
_MANIFEST = ("wall_s", "cpu_s", "memory_mb", "commit", "requests", "identities", "versions", "sandbox", "tables")


def address(**parts: str) -> str:
    """Return the link to the page's samples of a model, category, level, with a text (sharing.js reads it)."""
    return f"#samples?{urlencode({name: text for name, text in parts.items() if text})}"


def _pieces(data: ReportData, size: int) -> Iterator[str]:
    language = data.language
    found = chunks.Chunks(samples.frames(data), size=size)
    named = {"titles": overview.titles(data), "targets": overview.targets(data)}
    index, index_encoding = chunks.encode({**named, **found.index()})
    sheet, sheet_encoding = labelling.pack(data) or ("", "")
    style, style_hash = pages.inlined(pages.read("page.css"))
    script, script_hash = pages.inlined(
        "".join(('"use strict";\n(() => {\n', *map(pages.read, _SCRIPT), "})();\n"))
    )
    models, heat_map = overview.models_of(data), overview.heat_map(data)
    return (
        pages.environment()
        .get_template("page.html.j2")
        .generate(
            models=models,
            verdict=overview.verdict(data),
            answers=[*differences(data.results, language, prompted(data.plan.declared, data.plan.configured))],
            heat_map=heat_map,
            profile=overview.profile(heat_map, models),
            pivot=overview.pivot(data),
            sections=sections.sections(data),
            comparisons=overview.comparisons(data),
            typical=overview.typical_errors(data),
            suites=explained.suites(data, models),
            judges=explained.judges(data),
            usage=sections.usage(data),
            spending=[*cost_lines(data.results, language)],
            rules=sections.rules(data),
            notes=notes(data.results, data.plan, data),
            language=language,
            data=data,
            manifest={**dict.fromkeys(_MANIFEST), **data.manifest},
            configuration=json.dumps(data.plan.configuration, ensure_ascii=False, indent=2),
            index=Markup(index),  # noqa: S704 - escaped by chunks.inline
            index_encoding=index_encoding,
            chunks=((one.name, one.encoding, Markup(one.text)) for one in found),  # noqa: S704 - escaped by chunks.inline
            sheet=Markup(sheet),  # noqa: S704 - escaped by chunks.inline
            sheet_encoding=sheet_encoding,
            words_json=Markup(chunks.inline(section("script", language))),  # noqa: S704 - escaped by chunks.inline
            style=style,
            script=script,
            # Only this script, this style sheet and inlined images.
            policy=f"{pages.policy(style_hash, script_hash)}; img-src data:",
            heat=overview.heat,
            few=overview.is_imprecise,
            address=address,
            t=lambda name, /, **values: say(name, language, **values),
            translated=lambda reason: translated(reason, language),
            metric_title=lambda name: metric_title(name, language),
            measure=measure,
            bound=bound,
            has_overall=has_overall,
            asked=partial(asked, language=language),
            suite_title=partial(suite_title, data),
            most=overview.SERIES,
        )
    )


@speaking(lambda data, *_, **__: data.language)
def compose(data: ReportData) -> str:
    """Return the whole page with its samples."""
    return "".join(_pieces(data, chunks.SIZE))


@speaking(lambda data, *_, **__: data.language)
def write(data: ReportData, folder: Path, *, size: int = chunks.SIZE) -> Path:
    """Write `reports/report_<stamp>.html`, at most `size` samples a chunk."""
    path = folder / "reports" / f"report_{data.stamp}.html"
    with replacing(path) as file:
        for piece in _pieces(data, size):
            file.write(piece.encode("utf-8", "replace"))
    return path
