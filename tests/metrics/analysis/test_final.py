"""The verdict: weights, gates, exit codes."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from basic_control.data.errors import InputError
from basic_control.data.tables import ITEMS, SCORES, SUMMARY
from basic_control.metrics.analysis.headlines import Headline
from basic_control.metrics.analysis.policy import Gate, Policy
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.analysis.verdict import RunVerdict, verdict_of
from basic_control.metrics.stats.intervals import Interval, MeanEstimate, score_limits
from tests.helpers.suites import declared, headline, model_of
from tests.helpers.tables import cell, four
from tests.helpers.verdicts import entry, finalise

ALL = ("basic_control", "cot", "citation", "rag")


def only(final: RunVerdict) -> Any:
    """Return the only model, as results.json has it."""
    assert len(final.models) == 1
    return entry(final.models[0])


def run(summary: pl.DataFrame, *suites: str, gate: Gate = "point", **options: Any) -> RunVerdict:
    changes = {name: options.pop(name) for name in ("weights", "thresholds", "metrics") if name in options}
    return finalise(summary, models=["m"], suites=declared(*(suites or ALL), **changes), gate=gate, **options)


def test_what_stands_beside_a_score_is_told_and_is_no_part_of_it() -> None:
    summary = pl.concat([four(), SUMMARY.frame([cell("cot", "cot.sound", 0.25)])])
    suite, plain = (only(run(table, "cot")).suites[0] for table in (summary, four()))
    assert suite.beside == {"cot.sound": 0.25}
    assert {**vars(suite), "beside": {}} == vars(plain)


def test_the_weighted_score_by_hand() -> None:
    """0.4 x 0.8 + 0.2 x 0.9 + 0.2 x 0.85 + 0.2 x (0.7 + 0.9) / 2 = 0.83."""
    found = only(run(four()))
    assert found.score == pytest.approx(0.83)
    assert [suite.score for suite in found.suites] == pytest.approx([0.8, 0.9, 0.85, 0.8])
    assert [suite.weight for suite in found.suites] == pytest.approx([0.4, 0.2, 0.2, 0.2])
    assert {suite.outcome for suite in found.suites} == {"pass"}
    assert found.verdict == "pass"


def test_weights_are_renormalised_over_the_suites_that_ran() -> None:
    """0.4 and 0.2 become 2/3 and 1/3."""
    found = only(run(four(), "basic_control", "cot"))
    assert found.score == pytest.approx((2 * 0.8 + 0.9) / 3)


def test_basic_controls_score_is_total_not_the_mean_over_rows() -> None:
    summary = SUMMARY.frame(
        [
            cell("basic_control", "correct", 0.25, n_asked=40),
            cell("basic_control", "correct", 1.0, family="a"),
            cell("basic_control", "correct", 0.0, family="b", n_asked=30),
            cell("basic_control", "correct", None, family="c", n_not_applicable=10),
        ]
    )
    (suite,) = only(run(summary, "basic_control")).suites
    assert (suite.score, suite.left_out) == (0.5, ["c"])
    # one family all right and one all wrong, intervals alike: the mean can err to either side alike
    low, high = suite.interval.low, suite.interval.high
    assert low is not None
    assert high is not None
    assert low == pytest.approx(1 - high)
    assert 0.5 + 0.1 / 2**0.5 < high < 0.5 + 0.1 + 0.01


def test_the_overall_interval_joins_independent_suites() -> None:
    """Two suites, 0.2 wide, weighted 1/2 each: 0.2 / sqrt 2 wide."""
    found = only(run(four(), "cot", "citation"))
    assert found.score is not None
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert found.interval.low < found.score < found.interval.high
    assert found.interval.high - found.interval.low == pytest.approx(0.2 / 2**0.5, abs=0.001)


def test_a_suite_of_two_metrics_on_the_same_items_is_as_wide_as_they_are() -> None:
    (suite,) = only(run(four(), "rag")).suites
    assert (suite.interval.low, suite.interval.high) == pytest.approx((0.7, 0.9))


def test_a_metric_that_does_not_apply_is_left_out_of_its_suite() -> None:
    summary = SUMMARY.frame(
        [
            cell("rag", "factual_correctness", None, n_not_applicable=10),
            cell("rag", "response_groundedness", 0.9),
        ]
    )
    (suite,) = only(run(summary, "rag")).suites
    assert (suite.score, suite.left_out, suite.outcome) == (0.9, ["factual_correctness"], "pass")
    switched_off = summary.filter(pl.col("metric") == "response_groundedness")
    assert only(run(switched_off, "rag")).suites[0].score == 0.9


def test_a_score_at_the_threshold_passes_in_spite_of_binary_fractions() -> None:
    """2/3 x 0.9 + 1/3 x 0.9 is 0.9 on paper, and a little less in floats."""
    summary = four().with_columns(mean=pl.lit(0.9))
    found = only(run(summary, "basic_control", "cot", threshold=0.9, thresholds=dict.fromkeys(ALL, 0.9)))
    assert found.score is not None
    assert found.score < 0.9
    assert found.verdict == "pass"


def test_thresholds_compare_unrounded_values() -> None:
    assert only(run(four(0.7999), "cot")).suites[0].outcome == "fail"


def test_any_model_below_any_threshold_fails() -> None:
    final = run(four(0.7))
    assert (only(final).outcome, only(final).verdict, final.exit_code) == ("fail", "fail", 1)
    high = run(four(0.7), threshold=0.5)
    assert (only(high).outcome, only(high).verdict, high.exit_code) == ("pass", "fail", 1)


@pytest.mark.parametrize(
    ("mean", "outcome", "exit_code"),
    [(0.95, "pass", 0), (0.85, "undecided", 3), (0.75, "undecided", 3), (0.65, "fail", 1)],
)
def test_the_interval_gate_fails_only_what_lies_wholly_below(mean: float, outcome: str, exit_code: int) -> None:
    """Intervals are 0.1 to either side of the mean, the threshold 0.8."""
    final = run(four(mean), "cot", gate="interval")
    assert (only(final).suites[0].outcome, only(final).outcome, final.exit_code) == (outcome, outcome, exit_code)


def test_an_undecided_gate_names_the_n_that_would_decide() -> None:
    """0.85 +- 0.1 at n = 10: the reach must shrink to 0.05, a half, so n must be four times as large."""
    found = only(run(four(0.85), "cot", gate="interval"))
    assert found.suites[0].n_deciding in {40, 41}


def test_gate_off_reports_the_same_and_exits_0_unless_there_is_an_error() -> None:
    point, off = run(four(0.5)), run(four(0.5), gate="off")
    assert off.models == point.models
    assert (point.exit_code, off.exit_code) == (1, 0)
    assert (run(four(None)).exit_code, run(four(None), gate="off").exit_code) == (2, 2)


def test_the_worst_over_models_counts_in_the_order_error_fail_undecided_pass() -> None:
    """Three models in one suite, threshold 0.8, the interval gate: 0.1 to either side."""
    means = {"good": 0.95, "open": 0.85, "bad": 0.5}
    summary = SUMMARY.frame([cell("cot", "cot", mean, model=model) for model, mean in means.items()])

    def code(*models: str) -> int:
        return finalise(summary, models=models, suites=declared("cot"), gate="interval").exit_code

    assert code("good") == 0
    assert code("good", "open") == 3
    assert code("good", "open", "bad") == 1
    assert code("good", "open", "bad", "ghost") == 2


def test_one_suite_has_no_overall_and_its_own_threshold_decides() -> None:
    """64 % at a threshold of 50 %: passes, whatever the overall threshold of several suites is."""
    for threshold in (None, 0.8):
        final = run(four(0.64), "cot", thresholds={"cot": 0.5}, threshold=threshold)
        model = only(final)
        assert (model.score, model.threshold, model.outcome, model.verdict) == (0.64, None, "pass", "pass")
        assert final.exit_code == 0
    beside = run(four(0.64), "cot", "citation", thresholds={"cot": 0.5}, weights={"citation": 0.0})
    assert (only(beside).threshold, only(beside).score, only(beside).verdict) == (None, 0.64, "pass")


def test_a_suite_without_a_threshold_is_measured_and_decides_nothing() -> None:
    final = run(four(0.1), "cot", thresholds={"cot": None})
    assert (only(final).suites[0].outcome, only(final).verdict, final.exit_code) == ("none", "none", 0)
    assert run(four(None), "cot", thresholds={"cot": None}).exit_code == 2, "nothing scored: an error all the same"
    both = run(four(0.1), "cot", "citation", thresholds={"cot": None})
    assert [suite.outcome for suite in only(both).suites] == ["none", "pass"]
    assert (only(both).threshold, only(both).outcome, only(both).verdict) == (None, "none", "pass")
    judged = run(four(0.1), "cot", "citation", thresholds={"cot": None}, threshold=0.8)
    assert (only(judged).threshold, only(judged).outcome, judged.exit_code) == (0.8, "fail", 1)
    usual = run(four(0.1), "cot", "citation")
    assert only(usual).threshold == 0.8


def test_a_suite_that_is_withheld_and_has_no_threshold_is_not_decided_either() -> None:
    final = run(four(), "citation", thresholds={"citation": None}, unjudged={"citation": "the judge is too small"})
    (suite,) = only(final).suites
    assert (suite.outcome, suite.reason, suite.measured) == ("none", "the judge is too small", False)


def test_a_suite_with_nothing_scored_is_an_error() -> None:
    final = run(four(None, n_model_error=10))
    assert only(final).outcome == "error"
    assert only(final).score is None
    assert only(final).suites[1].reason.startswith("no row of its 10 has a score")
    assert final.exit_code == 2


def test_a_model_that_is_not_in_the_summary_is_an_error() -> None:
    final = finalise(four(), models=["m", "ghost"], suites=declared("cot"))
    assert [model.verdict for model in final.models] == ["pass", "error"]
    assert final.exit_code == 2


@pytest.mark.parametrize(("scored", "outcome"), [(89, "error"), (90, "pass")])
def test_less_than_nine_tenths_scored_is_an_error(scored: int, outcome: str) -> None:
    """Of 120 rows 20 do not apply: 90 of 100 are enough, 89 are not."""
    summary = four(0.9, n_asked=120, n_scored=scored, n_not_applicable=20, n_judge_failed=100 - scored)
    final = run(summary, "cot")
    assert only(final).suites[0].outcome == outcome
    assert only(final).outcome == outcome
    assert only(final).suites[0].coverage == scored / 100


def test_a_family_without_a_score_is_an_error_and_not_left_out() -> None:
    summary = SUMMARY.frame(
        [
            cell("basic_control", "correct", 1.0, n_asked=100, n_scored=95),
            cell("basic_control", "correct", 1.0, family="a", n_asked=95),
            cell("basic_control", "correct", None, family="b", n_asked=5, n_model_error=5),
        ]
    )
    (suite,) = only(run(summary, "basic_control")).suites
    assert (suite.score, suite.outcome) == (None, "error")
    assert "no row of b has a score" in suite.reason


def test_a_suite_that_no_n_can_decide_reads_undecided() -> None:
    """Closed-book citations without a network; the whole hangs on them here."""
    why = {"citation": "no network: sources are at best UNCERTAIN"}
    final = run(four(), undecided=why)
    citation = only(final).suites[2]
    assert (citation.outcome, citation.reason, citation.n_deciding) == ("undecided", why["citation"], None)
    assert (only(final).outcome, final.exit_code) == ("undecided", 3)
    assert replace(final, undecided="pass").exit_code == 0
    assert "citation" in only(final).reason


def test_a_suite_whose_judge_is_not_to_be_believed_is_undecided_however_often_it_failed() -> None:
    why = {"rag": "the judge is too small", "citation": "the judge is too small"}
    judged = [cell("rag", "factual_correctness", None, n_judge_failed=10),
              cell("rag", "response_groundedness", 0.9, n_scored=6, n_judge_failed=4)]  # fmt: skip
    summary = pl.concat([four(0.9).filter(pl.col("suite") != "rag"), SUMMARY.frame(judged)])
    assert only(run(summary)).outcome == "error", "of a judge that is believed, this is an error"
    model = only(run(summary, unjudged=why, gate="point"))
    parts = {suite.suite: (suite.outcome, suite.score, suite.reason) for suite in model.suites}
    assert parts["rag"] == ("undecided", None, why["rag"])
    assert parts["citation"][0::2] == ("undecided", why["citation"])
    assert (model.outcome, model.score) == ("undecided", None), "0.4 × 0.8 + 0.2 × 0.9 + 0.4 × (0 to 1) holds 0.8"
    low = only(run(pl.concat([four(0.1).filter(pl.col("suite") != "rag"), SUMMARY.frame(judged)]), unjudged=why))
    assert low.outcome == "fail", "0.32 + 0.02 + 0.4 lies below 0.8, whatever a judge would say"


def test_a_model_that_did_not_answer_is_an_error_whoever_judges_it() -> None:
    failed = [cell("rag", "factual_correctness", 0.5, n_scored=8, n_model_error=2),
              cell("rag", "response_groundedness", 0.9)]  # fmt: skip
    summary = pl.concat([four().filter(pl.col("suite") != "rag"), SUMMARY.frame(failed)])
    model = only(run(summary, unjudged={"rag": "the judge is too small"}))
    assert model.suites[-1].outcome == "error"
    assert "only 80% of its rows have a score" in model.suites[-1].reason


def test_what_comes_out_the_same_is_decided_in_spite_of_an_undecided_suite() -> None:
    why = {"citation": "no network"}
    assert only(run(four(), undecided=why, threshold=0.6)).outcome == "pass"
    assert only(run(four(0.0), undecided=why, threshold=0.85)).outcome == "fail"


def test_the_rules_of_an_overall_score_hold_beside_a_withheld_suite() -> None:
    """95 % at a threshold of 80 %: 70 % if its judge errs as on its exam; or from 75 % on, asked until decided."""
    facts: dict[str, Any] = {"n_asked": 100, "n_scored": 100, "coverage": 1.0, "answered": 1.0}
    around = Interval(0.93, 0.97, "wilson", 100)
    fixed = MeanEstimate(0.7, Interval(0.6, 0.8, "corrected", 100))
    sequence = ConfidenceSequence("kept", "m", "", 0.05, 0.6, 100, 100, 60, "above", (), ())
    plain = headline("kept", 0.95, around, 0.9, **facts)
    held = headline("held", 0.95, around, 0.1, withheld="no network", **facts)
    judged = headline("kept", 0.95, around, 0.9, corrected=fixed, **facts)
    stopped = headline("kept", 0.95, Interval(0.75, 0.99, "sequence", 100), 0.9, stopping=sequence, **facts)

    def outcome(*headlines: Headline) -> str:
        deciding = [one.suite for one in headlines if not one.missing.withheld]
        policy = Policy("point", 0.8, dict.fromkeys(((suite, "") for suite in deciding), 0.6))
        found: str = only(verdict_of(Results({}, (model_of("m", *headlines),)), policy)).outcome
        return found

    assert outcome(plain, held) == "pass"
    assert [outcome(one, held) for one in (judged, stopped)] == ["undecided", "undecided"]
    halves = [replace(judged, weight=0.5), replace(judged, suite="other", weight=0.5)]
    assert outcome(*halves) == outcome(*halves, replace(held, weight=0.0)) == "undecided"


def test_nothing_to_weigh_is_bad_input() -> None:
    with pytest.raises(InputError, match="at least one model"):
        finalise(four(), models=[], suites=declared("cot"))


def test_suites_of_weight_0_weigh_alike_where_no_other_runs() -> None:
    model = only(run(four(), "cot", "citation", weights={"cot": 0.0, "citation": 0.0}))
    assert model.score == pytest.approx((0.9 + 0.85) / 2)


def test_from_scores_to_the_exit_code() -> None:
    """Nine of ten right in each of two families: TOTAL 90, passes, and the interval is that of both as strata."""
    items = ITEMS.frame(
        [
            {"item_id": str(i), "suite": "basic_control", "family": "ab"[i % 2], "level": "easy", "language": "en"}
            for i in range(20)
        ]
    )
    scores = SCORES.frame(
        [
            {
                "item_id": str(i),
                "model": "m",
                "repeat": 0,
                "metric": "correct",
                "version": 1,
                "value": float(i > 1),
                "status": "scored",
            }
            for i in range(20)
        ]
    )
    final = run(summarise(scores, items), "basic_control")
    (suite,) = only(final).suites
    assert suite.score == pytest.approx(0.9)
    # Equal shares stay equal under any tested mean: Wilson's limits of 18 of 20, each own share costing half an
    # observation of its ten.
    n = 20 * 9.5 / 10
    low, high = score_limits(np.array([0.9]), np.array([n]))
    assert (suite.interval.low, suite.interval.high) == pytest.approx((low[0], high[0]))
    assert (final.exit_code, only(final).verdict) == (0, "pass")
