"""Exam of judges: an answer against the gold answer (the step `correctness` of citations).

Questions ask for one thing or for two; answers are right in other words or another format, right with harmless
detail, plainly wrong, undecided between two, refusals, and right in one part of two, of which nothing else is said.
What is right in one part and wrong in the other, or wrong by little, might be graded either way: it is not asked.

Source: ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from data.records import Family, Item
from generators.exams.base import examine, in_turn, label_misses, label_reply, mark_label
from generators.exams.words import NAMED, RELATIONS, words
from generators.exams.world import (
    LANGUAGES,
    Building,
    Value,
    draw_building,
    draw_value,
    far_value,
    join,
    other_value,
    phrase,
    sentence,
    surface,
)

CORRECT, PARTLY, INCORRECT = GRADES = ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT")


@dataclass(frozen=True, slots=True)
class BuildingQuestion:
    """A question about a building: the relations that it asks for, all of them facts of the building."""

    building: Building
    relations: tuple[str, ...]

    @property
    def language(self) -> str:
        """The building's language."""
        return self.building.language

    def text(self) -> str:
        """Return the question."""
        forms = self.building.forms
        asked = [words(self.language).questions[one].format(**forms) for one in self.relations]
        return join(self.language, asked)

    def gold(self) -> list[str]:
        """Return the short gold answers, one for each thing asked for."""
        return [surface(self.language, one, self.building.facts[one]) for one in self.relations]

    def state(self, values: Mapping[str, Value], style: int = 0, unit: int = 0) -> str:
        """Return an answer that states these values, in sentences."""
        said = [
            sentence(self.language, phrase(self.building, relation, value, style, unit))
            for relation, value in values.items()
        ]
        return join(self.language, said)

    def right(self) -> dict[str, Value]:
        """Return the right values of what is asked for."""
        return {one: self.building.facts[one] for one in self.relations}


Made = tuple[str, Mapping[str, Any]]
"""An answer, and what it states by relation: a value, or either of two."""


def _same(rng: Random, asked: BuildingQuestion) -> Made:
    return asked.state(asked.right(), rng.randrange(2)), asked.right()


def _short(rng: Random, asked: BuildingQuestion) -> Made:
    del rng
    return ", ".join(asked.gold()), asked.right()


def _format(rng: Random, asked: BuildingQuestion) -> Made:
    """State a height in centimetres, a date the other way round; else as it is."""
    return asked.state(asked.right(), rng.randrange(2), 1), asked.right()


def _detail(rng: Random, asked: BuildingQuestion) -> Made:
    spare = rng.choice([one for one in asked.building.facts if one not in asked.relations])
    told = {**asked.right(), spare: asked.building.facts[spare]}
    return asked.state(told, rng.randrange(2)), told


def _wrong(rng: Random, asked: BuildingQuestion) -> Made:
    told = {one: far_value(rng, asked.language, one, value) for one, value in asked.right().items()}
    return asked.state(told, rng.randrange(2)), told


def _refusal(rng: Random, asked: BuildingQuestion) -> Made:
    del rng
    return words(asked.language).answers["refused"], {}


def _either(rng: Random, asked: BuildingQuestion) -> Made:
    relation = asked.relations[0]
    values = [asked.building.facts[relation]]
    values.append(other_value(rng, asked.language, relation, values[0]))
    rng.shuffle(values)
    one, two = (surface(asked.language, relation, value) for value in values)
    return sentence(asked.language, words(asked.language).answers["undecided"].format(one=one, two=two)), {
        relation: {"either": values}
    }


def _missing(rng: Random, asked: BuildingQuestion) -> Made:
    kept = rng.choice(asked.relations)
    told = {kept: asked.building.facts[kept]}
    return asked.state(told, rng.randrange(2)), told


def _unknown(rng: Random, asked: BuildingQuestion) -> Made:
    """Answer one part and say that the rest is not known."""
    text, told = _missing(rng, asked)
    return words(asked.language).answers["rest_unknown"].format(one=text), told


WAYS: Mapping[str, tuple[Callable[[Random, BuildingQuestion], Made], str, int]] = {
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
    asked = BuildingQuestion(Building(language, building.kind, building.name, facts), tuple(relations))
    text, says = answer(rng, asked)
    values = {
        "question": asked.text(),
        "short_answers": asked.gold(),
        "long_answer": asked.state(facts, rng.randrange(2)),
        "answer": text,
    }
    return examine(
        "correctness",
        "citation/correctness",
        language,
        {"answer": values},
        truth,
        kind=way,
        world=[asked.building.as_dict()],
        asked=list(relations),
        says=dict(says),
    )


UNIT = Family(
    name="exam_correctness",
    version=2,
    levels=LEVELS,
    generate=generate,
    verify=lambda item, reply: mark_label(item, reply, "verdict"),
    languages=LANGUAGES,
    titles={"en": "Exam: answers against gold", "ru": "Экзамен: ответы и эталон"},
    balanced=in_turn(*GRADES),
    reference=lambda item: label_reply(item, "verdict"),
    near_misses=lambda item: label_misses(item, "verdict", GRADES),
)
