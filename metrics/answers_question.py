"""Whether the response answers the question: fully, partly or not; 1, 0.5 or 0."""

from collections.abc import Iterable, Mapping
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.records import Found, Measured, Question, Sample, Score, Step
from basic_control.data.shown import Distribution, Shown
from basic_control.data.typed import Typed
from basic_control.metrics._replies import NO_REPLY, question, reply
from basic_control.metrics.judging import Judgement, read_verdict

WORTH: Mapping[str, float] = {"FULLY": 1.0, "PARTLY": 0.5, "NOT": 0.0}


def rows(sample: Sample, _replies: Found, _options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask one question about the response; none about an empty one."""
    response = reply(sample)
    if response:
        yield Question("answered", {"question": question(sample), "response": response})


def read_answered(_question: Question, text: str) -> Judgement:
    """Read `{"reason": …, "verdict": FULLY, PARTLY or NOT}`.

    Raises:
        Unparsable: the verdict is missing or another.
    """
    return read_verdict(text, WORTH)


@metric(
    steps=(Step("rate", rows, "answers/rate", read_answered, asks=Typed("choice", "verdict", WORTH)),),
    reads=("question",),
    temperature=0.0,
    measured=(
        Measured(
            "",
            "answers_question",
            WORTH,
            lambda details: [details["label"]] if "label" in details else [],
        ),
    ),
    title={"en": "Answers the question", "ru": "Отвечает на вопрос"},
    shown=Shown(
        distributions=(
            Distribution(
                "answered",
                lambda details: [details.get("label", "")],
                {
                    "FULLY": {"en": "fully", "ru": "полностью"},
                    "PARTLY": {"en": "partly", "ru": "частично"},
                    "NOT": {"en": "not", "ru": "не отвечает"},
                },
                {"en": "How far it answers", "ru": "Насколько отвечает"},
            ),
        )
    ),
)
def answers_question(sample: Sample, replies: Found, _options: Mapping[str, Any]) -> Score:
    """Score one response by the judge's verdict.

    Source: ours, in place of RAGAS' answer relevancy, which compares embeddings.
    """
    if not reply(sample):
        return NO_REPLY
    judged: Judgement = replies["rate"]["answered"]
    return Score(judged.value, details={"label": judged.label, "judge_reason": judged.reason})
