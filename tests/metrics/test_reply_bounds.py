"""A constrained reply closes within the judge's tokens, whatever the judge writes into it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from basic_control.data.plugins import metrics
from basic_control.data.records import Message, Question, Step
from basic_control.metrics._reply_bounds import CHARACTERS, limit_reply
from basic_control.metrics.judging import JudgeRequest, constrain

VERDICTS = {"claims": [{"id": str(n), "text": "x"} for n in range(1, 5)], "source": "y"}
RATED = {"lo": 1, "hi": 5}
STEPS = [
    (metric.name, step)
    for metric in metrics().values()
    for step in metric.steps
    if metric.name in {"citation", "factual_correctness", "faithfulness", "response_groundedness",
                       "context_recall", "context_precision", "answers_question", "preference", "rubric"}
]  # fmt: skip


def schema_of(step: Step) -> dict[str, Any]:
    schema = step.schema_of(Question("ab", {**VERDICTS, **RATED}))
    assert schema is not None
    return dict(schema)


def longest(schema: Mapping[str, Any]) -> Any:
    """Return the longest value that a schema lets a judge write; one without a bound is refused."""
    if "enum" in schema:
        return max(schema["enum"], key=lambda one: len(str(one)))
    if schema["type"] == "object":
        return {name: longest(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [longest(schema["items"])] * schema["maxItems"]
    assert schema["type"] == "string"
    return "x" * schema["maxLength"]


@pytest.mark.parametrize("language", ["en", "ru", "zh", "de"])
@pytest.mark.parametrize("tokens", [256, 512, 1024, 4096])
@pytest.mark.parametrize(("name", "step"), STEPS)
def test_the_longest_reply_fits(name: str, step: Step, tokens: int, language: str) -> None:
    del name
    reply = longest(limit_reply(schema_of(step), tokens, language))
    texts = sum(len(part) for part in words(reply) if set(part) == {"x"})
    form = len(json.dumps(reply)) - texts
    # By hand: texts at the language's rate, the form at two characters a token.
    assert texts / CHARACTERS.get(language, 1.5) + form / 2 <= tokens


def words(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [word for part in value.values() for word in words(part)]
    return [word for part in value for word in words(part)] if isinstance(value, list) else []


def test_more_tokens_leave_room_for_more_claims() -> None:
    split = next(step for name, step in STEPS if step.name == "split")
    counts = [limit_reply(schema_of(split), n, "en")["properties"]["claims"]["maxItems"] for n in (256, 1024, 4096)]
    assert counts == sorted(set(counts))
    assert counts[1] >= 20


def test_the_order_and_tighter_bounds_of_a_schema_stay() -> None:
    given = {
        "type": "object",
        "properties": {"why": {"type": "string", "maxLength": 20}, "a": {"type": "integer", "enum": [1, 2]}},
    }
    assert limit_reply(given, 1024, "en") == given
    assert list(limit_reply(given, 1024, "en")["properties"]) == ["why", "a"]


def test_a_repair_has_less_room() -> None:
    schema = {"type": "object", "properties": {"reason": {"type": "string"}}}
    asks = [
        JudgeRequest("rate", Question("x", {}), (Message("user", "?"),), schema, repair=repair)
        for repair in (False, True)
    ]
    lengths = []
    for ask in asks:
        found = constrain(ask, 300, "en")
        assert found is not None
        lengths.append(found["properties"]["reason"]["maxLength"])
    assert lengths[1] < lengths[0] / 2
