"""That intervals and tests hold their level: small seeded versions of the simulations in `tests.benchmarks`."""

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.benchmarks import comparisons, coverage, regression
from tests.helpers.simulated import SHARES

pytestmark = pytest.mark.slow

FEW = (0.1, 0.5, 0.9)


@pytest.mark.parametrize(
    ("draw", "n", "repeats", "shared"),
    [
        (coverage.cell, 5, 1, 0),
        (coverage.cell, 10, 5, 0),
        (coverage.cell, 30, 5, 10),
        (coverage.cell, 100, 1, 20),
        (coverage.grades, 10, 1, 0),
        (coverage.grades, 30, 5, 10),
        (coverage.two_metrics, 10, 1, 0),
        (coverage.total, 5, 1, 0),
        (coverage.total, 10, 5, 5),
        (coverage.total, 30, 1, 10),
        (coverage.overall, 10, 1, 5),
    ],
)
def test_an_interval_holds_the_truth(draw: coverage.Draw, n: int, repeats: int, shared: int) -> None:
    """40 draws at each of three shares: what holds 95 % holds 108 of these 120 or more in 99 of 100 cases.

    What holds 85 % does so in 7 of 100; what always holds the truth, which is too wide, holds all 120.
    """
    held, _ = coverage.measure(draw, n, repeats, shared, draws=40, listed=FEW)
    assert 0.9 <= held.mean() < 1
    assert held.min() >= 0.8


@pytest.mark.parametrize("draw", [coverage.cell, coverage.grades, coverage.total])
@pytest.mark.parametrize("shared", [0, 10])
def test_asking_five_times_is_never_worth_less_than_once(draw: coverage.Draw, shared: int) -> None:
    """Of 16 draws: widths vary little from one to the next."""
    once, often = (coverage.measure(draw, 30, repeats, shared, draws=16, listed=FEW)[1] for repeats in (1, 5))
    assert (often < once).all()


def test_the_shares_are_those_that_coverage_is_stated_of() -> None:
    assert (min(SHARES), max(SHARES)) == (0.05, 0.98)


@pytest.mark.parametrize(
    "name", ["plain", "five times asked", "unequal families", "12 templates, unequal", "7 templates"]
)
def test_equal_models_are_told_apart_by_chance_alone(name: str) -> None:
    """25 whole comparisons: at 5 % more than 4 come once in 140 times, at 20 % in 58 of 100."""
    assert comparisons.equal(comparisons.DESIGNS[name], draws=25) <= 4


@pytest.mark.parametrize(
    "name",
    [
        "yes/no, 100",
        "grades, 60, one of five",
        "yes/no, 300, 20 templates",
        "yes/no, 350, 7 templates",
    ],
)
def test_a_detectable_difference_is_found_as_stated(name: str) -> None:
    """32 of 40, give or take two standard errors and the 5 points that a normal approximation may err."""
    stated, found = comparisons.power(comparisons.TRIALS[name], draws=40)
    assert 0.05 < stated < 0.25
    assert 0.62 <= found / 40 <= 0.98


@pytest.mark.parametrize(
    "name", ["yes/no, 100", "yes/no, 300, 4 suites", "12 templates", "7 templates", "families of 5 to 100"]
)
def test_equal_runs_are_called_regressed_by_chance_alone(name: str) -> None:
    """At 5 % of 80 pairs of runs more than 9 come once in 150 times, at 20 % in 97 of 100."""
    wrong, _ = regression.equal(regression.DESIGNS[name], pairs=80)
    assert wrong <= 9


@pytest.mark.parametrize("max_drop", [0.0, 0.02])
def test_a_drop_of_13_points_is_found_in_200_questions(max_drop: float) -> None:
    """One suite, no templates, one pair in five differs: in at least 90 % of runs."""
    assert regression.dropped(200, 0.2, 0.13, max_drop, pairs=200) >= 180


def test_the_drop_that_is_stated_is_found_in_four_of_five() -> None:
    stated, found = regression.stated(regression.Design(300, max_drop=0.02), pairs=200)
    assert 0.08 < stated < 0.13
    assert 0.7 <= found / 200 <= 0.9


def test_templates_that_are_ignored_would_tell_equal_models_apart() -> None:
    """What is wrong with questions as units: of 12 templates of 20, equal models differ in one of five."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(100):
        odds = 0.8 + rng.normal(0, 1.0, (2, 12))[:, np.arange(240) % 12]
        right = rng.random((2, 240)) < 1 / (1 + np.exp(-odds))
        lost, won = (right[0] & ~right[1]).sum(), (~right[0] & right[1]).sum()
        wrong += binomtest(int(lost), int(lost + won)).pvalue < 0.05
    assert wrong > 12
