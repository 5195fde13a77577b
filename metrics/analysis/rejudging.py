"""Two judges of the same replies: how far they agree, how often labels say they err, and which verdicts hold."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from basic_control.data.exits import GateOutcome
from basic_control.metrics.analysis.headlines import ModelResult
from basic_control.metrics.stats.calibration import kappa, kappa_limits, tabulate
from basic_control.metrics.stats.intervals import Interval, Share

KEY = ("item_id", "model", "repeat")
MOST_VALUES = 11
"""Values of a metric above which judges' scores are no labels, and no table of them is made."""
_PLACES = 6


@dataclass(frozen=True, slots=True)
class JudgesCompared:
    """Two judges' scores of the same replies by one metric of a suite.

    `table` has a row for each of the old judge's `values` and a column for each of the new one's; empty where there
    are too many values. `old_wrong` and `new_wrong` are the shares of labelled replies of which a judge's score is
    not the label.
    """

    suite: str
    metric: str
    n: int
    equal: Share
    values: tuple[float, ...]
    table: tuple[tuple[int, ...], ...]
    kappa: float | None
    kappa_interval: Interval
    old_wrong: Share
    new_wrong: Share


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """The outcome of one model's headline by the old and by the new judge."""

    model: str
    suite: str
    metric: str
    old: str
    new: str

    @property
    def holds(self) -> bool:
        """Whether the verdict is the same."""
        return self.old == self.new


def compare_judges(
    old: pl.DataFrame, new: pl.DataFrame, labels: pl.DataFrame, judged: Collection[tuple[str, str]]
) -> list[JudgesCompared]:
    """Compare two runs' scores of the same replies by judged metrics, pairs of a suite and a metric.

    The scores have a column `suite`, as have the labels, whose `label` is from 0 to 1.
    """
    comparisons = []
    for suite, metric in judged:
        frames = [frame.filter(suite=suite, metric=metric).drop_nulls("value") for frame in (old, new)]
        first, second = (frame.select(*KEY, pl.col("value").round(_PLACES)) for frame in frames)
        pairs = first.join(second, on=KEY, suffix="_new")
        # Scores are compared to the digit that tables show.
        labels_here = labels.filter(suite=suite, metric=metric).select(*KEY, pl.col("label").round(_PLACES))
        labelled = pairs.join(labels_here, on=KEY)
        values = sorted({*pairs["value"], *pairs["value_new"]})
        table: tuple[tuple[int, ...], ...] = ()
        agreement, limits = None, Interval()
        if 0 < len(values) <= MOST_VALUES:
            table = tabulate(pairs.select("value", "value_new").iter_rows(), values, values)
            agreement, limits = kappa(table), kappa_limits(table)
        comparisons.append(
            JudgesCompared(
                suite=suite,
                metric=metric,
                n=pairs.height,
                equal=Share.of(pairs.filter(pl.col("value") == pl.col("value_new")).height, pairs.height),
                values=tuple(values),
                table=table,
                kappa=agreement,
                kappa_interval=limits,
                old_wrong=_count_wrong(labelled, "value"),
                new_wrong=_count_wrong(labelled, "value_new"),
            )
        )
    return comparisons


def _count_wrong(labelled: pl.DataFrame, column: str) -> Share:
    return Share.of(labelled.filter(pl.col(column) != pl.col("label")).height, labelled.height)


def compare_verdicts(old: Sequence[ModelResult], new: Sequence[ModelResult]) -> list[VerdictChange]:
    """Return the outcome of each headline that both runs have."""
    before, after = _outcomes(old), _outcomes(new)
    return [VerdictChange(*key, before[key], outcome) for key, outcome in after.items() if key in before]


def _outcomes(models: Sequence[ModelResult]) -> dict[tuple[str, str, str], GateOutcome]:
    """Return each headline's outcome, by model, suite and metric."""
    outcomes = {}
    for model in models:
        for headline in model.headlines:
            outcomes[model.model, headline.suite, headline.metric] = headline.decided.outcome
    return outcomes
