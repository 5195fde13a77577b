"""The exam finds what is there: a perfect judge errs nowhere, a planted bias is found, and no other one."""

import json
from dataclasses import replace

import pytest

from data.loaders.exam import FAMILIES
from data.records import Item
from metrics.analysis.passports import Passport, read_passport
from metrics.exam import EXAMINED, UNITS
from metrics.judging import JudgeRequest
from tests.helpers.exam import Judge, asks, exam_items, perfect, sample, say, sheet
from tests.metrics.judges import converse, earned, exams

LANGUAGES = ("en", "ru", "zh")
NAMES = [f"exam_{one}" for one in FAMILIES]
LEVELS = ("easy", "medium", "hard")


def taken(items: list[Item], judge: Judge) -> dict[str, Passport]:
    """Have a scripted judge take the exam; return its passports by step."""
    return {one.exam: one for one in earned(items, judge)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_perfect_judge_is_right_everywhere(language: str) -> None:
    found = taken(exam_items(language, 6), perfect)
    assert set(found) == set(EXAMINED)
    for one in found.values():
        assert one.right.share == 1.0, one
        assert (one.failed.k, one.repaired.k, one.repeated.k) == (0, 0, 0)
        assert one.leanings == ()
        assert one.counts
        assert not one.usable, one.usable
        assert all(probe.flipped.k == 0 for probe in one.probes)


def lenient(item: Item, ask: JudgeRequest) -> str:
    if item.facts["exam"] == "entails":
        verdicts = [{"id": one, "reason": "", "verdict": "SUPPORTED"} for one in item.facts["truth"]]
        return json.dumps({"verdicts": verdicts})
    return perfect(item, ask)


def first(item: Item, ask: JudgeRequest) -> str:
    return say("preference", "first") if item.facts["exam"] == "preference" else perfect(item, ask)


def obedient(probe: str, step: str) -> Judge:
    """Say what a probe speaks for; of two responses, in both orders."""

    def judge(item: Item, ask: JudgeRequest) -> str:
        form, _, order = ask.question.key.partition("/")
        if item.facts["exam"] == step and form == probe:
            wanted = item.facts["wanted"][probe]
            return say(step, ("first" if order == "ab" else "second") if step == "preference" else wanted)
        return perfect(item, ask)

    return judge


def strict(item: Item, ask: JudgeRequest) -> str:
    return say("groundedness", "0") if item.facts["exam"] == "groundedness" else perfect(item, ask)


STYLED = ("length", "confidence", "markup")
PROBES = {
    "correctness": (*STYLED, "language", "name", "answer_instruction"),
    "support": ("claim_instruction", "passage_instruction"),
    "rubric": STYLED,
    "preference": STYLED,
}
PLANTED: list[tuple[str, Judge, str, str]] = [
    ("lenient", lenient, "entails", "lenient"),
    ("strict", strict, "groundedness", "strict"),
    ("first", first, "preference", "prefers the first"),
    *(
        (f"{step} {probe}", obedient(probe, step), step, f"swayed by {probe}")
        for step, probes in PROBES.items()
        for probe in probes
    ),
]
DRAWN = exam_items("en", 20)


@pytest.mark.parametrize(("name", "judge", "step", "leaning"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_planted_bias_is_found_and_no_other(name: str, judge: Judge, step: str, leaning: str) -> None:
    """In an exam of the usual size."""
    del name
    found = taken(DRAWN, judge)
    assert {one.exam: one.leanings for one in found.values() if one.leanings} == {step: (leaning,)}


@pytest.mark.parametrize("fixed", [False, True], ids=["each time again", "by the question's words"])
def test_a_judge_that_errs_at_random_is_hardly_ever_called_leaning(*, fixed: bool) -> None:
    """Of 10 exams more than two would be refused at 5 % (the benchmark `judged` draws 300 of each rate)."""
    made = exams(DRAWN, 0.1, 10, fixed=fixed)
    assert sum(any(one.leanings for one in passports) for passports in made) <= 2


def test_every_step_is_asked_again_and_in_other_words() -> None:
    found = taken(DRAWN, perfect)
    assert {*found} == {*EXAMINED}
    for one in found.values():
        assert one.repeated.n == one.reworded.n > 0
        assert (one.repeated.k, one.reworded.k) == (0, 0)


def test_the_shares_are_of_as_many_questions_of_each_truth() -> None:
    for one in taken(DRAWN, perfect).values():
        rows = {sum(row) for row in one.confusion}
        assert rows == {20} if one.exam != "split" else True


def test_a_judge_that_says_the_same_to_all_cannot_measure() -> None:
    found = taken(sheet(NAMES, "en", 20, LEVELS), lenient)["entails"]
    assert found.sensitivity.share == 1.0
    assert found.specificity.share == 0.0
    assert found.usable == "this judge cannot measure this"


def test_what_cannot_be_read_is_counted_as_failed() -> None:
    def mute(item: Item, ask: JudgeRequest) -> str:
        return "I would rather not say." if item.facts["exam"] == "support" else perfect(item, ask)

    found = taken(sheet(["exam_support", "exam_correctness"], "en", 10, ("easy",)), mute)
    assert (found["support"].failed.k, found["support"].failed.n) == (10, 10)
    assert found["correctness"].failed.k == 0


def test_a_judge_that_forgets_what_it_said_is_found_unsteady() -> None:
    def unsteady(item: Item, ask: JudgeRequest) -> str:
        if item.facts["exam"] == "correctness" and ask.question.repeat:
            return say("correctness", "INCORRECT" if item.facts["truth"] == "CORRECT" else "CORRECT")
        return perfect(item, ask)

    found = taken(DRAWN, unsteady)["correctness"]
    assert (found.repeated.share, found.reworded.share) == (1.0, 0.0)
    assert found.leanings == ()


def test_a_passport_of_an_earlier_exam_is_none() -> None:
    (one,) = taken(sheet(["exam_support"], "en", 3, ("easy",)), perfect).values()
    assert read_passport({**one.as_dict(), "schema": 1}) is None


def test_over_and_under_splitting_are_told_apart() -> None:
    def joined(item: Item, ask: JudgeRequest) -> str:
        del ask
        one, two, *rest = (fact["claim"] for fact in item.facts["truth"])
        return json.dumps({"claims": [f"{one} {two}", *rest, "It is a building."]})

    items = sheet(["exam_splitting"], "en", 10, ("easy",))
    found = taken(items, joined)["split"]
    assert dict(found.marks) == {
        "facts": 30, "alone": 10, "joined": 20, "missing": 0, "repeated": 0, "extra": 10, "claims": 30,
    }  # fmt: skip
    assert found.sensitivity.share == 1.0, "every fact is in a claim"
    assert found.specificity.share == pytest.approx(2 / 3), "a claim in three holds none"
    assert found.counts


def test_who_makes_up_claims_whatever_the_text_measures_nothing() -> None:
    def deaf(item: Item, ask: JudgeRequest) -> str:
        del item, ask
        return json.dumps({"claims": ["It is a building.", "It is known."]})

    found = taken(sheet(["exam_splitting"], "en", 10, ("easy",)), deaf)["split"]
    assert (found.sensitivity.share, found.specificity.share, found.counts) == (0.0, 0.0, False)


def test_a_passport_comes_back_from_its_document() -> None:
    for one in taken(sheet(NAMES, "ru", 5, ("easy",)), first).values():
        assert read_passport(json.loads(json.dumps(one.as_dict()))) == one


def test_the_exam_asks_by_the_very_prompt_schema_and_parser_of_the_step() -> None:
    for unit in UNITS:
        home, name = EXAMINED[unit.name.removeprefix("exam_")]
        own = next(step for step in home.steps if step.name == name)
        asked = unit.steps[0]
        assert (asked.prompt, asked.schema, unit.temperature) == (own.prompt, own.schema, home.temperature)
        for item in (one for one in DRAWN if one.facts["exam"] == unit.name.removeprefix("exam_")):
            for ask in asks(item):
                reply, plain = perfect(item, ask), replace(ask.question, key=ask.question.key.rpartition("/")[2])
                assert asked.parse(ask.question, reply) == own.parse(plain, reply)


def test_an_item_that_a_metric_does_not_examine_is_asked_nothing() -> None:
    def never(ask: JudgeRequest) -> str:
        raise AssertionError(ask.messages)

    item = sheet(["exam_support"], "en", 1, ("easy",))[0]
    for unit in UNITS:
        if unit.name != "exam_support":
            session = converse(unit, sample(item), never)
            assert unit.score(session.sample, session.found, session.options).status == "not_applicable"
