"""The exam finds what is there: a perfect judge errs nowhere, a bad one is left out, whoever wavers is counted."""

import json
from dataclasses import replace
from random import Random

import pytest

from basic_control.data.records import Item
from basic_control.metrics.analysis.passports import Passport, read_passport
from basic_control.metrics.exam import AGAIN, EXAMINED, LABELS, exam_score, step_of
from basic_control.metrics.judging import JudgeRequest
from tests.helpers.exam import Judge, asks, exam_items, perfect, say
from tests.metrics.judges import earned, exams

LANGUAGES = ("en", "ru", "zh")
THREE = {"support", "correctness", "groundedness", "preference", "answers_question"}
"""Steps of three truths, with a question for each."""


def take(items: list[Item], judge: Judge) -> dict[str, Passport]:
    """Have a scripted judge take the exam; return its passports by step."""
    return {passport.exam: passport for passport in earned(items, judge)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_perfect_judge_is_right_everywhere(language: str) -> None:
    found = take(exam_items(language, 6), perfect)
    assert set(found) == set(EXAMINED)
    for one in found.values():
        assert one.right.share == 1.0, one
        assert (one.failed.k, one.repeated.k) == (0, 0)
        assert one.repeated.n > 0
        assert one.counts
        assert not one.exclusion, one.exclusion
        assert one.kappa in {1.0, None}


def lenient(item: Item, ask: JudgeRequest) -> str:
    """Say the best of all, whatever is asked."""
    exam = item.facts["exam"]
    if exam == "entails":
        verdicts = [{"id": id_, "reason": "", "verdict": "SUPPORTED"} for id_ in item.facts["truth"]]
        return json.dumps({"verdicts": verdicts})
    if exam == "preference":
        return say("preference", "first" if ask.question.key.startswith("ab") else "second")
    if exam == "split":
        return json.dumps({"claims": ["It is a building.", "It is known."]})
    return say(str(exam), LABELS[str(exam)][0])


DRAWN = exam_items("en", 20)


def test_a_judge_that_says_the_same_to_all_counts_nowhere() -> None:
    for exam, passport in take(DRAWN, lenient).items():
        assert not passport.counts, exam
        if exam != "split":
            assert (passport.sensitivity.share, passport.specificity.share) == (1.0, 0.0)
            assert passport.exclusion == "it cannot tell right replies from wrong ones"


def test_the_shares_are_of_as_many_questions_of_each_truth() -> None:
    for passport in take(DRAWN, perfect).values():
        rows = {sum(row) for row in passport.confusion}
        assert rows == {20} if passport.exam != "split" else True


def test_a_judge_of_nine_right_in_ten_counts_and_its_errors_are_found() -> None:
    """Over ten exams at each step: 200 + verdicts of each truth."""
    right: dict[str, list[float]] = {}
    for passports in exams(DRAWN, 0.1, 10):
        for passport in passports:
            assert passport.counts, passport
            right.setdefault(passport.exam, []).append(passport.right.share or 0.0)
    shares = {exam: sum(values) / len(values) for exam, values in right.items()}
    # Of a preference both orders must be right.
    expected = dict.fromkeys(EXAMINED, 0.9) | {"preference": 0.83}
    assert shares == pytest.approx(expected, abs=0.03)


def test_a_coin_hardly_ever_counts() -> None:
    """Of ten exams of nine steps, a coin passes three or four in a hundred of those of two rates."""
    counting = 0
    for seed in range(10):
        rng = Random(seed)

        def toss(item: Item, ask: JudgeRequest, rng: Random = rng) -> str:
            exam = str(item.facts["exam"])
            if exam == "entails":
                labels = {claim: rng.choice(LABELS[exam]) for claim in item.facts["truth"]}
                verdicts = [{"id": claim, "reason": "", "verdict": label} for claim, label in labels.items()]
                return json.dumps({"verdicts": verdicts})
            if exam == "split":
                claims = [claim for claim in json.loads(perfect(item, ask))["claims"] if rng.random() < 0.5]
                claims += ["It is a building."] * rng.choice((1, 2, 3, 4))
                return json.dumps({"claims": claims})
            return say(exam, rng.choice(("first", "tie", "second") if exam == "preference" else LABELS[exam]))

        counting += sum(passport.counts for passport in earned(DRAWN, toss))
    assert counting <= 3


def test_what_cannot_be_read_is_counted_as_failed() -> None:
    def mute(item: Item, ask: JudgeRequest) -> str:
        return "I would rather not say." if item.facts["exam"] == "support" else perfect(item, ask)

    found = take(exam_items("en", 4, steps=["support", "correctness"], levels=["easy"]), mute)
    assert (found["support"].failed.k, found["support"].failed.n) == (12, 12)
    assert found["correctness"].failed.k == 0


def test_a_judge_that_forgets_what_it_said_is_found_unsteady() -> None:
    def waver(item: Item, ask: JudgeRequest) -> str:
        if item.facts["exam"] == "correctness" and ask.question.repeat:
            return say("correctness", "INCORRECT" if item.facts["truth"] == "CORRECT" else "CORRECT")
        return perfect(item, ask)

    found = take(DRAWN, waver)
    assert (found["correctness"].repeated.share, found["correctness"].right.share) == (1.0, 1.0)
    assert found["support"].repeated.share == 0.0
    assert {passport.repeated.n for passport in found.values() if passport.exam in THREE} == {33}


def test_a_passport_of_an_incompatible_exam_is_none() -> None:
    (one,) = take(exam_items("en", 1, steps=["support"], levels=["easy"]), perfect).values()
    assert read_passport({**one.as_dict(), "schema": 1}) is None
    assert read_passport({**one.as_dict(), "domain": "processbench"}) is None


def test_over_and_under_splitting_are_told_apart() -> None:
    def join(item: Item, ask: JudgeRequest) -> str:
        del ask
        first, second, *others = (f"It is {spellings[0]}." for spellings in item.facts["truth"])
        return json.dumps({"claims": [f"{first} {second}", *others, "It is a building."]})

    found = take(exam_items("en", 10, steps=["split"], levels=["easy"]), join)["split"]
    assert found.confusion[0] == (10, 20, 0), "of thirty facts twenty share a claim"
    assert found.sensitivity.share == 1.0, "every fact is in a claim"
    assert found.specificity.share == pytest.approx(2 / 3), "a claim in three holds none"
    assert found.counts


def test_a_passport_comes_back_from_its_document_and_from_one_with_probes() -> None:
    for one in take(exam_items("ru", 3, levels=["easy"]), lenient).values():
        document = json.loads(json.dumps(one.as_dict()))
        assert read_passport(document) == one
        assert read_passport({**document, "probes": [], "leanings": ["lenient"], "marks": {}}) == one


def test_the_exam_asks_by_the_very_prompt_schema_parser_and_temperature_of_the_step() -> None:
    for step in exam_score.steps:
        home, own = step_of(step.name)
        assert step.temperature == home.temperature
        for item in (item for item in DRAWN if item.facts["exam"] == step.name):
            for ask in asks(item):
                assert ask.step == step.name
                plain = replace(ask.question, key=ask.question.key.removesuffix(AGAIN))
                assert step.schema_of(ask.question) == own.schema_of(plain)
                assert step.parse(ask.question, perfect(item, ask)) == own.parse(plain, perfect(item, ask))


def test_a_question_asked_again_is_the_same_word_for_word_and_another_request() -> None:
    (first, again) = asks(next(item for item in DRAWN if item.facts["twice"] and item.facts["exam"] == "rubric"))
    assert first.messages == again.messages
    assert (first.question.repeat, again.question.repeat) == (0, 1)
