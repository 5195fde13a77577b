"""What the exam's families share: an item from questions with a known truth. `metrics.exam` marks the replies."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from data.draw import canonical
from data.exam import EXAM, KIND, QUESTIONS, TRUTH
from data.records import Item
from prompts import render

MARK = "exam"
"""The code of the fences in an item's own prompt; what a judge is asked has one of its own."""

Values = Mapping[str, Any]


def examine(
    exam: str, template: str, language: str, questions: Mapping[str, Values], truth: Any, **facts: Any
) -> Item:
    """Make an item: its prompt is the judge's own, of all its questions."""
    prompts = [render(template, language, **values, mark=MARK) for values in questions.values()]
    listed = [{"key": key, "values": dict(values)} for key, values in questions.items()]
    return Item(
        prompt="\n\n".join(dict.fromkeys(prompts)),
        answer=truth if isinstance(truth, str) else canonical(truth),
        facts={EXAM: exam, QUESTIONS: listed, TRUTH: truth, "response": "", **facts},
        template=str(facts[KIND]),
    )


def in_turn(*truths: str) -> Callable[[Mapping[str, Any], int], list[dict[str, str]]]:
    """Return a family's `balanced`: each truth n times, in turn; more questions begin with the same."""

    def balanced(level: Mapping[str, Any], n: int) -> list[dict[str, str]]:
        del level
        return [{"truth": truth} for _ in range(n) for truth in truths]

    return balanced


def shuffled(rng: Random, listed: Sequence[Any]) -> list[Any]:
    """Return a list in random order."""
    return rng.sample(list(listed), len(listed))
