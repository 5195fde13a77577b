"""Probe: the questions most informative about a model's level, given its answers so far."""

from collections.abc import Mapping

import polars as pl

from config.settings import StoreSettings
from data.batches import Ref
from data.draw import draw
from data.plugins import loader
from data.records import Family, Item
from data.suites import Suite
from data.tables import ITEMS, SCORES
from data.units import UnitIdentity
from metrics.analysis.levels import Curve, counted, curve, curves_of
from tasks.generate import row
from tasks.runtime.storage import open_store
from tasks.stage import stage

ROUND = 4
"""Questions of each family and language asked in parallel once every rung has been asked."""


def families(suite: Suite) -> Mapping[str, Family]:
    """Return the families whose scales are searched, by name."""
    unit = loader(suite.loader)
    return unit.units(suite.source) if unit.units else {}


def curves(suite: Suite, put: pl.DataFrame, scored: pl.DataFrame) -> list[Curve]:
    """Return the curves fitted to all answers: one for each family and language."""
    return [
        curve(family, language, counted(put, scored, suite, family, language))
        for family in families(suite).values()
        for language in suite.source["languages"]
    ]


@stage(version=1, part="generate")
def probe(
    store: StoreSettings, items: list[Ref], scores: list[Ref], *, suite: Suite, units: tuple[UnitIdentity, ...]
) -> list[Ref]:
    """Draw the next questions of each family and language; none once `n_items` of each were asked.

    `items` and `scores` are all rounds so far. Questions are drawn from the suite's seed, the rung, and how many of
    that rung were asked: with the same answers they are the same.
    """
    del units  # part of the cache key only
    opened = open_store(store)
    put, scored = opened.read_all(items, ITEMS), opened.read_all(scores, SCORES)
    listed: list[Item] = []
    for name, family in families(suite).items():
        for language in suite.source["languages"]:
            counts = counted(put, scored, suite, family, language)
            left = suite.source["n_items"] - int(counts.put.sum())
            number = ROUND if counts.put.any() else len(family.rungs)
            plan = curves_of(family).ask(counts.answered, counts.right, min(number, left)) if left > 0 else ()
            for rung, there, more in zip(family.rungs, counts.put, plan, strict=False):
                drawn = draw(
                    family,
                    level=rung,
                    language=language,
                    seed=suite.seed,
                    count=int(there + more) if more else 0,
                    options=suite.source.get("options", {}).get(name),
                    suite=suite.name,
                )
                listed += drawn[int(there) :]
    if not listed:
        return []
    return [opened.write(ITEMS, ITEMS.frame(row(item) for item in listed))]
