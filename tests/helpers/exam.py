"""Scripted judges for the exam: what a judge says to a question of which the test knows the truth."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from data.draw import draw
from data.loaders.exam import UNIT, Options
from data.plugins import families, metric
from data.records import Item
from metrics.judging import JudgeRequest, begin

Judge = Callable[[Item, JudgeRequest], str]
FORMS = {"groundedness": "rating", "rubric": "rating", "preference": "winner"}
WINNERS = {"better": "first", "tie": "tie", "worse": "second"}
TURNED = {"first": "second", "tie": "tie", "second": "first"}


def sheet(names: Sequence[str], language: str, count: int, levels: Sequence[str], seed: int = 42) -> list[Item]:
    """Draw items of families of the exam, whatever their truths."""
    found = []
    for name in names:
        seen: set[str] = set()
        for level in levels:
            found += draw(families()[name], level=level, language=language, seed=seed, count=count, seen=seen)
    return found


def exam_items(language: str, n: int, **options: Any) -> list[Item]:
    """Draw an exam as it is asked: n questions of each truth, of all families."""
    given = Options.model_validate({"n_items": n, "languages": [language], **options}).model_dump()
    return [*UNIT.load(given, ())]


def sample(item: Item) -> dict[str, Any]:
    return {**json.loads(json.dumps(dict(item.facts))), "response": ""}


def say(exam: str, label: Any) -> str:
    """Return a reply of one label."""
    form = FORMS.get(exam, "verdict")
    return json.dumps({"reason": "", form: int(label) if form == "rating" else label})


def perfect(item: Item, ask: JudgeRequest) -> str:
    """Say the truth, whatever the clothes."""
    truth, exam = item.facts["truth"], str(item.facts["exam"])
    if exam == "entails":
        listed = [{"id": one, "reason": "", "verdict": verdict} for one, verdict in truth.items()]
        return json.dumps({"verdicts": listed})
    if exam == "split":
        return json.dumps({"claims": [fact["claim"] for fact in truth]})
    if exam == "preference":
        winner = WINNERS[truth]
        return say(exam, winner if ask.question.key.endswith("ab") else TURNED[winner])
    return say(exam, truth)


def asks(item: Item, **options: Any) -> Iterator[JudgeRequest]:
    """Yield what the exam asks about an item."""
    unit = metric(f"exam_{item.facts['exam']}")
    yield from begin(unit, sample(item), language=item.language, options=options).asks


def spoken(items: Sequence[Item], script: Judge, **options: Any) -> Mapping[str, str]:
    """Return a judge's reply to each prompt of the exam."""
    return {ask.messages[-1].content: script(item, ask) for item in items for ask in asks(item, **options)}
