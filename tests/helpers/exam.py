"""Scripted judges for the exam: what a judge says to a question of which the test knows the truth."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from basic_control.data.loaders.exam import Options, exam_questions
from basic_control.data.plugins import metric
from basic_control.data.records import Item
from basic_control.metrics.judging import JudgeRequest, begin

Judge = Callable[[Item, JudgeRequest], str]
FORMS = {"groundedness": "rating", "rubric": "rating", "preference": "winner"}
WINNERS = {"better": "first", "tie": "tie", "worse": "second"}
TURNED = {"first": "second", "tie": "tie", "second": "first"}


def exam_items(language: str, n: int, **options: Any) -> list[Item]:
    """Draw an exam as it is asked: n questions of each truth, of all steps."""
    validated = Options.model_validate({"n_items": n, "languages": [language], **options})
    return [*exam_questions.load(validated.model_dump(), ())]


def sample(item: Item) -> dict[str, Any]:
    return {**json.loads(json.dumps(dict(item.facts))), "response": ""}


def say(exam: str, label: Any) -> str:
    """Return a reply of one label."""
    form = FORMS.get(exam, "verdict")
    return json.dumps({"reason": "", form: int(label) if form == "rating" else label})


def perfect(item: Item, ask: JudgeRequest) -> str:
    """Say the truth."""
    truth, exam = item.facts["truth"], str(item.facts["exam"])
    if exam == "entails":
        verdicts = [{"id": id_, "reason": "", "verdict": label} for id_, label in truth.items()]
        return json.dumps({"verdicts": verdicts})
    if exam == "split":
        return json.dumps({"claims": [f"It is {spellings[0]}." for spellings in truth]})
    if exam == "preference":
        winner = WINNERS[truth]
        return say(exam, winner if ask.question.key.startswith("ab") else TURNED[winner])
    return say(exam, truth)


def asks(item: Item) -> Iterator[JudgeRequest]:
    """Yield what the exam asks about an item."""
    yield from begin(metric("exam"), sample(item), language=item.language).asks


def spoken(items: Sequence[Item], script: Judge) -> Mapping[str, str]:
    """Return a judge's reply to each prompt of the exam."""
    return {ask.messages[-1].content: script(item, ask) for item in items for ask in asks(item)}
