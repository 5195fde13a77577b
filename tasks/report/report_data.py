"""The input of reports: a run's results and verdict, its tables, read once, and the facts about the run itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from basic_control.data.batches import Ref, Tables
from basic_control.data.tables import ITEMS, SCORES, SUMMARY, VERDICTS
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.plan import Plan
from basic_control.tasks.report.titles import SuiteTitles
from basic_control.tasks.store.samples import read_calls
from basic_control.tasks.store.tables import Store


@dataclass(frozen=True)
class ReportData:
    """One run, as the writers of reports see it.

    `replies` has a row for each item, model and repeat: the items' columns, the request, the response.
    """

    plan: Plan
    items: pl.DataFrame
    replies: pl.DataFrame
    judged: pl.DataFrame
    verdicts: pl.DataFrame
    scores: pl.DataFrame
    summary: pl.DataFrame
    manifest: Mapping[str, Any]
    results: Results
    verdict: RunVerdict

    @property
    def language(self) -> str:
        """The reports' language."""
        return self.plan.report.language

    @property
    def titles(self) -> SuiteTitles:
        """The titles of the run's suites."""
        return SuiteTitles.of(self.plan.declarations)

    @property
    def run(self) -> str:
        """The run's name."""
        return str(self.manifest["run"])

    @property
    def start_time(self) -> datetime:
        """The run's start."""
        return datetime.fromisoformat(str(self.manifest["started"]))

    @property
    def stamp(self) -> str:
        """The run's start as in file names."""
        return self.start_time.strftime("%Y%m%d_%H%M%S")


def gather(
    store: Store,
    tables: Tables,
    summary: Ref,
    *,
    plan: Plan,
    manifest: Mapping[str, Any],
    results: Results,
    verdict: RunVerdict,
) -> ReportData:
    """Read a run's tables."""
    items = store.read_all(tables.items, ITEMS).unique("item_id", maintain_order=True)
    # The calls hold replies to twins too, which have no item here.
    answers = read_calls(store, tables.queries)
    return ReportData(
        plan=plan,
        items=items,
        replies=answers.join(items, on="item_id", how="inner", maintain_order="left"),
        judged=read_calls(store, tables.judged),
        verdicts=store.read_all(tables.verdicts, VERDICTS),
        scores=store.read_all(tables.scores, SCORES),
        summary=SUMMARY.check(store.read(summary)),
        manifest=manifest,
        results=results,
        verdict=verdict,
    )
