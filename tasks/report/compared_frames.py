"""A comparison's pairs and changed rows as frames, for those who go on in Python."""

import polars as pl

from basic_control.tasks.compare.comparison import RunComparison
from basic_control.tasks.report.comparison import conclusion, verdict

_CHANGE = pl.Schema({
    "suite": pl.String, "metric": pl.String, "before": pl.String, "after": pl.String, "name": pl.String,
    "question": pl.String, "expected": pl.String, "repeat": pl.Int64, "before_reply": pl.String,
    "after_reply": pl.String, "before_score": pl.Float64, "after_score": pl.Float64, "item_id": pl.String,
})  # fmt: skip
_PAIR = pl.Schema({
    "suite": pl.String, "metric": pl.String, "before": pl.String, "after": pl.String, "n": pl.Int64,
    "before_mean": pl.Float64, "after_mean": pl.Float64, "difference": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "p": pl.Float64, "verdict": pl.String, "conclusion": pl.String,
})  # fmt: skip


def tabulate_changes(comparison: RunComparison) -> pl.DataFrame:
    """Return a row for each changed score of a reply, as the command lists them: the greatest loss first."""
    frames = [pl.DataFrame(schema=_CHANGE)]
    for pair, changed in zip(comparison.pairs, comparison.changed, strict=True):
        if not comparison.is_listed(pair):
            continue
        renamed = changed.sort("gain", maintain_order=True).with_columns(
            suite=pl.lit(pair.suite),
            metric=pl.lit(pair.metric),
            before=pl.lit(pair.model_b),
            after=pl.lit(pair.model_a),
            expected=pl.col("answer"),
        )
        for side in ("before", "after"):
            renamed = renamed.with_columns(
                pl.col(f"{side}_text").alias(f"{side}_reply"), pl.col(f"{side}_value").alias(f"{side}_score")
            )
        frames.append(renamed.select(*_CHANGE).cast(_CHANGE))
    return pl.concat(frames)


def tabulate_pairs(comparison: RunComparison) -> pl.DataFrame:
    """Return a row for each pair of models by each score: means, difference, interval, p, and the outcome in words.

    Shares are from 0 to 1; `verdict` is better, worse, same, undecided or untested, as in the command's JSON.
    """
    rows = []
    for pair in comparison.pairs:
        interval = pair.test.interval
        means = (pair.mean_b, pair.mean_a, pair.difference, interval.low, interval.high, pair.test.p_adjusted)
        names = (pair.suite, pair.metric, pair.model_b, pair.model_a, pair.n)
        rows.append((*names, *means, verdict(pair), conclusion(pair)))
    return pl.DataFrame(rows, _PAIR, orient="row")
