"""Confidence sequences and the suites that stop by them: exact martingales, exact error, decisions by hand."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import polars as pl
import pytest

from basic_control.data.errors import InputError
from basic_control.data.suites import Stop, Suite
from basic_control.metrics.analysis.stopping import (
    ConfidenceSequence,
    compute_sequences,
    cut_into_rounds,
    ends,
    list_undecided,
    sequences,
)
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.stats import sequential
from basic_control.metrics.stats.sequential import Look, follow
from tests.acceptance import references, tables
from tests.helpers.verdicts import finalise

ALPHA = 0.05
MEANS = (0.02, 0.1, 0.3, 0.5, 0.8, 0.95)
LENGTH = 16


def wealth(values: Sequence[float], m: float) -> float:
    """Return what betting on a mean above m has made of 1: the mean over the bets, each a product."""
    return float(np.mean([math.prod(1 + part * (value / m - 1) for value in values) for part in sequential.PARTS]))


def refused(values: Sequence[float], m: float, alpha: float = ALPHA) -> bool:
    """Say whether either gambler has multiplied the capital by 2 / alpha against a mean of m."""
    mirrored = [1 - value for value in values]
    return max(wealth(values, m) if m else 1.0, wealth(mirrored, 1 - m) if m < 1 else 1.0) >= 2 / alpha


def ones(k: int, n: int) -> list[float]:
    return [1.0] * k + [0.0] * (n - k)


@cache
def limits(k: int, n: int) -> tuple[float, float]:
    """Return the interval after n values of which k are 1, looked at once."""
    look = follow(ones(k, n), alpha=ALPHA, looks=[n])[0]
    return look.low, look.high


@pytest.mark.parametrize("m", MEANS)
def test_the_capital_is_a_fair_game_where_m_is_the_mean(m: float) -> None:
    expected = 0.0
    for k in range(9):
        chance = math.comb(8, k) * m**k * (1 - m) ** (8 - k)
        capital = math.exp(sequential.capital(np.array([1.0, 0.0]), np.array([k, 8.0 - k]), m))
        assert capital == pytest.approx(wealth(ones(k, 8), m))
        expected += chance * capital
    assert expected == pytest.approx(1.0)


@pytest.mark.parametrize("values", [[0.0, 0.25, 1.0], [0.9] * 12, [0.1, 0.5, 0.6] * 10, ones(30, 30), ones(1, 40)])
def test_limits_are_where_a_gambler_has_won_enough(values: list[float]) -> None:
    look = follow(values, alpha=ALPHA, looks=[len(values)])[0]
    assert look.mean == pytest.approx(np.mean(values))
    for end, inwards in ((look.low, 1e-5), (look.high, -1e-5)):
        if 1e-4 < end < 1 - 1e-4:
            assert not refused(values, end + inwards)
            assert refused(values, end - inwards)
        else:
            assert not refused(values, min(max(end, 1e-3), 1 - 1e-3))


@pytest.mark.parametrize("truth", MEANS)
def test_the_chance_of_ever_being_wrong_is_at_most_alpha(truth: float) -> None:
    """Count out every sequence of yes/no values, looked at after each: those that were never wrong go on."""
    going, wrong = {0: 1.0}, 0.0
    for n in range(1, LENGTH + 1):
        after: dict[int, float] = {}
        for k, chance in going.items():
            for one in (0, 1):
                after[k + one] = after.get(k + one, 0.0) + chance * (truth if one else 1 - truth)
        going = {}
        for k, chance in after.items():
            low, high = limits(k, n)
            if low <= truth <= high:
                going[k] = chance
            else:
                wrong += chance
    assert wrong <= ALPHA


DRAWS: tuple[tuple[Callable[[np.random.Generator], references.Floats], float], ...] = (
    (lambda rng: rng.beta(2, 1, 300), 2 / 3),
    (lambda rng: rng.choice([0.0, 0.5, 1.0], 300, p=[0.1, 0.1, 0.8]), 0.85),
    (lambda rng: (rng.random(300) < 0.97).astype(float), 0.97),
)


@pytest.mark.parametrize(("draw", "truth"), DRAWS)
def test_the_sequence_covers_at_every_look_at_once(
    draw: Callable[[np.random.Generator], references.Floats], truth: float
) -> None:
    """In 400 runs a gambler seldom ever wins enough; and where one does, the sequence has refused the truth."""
    rng, alpha, missed = np.random.default_rng(8), 0.1, 0
    for run in range(400):
        values = draw(rng)
        won = [
            np.cumprod(1 + sequential.PARTS[:, None] * (side / m - 1), axis=1) for side, m in _sides(values, truth)
        ]
        ever = np.maximum(*(one.mean(axis=0) for one in won)) >= 2 / alpha
        missed += ever.any()
        if run < 8:
            seen = ever[[29, 99]].any()
            last = follow(values[:100], alpha=alpha, looks=[30, 100])[-1]  # the intersection of both
            assert (last.low <= truth <= last.high) == (not seen)
    assert missed <= alpha * 400


def _sides(values: references.Floats, truth: float) -> tuple[tuple[references.Floats, float], ...]:
    return (values, truth), (1 - values, 1 - truth)


def test_looks_intersect_and_those_beyond_the_end_are_left_out() -> None:
    values = np.random.default_rng(4).random(60)
    looks = follow(values, alpha=ALPHA, looks=[10, 20, 40, 60, 80])
    assert [look.n for look in looks] == [10, 20, 40, 60]
    for before, after in itertools.pairwise(looks):
        assert before.low <= after.low <= after.high <= before.high
    assert [look.mean for look in looks] == pytest.approx([values[: look.n].mean() for look in looks])


def test_each_of_several_sequences_spends_an_equal_share() -> None:
    assert sequential.divide_alpha(0.05, 4) == pytest.approx(0.0125)
    wide, narrow = (follow(ones(40, 50), alpha=alpha, looks=[50])[0] for alpha in (0.0125, 0.05))
    assert wide.low < narrow.low < 0.8 < narrow.high < wide.high


@pytest.mark.parametrize("seed", range(3))
def test_differences_are_followed_as_half_of_one_more(seed: int) -> None:
    differences = np.random.default_rng(seed).choice([-1.0, -0.5, 0.0, 1.0], 50)
    found = follow(differences, alpha=ALPHA, looks=[20, 50], bounds=(-1.0, 1.0))
    halved = follow((differences + 1) / 2, alpha=ALPHA, looks=[20, 50])
    for one, other in zip(found, halved, strict=True):
        assert (one.low, one.mean, one.high) == pytest.approx(
            (2 * other.low - 1, 2 * other.mean - 1, 2 * other.high - 1), abs=1e-6
        )


def test_what_may_be_more_reaches_up_to_it() -> None:
    least, most = ones(30, 50), ones(40, 50)
    found = follow(least, alpha=ALPHA, looks=[50], ceiling=most)[0]
    assert found.low == pytest.approx(follow(least, alpha=ALPHA, looks=[50])[0].low)
    assert found.high == pytest.approx(follow(most, alpha=ALPHA, looks=[50])[0].high)


@pytest.mark.parametrize("values", [[1.5], [0.5, -0.1], [float("nan")]])
def test_values_out_of_bounds_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"\d|nan"):
        follow(values, alpha=ALPHA)


@pytest.mark.parametrize(
    ("low", "high", "side"),
    [(0.81, 0.9, "above"), (0.7, 0.79, "below"), (0.7, 0.9, ""), (0.8, 0.9, ""), (0.7, 0.8, ""), (0.0, 1.0, "")],
)
def test_a_threshold_is_decided_only_where_it_is_excluded(low: float, high: float, side: str) -> None:
    look = Look(n=10, mean=(low + high) / 2, low=low, high=high)
    assert sequential.side(look, 0.8) == side
    assert sequential.find_decided([Look(5, 0.5, 0.0, 1.0), look], 0.8) == (look if side else None)


Put = tuple[Suite, pl.DataFrame, tuple[ConfidenceSequence, ...]]


def put(rows: Mapping[str, Sequence[tables.Row]], threshold: float = 0.8, **stop: object) -> Put:
    """Return a suite that stops, its items, and what its sequences say of these rows."""
    rule = Stop.model_validate({"first": 10, "most": 1000, **stop})
    suite, items = tables.suite(threshold, stop=rule.model_dump()), tables.items(len(rows["a"]))
    return (
        suite,
        items,
        compute_sequences(cut_into_rounds(items, suite, rule), tables.scores(rows), suite, [*rows], ALPHA),
    )


@pytest.mark.parametrize(
    ("right", "threshold", "side"),
    [(200, 0.8, "above"), (0, 0.8, "below"), (160, 0.8, ""), (100, 0.8, "below"), (196, 0.8, "above")],
)
def test_a_gate_is_decided_on_the_side_where_all_that_is_left_lies(right: int, threshold: float, side: str) -> None:
    rows: Sequence[tables.Row] = [("scored", float(k * right // 200 < (k + 1) * right // 200)) for k in range(200)]
    suite, items, found = put({"a": rows}, threshold)
    assert len(found) == 1
    assert (found[0].side, found[0].decided is not None) == (side, bool(side))
    if right in {0, 200}:  # then the order says nothing
        values = ones(right, 200)
        for look, questions in zip(found[0].looks, found[0].questions, strict=True):
            assert refused(values[: look.n], threshold) == (questions >= (found[0].decided or math.inf))
    summary = summarise(tables.scores({"a": rows}), items)
    model = finalise(summary, models=["a"], suites=[suite], threshold=threshold, stopping=found).models[0]
    assert model.headlines[0].decided.outcome == {"above": "pass", "below": "fail", "": "undecided"}[side]
    assert list_undecided(found, suite, ["a"]) == ([] if side else ["a"])


def test_cut_replies_keep_a_sequence_from_deciding_between_their_bounds() -> None:
    right: Sequence[tables.Row] = [("scored", 1.0)] * 120
    lost: Sequence[tables.Row] = [("scored", 0.0)] * 80
    cut: Sequence[tables.Row] = [("truncated", 0.0)] * 80
    assert put({"a": [*right, *lost]})[2][0].side == "below"
    found = put({"a": [*right, *cut]})[2][0]
    assert found.side == ""
    last = found.looks[-1]
    assert last.low < 0.6
    assert last.high > 0.8
    assert last.high == pytest.approx(1.0)


def test_two_models_are_told_apart_by_their_differences() -> None:
    better: Sequence[tables.Row] = [("scored", 1.0)] * 100
    worse: Sequence[tables.Row] = [("scored", 0.0)] * 100
    _, _, found = put({"a": better, "b": worse}, when="ranked")
    pair = next(one for one in found if one.against)
    sign = 1.0 if (pair.model, pair.against) == ("a", "b") else -1.0
    assert (pair.threshold, pair.looks[-1].mean, pair.side) == (0.0, sign, "above" if sign > 0 else "below")
    _, _, same = put({"a": better, "b": better}, when="ranked")
    assert next(one for one in same if one.against).side == ""
    suite = tables.suite(stop={"when": "ranked"})
    assert sequences(suite, 3) == len(put(dict.fromkeys("abc", better), when="ranked")[2])


def strata(counts: dict[str, int], seed: int = 0) -> tuple[pl.DataFrame, Suite, Stop]:
    """Return items of families in turn, and a suite of a TOTAL."""
    families = [family for family, count in counts.items() for _ in range(count)]
    items = tables.items(len(families)).with_columns(family=pl.Series(families))
    suite = tables.suite(strata="family", items={"loader": "families", "seed": seed})
    return items, suite, Stop(first=4, most=1000)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_the_seeds_and_the_contents_alone(seed: int) -> None:
    items, suite, stop = strata({"one": 20, "two": 20}, seed)
    ways = (items, items.reverse(), items.sample(fraction=1.0, shuffle=True, seed=9))
    orders = [[*pl.concat(cut_into_rounds(one, suite, stop))["item_id"]] for one in ways]
    assert orders[0] == orders[1] == orders[2]
    assert sorted(orders[0]) == sorted(items["item_id"])
    _, other, _ = strata({"one": 20, "two": 20}, seed + 100)
    assert [*pl.concat(cut_into_rounds(items, other, stop))["item_id"]] != orders[0]


def test_rounds_take_strata_in_equal_shares() -> None:
    items, suite, stop = strata({"one": 20, "two": 20, "three": 20})
    for batch in cut_into_rounds(items, suite, stop):
        counts = batch["family"].value_counts()["count"]
        assert counts.to_list() == [batch.height // 3] * 3
    assert all(end % 3 == 0 for end in ends(stop, 3, 60))
    assert [*ends(stop, 3, 60)] == sorted(set(ends(stop, 3, 60)))
    with pytest.raises(InputError):
        cut_into_rounds(items, suite, Stop(first=1, most=2))


def test_a_total_is_followed_by_rounds_of_one_item_of_every_stratum() -> None:
    items, suite, stop = strata({"one": 100, "two": 100})
    values: Sequence[tables.Row] = [("scored", 1.0)] * 100 + [("scored", 0.0)] * 100
    found = compute_sequences(
        cut_into_rounds(items, suite, stop), tables.scores({"a": values}), suite, ["a"], ALPHA
    )[0]
    last = found.looks[-1]
    assert (last.n, last.mean, found.questions[-1]) == (100, 0.5, 200)  # each round comes to one half
    expected = follow([0.5] * 100, alpha=ALPHA, looks=[look.n for look in found.looks])[-1]
    assert (last.low, last.high) == pytest.approx((expected.low, expected.high))
    assert found.side == "below"


def test_what_failed_could_be_anything() -> None:
    """50 right and 10 failed of 100: the mean lies between that of 50 and that of 60 right."""
    rows: Sequence[tables.Row] = [
        *[("scored", 1.0)] * 50,
        *[("model_error", None)] * 10,
        *[("no_answer", 0.0)] * 40,
    ]
    found = put({"a": rows})[2][0]
    last = found.looks[-1]
    assert (last.n, last.mean) == pytest.approx((100, 0.5))
    plain = [[*[("scored", 1.0)] * n, *[("scored", 0.0)] * (100 - n)] for n in (50, 60)]
    low, high = (put({"a": rows})[2][0].looks[-1] for rows in plain)
    assert (last.low, last.high) == pytest.approx((low.low, high.high))
