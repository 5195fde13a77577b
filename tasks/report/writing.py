"""Write a run's reports and its manifest."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from config.settings import Settings
from data.batches import Ref, Tables
from tasks.report import exports, html, junit, markdown, merge_request, raw, records
from tasks.report.report_data import gather
from tasks.runtime.storage import open_store
from tasks.stage import stage
from tasks.store.tables import write_atomically


@stage(version=1, part="report", takes="report", cached=False)
def report(
    settings: Settings,
    tables: Tables,
    summary: Ref,
    *,
    started: datetime,
    folder: str,
    manifest: Mapping[str, Any],
    results: Mapping[str, Any],
) -> list[str]:
    """Write every report of a run; return the paths, the one to open first in front."""
    data = gather(
        open_store(settings.store),
        tables,
        summary,
        settings=settings,
        run=str(manifest["run"]),
        started=started,
        manifest=manifest,
        results=results,
    )
    there = Path(folder)
    pages = [html.write(data, there)] if settings.report.html else []
    written = [*pages, markdown.write(data, there), *raw.write(data, there)]
    if settings.report.junit:
        junit.write(data, Path(settings.report.junit))
    if settings.report.markdown:
        merge_request.write(data, Path(settings.report.markdown))
    if settings.report.results:
        write_atomically(Path(settings.report.results), json.dumps(results, ensure_ascii=False, indent=1).encode())
    written += records.write(data, there)
    return [*map(str, written), *map(str, exports.write(data, there))]
