"""How far probabilities can be believed: figures by hand, and what judges of known calibration show."""

import numpy as np
import pytest

from basic_control.metrics.stats.reliability import reliability

YES_NO = ("yes", "no")


def answers(confidence: list[float], is_right: list[bool]) -> tuple[list[str], list[str], list[dict[str, float]]]:
    """Return truths, verdicts and probabilities of a judge that always says yes."""
    truths = ["yes" if right else "no" for right in is_right]
    return truths, ["yes"] * len(truths), [{"yes": share, "no": 1 - share} for share in confidence]


def test_the_figures_are_those_computed_by_hand() -> None:
    found = reliability(*answers([0.9, 0.6], [True, False]))
    assert found is not None
    # (0.1² + 0.6²) / 2; each answer is a bin of its own: (|0.9 - 1| + |0.6 - 0|) / 2.
    assert found.brier == pytest.approx(0.185)
    assert found.error == pytest.approx(0.35)
    assert [(one.n, one.confidence, one.right) for one in found.bins] == [(1, 0.6, 0.0), (1, 0.9, 1.0)]


def test_of_three_labels_the_squares_of_all_are_added() -> None:
    found = reliability(["a"], ["a"], [{"a": 0.5, "b": 0.3, "c": 0.2}])
    assert found is not None
    assert found.brier == pytest.approx(0.25 + 0.09 + 0.04)


def test_ten_bins_hold_equal_counts_in_order_of_confidence() -> None:
    confidence = [0.5 + n / 250 for n in range(105)]
    found = reliability(*answers(confidence[::-1], [True] * 105))
    assert found is not None
    assert sorted(one.n for one in found.bins) == [10] * 5 + [11] * 5
    means = [one.confidence for one in found.bins]
    assert means == sorted(means)


def test_an_over_confident_judge_has_an_error_that_a_calibrated_one_has_not() -> None:
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.5, 1.0, 2000)
    calibrated = reliability(*answers(shares.tolist(), (rng.random(2000) < shares).tolist()))
    sure = reliability(*answers([0.97] * 2000, (rng.random(2000) < 0.7).tolist()))
    assert calibrated is not None
    assert sure is not None
    assert calibrated.error < 0.06
    assert sure.error == pytest.approx(0.27, abs=0.03)
    low, high = sure.error_interval.low, sure.error_interval.high
    assert low is not None
    assert high is not None
    assert low < sure.error < high


def test_without_answers_there_is_nothing_to_measure() -> None:
    assert reliability([], [], []) is None
