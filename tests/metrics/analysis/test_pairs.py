"""Pairs of models: counts by hand, tests against independent ones, groups."""

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from basic_control.data.errors import InputError
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.document import record_json
from basic_control.metrics.analysis.pairs import compare, groups
from basic_control.metrics.stats.margins import differences, method_of, two_sided
from basic_control.metrics.stats.power import holm


def items(n: int, **columns: Any) -> pl.DataFrame:
    base = {"suite": "s", "family": "f", "level": "easy", "language": "en", "template": ""}
    return ITEMS.frame([{**base, "item_id": str(i), **{k: v[i] for k, v in columns.items()}} for i in range(n)])


def scores(models: Mapping[str, Sequence[float | None]], *, repeat: int = 0) -> pl.DataFrame:
    return SCORES.frame(
        [
            {
                "item_id": str(i),
                "model": model,
                "repeat": repeat,
                "metric": "correct",
                "version": 1,
                "value": value,
                "status": "model_error" if value is None else "scored",
            }
            for model, values in models.items()
            for i, value in enumerate(values)
        ]
    )


def test_a_pair_by_hand() -> None:
    """Ten items, one failed call: of nine pairs a alone is right on 4, b alone on 1; exact p = 12 / 32."""
    a: list[float | None] = [1, 1, 1, 1, 0, 1, 1, 0, 0, 1]
    b: list[float | None] = [0, 0, 0, 0, 1, 1, 1, 0, 0, None]
    (found,) = compare(scores({"a": a, "b": b}), items(10))
    assert (found.model_a, found.model_b, found.n, found.n_left_out) == ("a", "b", 9, 1)
    assert (found.only_a, found.only_b, found.test.method) == (4, 1, "tango")
    assert (found.mean_a, found.mean_b) == pytest.approx((6 / 9, 3 / 9))
    assert found.difference == pytest.approx(3 / 9)
    assert found.test.p_value == pytest.approx(12 / 32)
    json.dumps(record_json(found), allow_nan=False)


def test_no_answer_is_a_wrong_answer_in_a_pair() -> None:
    table = scores({"a": [1.0], "b": [None]}).with_columns(
        status=pl.when(pl.col("model") == "b").then(pl.lit("no_answer")).otherwise(pl.col("status"))
    )
    (found,) = compare(table, items(1))
    assert (found.n, found.only_a, found.difference) == (1, 1, 1.0)


def test_graded_scores_get_an_interval_of_the_differences() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random(50) * 0.5 + 0.3, rng.random(50) * 0.5
    (found,) = compare(scores({"a": a.tolist(), "b": b.tolist()}), items(50))
    test = method_of(differences(a - b, yes_no=False))
    expected = test.limits((0.025, 0.025))
    assert (found.test.method, found.yes_no) == ("sign-flip", False)
    assert (found.test.interval.low, found.test.interval.high) == pytest.approx((expected.low, expected.high))
    assert found.test.p_value == pytest.approx(two_sided(test))


def test_repeated_items_are_tested_as_items() -> None:
    """Six items on which a alone is right, asked five times: p = 2 / 64 as for six, not as for thirty."""
    table = pl.concat([scores({"a": [1.0] * 6, "b": [0.0] * 6}, repeat=r) for r in range(5)])
    (found,) = compare(table, items(6))
    assert (found.n, found.only_a, found.test.method) == (6, 6, "tango")
    assert found.test.p_value == pytest.approx(2 / 64)
    assert found.test.interval.units == 6


def test_pairs_are_clustered_by_template() -> None:
    a = [float(n // 10 % 3 > 0) for n in range(120)]
    b = [float(n // 10 % 3 > 1) for n in range(120)]
    table = scores({"a": list(a), "b": list(b)})
    (clustered,) = compare(table, items(120, template=[f"t{n // 10}" for n in range(120)]))
    (ignored,) = compare(table, items(120))
    assert clustered.test.interval.units == 12
    assert clustered.test.interval.low is not None
    assert ignored.test.interval.low is not None
    assert clustered.test.interval.low < ignored.test.interval.low
    assert clustered.test.detectable is not None
    assert ignored.test.detectable is not None
    assert clustered.test.detectable > 2 * ignored.test.detectable


def test_holm_corrects_over_the_pairs_of_a_metric() -> None:
    right = [1.0] * 12
    table = scores({"a": [*right], "b": [0.0] * 12, "c": [*right]})
    ab, ac, bc = compare(table, items(12))
    assert (ab.test.p_value, ac.test.p_value, bc.test.p_value) == pytest.approx((2 / 4096, 1.0, 2 / 4096))
    assert (ab.test.p_adjusted, ac.test.p_adjusted, bc.test.p_adjusted) == pytest.approx((6 / 4096, 1.0, 6 / 4096))
    assert (ab.significant, ac.significant, bc.significant) == (True, False, True)


def test_holm_corrects_over_all_metrics_together() -> None:
    """Five metrics and three models: fifteen tests, of which ten are of equal pairs."""
    right = [1.0] * 12
    one = scores({"a": [*right], "b": [0.0] * 12, "c": [*right]})
    same = scores({model: [*right] for model in "abc"})
    table = pl.concat([one, *(same.with_columns(metric=pl.lit(f"m{n}")) for n in range(4))])
    found = compare(table, items(12))
    assert len(found) == 15
    told = {(p.metric, p.model_a, p.model_b): p.test.p_adjusted for p in found if p.significant}
    assert told == pytest.approx({("correct", "a", "b"): 15 * 2 / 4096, ("correct", "b", "c"): 15 * 2 / 4096})


@settings(max_examples=200)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1), st.floats(0, 0.02)), max_size=12))
def test_a_p_value_lies_below_the_level_of_its_step_exactly_where_holm_refuses_it(p: list[float | None]) -> None:
    for value, (same, adjusted, level) in zip(p, holm(p), strict=True):
        assert same == value
        if value is None or adjusted is None or level is None:
            assert (value, adjusted, level) == (None, None, None)
        elif abs(adjusted - 0.05) > 1e-9:
            assert (value < level) == (adjusted < 0.05)


def test_one_test_keeps_its_interval_and_several_are_wider() -> None:
    rng = np.random.default_rng(6)
    table = scores({model: (rng.random(60) < share).astype(float).tolist() for model, share in
                    {"a": 0.9, "b": 0.6, "c": 0.55}.items()})  # fmt: skip
    (alone,) = compare(table.filter(pl.col("model") != "c"), items(60))
    several = [pair for pair in compare(table, items(60)) if (pair.model_a, pair.model_b) == ("a", "b")]
    low, high = alone.test.interval.low, alone.test.interval.high
    least, most = several[0].test.interval.low, several[0].test.interval.high
    assert low is not None
    assert high is not None
    assert least is not None
    assert most is not None
    assert least < low
    assert high < most
    assert (alone.test.level, several[0].test.level) == (0.05, pytest.approx(0.05 / 2))


@settings(max_examples=20)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.0, 1.0]), min_size=8, max_size=8), min_size=2, max_size=4
    ),
    st.integers(1, 5),
)
@example(
    [[1.0, 0.5, 0.5, 1, 1, 0, 0, 0], [1.0, 1, 0, 0.5, 1, 1, 1, 1], [1.0, 1, 0, 0.5, 1, 1, 1, 0]], 5
)  # a limit of -3e-17
def test_an_interval_holds_nothing_exactly_where_two_cannot_be_told_apart(
    columns: list[list[float]], times: int
) -> None:
    """The three good, middling and bad systems with few samples among them: 100, 87.5 and 25 %."""
    columns = [column * times for column in [*columns, [1.0] * 8, [1.0] * 7 + [0.0], [1.0] * 2 + [0.0] * 6]]
    table = scores({f"m{n}": list(column) for n, column in enumerate(columns)})
    found = compare(pl.concat([table, table.with_columns(metric=pl.lit("again"))]), items(8 * times))
    for pair in found:
        low, high = pair.test.interval.low, pair.test.interval.high
        assert low is not None
        assert high is not None
        assert pair.difference is not None
        assert -1 <= low <= pair.difference + 1e-9
        assert pair.difference - 1e-9 <= high <= 1
        assert (low <= 0 <= high) != pair.significant
    apart = {(p.metric, frozenset((p.model_a, p.model_b))) for p in found if p.significant}
    for grouping in groups(found):
        for group in grouping.groups:
            assert all((grouping.metric, frozenset(two)) not in apart for two in combinations(group, 2))


def test_models_that_cannot_be_told_apart_are_grouped_best_first() -> None:
    """The middle model differs significantly from neither end: it stands in both groups."""
    right = {"worst": 10, "middle": 16, "best": 21}
    table = scores({model: [float(i < count) for i in range(40)] for model, count in right.items()})
    found = compare(table, items(40))
    assert {(p.model_a, p.model_b): p.significant for p in found} == {
        ("best", "middle"): False,
        ("best", "worst"): True,
        ("middle", "worst"): False,
    }
    (grouping,) = groups(found)
    assert grouping.groups == (("best", "middle"), ("middle", "worst"))


def test_pairs_without_a_common_item_are_left_open() -> None:
    table = scores({"a": [1.0, None], "b": [None, 1.0]})
    (found,) = compare(table, items(2))
    assert (found.n, found.n_left_out, found.test.method, found.test.p_value, found.difference) == (
        0,
        2,
        "none",
        None,
        None,
    )
    assert groups((found,))[0].groups == (("a", "b"),)
    json.dumps(record_json(found), allow_nan=False)


def test_equal_models_differ_by_nothing_and_say_what_could_have_been_seen() -> None:
    (found,) = compare(scores({"a": [1.0] * 30, "b": [1.0] * 30}), items(30))
    assert (found.difference, found.test.p_value) == (0.0, 1.0)
    assert found.test.interval.low is not None
    assert found.test.interval.low < 0
    assert found.test.detectable is not None


def test_one_model_has_no_pairs_and_foreign_items_are_refused() -> None:
    assert compare(scores({"a": [1.0]}), items(1)) == ()
    assert groups(()) == ()
    with pytest.raises(InputError, match="'1' is not in the items table"):
        compare(scores({"a": [1.0, 1.0], "b": [1.0, 0.0]}), items(1))


def test_suites_and_metrics_are_compared_apart() -> None:
    table = scores({"a": [1.0, 0.0], "b": [1.0, 1.0]})
    other = table.with_columns(metric=pl.lit("other"))
    listed = items(2, suite=["s", "t"])
    found = compare(pl.concat([table, other]), listed)
    assert [(p.suite, p.metric, p.n) for p in found] == [
        ("s", "correct", 1),
        ("s", "other", 1),
        ("t", "correct", 1),
        ("t", "other", 1),
    ]


def suite(name: str, *metrics: str, **more: Any) -> Suite:
    return Suite.model_validate(
        {
            "name": name,
            "items": {"data": "d.jsonl"},
            "prompt": "p",
            "metrics": list(metrics or ("correct",)),
            "score": list(metrics or ("correct",)),
            **more,
        }
    )


def test_a_total_is_compared_family_by_family() -> None:
    """Of family f (4 questions) a is right on all and b on none, of g (40) both on half: 50 points, not 9."""
    right = {"a": [1.0] * 4 + [1.0, 0.0] * 20, "b": [0.0] * 4 + [1.0, 0.0] * 20}
    families = ["f"] * 4 + ["g"] * 40
    total = suite("s", strata="family")
    (found,) = compare(scores(right), items(44, family=families), [total])
    assert (found.scope, found.metric, found.n) == ("total", "correct", 44)
    assert found.difference == pytest.approx(0.5)
    assert found.mean_a == pytest.approx(0.75)
    assert found.test.method == "sign-flip"
    assert found.test.p_value == pytest.approx(2 / 16, abs=0.01)
    (pooled,) = compare(scores(right), items(44, family=families), [suite("s")])
    assert pooled.difference == pytest.approx(4 / 44)


def test_a_suite_that_weighs_nothing_is_compared_like_any_other() -> None:
    """Weight 0 leaves a suite out of the overall score; by itself 8 right of 8 against none are 100 points."""
    pair, asked = scores({"a": [1.0] * 8, "b": [0.0] * 8}), items(8)
    two = pl.concat([pair, pair.with_columns(metric=pl.lit("other"))])
    found = compare(two, asked, [suite("s", "correct", "other", weight=0)])
    assert [(p.scope, p.difference, p.mean_a, p.significant) for p in found] == [
        ("metric", 1.0, 1.0, True),
        ("metric", 1.0, 1.0, True),
        ("suite", 1.0, 1.0, True),
    ]
    (total,) = compare(pair, asked, [suite("s", strata="family", weight=0)])
    assert (total.scope, total.difference, total.significant) == ("total", 1.0, True)


def test_families_of_one_size_make_counts() -> None:
    """Where all questions weigh alike a TOTAL is a share of them all: 6 of 60 lost, exact p = 2 / 64."""
    right = {"a": [1.0] * 60, "b": [float(n % 10 > 0) for n in range(60)]}
    families = [f"f{n // 10}" for n in range(60)]
    (found,) = compare(scores(right), items(60, family=families), [suite("s", strata="family")])
    assert (found.test.method, found.only_a, found.only_b) == ("tango", 6, 0)
    assert found.test.p_value == pytest.approx(2 / 64)


def test_suites_of_several_metrics_and_the_overall_score_are_compared_like_any_metric() -> None:
    """Model a is right on 10 of 40 in s, and has 0.75 and 0.25 on each of 30 in t, where b has 0.25 and 0.25."""
    of_s = scores({"a": [1.0] * 10 + [0.0] * 30, "b": [0.0] * 40})
    rows = [
        of_s,
        *(
            scores({"a": [value] * 30, "b": [0.25] * 30}).with_columns(
                item_id=pl.format("t{}", "item_id"), metric=pl.lit(metric)
            )
            for metric, value in (("one", 0.75), ("two", 0.25))
        ),
    ]
    asked = pl.concat([items(40), items(30, suite=["t"] * 30).with_columns(item_id=pl.format("t{}", "item_id"))])
    suites = [suite("s", weight=0.3), suite("t", "one", "two", weight=0.1)]
    found = compare(pl.concat(rows), asked, suites)
    assert [(p.scope, p.suite, p.metric, p.n) for p in found] == [
        ("metric", "s", "correct", 40),
        ("metric", "t", "one", 30),
        ("metric", "t", "two", 30),
        ("suite", "t", "", 30),
        ("overall", "", "", 70),
    ]
    assert [p.difference for p in found] == pytest.approx([0.25, 0.5, 0.0, 0.25, 0.75 * 0.25 + 0.25 * 0.25])
    # Of 5 tests: 2/1024, p = 1 of equal pairs, and sign flips of 30 and 40 units that all point one way.
    assert [p.significant for p in found] == [True, True, False, True, True]
    assert found[-1].test.method == "sign-flip"


def test_models_of_other_suites_are_not_compared_overall() -> None:
    rows = [scores({"a": [1.0] * 8, "b": [0.0] * 8}), scores({"a": [1.0] * 8}).with_columns(
        item_id=pl.format("t{}", "item_id"))]  # fmt: skip
    asked = pl.concat([items(8), items(8, suite=["t"] * 8).with_columns(item_id=pl.format("t{}", "item_id"))])
    found = compare(pl.concat(rows), asked, [suite("s"), suite("t")])
    assert [(p.scope, p.suite) for p in found] == [("metric", "s")]


def test_so_few_questions_cannot_pass_the_correction_whatever_they_show() -> None:
    """Six questions all lost: p = 2 / 64 passes alone, but not at 0.05 / 3, which takes seven."""
    table = scores({"a": [1.0] * 6, "b": [0.0] * 6})
    (alone,) = compare(table, items(6))
    assert (alone.significant, alone.test.reachable) == (True, True)
    three = compare(pl.concat([table, *(table.with_columns(metric=pl.lit(name)) for name in "xy")]), items(6))
    assert [(p.significant, p.test.reachable, p.test.detectable) for p in three] == [(False, False, None)] * 3
    more = scores({"a": [1.0] * 7, "b": [0.0] * 7})
    three = compare(pl.concat([more, *(more.with_columns(metric=pl.lit(name)) for name in "xy")]), items(7))
    assert all(p.significant and p.test.reachable for p in three)


def test_fewer_than_five_templates_are_said_and_from_five_on_they_are_the_units() -> None:
    rng = np.random.default_rng(8)
    table = scores({"a": list(map(float, rng.random(60) < 0.7)), "b": list(map(float, rng.random(60) < 0.5))})
    for templates, test, units in ((4, "tango", 60), (5, "student", 5), (9, "student", 9), (10, "sign-flip", 10)):
        (found,) = compare(table, items(60, template=[f"t{n % templates}" for n in range(60)]))
        assert (found.test.method, found.test.interval.units, found.test.interval.fixed_templates) == (
            test,
            units,
            templates == 4,
        )


def test_failed_calls_leave_a_comparison_open_that_hangs_on_them() -> None:
    """Eight that b got wrong came back as errors: over what is scored the two are equal, at worst they are not."""
    right: dict[str, list[float | None]] = {"a": [1.0] * 100, "b": [None] * 8 + [1.0] * 92}
    (found,) = compare(scores(right), items(100))
    assert (found.n, found.n_left_out, found.missing.n_lost, found.difference) == (92, 8, 8, 0.0)
    assert (found.missing.low, found.missing.high) == pytest.approx((0.0, 0.08))
    assert (found.missing.hangs, found.significant) == (True, False)
    (sure,) = compare(scores({"a": [1.0] * 100, "b": [None] * 2 + [0.0] * 40 + [1.0] * 58}), items(100))
    assert (sure.missing.hangs, sure.significant) == (False, True)


def test_what_both_lack_for_one_cause_is_equal_there() -> None:
    """Eight prompts that a provider refuses to both: nothing depends on them; refused for two causes, it does."""
    both: dict[str, list[float | None]] = {"a": [None] * 8 + [1.0] * 92, "b": [None] * 8 + [1.0] * 92}
    table = scores(both).with_columns(reason=pl.lit("refused"))
    (same,) = compare(table, items(100))
    assert (same.missing.low, same.missing.high, same.missing.hangs) == (0.0, 0.0, False)
    other = table.with_columns(reason=pl.when(pl.col("model") == "a").then(pl.lit("HTTP 500")).otherwise("reason"))
    (apart,) = compare(other, items(100))
    assert (apart.missing.low, apart.missing.high) == pytest.approx((-0.08, 0.08))
    assert apart.missing.hangs


@pytest.mark.parametrize("reason", ["rate: unparsable reply", "rate: call failed", "rate: no reply: timed out"])
def test_a_judge_that_is_unread_on_both_sides_says_nothing_of_the_question(reason: str) -> None:
    both: dict[str, list[float | None]] = {"a": [None] * 8 + [1.0] * 92, "b": [None] * 8 + [1.0] * 92}
    is_missing = pl.col("value").is_null()
    unread = pl.when(is_missing).then(pl.lit("judge_failed")).otherwise(pl.lit("scored"))
    (pair,) = compare(scores(both).with_columns(reason=pl.lit(reason), status=unread), items(100))
    assert (pair.missing.low, pair.missing.high, pair.missing.n_alike) == (-0.08, 0.08, 0)


def test_a_mean_of_metrics_pairs_what_both_sides_have_of_each() -> None:
    """Of four questions the rubric applies to two on one side, and to three on the other: two are pairs by it.

    Exact match: (1 + 0 + 0 + 0) / 4; the rubric: (-1 + 0) / 2; their mean: -1/8, whatever a third model has.
    """
    columns: dict[str, dict[str, list[float | None]]] = {
        "exact_match": {"a": [1, 1, 0, 0], "b": [0, 1, 0, 0], "c": [1, 1, 1, 1]},
        "rubric": {"a": [0, 1, None, None], "b": [1, 1, 1, None], "c": [1, 1, 1, 1]},
    }
    tables = []
    for metric, models in columns.items():
        table = scores(models).with_columns(metric=pl.lit(metric))
        is_scored = pl.col("value").is_not_null()
        tables.append(
            table.with_columns(status=pl.when(is_scored).then(pl.lit("scored")).otherwise(pl.lit("not_applicable")))
        )
    suite = Suite(
        name="s",
        items={},
        metrics={"exact_match": {}, "rubric": {}},
        score=("exact_match", "rubric"),
        threshold=0.8,
    )
    for models in (["a", "b"], ["a", "b", "c"]):
        table = pl.concat(tables).filter(pl.col("model").is_in(models))
        compared = compare(table, items(4), [suite])
        (pair,) = (
            line for line in compared if line.scope == "suite" and (line.model_a, line.model_b) == ("a", "b")
        )
        assert (pair.n, pair.difference) == (4, pytest.approx(-1 / 8))
