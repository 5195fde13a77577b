"""A cascade on one reply, and what probabilities say of its score."""

import json

import pytest

from basic_control.metrics.cascade import Decider, confidence_in, decides_alone, is_checked, join, mean_value_in
from basic_control.metrics.judging import advance, begin, outcome
from basic_control.metrics.response_groundedness import response_groundedness
from basic_control.metrics.stats.cascade import CascadeRule


def answer(shares: dict[str, float]) -> str:
    return json.dumps({"probabilities": [*shares.items()]})


ORDERS = {
    "compare": {
        "ab": {"first": 0.6, "second": 0.3, "tie": 0.1},
        "ba": {"first": 0.2, "second": 0.7, "tie": 0.1},
    }
}


@pytest.mark.parametrize(
    ("probabilities", "mean"),
    [
        ({"rate": {"rating": {"0": 0.2, "1": 0.5, "2": 0.3}}}, 0.55),
        ({"rate": {"polite": {"1": 0.0, "2": 0.0, "3": 1.0}, "short": {"1": 0.5, "2": 0.0, "3": 0.5}}}, 0.75),
        ({"rate": {"rating": {"-1": 0.5, "0": 0.5, "1": 0.0}}}, 0.25),
        # (0.6 + 0.7) / 2 better, a tenth a tie.
        (ORDERS, 0.7),
        ({"support": {"c1": {"ENTAILMENT": 0.5, "NEUTRAL": 0.5}}}, None),
        ({}, None),
    ],
)
def test_the_mean_score_by_probabilities(
    probabilities: dict[str, dict[str, dict[str, float]]], mean: float | None
) -> None:
    found = mean_value_in(probabilities)
    assert found == (None if mean is None else pytest.approx(mean))


def test_the_confidence_of_a_comparison_is_that_of_what_both_orders_say_together() -> None:
    assert confidence_in(ORDERS, 1.0) == pytest.approx(0.65)
    assert confidence_in(ORDERS, 0.0) == pytest.approx(0.25)
    assert confidence_in({"rate": {"a": {"1": 0.9, "2": 0.1}, "b": {"1": 0.4, "2": 0.6}}}, 0.5) == 0.6
    assert confidence_in({}, 1.0) is None
    assert confidence_in(ORDERS, None) is None


def test_a_random_share_is_checked_and_always_the_same() -> None:
    checked = [is_checked(f"reply {n}", 0.05) for n in range(4000)]
    assert 150 < sum(checked) < 250
    assert checked == [is_checked(f"reply {n}", 0.05) for n in range(4000)]
    assert not any(is_checked(f"reply {n}", 0.0) for n in range(100))
    assert all(is_checked(f"reply {n}", 1.0) for n in range(100))


def test_the_small_judge_stands_where_it_is_sure_enough_and_the_large_one_elsewhere() -> None:
    sample = {"response": "It sank.", "retrieved_contexts": ["The ship sank in 1912."]}
    opened = begin(response_groundedness, sample, language="en", decides=True)
    sure = advance(opened, [answer({"0": 0.05, "1": 0.05, "2": 0.9})])
    unsure = advance(opened, [answer({"0": 0.4, "1": 0.3, "2": 0.3})])
    large = advance(begin(response_groundedness, sample, language="en"), ['{"reason": "as it is", "rating": 1}'])
    decider = Decider(CascadeRule(0.9, 100, 60, 1, 0.08), "labels")
    assert decides_alone(sure, decider)
    assert not decides_alone(unsure, decider)
    assert not decides_alone(sure, Decider(CascadeRule(None, 10)))
    assert not decides_alone(sure, None)
    alone = join(sure, None, ("small", "large"), alone=True)
    assert (outcome(alone).value, alone.cascade["by"], alone.cascade["checked"]) == (1.0, "small", False)
    escalated = join(unsure, large, ("small", "large"), alone=False)
    assert (outcome(escalated).value, escalated.cascade["by"]) == (0.5, "large")
    checked = join(sure, large, ("small", "large"), alone=True)
    assert outcome(checked).value == 1.0, "a check replaces nothing"
    assert (checked.cascade["small"], checked.cascade["large"]) == (1.0, 0.5)
    settled = begin(response_groundedness, {**sample, "response": ""}, language="en", decides=True)
    assert decides_alone(settled, None), "no judge is needed"
    assert join(settled, None, ("small", "large"), alone=True) is settled
