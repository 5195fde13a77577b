"""Exam of judges: which of two responses is better, asked in both orders (the step `compare` of preference).

One response answers the questions correctly, the other has wrong or missing parts; or both say the same in other
words, which is a tie.

Source: ours.
"""

from random import Random
from typing import Any

from data.records import Item
from generators.exams.world import NAMED, ask, draw_building, exam_family, examine, in_turn, other_value, state

BETTER, TIE, WORSE = TRUTHS = ("better", "tie", "worse")
LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"facts": 2, "wrong": 2, "restyled": False},
    "medium": {"facts": 3, "wrong": 1, "restyled": False},
    "hard": {"facts": 4, "wrong": 1, "restyled": True},
}


def generate(rng: Random, *, language: str, facts: int, wrong: int, restyled: bool, truth: str = "") -> Item:
    """Draw a question and two responses, the first better, worse or tied; `truth` may say which.

    The worse response has `wrong` wrong or missing values; in a tie, the second response is reworded.
    """
    truth = truth or rng.choice(TRUTHS)
    building = draw_building(rng, language, rng.sample(NAMED, facts))
    right, lesser = building.facts, dict(building.facts)
    kind = "other words"
    if truth != TIE:
        kind = rng.choice(("wrong", "missing")) if wrong < facts else "wrong"
        for relation in rng.sample(list(right), wrong):
            if kind == "wrong":
                lesser[relation] = other_value(rng, language, relation, right[relation])
            else:
                del lesser[relation]
    styles = (0, 1) if truth == TIE or restyled else (0, 0)
    says = [right, lesser]
    first, second = (state(building, said, style) for said, style in zip(says, styles, strict=True))
    if truth == WORSE:
        first, second = second, first
        says.reverse()
    shared = {"question": ask(building, right), "reference": state(building, right), "criteria": ""}
    return examine(
        "preference",
        language,
        {"ab": {**shared, "first": first, "second": second}, "ba": {**shared, "first": second, "second": first}},
        truth,
        kind=kind,
        world=[building.as_dict()],
        says=says,
    )


UNIT = exam_family(
    "preference", 2, LEVELS, generate, in_turn(*TRUTHS), en="Exam: preference", ru="Экзамен: предпочтение"
)
