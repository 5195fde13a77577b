"""What was asked and is not scored: between which bounds its value lies.

A failed call and an unreadable reply of a judge could be anything. A cut reply is at least what it came to as it
is. What is not applicable has no bounds, since it was not asked for.

Source: SPEC 10.
"""

import polars as pl

from data.records import VALUED, Status

UNSTATED = "no score"
"""How a reason begins that states no cause: two such need not be the same."""
LOST: tuple[Status, ...] = ("model_error", "judge_failed")
"""The states of what was asked and is not scored."""
_STATUS, _VALUE = pl.col("status"), pl.col("value")


def scored() -> pl.Expr:
    """The value that a row of the scores table counts with; null where it is not scored."""
    return pl.when(_STATUS == "scored").then(_VALUE).when(_STATUS.is_in(VALUED)).then(_VALUE.fill_null(0.0))


def lowest() -> pl.Expr:
    """The least that the row's value can be; null where the metric does not apply."""
    return pl.when(_STATUS.is_in(LOST)).then(0.0).otherwise(scored())


def highest() -> pl.Expr:
    """The most that the row's value can be; null where the metric does not apply."""
    return pl.when(_STATUS.is_in([*LOST, "truncated"])).then(1.0).otherwise(scored())


def cause(scores: pl.DataFrame) -> pl.Expr:
    """Say why a row is not scored; null where it is, or where no cause is stated."""
    reason = pl.col("reason") if "reason" in scores.columns else pl.lit("")
    known = _STATUS.is_in(LOST) & (reason != "") & ~reason.str.starts_with(UNSTATED)
    return pl.when(known).then(pl.concat_str(_STATUS, reason, separator=": "))
