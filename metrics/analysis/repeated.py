"""Cells of suites that are gated on k answers to each question: pass@k and pass^k in place of means of answers."""

from collections.abc import Callable, Sequence

import polars as pl

from data.records import VALUED
from data.suites import Suite
from data.tables import SUMMARY
from metrics.analysis.summary import summarise
from metrics.stats.agreement import pass_all, pass_at

_SHARES: dict[str, Callable[[int, int, int], float]] = {"pass_at_k": pass_at, "pass_all_k": pass_all}


def repeated(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite], summary: pl.DataFrame
) -> pl.DataFrame | None:
    """Return the cells of suites gated on k answers, None where there is no such suite; their rows are questions.

    A row of `scores` is an answer; `summary` is the table of means: of its cells `n_truncated`, the number of cut
    replies, is kept, and `upper` is the share had each of them been right. Every suite has its `k`. Intervals are
    over questions, or over their templates where there are enough (`metrics.stats.intervals`).
    """
    found = []
    for suite in suites:
        own = _own(scores, items, suite)
        if suite.gate_on == "mean" or own.is_empty():
            continue
        drawn = items.filter(pl.col("suite") == suite.name)
        cells = summarise(_each(own, suite), drawn)
        best = summarise(_each(own, suite, at_best=True), drawn)
        cut = summary.select(*SUMMARY.key, cut="n_truncated")
        uppers = best.select(*SUMMARY.key, top="mean", top_low="ci_low", top_high="ci_high")
        joined = cells.join(cut, on=SUMMARY.key, how="left").join(uppers, on=SUMMARY.key)
        told = {"upper": "top", "upper_low": "top_low", "upper_high": "top_high"}
        bounds = {name: pl.when(pl.col("cut") > 0).then(value) for name, value in told.items()}
        found.append(SUMMARY.check(joined.with_columns(n_truncated="cut", **bounds).select(cells.columns)))
    return pl.concat(found) if found else None


def _own(scores: pl.DataFrame, items: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    """Return the rows that make a suite's score."""
    drawn = items.filter(pl.col("suite") == suite.name).select("item_id")
    return scores.filter(pl.col("metric").is_in(suite.scored_by)).join(drawn, on="item_id", how="semi")


def _each(own: pl.DataFrame, suite: Suite, *, at_best: bool = False) -> pl.DataFrame:
    """Return a row for each question, model and metric; `at_best`: had every cut reply been right."""
    k = suite.k or 1
    status = pl.col("status")
    right = (pl.col("value") == 1).fill_null(value=False)
    if at_best:
        right |= status == "truncated"
    counted = own.group_by("item_id", "model", "metric", maintain_order=True).agg(
        n=status.is_in(VALUED).sum(),
        c=(status.is_in(VALUED) & right).sum(),
        failed=pl.when((status == "model_error").any())
        .then(pl.lit("model_error"))
        .when((status == "judge_failed").any())
        .then(pl.lit("judge_failed"))
        .otherwise(pl.lit("not_applicable")),
    )
    share = _SHARES[suite.gate_on]
    pairs = counted.select("n", "c").unique().rows()
    worth = pl.DataFrame(
        [(n, c, share(n, c, k) if n >= k else None) for n, c in pairs],
        schema={"n": counted.schema["n"], "c": counted.schema["c"], "value": pl.Float64()},
        orient="row",
    )
    return counted.join(worth, on=["n", "c"], how="left", maintain_order="left").select(
        "item_id",
        "model",
        "metric",
        "value",
        repeat=pl.lit(0, own.schema["repeat"]),
        status=pl.when(pl.col("value").is_null()).then("failed").otherwise(pl.lit("scored")),
        reason=pl.lit(""),
        details=pl.lit("{}"),
    )
