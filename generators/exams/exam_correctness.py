"""Exam of judges: an answer against the gold answer (the step `correctness` of citations).

Questions ask for one or two things. Answers are right in other words or another format, right with harmless detail,
plainly wrong, undecided between two values, refusals, or right in one of two parts without mentioning the other.
Answers right in one part and wrong in the other, or only slightly wrong, are left out: their grade is debatable.

Source: ours.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from data.records import Item
from generators.exams.world import (
    NAMED,
    RELATIONS,
    Building,
    Value,
    ask,
    draw_building,
    draw_value,
    exam_family,
    examine,
    far_value,
    in_turn,
    other_value,
    sentence,
    state,
    surface,
    words,
)

CORRECT, PARTLY, INCORRECT = GRADES = ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT")


Facts = Mapping[str, Value]
WAYS: Mapping[str, tuple[str, int]] = {
    "same": (CORRECT, 0),
    "short": (CORRECT, 0),
    "format": (CORRECT, 0),
    "detail": (CORRECT, 0),
    "wrong": (INCORRECT, 0),
    "refusal": (INCORRECT, 0),
    "either": (INCORRECT, 1),
    "missing": (PARTLY, 2),
    "unknown": (PARTLY, 2),
}
"""Ways to answer: the grade, and the number of things asked for that it applies to (0: any)."""


def _gold(building: Building, right: Facts) -> list[str]:
    """Return the short gold answers, one per thing asked for."""
    return [surface(building.language, one, value) for one, value in right.items()]


def _answer(rng: Random, building: Building, right: Facts, way: str) -> tuple[str, Mapping[str, Any]]:
    """Answer in a way; return the text and its stated values by relation: a value, or either of two.

    `format` states a height in centimetres or a date in the other order; `unknown` says that the rest is unknown.
    """
    language, answers = building.language, words(building.language).answers
    told: dict[str, Value] = {**right}
    match way:
        case "short":
            return ", ".join(_gold(building, right)), right
        case "refusal":
            return answers["refused"], {}
        case "either":
            relation, value = next(iter(right.items()))
            values = [value, other_value(rng, language, relation, value)]
            rng.shuffle(values)
            one, two = (surface(language, relation, each) for each in values)
            return sentence(language, answers["undecided"].format(one=one, two=two)), {relation: {"either": values}}
        case "detail":
            spare = rng.choice([one for one in building.facts if one not in right])
            told[spare] = building.facts[spare]
        case "wrong":
            told = {one: far_value(rng, language, one, value) for one, value in right.items()}
        case "missing" | "unknown":
            kept = rng.choice([*right])
            told = {kept: right[kept]}
    text = state(building, told, rng.randrange(2), int(way == "format"))
    return (answers["rest_unknown"].format(one=text) if way == "unknown" else text), told


LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"ways": ("same", "short", "wrong", "refusal", "missing"), "spare": 1},
    "medium": {"ways": ("same", "short", "format", "detail", "wrong", "refusal", "unknown", "missing"), "spare": 2},
    "hard": {"ways": ("format", "detail", "wrong", "either", "unknown", "missing"), "spare": 4},
}


def generate(rng: Random, *, language: str, ways: tuple[str, ...], spare: int, truth: str = "") -> Item:
    """Draw a question, its gold answer, and an answer; `truth` may give the answer's grade."""
    truth = truth or rng.choice(GRADES)
    way = rng.choice([one for one in ways if WAYS[one][0] == truth])
    relations = rng.sample(NAMED, WAYS[way][1] or rng.choice((1, 2)))
    building = draw_building(rng, language, (*relations, *rng.sample(RELATIONS[7:], 1)))
    more = [one for one in NAMED if one not in relations]
    facts = {**building.facts, **{one: draw_value(rng, language, one) for one in rng.sample(more, spare)}}
    building = replace(building, facts=facts)
    right = {one: facts[one] for one in relations}
    text, says = _answer(rng, building, right, way)
    values = {
        "question": ask(building, right),
        "short_answers": _gold(building, right),
        "long_answer": state(building, facts, rng.randrange(2)),
        "answer": text,
    }
    return examine(
        "correctness",
        language,
        {"answer": values},
        truth,
        kind=way,
        world=[building.as_dict()],
        asked=list(relations),
        says=dict(says),
    )


UNIT = exam_family(
    "correctness",
    2,
    LEVELS,
    generate,
    in_turn(*GRADES),
    en="Exam: answers against gold",
    ru="Экзамен: ответы и эталон",
)
