"""Baselines, regressions and paired comparisons, against exact tests that count everything out."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from basic_control.metrics.analysis import pairs
from basic_control.metrics.stats import margins, power, regression
from basic_control.metrics.stats.intervals import combine_strata, part_of, wilson
from tests.acceptance import references, tables
from tests.helpers.verdicts import entry

COUNTS = [(0, 0), (1, 0), (0, 1), (0, 6), (1, 5), (3, 3), (12, 4), (0, 40), (20, 33), (2, 9)]
SMALL = [(won, lost) for won in range(8) for lost in range(8)]
MARGINS = (-0.02, 0.02, -0.1, 0.1, -0.3, 0.005)
DIFFERENCES = (
    [0.5, -0.25, -0.25, 0.0, -1.0, 0.1],
    [-0.1] * 8,
    [0.0] * 6,
    [0.3, 0.3, -0.3, -0.3],
    [-0.05, -0.05, -0.05, -0.05, -0.05, 0.4],
    [-1.0, -0.5, -0.25, -0.75, -0.3, -0.2, -0.9],
    [0.02, -0.02, 0.04, -0.04, 0.06, -0.06, 0.08, -0.08, 0.1],
    [-0.3],
)


def decided(sample: margins.PairedSample, max_drop: float, *, outlook: bool = True) -> regression.Regression:
    (decision,) = regression.regressions([sample], max_drop=max_drop, outlook=outlook)
    return decision


def held(won: int, lost: int, n: int, max_drop: float, right: int = 0) -> regression.Regression:
    return decided(tables.counted(won, lost, n, right), max_drop, outlook=False)


@pytest.mark.parametrize(("won", "lost"), SMALL)
def test_at_margin_0_the_test_is_the_exact_binomial_one(won: int, lost: int) -> None:
    n = 20
    assert margins.below(won, lost, n, 0.0) == pytest.approx(float(references.coin(lost, won + lost)))
    found = held(won, lost, n, 0.0)
    assert found.p_regressed == pytest.approx(float(references.coin(lost, won + lost)))
    assert found.p_held == pytest.approx(float(references.coin(won, won + lost)))


@pytest.mark.parametrize(
    ("won", "lost", "outcome", "p"),
    [
        (0, 40, "regressed", Fraction(1, 2**40)),
        (0, 6, "regressed", Fraction(1, 64)),
        (1, 5, "undecided", Fraction(7, 64)),
        (3, 3, "undecided", Fraction(42, 64)),
        (0, 0, "held", Fraction(1)),
        (0, 5, "regressed", Fraction(1, 32)),
        (0, 4, "undecided", Fraction(1, 16)),
        (5, 0, "held", Fraction(1)),
        (4, 0, "undecided", Fraction(1)),
        (1, 7, "regressed", Fraction(9, 256)),
        (2, 8, "undecided", Fraction(56, 1024)),
    ],
)
def test_golden_counts_at_margin_0(won: int, lost: int, outcome: str, p: Fraction) -> None:
    found = held(won, lost, 300, 0.0, right=200)
    assert found.p_regressed == pytest.approx(float(p), rel=1e-12)
    assert found.outcome == outcome
    sample = tables.counted(won, lost, 300, 200).observed
    assert sample
    assert (sample.n, sample.won, sample.lost, sample.yes_no) == (300, won, lost, True)


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize(("won", "lost"), COUNTS)
def test_the_score_is_tangos(won: int, lost: int, margin: float) -> None:
    n = 60
    expected = references.tango_score(won, lost, n, margin)
    assert margins.tango(won, lost, n, margin) == pytest.approx(expected, abs=1e-6)
    assert margins.below(won, lost, n, margin) == pytest.approx(stats.norm.cdf(expected), abs=1e-7)
    assert references.tango_scores(np.array([won]), np.array([lost]), n, margin)[0] == pytest.approx(
        expected, abs=1e-6
    )


@pytest.mark.parametrize("levels", [(0.05, 0.05), (0.025, 0.025), (0.01, 0.05)])
@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize(("won", "lost"), COUNTS)
def test_limits_are_tangos_but_for_what_the_exact_test_keeps(
    won: int, lost: int, n: int, levels: tuple[float, float]
) -> None:
    found = margins.PairCounts(won, lost, n).limits(levels)
    low, high = found.low, found.high
    least, most = references.tango_limits(won, lost, n, levels)
    if least > 0 and references.coin(won, won + lost) >= levels[0]:
        least = 0.0
    if most < 0 and references.coin(lost, won + lost) >= levels[1]:
        most = 0.0
    assert (low, high) == pytest.approx((least, most), abs=1e-6)


@pytest.mark.parametrize("max_drop", [0.0, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize(("won", "lost"), COUNTS)
def test_outcomes_follow_the_tests_and_the_interval_agrees(won: int, lost: int, n: int, max_drop: float) -> None:
    found = held(won, lost, n, max_drop)
    if max_drop:
        score = references.tango_score(won, lost, n, -max_drop)
        below, above = stats.norm.cdf(score), stats.norm.sf(score)
    else:
        below, above = (float(references.coin(k, won + lost)) for k in (lost, won))
    same = not max_drop and not won + lost
    expected = "regressed" if below < 0.05 else "held" if above < 0.05 or same else "undecided"
    assert (found.p_regressed, found.p_held) == pytest.approx((below, above), abs=1e-7)
    assert found.outcome == expected
    assert found.lower is not None
    assert found.upper is not None
    if won + lost:
        assert (found.upper < -max_drop) == (expected == "regressed")
        assert (found.lower > -max_drop) == (expected == "held")


@pytest.mark.parametrize("values", DIFFERENCES)
@pytest.mark.parametrize("margin", [0.0, -0.02, 0.05, -0.3])
def test_the_sign_flip_counts_every_pattern(values: list[float], margin: float) -> None:
    flips = margins.SignFlips(margins.differences(np.array(values), yes_no=False))
    assert flips.below(margin) == pytest.approx(float(references.flipped(values, margin)))
    mirrored = float(references.flipped([-value for value in values], -margin))
    assert flips.above(margin) == pytest.approx(mirrored)


@pytest.mark.parametrize("values", [one for one in DIFFERENCES if any(one)])
@pytest.mark.parametrize("max_drop", [0.0, 0.02, 0.3])
def test_partial_scores_are_flipped(values: list[float], max_drop: float) -> None:
    base = [1.0 if value < 0 else 0.0 for value in values]
    run = [one + value for one, value in zip(base, values, strict=True)]
    sample = tables.pairs(run, base)
    found = decided(sample, max_drop, outlook=False)
    below = float(references.flipped(values, -max_drop))
    above = float(references.flipped([-value for value in values], max_drop))
    assert (found.p_regressed, found.p_held) == pytest.approx((below, above))
    assert found.outcome == ("regressed" if below < 0.05 else "held" if above < 0.05 else "undecided")
    assert sample.observed
    assert not sample.observed.yes_no


def test_many_partial_scores_are_flipped_at_random_near_the_normal_p() -> None:
    rng = np.random.default_rng(5)
    base = rng.random(200)
    run = np.clip(base + rng.normal(-0.03, 0.15, 200), 0, 1)
    found = decided(tables.pairs(run.tolist(), base.tolist()), 0.02)
    shifted = run - base + 0.02
    z = shifted.sum() / np.sqrt((shifted**2).sum())  # of random signs the sum has mean 0 and this spread
    assert found.p_regressed == pytest.approx(stats.norm.cdf(z), abs=0.015)
    assert found.p_held == pytest.approx(stats.norm.sf(z), abs=0.015)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("n", "max_drop", "outcome"),
    [(1, 0.0, "held"), (30, 0.0, "held"), (30, 0.02, "undecided"), (130, 0.02, "undecided"), (149, 0.02, "held"),
     (3, 0.7, "held")],
)  # fmt: skip
def test_equal_pairs_hold_where_so_many_refuse_the_drop(
    value: float, n: int, max_drop: float, outcome: str
) -> None:
    """0.98 to the power of 149 is below 0.05."""
    same = tables.pairs([value] * n, [value] * n)
    assert decided(same, max_drop).outcome == outcome


def test_holms_correction_runs_over_headlines() -> None:
    lost, even = tables.counted(0, 6, 100, 50), tables.counted(3, 3, 100, 50)
    found = regression.regressions([lost, lost, even], max_drop=0.0)
    # 1/64 at 0.05 / 3 (0.0167), then at 0.05 / 2, then 42/64 at 0.05.
    assert [one.outcome for one in found] == ["regressed", "regressed", "undecided"]
    outcomes = [one.outcome for one in regression.regressions([lost] * 4, max_drop=0.0)]
    assert outcomes == ["undecided"] * 4  # 1/64 is not below 0.05 / 4


@pytest.mark.parametrize("p_values", list(itertools.product((0.001, 0.02, 0.04, 0.3), repeat=3)))
def test_holm_is_by_its_definition(p_values: tuple[float, ...]) -> None:
    steps = power.holm(p_values)
    assert [one.adjusted for one in steps] == pytest.approx(references.holm(p_values))
    assert power.holm([None, *p_values]) == [power.HolmStep(), *steps]
    for p, step, adjusted in zip(p_values, steps, references.holm(p_values), strict=True):
        assert step.level is not None
        assert (p < step.level) == (adjusted < 0.05)


@pytest.mark.parametrize(("lost", "won"), [(0.1, 0.05), (0.2, 0.0), (0.05, 0.05), (0.3, 0.1)])
@pytest.mark.parametrize("margin", [0.0, -0.02, -0.1])
@pytest.mark.parametrize("n", [15, 60])
def test_power_counts_every_outcome(n: int, lost: float, won: float, margin: float) -> None:
    expected = references.power(n, lost, won, margin, 0.05)
    assert power.compute_power(n, lost, won, margin=margin, level=0.05) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("max_drop", [0.0, 0.02, 0.1])
@pytest.mark.parametrize(("n", "discordance", "right"), [(50, 0.1, 0.8), (150, 0.1, 0.8), (150, 0.3, 0.5)])
def test_the_drop_that_could_be_shown_is_found_in_four_of_five(
    n: int, discordance: float, right: float, max_drop: float
) -> None:
    drop = power.find_drop(n, discordance, right, max_drop=max_drop, level=0.05)
    assert drop is not None

    def chance(fall: float) -> float:
        turned = fall / right  # of the right replies so many turn wrong, won pairs or alike
        lost, won = discordance / 2 + turned * (right - discordance / 2), discordance / 2 * (1 - turned)
        return references.power(n, lost, won, -max_drop, 0.05)

    assert chance(drop + 0.002) >= 0.8
    assert chance(drop - 0.01) < 0.8


@pytest.mark.parametrize(("discordance", "max_drop"), [(0.05, 0.05), (0.1, 0.1), (0.2, 0.1)])
def test_so_many_pairs_tell_nothing_changed_from_the_margin(discordance: float, max_drop: float) -> None:
    n = power.count_needed_pairs(discordance, max_drop=max_drop, level=0.05)
    assert n is not None

    def chance(count: int) -> float:
        losses, wins, chances = references.trinomial(count, discordance / 2, discordance / 2)
        scores = references.tango_scores(wins, losses, count, -max_drop)
        return float(chances[stats.norm.sf(scores) < 0.05].sum())

    assert chance(n) >= 0.79
    assert chance(round(0.85 * n)) < 0.8


@pytest.mark.parametrize(
    ("threshold", "outcome"),
    [(0.9, "undecided"), (0.95, "fail"), (0.8, "pass"), (10 / 12, "pass"), (11 / 12, "undecided")],
)
def test_a_cut_reply_leaves_a_gate_between_its_bounds_undecided(threshold: float, outcome: str) -> None:
    rows: Sequence[tables.Row] = [*[("scored", 1.0)] * 10, ("truncated", 0.0), ("scored", 0.0)]
    model = entry(tables.gated(rows, threshold).models[0])
    found = model.suites[0]
    assert found.score == pytest.approx(10 / 12, abs=5e-5)
    assert found.upper == pytest.approx(11 / 12, abs=5e-5)
    assert (found.outcome, found.n_truncated, found.coverage) == (outcome, 1, 1.0)
    assert model.verdict == outcome
    assert tables.gated(rows, threshold).exit_code == {"pass": 0, "fail": 1, "undecided": 3}[outcome]
    assert tables.gated(rows, threshold, "off").exit_code == 0


def test_a_cut_reply_with_a_partial_score_keeps_it_as_its_lower_bound() -> None:
    rows: Sequence[tables.Row] = [("scored", 0.5)] * 4 + [("truncated", 0.25)]
    found = entry(tables.gated(rows, 0.8).models[0]).suites[0]
    assert (found.score, found.upper) == pytest.approx((2.25 / 5, 3.0 / 5))
    assert (found.outcome, found.n_scored) == ("fail", 5)


def test_what_is_not_scored_counts_apart_from_what_is_wrong() -> None:
    rows: Sequence[tables.Row] = [("scored", 1.0)] * 18 + [("no_answer", 0.0), ("not_applicable", None)]
    found = entry(tables.gated(rows, 0.9).models[0]).suites[0]
    assert found.score == pytest.approx(18 / 19)
    assert (found.outcome, found.n_scored) == ("pass", 19)
    failed: Sequence[tables.Row] = [("scored", 1.0)] * 17 + [("model_error", None)] * 2
    assert tables.gated(failed, 0.9).models[0].verdict == "error"  # 17 of 19 is less than 90 %
    enough: Sequence[tables.Row] = [("scored", 1.0)] * 18 + [("model_error", None)] * 2
    assert tables.gated(enough, 0.9).models[0].verdict == "pass"


def test_cut_replies_between_regressed_and_held_leave_it_undecided() -> None:
    base, run = [1.0] * 6 + [1.0] * 94, [0.0] * 6 + [1.0] * 94
    cut = tables.pairs(run, base, upper=[1.0] * 100)
    found = decided(cut, 0.0)
    assert (found.outcome, found.hangs) == ("undecided", True)
    assert cut.worst
    assert cut.best
    assert (cut.worst.mean, cut.best.mean) == pytest.approx((-0.06, 0.0))
    lost_anyway = tables.pairs(run, base, upper=[0.0] * 5 + [1.0] * 95)
    assert decided(lost_anyway, 0.0).outcome == "regressed"  # 5 lost: 1/32
    of_baseline = tables.pairs([1.0] * 100, [0.0] * 5 + [1.0] * 95, baseline_upper=[1.0] * 100)
    assert decided(of_baseline, 0.0).outcome == "held"


@pytest.mark.parametrize("values", DIFFERENCES)
def test_two_sided_flips_count_every_pattern(values: list[float]) -> None:
    seen = abs(sum((Fraction(str(value)) for value in values), Fraction(0)))
    patterns = list(itertools.product((1, -1), repeat=len(values)))
    exact = [Fraction(str(value)) for value in values]
    sums = [sum((s * v for s, v in zip(signs, exact, strict=True)), Fraction(0)) for signs in patterns]
    expected = sum(abs(one) >= seen for one in sums) / len(patterns)
    found = margins.method_of(margins.differences(np.array(values), yes_no=False))
    assert margins.two_sided(found) == pytest.approx(expected)


def test_models_are_compared_in_pairs_with_holm_over_all() -> None:
    right: dict[str, Sequence[tables.Row]] = {
        "a": [("scored", 1.0)] * 40,
        "b": [("scored", 1.0)] * 33 + [("scored", 0.0)] * 7,
        "c": [("scored", 1.0)] * 33 + [("no_answer", 0.0)] * 6 + [("model_error", None)],
    }
    found = pairs.compare(tables.scores(right), tables.items(40))
    by = {(one.model_a, one.model_b): one for one in found}
    counts = {("a", "b"): (7, 0, 40), ("a", "c"): (6, 0, 39), ("b", "c"): (0, 0, 39)}
    assert {key: (one.only_a, one.only_b, one.n) for key, one in by.items()} == counts
    plain = [float(references.two_sided(*counts[key][:2])) for key in counts]
    assert [by[key].test.p_value for key in counts] == pytest.approx(plain)
    assert [by[key].test.p_adjusted for key in counts] == pytest.approx(references.holm(plain))
    assert [by[key].significant for key in counts] == [one < 0.05 for one in references.holm(plain)]
    group = pairs.groups(found)[0].groups
    assert ("b", "c") in {tuple(sorted(one)) for one in group}


def test_a_comparison_that_cut_replies_could_turn_tells_no_two_apart() -> None:
    b: dict[str, Sequence[tables.Row]] = {
        "lost": [("scored", 0.0)] * 8,
        "cut": [("truncated", 0.0)] * 8,
        "few": [*[("truncated", 0.0)] * 2, *[("scored", 0.0)] * 6],
    }
    said = {}
    for name, first in b.items():
        rows: dict[str, Sequence[tables.Row]] = {
            "a": [("scored", 1.0)] * 40,
            "b": [*first, *[("scored", 1.0)] * 32],
        }
        found = pairs.compare(tables.scores(rows), tables.items(40))[0]
        assert (found.difference, found.test.p_value) == pytest.approx((0.2, 2 / 2**8))
        refused = found.test.p_adjusted is not None and found.test.p_adjusted < 0.05
        said[name] = (found.missing.hangs, found.significant, refused)
    assert said["lost"] == (False, True, True)
    assert said["cut"] == (True, False, True)  # had they all been right, nothing would differ
    assert said["few"] == (False, True, True)  # six lost are still significant: 2/64


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 12), (12, 12), (1, 30), (7, 12), (299, 300), (500, 1000)])
def test_wilson_is_the_score_tests_interval(k: int, n: int) -> None:
    found = wilson(k, n)
    assert (found.low, found.high) == pytest.approx(references.wilson_limits(k, n), abs=1e-9)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (7, 12), (299, 300)])
def test_a_total_of_one_part_is_that_part(k: int, n: int) -> None:
    found = combine_strata([part_of(1.0, k / n, wilson(k, n))])
    assert (found.low, found.high) == pytest.approx(references.wilson_limits(k, n), abs=1e-6)


def test_the_interval_of_a_total_covers_from_weak_to_strong() -> None:
    """In 100 runs at each of five shares, six families of 30 items with shares around it."""
    covered = []
    for seed, share in enumerate((0.05, 0.2, 0.5, 0.9, 0.97)):
        spread = np.clip(share + np.array([-2, -1, 0, 0, 1, 2]) * 0.4 * min(share, 1 - share) / 2, 0, 1)

        def draw(rng: np.random.Generator, spread: references.Floats = spread) -> tuple[float, float]:
            found = combine_strata([part_of(1 / 6, k / 30, wilson(int(k), 30)) for k in rng.binomial(30, spread)])
            return (found.low, found.high) if found.low is not None and found.high is not None else (2.0, 2.0)

        covered.append(references.coverage(100, float(spread.mean()), draw, seed))
    assert min(covered) >= 0.88  # one share by itself, of 100 runs
    assert 0.92 <= np.mean(covered) <= 0.985
