"""Slices: each value's score beside the elsewhere', the worst first, and what Holm leaves of their differences."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.slices import slice_suites


def tables(rows: list[tuple[str, float]], **item: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return scores and items of rows: a value of the column `topic`, and a score."""
    shared = {"suite": "s", "family": "rows", "version": 1, "level": "", "language": "en", "template": "", **item}
    items = ITEMS.frame(
        {**shared, "item_id": f"i{n}", "index": n, "seed": 0, "prompt": "", "answer": "", "question_id": f"q{n}",
         "facts": f'{{"topic": "{topic}"}}'}
        for n, (topic, _) in enumerate(rows)
    )  # fmt: skip
    scores = SCORES.frame(
        {"item_id": f"i{n}", "model": "m", "repeat": 0, "metric": "contains", "value": value, "status": "scored",
         "reason": "", "details": "{}", "version": 1}
        for n, (_, value) in enumerate(rows)
    )  # fmt: skip
    return scores, items


def suite(*columns: str) -> Suite:
    return Suite.model_validate(
        {"name": "s", "items": {"data": "x"}, "metrics": {"contains": {}}, "slices": columns}
    )


def test_each_value_has_its_score_and_the_worst_stands_first() -> None:
    rows = [("tax", 0.0)] * 18 + [("tax", 1.0)] * 2 + [("law", 1.0)] * 19 + [("law", 0.0)] + [("art", 1.0)] * 10
    found = slice_suites([suite("topic")], *tables(rows))
    assert [(row.text, row.n, row.score.mean) for row in found] == [
        ("tax", 20, 0.1),
        ("law", 20, 0.95),
        ("art", 10, 1.0),
    ]
    first = found[0]
    assert first.elsewhere == 29 / 30
    assert first.p == stats.fisher_exact(np.array([[2, 18], [29, 1]])).pvalue
    assert first.significant
    assert first.score.interval.low is not None
    assert 0.02 < first.score.interval.low < 0.1


def test_a_suite_without_slices_has_none_and_one_value_is_compared_with_nothing() -> None:
    scores, items = tables([("tax", 1.0)] * 4)
    assert slice_suites([suite()], scores, items) == []
    (only,) = slice_suites([suite("topic")], scores, items)
    assert (only.elsewhere, only.p, only.significant) == (None, None, False)
    (language,) = slice_suites([suite("language")], scores, items)
    assert language.text == "en"


def test_shared_templates_are_the_observations() -> None:
    """Of ten templates four in one slice are four observations, though each has ten rows."""
    rows = [("tax", 0.0)] * 20 + [("tax", 1.0)] * 20 + [("law", 1.0)] * 60
    scores, items = tables(rows)
    names = [letter for letter in "abcdefghij" for _ in range(10)]
    with_templates = items.with_columns(template=pl.Series(names))
    first, *_ = slice_suites([suite("topic")], scores, with_templates)
    assert first.p is not None
    assert first.p > 0.05
    assert not first.significant


@pytest.mark.filterwarnings("error")
def test_a_slice_whose_rows_are_alike_is_tested_by_the_spread_of_the_others() -> None:
    """Welch's test by hand: 0.5 against 0.7, 0.8, 0.9: t = 0.3 / (0.1 / √3), 2 degrees of freedom."""
    rows = [("tax", 0.5)] * 4 + [("law", 0.7), ("law", 0.8), ("law", 0.9)]
    worst, best = slice_suites([suite("topic")], *tables(rows))
    assert worst.p == best.p == pytest.approx(0.03510, abs=1e-5)


def test_a_slice_differs_only_where_its_interval_excludes_the_other_rows() -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        shares = {"a": rng.random(), "b": rng.random(), "c": rng.random()}
        rows = [
            (topic, float(rng.random() < share))
            for topic, share in shares.items()
            for _ in range(int(rng.integers(3, 40)))
        ]
        for part in slice_suites([suite("topic")], *tables(rows)):
            low, high, elsewhere = part.score.interval.low or 0.0, part.score.interval.high or 1.0, part.elsewhere
            assert elsewhere is not None
            assert not part.significant or not low <= elsewhere <= high


def test_a_slice_of_five_needs_a_smaller_p_than_one_of_two() -> None:
    """Holm over the slices: a p of 0.015 is too much as the smallest of five, and enough of two."""
    right = {"a": 3, "b": 8, "c": 7, "d": 7, "e": 8}
    rows = [(topic, float(number < n)) for topic, n in right.items() for number in range(10)]
    five = slice_suites([suite("topic")], *tables(rows))
    two = slice_suites([suite("topic")], *tables([("a" if topic == "a" else "b", value) for topic, value in rows]))
    worst, worst_of_two = five[0], two[0]
    assert (worst.text, worst.p) == ("a", worst_of_two.p)
    assert 0.05 / 5 < (worst.p or 0) < 0.05 / 2
    assert worst.score.interval.high is not None
    assert worst.score.interval.high < (worst.elsewhere or 0)
    assert (worst.significant, worst_of_two.significant) == (False, True)
