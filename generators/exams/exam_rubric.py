"""Exam of judges: rate a response by a countable criterion, 1 to 5 (the step `rate` of rubrics).

The criterion asks for four facts and gives a point for each one stated correctly: nothing is subjective.

Source: ours.
"""

from random import Random
from typing import Any

from data.records import Item
from generators.exams.world import (
    NAMED,
    ask,
    draw_building,
    exam_family,
    examine,
    in_turn,
    other_value,
    shuffled,
    state,
    words,
)

LO, HI = 1, 5
FACTS = HI - LO
RATINGS = tuple(str(one) for one in range(LO, HI + 1))
LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"wrong": False, "restyled": False},
    "medium": {"wrong": True, "restyled": False},
    "hard": {"wrong": True, "restyled": True},
}


def generate(rng: Random, *, language: str, wrong: bool, restyled: bool, truth: str = "") -> Item:
    """Draw a response that answers as many questions as its rating says; `truth` may give the rating.

    It omits the other facts or, if `wrong`, may state them wrongly; `restyled`: reworded.
    """
    right = int(truth or rng.choice(RATINGS)) - LO
    building = draw_building(rng, language, rng.sample(NAMED, FACTS))
    said = {}
    for number, relation in enumerate(shuffled(rng, building.facts)):
        value = building.facts[relation]
        if number < right:
            said[relation] = value
        elif (wrong and rng.random() < 0.5) or (number == FACTS - 1 and not said):  # noqa: PLR2004 - one in two
            said[relation] = other_value(rng, language, relation, value)
    spoken = {one: said[one] for one in shuffled(rng, said)}
    values = {
        "criterion": words(language).criterion,
        "question": ask(building, building.facts),
        "response": state(building, spoken, int(restyled)),
        "reference": state(building, building.facts),
        "lo": LO,
        "hi": HI,
    }
    return examine(
        "rubric",
        language,
        {"rating": values},
        str(LO + right),
        kind=f"{right} of {FACTS}",
        world=[building.as_dict()],
        says=said,
    )


UNIT = exam_family(
    "rubric", 2, LEVELS, generate, in_turn(*RATINGS), en="Exam: rubric", ru="Экзамен: оценка по критериям"
)
