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
STRATUM = ("family", "level", "language")
_STRATUM = "_stratum"
_ORDER = "_order"
_TURN = "_turn"


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
    return int(_list_units(items, strata=False)["is_shared"].sum())


def stratum_of() -> pl.Expr:
    """Return the stratum of each item's unit: of a template that occurs in several, the first of them."""
    return pl.concat_str(STRATUM, separator="\0", ignore_nulls=True).min().over(COLUMN)


def may_stop(items: pl.DataFrame, *, strata: bool) -> bool:
    """Return whether a suite of these items may stop early: no templates are shared, or enough of them.

    With strata there must be as many rounds, each of one unit of every stratum.
    """
    units = _list_units(items, strata=strata)
    return not units["is_shared"].sum() or _may_stop(units)


def take_turns(items: pl.DataFrame) -> pl.DataFrame:
    """Order items by turns of one item of every stratum."""
    turn = pl.int_range(pl.len()).over(STRATUM)
    return items.with_columns(turn.alias(_TURN)).sort(_TURN, *STRATUM).drop(_TURN)


def cut_into_templates(drawn: pl.DataFrame, seed: int, stop: Stop, *, strata: bool) -> list[pl.DataFrame]:
    """Split items that share templates into rounds of whole templates, in an order drawn from the seed.

    With strata, units come in turns of one of every stratum. The first round has `MIN_TEMPLATES` shared templates
    and turns at least. Where `stop.most` questions have fewer, there is one round: nothing stops early.
    """
    ordered = _order_units(_list_units(drawn, strata=strata), seed)
    units = ordered.filter(pl.col("n").cum_sum() <= stop.most)
    n_strata = ordered[_STRATUM].n_unique()
    if units[_STRATUM].n_unique() < n_strata:
        # Whole templates of every stratum are more than may be asked.
        return [take_turns(drawn).head(stop.most)]
    if not _may_stop(units):
        return [_join_items(units, drawn)]
    whole = units.head(_count_turns(units) * n_strata)
    turns = whole.group_by(_TURN, maintain_order=True).agg(pl.col("n", "is_shared").sum())
    items = _join_items(whole, drawn)
    return [items[start:end] for start, end in pairwise((0, *_list_looks(turns, stop.first)))]


def _list_looks(turns: pl.DataFrame, n_first: int) -> list[int]:
    """Return the numbers of questions after which a look is taken: at least `n_first`, and at the end of a turn."""
    n_asked, n_shared = (turns[name].cum_sum().to_numpy() for name in ("n", "is_shared"))
    last = len(n_asked) - 1
    first = max(int(np.searchsorted(n_asked, n_first)), int(np.searchsorted(n_shared, MIN_TEMPLATES)))
    looks = [int(n_asked[min(max(first, MIN_TEMPLATES - 1), last)])]
    while looks[-1] < n_asked[last]:
        aim = looks[-1] + max(1, math.ceil(GROWTH * looks[-1]))
        looks.append(int(n_asked[min(int(np.searchsorted(n_asked, aim)), last)]))
    return looks


def _question(items: pl.DataFrame) -> pl.Expr:
    """Return what identifies the question of each item."""
    if "text_digest" not in items.columns:
        return pl.col("item_id")
    digest = pl.col("text_digest")
    return pl.when(digest.fill_null("") != "").then(digest).otherwise("item_id")


def _list_units(items: pl.DataFrame, *, strata: bool) -> pl.DataFrame:
    """Return each unit with its number of items, whether it is a template of several questions, and its stratum.

    Without strata all units are of one.
    """
    stratum = stratum_of() if strata else pl.lit("")
    questions = pl.struct("level", "language", question=_question(items))
    by_unit = items.with_columns(unit_of()).with_columns(stratum.alias(_STRATUM))
    return by_unit.group_by(COLUMN, maintain_order=True).agg(
        pl.col(_STRATUM).first(),
        n=pl.len().cast(pl.Int64),
        is_shared=(questions.n_unique() > 1).cast(pl.Int64),
    )


def _order_units(units: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return units by turns of one of every stratum, in an order drawn from the seed."""
    order = [content_id("order", seed, unit) for unit in units[COLUMN]]
    drawn = units.with_columns(pl.Series(_ORDER, order, dtype=pl.String)).sort(_ORDER)
    turn = pl.int_range(pl.len()).over(_STRATUM)
    return drawn.with_columns(turn.alias(_TURN)).sort(_TURN, _STRATUM)


def _count_turns(units: pl.DataFrame) -> int:
    """Count the turns that have a unit of every stratum."""
    n_units = units.group_by(_STRATUM).len()["len"].to_list()
    return min(n_units, default=0)


def _may_stop(units: pl.DataFrame) -> bool:
    """Return whether there are turns and shared templates enough to stop early."""
    n_shared = int(units["is_shared"].sum())
    return min(n_shared, _count_turns(units)) >= MIN_TEMPLATES


def _join_items(units: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Return the items of units, in the units' order."""
    by_unit = items.with_columns(unit_of())
    return units.select(COLUMN).join(by_unit, on=COLUMN, how="left", maintain_order="left_right").drop(COLUMN)
