"""The search for a level: what answers say, where the next question goes, and whether a scale holds."""

import numpy as np
import pytest

from metrics.stats.intervals import Codes
from metrics.stats.psychometric import CurveGrid, falling, order


def counts(*numbers: int) -> Codes:
    return np.array(numbers, np.int64)


def test_answers_that_mirror_each_other_put_the_level_in_the_middle() -> None:
    search = CurveGrid([0.0] * 7)
    asked, right = counts(2, 3, 6, 8, 6, 3, 2), counts(2, 3, 5, 4, 1, 0, 0)
    found = search.level(asked, right)
    assert found.at == pytest.approx(4.0, abs=1e-6)
    assert found.high - 4 == pytest.approx(4 - found.low, abs=1e-6)
    band = search.band(asked, right)
    assert [mean for mean, _, _ in band] == sorted((mean for mean, _, _ in band), reverse=True)
    assert band[3][0] == pytest.approx(0.5, abs=1e-6)
    assert all(low <= mean <= high for mean, low, high in band)


def test_more_answers_of_the_same_shares_narrow_the_interval() -> None:
    search = CurveGrid([0.0] * 5)
    few = search.level(counts(4, 4, 4, 4, 4), counts(4, 3, 2, 1, 0))
    many = search.level(counts(40, 40, 40, 40, 40), counts(40, 30, 20, 10, 0))
    assert many.high - many.low < (few.high - few.low) / 2
    assert few.low < many.low < 3 < many.high < few.high


def test_all_right_and_all_wrong_lie_beyond_the_scale() -> None:
    search = CurveGrid([0.0] * 6)
    asked = counts(5, 5, 5, 5, 5, 20)
    assert search.level(asked, asked).low > 6
    assert search.level(asked[::-1], counts(0, 0, 0, 0, 0, 0)).high < 1


def test_what_a_guess_is_right_moves_no_level_up() -> None:
    """One of four right at the hardest is nothing to a model that guesses among four."""
    asked, right = counts(10, 10, 20, 20), counts(10, 6, 5, 5)
    plain, guessed = CurveGrid([0.0] * 4).level(asked, right), CurveGrid([0.25] * 4).level(asked, right)
    assert guessed.high < plain.high


def test_every_rung_is_asked_first_and_then_where_the_level_may_be() -> None:
    search = CurveGrid([0.0] * 8)
    nothing = counts(*[0] * 8)
    assert search.ask(nothing, nothing, 8).tolist() == [1] * 8
    assert search.ask(nothing, nothing, 3).tolist() == [1, 0, 0, 0, 1, 0, 0, 1]
    plan = search.ask(counts(*[1] * 8), counts(1, 1, 1, 1, 0, 0, 0, 0), 4)
    assert plan.sum() == 4
    assert plan[:2].sum() == plan[6:].sum() == 0
    assert plan.tolist() == search.ask(counts(*[1] * 8), counts(1, 1, 1, 1, 0, 0, 0, 0), 4).tolist()


@pytest.mark.parametrize(
    ("asked", "right", "shares"),
    [
        ((4, 4, 4), (4, 2, 0), (1, 0.5, 0)),
        ((4, 4, 4), (0, 2, 4), (0.5, 0.5, 0.5)),
        ((2, 2, 4, 2), (2, 0, 2, 0), (1, 1 / 3, 1 / 3, 0)),
        ((1, 3, 2), (1, 1, 2), (1, 0.6, 0.6)),
    ],
)
def test_shares_that_rise_are_pooled(
    asked: tuple[int, ...], right: tuple[int, ...], shares: tuple[float, ...]
) -> None:
    """By hand: adjacent violators are joined until nothing rises."""
    assert falling(counts(*asked), counts(*right)).tolist() == pytest.approx(shares)


def test_a_scale_that_holds_is_not_doubted_and_one_that_does_not_is() -> None:
    assert order(counts(5, 5, 5), counts(5, 3, 0)).p == 1.0
    assert order(counts(5, 5, 5), counts(5, 3, 0)).rises is None
    slight = order(counts(5, 5, 5), counts(4, 5, 1))
    assert slight.p > 0.2
    found = order(counts(10, 0, 10, 10), counts(1, 0, 9, 5))
    assert found.p < 0.01
    assert found.rises == (1, 3)
    assert order(counts(10, 0, 0), counts(3, 0, 0)).p == 1.0
