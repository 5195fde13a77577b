"""Cells: every state counted, roll-ups, clusters, and never a NaN."""

import json
import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basic_control.data.errors import InputError
from basic_control.data.records import STATUSES, VALUED
from basic_control.data.tables import ITEMS, SCORES, SUMMARY
from basic_control.metrics.analysis.document import record_json
from basic_control.metrics.analysis.summary import cells, round_half_up, summarise, totals
from basic_control.metrics.stats.intervals import mean_interval, wilson


def items(*rows: Mapping[str, Any]) -> pl.DataFrame:
    base = {"suite": "basic_control", "family": "f", "level": "easy", "language": "en", "template": ""}
    return ITEMS.frame([{**base, **row} for row in rows])


def scores(*rows: Mapping[str, Any]) -> pl.DataFrame:
    base = {"model": "m", "repeat": 0, "metric": "correct", "version": 1, "status": "scored"}
    return SCORES.frame([{**base, **row} for row in rows])


def by_key(summary: pl.DataFrame) -> dict[tuple[str, ...], Any]:
    """Return the cells as results.json has them, their keys as attributes."""
    return {
        (cell.suite, cell.family, cell.level, cell.language, cell.model, cell.metric): SimpleNamespace(
            **record_json(cell), coverage=cell.counts.coverage
        )
        for cell in cells(summary)
    }


def test_the_result_is_a_summary_table() -> None:
    found = summarise(scores({"item_id": "1", "value": 1.0}), items({"item_id": "1"}))
    assert SUMMARY.check(found).height == 7


def test_each_state_is_counted_apart_and_no_answer_scores_zero() -> None:
    """One right, one without an answer: mean 1/2 of 2 scored, of 5 asked."""
    rows: list[dict[str, Any]] = [
        {"item_id": "1", "value": 1.0},
        {"item_id": "2", "value": None, "status": "no_answer"},
        {"item_id": "3", "value": None, "status": "model_error"},
        {"item_id": "4", "value": None, "status": "judge_failed"},
        {"item_id": "5", "value": None, "status": "not_applicable"},
    ]
    found = summarise(scores(*rows), items(*[{"item_id": str(n)} for n in range(1, 6)]))
    cell = by_key(found)["basic_control", "f", "easy", "en", "m", "correct"]
    assert (cell.n_asked, cell.n_scored, cell.mean) == (5, 2, 0.5)
    assert (cell.n_no_answer, cell.n_model_error, cell.n_judge_failed, cell.n_not_applicable) == (1, 1, 1, 1)
    assert cell.coverage == 0.5
    assert (cell.ci_low, cell.ci_high) == pytest.approx((wilson(1, 2).low, wilson(1, 2).high))


def test_no_answer_keeps_a_value_that_its_metric_gave_it() -> None:
    """A composite without a final answer may still have other components (SPEC 3)."""
    found = summarise(scores({"item_id": "1", "value": 0.25, "status": "no_answer"}), items({"item_id": "1"}))
    assert set(found["mean"]) == {0.25}


def test_a_cell_without_a_score_is_null_and_not_nan() -> None:
    found = summarise(scores({"item_id": "1", "value": None, "status": "judge_failed"}), items({"item_id": "1"}))
    cell = by_key(found)["basic_control", "", "", "", "m", "correct"]
    assert (cell.n_asked, cell.n_scored, cell.mean, cell.ci_low, cell.ci_high) == (1, 0, None, None, None)
    json.dumps(vars(cell), allow_nan=False)


def test_an_empty_table_makes_an_empty_summary() -> None:
    assert summarise(scores(), items()).height == 0
    assert summarise(scores(), items({"item_id": "1"})).height == 0


def test_roll_ups_hold_all_rows_of_what_they_cover() -> None:
    listed = items(
        {"item_id": "1", "family": "a", "level": "easy", "language": "en"},
        {"item_id": "2", "family": "a", "level": "hard", "language": "en"},
        {"item_id": "3", "family": "a", "level": "hard", "language": "ru"},
        {"item_id": "4", "family": "b", "level": "easy", "language": "ru"},
    )
    values = {"1": 1.0, "2": 0.0, "3": 1.0, "4": 1.0}
    found = by_key(summarise(scores(*[{"item_id": i, "value": v} for i, v in values.items()]), listed))
    means = {key[1:4]: (cell.mean, cell.n_scored) for key, cell in found.items()}
    assert means[("", "", "")] == (0.75, 4)
    assert means[("a", "", "")] == (2 / 3, 3)
    assert means[("a", "hard", "")] == (0.5, 2)
    assert means[("a", "", "en")] == (0.5, 2)
    assert means[("", "easy", "")] == (1.0, 2)
    assert means[("", "", "ru")] == (1.0, 2)
    assert means[("b", "easy", "ru")] == (1.0, 1)


def test_a_suite_without_families_and_levels_is_listed_once() -> None:
    """Its finest cell has the key of its roll-up: the table's key stays unique."""
    listed = items(*[{"item_id": str(n), "suite": "cot", "family": "", "level": ""} for n in range(3)])
    found = summarise(scores(*[{"item_id": str(n), "value": 0.5, "metric": "cot"} for n in range(3)]), listed)
    SUMMARY.check(found)
    assert found.select("family", "level", "language").rows() == [("", "", ""), ("", "", "en")]


def test_a_roll_up_wins_over_a_finer_cell_of_the_same_key() -> None:
    listed = items({"item_id": "1", "level": ""}, {"item_id": "2", "level": "hard"})
    found = by_key(summarise(scores({"item_id": "1", "value": 1.0}, {"item_id": "2", "value": 0.0}), listed))
    assert found["basic_control", "f", "", "en", "m", "correct"].n_scored == 2


def test_a_metric_with_values_between_is_not_yes_no_even_where_a_cell_has_only_ends() -> None:
    listed = items(*[{"item_id": str(n), "family": "a" if n < 20 else "b"} for n in range(40)])
    values = [1.0, 0.0, 1.0, 1.0] * 5 + [0.5] * 20
    found = by_key(summarise(scores(*[{"item_id": str(n), "value": v} for n, v in enumerate(values)]), listed))
    cell = found["basic_control", "a", "", "", "m", "correct"]
    assert (cell.ci_low, cell.ci_high) != (wilson(15, 20).low, wilson(15, 20).high)
    expected = mean_interval(values[:20], yes_no=False).interval
    assert (cell.ci_low, cell.ci_high) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_a_suites_interval_is_its_own_whatever_the_metric_says_in_another() -> None:
    """Eight of ten right, beside a suite in which the same metric grades."""
    own = [{"item_id": str(n), "value": float(n < 8)} for n in range(10)]
    other = {"item_id": "x", "value": 0.5}
    found = summarise(
        scores(*own, other),
        items(*({"item_id": row["item_id"]} for row in own), {"item_id": "x", "suite": "other"}),
    )
    cell = by_key(found)["basic_control", "", "", "", "m", "correct"]
    assert (cell.ci_low, cell.ci_high) == pytest.approx((wilson(8, 10).low, wilson(8, 10).high))


def test_rows_are_clustered_by_a_familys_templates() -> None:
    listed = items(*[{"item_id": str(n), "template": f"t{n // 10}"} for n in range(100)])
    values = [float(n // 10 % 2) for n in range(100)]
    table = scores(*[{"item_id": str(n), "value": v} for n, v in enumerate(values)])
    cell = by_key(summarise(table, listed))["basic_control", "f", "easy", "en", "m", "correct"]
    expected = mean_interval(values, clusters=[n // 10 for n in range(100)]).interval
    assert (cell.ci_low, cell.ci_high) == pytest.approx((expected.low, expected.high))
    assert cell.ci_low is not None
    assert cell.ci_low < 0.25


def test_templates_of_two_families_are_not_one_cluster() -> None:
    """Four templates each: together eight clusters, though the names are the same; of one family too few."""
    listed = items(*[{"item_id": str(n), "family": "ab"[n % 2], "template": f"t{n // 2 % 4}"} for n in range(100)])
    values = [float(n % 10 < 5) for n in range(100)]
    table = scores(*[{"item_id": str(n), "value": v} for n, v in enumerate(values)])
    found = by_key(summarise(table, listed))
    whole = found["basic_control", "", "", "", "m", "correct"]
    expected = mean_interval(values, clusters=[n % 8 for n in range(100)]).interval
    assert (whole.ci_low, whole.ci_high) == pytest.approx((expected.low, expected.high))
    part = found["basic_control", "a", "", "", "m", "correct"]
    k = round(sum(values[::2]))
    assert (part.ci_low, part.ci_high) == pytest.approx((wilson(k, 50).low, wilson(k, 50).high))


def test_asking_the_same_items_again_does_not_narrow_the_interval() -> None:
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0]
    listed = items(*[{"item_id": str(n)} for n in range(12)])
    rows = [{"item_id": str(n), "value": v, "repeat": r} for n, v in enumerate(values) for r in range(5)]
    cell = by_key(summarise(scores(*rows), listed))["basic_control", "f", "", "", "m", "correct"]
    once = wilson(8, 12)
    assert cell.n_scored == 60
    assert cell.ci_low is not None
    assert cell.ci_high is not None
    assert once.low is not None
    assert once.high is not None
    assert cell.ci_high - cell.ci_low >= once.high - once.low


def test_the_order_of_rows_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    listed = items(*[{"item_id": str(n), "level": "ab"[n % 2]} for n in range(60)])
    table = scores(*[{"item_id": str(n), "value": float(rng.random())} for n in range(60)])
    assert summarise(table, listed).equals(summarise(table.reverse(), listed.sample(fraction=1, shuffle=True)))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"item_id": "gone", "value": 1.0}, "'gone'.*not in the items table"),
        ({"item_id": "1", "value": None}, "a value from 0 to 1"),
        ({"item_id": "1", "value": math.nan}, "a value from 0 to 1"),
        ({"item_id": "1", "value": math.inf}, "a value from 0 to 1"),
        ({"item_id": "1", "value": 1.5}, "a value from 0 to 1"),
        ({"item_id": "1", "value": math.nan, "status": "judge_failed"}, "a value from 0 to 1"),
        ({"item_id": "1", "value": 1.0, "status": "fine"}, "'fine'.*expected a status"),
    ],
)
def test_a_row_that_cannot_be_is_refused(row: dict[str, Any], problem: str) -> None:
    good = {"item_id": "1", "value": 1.0, "repeat": 1}
    with pytest.raises(InputError, match=problem):
        summarise(scores(good, row), items({"item_id": "1"}))


def over_items(rows: list[tuple[int, float]]) -> float:
    """The mean over items of the mean over each one's repeats."""
    return float(np.mean([np.mean([v for m, v in rows if m == n]) for n in {n for n, _ in rows}]))


ROW = st.tuples(
    st.integers(0, 19),
    st.sampled_from(["m1", "m2"]),
    st.integers(0, 2),
    st.sampled_from(STATUSES),
    st.sampled_from([0.0, 0.25, 1.0]),
)


@settings(max_examples=60)
@given(st.lists(ROW, max_size=80, unique_by=lambda row: row[:3]))
def test_counts_and_means_are_those_of_a_plain_loop(rows: list[tuple[int, str, int, str, float]]) -> None:
    listed = items(*[{"item_id": str(n), "family": "ab"[n % 2], "template": f"t{n // 2}"} for n in range(20)])
    table = scores(
        *[
            {"item_id": str(n), "model": m, "repeat": r, "status": s, "value": v if s == "scored" else None}
            for n, m, r, s, v in rows
        ]
    )
    found = by_key(summarise(table, listed))
    for family in ("a", "b", ""):
        for model in ("m1", "m2"):
            mine = [row for row in rows if row[1] == model and family in {"", "ab"[row[0] % 2]}]
            cell = found.get(("basic_control", family, "", "", model, "correct"))
            if cell is None:
                assert not mine
                continue
            counted = [v if s == "scored" else 0.0 for _, _, _, s, v in mine if s in VALUED]
            means = [(n, v if s == "scored" else 0.0) for n, _, _, s, v in mine if s in VALUED]
            there = [(n, s, v) for n, _, _, s, v in mine if s != "not_applicable"]
            best = [(n, v if s == "scored" else float(s != "no_answer")) for n, s, v in there]
            worst = [(n, v if s == "scored" else 0.0) for n, s, v in there]
            lost = counted and len(counted) < len(there)
            assert cell.n_asked == len(mine)
            assert cell.n_scored == len(counted)
            n_lost = cell.n_model_error + cell.n_filtered + cell.n_judge_failed
            assert cell.n_asked == cell.n_scored + n_lost + cell.n_not_applicable
            assert cell.n_filtered == sum(s == "filtered" for _, _, _, s, _ in mine)
            assert cell.mean == (pytest.approx(over_items(means)) if counted else None)
            assert (cell.ci_low is None) == (not counted)
            assert cell.n_truncated == sum(s == "truncated" for _, _, _, s, _ in mine)
            assert cell.n_unsupported == sum(s == "unsupported" for _, _, _, s, _ in mine)
            is_open = cell.n_truncated or cell.n_unsupported or lost
            assert cell.upper == (pytest.approx(over_items(best)) if is_open else None)
            assert cell.lower == (pytest.approx(over_items(worst)) if lost else None)
            json.dumps(vars(cell), allow_nan=False)


@pytest.mark.parametrize(
    ("value", "places", "expected"),
    [(0.82275, 3, 0.823), (0.8225, 3, 0.823), (0.8224999, 3, 0.822), (2.675, 2, 2.68), (-0.5, 0, -1.0)],
)
def test_numbers_are_rounded_as_on_paper(value: float, places: int, expected: float) -> None:
    assert round_half_up(value, places) == expected


def test_total_weighs_families_equally_and_leaves_out_what_does_not_apply() -> None:
    """Family a: 1 of 1; b: 0 of 3; c: not applicable. TOTAL 50, not 25."""
    rows: list[dict[str, Any]] = [
        {"item_id": "1", "family": "a", "value": 1.0},
        *[{"item_id": str(n), "family": "b", "value": 0.0} for n in (2, 3, 4)],
        {"item_id": "5", "family": "c", "value": None, "status": "not_applicable"},
    ]
    listed = items(*[{"item_id": row["item_id"], "family": row["family"]} for row in rows])
    table = scores(*[{k: v for k, v in row.items() if k != "family"} for row in rows])
    found = totals(summarise(table, listed), suite="basic_control", metric="correct")["m"]
    assert (found.percent, found.included, found.left_out) == (50.0, ("a", "b"), ("c",))


def test_a_family_that_failed_leaves_no_total() -> None:
    listed = items({"item_id": "1", "family": "a"}, {"item_id": "2", "family": "b"})
    table = scores({"item_id": "1", "value": 1.0}, {"item_id": "2", "value": None, "status": "model_error"})
    found = totals(summarise(table, listed), suite="basic_control", metric="correct")["m"]
    assert (found.percent, found.missing) == (None, ("b",))
