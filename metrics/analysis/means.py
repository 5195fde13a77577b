"""A suite's score from its questions: intervals of means, and pass@k and pass^k in place of means of answers.

Source: SPEC 9.
"""

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from basic_control.data.suites import Suite
from basic_control.data.tables import SUMMARY
from basic_control.metrics.analysis.observations import ENDS, End, question_values, weight_by
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.stats.agreement import pass_all, pass_at
from basic_control.metrics.stats.intervals import (
    Interval,
    MeanEstimate,
    combine_strata,
    estimate,
    independent,
    join_units,
    parts_of,
    units_of,
)
from basic_control.metrics.stats.missing import get_value, lower_bound, upper_bound


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
