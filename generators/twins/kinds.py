"""The kinds of twins made from an item alone: what each renews, and what its draws depend on."""

import re
from collections.abc import Mapping
from typing import Any

from basic_control.data.draw import format_canonical, source
from basic_control.data.suites import TwinKind
from basic_control.generators.twins import order, renaming, renumbering
from basic_control.generators.twins.base import Refused, Renewed

LABELS = {
    "en": ("Q:", "Question:", "Problem.", "Task:"),
    "ru": ("Вопрос:", "Задача.", "Задание:"),
    "zh": ("问题：", "题目："),
}
# The space between two sentences: "Tom ran. He fell."
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_RENAMED = ("question", "reference", "annotated")

_VERSIONS = {"numbers": 1, "names": 1, "order": 1, "format": 1}
"""Part of the seed of the draws, beside the item; raise a kind's version when it renews differently."""


def renew(
    kind: TwinKind, item: str, facts: Mapping[str, Any], answer: str, language: str, *, seed: int, number: int
) -> Renewed:
    """Make the `number`th twin of an item of the given kind; `item` is the digest of what the item asks.

    Raises:
        Refused: no such twin of the item is certain to be right; the text is the reason.
    """
    rng = source("twin", item, kind, seed, _VERSIONS[kind], number)
    if kind == "order":
        return order.renew(facts, answer, rng)
    # Another layout: a label, one line per sentence; the question stays verbatim.
    if kind == "format":
        label, question = rng.choice(LABELS.get(language, LABELS["en"])), _read_text(facts, "question")
        lines = _SENTENCE.split(question) if rng.random() < 0.5 else [question]  # noqa: PLR2004 - a coin
        return Renewed(answer, {"question": "\n".join([label, *lines])})
    question, annotated = _read_text(facts, "question"), str(facts.get("annotated") or "")
    if kind == "names":
        fixed_facts = {name: value for name, value in facts.items() if name not in _RENAMED}
        # A name must not be glued to an escape of JSON: "\nTom".
        fixed_text = re.sub(r"\\[nrt]", " ", format_canonical(fixed_facts))
        return renaming.renew(
            question, str(facts.get("reference") or ""), answer, language, rng, fixed_text=fixed_text
        )
    return renumbering.renew(
        question, _read_text(facts, "reference"), language, rng, answer=answer, annotated=annotated
    )


def _read_text(facts: Mapping[str, Any], name: str) -> str:
    text = facts.get(name)
    if not isinstance(text, str) or not text.strip():
        raise Refused(f"a row without a {name}")
    return text.strip()
