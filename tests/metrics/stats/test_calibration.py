"""Corrected means: SPEC 11's goldens, what stays within bounds, and what is not corrected at all."""

from collections.abc import Sequence

import numpy as np
import pytest

from basic_control.metrics.stats.calibration import (
    ExamTable,
    bounds,
    compute_contrast,
    correct_mean,
    correct_share,
    kappa,
    kappa_limits,
)
from tests.helpers.passports import rate


def test_the_golden_share_is_corrected() -> None:
    """SPEC 11: p 600 of 1000, sensitivity 90 of 100, specificity 80 of 100: (0.6 - 0.2) / 0.7."""
    found = correct_share(0.6, 1000, rate(90, 100), rate(80, 100))
    assert found.value == pytest.approx(0.5714, abs=5e-5)
    assert found.informedness == pytest.approx(0.7)
    assert found.interval.low is not None
    assert found.interval.high is not None
    # The delta method by hand: √(0.00024 + 0.5714² · 0.0009 + 0.4286² · 0.0016) / 0.7 is 0.0411.
    assert found.interval.low == pytest.approx(0.5714 - 1.96 * 0.0411, abs=0.01)
    assert found.interval.high == pytest.approx(0.5714 + 1.96 * 0.0411, abs=0.01)


def test_a_share_is_never_corrected_out_of_bounds() -> None:
    low = correct_share(0.05, 200, rate(90, 100), rate(80, 100))
    high = correct_share(0.99, 200, rate(90, 100), rate(80, 100))
    assert (low.value, high.value) == (0.0, 1.0)
    assert low.interval.low == 0.0
    assert high.interval.high == 1.0


def test_a_judge_near_chance_measures_nothing() -> None:
    weak = correct_share(0.6, 1000, rate(59, 100), rate(60, 100))
    assert (weak.value, weak.interval.low) == (None, None)
    assert weak.reason == "it cannot tell right replies from wrong ones"
    assert weak.informedness == pytest.approx(0.19)
    assert correct_share(0.6, 1000, rate(60, 100), rate(60, 100)).value is not None
    assert correct_share(0.6, 1000, rate(1, 100), rate(2, 100)).value is None, "always wrong is no measure either"


def test_an_exam_without_one_kind_corrects_nothing() -> None:
    found = correct_share(0.6, 1000, rate(0, 0), rate(80, 100))
    assert found.value is None
    assert "right replies only" in found.reason


def test_the_larger_the_exam_the_narrower_the_interval() -> None:
    widths = []
    for n in (50, 200, 1000):
        found = correct_share(0.6, 1000, rate(n * 9 // 10, n), rate(n * 8 // 10, n)).interval
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)


def test_two_labels_are_the_corrected_share() -> None:
    share = correct_share(0.6, 1000, rate(90, 100), rate(80, 100))
    mean = correct_mean([400, 600], [[80, 20], [10, 90]], [0, 1])
    assert mean.value == pytest.approx(share.value, abs=1e-6)
    assert mean.informedness == pytest.approx(share.informedness)
    for end in ("low", "high"):
        assert getattr(mean.interval, end) == pytest.approx(getattr(share.interval, end), abs=0.02)


def test_ratings_are_inverted_by_the_whole_table() -> None:
    """Truth 0.5, 0.3, 0.2 said through the table: 0.5·(.8 .1 .1) + 0.3·(.1 .8 .1) + 0.2·(.0 .2 .8)."""
    table = [[800, 100, 100], [100, 800, 100], [0, 200, 800]]
    said = [430, 330, 240]
    found = correct_mean(said, table, [0, 0.5, 1])
    assert found.value == pytest.approx(0.3 * 0.5 + 0.2, abs=1e-4)
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert found.interval.low < 0.35 < found.interval.high


def test_an_impossible_count_of_ratings_stays_within_bounds() -> None:
    table = [[80, 10, 10], [10, 80, 10], [0, 20, 80]]
    assert correct_mean([0, 0, 100], table, [0, 0.5, 1]).value == pytest.approx(1.0, abs=1e-3)
    assert correct_mean([100, 0, 0], table, [0, 0.5, 1]).value == pytest.approx(0.0, abs=1e-3)


def test_a_judge_that_says_the_same_to_all_is_not_inverted() -> None:
    found = correct_mean([10, 80, 10], [[0, 50, 0], [0, 50, 0], [0, 50, 0]], [0, 0.5, 1])
    assert found.value is None
    assert found.informedness == pytest.approx(0.0)
    assert found.reason == "it cannot tell right replies from wrong ones"


def test_a_corrected_mean_near_none_is_that_of_the_formula() -> None:
    """5 of 11 said yes, by a judge with specificity 11/20: (5/11 + 11/20 - 1) / (11/20) = 1/121."""
    table = [[20, 0, 0], [0, 20, 0], [9, 0, 11]]
    corrected = correct_mean([5, 0, 6], table, [1.0, 0.5, 0.0])
    assert corrected.value == pytest.approx(1 / 121, abs=1e-12)
    assert correct_mean([9, 0, 11], table, [1.0, 0.5, 0.0]).value == pytest.approx(0.0, abs=1e-12)


def test_contrast_of_two_labels_is_informedness_and_a_mixture_has_none() -> None:
    assert compute_contrast(np.array([[8.0, 2.0], [1.0, 9.0]])).value == pytest.approx(0.7)
    middle = np.array([[0.9, 0.1, 0.0], [0.45, 0.1, 0.45], [0.0, 0.1, 0.9]])
    assert compute_contrast(middle).value == pytest.approx(0.0, abs=1e-9), "half yes, half no looks like the middle"
    assert compute_contrast(np.eye(3)).value == pytest.approx(1.0)


def test_kappas_interval_holds_what_is_known() -> None:
    """Of 400 questions the interval is near the asymptotic one: κ 0.4, standard error about 0.046 (Cohen 1960)."""
    found = kappa_limits([[160, 40], [80, 120]])
    assert found.low == pytest.approx(0.4 - 1.96 * 0.046, abs=0.012)
    assert found.high == pytest.approx(0.4 + 1.96 * 0.046, abs=0.012)
    few, many = kappa_limits([[10, 0], [0, 10]]), kappa_limits([[300, 0], [0, 300]])
    assert few.high == many.high == 1.0
    assert few.low is not None
    assert many.low is not None
    assert few.low < 0.95 < many.low, "no error among a few does not prove that there is none"
    assert kappa_limits([[0, 0], [0, 0]]).low is None


def test_kappa_by_hand() -> None:
    """Cohen 1960's form: agreement 0.7, chance 0.5·0.6 + 0.5·0.4 = 0.5."""
    assert kappa([[20, 5], [10, 15]]) == pytest.approx(0.4)
    assert kappa([[50, 0], [0, 0]]) is None
    assert kappa([[0, 0], [0, 0]]) is None


def heard(table: Sequence[Sequence[int]], values: tuple[float, ...]) -> ExamTable:
    return ExamTable(values, values, tuple(tuple(row) for row in table))


def test_a_flawless_judge_of_a_long_exam_leaves_what_was_said() -> None:
    low, high = bounds((0.7, 0.8), heard([[20_000, 0], [0, 20_000]], (1.0, 0.0)), 0.05)
    assert low == pytest.approx(0.7, abs=0.002)
    assert high == pytest.approx(0.8, abs=0.002)
    assert low <= 0.7
    assert high >= 0.8


def test_what_a_lenient_judge_says_is_bounded_by_what_its_errors_make_of_it() -> None:
    """Sensitivity 0.98, specificity 0.7.

    By hand, least where what is right was settled without the judge: (0.85 - 0.3) / 0.7; most where what is wrong
    was: 0.85 / 0.98.
    """
    low, high = bounds((0.85, 0.85), heard([[98_000, 2_000], [30_000, 70_000]], (1.0, 0.0)), 0.05)
    assert low == pytest.approx(0.7857, abs=0.01)
    assert high == pytest.approx(0.8673, abs=0.01)


def test_a_short_exam_bounds_little_and_none_nothing_on_its_side() -> None:
    short = bounds((0.85, 0.9), heard([[10, 0], [0, 10]], (1.0, 0.0)), 0.05)
    long = bounds((0.85, 0.9), heard([[200, 0], [0, 200]], (1.0, 0.0)), 0.05)
    assert short[0] < long[0] < 0.85
    assert bounds((0.85, 0.9), heard([[200, 0], [0, 0]], (1.0, 0.0)), 0.05)[0] == 0.0


def test_ratings_are_bounded_as_shares_are() -> None:
    """A judge that calls half of the partly grounded fully grounded: 0.75 said of them, 0.5 true."""
    table = [[40_000, 0, 0], [20_000, 20_000, 0], [0, 0, 40_000]]
    low, high = bounds((0.75, 0.75), heard(table, (1.0, 0.5, 0.0)), 0.05)
    assert low == pytest.approx(0.5, abs=0.01)
    assert high == pytest.approx(0.75, abs=0.01)
