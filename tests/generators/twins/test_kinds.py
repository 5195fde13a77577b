"""Names, orders and layouts renewed: no number moves, answers follow, what hangs together is refused."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pymorphy3
import pytest

from basic_control.data.draw import source
from basic_control.data.suites import TWIN_KINDS, TwinKind
from basic_control.generators.simple_logic.people import cases, genders
from basic_control.generators.twins import order, renaming
from basic_control.generators.twins.base import Refused, Renewed
from basic_control.generators.twins.kinds import renew
from basic_control.generators.twins.renumbering import renew as renumbered

NUMBER = re.compile(r"\d[\d.,]*")


def twin(
    kind: TwinKind, facts: Mapping[str, Any], answer: str = "7", language: str = "en", seed: int = 0
) -> Renewed:
    return renew(kind, "item", facts, answer, language, seed=seed, number=0)


@pytest.mark.slow
def test_nine_in_ten_of_the_problems_with_new_numbers_have_new_names_and_no_number_moves(shared: Path) -> None:
    with_numbers = renamed = 0
    for question, reference in pl.read_parquet(shared / "gsm8k_test.parquet").head(400).iter_rows():
        try:
            found = renaming.renew(question, reference, "1", "en", source(question))
        except Refused:
            found = None
        if found:
            for name, old in (("question", question), ("reference", reference)):
                assert NUMBER.findall(found.facts[name]) == NUMBER.findall(old)
            assert found.facts["question"] != question
        try:
            renumbered(question.strip(), reference, "en", source(question))
        except Refused:
            continue
        with_numbers += 1
        renamed += found is not None
    assert renamed >= 0.9 * with_numbers > 100


def test_a_person_is_renamed_alike_everywhere() -> None:
    question = "Alice has 3 pens. Bob gives Alice 4 more, as Alice's pens are old. How many pens has Alice?"
    found = twin("names", {"question": question, "reference": "Alice has 3+4=<<3+4=7>>7\n#### 7"})
    assert not {"Alice", "Bob"} & set(re.findall(r"\w+", found.facts["question"] + found.facts["reference"]))
    new = found.facts["question"].split()[0]
    assert genders("en")[new] == "f"
    assert found.facts["question"].count(new) == question.count("Alice")
    assert found.answer == "7"


def test_things_are_renamed_where_nobody_is_named_and_articles_agree() -> None:
    question = "There are 3 dogs and an apple in a box. How many things is that?"
    for seed in range(20):
        said = twin("names", {"question": question}, seed=seed).facts["question"]
        assert not {"dogs", "apple", "box"} & set(re.findall(r"\w+", said))
        assert not re.search(r"\b(?:a [aeiou]|an [^aeiou\W])", said)


@pytest.mark.parametrize(
    ("answer", "fixed_text"),
    [
        ("Bob", {}),
        ("B", {"options": ["Alice", "Bob"]}),
        ("4", {"contexts": ["Two children met.\nAlice has 3 pens, and Bob 4."]}),
    ],
)
def test_what_an_answer_or_another_column_names_is_not_renamed(answer: str, fixed_text: Mapping[str, Any]) -> None:
    facts = {"question": "Alice has 3 pens and Bob has 4. Who has more?", "answer": answer}
    with pytest.raises(Refused, match="a name outside of the question"):
        twin("names", {**facts, **fixed_text}, answer)
    assert twin("names", {**facts, "answer": "4", "contexts": ["Children have pens."]}, "4").answer == "4"


def test_russian_names_keep_their_case_and_gender() -> None:
    morph = pymorphy3.MorphAnalyzer()
    question = "У Анны 3 ручки. Борис дал Анне ещё 4. Сколько ручек у Анны?"
    for seed in range(10):
        said = twin("names", {"question": question}, language="ru", seed=seed).facts["question"]
        words = re.findall(r"[А-ЯЁ][а-яё]+", said)
        owner, giver, receiver = words[:3]
        assert {"Анны", "Анне", "Борис"}.isdisjoint(words)
        (who,) = [one for one in genders("ru") if owner in cases(one) and receiver in cases(one)]
        assert (owner, receiver) == (cases(who)[1], cases(who)[2])
        assert genders("ru")[who] == "f"
        assert genders("ru")[giver] == "m"
        for word, case in ((owner, "gent"), (receiver, "datv"), (giver, "nomn")):
            assert any({case, "Name"} <= {*map(str, one.tag.grammemes)} for one in morph.parse(word)), word


OPTIONS = ["Paris", "Rome", "Oslo", "Bern"]


@pytest.mark.parametrize("answer", ["B", "b", "Rome", 1])
@pytest.mark.parametrize("form", ["list", "json", "letters"])
def test_the_answer_follows_its_option(answer: str | int, form: str) -> None:
    letters = dict(zip("ABCD", OPTIONS, strict=True))
    given: Any = {"list": OPTIONS, "json": json.dumps(OPTIONS), "letters": letters}[form]
    for seed in range(10):
        found = twin("order", {"question": "?", "options": given, "answer": answer}, str(answer), seed=seed)
        new = found.facts["options"]
        new = json.loads(new) if form == "json" else new
        texts = [*new.values()] if form == "letters" else new
        assert sorted(texts) == sorted(OPTIONS)
        assert texts != OPTIONS
        expected = found.facts["answer"]
        chosen = expected if expected == "Rome" else texts[expected if answer == 1 else "ABCD".index(expected)]
        assert chosen == "Rome"


@pytest.mark.parametrize(
    "options",
    [["a", "b", "all of the above"], ["a", "b", "A and B"], ["a", "a"], ["a"], "a|b", {"A": "x", "B": "both"}],
)
def test_options_that_speak_of_one_another_are_refused(options: Any) -> None:
    with pytest.raises(Refused):
        order.renew({"question": "?", "options": options}, "A", source(1))


def test_independent_givens_are_reordered_and_others_are_not() -> None:
    free = "Alice has 3 pens. Bob has 4 pens. Carla has 9 pens. How many pens are there?"
    said = order.renew({"question": free}, "16", source(1)).facts["question"]
    assert said != free
    assert said.endswith("How many pens are there?")
    assert sorted(said.split(". ")) == sorted(free.split(". "))
    with pytest.raises(Refused, match="depend on"):
        order.renew({"question": "Alice has 3 pens. Then she buys 4. How many has she?"}, "7", source(1))


def test_a_layout_changes_no_word() -> None:
    question = "Alice has 3 pens. Bob has 4. How many are there?"
    for language in ("en", "ru", "zh", "xx"):
        for seed in range(6):
            said = renew("format", "item", {"question": question}, "7", language, seed=seed, number=0).facts[
                "question"
            ]
            assert said.split("\n", 1)[1].split() == question.split()


def test_every_kind_that_a_suite_can_ask_for_is_made_and_refuses_rows_that_it_cannot_read() -> None:
    assert get_args(TwinKind) == TWIN_KINDS
    for kind in TWIN_KINDS[:-1]:  # another language is another data set: tests/flows/test_twins.py
        for facts in ({}, {"question": 3}, {"question": None}):
            with pytest.raises(Refused):
                twin(kind, facts)


def test_twins_of_an_item_differ_by_number_and_seed_and_by_nothing_else() -> None:
    facts = {"question": "Alice has 3 pens and Bob has 4. How many are there?"}
    made = {
        renew("names", "item", facts, "7", "en", seed=seed, number=n).facts["question"]
        for seed in (0, 1)
        for n in (0, 1)
    }
    assert len(made) == 4
    assert twin("names", facts) == twin("names", facts)


@pytest.mark.parametrize(
    "question",
    [
        "Tom is 10 years old. Mary is 3 years older. Kim is 20 years old. How old are they together?",
        "Ann has 4 pens. Ben has twice as many pens. Cid has 9 pens. How many pens are there?",
        "Ручка стоит 5 рублей. Тетрадь в 2 раза дороже. Линейка стоит 9 рублей. Сколько стоит всё?",
    ],
)
def test_a_comparison_with_what_was_said_before_depends_on_it(question: str) -> None:
    with pytest.raises(Refused, match="depend on"):
        order.renew({"question": question}, "43", source(1))


@pytest.mark.parametrize(
    "options",
    [
        {"text": OPTIONS, "label": ["A", "B", "C", "D"]},
        [{"label": letter, "text": text} for letter, text in zip("ABCD", OPTIONS, strict=True)],
        {"A": "Paris", "B": "Rome", "C": None},
    ],
)
def test_options_that_are_no_texts_are_refused(options: Any) -> None:
    with pytest.raises(Refused, match="form that is not known"):
        order.renew({"question": "?", "options": options, "answer": "B"}, "B", source(1))


def test_each_of_several_answers_follows_its_option() -> None:
    for seed in range(10):
        found = twin("order", {"question": "?", "options": OPTIONS, "answer": ["B"]}, "B", seed=seed)
        (letter,) = found.facts["answer"]
        assert found.facts["options"]["ABCD".index(letter)] == "Rome"
        assert found.answer == letter


def test_a_number_among_numbered_options_is_its_letter_as_for_choice() -> None:
    given = {"1": "Paris", "2": "Rome", "3": "Oslo"}
    for seed in range(10):
        found = twin("order", {"question": "?", "options": given, "answer": 2}, "2", seed=seed)
        assert found.facts["options"][str(found.facts["answer"])] == "Rome"


def test_an_answer_that_names_no_option_is_refused() -> None:
    with pytest.raises(Refused, match="form that is not known"):
        order.renew({"question": "?", "options": OPTIONS, "answer": "Б"}, "Б", source(1))
