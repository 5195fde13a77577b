"""Means of a summary's cells: joined by weight, and replaced by what human labels or judges' passports say."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from operator import attrgetter
from typing import NamedTuple

from basic_control.metrics.analysis.judged import CorrectedMean
from basic_control.metrics.analysis.observations import ENDS, End
from basic_control.metrics.analysis.policy import TOLERANCE
from basic_control.metrics.analysis.summary import SummaryRow, join_ends
from basic_control.metrics.stats.intervals import (
    Interval,
    MeanEstimate,
    combine_ends,
    combine_strata,
    limit_mixture,
    part_of,
)
from basic_control.metrics.stats.labelled import Powered

Estimates = dict[End, MeanEstimate]
"""A score, and the score at its bounds if there are any."""


class WeightedMean(NamedTuple):
    """A mean from 0 to 1 with its interval, and its weight in a sum of means."""

    weight: float
    mean: float
    interval: Interval


def weigh(weight: float, estimate: MeanEstimate) -> WeightedMean:
    """Give an estimate its weight; without a mean it counts 0."""
    return WeightedMean(weight, estimate.mean or 0.0, estimate.interval)


def sum_means(means: Sequence[WeightedMean]) -> float:
    """Return the weighted sum of means."""
    return math.fsum(mean.weight * mean.mean for mean in means)


def combine_independent(means: Sequence[WeightedMean]) -> Interval:
    """Return the interval of the weighted sum of independent means, as of strata."""
    return combine_strata(list(starmap(part_of, means)))


def average_metrics(metric_cells: Sequence[SummaryRow], shares: Mapping[str, float]) -> Estimates:
    """Return the mean of metrics' means by their weights, and at those bounds that one of them has."""
    estimates: Estimates = {}
    for end in ENDS:
        if any(getattr(cell, end).mean is not None for cell in metric_cells):
            estimates[end] = _average_at(end, metric_cells, shares)
    return estimates


def _average_at(end: End, metric_cells: Sequence[SummaryRow], shares: Mapping[str, float]) -> MeanEstimate:
    if len(metric_cells) == 1:
        return metric_cells[0].at(end)
    total_share = math.fsum(shares[cell.metric] for cell in metric_cells)
    means = [weigh(shares[cell.metric] / total_share, cell.at(end)) for cell in metric_cells]
    # Metrics of the same rows are not independent.
    return MeanEstimate(sum_means(means), combine_ends(means))


def average_families(family_cells: Sequence[SummaryRow], end: End, mean: float) -> MeanEstimate:
    """Return the mean of families at an end, which have equal weights, with its interval."""
    weight = 1 / len(family_cells)
    return MeanEstimate(mean, combine_independent([weigh(weight, cell.at(end)) for cell in family_cells]))


def correct_cell(cell: SummaryRow, corrected: Sequence[CorrectedMean]) -> SummaryRow:
    """Replace the judged means of languages by the corrected ones; languages without a correction stay as they are.

    mean = sum of weight * (corrected, else judged) over languages + what was settled without a judge, in [0, 1].
    """
    # A part may be all of its metric's value.
    prefix = f"{cell.metric}."
    corrections = [
        correction for correction in corrected if correction.whole and f"{correction.metric}.".startswith(prefix)
    ]
    if cell.value.mean is None or all(correction.value.mean is None for correction in corrections):
        return cell
    n_scored = cell.counts.n_scored
    judged_means = [weigh(correction.n_samples / n_scored, correction.raw) for correction in corrections]
    share = min(math.fsum(map(attrgetter("weight"), judged_means)), 1.0)
    corrected_means: list[WeightedMean] = []
    for judged_mean, correction in zip(judged_means, corrections, strict=True):
        estimate = correction.value
        if estimate.mean is None:
            estimate = correction.raw
        corrected_means.append(weigh(judged_mean.weight / share, estimate))
    settled = cell.value.mean - sum_means(judged_means)
    judged = MeanEstimate(sum_means(corrected_means), combine_independent(corrected_means))
    units = cell.value.interval.units or n_scored
    return replace(cell, value=_join_settled(judged, share, settled, units))


def _join_settled(judged: MeanEstimate, share: float, settled: float, units: int) -> MeanEstimate:
    """Join a mean of the `share` of responses that were judged with what the others, `settled`, add to the mean."""
    if judged.mean is None or share > 1 - TOLERANCE:
        return join_ends(judged.mean, judged.interval.low, judged.interval.high, units)
    without_judge = min(max(settled / (1 - share), 0.0), 1.0)
    mean = min(max(share * judged.mean + (1 - share) * without_judge, 0.0), 1.0)
    low, high = limit_mixture(judged.mean, judged.interval, without_judge, share, units)
    return join_ends(mean, low, high, units)


def replace_by_labels(cell: SummaryRow, label: Powered) -> SummaryRow:
    """Replace the judged mean by the prediction-powered mean; responses settled without a judge are unchanged.

    With s the share of responses that were judged: mean = s * powered + (1 - s) * settled. With k the share of rows
    that have a score or could be labelled, it is between k * mean and k * mean + (1 - k); no bounds if k is 1.
    """
    n_rows = label.n_samples + label.n_settled
    share = label.n_samples / n_rows
    settled = (1 - share) * label.settled
    units = round((label.judged.interval.units or label.n_samples) / share)
    value = _join_settled(MeanEstimate(label.value, label.interval), share, settled, units)
    n_asked = cell.counts.n_scored + cell.counts.n_lost
    scored_share = min(1.0, n_rows / n_asked)  # labels replace verdicts of judges that do not count
    # All rows without a score wrong, then all of them right.
    lower = _compute_bound(value, scored_share, 0.0, n_asked)
    upper = _compute_bound(value, scored_share, 1.0, n_asked)
    return replace(cell, value=value, lower=lower, upper=upper)


def _compute_bound(value: MeanEstimate, scored_share: float, missing_score: float, n_asked: int) -> MeanEstimate:
    """Return a mean with the rows that have no score at `missing_score`; no mean if there are no such rows."""
    if scored_share == 1:
        return MeanEstimate()
    missing_part = missing_score * (1 - scored_share)

    def add_missing(end: float | None) -> float | None:
        if end is None:
            return None
        return scored_share * end + missing_part

    interval = value.interval
    return join_ends(add_missing(value.mean), add_missing(interval.low), add_missing(interval.high), n_asked)
