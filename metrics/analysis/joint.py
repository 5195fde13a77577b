"""The share of rows on which every part of a suite holds: a value of its own for each reply.

Source: SPEC 8.
"""

from collections.abc import Mapping

import polars as pl

from basic_control.data.suites import ALL
from basic_control.data.tables import SCORES
from basic_control.metrics.analysis.policy import TOLERANCE
from basic_control.metrics.stats.missing import LOST, RAISABLE, get_value

VERSION = 1
_REPLY = ("item_id", "model", "repeat")
_STATUS = pl.col("status")


def joint_scores(scores: pl.DataFrame, parts: Mapping[str, float]) -> pl.DataFrame:
    """Return for each reply whether all parts hold, as scores of the metric `all`.

    A row of `scores` is a metric's value for an item, a model and a repeat; `parts` are the values from which the
    metrics hold. A reply fails where a part does, whatever else is missing; it is missing where no part fails and
    one is missing; `not_applicable` parts are left out. If only parts that could be worth more fail (truncated
    replies), its status is theirs.
    """
    rows = scores.filter(pl.col("metric").is_in([*parts])).with_columns(worth=get_value())
    least = pl.col("metric").replace_strict(parts, return_dtype=pl.Float64)
    fails = (pl.col("worth") < least - TOLERANCE).fill_null(value=False)
    is_open = _STATUS.is_in([*RAISABLE])
    ranked = rows.with_columns(
        rank=pl.when(fails & (_STATUS == "scored"))
        .then(0)
        .when(fails & ~is_open)
        .then(1)
        .when(fails)
        .then(2)
        .when(_STATUS.is_in([*LOST]))
        .then(3)
        .when(_STATUS != "not_applicable")
        .then(4)
        .otherwise(5)
    )
    # The first part of a reply's lowest rank says how the reply ended.
    ends = ranked.sort("rank", maintain_order=True).unique(_REPLY, keep="first", maintain_order=True)
    rank, is_lost = pl.col("rank"), pl.col("rank") == 3  # noqa: PLR2004 - of the ranks above
    joined = ends.sort(_REPLY).select(
        *_REPLY,
        metric=pl.lit(ALL),
        version=pl.lit(VERSION, pl.Int64),
        value=pl.when(rank < 3).then(0.0).when(rank == 4).then(1.0),  # noqa: PLR2004 - of the ranks above
        status=pl.when(rank == 4).then(pl.lit("scored")).otherwise(_STATUS),  # noqa: PLR2004 - likewise
        reason=pl.when(rank == 4).then(pl.lit("")).otherwise("reason"),  # noqa: PLR2004 - likewise
        details=pl.when(is_lost).then("details").otherwise(pl.lit("{}")),
    )
    return SCORES.check(joined.select([*SCORES.columns]))
