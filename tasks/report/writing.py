"""Write a run's reports and its manifest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.batches import Ref, Tables
from tasks.plan import Plan
from tasks.report import exports, html, junit, markdown, merge_request, raw
from tasks.report.report_data import gather
from tasks.runtime.storage import open_store
from tasks.stage import stage
from tasks.store.tables import write_json


@stage(version=1, part="report", takes="report", cached=False)
def report(
    plan: Plan,
    tables: Tables,
    summary: Ref,
    *,
    folder: str,
    manifest: Mapping[str, Any],
    results: Mapping[str, Any],
) -> list[str]:
    """Write every report of a run; return the paths, the main one first."""
    data = gather(open_store(plan.store), tables, summary, plan=plan, manifest=manifest, results=results)
    there, wanted = Path(folder), plan.report
    pages = [html.write(data, there)] if wanted.html else []
    written = [*pages, markdown.write(data, there), *raw.write(data, there)]
    if wanted.junit:
        junit.write(data, Path(wanted.junit))
    if wanted.markdown:
        merge_request.write(data, Path(wanted.markdown))
    if wanted.results:
        write_json(Path(wanted.results), results)
    return [*map(str, written), *map(str, (*exports.write_records(data, there), *exports.write(data, there)))]
