"""Exam of judges: an answer against the gold answer (the step `correctness` of citations).

Questions ask for one thing or for two; answers are right in other words or another format, right with harmless
detail, plainly wrong, undecided between two, refusals, and right in one part of two, of which nothing else is said.
What is right in one part and wrong in the other, or wrong by little, might be graded either way: it is not asked.

Source: ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from data.records import Family, Item
from generators.exams.base import examine, in_turn
from generators.exams.words import NAMED, RELATIONS, words
from generators.exams.world import (
    LANGUAGES,
    Building,
    Value,
    ask,
    draw_building,
    draw_value,
    far_value,
    other_value,
    sentence,
    state,
    surface,
)

CORRECT, PARTLY, INCORRECT = GRADES = ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT")


Facts = Mapping[str, Value]
Made = tuple[str, Mapping[str, Any]]
"""An answer, and what it states by relation: a value, or either of two."""


def _gold(building: Building, right: Facts) -> list[str]:
    """Return the short gold answers, one for each thing asked for."""
    return [surface(building.language, one, value) for one, value in right.items()]


def _same(rng: Random, building: Building, right: Facts) -> Made:
    return state(building, right, rng.randrange(2)), right


def _short(rng: Random, building: Building, right: Facts) -> Made:
    del rng
    return ", ".join(_gold(building, right)), right


def _format(rng: Random, building: Building, right: Facts) -> Made:
    """State a height in centimetres, a date the other way round; else as it is."""
    return state(building, right, rng.randrange(2), 1), right


def _detail(rng: Random, building: Building, right: Facts) -> Made:
    spare = rng.choice([one for one in building.facts if one not in right])
    told = {**right, spare: building.facts[spare]}
    return state(building, told, rng.randrange(2)), told


def _wrong(rng: Random, building: Building, right: Facts) -> Made:
    told = {one: far_value(rng, building.language, one, value) for one, value in right.items()}
    return state(building, told, rng.randrange(2)), told


def _refusal(rng: Random, building: Building, right: Facts) -> Made:
    del rng, right
    return words(building.language).answers["refused"], {}


def _either(rng: Random, building: Building, right: Facts) -> Made:
    language, (relation, value) = building.language, next(iter(right.items()))
    values = [value, other_value(rng, language, relation, value)]
    rng.shuffle(values)
    one, two = (surface(language, relation, each) for each in values)
    said = words(language).answers["undecided"].format(one=one, two=two)
    return sentence(language, said), {relation: {"either": values}}


def _missing(rng: Random, building: Building, right: Facts) -> Made:
    kept = rng.choice([*right])
    told = {kept: right[kept]}
    return state(building, told, rng.randrange(2)), told


def _unknown(rng: Random, building: Building, right: Facts) -> Made:
    """Answer one part and say that the rest is not known."""
    text, told = _missing(rng, building, right)
    return words(building.language).answers["rest_unknown"].format(one=text), told


WAYS: Mapping[str, tuple[Callable[[Random, Building, Facts], Made], str, int]] = {
    "same": (_same, CORRECT, 0),
    "short": (_short, CORRECT, 0),
    "format": (_format, CORRECT, 0),
    "detail": (_detail, CORRECT, 0),
    "wrong": (_wrong, INCORRECT, 0),
    "refusal": (_refusal, INCORRECT, 0),
    "either": (_either, INCORRECT, 1),
    "missing": (_missing, PARTLY, 2),
    "unknown": (_unknown, PARTLY, 2),
}
"""Ways to answer: how, what the answer is then, and to how many things asked for it goes (0: any)."""

LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"ways": ("same", "short", "wrong", "refusal", "missing"), "spare": 1},
    "medium": {"ways": ("same", "short", "format", "detail", "wrong", "refusal", "unknown", "missing"), "spare": 2},
    "hard": {"ways": ("format", "detail", "wrong", "either", "unknown", "missing"), "spare": 4},
}


def generate(rng: Random, *, language: str, ways: tuple[str, ...], spare: int, truth: str = "") -> Item:
    """Draw a question, its gold answer, and an answer of a grade that may be given."""
    truth = truth or rng.choice(GRADES)
    way = rng.choice([one for one in ways if WAYS[one][1] == truth])
    answer, _, number = WAYS[way]
    number = number or rng.choice((1, 2))
    relations = rng.sample(NAMED, number)
    building = draw_building(rng, language, (*relations, *rng.sample(RELATIONS[7:], 1)))
    more = [one for one in NAMED if one not in relations]
    facts = {**building.facts, **{one: draw_value(rng, language, one) for one in rng.sample(more, spare)}}
    building = replace(building, facts=facts)
    right = {one: facts[one] for one in relations}
    text, says = answer(rng, building, right)
    values = {
        "question": ask(building, right),
        "short_answers": _gold(building, right),
        "long_answer": state(building, facts, rng.randrange(2)),
        "answer": text,
    }
    return examine(
        "correctness",
        "citation/correctness",
        language,
        {"answer": values},
        truth,
        kind=way,
        world=[building.as_dict()],
        asked=list(relations),
        says=dict(says),
    )


UNIT = Family(
    name="exam_correctness",
    version=2,
    levels=LEVELS,
    generate=generate,
    languages=LANGUAGES,
    titles={"en": "Exam: answers against gold", "ru": "Экзамен: ответы и эталон"},
    balanced=in_turn(*GRADES),
)
