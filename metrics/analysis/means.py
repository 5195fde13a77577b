"""The interval of a model's score in a suite, from each question's value.

Source: SPEC 9.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

import numpy as np
import polars as pl

from data.suites import Suite
from metrics.analysis.repeated import k_answers, of_suite
from metrics.analysis.values import question_values
from metrics.stats.intervals import Codes, Floats, Interval, MeanEstimate, estimate, independent, united, units_of
from metrics.stats.strata import parts_of, stratified

End = Literal["value", "lower", "upper"]
ENDS: tuple[End, ...] = ("value", "lower", "upper")
"""What counts: the questions' values, or the least or most that they could be."""


def suite_mean(values: pl.DataFrame, *, strata: bool, end: End = "value") -> MeanEstimate:
    """Compute a model's score in one suite: the mean of its metrics' means, or with strata that over its families.

    Rows as in `metrics.analysis.values.question_values`, of one suite and model, and of the metrics that make the
    score (with strata there is one).
    """
    rows = values.drop_nulls(end)
    if rows.is_empty():
        return MeanEstimate(None, Interval())
    answers = rows["answers" if end == "value" else "asked"].to_numpy().astype(np.float64)
    known = rows.select("item_id", "family", "cluster", "metric", worth=end).with_columns(
        answers=pl.Series(answers)
    )
    if rows["metric"].n_unique() > 1:
        known, yes_no = _joined(known), False
    else:
        yes_no = bool(rows["plain"].all())
    worth, told = (known[name].to_numpy().astype(np.float64) for name in ("worth", "answers"))
    clusters = known["cluster"].to_numpy().astype(np.int64)
    families = known["family"] if strata else pl.repeat("", known.height, eager=True)
    return _mean(worth, told, clusters, families.rank("dense").to_numpy().astype(np.int64) - 1, yes_no=yes_no)


def _mean(worth: Floats, answers: Floats, clusters: Codes, strata: Codes, *, yes_no: bool) -> MeanEstimate:
    told = independent(worth, answers, strata) if yes_no else answers
    # How many templates are shared is asked of the suite as a whole, not of each of its strata.
    units = units_of(len(worth), clusters)
    pools = []
    for code in range(int(strata.max()) + 1):
        here = strata == code
        pools.append(united(worth[here], told[here], units._replace(codes=units.codes[here])))
    if len(pools) == 1:
        return estimate(pools[0], yes_no=yes_no)
    parts = parts_of(pools, [1 / len(pools)] * len(pools), yes_no=yes_no)
    return MeanEstimate(sum(part.weight * part.mean for part in parts), stratified(parts))


def _joined(rows: pl.DataFrame) -> pl.DataFrame:
    """Join several metrics' values into one of each question, so that their mean is the mean of the metrics' means.

    Where a question lacks a metric's value, that metric's mean stands in for it.
    """
    metrics = rows["metric"].n_unique()
    total = rows["item_id"].n_unique()
    centred = pl.col("worth") - pl.col("worth").mean().over("metric")
    scaled = rows.with_columns(part=centred * total / pl.len().over("metric") / metrics)
    means = rows.group_by("metric").agg(pl.col("worth").mean())["worth"].drop_nulls()
    score = fmean(means) if len(means) else 0.0
    return (
        scaled.group_by("item_id", maintain_order=True)
        .agg(pl.col("family", "cluster").first(), worth=pl.col("part").sum() + score, answers=pl.lit(1.0).first())
        .sort("item_id")
    )


def suite_intervals(
    scores: pl.DataFrame, items: pl.DataFrame, members: Mapping[str, Sequence[Suite]]
) -> dict[tuple[str, str], dict[End, Interval]]:
    """Return the intervals of scores that are made of several means, by model and suite: a TOTAL, several metrics.

    `members` are the suites that each model took part in; those gated on k answers have their `k`.

    Raises:
        InputError: a row whose item is not in `items`.
    """
    suites = {suite.name: suite for listed in members.values() for suite in listed}
    found: dict[tuple[str, str], dict[End, Interval]] = {}
    for suite in suites.values():
        if not suite.strata and len(suite.scored_by) == 1:
            continue
        own = of_suite(scores, items, suite)
        for end in ENDS:
            plain = not suite.of_k
            rows = question_values(own if plain else k_answers(own, suite, bound=end), items)
            counted: End = end if plain else "value"
            for (model,), part in rows.group_by("model"):
                mean = suite_mean(part, strata=bool(suite.strata), end=counted)
                found.setdefault((str(model), suite.name), {})[end] = mean.interval
    return found
