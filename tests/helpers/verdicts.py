"""Verdicts from tables made by hand, and their entries as results.json has them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from basic_control.data.deciding import columns
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.document import document, record_json
from basic_control.metrics.analysis.headlines import Headline, Key, ModelResult
from basic_control.metrics.analysis.judged import Labels, Withheld
from basic_control.metrics.analysis.observations import Observations
from basic_control.metrics.analysis.policy import Gate, Policy
from basic_control.metrics.analysis.results import Participants, Results, SuiteFindings, model_results
from basic_control.metrics.analysis.scores import (
    AnswerCounts,
    AnswerDetails,
    Circumstances,
    score_headline,
    suite_headlines,
)
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import OF_SUITES, cells, summarise
from basic_control.metrics.analysis.verdict import RunVerdict, verdict_of


def finalise(
    summary: pl.DataFrame,
    *,
    models: Sequence[str],
    suites: Sequence[Suite],
    threshold: float | None = None,
    gate: Gate = "point",
    undecided: Mapping[str, str] | None = None,
    unjudged: Mapping[str, str] | None = None,
    stopping: Sequence[ConfidenceSequence] = (),
    waiting: Mapping[str, int] | None = None,
    repeated: pl.DataFrame | None = None,
    labels: Labels | None = None,
) -> RunVerdict:
    """Decide on models that all took part in the same suites.

    `undecided` says of suites why no score decides them, `unjudged` why their judges are not to be believed.
    """
    flagged = {name: Withheld(why) for name, why in (undecided or {}).items()}
    flagged |= {name: Withheld(why, measured=False) for name, why in (unjudged or {}).items()}
    withheld: dict[Key, Withheld] = {
        (suite.name, score.headline, model): flagged[suite.name]
        for suite in suites
        for score in columns(suite)
        for model in models
        if suite.name in flagged
    }
    facts = Circumstances(withheld=withheld, stopping=stopping, waiting=waiting or {}, labels=labels or {})
    findings = [
        SuiteFindings(
            tuple(
                score_headline(
                    score, model, summary, facts, AnswerDetails(_count(score, summary), repeated=repeated)
                )
                for model in models
                for score in columns(suite)
            ),
            facts,
        )
        for suite in suites
    ]
    return decided(findings, models, suites, threshold=threshold, gate=gate, waiting=waiting)


def _count(suite: Suite, summary: pl.DataFrame) -> dict[str, AnswerCounts]:
    """Count a suite's answers by model, where none has rows of several metrics that lack a score."""
    of_suite = summary.filter(OF_SUITES, pl.col("metric").is_in(suite.value_metrics), suite=suite.name)
    counts: dict[str, AnswerCounts] = {}
    for (model,), rows in of_suite.group_by("model"):
        of_metrics = [cell.counts for cell in cells(rows)]
        counts[str(model)] = AnswerCounts(
            n_asked=max(count.n_asked for count in of_metrics),
            n_scored=min((count.n_scored for count in of_metrics if count.n_applicable), default=0),
            n_right=0,
            n_truncated=sum(count.n_truncated for count in of_metrics),
            n_failed=sum(count.n_model_error for count in of_metrics),
            n_filtered=sum(count.n_filtered for count in of_metrics),
            n_unread=sum(count.n_judge_failed for count in of_metrics),
        )
    return counts


def verdict_on(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    suites: Sequence[Suite],
    *,
    threshold: float | None = None,
    gate: Gate = "point",
    facts: Circumstances | None = None,
    model: str = "m",
) -> RunVerdict:
    """Decide on a model from its scores, as a run does."""
    facts, once, summary = facts or Circumstances(), Observations(scores, items), summarise(scores, items)
    findings = [SuiteFindings(suite_headlines(suite, [model], once, summary, facts), facts) for suite in suites]
    return decided(findings, [model], suites, threshold=threshold, gate=gate)


def decided(
    findings: Sequence[SuiteFindings],
    models: Sequence[str],
    suites: Sequence[Suite],
    *,
    threshold: float | None = None,
    gate: Gate = "point",
    waiting: Mapping[str, int] | None = None,
) -> RunVerdict:
    """Decide on what suites showed, by their thresholds."""
    members = {model: [suite.name for suite in suites] for model in models}
    joined = model_results(findings, Participants(suites, members))
    thresholds = {(suite.name, score.headline): score.threshold for suite in suites for score in columns(suite)}
    return verdict_of(Results({}, joined, waiting or {}), Policy(gate, threshold, thresholds))


def entry(record: Headline | ModelResult) -> Any:
    """Return a model or a suite of it as results.json has it, its keys as attributes."""
    found: dict[str, Any] = record_json(record)
    for name, value in found.items():
        if isinstance(value, dict) and "low" in value:
            found[name] = SimpleNamespace(**value)
    if isinstance(record, ModelResult):
        found["suites"] = [entry(headline) for headline in record.headlines]
    return SimpleNamespace(**found)


def write_results(folder: Path, *models: ModelResult, run: Mapping[str, Any] | None = None, **facts: Any) -> None:
    """Write a run's results.json; `facts` are the verdict's, and what it cost (`spending`)."""
    results = Results(run or {}, models, spending=facts.pop("spending", None))
    written = document(results, RunVerdict(facts.pop("gate", "point"), models, **facts))
    (folder / "results.json").write_text(json.dumps(written, indent=1), encoding="utf-8")
