"""The kinds of twins that are made of an item alone: what each renews, and what its draws depend on."""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from data.draw import source
from data.suites import TwinKind
from generators.twins import names, numbers, order
from generators.twins.base import Refused, Renewed

Facts = Mapping[str, Any]
LABELS = {
    "en": ("Q:", "Question:", "Problem.", "Task:"),
    "ru": ("Вопрос:", "Задача.", "Задание:"),
    "zh": ("问题：", "题目："),
}
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")


def _numbers(facts: Facts, answer: str, language: str, rng: Random) -> Renewed:
    question, reference, annotated = _text(facts, "question"), _text(facts, "reference"), facts.get("annotated")
    return numbers.renew(question, reference, language, rng, answer=answer, annotated=str(annotated or ""))


def _names(facts: Facts, answer: str, language: str, rng: Random) -> Renewed:
    reference = str(facts.get("reference") or "")
    return names.renew(_text(facts, "question"), reference, answer, language, rng)


def _layout(facts: Facts, answer: str, language: str, rng: Random) -> Renewed:
    """Set the question in another layout: a label, a line for each sentence; it stays word for word."""
    label, question = rng.choice(LABELS.get(language, LABELS["en"])), _text(facts, "question")
    lines = _SENTENCE.split(question) if rng.random() < 0.5 else [question]  # noqa: PLR2004 - a coin
    return Renewed(answer, {"question": "\n".join([label, *lines])})


def _text(facts: Facts, name: str) -> str:
    found = facts.get(name)
    if not isinstance(found, str) or not found.strip():
        raise Refused(f"a row without a {name}")
    return found.strip()


_RENEW: Mapping[str, tuple[int, Callable[[Facts, str, str, Random], Renewed]]] = {
    "numbers": (numbers.VERSION, _numbers),
    "names": (names.VERSION, _names),
    "order": (order.VERSION, lambda facts, answer, _, rng: order.renew(facts, answer, rng)),
    "format": (1, _layout),
}


def renew(
    kind: TwinKind, item: str, facts: Facts, answer: str, language: str, *, seed: int, number: int
) -> Renewed:
    """Make an item's twin of a kind, the `number`th; `item` is the digest of what the item asks.

    Raises:
        Refused: no such twin of the item is surely right; the text is the reason.
    """
    version, make = _RENEW[kind]
    return make(facts, answer, language, source("twin", item, kind, seed, version, number))
