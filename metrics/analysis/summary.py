"""Cells of the report: counts, means and intervals, for every cell and for the roll-ups; a suite's score.

A suite gated on k answers to each question has pass@k or pass^k in place of means of answers.

Source: SPEC 9.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import polars as pl

from basic_control.data.errors import InputError
from basic_control.data.records import STATUSES, VALUED
from basic_control.data.suites import Suite
from basic_control.data.tables import SUMMARY
from basic_control.metrics.analysis.observations import ENDS, End, place_items, question_values, weight_by
from basic_control.metrics.analysis.policy import reaches
from basic_control.metrics.stats.agreement import pass_all, pass_at
from basic_control.metrics.stats.intervals import (
    Interval,
    MeanEstimate,
    combine_strata,
    estimate,
    independent,
    join_units,
    parts_of,
    pool,
    units_of,
)
from basic_control.metrics.stats.missing import LOST, RAISABLE, get_value, lower_bound, upper_bound


def suite_mean(
    values: pl.DataFrame, *, strata: bool, end: End = "value", shares: Mapping[str, float] | None = None
) -> MeanEstimate:
    """Compute a model's score in one suite: the mean of its metrics' means, or with strata the mean over families.

    Rows are those of `metrics.analysis.observations.question_values`, for one suite, one model and the metrics of
    its score (one metric with strata). `shares` are the metrics' weights, by default equal.
    """
    rows = values.drop_nulls(end)
    if rows.is_empty():
        return MeanEstimate()
    is_joined = rows["metric"].n_unique() > 1
    yes_no = not is_joined and bool(rows["plain"].all())
    # At a bound all that was asked has a value.
    n_answers = "answers" if end == "value" else "asked"
    questions = rows.select("item_id", "family", "cluster", "metric", worth=end, answers=n_answers)
    if is_joined:
        questions = _join_metrics(questions, shares or {})
    worth, answers = (questions[name].to_numpy().astype(np.float64) for name in ("worth", "answers"))
    codes = np.zeros(questions.height, np.int64)
    if strata:
        codes = questions["family"].rank("dense").to_numpy().astype(np.int64) - 1
    if yes_no:
        answers = independent(worth, answers, codes)
    # Whether enough templates are shared is decided for the suite as a whole, not per stratum.
    units = units_of(len(worth), questions["cluster"].to_numpy().astype(np.int64))
    strata_of = [codes == code for code in range(int(codes.max()) + 1)]
    pools = [
        join_units(worth[stratum], answers[stratum], units._replace(codes=units.codes[stratum]))
        for stratum in strata_of
    ]
    if len(pools) == 1:
        return estimate(pools[0], yes_no=yes_no)
    parts = parts_of(pools, [1 / len(pools)] * len(pools), yes_no=yes_no)
    return MeanEstimate(sum(part.weight * part.mean for part in parts), combine_strata(parts))


def _join_metrics(rows: pl.DataFrame, shares: Mapping[str, float]) -> pl.DataFrame:
    """Join several metrics' values into one per question, so that their mean is the mean of the metrics' means.

    `shares` are the metrics' weights. A question without a metric's value gets that metric's mean.
    """
    means = dict(rows.group_by("metric").agg(pl.col("worth").mean()).sort("metric").iter_rows())
    whole = math.fsum(shares.get(name, 1.0) for name in means)
    weights = {name: shares.get(name, 1.0) / whole for name in means}
    total = rows["item_id"].n_unique()
    centred = pl.col("worth") - pl.col("worth").mean().over("metric")
    scaled = rows.with_columns(part=centred * total / pl.len().over("metric") * weight_by(weights))
    score = math.fsum(weights[name] * (mean or 0.0) for name, mean in means.items())
    return (
        scaled.group_by("item_id", maintain_order=True)
        .agg(pl.col("family", "cluster").first(), worth=pl.col("part").sum() + score, answers=pl.lit(1.0).first())
        .sort("item_id")
    )


def suite_intervals(scores: pl.DataFrame, items: pl.DataFrame, suite: Suite) -> dict[str, dict[End, Interval]]:
    """Return the intervals of a score that combines several means (TOTAL, several metrics), by model.

    A suite gated on k answers has its `k`. Empty for a score of one mean, whose summary has its interval.

    Raises:
        InputError: a row whose item is not in `items`.
    """
    intervals: dict[str, dict[End, Interval]] = {}
    if not suite.strata and len(suite.value_metrics) == 1:
        return intervals
    suite_scores = of_suite(scores, items, suite)
    for end in ENDS:
        rows, column = suite_scores, end
        # The share of k answers at a bound is a value of its own.
        if suite.of_k:
            rows, column = k_answers(suite_scores, suite, bound=end), "value"
        for (model,), part in question_values(rows, items).group_by("model"):
            mean = suite_mean(part, strata=bool(suite.strata), end=column, shares=suite.shares)
            intervals.setdefault(str(model), {})[end] = mean.interval
    return intervals


def summarise_repeated(
    scores: pl.DataFrame, items: pl.DataFrame, suite: Suite, summary: pl.DataFrame
) -> pl.DataFrame | None:
    """Return the cells of a suite gated on k answers, whose rows are questions; None if it is not.

    A row of `scores` is an answer; from the table of means, `summary`, only `n_truncated` and `n_unsupported` are
    kept. `lower` and `upper` are the shares at the bounds of failed and truncated answers. Intervals are over
    questions, or over their templates if there are enough (`metrics.stats.intervals`).
    """
    suite_scores = of_suite(scores, items, suite)
    if not suite.of_k or suite_scores.is_empty():
        return None
    drawn = items.filter(pl.col("suite") == suite.name)
    cells = summarise(k_answers(suite_scores, suite), drawn)
    lost = pl.col("n_model_error") + pl.col("n_filtered") + pl.col("n_judge_failed")
    joined = cells.join(
        summary.select(*SUMMARY.key, cut="n_truncated", lacking="n_unsupported", filtered="n_filtered", lost=lost),
        on=SUMMARY.key,
        how="left",
    )
    bounds = {"n_truncated": pl.col("cut"), "n_unsupported": pl.col("lacking"), "n_filtered": pl.col("filtered")}
    raisable = pl.col("lost") + pl.col("cut") + pl.col("lacking")
    for name, is_open in (("lower", pl.col("lost") > 0), ("upper", raisable > 0)):
        columns = {"": "mean", "_low": "ci_low", "_high": "ci_high", "_units": "units"}
        columns["_fixed_templates"] = "fixed_templates"
        ends = {f"_{name}{suffix}": column for suffix, column in columns.items()}
        end = summarise(k_answers(suite_scores, suite, bound=name), drawn).select(*SUMMARY.key, **ends)
        joined = joined.join(end, on=SUMMARY.key, how="left")
        for column in ends:
            bounds[column[1:]] = pl.when(is_open & pl.col("mean").is_not_null()).then(column)
    return SUMMARY.check(joined.with_columns(**bounds).select(cells.columns))


def of_suite(scores: pl.DataFrame, items: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    """Return the rows that make a suite's score."""
    drawn = items.filter(pl.col("suite") == suite.name).select("item_id")
    return scores.filter(pl.col("metric").is_in(suite.value_metrics)).join(drawn, on="item_id", how="semi")


def k_answers(scores: pl.DataFrame, suite: Suite, *, bound: str = "") -> pl.DataFrame:
    """Return a row for each question, model and metric: its pass@k or pass^k.

    `bound`: `lower` counts every failed call and unreadable judge reply as wrong; `upper` counts these and every
    truncated response as right.
    """
    k = suite.k or 1
    status = pl.col("status")
    values = {"lower": lower_bound(), "upper": upper_bound()}.get(bound, get_value())
    counted = scores.group_by("item_id", "model", "metric", maintain_order=True).agg(
        n=values.is_not_null().sum(),
        c=(values == 1).fill_null(value=False).sum(),
        failed=pl.when((status == "model_error").any())
        .then(pl.lit("model_error"))
        .when((status == "filtered").any())
        .then(pl.lit("filtered"))
        .when((status == "judge_failed").any())
        .then(pl.lit("judge_failed"))
        .otherwise(pl.lit("not_applicable")),
    )
    share = pass_at if suite.gate_on == "pass_at_k" else pass_all
    # Few numbers of answers occur; one with fewer answers than k has no share.
    pairs = counted.select("n", "c").unique().filter(pl.col("n") >= k).rows()
    worth = pl.DataFrame(
        [(n, c, share(n, c, k)) for n, c in pairs],
        schema={"n": counted.schema["n"], "c": counted.schema["c"], "value": pl.Float64()},
        orient="row",
    )
    return counted.join(worth, on=["n", "c"], how="left", maintain_order="left").select(
        "item_id",
        "model",
        "metric",
        "value",
        repeat=pl.lit(0, scores.schema["repeat"]),
        status=pl.when(pl.col("value").is_null()).then("failed").otherwise(pl.lit("scored")),
        reason=pl.lit(""),
        details=pl.lit("{}"),
    )


ROLL_UPS: tuple[tuple[str, ...], ...] = (
    (),
    ("level",),
    ("language",),
    ("family",),
    ("family", "level"),
    ("family", "language"),
    ("family", "level", "language"),
)
"""Dimensions kept by each roll-up, besides suite, model and metric; the others are '' (all)."""

_ROUNDING = 1e-9
_MOST_PLACES = 3
_DIMENSIONS = ("suite", "family", "level", "language")


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows of a cell by how they ended; `n_scored` also counts those without an answer and truncated ones."""

    n_asked: int
    n_scored: int
    n_no_answer: int
    n_truncated: int
    n_unsupported: int
    n_model_error: int
    n_judge_failed: int
    n_not_applicable: int
    n_filtered: int

    @property
    def n_applicable(self) -> int:
        """Number of rows to which the metric applies."""
        return self.n_asked - self.n_not_applicable

    @property
    def n_lost(self) -> int:
        """Number of rows asked but not scored."""
        return self.n_model_error + self.n_filtered + self.n_judge_failed

    @property
    def coverage(self) -> float | None:
        """The share of applicable rows that were scored; None if nothing applied."""
        return self.n_scored / self.n_applicable if self.n_applicable else None

    @property
    def share_answered(self) -> float:
        """The share of applicable rows that have a response."""
        return 1 - self.n_model_error / self.n_applicable


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One row of the summary: its counts, and its mean as `value`.

    `lower` is the mean with all unscored rows wrong, `upper` the mean with these and all truncated responses right;
    without a mean if there are no such rows.
    """

    suite: str
    family: str
    level: str
    language: str
    model: str
    metric: str
    counts: Counts
    value: MeanEstimate
    lower: MeanEstimate = field(default_factory=MeanEstimate)
    upper: MeanEstimate = field(default_factory=MeanEstimate)

    def at(self, end: End) -> MeanEstimate:
        """Return the mean, or the mean at a bound; the mean where nothing is missing."""
        bound: MeanEstimate = getattr(self, end)
        return self.value if bound.mean is None else bound


COLUMNS: Mapping[End, tuple[str, str, str]] = {
    "value": ("mean", "ci_low", "ci_high"),
    "lower": ("lower", "lower_low", "lower_high"),
    "upper": ("upper", "upper_low", "upper_high"),
}
"""The table's columns of a mean and its interval: as measured, and at its bounds."""
UNIT_COLUMNS: Mapping[End, tuple[str, str]] = {
    "value": ("units", "fixed_templates"),
    "lower": ("lower_units", "lower_fixed_templates"),
    "upper": ("upper_units", "upper_fixed_templates"),
}
"""The table's columns of an interval's units: their number, and whether it holds for few templates only."""
COUNTED = tuple(column.name for column in fields(Counts))


@dataclass(frozen=True, slots=True)
class Total:
    """A model's TOTAL in percent, unrounded, over the families in `included`.

    None if an applicable family has nothing scored (listed in `missing`), or if no family applies. `left_out` are
    the families that were not applicable. `lower` and `upper` are the TOTAL at the families' bounds; None if they
    do not differ.
    """

    percent: float | None
    included: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    upper: float | None = None
    lower: float | None = None


def summarise(scores: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Summarise scores into the summary table.

    A row of `scores` is a metric's value for an item, a model and a repeat; a row of the result is a cell: one for
    each suite, family, level, language, model and metric that occurs, and one for each of `ROLL_UPS`, with '' for
    all. `n_asked` counts all rows; `n_scored` those with a value: status `scored`, and the others in `VALUED`,
    whose value is 0 unless the metric set it; so n_asked = n_scored + n_model_error + n_filtered +
    n_judge_failed + n_not_applicable. If nothing is scored, mean and interval are null. Means are over questions:
    repeats enter by their mean. TOTAL, which weighs families equally, is computed by `totals`.

    A metric is yes/no if all its values in the suite are 0 or 1. For intervals (`metrics.stats.intervals`) clusters
    are the templates of a family, and the unit is the question.

    Raises:
        InputError: a row whose item is not in `items`, whose status is unknown, or that is scored and has no value
            from 0 to 1.
    """
    rows = _rows(scores, items)
    ends: dict[End, pl.Expr] = {"value": get_value()}
    if rows["status"].is_in([*LOST, *RAISABLE]).any():
        ends |= {"lower": lower_bound(), "upper": upper_bound()}
    questions = {end: _questions(rows.with_columns(worth=at)) for end, at in ends.items()}
    graded = {*rows.filter(~get_value().is_in([0.0, 1.0])).select("suite", "metric").iter_rows()}
    by_key: dict[tuple[Any, ...], dict[str, Any]] = {}
    # A roll-up takes precedence over a finer cell with the same key.
    for dimensions in reversed(ROLL_UPS):
        blanks = [pl.lit("").alias(name) for name in _DIMENSIONS[1:] if name not in dimensions]
        counts = rows.with_columns(blanks).group_by(SUMMARY.key).agg(**_COUNTS)
        parts = {end: _partition(frame.with_columns(blanks)) for end, frame in questions.items()}
        for key, row in zip(counts.select(SUMMARY.key).rows(), counts.rows(named=True), strict=True):
            at_ends = {end: frames[key] for end, frames in parts.items() if key in frames}
            by_key[key] = row | _means(row, at_ends, yes_no=(row["suite"], row["metric"]) not in graded)
    return SUMMARY.frame([by_key[key] for key in sorted(by_key)])


def _partition(frame: pl.DataFrame) -> dict[tuple[Any, ...], pl.DataFrame]:
    return frame.partition_by(SUMMARY.key, maintain_order=True, as_dict=True)


OVER_ALL = (pl.col("level") == "") & (pl.col("language") == "")
"""The rows of a summary table over all levels and languages."""
OF_SUITES = OVER_ALL & (pl.col("family") == "")
OF_FAMILIES = OVER_ALL & (pl.col("family") != "")


def cells(summary: pl.DataFrame) -> tuple[SummaryRow, ...]:
    """Read the rows of a summary table."""
    return tuple(map(read_cell, summary.iter_rows(named=True)))


def read_cell(row: Mapping[str, Any]) -> SummaryRow:
    """Return a row of a summary table as a record."""
    counts = Counts(**{name: row.get(name) or 0 for name in COUNTED})
    # At a bound, what is missing has a value.
    n_asked = counts.n_scored + counts.n_lost

    def end(name: End, n_rows: int) -> MeanEstimate:
        mean, low, high = (row[column] for column in COLUMNS[name])
        # Tables of earlier versions have no number of units.
        units, is_fixed = map(row.get, UNIT_COLUMNS[name])
        return join_ends(mean, low, high, units or n_rows, fixed_templates=bool(is_fixed))

    return SummaryRow(
        suite=row["suite"],
        family=row["family"],
        level=row["level"],
        language=row["language"],
        model=row["model"],
        metric=row["metric"],
        counts=counts,
        value=end("value", counts.n_scored),
        lower=end("lower", n_asked),
        upper=end("upper", n_asked),
    )


def join_ends(
    mean: float | None, low: float | None, high: float | None, units: int, *, fixed_templates: bool = False
) -> MeanEstimate:
    """Return a mean with an interval that was made of other means' intervals, or that a table has kept."""
    if low is None or high is None:
        return MeanEstimate(mean)
    return MeanEstimate(mean, Interval(low, high, "combined", units, fixed_templates))


def totals(summary: pl.DataFrame, *, suite: str, metric: str) -> dict[str, Total]:
    """Compute each model's TOTAL in a suite from a summary table.

    A family without applicable rows is left out; a family that was asked but has nothing scored makes TOTAL None
    (SPEC 1: a composite is null if one of its components is).
    """
    families = summary.filter(OF_FAMILIES, suite=suite, metric=metric)
    by_model: dict[str, Total] = {}
    for (model,), group in families.group_by("model", maintain_order=True):
        counted, left_out, missing = [], [], []
        for cell in cells(group):
            if not cell.counts.n_applicable:
                left_out.append(cell.family)
                continue
            counted.append(cell)
            if cell.value.mean is None:
                missing.append(cell.family)
        by_model[str(model)] = Total(
            percent=_percent(counted, "value"),
            included=tuple(cell.family for cell in counted if cell.value.mean is not None),
            left_out=tuple(left_out),
            missing=tuple(missing),
            upper=_percent(counted, "upper"),
            lower=_percent(counted, "lower"),
        )
    return by_model


def round_half_up(value: float, places: int) -> float:
    """Round to a number of decimals as on paper: halves away from zero, on the decimal notation.

    0.8225 is stored slightly below itself, and a mean may be off in its last bit, so the value is first rounded to
    twelve decimals.
    """
    written = Decimal(repr(round(value, 12)))
    return float(written.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP))


def digits(share: float, threshold: float | None, places: int) -> str:
    """Return a fraction in percent with so many decimals, or more if rounding crosses a threshold (a fraction too).

    0.796 is 80 without decimals and a threshold, and 79.6 with 0.8, which it does not reach.
    """
    while True:
        value = round_half_up(100 * share, places)
        is_faithful = threshold is None or reaches(value / 100, threshold) == reaches(share, threshold)
        if is_faithful or places >= _MOST_PLACES:
            return f"{value:.{places}f}"
        places += 1


def percent(share: float, threshold: float | None = None) -> str:
    """Format a fraction as a percentage, without decimals if they are zero; with more as `digits`."""
    return f"{digits(share, threshold, 1)}%".replace(".0%", "%")


def _percent(families: Sequence[SummaryRow], end: End) -> float | None:
    """Return the mean over families in percent, or at a bound; None if one has none, or without this bound."""
    if all(getattr(cell, end).mean is None for cell in families):
        return None
    means = [cell.at(end).mean for cell in families]
    scored_means = [mean for mean in means if mean is not None]
    return 100 * (math.fsum(scored_means) / len(means)) if len(scored_means) == len(means) else None


_COUNTS = {
    "n_asked": pl.len(),
    "n_scored": pl.col("status").is_in(VALUED).sum(),
    **{f"n_{status}": (pl.col("status") == status).sum() for status in STATUSES if status != "scored"},
}


def _rows(scores: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Add each item's dimensions and the number of its template to the rows of scores."""
    dimensions = items.select("item_id", pl.col(_DIMENSIONS).fill_null("")).join(
        place_items(items).select("item_id", "cluster"), on="item_id"
    )
    rows = scores.select("item_id", "model", "metric", "status", "value").join(
        dimensions, on="item_id", how="left", maintain_order="left"
    )
    share = pl.col("value").is_between(-_ROUNDING, 1 + _ROUNDING)
    hollow = pl.col("value").is_null() & (pl.col("status") == "scored")
    for wrong, problem in (
        (pl.col("suite").is_null(), "its item is not in the items table; pass the items of the same run"),
        (~pl.col("status").is_in(STATUSES), f"expected a status among {', '.join(STATUSES)}"),
        (hollow | ~share, "expected a value from 0 to 1; what cannot be scored needs a status that says so"),
    ):
        for row in rows.filter(wrong.fill_null(value=False)).head(1).iter_rows(named=True):
            raise InputError(
                f"scores: item {row['item_id']!r}, model {row['model']!r}, metric {row['metric']!r} has status "
                f"{row['status']!r} and value {row['value']}: {problem}."
            )
    return rows


def _questions(rows: pl.DataFrame) -> pl.DataFrame:
    """Return each question's mean over its repeats, and the number of repeats, with its cell."""
    # Sort by value: a mean must not depend on the order of responses
    valued = rows.filter(pl.col("worth").is_not_null()).sort("worth")
    means = valued.group_by("item_id", "model", "metric").agg(
        pl.col("worth").mean(), pl.col("cluster", *_DIMENSIONS).first(), answers=pl.len()
    )
    return means.sort("worth", "answers", "cluster")


def _means(row: Mapping[str, Any], at_ends: Mapping[End, pl.DataFrame], *, yes_no: bool) -> dict[str, Any]:
    """Return a cell's mean, and its bounds if some rows make a difference, each with its interval."""
    n_lost = row["n_model_error"] + row["n_filtered"] + row["n_judge_failed"]
    is_lost = n_lost > 0 and row["n_scored"] > 0
    is_raisable = is_lost or row["n_truncated"] + row["n_unsupported"] > 0
    has_end = {"value": True, "lower": is_lost, "upper": is_raisable}
    means: dict[str, Any] = {}
    # A bound that nothing moves is not shown.
    for end, frame in at_ends.items():
        if has_end[end]:
            worth, answers = (frame[name].to_numpy().astype(np.float64) for name in ("worth", "answers"))
            n_independent = independent(worth, answers) if yes_no else None
            sample = pool(worth, answers=n_independent, clusters=frame["cluster"].to_numpy())
            mean = estimate(sample, yes_no=yes_no)
            interval = mean.interval
            means |= dict(zip(COLUMNS[end], (mean.mean, interval.low, interval.high), strict=True))
            means |= dict(zip(UNIT_COLUMNS[end], (interval.units, interval.fixed_templates), strict=True))
    return means
