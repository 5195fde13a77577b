"""Exam of judges: split a text into atomic claims (the step `split` of factual correctness).

The text consists of known atomic facts, some joined in one sentence. Facts that a judge fails to split, splits too
far, loses or adds can be counted, because each fact is recognised by its value.

Source: ours.
"""

from collections.abc import Iterable
from random import Random
from typing import Any

from data.records import Item
from generators.exams.world import (
    NAMED,
    Building,
    draw_building,
    exam_family,
    examine,
    join,
    phrase,
    sentence,
    shuffled,
    state,
    surfaces,
    words,
)

LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"facts": 3, "joined": 0},
    "medium": {"facts": 4, "joined": 1},
    "hard": {"facts": 6, "joined": 2},
}


def facts_of(building: Building, relations: Iterable[str]) -> list[dict[str, Any]]:
    """Return facts of a building as separate claims, each with the possible spellings of its value."""
    language = building.language
    return [
        {"relation": one, "claim": state(building, {one: value}), "surfaces": surfaces(language, one, value)}
        for one, value in ((one, building.facts[one]) for one in relations)
    ]


def generate(rng: Random, *, language: str, facts: int, joined: int) -> Item:
    """Draw a text of `facts` facts, with `joined` pairs of them joined in a sentence."""
    building = draw_building(rng, language, rng.sample(NAMED, facts))
    listed = shuffled(rng, building.facts)
    said = [
        phrase(building, relation, building.facts[relation], 0 if n == 0 else 2)
        for n, relation in enumerate(listed)
    ]
    for pair in sorted(rng.sample(range(facts // 2), joined), reverse=True):
        one, two = said[2 * pair : 2 * pair + 2]
        said[2 * pair : 2 * pair + 2] = [words(language).forms["both"].format(one=one, two=two)]
    values = {"text": join(language, [sentence(language, one) for one in said]), "question": ""}
    return examine(
        "split",
        language,
        {"response": values},
        facts_of(building, listed),
        kind=f"{joined} joined",
        world=[building.as_dict()],
    )


UNIT = exam_family(
    "split",
    1,
    LEVELS,
    generate,
    lambda _, n: [{}] * n,
    en="Exam: claim splitting",
    ru="Экзамен: разбиение на утверждения",
)
