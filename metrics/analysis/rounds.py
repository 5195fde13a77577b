"""The order of a suite's questions, and rounds of whole templates.

A question's place follows from the seed and from what is asked, so recorded replies do not move it. Questions that
share a template stay together: the template is one observation, its value the mean over its questions.

Source: SPEC 9, 12.
"""

import math
from itertools import pairwise

import numpy as np
import polars as pl

from basic_control.data.draw import content_id
from basic_control.data.suites import Stop

GROWTH = 0.15
"""Fraction by which each round increases the number of questions asked."""
MIN_TEMPLATES = 10
"""Number of shared templates below which nothing stops early."""
COLUMN = "unit"
_ORDER = "_order"


def order_items(items: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return items in an order drawn from the seed and their questions, rows of one question as they stand."""
    question = _question(items)
    order = [content_id("order", seed, text) for text in items.select(question).to_series()]
    drawn = items.with_columns(pl.Series(_ORDER, order, dtype=pl.String))
    return drawn.sort(_ORDER, "index", "item_id").drop(_ORDER)


def unit_of() -> pl.Expr:
    """Return the unit of each item: its template, or itself."""
    template = pl.concat_str("family", "template", separator="\0", ignore_nulls=True)
    return pl.when(pl.col("template").fill_null("") != "").then(template).otherwise("item_id").alias(COLUMN)


def count_shared(items: pl.DataFrame) -> int:
    """Count the templates that two questions or more share."""
    return int(_sizes(items.with_columns(unit_of()))["is_shared"].sum())


def may_stop(items: pl.DataFrame) -> bool:
    """Return whether a suite of these items may stop early: no templates are shared, or enough of them."""
    return not 0 < count_shared(items) < MIN_TEMPLATES


def cut_into_templates(drawn: pl.DataFrame, seed: int, stop: Stop) -> list[pl.DataFrame]:
    """Split items that share templates into rounds of whole templates, in an order drawn from the seed.

    The first round has `MIN_TEMPLATES` shared templates at least. Where `stop.most` questions have fewer, there is
    one round: nothing stops early.
    """
    by_unit = drawn.with_columns(unit_of())
    units = _sizes(by_unit)
    order = [content_id("order", seed, unit) for unit in units[COLUMN]]
    units = units.with_columns(pl.Series(_ORDER, order, dtype=pl.String)).sort(_ORDER)
    units = units.filter(pl.col("n").cum_sum() <= stop.most)
    if units.is_empty():
        return [drawn.head(stop.most)]
    whole = units.select(COLUMN).join(by_unit, on=COLUMN, how="left", maintain_order="left_right").drop(COLUMN)
    n_asked, shared = units["n"].cum_sum().to_numpy(), units["is_shared"].cum_sum().to_numpy()
    if shared[-1] < MIN_TEMPLATES:
        return [whole]
    last = len(n_asked) - 1
    first = max(int(np.searchsorted(n_asked, stop.first)), int(np.searchsorted(shared, MIN_TEMPLATES)))
    looks = [int(n_asked[min(first, last)])]
    while looks[-1] < n_asked[last]:
        aim = looks[-1] + max(1, math.ceil(GROWTH * looks[-1]))
        looks.append(int(n_asked[min(int(np.searchsorted(n_asked, aim)), last)]))
    return [whole[start:end] for start, end in pairwise((0, *looks))]


def _question(items: pl.DataFrame) -> pl.Expr:
    """Return what identifies the question of each item."""
    if "text_digest" not in items.columns:
        return pl.col("item_id")
    digest = pl.col("text_digest")
    return pl.when(digest.fill_null("") != "").then(digest).otherwise("item_id")


def _sizes(items: pl.DataFrame) -> pl.DataFrame:
    """Return the number of items of each unit, and whether it is a template of several questions."""
    questions = pl.struct("level", "language", question=_question(items))
    by_unit = items.group_by(COLUMN, maintain_order=True)
    return by_unit.agg(n=pl.len().cast(pl.Int64), is_shared=(questions.n_unique() > 1).cast(pl.Int64))
