"""The judged chain: asked exactly what the rules leave open; votes are counted; a passport recovers its rates."""

import json
from random import Random
from typing import Any

import pytest

from data.options import options_of
from data.records import Unparsable
from metrics.chain import UNIT, majority, read_step, step_schema
from metrics.judging import JudgeRequest, Session, advance, begin, outcome
from tests.helpers.exam import exam_items
from tests.metrics.judges import earned

QUESTION = "A box holds 12 pens. Ann buys 4 boxes and gives 5 pens away. How many pens has she?"
REFERENCE = "12 * 4 = <<12*4=48>>48\n48 - 5 = <<48-5=43>>43\n#### 43"
OPEN = "4 * 12 = 48\n48 - 5 = 43\n#### 43"
PROSE = "There are four dozen pens.\nShe keeps forty.\n#### 40"
SETTLED = ("4 * 12 = 49\n49 - 6 = 43\n#### 43", "4 * 12 = 48\n48 + 5 = 53\n#### 53", "4 * 12 = 48\n#### 48")


def put(response: str, *steps: int, votes: int = 1) -> Session:
    """Put a reply to a judge that names these steps, one a vote."""
    sample = {"question": QUESTION, "reference": REFERENCE, "response": response}
    session = begin(UNIT, sample, language="en", options={"votes": votes})
    return advance(session, [json.dumps({"reason": "r", "step": step}) for step in steps])


@pytest.mark.parametrize("response", SETTLED)
def test_what_the_rules_name_is_asked_of_nobody(response: str) -> None:
    found = put(response)
    assert found.n_calls == 0
    score = outcome(found)
    assert (score.value, score.details["by"], score.parts["judged"]) == (0.0, "rules", None)


@pytest.mark.parametrize("response", [OPEN, PROSE], ids=["right", "wrong, without a step to name"])
def test_what_they_leave_open_is_asked(response: str) -> None:
    found = put(response, -1)
    assert found.n_calls == 1
    assert (outcome(found).value, outcome(found).parts["judged"]) == (1.0, 1.0)
    wrong = outcome(put(response, 2))
    assert (wrong.value, wrong.details["first_error"]["step"], wrong.details["by"]) == (0.0, 2, "judge")


def test_steps_are_numbered_in_the_prompt_and_an_answer_is_bounded() -> None:
    sample = {"question": QUESTION, "reference": REFERENCE, "response": OPEN}
    for language, first in (("en", "Step 1: 4 * 12"), ("ru", "Шаг 1: 4 * 12"), ("zh", "步骤 1：4 * 12")):
        (ask,) = begin(UNIT, sample, language=language).asks
        assert first in ask.messages[-1].content
        schema: dict[str, Any] = step_schema(ask.question)
        assert schema["properties"]["step"]["enum"] == [-1, 1, 2]
        assert [*schema["properties"]] == ["reason", "step"]
    for text in ('{"reason": "", "step": 3}', '{"reason": "", "step": 0}', '{"reason": "", "step": true}', "2"):
        with pytest.raises(Unparsable):
            read_step(ask.question, text)


def test_votes_are_counted_and_each_is_a_call() -> None:
    found = put(OPEN, 2, -1, 2, votes=3)
    assert found.n_calls == 3
    assert [vote["step"] for vote in outcome(found).details["votes"].values()] == [2, -1, 2]
    assert outcome(found).value == 0.0
    assert outcome(put(OPEN, -1, 2, -1, votes=3)).value == 1.0
    assert (
        len({ask.question.repeat for ask in begin(UNIT, found.sample, language="en", options={"votes": 3}).asks})
        == 3
    )
    assert [majority(votes) for votes in ([1, 2], [-1, 3], [-1], [2, 2, 1])] == [1, 3, -1, 2]


def test_the_cost_that_is_told_is_items_times_votes() -> None:
    """Calls are counted with the reference as the reply: a right chain, which the rules leave open."""
    assert UNIT.stand_in is not None
    sample = {"question": QUESTION, "reference": REFERENCE}
    session = begin(UNIT, {**sample, "response": UNIT.stand_in(sample)}, language="en", options={"votes": 5})
    assert session.n_calls == 5
    assert options_of(UNIT, {})["votes"] == 1


@pytest.mark.parametrize("language", ["en", "ru", "zh"])
def test_a_passport_recovers_a_judges_rates(language: str) -> None:
    """A judge that misses 30 % of the planted errors and suspects 10 % of right solutions."""
    rng = Random(5)

    def erring(item: Any, ask: JudgeRequest) -> str:
        del ask
        first = item.facts["first"]
        step = (1 if rng.random() < 0.1 else -1) if first == -1 else (-1 if rng.random() < 0.3 else first)
        return json.dumps({"reason": "", "step": step})

    (found,) = earned(exam_items(language, 200, families=["exam_chain"]), erring)
    assert found.labels == ("none", "wrong")
    for share, rate in ((found.sensitivity, 0.9), (found.specificity, 0.7)):
        assert share.n == 200
        low, high = share.interval.low, share.interval.high
        assert low is not None
        assert high is not None
        assert low <= rate <= high
