"""Cells of suites that are gated on k answers to each question: pass@k and pass^k in place of means of answers."""

from collections.abc import Callable, Sequence

import polars as pl

from data.suites import Suite
from data.tables import SUMMARY
from metrics.analysis.summary import summarise
from metrics.stats.agreement import pass_all, pass_at
from metrics.stats.missing import highest, lowest, scored

_SHARES: dict[str, Callable[[int, int, int], float]] = {"pass_at_k": pass_at, "pass_all_k": pass_all}


def repeated(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite], summary: pl.DataFrame
) -> pl.DataFrame | None:
    """Return the cells of suites gated on k answers, None where there is no such suite; their rows are questions.

    A row of `scores` is an answer; `summary` is the table of means: of its cells `n_truncated`, the number of cut
    replies, is kept. `lower` and `upper` are the shares at the bounds of answers that failed or were cut. Every
    suite has its `k`. Intervals are over questions, or over their templates where there are enough
    (`metrics.stats.intervals`).
    """
    found = []
    for suite in suites:
        own = of_suite(scores, items, suite)
        if not suite.of_k or own.is_empty():
            continue
        drawn = items.filter(pl.col("suite") == suite.name)
        cells = summarise(k_answers(own, suite), drawn)
        lost = pl.col("n_model_error") + pl.col("n_judge_failed")
        joined = cells.join(summary.select(*SUMMARY.key, cut="n_truncated", lost=lost), on=SUMMARY.key, how="left")
        bounds = {"n_truncated": pl.col("cut")}
        for name, open_ in (("lower", pl.col("lost") > 0), ("upper", pl.col("lost") + pl.col("cut") > 0)):
            ends = {f"_{name}": "mean", f"_{name}_low": "ci_low", f"_{name}_high": "ci_high"}
            end = summarise(k_answers(own, suite, bound=name), drawn).select(*SUMMARY.key, **ends)
            joined = joined.join(end, on=SUMMARY.key, how="left")
            bounds |= {one[1:]: pl.when(open_ & pl.col("mean").is_not_null()).then(one) for one in ends}
        found.append(SUMMARY.check(joined.with_columns(**bounds).select(cells.columns)))
    return pl.concat(found) if found else None


def of_suite(scores: pl.DataFrame, items: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    """Return the rows that make a suite's score."""
    drawn = items.filter(pl.col("suite") == suite.name).select("item_id")
    return scores.filter(pl.col("metric").is_in(suite.scored_by)).join(drawn, on="item_id", how="semi")


def k_answers(own: pl.DataFrame, suite: Suite, *, bound: str = "") -> pl.DataFrame:
    """Return a row for each question, model and metric: its pass@k or pass^k.

    `bound`: had every failed call and unreadable judge's reply been wrong (`lower`); had these and every cut reply
    been right (`upper`).
    """
    k = suite.k or 1
    status = pl.col("status")
    values = {"lower": lowest(), "upper": highest()}.get(bound, scored())
    counted = own.group_by("item_id", "model", "metric", maintain_order=True).agg(
        n=values.is_not_null().sum(),
        c=(values == 1).fill_null(value=False).sum(),
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
