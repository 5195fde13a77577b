"""The HTML report: one self-contained file that loads nothing else.

Its content-security policy allows exactly the embedded script and style sheet, by their hashes. Text from models
and data sets is escaped here (Jinja's autoescape) and set as text there (page.js). The samples are written chunk by
chunk.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup

from basic_control.prompts.phrases import list_phrases
from basic_control.tasks.report import chunks, overview, pages
from basic_control.tasks.report.contents import Contents
from basic_control.tasks.report.language import say_on_page, say_reason, use_language
from basic_control.tasks.report.words import bounds, describe_calls, format_labelled_score, measure, name_metric
from basic_control.tasks.store.tables import open_atomically

_SCRIPT = ("page.js", "chunks.js", "samples.js", "sample.js", "matrix.js", "sharing.js", "label.js")


def address(**parts: str) -> str:
    """Return the link to the page's samples of a model, category, level, with a text (sharing.js reads it)."""
    return f"#samples?{urlencode({name: text for name, text in parts.items() if text})}"


def _pieces(contents: Contents, size: int) -> Iterator[str]:
    """Yield the page's text, its markup first and then the samples chunk by chunk."""
    facts, browsed = contents["facts"], contents["browsed"]
    samples = chunks.Chunks(browsed.frames, size=size)
    index, index_encoding = chunks.encode({**browsed.names, **samples.index()})
    sheet, sheet_encoding = chunks.encode(browsed.sheet) if browsed.sheet else ("", "")
    style, style_hash = pages.inline_text(pages.read(pages.STYLES))
    script, script_hash = pages.inline_text(
        "".join(('"use strict";\n(() => {\n', *map(pages.read, _SCRIPT), "})();\n"))
    )
    return (
        pages.environment()
        .get_template("page.html.j2")
        .generate(
            **contents,
            configuration=json.dumps(facts.configuration, ensure_ascii=False, indent=2),
            index=Markup(index),  # noqa: S704 - escaped by chunks.inline
            index_encoding=index_encoding,
            chunks=((chunk.name, chunk.encoding, Markup(chunk.text)) for chunk in samples),  # noqa: S704 - escaped by chunks.inline
            sheet=Markup(sheet),  # noqa: S704 - escaped by chunks.inline
            sheet_encoding=sheet_encoding,
            words_json=Markup(chunks.inline(list_phrases("script", facts.language))),  # noqa: S704 - escaped by chunks.inline
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
    )


def compose(contents: Contents) -> str:
    """Return the whole page with its samples."""
    with use_language(contents["facts"].language):
        return "".join(_pieces(contents, chunks.SIZE))


def write(contents: Contents, path: Path, *, size: int = chunks.SIZE) -> Path:
    """Write the page to a file, at most `size` samples a chunk."""
    with open_atomically(path) as file, use_language(contents["facts"].language):
        for piece in _pieces(contents, size):
            file.write(piece.encode("utf-8", "replace"))
    return path
