"""Runs side by side: who is compared with whom, in which direction, and what the statistics say."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from basic_control.data.suites import Stop, Suite
from basic_control.metrics.analysis.matching import (
    changes,
    compare_fields,
    count_common,
    fields,
    label_models,
    question_sets,
)
from tests.tasks.scored import rows


def test_a_model_of_two_runs_is_named_with_its_run_and_compared_with_itself() -> None:
    listed = label_models({"r1": ["m", "x"], "r2": ["m", "y"]})
    assert [one.label for one in listed] == ["m @ r1", "x", "m @ r2", "y"]
    assert [[one.label for one in field] for field in fields(listed)] == [["m @ r1", "m @ r2"]]
    assert len(fields(listed, every=True)[0]) == 4


def test_where_no_model_is_in_two_runs_all_are_compared() -> None:
    listed = label_models({"r1": ["a"], "r2": ["b"], "r3": ["c"]})
    assert [one.label for one in listed] == ["a", "b", "c"]
    assert len(fields(listed)[0]) == 3


def test_a_model_that_is_called_as_another_with_its_run_is_told_apart() -> None:
    labels = [one.label for one in label_models({"r1": ["m", "m @ r2"], "r2": ["m"]})]
    assert len(set(labels)) == 3


@pytest.mark.parametrize("seed", range(5))
def test_differences_are_later_minus_earlier_and_agree_with_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random((3, 60)) < [[0.9], [0.6], [0.5]]
    names = ["z first", "m second", "a third"]
    scores, items = rows(names, right=lambda model, n: float(table[names.index(model)][n]))
    listed = label_models({name: [name] for name in names})
    pairs, _ = compare_fields(scores, items, fields(listed))
    assert {(p.model_b, p.model_a) for p in pairs} == {
        (names[0], names[1]),
        (names[0], names[2]),
        (names[1], names[2]),
    }
    raw = []
    for pair in pairs:
        before, after = table[names.index(pair.model_b)], table[names.index(pair.model_a)]
        assert pair.difference == pytest.approx(after.mean() - before.mean())
        assert (pair.only_b, pair.only_a) == ((before & ~after).sum(), (~before & after).sum())
        crossed = [
            [(before & after).sum(), (before & ~after).sum()],
            [(~before & after).sum(), (~before & ~after).sum()],
        ]
        raw.append(mcnemar(crossed, exact=True).pvalue)
        assert pair.test.p_value == pytest.approx(raw[-1])
        low, high = pair.test.interval.low, pair.test.interval.high
        assert low is not None
        assert high is not None
        assert low < after.mean() - before.mean() < high
        assert (low <= 0 <= high) == (raw[-1] >= 0.05)
    assert [p.test.p_adjusted for p in pairs] == pytest.approx(list(multipletests(raw, method="holm")[1]))


def test_holm_is_over_the_pairs_of_all_fields() -> None:
    names = ["m @ r1", "m @ r2", "x @ r1", "x @ r2"]
    scores, items = rows(names, right=lambda model, n: float(n % 10 < (9 if model == "m @ r1" else 5)))
    listed = label_models({"r1": ["m", "x"], "r2": ["m", "x"]})
    assert [one.label for one in listed] == ["m @ r1", "x @ r1", "m @ r2", "x @ r2"]
    pairs, groups = compare_fields(scores, items, fields(listed))
    assert [(p.model_b, p.model_a) for p in pairs] == [("m @ r1", "m @ r2"), ("x @ r1", "x @ r2")]
    exact = binomtest(0, 24).pvalue
    assert pairs[0].test.p_value == pytest.approx(exact)
    assert pairs[0].test.p_adjusted == pytest.approx(2 * exact)
    assert pairs[1].test.p_adjusted == 1
    assert groups == []


def test_what_cannot_be_told_apart_is_grouped() -> None:
    names = ["a", "b", "c"]
    scores, items = rows(names, right=lambda model, n: float(n % 10 < {"a": 9, "b": 9, "c": 1}[model]))
    listed = label_models({name: [name] for name in names})
    _, (grouping,) = compare_fields(scores, items, fields(listed))
    assert grouping.groups == (("a", "b"), ("c",))


def test_a_suite_that_was_looked_at_in_between_is_tested_by_a_sequence_and_its_total_not_at_all() -> None:
    names = ["a", "b", "c"]
    scores, items = rows(names, right=lambda model, n: float(n % 10 < {"a": 9, "b": 9, "c": 1}[model]))
    (name,) = items["suite"].unique()
    (metric,) = scores["metric"].unique()
    once = Suite(name=name, items={"data": "d.jsonl"}, prompt="{{ q }}", metrics={metric: {}}, threshold=0.5)
    listed = fields(label_models({name: [name] for name in names}))
    for metrics in ((), (metric,)):
        tested, grouped = compare_fields(scores, items, listed, [once], metrics)
        assert [pair.test.p_value is None for pair in tested] == [False] * 3
        assert len(grouped) == 1
        stopped = once.model_copy(update={"stop": Stop()})
        pairs, _ = compare_fields(scores, items, listed, [stopped], metrics)
        assert {pair.test.method for pair in pairs} == {"sequence"}
        total = stopped.model_copy(update={"strata": "family"})
        pairs, none = compare_fields(scores, items, listed, [total], metrics)
        assert [(pair.test.p_value, pair.test.p_adjusted, pair.test.interval.low) for pair in pairs] == [
            (None, None, None)
        ] * 3
        assert [pair.difference for pair in pairs] == [pair.difference for pair in tested]
        assert none == []


def test_changes_list_every_item_that_differs_losses_first() -> None:
    scores, items = rows(["old", "new"], right=lambda model, n: float(n % 3 == (0 if model == "old" else 1)))
    listed = label_models({"r1": ["old"], "r2": ["new"]})
    (pair,), _ = compare_fields(scores, items, fields(listed))
    found = changes(scores, items, pair)
    assert found["change"].to_list() == ["right to wrong"] * 20 + ["wrong to right"] * 20
    numbers = [int(i, 16) % 3 for i in found["item_id"]]
    assert numbers == [0] * 20 + [1] * 20
    assert (pair.only_b, pair.only_a) == (20, 20)


def test_graded_values_fall_and_rise_by_size_and_failures_do_not_count() -> None:
    values = {"old": [0.5, 0.5, 0.5, 0.5], "new": [0.4, 0.0, 0.5, 0.9]}
    scores, items = rows(["old", "new"], n=1, right=lambda model, n: values[model][n] if n < 4 else 0.25)
    failed = (pl.col("model") == "new") & (pl.col("item_id") == f"{4:016x}")
    scores = scores.with_columns(
        value=pl.when(failed).then(None).otherwise("value"),
        status=pl.when(failed).then(pl.lit("model_error")).otherwise("status"),
    )
    listed = label_models({"r1": ["old"], "r2": ["new"]})
    (pair,), _ = compare_fields(scores, items, fields(listed))
    found = changes(scores, items, pair)
    assert found.select("item_id", "change").rows() == [
        (f"{1:016x}", "fell"),
        (f"{0:016x}", "fell"),
        (f"{3:016x}", "rose"),
    ]
    assert (pair.n, pair.n_left_out) == (5, 1)


def test_common_counts_questions_once_however_often_they_are_asked() -> None:
    scores, items = rows(["m"])
    fewer = scores.head(25)
    twice = pl.concat([scores, scores.with_columns(repeat=pl.lit(1, pl.Int64))])
    assert count_common({"a": twice, "b": fewer}, items) == {"basic_control": ([60, 25], 25)}


def test_a_set_of_questions_is_the_same_in_any_order() -> None:
    _, items = rows(["m"])
    assert question_sets(items) == question_sets(items.sample(fraction=1, shuffle=True, seed=3))
    assert question_sets(items)["basic_control"]["n"] == 60
    assert question_sets(items.head(59)) != question_sets(items)
