"""Regressions against a baseline: SPEC 10's goldens, and the tests, limits and power by enumeration."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from metrics.stats.margins import below
from metrics.stats.power import detectable_drop, found_share, needed_pairs
from metrics.stats.regression import Pairs, Regression, pair, regressions
from tests.helpers.pairs import pairs_of


def pairs(lost: int, won: int, n: int, *, suite: str = "s", cut: int = 0) -> Pairs:
    """Return yes/no pairs; the first `cut` replies of the run are cut, and may be right."""
    run, baseline = np.zeros(n), np.zeros(n)
    baseline[:lost] = 1
    run[lost : lost + won] = 1
    upper = run.copy()
    upper[:cut] = 1
    return pairs_of(suite, run, baseline, upper=upper)


def one(lost: int, won: int, n: int, max_drop: float = 0.0) -> Regression:
    return regressions([pairs(lost, won, n)], max_drop={"s": max_drop})[0]


@pytest.mark.parametrize(
    ("lost", "won", "n", "p", "outcome"),
    [
        (40, 0, 300, Fraction(1, 2**40), "regressed"),
        (6, 0, 300, Fraction(1, 64), "regressed"),
        (5, 1, 300, Fraction(7, 64), "undecided"),
        (3, 3, 300, Fraction(42, 64), "undecided"),
        (0, 0, 300, Fraction(1), "held"),
    ],
)
def test_the_goldens_of_spec_10_at_margin_0(lost: int, won: int, n: int, p: Fraction, outcome: str) -> None:
    found = one(lost, won, n)
    assert found.test == "binomial"
    assert found.p_regressed == pytest.approx(float(p), rel=1e-12)
    assert found.outcome == outcome


def test_a_run_that_won_only_held_and_improved() -> None:
    found = one(0, 6, 300)
    assert (found.outcome, found.improved) == ("held", True)
    assert found.p_held == pytest.approx(1 / 64)
    assert not one(0, 0, 300).improved


def test_equal_pairs_hold_where_nothing_is_tolerated_where_replies_are_identical_or_where_they_are_enough() -> None:
    """0.98 to the power of 149 is below 0.05, and of 148 above; five pairs cannot refuse a drop of 2 %."""
    assert one(0, 0, 5, 0.0).outcome == "held"
    assert one(0, 0, 5, 0.02).outcome == "undecided"
    equal = pairs(0, 0, 5)
    same = replace(equal, rows=equal.rows.with_columns(identical=pl.lit(value=True)))
    assert regressions([same], max_drop={"s": 0.02})[0].outcome == "held"
    for n, outcome in ((148, "undecided"), (149, "held")):
        half = pairs_of("s", np.full(n, 0.5), np.full(n, 0.5))
        assert regressions([half], max_drop={"s": 0.02})[0].outcome == outcome


def test_nothing_in_common_is_undecided() -> None:
    found = one(0, 0, 0)
    assert (found.outcome, found.difference, found.p_regressed) == ("undecided", None, None)


@pytest.mark.parametrize(("lost", "won", "margin"), [(0.25, 0.05, 0.0), (0.3, 0.0, -0.02), (0.15, 0.25, 0.0)])
def test_power_is_the_sum_over_every_outcome(lost: float, won: float, margin: float) -> None:
    n, total = 25, 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if float(below(b, c, n, margin)) < 0.05:
                ways = math.factorial(n) / math.factorial(b) / math.factorial(c) / math.factorial(n - b - c)
                total += ways * won**b * lost**c * (1 - lost - won) ** (n - b - c)
    assert found_share(n, lost, won, margin=margin, level=0.05) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("max_drop", [0.0, 0.02])
def test_the_detectable_drop_is_the_least_found_in_80_percent(max_drop: float) -> None:
    """A tenth of the pairs differs without a drop, and 80 % is right, of which the drop takes a share at random."""

    def found(drop: float) -> float:
        won = 0.05 * (1 - drop / 0.8)
        return found_share(300, won + drop, won, margin=-max_drop, level=0.05)

    drop = detectable_drop(300, 0.1, 0.8, max_drop=max_drop, level=0.05)
    assert drop is not None
    assert found(drop) >= 0.8 > found(drop - 0.001)
    assert detectable_drop(4, 0.5, 0.8, max_drop=0.0, level=0.05) is None


def test_so_many_pairs_tell_no_change_from_the_tolerated_drop() -> None:
    n = needed_pairs(0.1, max_drop=0.02, level=0.05)
    assert n is not None
    assert found_share(n, 0.05, 0.05, margin=0.02, level=0.05) >= 0.8
    # by the normal approximation (1.645 + 0.842)² x 0.1 / 0.02²
    assert n == pytest.approx(1546, rel=0.05)
    assert needed_pairs(0.1, max_drop=0.0, level=0.05) is None


def test_an_undecided_suite_says_what_could_have_been_shown() -> None:
    found = one(12, 8, 300, 0.02)
    assert found.outcome == "undecided"
    assert found.detectable is None  # 12 right replies are too few to lose
    rest = np.where(np.arange(300) < 20, 0.0, 1.0)
    plain = pairs(12, 8, 300).rows
    run, baseline = (plain[name].to_numpy() + rest for name in ("value", "value_before"))
    found = regressions([pairs_of("s", run, baseline)], max_drop={"s": 0.02})[0]
    # 20 of 300 differ; the difference of 4 is within its standard error, so that all of it may be chance.
    expected = detectable_drop(300, 20 / 300, 292 / 300, max_drop=0.02, level=0.05)
    assert found.detectable == pytest.approx(expected)
    assert found.n_needed == needed_pairs(20 / 300, max_drop=0.02, level=0.05)


def test_holm_over_suites_decides_and_sets_the_intervals() -> None:
    """Alone, p = 1/64 is regressed; of four suites it has to lie below 0.05 / 4, and does not."""
    alone = one(6, 0, 300)
    four = regressions(
        [pairs(6, 0, 300, suite="a"), *(pairs(3, 3, 300, suite=name) for name in "bcd")],
        max_drop=dict.fromkeys("abcd", 0.0),
    )
    assert (alone.outcome, four[0].outcome) == ("regressed", "undecided")
    assert four[0].levels[1] == pytest.approx(0.0125)
    assert four[0].interval.high == 0.0  # the exact test does not refuse it
    assert (alone.interval.high or 0) < 0


def frames(
    run: Sequence[float | None], before: Sequence[float | None], **more: object
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables of a suite's values, an item a row."""
    ids = [f"i{n}" for n in range(len(run))]
    sides = [
        pl.DataFrame(
            {"item_id": ids, "value": values, "reply": None},
            schema_overrides={"value": pl.Float64, "reply": pl.String},
        )
        .with_columns(lower=pl.col("value").fill_null(0.0), upper=pl.col("value").fill_null(1.0))
        .with_columns(cause=pl.when(pl.col("value").is_null()).then(pl.lit("model_error: refused")))
        for values in (run, before)
    ]
    placed = {"question": pl.col("item_id"), "cluster": pl.lit(-1), "stratum": pl.lit(""), "share": pl.lit(1.0)}
    return sides[0].with_columns(**{**placed, **more}), sides[1]  # pyrefly: ignore[bad-argument-type] # expressions and columns


def test_items_that_ask_the_same_are_one_question() -> None:
    run, before = frames([0.0] * 6, [1.0] * 6, question=pl.Series(["a", "a", "b", "b", "c", "c"]))
    found = regressions([pair("s", run, before)], max_drop={"s": 0.0})[0]
    assert (found.n, found.p_regressed) == (3, 1 / 8)


def test_equal_questions_in_several_templates_do_not_depend_on_the_order_of_rows() -> None:
    question, cluster = pl.Series([f"q{k % 50}" for k in range(200)]), pl.Series([k // 50 for k in range(200)])
    both = frames(
        [k % 3 / 2 for k in range(200)], [k % 5 / 4 for k in range(200)], question=question, cluster=cluster
    )
    expected = pair("s", *both).rows
    for seed in range(5):
        run, before = (frame.sample(fraction=1.0, shuffle=True, seed=seed) for frame in both)
        assert pair("s", run, before).rows.equals(expected)


def test_a_suite_with_strata_is_tested_on_its_total() -> None:
    """Family a lost 8 of 10, b won 20 of 90: TOTAL fell by 29 points, where the rows' mean rose by 12."""
    run = [0.0] * 8 + [1.0] * 2 + [1.0] * 90
    before = [1.0] * 10 + [0.0] * 20 + [1.0] * 70
    families = pl.Series(["a"] * 10 + ["b"] * 90)
    found = regressions([pair("s", *frames(run, before, stratum=families))], max_drop={"s": 0.0})[0]
    assert found.difference == pytest.approx(-0.8 / 2 + 20 / 90 / 2)
    assert found.mean == pytest.approx(0.6)
    assert found.baseline == pytest.approx((1 + 70 / 90) / 2)
    assert (found.test, found.outcome) == ("sign-flip", "regressed")
    pooled = regressions([pair("s", *frames(run, before))], max_drop={"s": 0.0})[0]
    assert pooled.difference == pytest.approx(0.12)
    assert pooled.outcome == "held"


def test_templates_are_the_units() -> None:
    """60 questions lost in six templates of ten of twelve: as many as six coins, not as sixty."""
    run, before = [0.0] * 60 + [1.0] * 60, [1.0] * 120
    clusters = pl.Series([n // 10 for n in range(120)])
    found = regressions([pair("s", *frames(run, before, cluster=clusters))], max_drop={"s": 0.0})[0]
    assert (found.test, found.interval.units) == ("sign-flip", 12)
    assert found.p_regressed == pytest.approx(1 / 64)


def test_what_one_side_lacks_is_left_out_and_counted() -> None:
    run, before = frames([1.0, None, 0.0], [1.0, 1.0, 1.0])
    found = pair("s", run, before.head(2))
    assert (found.rows.height, found.scored.height) == (2, 1)
    said = regressions([found])[0]
    assert (said.n, said.n_left_out, said.high) == (1, 1, 0.0)
    assert said.low == pytest.approx(-0.5)


def test_a_decision_that_hangs_on_what_is_missing_is_undecided() -> None:
    """10 lost of 300 regress; were the 10 cut replies among them right, nothing changed."""
    found = regressions([pairs(10, 0, 300, cut=10)], max_drop={"s": 0.0})[0]
    assert (found.outcome, found.hangs) == ("undecided", True)
    assert found.low == found.difference == pytest.approx(-1 / 30)
    assert found.high == 0.0
    assert regressions([pairs(40, 0, 300, cut=3)], max_drop={"s": 0.0})[0].outcome == "regressed"


def test_wrong_replies_that_turned_into_failed_calls_do_not_hold() -> None:
    """40 of 300 lost, but as failed calls: over what is scored all are equal, at worst it regressed."""
    found = regressions([pair("s", *frames([None] * 40 + [1.0] * 260, [1.0] * 300))], max_drop={"s": 0.02})[0]
    assert (found.difference, found.n_left_out) == (0.0, 40)
    assert (found.low, found.high) == pytest.approx((-40 / 300, 0.0))
    assert (found.outcome, found.hangs) == ("undecided", True)


def test_what_a_provider_refuses_both_times_is_equal() -> None:
    run, before = frames([None] * 40 + [1.0] * 260, [None] * 40 + [1.0] * 260)
    found = regressions([pair("s", run, before)], max_drop={"s": 0.02})[0]
    assert (found.outcome, found.low, found.high) == ("held", 0.0, 0.0)


def test_the_golden_of_recorded_replies() -> None:
    """100 questions all right, then half of them wrong: 100 pairs, -50 points, regressed (SPEC 15)."""
    found = regressions([pair("s", *frames([1.0] * 50 + [0.0] * 50, [1.0] * 100))])[0]
    assert (found.n, found.difference, found.outcome) == (100, -0.5, "regressed")
