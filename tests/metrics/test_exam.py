"""The exam finds what is there: a perfect judge errs nowhere, a planted bias is found, and no other one."""

import json

import pytest

from data.loaders.exam import FAMILIES
from data.records import Item
from metrics.exam import EXAMINED, UNITS
from metrics.judging import Ask
from metrics.passports import Passport, read_passport
from tests.helpers.exam import Judge, perfect, sample, say, sheet
from tests.metrics.judges import converse, earned

LANGUAGES = ("en", "ru", "zh")
NAMES = [f"exam_{one}" for one in FAMILIES]
LEVELS = ("easy", "medium", "hard")


def sit(items: list[Item], judge: Judge) -> dict[str, Passport]:
    """Have a scripted judge sit the exam; return its passports by step."""
    return {one.exam: one for one in earned(items, judge)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_perfect_judge_is_right_everywhere(language: str) -> None:
    found = sit(sheet(NAMES, language, 15, LEVELS), perfect)
    assert set(found) == set(EXAMINED)
    for one in found.values():
        assert one.right.share == 1.0, one
        assert (one.failed.k, one.repaired.k, one.repeated.k) == (0, 0, 0)
        assert one.leanings == ()
        assert not one.usable, one.usable
        assert all(probe.flipped.k == 0 for probe in one.probes)


def lenient(item: Item, ask: Ask) -> str:
    if item.facts["exam"] == "entails":
        verdicts = [{"id": one, "reason": "", "verdict": "SUPPORTED"} for one in item.facts["truth"]]
        return json.dumps({"verdicts": verdicts})
    return perfect(item, ask)


def first(item: Item, ask: Ask) -> str:
    return say("preference", "first") if item.facts["exam"] == "preference" else perfect(item, ask)


def obedient(probe: str) -> Judge:
    def judge(item: Item, ask: Ask) -> str:
        if item.facts.get("probe") == probe and ask.question.key == "dressed":
            return say(str(item.facts["exam"]), item.facts["wanted"])
        return perfect(item, ask)

    return judge


def strict(item: Item, ask: Ask) -> str:
    return say("groundedness", "0") if item.facts["exam"] == "groundedness" else perfect(item, ask)


PLANTED: list[tuple[str, Judge, str, str]] = [
    ("lenient", lenient, "entails", "lenient"),
    ("strict", strict, "groundedness", "strict"),
    ("first", first, "preference", "prefers the first"),
    *(
        (probe, obedient(probe), step, f"swayed by {probe}")
        for probe, step in (
            ("length", "correctness"),
            ("confidence", "correctness"),
            ("language", "correctness"),
            ("markup", "correctness"),
            ("name", "correctness"),
            ("answer_instruction", "correctness"),
            ("claim_instruction", "support"),
            ("passage_instruction", "support"),
        )
    ),
]


@pytest.mark.parametrize(("name", "judge", "step", "leaning"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_planted_bias_is_found_and_no_other(name: str, judge: Judge, step: str, leaning: str) -> None:
    del name
    found = sit(sheet(NAMES, "en", 45, ("medium",)) + sheet(["exam_bias"], "en", 200, ("easy",)), judge)
    assert {one.exam: one.leanings for one in found.values() if one.leanings} == {step: (leaning,)}


def test_a_judge_that_says_the_same_to_all_cannot_measure() -> None:
    found = sit(sheet(NAMES, "en", 20, LEVELS), lenient)["entails"]
    assert found.sensitivity.share == 1.0
    assert found.specificity.share == 0.0
    assert found.usable == "this judge cannot measure this"


def test_what_cannot_be_read_is_counted_as_failed() -> None:
    def mute(item: Item, ask: Ask) -> str:
        return "I would rather not say." if item.facts["exam"] == "support" else perfect(item, ask)

    found = sit(sheet(["exam_support", "exam_correctness"], "en", 10, ("easy",)), mute)
    assert (found["support"].failed.k, found["support"].failed.n) == (10, 10)
    assert found["correctness"].failed.k == 0


def test_a_judge_that_forgets_what_it_said_is_found_unsteady() -> None:
    def unsteady(item: Item, ask: Ask) -> str:
        right = perfect(item, ask)
        if item.facts.get("probe") == "repeat" and ask.question.repeat:
            return say("correctness", "PARTIALLY_CORRECT")
        return right

    found = sit(sheet(["exam_bias"], "en", 100, ("easy",)), unsteady)["correctness"]
    assert found.repeated.n > 5
    assert found.repeated.share == 1.0


def test_over_and_under_splitting_are_told_apart() -> None:
    def joined(item: Item, ask: Ask) -> str:
        del ask
        one, two, *rest = (fact["claim"] for fact in item.facts["truth"])
        return json.dumps({"claims": [f"{one} {two}", *rest, "It is a building."]})

    items = sheet(["exam_splitting"], "en", 10, ("easy",))
    marks = sit(items, joined)["split"].marks
    assert dict(marks) == {"facts": 30, "alone": 10, "joined": 20, "missing": 0, "repeated": 0, "extra": 10}


def test_a_passport_comes_back_from_its_document() -> None:
    for one in sit(sheet(NAMES, "ru", 5, ("easy",)), first).values():
        assert read_passport(json.loads(json.dumps(one.as_dict()))) == one


def test_the_exam_asks_by_the_very_prompt_schema_and_parser_of_the_step() -> None:
    for unit in UNITS:
        home, name = EXAMINED[unit.name.removeprefix("exam_")]
        own = next(step for step in home.steps if step.name == name)
        asked = unit.steps[0]
        assert (asked.prompt, asked.parse, asked.schema, unit.temperature) == (
            own.prompt,
            own.parse,
            own.schema,
            home.temperature,
        )


def test_an_item_that_a_metric_does_not_examine_is_asked_nothing() -> None:
    def never(ask: Ask) -> str:
        raise AssertionError(ask.messages)

    item = sheet(["exam_support"], "en", 1, ("easy",))[0]
    for unit in UNITS:
        if unit.name != "exam_support":
            session = converse(unit, sample(item), never)
            assert unit.score(session.sample, session.found, session.options).status == "not_applicable"
