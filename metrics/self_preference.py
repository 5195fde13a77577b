"""Self-preference: how much better a judge grades its own model than other judges do, beyond how it grades others.

Of each reply: the judge's score less the mean of the other judges' scores of the same reply. What that comes to on
the judge's own model, less what it comes to on the other models' replies to the same question, is paired by
question: a judge that is lenient with everybody shows nothing.

Source: ours; Panickssery et al. 2024 (models favour their own answers).
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from data.suites import Suite
from metrics.stats.intervals import Interval, mean_interval

NO_JUDGE = "no other judge graded the same replies"
NO_MODEL = "no other model answered the same questions"


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """A judge that grades its own `models`: by how much more it favours them than the other judges do.

    `difference` is in [-2, 2], of `n_items` questions; None with the `reason` where it cannot be told.
    """

    suite: str
    metric: str
    judge: str
    models: tuple[str, ...]
    n_items: int
    difference: float | None
    interval: Interval
    reason: str = ""


def self_preferences(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite], own: Mapping[str, Collection[str]]
) -> list[SelfPreference]:
    """Compare each judge that grades its own model with the others; `own` are a judge's models, by its name."""
    return [found for suite in suites for found in _of_suite(scores, items, suite, own)]


def _of_suite(
    scores: pl.DataFrame, items: pl.DataFrame, suite: Suite, own: Mapping[str, Collection[str]]
) -> Iterator[SelfPreference]:
    placed = items.filter(pl.col("suite") == suite.name).select("item_id").unique()
    for name in suite.used:
        rows = scores.filter(pl.col("metric") == name).join(placed, on="item_id", how="semi")
        said = [
            (item, model, values)
            for item, model, details in rows.sort("item_id").select("item_id", "model", "details").iter_rows()
            if (values := _values(details))
        ]
        for judge, models in own.items():
            mine = [one for one in said if judge in one[2] and one[1] in models]
            if mine:
                yield _compared(suite.name, name, judge, models, said)


def _values(details: str | None) -> dict[str, float]:
    """Return each judge's score of a reply."""
    judges = json.loads(details or "{}").get("judges") or {}
    return {judge: found["value"] for judge, found in judges.items() if found.get("value") is not None}


def _compared(
    suite: str,
    metric: str,
    judge: str,
    models: Collection[str],
    said: Sequence[tuple[str, str, Mapping[str, float]]],
) -> SelfPreference:
    sides: tuple[dict[str, list[float]], dict[str, list[float]]] = {}, {}
    several = False
    for item, model, values in said:
        others = [value for name, value in values.items() if name != judge]
        if judge in values and others:
            several = True
            sides[model in models].setdefault(item, []).append(values[judge] - fmean(others))
    theirs, ours = sides
    pairs = [fmean(ours[item]) - fmean(theirs[item]) for item in ours if item in theirs]
    told = suite, metric, judge, tuple(sorted(models))
    if not pairs:
        return SelfPreference(*told, 0, None, Interval(), NO_MODEL if several else NO_JUDGE)
    found = mean_interval(pairs, bounds=(-1.0, 1.0))
    return SelfPreference(*told, len(pairs), found.mean, found.interval)
