"""A judged mean stands corrected beside the raw one, by hand, or says why it does not."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from basic_control.data.suites import Suite
from basic_control.metrics.analysis.judged import (
    NO_PASSPORT,
    NOT_A_MEAN,
    OTHER_SCALE,
    CorrectedMean,
    correct_means,
)
from basic_control.metrics.analysis.passports import Passport
from tests.helpers.passports import claims, passport, tables
from tests.helpers.suites import shipped

RAG = shipped("rag")


def correct(
    metric: str, details: Sequence[dict[str, Any]], found: Passport | None, suite: Suite = RAG
) -> dict[str, CorrectedMean]:
    def find(*asked: Any) -> Passport | None:
        return found if found is not None and asked[3] == found.exam else None

    rows = correct_means(*tables(metric, details, suite.name), [suite], find)
    return {row.metric: row for row in rows}


# 90 of 100 supported claims are found, 20 of 100 others are called supported.
ENTAILS = passport("entails", [[90, 5, 5], [10, 35, 5], [10, 5, 35]])


def test_precision_is_corrected_pooled_over_claims() -> None:
    """6 of 10 claims said to be supported: (0.6 - 0.2) / 0.7, as in SPEC 11; 150 replies of two or three claims."""
    details = [claims("SUPPORTED", "NEUTRAL"), claims("SUPPORTED", "SUPPORTED", "CONTRADICTED")] * 75
    row = correct("factual_correctness", details, ENTAILS)["factual_correctness.precision"]
    assert (row.n_samples, row.n_verdicts) == (150, 375)
    assert row.raw.mean == pytest.approx(0.6)
    assert row.value.mean == pytest.approx(0.4 / 0.7)
    assert row.value.interval.low is not None
    assert row.value.interval.high is not None
    assert row.value.interval.low < 0.5714 < row.value.interval.high
    assert row.n_exam == 200


def test_the_same_replies_have_the_same_digits_every_time() -> None:
    """Sums of squares differ in their last digit with the order of the rows, of some samples."""
    for seed in range(12):
        details = [{"raw": one} for one in Random(seed).choices((0, 1, 2), (5, 2, 3), k=1000)]
        found = [correct("response_groundedness", details, None)["response_groundedness"] for _ in range(5)]
        assert {one.raw.interval for one in found} == {found[0].raw.interval}


def test_f1_is_said_to_need_own_labels() -> None:
    rows = correct("factual_correctness", [claims("SUPPORTED")] * 5, ENTAILS)
    assert (rows["factual_correctness"].value.mean, rows["factual_correctness"].reason) == (None, NOT_A_MEAN)
    assert rows["factual_correctness"].raw.mean == pytest.approx(0.5)


def test_ratings_are_corrected_by_the_whole_table() -> None:
    """Truth half 2, half 0, seen through a judge that calls a fifth of each 1."""
    table = [[80, 20, 0], [10, 80, 10], [0, 20, 80]]
    details = [{"raw": 2}] * 80 + [{"raw": 1}] * 40 + [{"raw": 0}] * 80
    row = correct("response_groundedness", details, passport("groundedness", table))["response_groundedness"]
    assert row.raw.mean == pytest.approx(0.5)
    assert row.value.mean == pytest.approx(0.5, abs=1e-3)
    lenient = [[100, 0, 0], [40, 60, 0], [20, 20, 60]]
    details = [{"raw": 2}] * 60 + [{"raw": 1}] * 10 + [{"raw": 0}] * 30
    row = correct("response_groundedness", details, passport("groundedness", lenient))["response_groundedness"]
    # Half 2, half 0: 0.5 + 0.1, 0.1, 0.3.
    assert row.raw.mean == pytest.approx(0.65)
    assert row.value.mean == pytest.approx(0.5, abs=0.01)


def test_what_was_settled_by_rule_is_no_verdict() -> None:
    row = correct("response_groundedness", [{"shortcut": "equals a context"}, {"shortcut": "", "raw": 1}], None)
    assert row["response_groundedness"].n_verdicts == 1


def test_without_a_passport_the_raw_mean_stands_alone() -> None:
    row = correct("response_groundedness", [{"raw": 2}] * 4, None)["response_groundedness"]
    assert (row.raw.mean, row.value.mean, row.reason) == (1.0, None, NO_PASSPORT)


def test_a_judge_that_cannot_measure_gives_no_number() -> None:
    weak = passport("entails", [[60, 20, 20], [25, 20, 5], [25, 5, 20]])
    row = correct("factual_correctness", [claims("SUPPORTED")] * 5, weak)["factual_correctness.precision"]
    assert (row.value.mean, row.reason) == (None, "it cannot tell right replies from wrong ones")


def test_a_rubric_of_another_scale_is_not_corrected() -> None:
    own = Suite.model_validate(
        {"name": "own", "items": {"data": "x.jsonl"}, "metrics": {"rubric": {"criteria": "Good.", "scale": [1, 9]}}}
    )
    table = [[9 if a == b else 0 for a in range(5)] for b in range(5)]
    row = correct("rubric", [{"ratings": {"rating": {"rating": 9}}}], passport("rubric", table), own)["rubric"]
    assert (row.value.mean, row.reason) == (None, OTHER_SCALE)


def test_criteria_that_are_always_rated_alike_tell_no_more_than_one() -> None:
    table = [[19 if a == b else 1 for a in range(5)] for b in range(5)]

    def rubric(names: str) -> CorrectedMean:
        criteria = dict.fromkeys(names, "Good.")
        own = Suite.model_validate(
            {"name": "own", "items": {"data": "x.jsonl"}, "metrics": {"rubric": {"criteria": criteria}}}
        )
        details = [{"ratings": {name: {"rating": 5 if n < 24 else 1} for name in names}} for n in range(30)]
        return correct("rubric", details, passport("rubric", table), own)["rubric"]

    one, four = rubric("a"), rubric("abcd")
    assert (four.value.mean, four.raw.interval) == (pytest.approx(one.value.mean), one.raw.interval)
    assert four.value.interval.low == pytest.approx(one.value.interval.low, abs=0.02)


def test_a_rubric_of_a_scale_within_the_exams_is_not_corrected_either() -> None:
    metrics = {"rubric": {"criteria": "Good.", "scale": [1, 3]}}
    own = Suite.model_validate({"name": "own", "items": {"data": "x.jsonl"}, "metrics": metrics})
    table = [[19 if a == b else 1 for a in range(5)] for b in range(5)]
    row = correct("rubric", [{"ratings": {"rating": {"rating": 3}}}] * 30, passport("rubric", table), own)["rubric"]
    assert (row.raw.mean, row.value.mean, row.reason) == (None, None, OTHER_SCALE)


def test_precision_alone_is_corrected_as_the_metrics_own_value() -> None:
    metrics = {"factual_correctness": {"mode": "precision"}}
    own = Suite.model_validate({"name": "own", "items": {"data": "x.jsonl"}, "metrics": metrics})
    details = [claims("SUPPORTED")] * 85 + [claims("NEUTRAL")] * 15
    rows = correct("factual_correctness", details, ENTAILS, own)
    assert [one.metric for one in rows.values() if one.whole] == ["factual_correctness.precision"]
    assert rows["factual_correctness.precision"].value.mean == pytest.approx(0.65 / 0.7)
