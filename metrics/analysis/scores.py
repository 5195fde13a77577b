"""Scores of each model, for every suite and overall, with their intervals, before any threshold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from basic_control.data.deciding import columns, components
from basic_control.data.plugins import metric
from basic_control.data.records import VALUED
from basic_control.data.suites import Suite
from basic_control.data.tables import SUMMARY
from basic_control.metrics.analysis.failures import FailureCount, describe_all_failed, failures
from basic_control.metrics.analysis.headlines import Headline, Key, Measurement, ModelResult, Shortfall
from basic_control.metrics.analysis.judged import CorrectedMean, JudgeStatus, Labels, Withheld, panel_status
from basic_control.metrics.analysis.means import suite_intervals, summarise_repeated
from basic_control.metrics.analysis.observations import ENDS, End, Observations
from basic_control.metrics.analysis.policy import TOLERANCE
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import (
    OF_FAMILIES,
    OF_SUITES,
    SummaryRow,
    Total,
    cells,
    join_ends,
    totals,
)
from basic_control.metrics.stats.intervals import (
    Interval,
    MeanEstimate,
    at_once,
    combine_correlated,
    combine_strata,
    limit_mixture,
    part_of,
)
from basic_control.metrics.stats.labelled import Powered

MIN_COVERAGE = 0.9
"""Minimum share of a headline's applicable rows that must be scored."""
THRESHOLD = 0.8

_STATUSES = {
    "truncated": "truncated",
    "failed": "model_error",
    "filtered": "filtered",
    "unread": "judge_failed",
}
"""The statuses counted in `AnswerCounts`."""

Estimates = dict[End, MeanEstimate]
"""A score, and the score at its bounds if there are any."""


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

    `truncated`, `failed`, `filtered` and `unread` are those that some metric counts so.
    """

    n_asked: int
    scored: int
    right: int
    truncated: int
    failed: int
    filtered: int
    unread: int


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
    details = {
        score.headline: AnswerDetails(
            count_answers(once.scores, once.items, score),
            failures(once.scores, once.items, score, replies=once.replies),
            suite_intervals(once.scores, once.items, score),
            summarise_repeated(once.scores, once.items, score, summary),
        )
        for score in scores
    }
    headlines = [
        headline(score, model, summary, circumstances, details[score.headline])
        for model in models
        for score in scores
    ]
    return tuple(replace(headline_of_score, is_only=len(scores) == 1) for headline_of_score in headlines)


def headline(
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
    name = suite.headline
    means = summary.filter(OF_SUITES, suite=suite.name)
    deciding = summary
    if details.repeated is not None:
        deciding = pl.concat([summary.join(details.repeated, on=SUMMARY.key, how="anti"), details.repeated])
    suite_score = _score_suite(suite, model, deciding, circumstances)
    measured, missing = suite_score.measured, suite_score.missing
    if suite.of_k:
        mean = _score_suite(suite, model, summary, Circumstances()).measured.score
        measured = replace(measured, k=suite.k, mean=mean)
    # Single answers show how the parts of a score hang together; human labels bring an interval with them.
    if measured.score.mean is not None and not measured.n_labels:
        intervals = details.intervals.get(model, {})
        measured = replace(measured, score=_around(measured.score, intervals.get("value")))
        missing = replace(
            missing,
            lower=_around(missing.lower, intervals.get("lower")),
            upper=_around(missing.upper, intervals.get("upper")),
        )
        measured = _apply_sequence(measured, circumstances.stopping, (suite.name, name, model))
    causes = details.failures.get(model, ())
    suite_cells = cells(means.filter(pl.col("metric").is_in(suite.value_metrics), model=model))
    answered = min((cell.counts.share_answered for cell in suite_cells if cell.counts.n_applicable), default=None)
    # What hindered the calls explains more than that no row has a score.
    problem = missing.problem
    if answered == 0 and causes:
        problem = describe_all_failed(causes)
    reason = circumstances.missing.get(model)
    if reason and not measured.n_asked:
        problem = f"the model could not be asked: {reason}"
    withheld = circumstances.withheld.get((suite.name, name, model), Withheld(""))
    if not withheld.measured:
        measured = replace(measured, score=MeanEstimate())
        missing = replace(missing, lower=MeanEstimate(), upper=MeanEstimate())
    statuses = circumstances.judge_statuses
    panel = panel_status(
        [status for status in statuses if status.suite == suite.name and status.metric in components(suite)]
    )
    n_rows = measured.n_asked, measured.n_scored
    of_means = AnswerCounts(*n_rows, 0, missing.n_truncated, missing.n_failed, missing.n_filtered, missing.n_unread)
    counts = details.counts.get(model, of_means)
    if not suite.of_k:
        measured = replace(measured, n_asked=counts.n_asked, n_scored=counts.scored)
    return Headline(
        suite.name,
        name,
        model,
        measured=replace(measured, gate_on=suite.gate_on, n_right=counts.right),
        missing=replace(
            missing,
            problem=problem,
            answered=answered,
            n_failed=counts.failed,
            n_filtered=counts.filtered,
            n_unread=counts.unread,
            n_truncated=counts.truncated,
            failures=causes,
            withheld=withheld.why,
            is_measured=withheld.measured,
            waiting=circumstances.waiting.get(suite.name, 0),
            judges_left_out=panel.left_out,
            judges_unmeasured=() if measured.n_labels else panel.unmeasured,
        ),
    )


def _around(score: MeanEstimate, interval: Interval | None) -> MeanEstimate:
    """Return a score with another interval, if there are both."""
    return score if score.mean is None or interval is None else MeanEstimate(score.mean, interval)


def model_result(
    model: str, weights: Mapping[tuple[str, str], float], headlines: Sequence[Headline], missing: str = ""
) -> ModelResult:
    """Combine a model's headlines into its score, by their weights (suite, metric); alike if all of these are 0.

    A headline without a weight is not joined: one of several of its suite. The interval treats the suites as
    strata; if one was asked until decided, it combines intervals that hold simultaneously. `missing`: why the model
    could not be asked.
    """
    joined = {
        (headline.suite, headline.metric): weights[headline.suite, headline.metric]
        for headline in headlines
        if (headline.suite, headline.metric) in weights
    }
    whole = math.fsum(joined.values())
    shares = dict.fromkeys(joined, 1 / max(len(joined), 1))
    if whole:
        shares = {key: weight / whole for key, weight in joined.items()}
    weighed = tuple(
        replace(headline, weight=shares.get((headline.suite, headline.metric), 0.0)) for headline in headlines
    )
    asked_headlines = [headline for headline in headlines if headline.missing.answered is not None]
    causes = [cause for headline in asked_headlines for cause in headline.missing.failures]
    failed = ""
    if causes and not any(headline.missing.answered for headline in asked_headlines):
        failed = describe_all_failed(causes)
    return ModelResult(model, weighed, overall(model, weighed), missing, failed)


def overall(model: str, headlines: Sequence[Headline]) -> Headline:
    """Return the weighted score of a model's headlines, and that of their bounds and corrected scores."""
    ends = {end: [headline.at(end) for headline in headlines] for end in ENDS}
    corrected = [
        headline.measured.score if headline.measured.corrected.mean is None else headline.measured.corrected
        for headline in headlines
    ]
    scores = ends["value"]
    missing = Shortfall(
        lower=average_by_weight(headlines, ends["lower"]) if ends["lower"] != scores else MeanEstimate(),
        upper=average_by_weight(headlines, ends["upper"]) if ends["upper"] != scores else MeanEstimate(),
        is_measured=all(headline.missing.is_measured for headline in headlines if headline.weight),
    )
    measured = Measurement(
        score=average_by_weight(headlines, scores),
        corrected=average_by_weight(headlines, corrected) if corrected != scores else MeanEstimate(),
    )
    return Headline("", "", model, measured=measured, missing=missing)


def average_by_weight(headlines: Sequence[Headline], scores: Sequence[MeanEstimate]) -> MeanEstimate:
    """Return the mean of headlines' scores by their weights; None if one of those with a weight has none."""
    weighing = [
        (headline.weight, score) for headline, score in zip(headlines, scores, strict=True) if headline.weight
    ]
    scored_parts = [(weight, score.mean, score.interval) for weight, score in weighing if score.mean is not None]
    if not scored_parts or len(scored_parts) < len(weighing):
        return MeanEstimate()
    joined = math.fsum(weight * score for weight, score, _ in scored_parts)
    if any(headline.measured.stopping for headline in headlines if headline.weight):
        return MeanEstimate(joined, at_once([(weight, interval) for weight, _, interval in scored_parts]))
    return MeanEstimate(joined, scored_parts[0][2] if len(scored_parts) == 1 else _of_strata(scored_parts))


def count_answers(scores: pl.DataFrame, items: pl.DataFrame, suite: Suite) -> dict[str, AnswerCounts]:
    """Count a suite's answers, not the rows of their metrics, by model."""
    rows = scores.filter(pl.col("metric").is_in(suite.value_metrics))
    rows = rows.join(items.filter(suite=suite.name), on="item_id", how="semi")
    applies = pl.col("status") != "not_applicable"
    answers = rows.group_by("model", "item_id", "repeat").agg(
        applies=applies.any(),
        scored=pl.col("status").filter(applies).is_in(VALUED).all() & applies.any(),
        right=(pl.col("value").filter(applies) == 1).fill_null(value=False).all() & applies.any(),
        **{name: (pl.col("status") == status).any() for name, status in _STATUSES.items()},
    )
    counted = answers.group_by("model").agg(pl.len(), pl.col("scored", "right", *_STATUSES).sum())
    return {model: AnswerCounts(*counts) for model, *counts in counted.iter_rows()}


def headline_parts(suite: Suite) -> tuple[str, ...]:
    """Return what metrics declare to stand beside their own value: of those of a score, or of all of a suite."""
    return tuple(f"{name}.{part}" for name in suite.metric_names for part in metric(name).shown.headline)


def totals_of(suites: Sequence[Suite], summary: pl.DataFrame) -> dict[str, Total]:
    """Return each model's TOTAL in the first suite with strata; empty if there is no such suite."""
    ranked = next((suite for suite in suites if suite.strata), None)
    return totals(summary, suite=ranked.name, metric=ranked.score_metrics[0]) if ranked else {}


class _SuiteScore(NamedTuple):
    """What the means of a suite show of a model."""

    measured: Measurement
    missing: Shortfall


def _score_suite(suite: Suite, model: str, summary: pl.DataFrame, circumstances: Circumstances) -> _SuiteScore:
    """Compute a suite's score, interval and coverage from the cells of its metrics."""
    means = summary.filter(OF_SUITES, suite=suite.name)
    rows = means.filter(pl.col("metric").is_in(suite.value_metrics))
    shown_cells = cells(means.filter(pl.col("metric").is_in(headline_parts(suite)), model=model))
    metrics_run = [name for name in suite.value_metrics if name in set(rows["metric"])]
    cells_by_metric = {cell.metric: cell for cell in cells(rows.filter(model=model))}
    applicable = [cell for cell in cells_by_metric.values() if cell.counts.n_applicable]
    measured = Measurement(
        n_asked=max((cell.counts.n_asked for cell in cells_by_metric.values()), default=0),
        n_scored=min((cell.counts.n_scored for cell in applicable), default=0),
        parts={**dict.fromkeys(metrics_run), **{name: cell.value.mean for name, cell in cells_by_metric.items()}},
        left_out=tuple(name for name, cell in cells_by_metric.items() if cell not in applicable),
        beside={cell.metric: cell.value.mean for cell in shown_cells},
    )
    missing = Shortfall(
        coverage=min((cell.counts.coverage or 0.0 for cell in applicable), default=None),
        n_failed=sum(cell.counts.n_model_error for cell in cells_by_metric.values()),
        n_filtered=sum(cell.counts.n_filtered for cell in cells_by_metric.values()),
        n_unread=sum(cell.counts.n_judge_failed for cell in cells_by_metric.values()),
        n_truncated=sum(cell.counts.n_truncated for cell in cells_by_metric.values()),
    )
    # Human labels can decide where no judge's verdict is left.
    labels = {name: circumstances.labels.get((suite.name, model, name)) for name in cells_by_metric}
    deciding = {name: label for name, label in labels.items() if label and label.decides}
    without_rows = [name for name in metrics_run if name not in cells_by_metric]
    is_empty = not any(cell.counts.n_scored for cell in cells_by_metric.values())
    if without_rows or (is_empty and not deciding):
        rows_without_score = f"of {', '.join(without_rows)}" if without_rows else f"of its {measured.n_asked}"
        problem = f"no row {rows_without_score} has a score"
        return _SuiteScore(measured, replace(missing, problem=problem))
    if suite.strata:
        return _total(suite, model, summary, _SuiteScore(measured, missing))
    corrected = [
        correction
        for correction in circumstances.corrected
        if (correction.suite, correction.model) == (suite.name, model)
    ]
    scored = _SuiteScore(measured, missing)
    return _of_metrics(applicable, deciding, () if suite.of_k else corrected, suite.shares, scored)


def _total(suite: Suite, model: str, summary: pl.DataFrame, blank: _SuiteScore) -> _SuiteScore:
    """Set the score of a suite with strata: its TOTAL over families."""
    total = totals(summary, suite=suite.name, metric=suite.score_metrics[0])[model]
    families = cells(summary.filter(OF_FAMILIES, suite=suite.name, metric=suite.score_metrics[0], model=model))
    parts = {cell.family: cell.value.mean for cell in families if cell.family not in total.left_out}
    measured = replace(blank.measured, parts=parts, left_out=total.left_out)
    if total.percent is None:
        problem = f"no row of {', '.join(total.missing)} has a score"
        return _SuiteScore(measured, replace(blank.missing, problem=problem))
    counted = [cell for cell in families if cell.family in total.included]
    shares: dict[End, float | None] = {"value": total.percent, "lower": total.lower, "upper": total.upper}
    ends: Estimates = {
        end: MeanEstimate(share / 100, _of_strata(_weigh_equally(counted, end)))
        for end, share in shares.items()
        if share is not None
    }
    return _with(_SuiteScore(measured, blank.missing), ends)


def _of_metrics(
    applicable: Sequence[SummaryRow],
    labels: Mapping[str, Powered],
    corrected: Sequence[CorrectedMean],
    shares: Mapping[str, float],
    blank: _SuiteScore,
) -> _SuiteScore:
    """Set the score of a suite's metrics: by human labels where they decide, else as judged."""
    deciding_cells = [
        _by_labels(cell, labels[cell.metric]) if cell.metric in labels else cell for cell in applicable
    ]
    measured, missing = blank.measured, blank.missing
    if unscored := [cell.metric for cell in deciding_cells if cell.value.mean is None]:
        problem = f"no row has a score by {', '.join(unscored)}"
        missing = replace(missing, problem=problem)
    else:
        measured, missing = _with(blank, _mean(deciding_cells, shares))
    if labels:
        covered = [
            cell.counts.share_answered if cell.metric in labels else cell.counts.coverage or 0.0
            for cell in applicable
        ]
        is_judged = all(cell.value.mean is not None for cell in applicable)
        missing = replace(missing, coverage=min(covered))
        measured = replace(
            measured,
            as_judged=_mean(applicable, shares)["value"].mean if is_judged else None,
            n_labels=min(label.n_labels for label in labels.values()),
        )
    right = [cell if cell.metric in labels else _correct_cell(cell, corrected) for cell in deciding_cells]
    if right != deciding_cells and not unscored:
        measured = replace(measured, corrected=_mean(right, shares)["value"])
    return _SuiteScore(measured, missing)


def _with(blank: _SuiteScore, ends: Estimates) -> _SuiteScore:
    nothing = MeanEstimate()
    bounds = replace(blank.missing, lower=ends.get("lower", nothing), upper=ends.get("upper", nothing))
    return _SuiteScore(replace(blank.measured, score=ends["value"]), bounds)


def _mean(metrics: Sequence[SummaryRow], shares: Mapping[str, float]) -> Estimates:
    """Return the mean of metrics' means by their weights, and at those bounds that one of them has."""
    if len(metrics) == 1:
        (cell,) = metrics
        return {end: cell.at(end) for end in ENDS if getattr(cell, end).mean is not None}
    whole = math.fsum(shares[cell.metric] for cell in metrics)
    estimates: Estimates = {}
    for end in ENDS:
        if any(getattr(cell, end).mean is not None for cell in metrics):
            means = [(shares[cell.metric] / whole, cell.at(end)) for cell in metrics]
            parts = [(weight, mean.mean or 0.0, mean.interval) for weight, mean in means]
            estimates[end] = MeanEstimate(
                math.fsum(weight * mean for weight, mean, _ in parts), combine_correlated(parts)
            )
    return estimates


_Parts = Sequence[tuple[float, float, Interval]]
"""Weights, means and intervals."""


def _weigh_equally(family_cells: Sequence[SummaryRow], end: End) -> _Parts:
    """Return equal weights, the means and their intervals at an end."""
    return [(1 / len(family_cells), cell.at(end).mean or 0.0, cell.at(end).interval) for cell in family_cells]


def _of_strata(parts: _Parts) -> Interval:
    return combine_strata([part_of(*part) for part in parts])


def _correct_cell(cell: SummaryRow, corrected: Sequence[CorrectedMean]) -> SummaryRow:
    """Replace the judged means of languages by the corrected ones; languages without a correction stay as they are.

    mean = sum of weight * (corrected, else judged) over languages + what was settled without a judge, in [0, 1].
    """
    # A part may be all of its metric's value.
    rows = [
        correction
        for correction in corrected
        if correction.whole and f"{correction.metric}.".startswith(f"{cell.metric}.")
    ]
    if cell.value.mean is None or not any(correction.value.mean is not None for correction in rows):
        return cell
    weights = [row.n_samples / cell.counts.n_scored for row in rows]
    share = min(math.fsum(weights), 1.0)
    settled = cell.value.mean - math.fsum(
        weight * (row.raw.mean or 0.0) for weight, row in zip(weights, rows, strict=True)
    )
    judged = [row.raw if row.value.mean is None else row.value for row in rows]
    parts = [
        (weight / share, correction.mean or 0.0, correction.interval)
        for weight, correction in zip(weights, judged, strict=True)
    ]
    mean = MeanEstimate(math.fsum(weight * mean for weight, mean, _ in parts), _of_strata(parts))
    units = cell.value.interval.units or cell.counts.n_scored
    return replace(cell, value=_with_settled(mean, share, settled, units))


def _with_settled(judged: MeanEstimate, share: float, settled: float, units: int) -> MeanEstimate:
    """Join a mean of the `share` of responses that were judged with what the others, `settled`, add to the mean."""
    if judged.mean is None or share > 1 - TOLERANCE:
        return join_ends(judged.mean, judged.interval.low, judged.interval.high, units)
    without_judge = min(max(settled / (1 - share), 0.0), 1.0)
    mean = min(max(share * judged.mean + (1 - share) * without_judge, 0.0), 1.0)
    low, high = limit_mixture(judged.mean, judged.interval, without_judge, share, units)
    return join_ends(mean, low, high, units)


def _by_labels(cell: SummaryRow, label: Powered) -> SummaryRow:
    """Replace the judged mean by the prediction-powered mean; responses settled without a judge are unchanged.

    With s the share of responses that were judged: mean = s * powered + (1 - s) * settled. With k the share of rows
    that have a score or could be labelled, it is between k * mean and k * mean + (1 - k); no bounds if k is 1.
    """
    counts = cell.counts
    n = label.n_samples + label.n_settled
    share = label.n_samples / n
    settled = (1 - share) * label.settled
    units = round((label.judged.interval.units or label.n_samples) / share)

    value = _with_settled(MeanEstimate(label.value, label.interval), share, settled, units)
    mean, low, high = value.mean, value.interval.low, value.interval.high
    n_asked = counts.n_scored + counts.n_lost
    scored_share = min(1.0, n / n_asked)  # labels replace verdicts of judges that do not count

    def at(missing: float, value: float | None) -> float | None:
        return None if value is None or scored_share == 1 else scored_share * value + missing * (1 - scored_share)

    lower, upper = (join_ends(at(end, mean), at(end, low), at(end, high), n_asked) for end in (0.0, 1.0))
    return replace(cell, value=value, lower=lower, upper=upper)


def _apply_sequence(measured: Measurement, stopping: Sequence[ConfidenceSequence], key: Key) -> Measurement:
    """Replace the interval, invalid after interim looks, by the sequence's."""
    sequences = [
        sequence
        for sequence in stopping
        if not sequence.against and (sequence.suite, sequence.metric, sequence.model) == key
    ]
    if not sequences:
        return measured
    sequence = sequences[0]
    last = sequence.looks[-1] if sequence.looks else None
    interval = Interval(last.low, last.high, "sequence", last.n) if last else Interval()
    corrected = MeanEstimate()
    if sequence.corrected is not None and measured.corrected.mean is not None:
        low, high = sequence.corrected
        mean = min(max(measured.corrected.mean, low), high)
        corrected = MeanEstimate(mean, Interval(low, high, "sequence", interval.units))
    score = MeanEstimate(measured.score.mean, interval)
    return replace(measured, score=score, corrected=corrected, stopping=sequence)
