"""Panels: several judges on the same replies, weighed by what they are worth, beside their plain mean.

Only where each judge gives a reply one verdict of its own: claims are split by each judge for itself. Weights come
from the verdicts and, where judges have them, from their passports (`metrics.stats.panels`).

Source: Dawid & Skene 1979.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import polars as pl

from data.plugins import metric
from data.records import Measured
from data.suites import Suite
from metrics.corrected import Finder
from metrics.stats.intervals import Estimate, Interval, mean_interval
from metrics.stats.panels import consensus

_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Weight:
    """How often a judge is found right, over the labels, with its 95 % interval.

    From `n` verdicts of the run and `n_exam` answers of its passport (0: it has none).
    """

    value: float
    interval: Interval
    n: int
    n_exam: int


@dataclass(frozen=True, slots=True)
class PanelMean:
    """A panel's mean of one metric: `plain`, each judge counting alike, and `weighed`, each with its interval.

    `weights` has what each judge is worth; `measured` are the judges with a passport.
    """

    suite: str
    model: str
    metric: str
    language: str
    n_samples: int
    plain: float
    weighed: float
    weights: Mapping[str, Weight]
    measured: tuple[str, ...]
    plain_interval: Interval = field(default_factory=Interval)
    weighed_interval: Interval = field(default_factory=Interval)


def panel_means(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite], find: Finder
) -> list[PanelMean]:
    """Weigh every panel of a run, from its scores and items tables."""
    where = items.select("item_id", "suite", "language").unique("item_id")
    found = []
    for suite in suites:
        placed = where.filter(pl.col("suite") == suite.name)
        for name in suite.used:
            rows = scores.filter(pl.col("metric") == name).join(placed, on="item_id")
            for measured in metric(name).measured:
                for (model, language), own in _grouped(rows, measured).items():
                    passports = {
                        judge: find(suite, name, judge, measured.exam, language)
                        for judge in sorted({judge for said in own for judge in said})
                    }
                    if len(passports) >= _FEWEST:
                        full = f"{name}.{measured.part}" if measured.part else name
                        known = {
                            judge: [
                                [one.confusion[a][b] for b in map(one.labels.index, measured.values)]
                                for a in map(one.labels.index, measured.values)
                            ]
                            for judge, one in passports.items()
                            if one
                        }
                        plain, weighed, right = _weighed(own, list(passports), measured, known)
                        means = (plain.mean or 0.0, weighed.mean or 0.0)
                        ends = (plain.interval, weighed.interval)
                        found.append(
                            PanelMean(
                                suite.name, model, full, language, len(own), *means, right, tuple(known), *ends
                            )
                        )
    return found


def _grouped(rows: pl.DataFrame, measured: Measured) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return what each judge said of each reply, by model and language; replies of several verdicts left out."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    columns = rows.sort("model", "item_id", "repeat").select("model", "language", "details")
    for model, language, details in columns.iter_rows():
        said = {}
        for judge, one in json.loads(details).get("judges", {}).items():
            labels = list(measured.of(one["details"])) if one["value"] is not None else []
            if len(labels) == 1 and labels[0] in measured.values:
                said[judge] = labels[0]
        if said and measured.exam not in {"entails", "support"}:
            found.setdefault((model, language), []).append(said)
    return found


def _weighed(
    own: Sequence[Mapping[str, str]],
    judges: Sequence[str],
    measured: Measured,
    known: Mapping[str, Sequence[Sequence[int]]],
) -> tuple[Estimate, Estimate, dict[str, Weight]]:
    order = list(measured.values)
    verdicts = {judge: [order.index(said[judge]) if judge in said else None for said in own] for judge in judges}
    joined = consensus(verdicts, len(order), known)
    worth = list(measured.values.values())
    plain = mean_interval([fmean(measured.values[label] for label in said.values()) for said in own])
    weighed = Estimate(float(joined.means(worth).mean()), joined.mean_interval(worth))
    weights = {
        judge: Weight(
            float(table.trace() / len(order)),
            joined.right[judge],
            joined.right[judge].units,
            sum(map(sum, known.get(judge, ()))),
        )
        for judge, table in joined.confusion.items()
    }
    return plain, weighed, weights
