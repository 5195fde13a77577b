"""FINAL_RESULTS: the seed's golden, its keys, and who stands in it."""

import json
from typing import Any

import pytest

from basic_control.metrics.analysis.explainability import Terms, explain_models, explainability
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from tests.helpers.suites import headline, model_of


def made(cot: Headline, citation: Headline, **terms: float) -> dict[str, Any]:
    return explainability(cot, citation, Terms("j", **terms), cot_model="m", citation_model="m")


def test_the_golden_key_by_key() -> None:
    """0.808 and 0.8375 make 0.823 (0.82275), and pass; seed 004."""
    name = "llama3.1:8b"
    found = explainability(
        headline("cot", 0.808, n_scored=30),
        headline("citation", 0.8375, n_scored=5),
        Terms(judge_model="gpt-4o"),
        cot_model=name,
        citation_model=name,
    )
    assert json.dumps(found) == (
        '{"XAI_overall_score": 0.823, "overall_pass": true, "overall_threshold": 0.8, '
        '"cot": {"model": "llama3.1:8b", "avg_score": 0.808, "count": 30, "pass": true, "threshold": 0.8}, '
        '"citation": {"response_model": "llama3.1:8b", "judge_model": "gpt-4o", "avg_score": 0.8375, "count": 5, '
        '"pass": true, "threshold": 0.8}, "weights": {"weight_cot": 0.5, "weight_citation": 0.5}}'
    )


def test_the_formula_stays_the_seeds_where_peoples_labels_have_put_a_mean_right() -> None:
    plain = made(headline("cot", 0.8, n_scored=30), headline("citation", 0.9, n_scored=5))
    labelled = headline("citation", 0.4, n_scored=5, as_judged=0.9, n_labels=40)
    assert made(headline("cot", 0.8, n_scored=30), labelled) == plain


def test_unrounded_values_are_compared() -> None:
    """0.79996 is written 0.8 and does not pass."""
    found = made(headline("cot", 0.79996, n_scored=30), headline("citation", 0.79996, n_scored=5))
    assert (found["XAI_overall_score"], found["overall_pass"]) == (0.8, False)
    assert (found["cot"]["avg_score"], found["cot"]["pass"]) == (0.8, False)


def test_without_a_score_it_is_null() -> None:
    found = made(headline("cot", None, n_scored=0), headline("citation", 0.9, n_scored=5))
    assert (found["XAI_overall_score"], found["overall_pass"], found["cot"]["avg_score"]) == (None, None, None)
    assert found["citation"]["pass"] is True
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(("cot", "citation"), [(0.8, 0.5), (1.0, 1.0), (0.2, 0.3), (0.0, 0.4)])
def test_weights_are_renormalised(cot: float, citation: float) -> None:
    """Two averages of 0.65 join to 0.65, whatever the weights."""
    averages = headline("cot", 0.65, n_scored=30), headline("citation", 0.65, n_scored=5)
    found = made(*averages, weight_cot=cot, weight_citation=citation)
    assert found["XAI_overall_score"] == 0.65
    assert sum(found["weights"].values()) == pytest.approx(1.0, abs=1e-6)
    assert found["weights"]["weight_cot"] == pytest.approx(cot / (cot + citation), abs=1e-6)


def test_passing_compares_the_score_with_the_threshold_and_nothing_else() -> None:
    """The gate withholds this suite; the published form has no word for that."""
    held = headline("citation", 0.5, n_scored=5, withheld="no network", coverage=0.5)
    found = made(headline("cot", 1.0, n_scored=30), held, threshold=0.7, threshold_citation=0.6)
    assert (found["cot"]["pass"], found["citation"]["pass"], found["overall_pass"]) == (True, False, True)


def models(**taken: tuple[str, ...]) -> list[ModelResult]:
    return [
        model_of(model, *(headline(suite, 0.5, n_scored=5) for suite in suites)) for model, suites in taken.items()
    ]


def named(*found: ModelResult) -> list[tuple[str, str, str]]:
    return [
        (one.name, one.published["cot"]["model"], one.published["citation"]["response_model"])
        for one in explain_models(found, Terms("j"))
    ]


def test_each_model_of_both_suites_has_a_result() -> None:
    both = ("cot", "citation")
    assert named(*models(a=both, b=both, c=("cot",))) == [("a", "a", "a"), ("b", "b", "b")]


def test_one_model_that_reasons_and_another_that_cites_have_one_result_with_both_named() -> None:
    assert named(*models(a=("cot",), b=("citation",))) == [("a_b", "a", "b")]
    several = named(*models(a=("cot",), b=("cot",), c=("citation",)))
    assert several == [("a_c", "a", "c"), ("b_c", "b", "c")]


def test_without_one_of_the_suites_there_is_no_result() -> None:
    assert named(*models(a=("cot",))) == []
