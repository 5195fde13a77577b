"""Slices of a suite: each value of its named columns with its score, against the other rows; the worst first.

They are shown beside the suite's score and decide nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl

from basic_control.data.suites import Suite
from basic_control.metrics.analysis.observations import question_values
from basic_control.metrics.analysis.summary import k_answers, of_suite, suite_mean
from basic_control.metrics.stats.intervals import Interval, MeanEstimate, units_of
from basic_control.metrics.stats.power import ALPHA, HolmStep, holm

MOST = 200
"""Values of a column that are shown, the most frequent: a column of texts is no slice."""
_LEAST = 2
"""Observations on either side of a test."""
_DECIMALS = 12
SLICED = ("family", "level", "language", "template")
"""Columns of the items table that a suite may be sliced by, beside its rows' own."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A model's score in the rows of a suite with one value of a column, and in the other rows (`elsewhere`).

    `p` is that of the difference, None where there is nothing to compare; `significant`: it holds at Holm's level
    over all slices of the suite and model, and `elsewhere` lies outside the score's interval.
    """

    suite: str
    model: str
    metric: str
    column: str
    text: str
    n: int
    score: MeanEstimate
    elsewhere: float | None
    p: float | None
    significant: bool = False


def slice_suites(suites: Sequence[Suite], scores: pl.DataFrame, items: pl.DataFrame) -> list[Slice]:
    """Return the slices of all suites that name columns, each suite's and model's worst first."""
    slices = list[Slice]()
    for suite in suites:
        if suite.slices:
            slices += _slice_suite(suite, scores, items)
    return slices


def _slice_suite(suite: Suite, scores: pl.DataFrame, items: pl.DataFrame) -> Iterator[Slice]:
    """Yield a suite's slices, by model and metric, the worst first."""
    rows = of_suite(scores, items, suite)
    if suite.of_k:
        rows = k_answers(rows, suite)
    values = question_values(rows, items).drop_nulls("value")
    texts = _read_columns(items.filter(pl.col("suite") == suite.name), suite.slices)
    slices = list[Slice]()
    for (model, metric), part in values.group_by("model", "metric", maintain_order=True):
        for column in suite.slices:
            sliced = part.join(texts[column], on="item_id", how="inner")
            slices += _slice_column(suite, str(model), str(metric), column, sliced)
    for _, family in groupby(slices, attrgetter("model", "metric")):
        entries = [*family]
        steps = holm([entry.p for entry in entries])
        tested = list[Slice]()
        for entry, step in zip(entries, steps, strict=True):
            # The test never says more than the interval that is shown.
            is_significant = _is_rejected(step) and not _is_within(entry.elsewhere, entry.score.interval)
            tested.append(replace(entry, significant=is_significant))
        yield from sorted(tested, key=lambda entry: (entry.score.mean or 0.0, entry.column, entry.text))


def _is_rejected(step: HolmStep) -> bool:
    return step.adjusted is not None and step.adjusted < ALPHA


def _is_within(value: float | None, interval: Interval) -> bool:
    if value is None or interval.low is None or interval.high is None:
        return False
    return interval.low <= value <= interval.high


def _read_columns(items: pl.DataFrame, columns: Sequence[str]) -> Mapping[str, pl.DataFrame]:
    """Return each item's value of each column, as text; '' where it has none."""
    by_column = {column: list[tuple[str, str]]() for column in columns}
    for row in items.select("item_id", "facts", *SLICED).iter_rows(named=True):
        facts = json.loads(row["facts"] or "{}")
        for column in columns:
            by_column[column].append((row["item_id"], _write(facts.get(column, row.get(column)))))
    schema = {"item_id": pl.String, "text": pl.String}
    return {column: pl.DataFrame(pairs, schema=schema, orient="row") for column, pairs in by_column.items()}


def _write(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _slice_column(suite: Suite, model: str, metric: str, column: str, values: pl.DataFrame) -> Iterator[Slice]:
    # The units are those of the suite's own score: questions, or the templates that many of them share.
    codes = units_of(values.height, values["cluster"].to_numpy().astype(np.int64)).codes
    values = values.with_columns(unit=pl.Series(codes, dtype=pl.Int64))
    counts = values["text"].value_counts(sort=True).sort(["count", "text"], descending=[True, False]).head(MOST)
    for text in counts["text"]:
        inside = values.filter(pl.col("text") == text)
        outside = values.filter(pl.col("text") != text)
        score = suite_mean(inside, strata=False)
        elsewhere = None
        if outside.height:
            elsewhere = float(np.mean(outside["value"].to_numpy()))
        p = _test(_observe(inside), _observe(outside), is_yes_no=bool(values["plain"].all()))
        yield Slice(suite.name, model, metric, column, text, inside.height, score, elsewhere, p)


def _observe(values: pl.DataFrame) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return one side's observations: questions, or the means of templates that several of them share."""
    by_unit = values.group_by("unit").agg(pl.col("value").mean()).sort("unit")
    # Means that are equal but for their last digits have no spread.
    return np.round(by_unit["value"].to_numpy().astype(np.float64), _DECIMALS)


def _test(
    inside: "np.ndarray[Any, np.dtype[np.float64]]",
    outside: "np.ndarray[Any, np.dtype[np.float64]]",
    *,
    is_yes_no: bool,
) -> float | None:
    """Return the p-value of a difference: Fisher's for yes and no, Welch's otherwise."""
    from scipy import stats

    if min(len(inside), len(outside)) < _LEAST:
        return None
    if is_yes_no and set(np.concatenate([inside, outside]).tolist()) <= {0.0, 1.0}:
        right, n_rows = [inside.sum(), outside.sum()], [len(inside), len(outside)]
        table = np.array([right, np.subtract(n_rows, right)])
        return float(stats.fisher_exact(table).pvalue)
    # Welch's test needs some spread.
    if np.ptp(inside) == 0 and np.ptp(outside) == 0:
        return 1.0 if inside[0] == outside[0] else 0.0
    # From means and deviations: scipy's own test of rows warns on the screen where one side has no spread.
    first, second = ((float(side.mean()), float(side.std(ddof=1)), len(side)) for side in (inside, outside))
    return float(stats.ttest_ind_from_stats(*first, *second, equal_var=False).pvalue)
