"""Where the next calls buy most: variances by hand."""

import json
import math
from dataclasses import asdict

import polars as pl
import pytest

from data.suites import Suite
from data.tables import ITEMS, SCORES
from metrics.analysis.scores import ModelScore, SuiteScore
from metrics.effort import CALLS, efforts
from tasks.report.effort import next_calls
from tasks.report.text import percent


def suite_of(name: str) -> Suite:
    return Suite.model_validate({"name": name, "items": {}, "metrics": {"exact_match": {}}})


def result_of(**weights: float) -> ModelScore:
    parts = tuple(SuiteScore(name, 0.5, weight=weight) for name, weight in weights.items())
    return ModelScore("m", 0.5, parts)


def tables(values: dict[str, list[list[float]]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Scores and items of suites: for each item, the values of its repeats."""
    rows = [
        (f"{suite}-{n}", suite, repeat, value)
        for suite, listed in values.items()
        for n, own in enumerate(listed)
        for repeat, value in enumerate(own)
    ]
    shared = {"model": "m", "metric": "exact_match", "version": 1, "status": "scored", "details": "{}"}
    scores = SCORES.frame({"item_id": i, "repeat": r, "value": v, **shared} for i, _, r, v in rows)
    items = {i: s for i, s, _, _ in rows}
    return scores, ITEMS.frame({"item_id": i, "suite": s} for i, s in items.items())


def test_variance_is_split_into_items_and_repeats() -> None:
    """Four items asked twice: means 0, 1, 1/2, 1/2, so 1/6 between them; within two of them 1/2, on average 1/4."""
    scores, items = tables({"a": [[0, 0], [1, 1], [0, 1], [1, 0]]})
    (found,) = efforts([result_of(a=1.0)], scores, items, [suite_of("a")], {"a": 8})
    whole, repeats = (1 / 6) / 4, (1 / 4) / 8
    assert found.repeats == pytest.approx(repeats / whole)
    assert found.items == pytest.approx(1 - repeats / whole)
    assert found.judges is None
    assert (found.n, found.calls_per_item) == (4, 2.0)
    assert found.narrowing == pytest.approx(1 - math.sqrt(4 / (4 + CALLS / 2)))


def test_the_judges_share_of_the_variance_has_its_interval() -> None:
    """Two judges, 0.1 below and above each of 40 means: 0.02 / 2 / 40 of a variance of (0.64 · 10 / 39) / 40."""
    means = [0.1, 0.9] * 20
    scores, items = tables({"a": [[mean] for mean in means]})
    details = [
        json.dumps(
            {"judges": {name: {"value": mean + by, "status": "scored"} for name, by in (("x", -0.1), ("y", 0.1))}}
        )
        for mean in means
    ]
    (found,) = efforts(
        [result_of(a=1.0)], scores.with_columns(details=pl.Series(details)), items, [suite_of("a")], {"a": 40}
    )
    share = (0.02 / 2) / (6.4 / 39)
    low, high = found.judges_interval.low, found.judges_interval.high
    assert found.judges == pytest.approx(share)
    assert found.judges_interval.units == 40
    assert low is not None
    assert high is not None
    assert 0 < low <= share <= high < 2 * share
    table = next_calls({"next_calls": [asdict(found)]}, "en")
    assert table is not None
    assert table.rows[0][6] == f"{percent(share)} ({percent(low)} – {percent(high)})"


def test_the_suite_whose_calls_narrow_the_whole_most_comes_first() -> None:
    values = {"cheap": [[0.0], [1.0]] * 10, "dear": [[0.0], [1.0]] * 10, "sure": [[1.0]] * 20}
    scores, items = tables(values)
    suites = [suite_of(name) for name in values]
    calls = {"cheap": 20, "dear": 200, "sure": 20}
    found = efforts([result_of(sure=0.4, dear=0.3, cheap=0.3)], scores, items, suites, calls)
    assert [one.suite for one in found] == ["cheap", "dear", "sure"]
    variance = (20 * 0.25 / 19) / 20
    left = 0.09 * variance * (20 / 120) + 0.09 * variance
    assert found[0].narrowing == pytest.approx(1 - math.sqrt(left / (2 * 0.09 * variance)))
    assert found[2].narrowing == 0.0
    assert found[2].items is None


def test_a_suite_without_calls_or_with_one_item_is_not_listed() -> None:
    scores, items = tables({"given": [[1.0], [0.0]], "one": [[1.0]]})
    suites = [suite_of("given"), suite_of("one")]
    assert efforts([result_of(given=0.5, one=0.5)], scores, items, suites, {"given": 0, "one": 5}) == []
