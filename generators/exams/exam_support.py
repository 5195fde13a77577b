"""Exam of judges: does a cited passage support one claim of an answer (the step `support` of citations).

As `exam_entailment`, with one claim at a time, shown in its answer.

Source: ours.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from data.records import Item
from generators.exams.exam_entailment import EASY, MEDIUM
from generators.exams.world import (
    CONTRADICTED,
    NEUTRAL,
    SUPPORTED,
    draw_claim,
    exam_family,
    examine,
    in_turn,
    join,
    tell_two,
)

LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"facts": 3, "changes": EASY, "rival": False, "pronouns": False},
    "medium": {"facts": 5, "changes": MEDIUM, "rival": False, "pronouns": True},
    "hard": {
        "facts": 7,
        "changes": (*MEDIUM, "double", "double_other", "weaker", "swapped", "reversed", "not_unstated"),
        "rival": True,
        "pronouns": True,
    },
}
LABELS = {SUPPORTED: "ENTAILMENT", CONTRADICTED: "CONTRADICTION", NEUTRAL: "NEUTRAL"}


def generate(
    rng: Random, *, language: str, facts: int, changes: Sequence[str], rival: bool, pronouns: bool, truth: str = ""
) -> Item:
    """Draw a passage and a claim about it, whose truth may be given."""
    truth = truth or rng.choice(tuple(LABELS))
    building, other, told = tell_two(rng, language, facts, rival=rival, pronouns=pronouns)
    one = draw_claim(rng, building, changes, rival=other, wanted=truth)
    values = {"kind": "passage", "content": join(language, told), "claim": one.text, "context": one.text}
    return examine(
        "support",
        language,
        {"0": values},
        LABELS[one.truth],
        kind=one.change,
        world=[each.as_dict() for each in (building, other) if each],
        says=dict(one.says),
    )


UNIT = exam_family(
    "support", 2, LEVELS, generate, in_turn(*LABELS), en="Exam: cited support", ru="Экзамен: опора на источник"
)
