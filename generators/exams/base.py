"""What the exam's families share: an item from questions with a known truth, and the marking of a reply."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from data.draw import canonical
from data.exam import EXAM, KIND, QUESTIONS, TRUTH
from data.json_reply import read_object
from data.records import Item, Unparsable, Verdict
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


def read(reply: str, *keys: str) -> dict[str, Any] | None:
    """Return the JSON object of a reply; None where there is none."""
    try:
        return dict(read_object(reply, *keys))
    except Unparsable:
        return None


def mark_label(item: Item, reply: str, key: str) -> Verdict:
    """Mark a reply of one label under `key`."""
    found = read(reply, key)
    if found is None or not isinstance(found[key], str | int) or isinstance(found[key], bool):
        return Verdict(correct=None, reason="no verdict of the form asked for")
    said = str(found[key]).strip()
    if said.upper() != str(item.facts[TRUTH]).upper():
        return Verdict(correct=False, reason="another verdict", details={"said": said[:40]})
    return Verdict(correct=True, reason="right")


def label_reply(item: Item, key: str) -> str:
    """Return the right reply of one label."""
    truth = item.facts[TRUTH]
    return canonical({"reason": "", key: int(truth) if str(truth).isdigit() else truth})


def label_misses(item: Item, key: str, labels: Sequence[str]) -> list[str]:
    """Return replies with every other label, cut ones and ones of another form."""
    truth = str(item.facts[TRUTH])
    right = label_reply(item, key)
    wrong = [
        canonical({"reason": truth, key: int(one) if one.isdigit() else one}) for one in labels if one != truth
    ]
    return [*wrong, right[:-2], truth, canonical({"reason": truth}), canonical({key: [truth]}), ""]


def shuffled(rng: Random, listed: Sequence[Any]) -> list[Any]:
    """Return a list in random order."""
    return rng.sample(list(listed), len(listed))
