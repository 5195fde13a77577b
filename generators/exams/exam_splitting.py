"""Exam of judges: split a text into atomic claims (the step `split` of factual correctness).

The text is made of known atomic facts, some of them joined in one sentence, so that what a judge leaves together,
takes apart too far, loses or adds can be counted: each fact is recognised by its value.

Source: ours.
"""

from collections.abc import Iterable
from random import Random
from typing import Any

from data.records import Family, Item
from generators.exams.base import examine, shuffled
from generators.exams.words import NAMED, words
from generators.exams.world import LANGUAGES, Building, draw_building, join, phrase, sentence, state, surfaces

LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"facts": 3, "joined": 0},
    "medium": {"facts": 4, "joined": 1},
    "hard": {"facts": 6, "joined": 2},
}


def facts_of(building: Building, relations: Iterable[str]) -> list[dict[str, Any]]:
    """Return facts of a building as claims of their own, each with the ways in which its value may be written."""
    language = building.language
    return [
        {"relation": one, "claim": state(building, {one: value}), "surfaces": surfaces(language, one, value)}
        for one, value in ((one, building.facts[one]) for one in relations)
    ]


def generate(rng: Random, *, language: str, facts: int, joined: int) -> Item:
    """Draw a text of so many facts, so many pairs of them joined in a sentence."""
    building = draw_building(rng, language, rng.sample(NAMED, facts))
    listed = shuffled(rng, list(building.facts))
    said = [
        phrase(building, relation, building.facts[relation], 0 if n == 0 else 2)
        for n, relation in enumerate(listed)
    ]
    sentences, place = [], 0
    pairs = set(rng.sample(range(facts // 2), joined))
    while place < facts:
        if place // 2 in pairs and place % 2 == 0 and place + 1 < facts:
            both = words(language).forms["both"].format(one=said[place], two=said[place + 1])
            sentences.append(sentence(language, both))
            place += 2
        else:
            sentences.append(sentence(language, said[place]))
            place += 1
    values = {"text": join(language, sentences), "question": ""}
    return examine(
        "split",
        "claims/split",
        language,
        {"response": values},
        facts_of(building, listed),
        kind=f"{joined} joined",
        world=[building.as_dict()],
    )


UNIT = Family(
    name="exam_splitting",
    version=1,
    levels=LEVELS,
    generate=generate,
    languages=LANGUAGES,
    balanced=lambda _, n: [{}] * n,
    titles={"en": "Exam: claim splitting", "ru": "Экзамен: разбиение на утверждения"},
)
