"""Results of a search for a model's level: a curve for each family and language."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from data.records import Family
from data.suites import Suite
from metrics.analysis.values import values_of
from metrics.stats.intervals import Codes
from metrics.stats.psychometric import CurveGrid, Level, Order, order, search

CONTRARY = 0.05
"""P-value below which falling curves are rejected: the scale does not hold."""


@dataclass(frozen=True, slots=True)
class RungCounts:
    """At each rung of a scale: questions asked, answers that count, and right answers."""

    put: Codes
    answered: Codes
    right: Codes


@dataclass(frozen=True, slots=True)
class Curve:
    """A model's curve for one family in one language; sequences have an entry for each rung.

    `values` are the rungs' names, `unit` what they count, by language ({} if they are the family's levels). `band`
    is the probability of a right answer: its mean and central 95 % interval.
    """

    family: str
    language: str
    unit: Mapping[str, str]
    values: tuple[str, ...]
    counts: RungCounts
    level: Level
    band: Sequence[tuple[float, float, float]]
    order: Order

    @property
    def falls(self) -> bool:
        """Whether the shares of right answers are consistent with a scale of increasing difficulty."""
        return self.order.p > CONTRARY

    def value(self, position: float) -> float | None:
        """Return a position in the rungs' unit, or unchanged without one; None beyond the scale."""
        last = len(self.values)
        if not 1 <= position <= last:
            return None
        return (
            float(np.interp(position, np.arange(1, last + 1), [*map(int, self.values)])) if self.unit else position
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the curve as JSON; `at`, `low` and `high` are in the unit, null beyond the scale."""
        ends = {name: self.value(getattr(self.level, name)) for name in ("at", "low", "high")}
        rows = zip(self.values, self.counts.put, self.counts.answered, self.counts.right, self.band, strict=True)
        return {
            "family": self.family,
            "language": self.language,
            "unit": dict(self.unit),
            **ends,
            "position": asdict(self.level),
            "order": {**asdict(self.order), "falls": self.falls},
            "rungs": [
                {"value": value, "asked": int(put), "answered": int(answered), "right": int(right)}
                | dict(zip(("mean", "low", "high"), chances, strict=True))
                for value, put, answered, right, chances in rows
            ],
        }


def curves_of(family: Family) -> CurveGrid:
    """Return the curves that a family's scale may show."""
    scale = family.scale
    return search(tuple(scale.chance(value) for value in scale.rungs) if scale else (0.0,) * len(family.levels))


def counted(items: pl.DataFrame, scores: pl.DataFrame, suite: Suite, family: Family, language: str) -> RungCounts:
    """Count a family's answers in a language by rung; failed or inapplicable ones are no answers."""
    own = items.filter((pl.col("family") == family.name) & (pl.col("language") == language))
    rungs = pl.DataFrame({"level": list(family.rungs)}, schema={"level": pl.String})
    by = (
        own.join(values_of(scores, suite.scored_by), on="item_id", how="left")
        .group_by("level")
        .agg(put=pl.len(), answered=pl.col("value").count(), right=pl.col("value").sum())
    )
    found = rungs.join(by, on="level", how="left", maintain_order="left").fill_null(0)
    return RungCounts(*(found[name].cast(pl.Int64).to_numpy() for name in ("put", "answered", "right")))


def curve(family: Family, language: str, counts: RungCounts) -> Curve:
    """Return the curve fitted to the answers that count."""
    known = curves_of(family)
    return Curve(
        family=family.name,
        language=language,
        unit=family.scale.unit if family.scale else {},
        values=tuple(family.rungs),
        counts=counts,
        level=known.level(counts.answered, counts.right),
        band=known.band(counts.answered, counts.right),
        order=order(counts.answered, counts.right),
    )
