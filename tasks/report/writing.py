"""Write a run's reports and its manifest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from basic_control.data.batches import Ref, Tables
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.plan import Plan
from basic_control.tasks.report import exports, html, junit, markdown, merge_request, raw
from basic_control.tasks.report.report_data import gather
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage


@stage(version=1, part="report", takes="report", cached=False)
def report(
    plan: Plan,
    tables: Tables,
    summary: Ref,
    *,
    folder: str,
    manifest: Mapping[str, Any],
    results: Results,
    verdict: RunVerdict,
) -> list[str]:
    """Write every report of a run; return the paths, the main one first."""
    store = open_store(plan.store)
    data = gather(store, tables, summary, plan=plan, manifest=manifest, results=results, verdict=verdict)
    run_folder, options = Path(folder), plan.report
    paths: list[Path] = []
    if options.html:
        page = run_folder / "reports" / f"report_{data.stamp}.html"
        paths.append(html.write(data, page))
    paths += [markdown.write(data, run_folder), *raw.write(data, run_folder)]
    # The files for a CI job lie where the configuration says, outside the run's folder.
    if options.junit:
        junit.write(data, Path(options.junit))
    if options.markdown:
        merge_request.write(data, Path(options.markdown))
    paths += exports.write(data, run_folder)
    return [str(path) for path in paths]
