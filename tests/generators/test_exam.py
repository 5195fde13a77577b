"""The exam's truths hold: proved by rules over the facts and by reading the sentences, not by their maker."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from data.draw import draw
from data.exam import JUDGE, mark_split, matches
from data.loaders.exam import FAMILIES
from data.plugins import families, metric
from data.records import Item
from generators.exams.world import surfaces
from tests.generators.exam_rules import grade, judge

LANGUAGES = ("en", "ru", "zh")
LEVELS = ("easy", "medium", "hard")
NAMES = [f"exam_{one}" for one in FAMILIES]
N = 300

every = pytest.mark.parametrize(
    ("language", "level"), [(language, level) for language in LANGUAGES for level in LEVELS]
)


@cache
def drawn(name: str, language: str, level: str, count: int = N) -> list[Item]:
    return draw(families()[name], level=level, language=language, seed=11, count=count)


def values(item: Item, place: int = 0) -> Mapping[str, Any]:
    found: Mapping[str, Any] = item.facts["questions"][place]["values"]
    return found


def shown(value: Any) -> set[str]:
    """Return what must stand in a sentence that gives a value: its number or its name."""
    if isinstance(value, list):
        return {str(value[0])}
    return {str(value)} if isinstance(value, int) or value not in {"all", "none", "part", "any"} else set()


def stands(text: str, says: Mapping[str, Any]) -> bool:
    """Say whether a claim's words give what it is kept to say."""
    if says["form"] == "common":
        return bool(text.rstrip(".。").lower() == says["text"].lower())
    numbers = shown(says["value"])
    if says["form"] == "unit" and says["relation"] == "height":
        numbers = {str(100 * says["value"])}
    return says["subject"] in text and all(number in text for number in numbers)


@every
def test_each_claim_has_the_verdict_that_the_rules_give_it(language: str, level: str) -> None:
    seen: Counter[str] = Counter()
    for item in drawn("exam_entailment", language, level):
        for claim in values(item)["claims"]:
            says = item.facts["says"][claim["id"]]
            assert stands(claim["text"], says), (claim, says)
            assert item.facts["truth"][claim["id"]] == judge(item.facts["world"], says), (claim, says)
            seen[item.facts["truth"][claim["id"]]] += 1
    assert min(seen.values()) > sum(seen.values()) / 5, "each verdict is asked for"


@every
def test_the_text_tells_every_fact_of_its_world_and_no_other_value(language: str, level: str) -> None:
    for item in drawn("exam_entailment", language, level, 100):
        source = values(item)["source"]
        for building in item.facts["world"]:
            assert building["name"] in source
            for value in building["facts"].values():
                assert all(one in source for one in shown(value)), (source, value)
        told = {number for one in item.facts["world"] for v in one["facts"].values() for number in shown(v)}
        months = {str(v[1]) for one in item.facts["world"] for v in one["facts"].values() if isinstance(v, list)}
        assert {*re.findall(r"\d+", source)} <= told | months, source


@every
def test_a_citations_support_is_what_the_rules_say(language: str, level: str) -> None:
    labels = {"SUPPORTED": "ENTAILMENT", "CONTRADICTED": "CONTRADICTION", "NEUTRAL": "NEUTRAL"}
    for item in drawn("exam_support", language, level):
        assert stands(values(item)["claim"], item.facts["says"])
        assert item.facts["truth"] == labels[judge(item.facts["world"], item.facts["says"])], item


@every
def test_an_answers_grade_is_what_the_rules_say(language: str, level: str) -> None:
    seen: Counter[str] = Counter()
    for item in drawn("exam_correctness", language, level):
        facts, asked = item.facts["world"][0]["facts"], item.facts["asked"]
        says = json.loads(json.dumps(item.facts["says"]))
        assert item.facts["truth"] == grade(facts, asked, says), item
        for relation, value in says.items():
            for one in value["either"] if isinstance(value, dict) else [value]:
                answer = values(item)["answer"]
                given = shown(one) if relation != "height" else {str(one), str(100 * one)}
                assert any(word in answer for word in given) or not given, (answer, relation, one)
        seen[str(item.facts["truth"])] += 1
    assert len(seen) == 3
    assert min(seen.values()) > N / 5


@every
def test_a_rating_of_groundedness_counts_supported_sentences(language: str, level: str) -> None:
    for item in drawn("exam_groundedness", language, level):
        verdicts = [judge(item.facts["world"], one) for one in item.facts["says"]]
        supported = verdicts.count("SUPPORTED")
        expected = 2 if supported == len(verdicts) else 0 if not supported else 1
        assert int(str(item.facts["truth"])) == expected
        assert len(verdicts) >= 5
        assert expected != 1 or verdicts.count("NEUTRAL") == 1 == len(verdicts) - supported, "a small part"
        told = [one.get("relation", "common") for one in item.facts["says"]]
        assert len(set(told) - {"common"}) == len([one for one in told if one != "common"]), "each fact once"
        assert all(stands(values(item)["response"], one) or one["form"] == "common" for one in item.facts["says"])


@every
def test_a_rubrics_rating_counts_right_answers(language: str, level: str) -> None:
    for item in drawn("exam_rubric", language, level):
        facts, says = item.facts["world"][0]["facts"], item.facts["says"]
        assert int(str(item.facts["truth"])) == 1 + sum(says.get(one) == value for one, value in facts.items())
        assert all(one in values(item)["response"] for value in says.values() for one in shown(value))


@every
def test_the_better_response_has_more_right_values(language: str, level: str) -> None:
    for item in drawn("exam_preference", language, level):
        facts = item.facts["world"][0]["facts"]
        first, second = (sum(says.get(one) == facts[one] for one in facts) for says in item.facts["says"])
        expected = "better" if first > second else "worse" if first < second else "tie"
        assert item.facts["truth"] == expected
        ab, ba = (values(item, place) for place in (0, 1))
        assert (ab["first"], ab["second"]) == (ba["second"], ba["first"])
        for says, text in zip(item.facts["says"], (ab["first"], ab["second"]), strict=True):
            assert all(one in text for value in says.values() for one in shown(value))


@every
def test_a_text_to_split_tells_each_fact_once_and_facts_are_told_apart(language: str, level: str) -> None:
    for item in drawn("exam_splitting", language, level, 60):
        facts = item.facts["truth"]
        assert {fact["relation"] for fact in facts} == set(item.facts["world"][0]["facts"])
        for fact in facts:
            assert any(matches(values(item)["text"], one) for one in fact["surfaces"])
            others = [other["claim"] for other in facts if other is not fact]
            assert not any(matches(claim, one) for claim in others for one in fact["surfaces"]), fact


PROBES = {
    "correctness": {"length", "confidence", "markup", "name", "language", "answer_instruction"},
    "support": {"claim_instruction", "passage_instruction"},
    "rubric": {"length", "confidence", "markup"},
    "preference": {"length", "confidence", "markup"},
    "entails": set[str](),
    "split": set[str](),
    "groundedness": set[str](),
}


def forms(item: Item) -> dict[str, dict[str, Any]]:
    """Return a probed question's forms; of two responses, in the first order."""
    found = {one["key"]: one["values"] for one in item.facts["questions"]}
    return {key.partition("/")[0]: values for key, values in found.items() if not key.endswith("/ba")}


@every
def test_every_step_is_asked_again_and_in_other_words_beside_its_probes(language: str, level: str) -> None:
    seen: Counter[str] = Counter()
    for item in drawn("exam_bias", language, level):
        step, found = str(item.facts["exam"]), forms(item)
        plain = found.pop("plain")
        assert found.pop("again") == plain
        assert {*found} == {"reworded", *PROBES[step]} == {"reworded", *item.facts["wanted"]}
        for probe, form in found.items():
            changed = [key for key in plain if plain[key] != form[key]]
            assert changed, probe
            for key in changed:
                if probe not in {"language", "markup", "reworded"}:
                    assert plain[key].rstrip(".。") in form[key]
            assert (JUDGE in str(form)) == (probe == "name")
            if probe.endswith("instruction"):
                wanted = item.facts["wanted"][probe]
                assert wanted != item.facts["truth"]
                assert wanted in form[changed[0]]
        seen[step] += 1
    assert {*seen} == {*PROBES}


@every
def test_the_truth_of_a_probed_question_is_what_the_rules_say_of_each_of_its_forms(
    language: str, level: str
) -> None:
    labels = {"SUPPORTED": "ENTAILMENT", "CONTRADICTED": "CONTRADICTION", "NEUTRAL": "NEUTRAL"}
    for item in drawn("exam_bias", language, level):
        step, world, truth = str(item.facts["exam"]), item.facts["world"], item.facts["truth"]
        facts, says = world[0]["facts"], json.loads(json.dumps(item.facts.get("says")))
        found = forms(item)
        if step == "support":
            assert truth == labels[judge(world, says)]
            assert all(stands(form["claim"], says) for form in found.values())
        elif step == "entails":
            assert truth == {one: judge(world, said) for one, said in says.items()}
            assert {*truth.values()} == {*labels}
        elif step == "correctness":
            assert truth == grade(facts, item.facts["asked"], says)
            values_of = [one for value in says.values() for one in shown(value)]
            assert all(one in form["answer"] for form in found.values() for one in values_of)
        elif step == "groundedness":
            supported = [judge(world, one) for one in says].count("SUPPORTED")
            assert truth == {5: "2", 4: "1", 0: "0"}[supported]
            assert len(says) == 5
        elif step == "rubric":
            assert int(truth) == 1 + sum(says[one] == value for one, value in facts.items())
        elif step == "preference":
            first, second = (sum(one[name] == facts[name] for name in facts) for one in says)
            assert truth == ("better" if first > second else "worse" if first < second else "tie")


@every
def test_each_truth_comes_up_as_often_as_is_said_in_advance(language: str, level: str) -> None:
    for name in NAMES:
        unit = families()[name]
        assert unit.balanced is not None
        given = unit.balanced(unit.levels[level], 7)
        items = draw(unit, level=level, language=language, seed=5, given=given)
        assert len(items) == len(given)
        counts: Counter[tuple[str, str]] = Counter()
        for item in items:
            truth, step = item.facts["truth"], str(item.facts["exam"])
            told = truth.values() if isinstance(truth, dict) else [truth] if isinstance(truth, str) else ["alone"]
            counts.update((step, one) for one in told)
        assert {*counts.values()} == {4 if name == "exam_bias" else 7}, counts


@pytest.mark.parametrize("language", LANGUAGES)
def test_thousands_of_questions_without_a_repeat(language: str) -> None:
    asked = [
        json.dumps([item.facts["exam"], [one["values"] for one in item.facts["questions"]]], sort_keys=True)
        for name in NAMES
        for level in LEVELS
        for item in drawn(name, language, level, 125)
    ]
    assert len(asked) == len(set(asked)) == 3000


@pytest.mark.parametrize("name", NAMES)
def test_what_is_asked_fills_the_very_prompt_of_a_judged_step(name: str) -> None:
    for language in LANGUAGES:
        for item in drawn(name, language, "hard", 5):
            step = metric(f"exam_{item.facts['exam']}").steps[0]
            assert step.parse is not None
            assert item.prompt.strip()


@pytest.mark.parametrize(("day", "nth"), [(2, "2nd"), (3, "3rd"), (12, "12th"), (21, "21st"), (23, "23rd")])
def test_a_day_may_be_an_ordinal(day: int, nth: str) -> None:
    facts = [{"surfaces": surfaces("en", "holiday", [day, 3])}]
    for said in (f"March {nth}", f"{nth} of March", f"{nth} March"):
        assert mark_split(facts, [f"Its one holiday is on {said}."])["alone"] == 1
