"""A typed question: what its declaration says for judges that write, and for judges that decide."""

import json

import pytest

from basic_control.data.plugins import metrics
from basic_control.data.records import Question
from basic_control.data.typed import Typed, levels, yes_or_no
from basic_control.metrics.judging import Judgement

SUPPORT = Typed("choice", "verdict", {"ENTAILMENT": 1.0, "NEUTRAL": 0.5, "CONTRADICTION": 0.0})
WINNER = Typed("choice", "winner", {"first": 1.0, "second": 0.0, "tie": 0.5}, tie="tie")
CLAIMS = {"claims": [{"id": "1", "text": "A."}, {"id": "2", "text": "B."}], "source": "A."}


@pytest.mark.parametrize(
    ("typed", "probabilities", "label"),
    [
        (SUPPORT, (0.2, 0.5, 0.3), "NEUTRAL"),
        (SUPPORT, (0.45, 0.45, 0.1), "NEUTRAL"),
        (SUPPORT, (1 / 3, 1 / 3, 1 / 3), "CONTRADICTION"),
        (Typed("choice", "verdict", {"YES": 1.0, "NO": 0.0, "UNCLEAR": 0.0}), (0.2, 0.4, 0.4), "UNCLEAR"),
        (WINNER, (0.4, 0.4, 0.2), "tie"),
        (WINNER, (0.5, 0.2, 0.3), "first"),
        (levels("rating", 1, 3), (0.5, 0.0, 0.5), "1"),
        (yes_or_no(), (0.5, 0.5), "no"),
    ],
)
def test_the_most_probable_label_is_the_verdict_and_a_tie_goes_to_the_lower_worth(
    typed: Typed, probabilities: tuple[float, ...], label: str
) -> None:
    assert typed.decide(dict(zip(typed.labels, probabilities, strict=True))) == label


def test_the_reply_that_is_written_for_labels_is_read_by_the_steps_own_parser() -> None:
    steps = {f"{metric.name} {step.name}": step for metric in metrics().values() for step in metric.steps}
    entails = steps["factual_correctness entails"]
    question = Question("response", CLAIMS)
    typed = entails.find_type(question)
    assert typed is not None
    assert typed.parts(CLAIMS) == ["1", "2"]
    assert typed.part(CLAIMS, "2") == {**CLAIMS, "claims": [CLAIMS["claims"][1]]}
    verdicts = entails.parse(question, typed.reply({"1": "SUPPORTED", "2": "NEUTRAL"}))
    assert {claim: verdict["verdict"] for claim, verdict in verdicts.items()} == {"1": "SUPPORTED", "2": "NEUTRAL"}

    for name, label, value in (
        ("citation support", "ENTAILMENT", 1.0),
        ("citation correctness", "PARTIALLY_CORRECT", 0.5),
        ("response_groundedness rate", "2", 2.0),
        ("rubric rate", "4", 4.0),
        ("preference compare", "second", 0.0),
    ):
        question = Question("ab", {"lo": 1, "hi": 5})
        typed = steps[name].find_type(question)
        assert typed is not None
        read = steps[name].parse(question, typed.reply({"": label}))
        assert isinstance(read, Judgement)
        assert read.value == value


def test_only_a_split_needs_a_judge_that_writes() -> None:
    writes = {
        f"{metric.name} {step.name}"
        for metric in metrics().values()
        for step in metric.steps
        # The exam's steps are those of the metrics.
        if step.asks is None and not metric.internal
    }
    assert writes == {"factual_correctness split", "faithfulness split"}


def test_the_schema_of_a_text_judge_follows_from_the_declaration() -> None:
    schema = Typed("choice", "verdict", {"A": 1.0, "B": 0.0}, entries="claims").schema(CLAIMS)
    verdicts = schema["properties"]["verdicts"]
    assert (verdicts["minItems"], verdicts["maxItems"]) == (2, 2)
    assert [*verdicts["items"]["properties"]] == ["id", "reason", "verdict"], "the reason comes first"
    assert verdicts["items"]["properties"]["id"]["enum"] == ["1", "2"]
    assert (
        json.dumps(yes_or_no().schema({})["properties"]["verdict"]) == '{"type": "string", "enum": ["yes", "no"]}'
    )
