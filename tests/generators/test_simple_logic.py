"""Simple logic: what counts as naming somebody, one answer to every question, and Russian grammar."""

import re
from itertools import permutations

import pytest

from data.draw import draw
from data.records import Item
from generators.simple_logic.comparisons import adjective, texts
from generators.simple_logic.orderings import DIRECT, HOLDS, INDIRECT, puzzles
from generators.simple_logic.people import cases, genders, names
from generators.simple_logic.simple_logic import UNIT, verify

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
        (VERA, "ANSWER: Anna. ANSWER: Vera", False, "names several of them"),
        (VERA, "Anna, Boris, Vera", False, "names several of them"),
        (VERA, "Vera is taller than Anna.", False, "names several of them"),
        (VERA, "ANSWER: not Vera", False, "denies the one it names"),
        (VERA, "ANSWER: it isn't Vera", False, "denies the one it names"),
        (VERA, "ANSWER: anyone but Vera", False, "denies the one it names"),
        (VERA, "ANSWER: non-Vera", False, "denies the one it names"),
        (VERA, "not Vera", False, "denies the one it names"),
        (VERA, "Vera is not the tallest.", False, "denies the one it names"),
        (VERA, "Vera, of course, isn’t the tallest", False, "denies the one it names"),
        (VERA, "Everyone except Vera.", False, "denies the one it names"),
        (VERA, "It is false that it is Vera.", False, "denies the one it names"),
        (VERA, "Somebody else.", None, "names none of them"),
        (VERA, "Veranda, verandah, Verax, severa", None, "names none of them"),
        (VERA, "", None, "names none of them"),
        (VERA, "ANSWER: name", None, "the answer line names none of them"),
        (VERA, "It is Vera.\nANSWER: the tallest one", None, "the answer line names none of them"),
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
        (ВЕРА, "не Вера", False, "denies the one it names"),
        (ВЕРА, "ОТВЕТ: не Вера", False, "denies the one it names"),
        (ВЕРА, "Вера не самая высокая.", False, "denies the one it names"),
        (ВЕРА, "Все, кроме Веры", False, "denies the one it names"),
        (ВЕРА, "Уверен, что все доверяют", None, "names none of them"),
        (ВЕРА, "ОТВЕТ: имя", None, "the answer line names none of them"),
        (SEMYON, "ОТВЕТ: Семен", True, "right"),
        (SEMYON, "ОТВЕТ: СЕМЁНОМ", True, "right"),
        (SEMYON, "ОТВЕТ: Ильёй", False, "names another one"),
        (SEMYON, "ОТВЕТ: Ильей", False, "names another one"),
    ],
)
def test_verdict_and_reason(item: Item, reply: str, correct: bool | None, reason: str) -> None:  # noqa: FBT001 - a table's column
    found = verify(item, reply)
    assert (found.correct, found.reason) == (correct, reason)


MORE = {  # what stands before 'than', and the property that it speaks of, upwards or downwards
    "taller": ("tall", 1), "shorter": ("tall", -1), "older": ("old", 1), "younger": ("old", -1),
    "faster": ("fast", 1), "slower": ("fast", -1), "stronger": ("strong", 1), "weaker": ("strong", -1),
    "heavier": ("heavy", 1), "lighter": ("heavy", -1), "richer": ("rich", 1), "poorer": ("rich", -1),
    "happier": ("happy", 1), "sadder": ("happy", -1), "tidier": ("tidy", 1), "messier": ("tidy", -1),
    **{f"{sign} {word}": (word, up) for sign, up in (("more", 1), ("less", -1))
       for word in ("patient", "polite", "generous", "courageous", "talkative", "cautious")},
}  # fmt: skip
MOST = {
    **{
        word.replace("more ", "most ").replace("less ", "least "): means
        for word, means in MORE.items()
        if " " in word
    },
    **{re.sub("er$", "est", word): means for word, means in MORE.items() if " " not in word},
}
COUNTS = {"two": 2, "three": 3}
PLACES = {"second": 1, "third": 2, "fourth": 3}


def holds(sentence: str, asked: str, at: dict[str, int]) -> bool:
    """Read an English sentence, as a person would, and tell whether it holds of an order (0: most of `asked`)."""
    comparative = "|".join(sorted(MORE, key=len, reverse=True))
    superlative = "|".join(sorted(MOST, key=len, reverse=True))

    def above(one: str, word: str, other: str) -> bool:
        return (at[one] < at[other]) == (MORE[word][1] > 0)

    if found := re.fullmatch(rf"(\w+) is (not )?({comparative}) than (\w+)", sentence):
        one, denied, word, other = found.groups()
        return MORE[word][0] != asked or above(one, word, other) != bool(denied)
    if found := re.fullmatch(rf"(\w+) is ({comparative}) than (\w+) but ({comparative}) than (\w+)", sentence):
        one, word, other, second, third = found.groups()
        return above(one, word, other) and above(one, second, third)
    if found := re.fullmatch(rf"Only (\w+) is ({comparative}) than (\w+)", sentence):
        return [name for name in at if name != found[3] and above(name, found[2], found[3])] == [found[1]]
    if found := re.fullmatch(rf"Exactly (\w+) people are ({comparative}) than (\w+)", sentence):
        return sum(above(name, found[2], found[3]) for name in at if name != found[3]) == COUNTS[found[1]]
    end = {word: 0 if up > 0 else len(at) - 1 for word, (_, up) in MOST.items()}
    if found := re.fullmatch(rf"(\w+) is not the ({superlative})", sentence):
        return at[found[1]] != end[found[2]]
    if found := re.fullmatch(rf"(\w+) is neither the ({superlative}) nor the ({superlative})", sentence):
        return at[found[1]] not in {end[found[2]], end[found[3]]}
    raise AssertionError(sentence)


def asked_place(question: str, size: int) -> tuple[str, int]:
    """Read an English question: the property and the place from the top."""
    if found := re.fullmatch(r"Who is (?:the )?(.+)\?", question):
        word, up = (MOST if "the " in question else MORE)[found[1]]
        return word, 0 if up > 0 else size - 1
    found = re.fullmatch(
        r"If everyone is lined up from the (.+) to the .+, who stands in the (\w+) place\?", question
    )
    assert found, question
    return MOST[found[1]][0], PLACES[found[2]]


@pytest.mark.parametrize("level", UNIT.levels)
def test_read_from_the_prompt_exactly_one_person_can_be_the_answer(level: str) -> None:
    """The prompt's own words are read again, and every ordering is tried; no fact follows from the others."""
    for item in draw(UNIT, level=level, language="en", seed=9, count=80):
        _, statements, _, question, *_ = item.prompt.splitlines()
        sentences = re.split(r"\. ?", statements)[:-1]
        people = item.facts["names"]
        asked, place = asked_place(question, len(people))
        orders = [dict(zip(order, range(len(people)), strict=True)) for order in permutations(people)]
        left = [at for at in orders if all(holds(sentence, asked, at) for sentence in sentences)]
        assert {name for at in left for name in people if at[name] == place} == {item.answer}, item.prompt
        about = [sentence for sentence in sentences if not all(holds(sentence, asked, at) for at in orders)]
        for sentence in about:
            others = [at for at in orders if all(holds(each, asked, at) for each in about if each != sentence)]
            assert len(others) > len(left), (item.prompt, sentence)


@pytest.mark.parametrize("language", UNIT.languages)
def test_easy_is_of_the_seeds_size(language: str) -> None:
    for item in draw(UNIT, level="easy", language=language, seed=9, count=200):
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
    assert [puzzle.place for puzzle in found] == [0, 2]


def test_no_single_fact_of_a_puzzle_settles_it() -> None:
    for puzzle in puzzles(4, 3, INDIRECT, (0, 1, 2, 3)):
        for kind, who in puzzle.facts:
            left = [at for at in permutations(range(4)) if HOLDS[kind](at, who)]
            assert len({at.index(puzzle.place) for at in left}) > 1


def test_no_form_of_a_name_is_a_form_of_another() -> None:
    for language in UNIT.languages:
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


@pytest.mark.parametrize("level", UNIT.levels)
def test_russian_sentences_agree_and_inflect(level: str) -> None:
    """After a comparative stands the genitive; 'самая' is said of women, 'самый' of men and of mixed groups."""
    gender = genders("ru")
    genitives = {cases(name)[1] for name in names("ru")}
    for item in draw(UNIT, level=level, language="ru", seed=9, count=150):
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
