"""What was asked and is not scored: between which bounds its value lies.

A failed call and an unreadable reply of a judge could be anything. A cut reply is at least what it came to as it
is. What is not applicable has no bounds, since it was not asked for.

Source: SPEC 10.
"""

import polars as pl

from data.records import VALUED, Status

LOST: tuple[Status, ...] = ("model_error", "judge_failed")
"""The states of what was asked and is not scored."""
_STATUS, _VALUE = pl.col("status"), pl.col("value")


def scored() -> pl.Expr:
    """The value that a row of the scores table counts with; null where it is not scored."""
    return pl.when(_STATUS == "scored").then(_VALUE).when(_STATUS.is_in(VALUED)).then(_VALUE.fill_null(0.0))


def lowest(least: float | pl.Expr = 0.0) -> pl.Expr:
    """The least that the row's value can be; null where the metric does not apply."""
    return pl.when(_STATUS.is_in(LOST)).then(least).otherwise(scored())


def highest(most: float | pl.Expr = 1.0) -> pl.Expr:
    """The most that the row's value can be; null where the metric does not apply."""
    return pl.when(_STATUS.is_in([*LOST, "truncated"])).then(most).otherwise(scored())
