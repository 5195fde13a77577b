"""Agreement: published tables, and None where it is undefined."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basic_control.data.tables import SCORES
from basic_control.metrics.stats.agreement import agreement, judge_agreement, judge_ratings, repeats

RATINGS = pl.Schema({"unit": pl.Int64(), "value": pl.Float64()})
SURE = pl.lit(value=False).alias("is_unsure")


def ratings(*judges: Sequence[float | None]) -> pl.DataFrame:
    rows = [(unit, value) for judge in judges for unit, value in enumerate(judge)]
    return pl.DataFrame(rows, schema=RATINGS, orient="row")


def digits(text: str) -> list[float | None]:
    return [None if sign == "." else float(sign) for sign in text]


def four() -> pl.DataFrame:
    """Krippendorff 2011, section C: four observers, twelve units, missing values."""
    return ratings(digits("123321412..."), digits("1233224125.3"), digits(".3332342251."), digits("12332441251."))


def test_alpha_of_the_published_table_with_missing_values() -> None:
    alpha = agreement(four()).alpha
    assert alpha is not None
    assert round(alpha, 3) == 0.849


def test_alpha_of_the_published_binary_table() -> None:
    """Krippendorff 2011, section A: two observers, ten units."""
    alpha = agreement(ratings(digits("0100000010"), digits("1110010000"))).alpha
    assert alpha is not None
    assert round(alpha, 3) == 0.095


@pytest.mark.parametrize(
    "table",
    [
        ratings(),
        ratings([1.0, 2.0, 3.0]),
        ratings([1.0, None], [None, 2.0]),
        ratings([1.0, 1.0], [1.0, 1.0]),
        ratings([None, None], [None, None]),
    ],
)
def test_undefined_alpha_is_none(table: pl.DataFrame) -> None:
    assert agreement(table).alpha is None


def test_agreement_throughout_is_1() -> None:
    assert agreement(ratings([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])).alpha == pytest.approx(1.0)


def _by_pairs(judges: list[list[float | None]]) -> float | None:
    """Krippendorff's definition, pair by pair."""
    units = [[j[u] for j in judges if j[u] is not None] for u in range(len(judges[0]))]
    units = [unit for unit in units if len(unit) > 1]
    every = [value for unit in units for value in unit]

    def distance(a: Any, b: Any) -> float:
        return float((a - b) ** 2)

    n = len(every)
    if n == 0:
        return None
    seen = sum(2 * distance(a, b) / (len(unit) - 1) for unit in units for a, b in combinations(unit, 2)) / n
    expected = sum(2 * distance(a, b) for a, b in combinations(every, 2)) / (n * (n - 1))
    return None if expected == 0 else 1 - seen / expected


VALUE = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.0, 5.0]))


@settings(max_examples=80)
@given(st.lists(st.lists(VALUE, min_size=6, max_size=6), min_size=2, max_size=4))
def test_alpha_is_that_of_the_definition(judges: list[list[float | None]]) -> None:
    expected = _by_pairs(judges)
    found = agreement(ratings(*judges)).alpha
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_judges_failures_are_counted_and_lower_no_agreement() -> None:
    """Judge b failed once of three; the two units that both rated agree."""
    table = pl.DataFrame(
        {"unit": [1, 2, 3, 1, 2, 3], "judge": list("aaabbb"), "value": [1.0, 0.0, 1.0, 1.0, 0.0, None]}
    )
    found = judge_agreement(table.with_columns(is_unsure=pl.Series([True, False, True, False, False, False])))
    assert (found.alpha, found.n_units) == (1.0, 2)
    assert [(j.judge, j.n_asked, j.n_failed, j.rate, j.n_unsure) for j in found.judges] == [
        ("a", 3, 0, 0.0, 2),
        ("b", 3, 1, 1 / 3, 0),
    ]
    json.dumps(asdict(found), allow_nan=False)


def test_a_judge_that_always_failed_leaves_alpha_undefined() -> None:
    table = pl.DataFrame({"unit": [1, 1], "judge": ["a", "b"], "value": [1.0, None]})
    assert judge_agreement(table.with_columns(SURE)).alpha is None


def test_judges_own_scores_are_read_from_the_details_where_they_were_asked() -> None:
    judges = {
        "a": {"value": 1.0, "status": "scored", "n_unsure": 2},
        "b": {"value": None, "status": "judge_failed"},
        "c": {"value": None, "status": "not_applicable"},
    }
    base = {
        "item_id": "1",
        "model": "m",
        "repeat": 0,
        "version": 1,
        "metric": "x",
        "status": "scored",
        "value": 1.0,
    }
    settled = {judge: {"value": 1.0, "status": "scored", "n_calls": 0} for judge in "ab"}
    table = SCORES.frame(
        [
            {**base, "details": json.dumps({"judges": judges})},
            {**base, "item_id": "2", "details": "{}"},
            {**base, "item_id": "3"},
            {**base, "item_id": "4", "details": json.dumps({"judges": settled})},
        ]
    )
    found = judge_ratings(table)
    columns = found.select("metric", "judge", "value", "is_unsure")
    assert columns.rows() == [("x", "a", 1.0, True), ("x", "b", None, False)]
    assert judge_agreement(found).judges[1].rate == 1.0


def answered(*outcomes: str) -> pl.DataFrame:
    """Scores of items: 1 right, 0 wrong, - no answer, x failed call."""
    kinds: dict[str, dict[str, Any]] = {
        "1": {"value": 1.0, "status": "scored"},
        "0": {"value": 0.0, "status": "scored"},
        "-": {"value": None, "status": "no_answer"},
        "x": {"value": None, "status": "model_error"},
    }
    return SCORES.frame(
        [
            {"item_id": str(i), "model": "m", "repeat": r, "metric": "correct", "version": 1, **kinds[sign]}
            for i, signs in enumerate(outcomes)
            for r, sign in enumerate(signs)
        ]
    )


def test_pass_at_k_and_all_k_are_the_unbiased_ones() -> None:
    """Two of five right, k = 2: 1 - C(3, 2) / C(5, 2) = 0.7 and C(2, 2) / C(5, 2) = 0.1; 4 of 10 pairs agree."""
    (found,) = repeats(answered("11000"), k=2)
    assert found.n_items == 1
    assert found.pass_at.mean == pytest.approx(0.7)
    assert found.pass_all.mean == pytest.approx(0.1)
    assert found.agreement.mean == pytest.approx(0.4)


@settings(max_examples=40)
@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_pass_at_k_is_the_mean_over_all_draws_of_k(right: list[bool], k: int) -> None:
    (found,) = repeats(answered("".join("01"[r] for r in right)), k=k)
    draws = list(combinations(right, k))
    if not draws:
        assert found.pass_at.mean is None
        assert found.pass_all.mean is None
        return
    assert found.pass_at.mean == pytest.approx(sum(map(any, draws)) / math.comb(len(right), k))
    assert found.pass_all.mean == pytest.approx(sum(map(all, draws)) / math.comb(len(right), k))


def test_failed_calls_are_not_answers_and_no_answer_is_a_wrong_one() -> None:
    (found,) = repeats(answered("1x", "1-"), k=2)
    assert found.n_items == 1
    assert (found.pass_at.mean, found.pass_all.mean, found.agreement.mean) == (1.0, 0.0, 0.0)


def test_graded_metrics_have_no_pass_at_k() -> None:
    graded = answered("10").with_columns(value=pl.Series([0.5, 1.0]))
    assert repeats(graded, k=1) == ()
