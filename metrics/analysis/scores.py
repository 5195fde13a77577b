"""Scores of each model, for every suite and overall, with their intervals, before any threshold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl

from basic_control.data.deciding import columns, components
from basic_control.data.plugins import metric
from basic_control.data.records import VALUED
from basic_control.data.suites import Suite
from basic_control.data.tables import SUMMARY
from basic_control.metrics.analysis.cell_scores import (
    Estimates,
    WeightedMean,
    average_families,
    average_metrics,
    correct_cell,
    replace_by_labels,
    sum_means,
    weigh,
)
from basic_control.metrics.analysis.failures import FailureCount, describe_all_failed, failures
from basic_control.metrics.analysis.headlines import Headline, Key, Measurement, ModelResult
from basic_control.metrics.analysis.judged import CorrectedMean, JudgeStatus, Labels, Withheld, panel_status
from basic_control.metrics.analysis.observations import ENDS, End, Observations
from basic_control.metrics.analysis.overlaps import Overlap, join_overlaps
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import (
    OF_FAMILIES,
    OF_SUITES,
    SummaryRow,
    Total,
    cells,
    suite_intervals,
    summarise_repeated,
    totals,
)
from basic_control.metrics.stats.intervals import (
    Interval,
    MeanEstimate,
    combine_ends,
    combine_strata,
    part_of,
)
from basic_control.metrics.stats.labelled import Powered

MIN_COVERAGE = 0.9
"""Minimum share of a headline's applicable rows that must be scored."""
THRESHOLD = 0.8

_STATUSES = {
    "n_truncated": "truncated",
    "n_failed": "model_error",
    "n_filtered": "filtered",
    "n_unread": "judge_failed",
}
"""The statuses counted in `AnswerCounts`."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts about suites that their tables do not hold.

    `withheld` says why no score decides a headline, `labels` are judged means corrected by human labels,
    `corrected` by the judges' passports, `judge_statuses` say which judges count. `stopping` are the sequences of
    suites asked until decided, `waiting` the number of a suite's requests waiting in batches, `missing` the models
    that could not be asked, and why.
    """

    withheld: Mapping[Key, Withheld] = field(default_factory=dict)
    labels: Labels = field(default_factory=dict)
    corrected: Sequence[CorrectedMean] = ()
    judge_statuses: Sequence[JudgeStatus] = ()
    stopping: Sequence[ConfidenceSequence] = ()
    waiting: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


class AnswerCounts(NamedTuple):
    """A score's rows: how many were asked, how many each of its metrics has scored, and to how many each gives 1.

    `n_truncated`, `n_failed`, `n_filtered` and `n_unread` are those that some metric counts so.
    """

    n_asked: int
    n_scored: int
    n_right: int
    n_truncated: int
    n_failed: int
    n_filtered: int
    n_unread: int


@dataclass(frozen=True, slots=True)
class AnswerDetails:
    """What a suite's single answers show besides the means of its summary, by model.

    `failures` are the causes of unscored responses. `intervals` are those of a score that combines several means.
    `repeated` are the summary's cells of a suite gated on k answers to each question, which replace the means.
    """

    counts: Mapping[str, AnswerCounts] = field(default_factory=dict)
    failures: Mapping[str, tuple[FailureCount, ...]] = field(default_factory=dict)
    intervals: Mapping[str, Mapping[End, Interval]] = field(default_factory=dict)
    repeated: pl.DataFrame | None = None


def suite_headlines(
    suite: Suite,
    models: Sequence[str],
    once: Observations,
    summary: pl.DataFrame,
    circumstances: Circumstances,
) -> tuple[Headline, ...]:
    """Score the models in a suite by each of its `columns`, model by model.

    `summary` is the summary table of the observations.
    """
    scores = columns(suite)
    details: dict[str, AnswerDetails] = {}
    for score in scores:
        details[score.headline] = AnswerDetails(
            count_answers(once.scores, once.items, score),
            failures(once.scores, once.items, score, replies=once.replies),
            suite_intervals(once.scores, once.items, score),
            summarise_repeated(once.scores, once.items, score, summary),
        )
    headlines: list[Headline] = []
    for model in models:
        for score in scores:
            scored = score_headline(score, model, summary, circumstances, details[score.headline])
            headlines.append(replace(scored, is_only=len(scores) == 1))
    return tuple(headlines)


def score_headline(
    suite: Suite,
    model: str,
    summary: pl.DataFrame,
    circumstances: Circumstances,
    details: AnswerDetails = AnswerDetails(),
) -> Headline:
    """Score a model by one score of a suite, which has no other (`data.deciding`), without its weight.

    The score of a suite with strata is TOTAL / 100; otherwise it is the mean of its metrics' means, over metrics
    that are in the summary and apply. A suite asked until decided has its sequence's interval. Sufficient human
    labels replace the judges' verdicts.

    If `details` have no interval for a score that combines several means, and if labels decide, it is made from the
    intervals of its parts: as of strata for a TOTAL, at the widest possible for several metrics.
    """
    # A suite gated on k answers to each question is decided by these, not by the mean of all answers.
    deciding = summary
    if details.repeated is not None:
        deciding = pl.concat([summary.join(details.repeated, on=SUMMARY.key, how="anti"), details.repeated])
    headline = _score_suite(suite, model, deciding, circumstances)
    if suite.of_k:
        mean = _score_suite(suite, model, summary, Circumstances()).measured.score
        headline = _set_fields(headline, k=suite.k, mean=mean)
    # Single answers show how the parts of a score hang together; human labels bring an interval with them.
    if headline.measured.score.mean is not None and not headline.measured.n_labels:
        headline = _set_intervals(headline, details.intervals.get(model, {}))
        headline = _apply_sequence(headline, circumstances.stopping)
    withheld = circumstances.withheld.get((suite.name, suite.headline, model), Withheld(""))
    if not withheld.measured:
        headline = _set_fields(headline, score=MeanEstimate(), lower=MeanEstimate(), upper=MeanEstimate())
    headline = _describe_judges(headline, suite, circumstances.judge_statuses)
    # What hindered the calls explains more than that no row has a score.
    causes, answered = details.failures.get(model, ()), _measure_answered(suite, model, summary)
    problem = headline.missing.problem
    if answered == 0 and causes:
        problem = describe_all_failed(causes)
    reason = circumstances.missing.get(model)
    if reason and not headline.measured.n_asked:
        problem = f"the model could not be asked: {reason}"
    headline = _set_fields(
        headline,
        problem=problem,
        answered=answered,
        failures=causes,
        waiting=circumstances.waiting.get(suite.name, 0),
        withheld=withheld.why,
        is_measured=withheld.measured,
        gate_on=suite.gate_on,
    )
    # Single answers are counted in place of the rows of metrics, which several have of one answer.
    counts: dict[str, Any] = {}
    if model in details.counts:
        counts = details.counts[model]._asdict()
    if suite.of_k:
        counts = {name: n for name, n in counts.items() if name not in {"n_asked", "n_scored"}}
    return _set_fields(headline, **counts)


def _set_fields(headline: Headline, **values: Any) -> Headline:
    """Return a headline with other values of what was measured, or of what is missing: their fields differ."""
    parts: dict[str, dict[str, Any]] = {"measured": {}, "missing": {}}
    for name, value in values.items():
        part = "measured" if name in Measurement.__slots__ else "missing"
        parts[part][name] = value
    return replace(
        headline,
        measured=replace(headline.measured, **parts["measured"]),
        missing=replace(headline.missing, **parts["missing"]),
    )


def _measure_answered(suite: Suite, model: str, summary: pl.DataFrame) -> float | None:
    """Return the smallest share of a metric's applicable rows that have a reply; None without such rows."""
    rows = summary.filter(OF_SUITES, pl.col("metric").is_in(suite.value_metrics), suite=suite.name, model=model)
    return min((cell.counts.share_answered for cell in cells(rows) if cell.counts.n_applicable), default=None)


def _describe_judges(headline: Headline, suite: Suite, statuses: Sequence[JudgeStatus]) -> Headline:
    """Add to what a score lacks which of its judges do not count, and whose errors are not known."""
    deciding_metrics = components(suite)
    panel = panel_status(
        [status for status in statuses if status.suite == suite.name and status.metric in deciding_metrics]
    )
    unmeasured = panel.unmeasured
    if headline.measured.n_labels:
        unmeasured = ()  # labels say more than the judges' errors
    return _set_fields(headline, judges_left_out=panel.left_out, judges_unmeasured=unmeasured)


def _set_intervals(headline: Headline, intervals: Mapping[End, Interval]) -> Headline:
    """Return a score and its bounds with the intervals of the single answers."""
    ends = {"score": headline.measured.score, "lower": headline.missing.lower, "upper": headline.missing.upper}
    for name, end in zip(ends, ENDS, strict=True):
        mean = ends[name].mean
        if mean is not None and end in intervals:
            ends[name] = MeanEstimate(mean, intervals[end])
    return _set_fields(headline, **ends)


def score_model(
    model: str,
    weights: Mapping[tuple[str, str], float],
    headlines: Sequence[Headline],
    missing: str = "",
    overlaps: Sequence[Overlap] = (),
) -> ModelResult:
    """Combine a model's headlines into its score, by their weights (suite, metric); alike if all of these are 0.

    A headline without a weight is not joined: one of several of its suite. The interval treats the suites as
    strata, those of the same questions (`overlaps`) as one; if one was asked until decided, it combines intervals
    that hold simultaneously. `missing`: why the model could not be asked.
    """
    shares = _share_weights(weights, headlines)
    weighed: list[Headline] = []
    causes: list[FailureCount] = []
    is_answered = False
    for headline in headlines:
        weighed.append(replace(headline, weight=shares.get((headline.suite, headline.metric), 0.0)))
        if headline.missing.answered is not None:
            causes += headline.missing.failures
            is_answered |= headline.missing.answered > 0
    failed = ""
    if causes and not is_answered:
        failed = describe_all_failed(causes)
    overall = join_headlines(model, weighed, overlaps)
    return ModelResult(model, tuple(weighed), overall, missing, failed, tuple(overlaps))


def _share_weights(
    weights: Mapping[tuple[str, str], float], headlines: Sequence[Headline]
) -> dict[tuple[str, str], float]:
    """Return the headlines' weights (suite, metric) as shares of their sum; equal shares if all are 0."""
    keys = [(headline.suite, headline.metric) for headline in headlines]
    joined = {key: weights[key] for key in keys if key in weights}
    total = math.fsum(joined.values())
    if not total:
        return dict.fromkeys(joined, 1 / max(len(joined), 1))
    return {key: weight / total for key, weight in joined.items()}


def join_headlines(model: str, headlines: Sequence[Headline], overlaps: Sequence[Overlap] = ()) -> Headline:
    """Return the weighted score of a model's headlines, and that of their bounds and corrected scores."""
    scores, lower, upper = (_list_estimates(headlines, end) for end in ENDS)
    corrected: list[MeanEstimate] = []
    for headline in headlines:
        estimate = headline.measured.corrected
        if estimate.mean is None:
            estimate = headline.measured.score
        corrected.append(estimate)
    whole = Headline("", "", model)
    whole = _set_fields(
        whole,
        score=average_by_weight(headlines, scores, overlaps),
        is_measured=all(headline.missing.is_measured for headline in headlines if headline.weight),
    )
    # A bound or correction that changes no score is none.
    for name, estimates in (("corrected", corrected), ("lower", lower), ("upper", upper)):
        if estimates != scores:
            whole = _set_fields(whole, **{name: average_by_weight(headlines, estimates, overlaps)})
    return whole


def _list_estimates(headlines: Sequence[Headline], end: End) -> list[MeanEstimate]:
    return [headline.at(end) for headline in headlines]


def average_by_weight(
    headlines: Sequence[Headline], scores: Sequence[MeanEstimate], overlaps: Sequence[Overlap] = ()
) -> MeanEstimate:
    """Return the mean of headlines' scores by their weights; None if one of those with a weight has none."""
    means: dict[str, WeightedMean] = {}
    has_sequence = False
    for headline, score in zip(headlines, scores, strict=True):
        if not headline.weight:
            continue
        if score.mean is None:
            return MeanEstimate()
        means[headline.suite] = weigh(headline.weight, score)
        has_sequence |= headline.measured.stopping is not None
    if not means:
        return MeanEstimate()
    mean = sum_means([*means.values()])
    # Sequences hold at once whatever the other suites' rows are.
    if has_sequence:
        return MeanEstimate(mean, combine_ends([*means.values()], "sequence"))
    if len(means) == 1:
        return MeanEstimate(mean, next(iter(means.values())).interval)
    parts = {suite: part_of(*weighed) for suite, weighed in means.items()}
    strata = {suite: part for suite, part in parts.items() if part is not None}
    if len(strata) < len(parts):
        return MeanEstimate(mean)
    return MeanEstimate(mean, combine_strata(join_overlaps(strata, overlaps)))


def count_answers(scores: pl.DataFrame, items: pl.DataFrame, suite: Suite) -> dict[str, AnswerCounts]:
    """Count a suite's answers, not the rows of their metrics, by model."""
    rows = scores.filter(pl.col("metric").is_in(suite.value_metrics))
    rows = rows.join(items.filter(suite=suite.name), on="item_id", how="semi")
    applies = pl.col("status") != "not_applicable"
    answers = rows.group_by("model", "item_id", "repeat").agg(
        applies=applies.any(),
        n_scored=pl.col("status").filter(applies).is_in(VALUED).all() & applies.any(),
        n_right=(pl.col("value").filter(applies) == 1).fill_null(value=False).all() & applies.any(),
        **{name: (pl.col("status") == status).any() for name, status in _STATUSES.items()},
    )
    counted = answers.group_by("model").agg(pl.len(), pl.col("n_scored", "n_right", *_STATUSES).sum())
    return {model: AnswerCounts(*counts) for model, *counts in counted.iter_rows()}


def headline_parts(suite: Suite) -> tuple[str, ...]:
    """Return what metrics declare to stand beside their own value: of those of a score, or of all of a suite."""
    parts: list[str] = []
    for name in suite.metric_names:
        parts += [f"{name}.{part}" for part in metric(name).shown.headline]
    return tuple(parts)


def totals_of(suites: Sequence[Suite], summary: pl.DataFrame) -> dict[str, Total]:
    """Return each model's TOTAL in the first suite with strata; empty if there is no such suite."""
    for suite in suites:
        if suite.strata:
            return totals(summary, suite=suite.name, metric=suite.score_metrics[0])
    return {}


def _score_suite(suite: Suite, model: str, summary: pl.DataFrame, circumstances: Circumstances) -> Headline:
    """Compute a suite's score, interval and coverage from the cells of its metrics."""
    means = summary.filter(OF_SUITES, suite=suite.name)
    of_all_models = means.filter(pl.col("metric").is_in(suite.value_metrics))
    metrics_run = [name for name in suite.value_metrics if name in set(of_all_models["metric"])]
    model_cells = cells(of_all_models.filter(model=model))
    cells_beside = cells(means.filter(pl.col("metric").is_in(headline_parts(suite)), model=model))
    applicable = [cell for cell in model_cells if cell.counts.n_applicable]
    parts: dict[str, float | None] = dict.fromkeys(metrics_run)
    # Human labels can decide where no judge's verdict is left.
    labels: dict[str, Powered] = {}
    for cell in model_cells:
        parts[cell.metric] = cell.value.mean
        label = circumstances.labels.get((suite.name, model, cell.metric))
        if label and label.decides:
            labels[cell.metric] = label
    headline = _set_fields(
        Headline(suite.name, suite.headline, model),
        n_asked=max((cell.counts.n_asked for cell in model_cells), default=0),
        n_scored=min((cell.counts.n_scored for cell in applicable), default=0),
        parts=parts,
        left_out=tuple(cell.metric for cell in model_cells if not cell.counts.n_applicable),
        beside={cell.metric: cell.value.mean for cell in cells_beside},
        coverage=min((cell.counts.coverage or 0.0 for cell in applicable), default=None),
        problem=_find_problem(model_cells, metrics_run, has_labels=bool(labels)),
    )
    if headline.missing.problem:
        return headline
    if suite.strata:
        return _score_strata(headline, suite, summary)
    # A passport's errors are those of single verdicts, not of k answers to a question.
    corrected: list[CorrectedMean] = []
    if not suite.of_k:
        corrected = [
            correction
            for correction in circumstances.corrected
            if (correction.suite, correction.model) == (suite.name, model)
        ]
    return _score_metrics(headline, applicable, labels, corrected, suite.shares)


def _find_problem(model_cells: Sequence[SummaryRow], metrics_run: Sequence[str], *, has_labels: bool) -> str:
    """Return why a model has no score in a suite; '' if it has, or if human labels may give one."""
    missing_metrics = {*metrics_run} - {cell.metric for cell in model_cells}
    if missing_metrics:
        names = ", ".join(filter(missing_metrics.__contains__, metrics_run))
        return f"no row of {names} has a score"
    if has_labels or any(cell.counts.n_scored for cell in model_cells):
        return ""
    n_asked = max((cell.counts.n_asked for cell in model_cells), default=0)
    return f"no row of its {n_asked} has a score"


def _score_strata(headline: Headline, suite: Suite, summary: pl.DataFrame) -> Headline:
    """Set the score of a suite with strata: its TOTAL over families."""
    of_metric = {"suite": suite.name, "metric": suite.score_metrics[0]}
    total = totals(summary, **of_metric)[headline.model]
    families = cells(summary.filter(OF_FAMILIES, **of_metric, model=headline.model))
    parts = {cell.family: cell.value.mean for cell in families if cell.family not in total.left_out}
    headline = _set_fields(headline, parts=parts, left_out=total.left_out)
    if total.percent is None:
        return _set_fields(headline, problem=f"no row of {', '.join(total.missing)} has a score")
    counted = [cell for cell in families if cell.family in total.included]
    percents: dict[End, float | None] = {"value": total.percent, "lower": total.lower, "upper": total.upper}
    estimates: Estimates = {}
    for end, percent in percents.items():
        if percent is not None:
            estimates[end] = average_families(counted, end, percent / 100)
    return _set_estimates(headline, estimates)


def _score_metrics(
    headline: Headline,
    applicable: Sequence[SummaryRow],
    labels: Mapping[str, Powered],
    corrected: Sequence[CorrectedMean],
    shares: Mapping[str, float],
) -> Headline:
    """Set the score of a suite's metrics: by human labels where they decide, else as judged."""
    # Each metric's cell as it decides, and as it would if its judges err as in their exam.
    deciding_cells: list[SummaryRow] = []
    corrected_cells: list[SummaryRow] = []
    for cell in applicable:
        if cell.metric in labels:
            deciding_cells.append(replace_by_labels(cell, labels[cell.metric]))
            corrected_cells.append(deciding_cells[-1])
        else:
            deciding_cells.append(cell)
            corrected_cells.append(correct_cell(cell, corrected))
    if labels:
        headline = _describe_labels(headline, applicable, labels, shares)
    unscored = [cell.metric for cell in deciding_cells if cell.value.mean is None]
    if unscored:
        return _set_fields(headline, problem=f"no row has a score by {', '.join(unscored)}")
    headline = _set_estimates(headline, average_metrics(deciding_cells, shares))
    if corrected_cells != deciding_cells:
        headline = _set_fields(headline, corrected=average_metrics(corrected_cells, shares)["value"])
    return headline


def _describe_labels(
    headline: Headline,
    applicable: Sequence[SummaryRow],
    labels: Mapping[str, Powered],
    shares: Mapping[str, float],
) -> Headline:
    """Add the number of human labels, the coverage with them, and the score before them."""
    coverages: list[float] = []
    for cell in applicable:
        coverage = cell.counts.coverage or 0.0
        if cell.metric in labels:
            coverage = cell.counts.share_answered  # any reply can be labelled
        coverages.append(coverage)
    as_judged = None
    if all(cell.value.mean is not None for cell in applicable):
        as_judged = average_metrics(applicable, shares)["value"].mean
    n_labels = min(label.n_labels for label in labels.values())
    return _set_fields(headline, as_judged=as_judged, n_labels=n_labels, coverage=min(coverages))


def _set_estimates(headline: Headline, estimates: Estimates) -> Headline:
    """Return a suite's score with its mean, and its bounds if there are any."""
    lower, upper = estimates.get("lower", MeanEstimate()), estimates.get("upper", MeanEstimate())
    return _set_fields(headline, score=estimates["value"], lower=lower, upper=upper)


def _apply_sequence(headline: Headline, stopping: Sequence[ConfidenceSequence]) -> Headline:
    """Replace the interval, invalid after interim looks, by the sequence's: its own, against no other model."""
    key = (headline.suite, headline.metric, headline.model)
    own_sequences = {(entry.suite, entry.metric, entry.model): entry for entry in stopping if not entry.against}
    sequence = own_sequences.get(key)
    if sequence is None:
        return headline
    interval = Interval()
    if sequence.looks:
        last = sequence.looks[-1]
        interval = Interval(last.low, last.high, "sequence", last.n)
    measured = headline.measured
    corrected = MeanEstimate()
    if sequence.corrected is not None and measured.corrected.mean is not None:
        low, high = sequence.corrected
        mean = min(max(measured.corrected.mean, low), high)
        corrected = MeanEstimate(mean, Interval(low, high, "sequence", interval.units))
    score = MeanEstimate(measured.score.mean, interval)
    return _set_fields(headline, score=score, corrected=corrected, stopping=sequence)
