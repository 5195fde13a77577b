"""From which confidence on a small judge decides alone: the golden, by hand, and against an exact oracle."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from basic_control.metrics.stats.cascade import (
    CascadeRule,
    LabelledAnswer,
    find_least_items,
    find_rule,
    is_alone,
    lower_bound,
    upper_bound,
)


def ranked(n: int, wrong: set[int]) -> list[LabelledAnswer]:
    """Return n answers of distinct confidence, those at the given ranks wrong."""
    return [LabelledAnswer(1 - rank / 1000, rank in wrong) for rank in range(1, n + 1)]


def exceeds(k: int, n: int, error: Fraction, level: Fraction) -> bool:
    """Say in exact arithmetic whether the upper bound of k of n lies above an error: P(X ≤ k) > level there."""
    tail = sum(comb(n, i) * error**i * (1 - error) ** (n - i) for i in range(k + 1))
    return tail > level


def test_golden() -> None:
    assert find_least_items(0.1, 0.05) == 46
    rule = find_rule(ranked(100, {50, 70, 71, 72, 90}), error=0.1, level=0.05)
    assert (rule.n_alone, rule.n_wrong, rule.n_labelled) == (70, 2, 100)
    assert rule.confidence == pytest.approx(1 - 70 / 1000)
    assert rule.bound is not None
    assert rule.bound <= 0.1
    assert round(upper_bound(3, 71, 0.05), 4) == 0.1056
    assert rule.share == 0.7


@pytest.mark.parametrize("error", [Fraction(1, 20), Fraction(1, 10), Fraction(1, 5)])
@pytest.mark.parametrize("level", [Fraction(1, 20), Fraction(1, 10)])
def test_the_bound_is_exact(error: Fraction, level: Fraction) -> None:
    for n in range(1, 130, 7):
        for k in range(min(n, 5)):
            assert (upper_bound(k, n, float(level)) > float(error)) == exceeds(k, n, error, level), (k, n)
    start = find_least_items(float(error), float(level))
    assert not exceeds(1, start, error, level)
    assert exceeds(1, start - 1, error, level)
    assert lower_bound(3, 10, float(level)) == pytest.approx(1 - upper_bound(7, 10, float(level)))


def test_equal_confidences_are_decided_together_or_not_at_all() -> None:
    sure = [LabelledAnswer(0.9, is_wrong=False)] * 60
    rule = find_rule([*sure, *[LabelledAnswer(0.8, is_wrong=n < 20) for n in range(40)]], error=0.1, level=0.05)
    assert (rule.n_alone, rule.confidence) == (60, 0.9)
    # The first group holds more than the least number, and too many errors.
    crowd = [LabelledAnswer(0.9, is_wrong=n < 20) for n in range(100)]
    assert find_rule(crowd, error=0.1, level=0.05) == CascadeRule(None, 100)


@pytest.mark.parametrize("answers", [[], ranked(45, set()), ranked(100, set(range(1, 30)))])
def test_without_enough_right_answers_the_large_judge_decides_all(answers: list[LabelledAnswer]) -> None:
    rule = find_rule(answers, error=0.1, level=0.05)
    assert rule.confidence is None
    assert rule.share == 0.0
    assert not is_alone(rule, 1.0)


def test_an_error_early_on_does_not_stop_before_the_least_number() -> None:
    assert find_rule(ranked(60, {1}), error=0.1, level=0.05).n_alone == 60
    assert find_rule(ranked(60, {1, 2}), error=0.1, level=0.05).confidence is None


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("kind", ["calibrated", "sure", "useless"])
def test_the_true_error_of_what_is_decided_alone_seldom_exceeds_what_is_tolerated(kind: str, n: int) -> None:
    from tests.benchmarks.cascades import simulate

    found = simulate(kind, n, draws=300, error=0.1, level=0.05, rng=np.random.default_rng(n))
    assert found.exceeded <= 0.05 + 0.02
