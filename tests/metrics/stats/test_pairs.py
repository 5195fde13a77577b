"""Pairs of models: counts by hand, tests against independent ones, groups."""

import json
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from data.errors import InputError
from data.tables import ITEMS, SCORES
from metrics.stats.intervals import mean_interval
from metrics.stats.pairs import compare, groups, mcnemar, paired_share_interval, sign_flip
from metrics.stats.power import holm, holm_levels


def items(n: int, **columns: Any) -> pl.DataFrame:
    base = {"suite": "s", "family": "f", "level": "easy", "language": "en", "template": ""}
    return ITEMS.frame([{**base, "item_id": str(i), **{k: v[i] for k, v in columns.items()}} for i in range(n)])


def scores(models: dict[str, list[float | None]], *, repeat: int = 0) -> pl.DataFrame:
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
    assert (found.only_a, found.only_b, found.test) == (4, 1, "mcnemar")
    assert (found.mean_a, found.mean_b) == pytest.approx((6 / 9, 3 / 9))
    assert found.difference == pytest.approx(3 / 9)
    assert found.p_value == pytest.approx(12 / 32)
    json.dumps(found.as_dict(), allow_nan=False)


def test_no_answer_is_a_wrong_answer_in_a_pair() -> None:
    table = scores({"a": [1.0], "b": [None]}).with_columns(
        status=pl.when(pl.col("model") == "b").then(pl.lit("no_answer")).otherwise(pl.col("status"))
    )
    (found,) = compare(table, items(1))
    assert (found.n, found.only_a, found.difference) == (1, 1, 1.0)


@settings(max_examples=60)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_exact(b: int, c: int) -> None:
    """The exact test: both tails of a fair coin tossed b + c times."""
    found = mcnemar(b, c)
    if b + c == 0:
        assert found == 1.0
    else:
        assert found == pytest.approx(binomtest(b, b + c).pvalue)
        tail = sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
        assert found == pytest.approx(min(1.0, 2 * tail))


def test_the_interval_of_paired_shares_is_the_published_one() -> None:
    """Fagerland, Lydersen & Laake 2014 on airway hyper-responsiveness: 1 and 7 of 21."""
    found = paired_share_interval(1, 7, 21)
    assert found.low == pytest.approx(-0.508, abs=6e-4)
    assert found.high == pytest.approx(-0.013, abs=6e-4)
    assert paired_share_interval(0, 0, 0).low is None


def test_the_interval_of_paired_shares_holds_its_level() -> None:
    """Exact coverage, summed over every outcome of 20 pairs of which 30 % and 10 % differ."""
    from scipy.stats import multinomial

    n, p, q = 20, 0.3, 0.1
    held = 0.0
    for b, c in product(range(n + 1), repeat=2):
        found = paired_share_interval(b, c, n)
        if b + c <= n and found.low is not None and found.high is not None and found.low <= p - q <= found.high:
            held += float(multinomial.pmf([b, c, n - b - c], n, [p, q, 1 - p - q]))
    assert held == pytest.approx(0.95, abs=0.02)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=9))
def test_sign_flips_are_all_listed_for_few_units(differences: list[float]) -> None:
    column = np.array(differences)
    patterns = [abs(float(np.dot(signs, column))) for signs in product((-1, 1), repeat=len(column))]
    expected = np.mean([value >= abs(column.sum()) - 1e-9 for value in patterns])
    assert sign_flip(column) == pytest.approx(expected)


def test_random_sign_flips_agree_with_scipys() -> None:
    column = np.random.default_rng(1).normal(0.25, 1.0, 60)
    expected = permutation_test(
        (column,), np.mean, permutation_type="samples", n_resamples=20_000, vectorized=True, rng=2
    ).pvalue
    assert sign_flip(column) == pytest.approx(expected, abs=0.012)
    assert sign_flip(column, seed=3) == sign_flip(column, seed=3)


def test_a_sign_flip_of_yes_no_values_is_mcnemar() -> None:
    column = np.array([1.0] * 8 + [-1.0] * 2 + [0.0] * 30)
    assert sign_flip(column) == pytest.approx(mcnemar(8, 2))


def test_very_many_units_take_the_normal_approximation() -> None:
    column = np.random.default_rng(4).normal(0.02, 1.0, 20_000)
    from scipy.stats import ttest_1samp

    assert sign_flip(column) == pytest.approx(ttest_1samp(column, 0).pvalue, abs=2e-3)


def test_graded_scores_get_an_interval_of_the_differences() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random(50) * 0.5 + 0.3, rng.random(50) * 0.5
    (found,) = compare(scores({"a": a.tolist(), "b": b.tolist()}), items(50))
    expected = mean_interval(a - b, bounds=(-1.0, 1.0), yes_no=False).interval
    assert found.test == "sign-flip"
    assert not found.yes_no
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_repeated_items_are_tested_as_items() -> None:
    """Six items on which a alone is right, asked five times: p = 2 / 64 as for six, not as for thirty."""
    table = pl.concat([scores({"a": [1.0] * 6, "b": [0.0] * 6}, repeat=r) for r in range(5)])
    (found,) = compare(table, items(6))
    assert (found.n, found.only_a, found.test) == (30, 30, "sign-flip")
    assert found.p_value == pytest.approx(2 / 64)
    assert found.interval.units == 6


def test_pairs_are_clustered_by_template() -> None:
    a = [float(n // 10 % 3 > 0) for n in range(120)]
    b = [float(n // 10 % 3 > 1) for n in range(120)]
    table = scores({"a": list(a), "b": list(b)})
    (clustered,) = compare(table, items(120, template=[f"t{n // 10}" for n in range(120)]))
    (ignored,) = compare(table, items(120))
    assert clustered.interval.units == 12
    assert clustered.interval.low is not None
    assert ignored.interval.low is not None
    assert clustered.interval.low < ignored.interval.low
    assert clustered.detectable is not None
    assert ignored.detectable is not None
    assert clustered.detectable > 2 * ignored.detectable


def test_holm_corrects_over_the_pairs_of_a_metric() -> None:
    right = [1.0] * 12
    table = scores({"a": [*right], "b": [0.0] * 12, "c": [*right]})
    ab, ac, bc = compare(table, items(12))
    assert (ab.p_value, ac.p_value, bc.p_value) == pytest.approx((2 / 4096, 1.0, 2 / 4096))
    assert (ab.p_adjusted, ac.p_adjusted, bc.p_adjusted) == pytest.approx((6 / 4096, 1.0, 6 / 4096))
    assert (ab.significant, ac.significant, bc.significant) == (True, False, True)


def test_holm_corrects_over_all_metrics_together() -> None:
    """Five metrics and three models: fifteen tests, of which ten are of equal pairs."""
    right = [1.0] * 12
    one = scores({"a": [*right], "b": [0.0] * 12, "c": [*right]})
    same = scores({model: [*right] for model in "abc"})
    table = pl.concat([one, *(same.with_columns(metric=pl.lit(f"m{n}")) for n in range(4))])
    found = compare(table, items(12))
    assert len(found) == 15
    told = {(p.metric, p.model_a, p.model_b): p.p_adjusted for p in found if p.significant}
    assert told == pytest.approx({("correct", "a", "b"): 15 * 2 / 4096, ("correct", "b", "c"): 15 * 2 / 4096})


@settings(max_examples=200)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1), st.floats(0, 0.02)), max_size=12))
def test_a_p_value_lies_below_the_level_of_its_step_exactly_where_holm_refuses_it(p: list[float | None]) -> None:
    for value, adjusted, level in zip(p, holm(p), holm_levels(p), strict=True):
        if value is None or adjusted is None or level is None:
            assert (value, adjusted, level) == (None, None, None)
        elif abs(adjusted - 0.05) > 1e-9:
            assert (value < level) == (adjusted < 0.05)


def test_one_test_keeps_its_interval_and_several_are_wider() -> None:
    rng = np.random.default_rng(6)
    table = scores({model: (rng.random(60) < share).astype(float).tolist() for model, share in
                    {"a": 0.9, "b": 0.6, "c": 0.55}.items()})  # fmt: skip
    (alone,) = compare(table.filter(pl.col("model") != "c"), items(60))
    assert alone.interval_adjusted == alone.interval
    several = compare(table, items(60))
    for pair in several:
        assert pair.interval.low is not None
        assert pair.interval_adjusted.low is not None
        assert pair.interval_adjusted.low <= pair.interval.low + 1e-9


@settings(max_examples=20)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.0, 1.0]), min_size=8, max_size=8), min_size=2, max_size=4
    ),
    st.integers(1, 5),
)
def test_an_interval_holds_nothing_exactly_where_two_cannot_be_told_apart(
    columns: list[list[float]], times: int
) -> None:
    """The three good, middling and bad systems with few samples among them: 100, 87.5 and 25 %."""
    columns = [column * times for column in [*columns, [1.0] * 8, [1.0] * 7 + [0.0], [1.0] * 2 + [0.0] * 6]]
    table = scores({f"m{n}": list(column) for n, column in enumerate(columns)})
    found = compare(pl.concat([table, table.with_columns(metric=pl.lit("again"))]), items(8 * times))
    for pair in found:
        low, high = pair.interval_adjusted.low, pair.interval_adjusted.high
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
    assert (found.n, found.n_left_out, found.test, found.p_value, found.difference) == (0, 2, "none", None, None)
    assert groups((found,))[0].groups == (("a", "b"),)
    json.dumps(found.as_dict(), allow_nan=False)


def test_equal_models_differ_by_nothing_and_say_what_could_have_been_seen() -> None:
    (found,) = compare(scores({"a": [1.0] * 30, "b": [1.0] * 30}), items(30))
    assert (found.difference, found.p_value) == (0.0, 1.0)
    assert found.interval.low is not None
    assert found.interval.low < 0
    assert found.detectable is not None


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
    assert len(compare(pl.concat([table, other]), listed, metrics=["other"])) == 2
