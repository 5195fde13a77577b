"""Simple logic: what counts as naming somebody, one answer to every question, and Russian grammar."""

import re
from itertools import permutations

import pytest

from basic_control.data.draw import draw
from basic_control.data.records import Item
from basic_control.generators.simple_logic.comparisons import adjective, texts
from basic_control.generators.simple_logic.orderings import DIRECT, HOLDS, INDIRECT, puzzles
from basic_control.generators.simple_logic.people import cases, genders, names
from basic_control.generators.simple_logic.simple_logic import simple_logic, verify
from tests.helpers.bounds import bounded, of_each_size
from tests.helpers.logic_prompts import asked_place, holds, read

VERA = Item(prompt="", answer="Vera", facts={"names": ["Anna", "Boris", "Vera"]}, language="en")
ВЕРА = Item(prompt="", answer="Вера", facts={"names": ["Анна", "Борис", "Вера"]}, language="ru")  # noqa: PLC2401 - as it is read
SEMYON = Item(prompt="", answer="Семён", facts={"names": ["Илья", "Семён"]}, language="ru")


@pytest.mark.parametrize(
    ("item", "reply", "correct", "reason"),
    [
        (VERA, "ANSWER: Vera", True, "right"),
        (VERA, "**ANSWER: Vera**", True, "right"),
        (VERA, "**ANSWER:** **Vera**.", True, "right"),
        (VERA, "answer: VERA!", True, "right"),
        (VERA, "Anna is taller than Boris, so it is Vera.\n\nANSWER: Vera", True, "right"),
        (VERA, "ANSWER: Anna\nNo, wait.\nANSWER: Vera", True, "right"),
        (VERA, "ОТВЕТ: Vera", True, "right"),
        (VERA, "### Answer:\n\nVera", True, "right"),
        (VERA, '{"answer": "Vera"}', True, "right"),
        (VERA, "ANSWER: Vera's the tallest", True, "right"),
        (VERA, "The tallest is Vera.", True, "right"),
        (VERA, "vera", True, "right"),
        (VERA, "_Vera_", True, "right"),
        (VERA, "Vera is the tallest. I have no doubt.", True, "right"),
        (VERA, "ANSWER: Anna", False, "names another one"),
        (VERA, "ANSWER: Vera\nANSWER: Anna", False, "names another one"),
        (VERA, "ANSWER: Anna, Boris, Vera", False, "names several of them"),
        (VERA, "ANSWER: Vera or Anna", False, "names several of them"),
        (VERA, "ANSWER: Anna. ANSWER: Vera", True, "right"),
        (VERA, "Anna, Boris, Vera", False, "names several of them"),
        (VERA, "Vera is taller than Anna.", False, "names several of them"),
        (VERA, "ANSWER: not Vera", False, "states none of those it names"),
        (VERA, "ANSWER: it isn't Vera", False, "states none of those it names"),
        (VERA, "ANSWER: anyone but Vera", False, "states none of those it names"),
        (VERA, "ANSWER: non-Vera", False, "states none of those it names"),
        (VERA, "not Vera", False, "states none of those it names"),
        (VERA, "Vera is not the tallest.", False, "states none of those it names"),
        (VERA, "Vera, of course, isn’t the tallest", False, "states none of those it names"),
        (VERA, "Everyone except Vera.", False, "states none of those it names"),
        (VERA, "It is false that it is Vera.", False, "states none of those it names"),
        (VERA, "Somebody else.", None, "names none of them"),
        (VERA, "Veranda, verandah, Verax, severa", None, "names none of them"),
        (VERA, "", None, "names none of them"),
        (VERA, "ANSWER: name", None, "names none of them"),
        (VERA, "It is Vera.\nANSWER: the tallest one", True, "right"),
        (ВЕРА, "ОТВЕТ: Вера", True, "right"),
        (ВЕРА, "ОТВЕТ: Вере", True, "right"),
        (ВЕРА, "**Ответ:** Веру", True, "right"),
        (ВЕРА, "Самый высокий - Вера.", True, "right"),
        (ВЕРА, "ANSWER: Вера", True, "right"),
        (ВЕРА, "Это, без сомнений, ВЕРОЙ названо.", True, "right"),
        (ВЕРА, "ОТВЕТ: Анну", False, "names another one"),
        (ВЕРА, "ОТВЕТ: Борису", False, "names another one"),
        (ВЕРА, "Анна, Борис и Вера", False, "names several of them"),
        (ВЕРА, "Вера выше Бориса.", False, "names several of them"),
        (ВЕРА, "не Вера", False, "states none of those it names"),
        (ВЕРА, "ОТВЕТ: не Вера", False, "states none of those it names"),
        (ВЕРА, "Вера не самая высокая.", False, "states none of those it names"),
        (ВЕРА, "Все, кроме Веры", False, "states none of those it names"),
        (ВЕРА, "Уверен, что все доверяют", None, "names none of them"),
        (ВЕРА, "ОТВЕТ: имя", None, "names none of them"),
        (SEMYON, "ОТВЕТ: Семен", True, "right"),
        (SEMYON, "ОТВЕТ: СЕМЁНОМ", True, "right"),
        (SEMYON, "ОТВЕТ: Ильёй", False, "names another one"),
        (SEMYON, "ОТВЕТ: Ильей", False, "names another one"),
    ],
)
def test_verdict_and_reason(item: Item, reply: str, correct: bool | None, reason: str) -> None:  # noqa: FBT001 - a table's column
    found = verify(item, reply)
    assert (found.correct, found.reason) == (correct, reason)


@pytest.mark.parametrize("language", simple_logic.languages)
@pytest.mark.parametrize("level", simple_logic.levels)
def test_read_from_the_prompt_exactly_one_person_can_be_the_answer(level: str, language: str) -> None:
    """The prompt's own words are read again, and every ordering is tried; no fact follows from the others."""
    for item in draw(simple_logic, level=level, language=language, seed=9, count=80 if language == "en" else 30):
        people = item.facts["names"]
        sentences, question = read(item.prompt, people, language)
        asked, place = asked_place(question, len(people))
        orders = [dict(zip(order, range(len(people)), strict=True)) for order in permutations(people)]
        left = [at for at in orders if all(holds(sentence, asked, at) for sentence in sentences)]
        assert {name for at in left for name in people if at[name] == place} == {item.answer}, item.prompt
        about = [sentence for sentence in sentences if not all(holds(sentence, asked, at) for at in orders)]
        for sentence in about:
            others = [at for at in orders if all(holds(each, asked, at) for each in about if each != sentence)]
            assert len(others) > len(left), (item.prompt, sentence)


@pytest.mark.parametrize("language", simple_logic.languages)
def test_easy_is_of_the_seeds_size(language: str) -> None:
    for item in draw(simple_logic, level="easy", language=language, seed=9, count=200):
        statements = item.prompt.splitlines()[1]
        assert len(item.facts["names"]) in {2, 3}
        assert statements.count(".") in {2, 3}
        assert all(name in item.prompt for name in item.facts["names"])


def test_hand_made_puzzle_is_among_those_of_three_people() -> None:
    """Anna is taller than Boris and Boris is not the shortest: then Vera is, and nobody knows more."""
    found = [
        puzzle
        for puzzle in puzzles(3, 2, DIRECT, (0, 2))
        if puzzle.facts == (("not_bottom", (1,)), ("above", (0, 1)))
    ]
    assert [puzzle.position for puzzle in found] == [0, 2]


def test_no_single_fact_of_a_puzzle_settles_it() -> None:
    for puzzle in puzzles(4, 3, INDIRECT, (0, 1, 2, 3)):
        for kind, who in puzzle.facts:
            left = [at for at in permutations(range(4)) if HOLDS[kind](at, who)]
            assert len({at.index(puzzle.position) for at in left}) > 1


def test_no_form_of_a_name_is_a_form_of_another() -> None:
    for language in simple_logic.languages:
        forms = [form.lower().replace("ё", "е") for name in names(language) for form in set(cases(name))]
        assert len(set(forms)) == len(forms)


def test_case_forms_of_russian_names_are_the_dictionarys() -> None:
    import pymorphy3

    morph = pymorphy3.MorphAnalyzer(lang="ru")
    for name, gender in genders("ru").items():
        parses = [
            parse
            for parse in morph.parse(name)
            if {"Name", "sing", "nomn", "masc" if gender == "m" else "femn"} in parse.tag
        ]
        assert parses, name
        expected = [
            name.lower(),
            *(parses[0].inflect({case}).word for case in ("gent", "datv", "accs", "ablt", "loct")),
        ]
        found = [form.lower() for form in cases(name)]
        assert [form.replace("ё", "е") for form in found] == [form.replace("ё", "е") for form in expected]


def test_forms_of_russian_adjectives_are_the_dictionarys() -> None:
    import pymorphy3

    morph = pymorphy3.MorphAnalyzer(lang="ru")
    wanted = (
        {"masc", "nomn"},
        {"femn", "nomn"},
        {"masc", "gent"},
        {"masc", "datv"},
        {"femn", "gent"},
        {"plur", "gent"},
    )
    for _, _, *words in texts("ru").properties:
        for word in words:
            parses = [parse for parse in morph.parse(word) if {"ADJF", "masc", "nomn"} in parse.tag]
            assert adjective(word) == tuple(parses[0].inflect(set(form)).word for form in wanted)


@pytest.mark.parametrize("level", simple_logic.levels)
def test_russian_sentences_agree_and_inflect(level: str) -> None:
    """After a comparative stands the genitive; 'самая' is said of women, 'самый' of men and of mixed groups."""
    gender = genders("ru")
    genitives = {cases(name)[1] for name in names("ru")}
    for item in draw(simple_logic, level=level, language="ru", seed=9, count=150):
        _, statements, _, question, *_ = item.prompt.splitlines()
        for sentence in re.split(r"\. ?", statements)[:-1]:
            assert all(word in genitives for word in re.findall(r"(?:ее|же|ше|че|ле) ([А-ЯЁ]\w+)", sentence)), (
                sentence
            )
            for first, superlative in re.findall(r"^(\w+) не (сам\w+)", sentence):
                assert superlative == ("самая" if gender[first] == "f" else "самый")
        women = all(gender[name] == "f" for name in item.facts["names"])
        for superlative in re.findall(r"самый|самая|самого|самой", question):
            assert superlative in ({"самая", "самой"} if women else {"самый", "самого", "самому"})


PIECES = (
    ".", "? ", "vera, ", "not vera ", "answer: ", "answer:\n", "the answer is vera ", "boxed{vera} ",
    "**vera** ",
    "so ", "(", "— ", "no doubt ", " - ", "vera is. ", "vera\n", "vera?", "answer vera\n", "\u0301", "{",
)  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
@of_each_size
def test_a_long_reply_is_read_in_little_time(piece: str, share: int) -> None:
    # Half a second at most; a quadratic scan of 200 000 characters takes many minutes.
    with bounded(3 / share):
        verify(VERA, piece * (200_000 // share // len(piece)) + "x")
