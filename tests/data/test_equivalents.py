"""A metric of another tool, however it is written, is answered with what is nearest here."""

import pytest
import yaml

from basic_control.data.equivalents import FILE, NOTHING, explain_equivalent
from basic_control.data.errors import InputError
from basic_control.data.plugins import metric, metrics


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("answer_relevancy", "answers_question"),
        ("AnswerRelevancyMetric", "answers_question"),
        ("LLMContextPrecisionWithReference", "context_precision"),
        ("contextual-recall", "context_recall"),
        ("llm-rubric", "rubric"),
        ("GEval", "rubric"),
        ("equals", "exact_match"),
        ("is-json", "json_match"),
        ("model_graded_fact", "factual_correctness"),
        ("includes", "contains"),
        ("acc_norm", "choice"),
        ("string_check", "exact_match"),
    ],
)
def test_another_tools_metric_is_answered_with_ours(name: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"unknown metric '{name}'.* Did you mean '{nearest}'?"):
        metric(name)


def test_what_has_no_equivalent_says_so() -> None:
    with pytest.raises(InputError, match="Nothing here is like perplexity of promptfoo and perplexity of lm-eval"):
        metric("perplexity")


def test_every_equivalent_exists_and_no_name_is_ours() -> None:
    groups = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    ours = {*metrics()}
    assert {*groups} - {NOTHING} <= ours
    assert all(name not in ours for by_tool in groups.values() for names in by_tool.values() for name in names)


@pytest.mark.parametrize("name", ["", "metric", "exact_mach", "\x1b[31m", "скорость"])
def test_other_names_are_told_nothing(name: str) -> None:
    assert explain_equivalent(name) == ""
