"""Warnings to read before relying on a run's verdict: one list, in one order, for every report.

The page and the Markdown report show all. The screen and a merge request omit what their lines about the judges
say, notes that are no warnings, and those that need a run's tables.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from data.commands import typed
from data.records import HIDDEN_KEYS
from metrics.analysis.summary import OF_SUITES, cells
from prompts.phrases import phrase, translated
from tasks.plan import Plan, expected_lines
from tasks.report import passports
from tasks.report.regressions import apart, baseline_of, moved_lines
from tasks.report.report_data import ReportData
from tasks.report.titles import metric_title
from tasks.report.words import say, spending_of, suites_in

Results = Mapping[str, Any]
FEW = 10
"""Number of scored answers below which a suite's score says little."""
_TOKENS = 5
"""Maximum kinds of leaked stop tokens that are named."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence; `kind` is how a page shows it, `judge`: it is about a judge."""

    text: str
    kind: Literal["warn", "info"] = "warn"
    judge: bool = False


def notes(results: Results, plan: Plan, data: ReportData | None = None) -> list[Note]:
    """Return the run's notes, most important first, without duplicates; with `data`, those from its tables too."""
    language = plan.report.language
    found = [
        *_odd(results, plan),
        *(Note(said, judge=True) for _, _, said in passports.warnings(results, language)),
        *(_of_tables(data, language) if data else ()),
        *_prices(results, language),
    ]
    few: dict[str, list[str]] = {}
    for model, suite in suites_in(results["final"]):
        if 0 < suite["n_scored"] < FEW:
            few.setdefault(suite["suite"], []).append(f"{model} {suite['n_scored']}")
    found += [
        Note(say("note_few", language, name=name, models=", ".join(told)), "info") for name, told in few.items()
    ]
    found += [Note(line, "info") for line in expected_lines(plan)]
    return list({one.text: one for one in found}.values())


def _odd(results: Results, plan: Plan) -> Iterator[Note]:
    """Yield changes from the baseline, that nothing decides the run, repeated questions, truncated replies."""
    language = plan.report.language
    if comparison := baseline_of(results):
        yield from map(Note, apart(comparison, language))
        for change in comparison.headlines:
            yield from map(Note, moved_lines(change.moved, language))
    final = results["final"]
    if final["gate"] != "off" and not final["changes"] and {one["verdict"] for one in final["models"]} == {"none"}:
        yield Note(phrase("common.nothing_decides", language))
    for one in results.get("doubled", ()):
        counts = {"k": one["n_repeating"], "n": one["n_rows"]}
        yield Note(phrase("common.doubled", language, suite=one["suite"], **counts))
    if few := results.get("few_templates"):
        yield Note(phrase("common.few_templates", language, suite=", ".join(few)))
    asked = {target.name: target.model for suite in plan.suites for target in suite.targets}
    cut = Counter[str]()
    for name, suite in suites_in(final):
        if name in asked and asked[name].provider != "replay":  # recorded replies stay as they were cut
            cut[asked[name].name] += suite.get("n_truncated", 0)
    if cut.total():
        limits = (f"--set models.{n}.max_tokens=N" for n, name in enumerate(plan.configured) if cut[name])
        again = typed(f"run --run {results['run']['run']} --only-truncated {' '.join(limits)}")
        yield Note(phrase("screen.cut", language, n=cut.total(), command=again))


def _of_tables(data: ReportData, language: str) -> Iterator[Note]:
    """Yield for each model the number of failed calls and of cleaned replies, and the failures of judges."""
    for (model,), own in data.replies.group_by("model", maintain_order=True):
        counts = {"model": model, "n": own.height}
        # Requests waiting in a batch have not failed: the verdict says how many wait.
        failed = own.filter(pl.col("error").is_not_null(), pl.col("error_kind").ne_missing("submitted"))
        if failed.height:
            told = (translated(str(k), language) for k in failed["error_kind"].drop_nulls().unique().sort())
            yield Note(say("note_errors", language, **counts, k=failed.height, kinds=", ".join(told) or "–"))
        if leaked := own["stop_tokens"].drop_nulls().to_list():
            tokens = ", ".join([*dict.fromkeys(token for one in leaked for token in one.split())][:_TOKENS])
            yield Note(say("note_stop_tokens", language, **counts, k=len(leaked), tokens=tokens), "info")
        if n := own.filter(pl.col("extra").fill_null("").str.contains(f'"{HIDDEN_KEYS}"', literal=True)).height:
            yield Note(say("note_keys", language, **counts, k=n))
    plain = ~pl.col("metric").str.contains(".", literal=True)
    for cell in cells(data.summary.filter(OF_SUITES & plain & (pl.col("n_judge_failed") > 0))):
        counts = {"k": cell.counts.n_judge_failed, "n": cell.counts.n_asked}
        metric = metric_title(cell.metric, language)
        yield Note(say("note_judges", language, model=cell.model, metric=metric, **counts), judge=True)


def _prices(results: Results, language: str) -> Iterator[Note]:
    spent = spending_of(results)
    if spent.get("unpriced") and spent.get("cost") is not None:
        yield Note(phrase("common.unpriced", language, names=", ".join(spent["unpriced"])))
    if spent.get("stale_days"):
        yield Note(phrase("common.prices_stale", language, days=spent["stale_days"]))
