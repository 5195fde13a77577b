"""Bounds on the values of rows that were asked but not scored.

A failed call or an unreadable judge reply could have any value. A truncated reply, or a program that lacks a
package, is worth at least its present value. Rows that are not applicable have no bounds, since nothing was asked.

Source: SPEC 10.
"""

import polars as pl

from basic_control.data.records import VALUED, Status

UNSTATED = "no score"
"""Start of a reason without a cause: two such reasons need not be the same."""
LOST: tuple[Status, ...] = ("model_error", "filtered", "judge_failed")
"""The statuses of rows that were asked but not scored."""
RAISABLE: tuple[Status, ...] = ("truncated", "unsupported")
"""The statuses of rows that are scored by what there is, and could be right for all that is known."""
_STATUS, _VALUE = pl.col("status"), pl.col("value")
ALIKE = _VALUE.is_null() & pl.col("value_before").is_null() & (pl.col("cause") == pl.col("cause_before"))
"""Missing on both sides of a pair for the same cause of the question's own, and therefore equal there."""
# Causes that pass, of ours ("rate_limit", "not asked", a judge's "unparsable reply"), and of logs ("HTTP 503").
PASSING = (
    r"(?i)\b(?:connect|timed?[ _-]?out|rate[ _-]?limit|too many requests|server|unavailable|overloaded|temporar"
    r"|auth|quota|unknown_model|not asked|stopped|budget|submitted|expired|cancelled|empty|unparsable|call failed"
    r"|408|409|429|5\d\d)"
)
"""What says nothing about the question: the call, asked again, may be answered."""
ENDS = ("lower", "upper", "lower_before", "upper_before")
"""The bounds of both sides of a pair."""


def get_value() -> pl.Expr:
    """The value of a row of the scores table; null if it is not scored."""
    return pl.when(_STATUS == "scored").then(_VALUE).when(_STATUS.is_in(VALUED)).then(_VALUE.fill_null(0.0))


def lower_bound() -> pl.Expr:
    """The lower bound of the row's value; null if the metric does not apply."""
    return pl.when(_STATUS.is_in(LOST)).then(0.0).otherwise(get_value())


def upper_bound() -> pl.Expr:
    """The upper bound of the row's value; null if the metric does not apply."""
    return pl.when(_STATUS.is_in([*LOST, *RAISABLE])).then(1.0).otherwise(get_value())


def add_bounds(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that apply, with `value`, its bounds `lower` and `upper`, and why it is missing (`cause`)."""
    applicable = scores.filter(_STATUS != "not_applicable")
    return applicable.with_columns(
        value=get_value(), lower=lower_bound(), upper=upper_bound(), cause=_cause(applicable)
    )


def equate_alike(pairs: pl.DataFrame) -> pl.DataFrame:
    """Make the bounds of both sides equal where they are alike."""
    return pairs.with_columns(pl.when(ALIKE).then(0.0).otherwise(pl.col(name)).alias(name) for name in ENDS)


def _cause(scores: pl.DataFrame) -> pl.Expr:
    """Return why a row is not scored; null if it is, if no cause is stated, or if it passes."""
    reason = pl.col("reason") if "reason" in scores.columns else pl.lit("")
    is_stated = _STATUS.is_in(LOST) & (reason != "") & ~reason.str.starts_with(UNSTATED)
    return pl.when(is_stated & ~reason.str.contains(PASSING)).then(pl.concat_str(_STATUS, reason, separator=": "))
