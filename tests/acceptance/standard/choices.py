"""Replies to multiple-choice questions."""

from collections.abc import Iterator
from typing import Any

from tests.acceptance.standard.cases import Case, fill
from tests.acceptance.standard.choice_forms import ANY, CHOSEN, EMPTY, NONE, TWO, TWO_ANY

ROWS: dict[str, tuple[dict[str, Any], ...]] = {
    "en": (
        {"options": ["Paris", "London", "Rome", "Madrid"], "answer": "B"},
        {"options": ["a mitochondrion", "the nucleus", "a ribosome", "the cell wall"], "answer": "A"},
        {"options": ["7", "70", "700", "0.7"], "answer": "C"},
        {"options": ["Yes, always", "No, never", "Only in summer", "Only at night"], "answer": "D"},
    ),
    "ru": (
        {"options": ["Париж", "Лондон", "Рим", "Мадрид"], "answer": "C"},
        {"options": ["кислород", "азот", "углекислый газ", "водород"], "answer": "B"},
        {"options": ["в 1812 году", "в 1861 году", "в 1905 году", "в 1917 году"], "answer": "A"},
    ),
    "zh": (
        {"options": ["北京", "上海", "广州", "深圳"], "answer": "D"},
        {"options": ["鲁迅", "老舍", "巴金", "茅盾"], "answer": "A"},
        {"options": ["氧气", "氮气", "二氧化碳", "氢气"], "answer": "C"},
    ),
}
OVERLAPPING = {"options": ["York", "New York", "New", "Newark"], "answer": "B"}
POWERS = {"options": ["10", "100", "1000", "10000"], "answer": "C"}
CYRILLIC = {"options": ["Волга", "Обь", "Лена", "Енисей"], "answer": "В"}
LETTERED = {"options": {"A": "Paris", "B": "London"}, "answer": "B"}
JSONED = {"options": '["Paris", "London", "Rome"]', "answer": "Rome"}
BARE = {"answer": "B"}
COMPOUND = {"options": ["Rome", "Madrid", "Both A and B", "None of the above"], "answer": "C"}
VITAMINS = {"options": ["Vitamin C", "Vitamin A", "Vitamin B", "Vitamin D"], "answer": "A"}
CLAIMS = {"options": ["True", "False", "Not given"], "answer": "C"}
EVIDENCE = {"options": ["supported", "refuted", "not enough information"], "answer": "not enough information"}
DUNDER = {"options": ["init", "__init__", "_init", "__new__"], "answer": "B"}
TRUTH = {"options": ["True", "False"], "answer": "B"}
SINGLE: tuple[tuple[dict[str, Any], dict[str, Any], str, int], ...] = (  # row, options, reply, value
    (OVERLAPPING, {}, "New York", 1),
    (OVERLAPPING, {}, "The answer is New York.", 1),
    (OVERLAPPING, {}, "York", 0),
    (OVERLAPPING, {}, "Newark", 0),
    (OVERLAPPING, {}, "York or New York", 0),
    (OVERLAPPING, {}, "The answer is New York or York.", 0),
    (COMPOUND, {}, "C", 1),
    (COMPOUND, {}, "Both A and B", 1),
    (COMPOUND, {}, "The answer is C) Both A and B.", 1),
    (COMPOUND, {}, "**C) Both A and B**", 1),
    (COMPOUND, {}, "Answer: Both A and B.", 1),
    (COMPOUND, {}, "A) Rome", 0),
    (COMPOUND, {}, "Answer: D) None of the above", 0),
    (COMPOUND, {}, "None of the above.", 0),
    ({**COMPOUND, "answer": "D"}, {}, "None of the above.", 1),
    ({**COMPOUND, "answer": "D"}, {}, "The answer is **D) None of the above**.", 1),
    (VITAMINS, {}, "Vitamin C", 1),
    (VITAMINS, {}, "The answer is Vitamin C.", 1),
    (VITAMINS, {}, "A) Vitamin C", 1),
    (VITAMINS, {}, "The correct answer is **A) Vitamin C**.", 1),
    (VITAMINS, {}, "Vitamin A", 0),
    (VITAMINS, {}, "B) Vitamin A", 0),
    (VITAMINS, {}, "The answer is Vitamin C, not Vitamin D.", 1),
    (CLAIMS, {}, "Not given", 1),
    (CLAIMS, {}, "The answer is Not given.", 1),
    (CLAIMS, {}, "Answer: **Not given**", 1),
    (CLAIMS, {}, "The answer is True, not Not given.", 0),
    (CLAIMS, {}, "The answer is False.", 0),
    (EVIDENCE, {}, "The answer is: not enough information.", 1),
    (EVIDENCE, {}, "C. Not enough information", 1),
    (EVIDENCE, {}, "not supported", 0),
    (DUNDER, {}, "__init__", 1),
    (DUNDER, {}, "The answer is `__init__`.", 1),
    (DUNDER, {}, "**B) `__init__`**", 1),
    (DUNDER, {}, "init", 0),
    (DUNDER, {}, "The answer is `_init`.", 0),
    (TRUTH, {}, "False", 1),
    (TRUTH, {}, "The statement is not true.", 0),
    (TRUTH, {}, "The statement is **false**.", 1),
    (TRUTH, {}, "Answer: True", 0),
    (TRUTH, {}, "B) False, because the text says otherwise.", 1),
    (POWERS, {}, "1000", 1),
    (POWERS, {}, "The answer is 1000.", 1),
    (POWERS, {}, "Answer: 100", 0),
    (POWERS, {}, "10000", 0),
    (CYRILLIC, {"letters": "АБВГ"}, "В", 1),
    (CYRILLIC, {"letters": "АБВГ"}, "Ответ: В) Лена", 1),
    (CYRILLIC, {"letters": "АБВГ"}, "Ответ: Б", 0),
    (CYRILLIC, {"letters": "АБВГ"}, "**Г) Енисей**", 0),
    (CYRILLIC, {"letters": "АБВГ"}, "Правильный ответ — Лена.", 1),
    (LETTERED, {}, "London", 1),
    (LETTERED, {}, "**B) London**", 1),
    (LETTERED, {}, "A", 0),
    (JSONED, {}, "C", 1),
    (JSONED, {}, "It is Rome.", 1),
    (JSONED, {}, "B) London", 0),
    (BARE, {}, "The answer is (B).", 1),
    (BARE, {}, "C", 0),
    ({"answer": "2"}, {"letters": "1234"}, "Answer: 2", 1),
    ({"answer": "2"}, {"letters": "1234"}, "**3**", 0),
    ({"A": "Paris", "B": "London", "answer": "A"}, {"texts": ["A", "B"]}, "Paris", 1),
    ({"A": "Paris", "B": "London", "answer": "A"}, {"texts": ["A", "B"]}, "London", 0),
    ({"A": "Paris", "B": "London", "answer": "A"}, {"texts": ["A", "B"]}, "The answer is A) Paris.", 1),
    ({"options": ["Paris", "London"], "answer": ["A", "B"]}, {}, "B", 1),
    ({"options": ["Paris", "London"], "answer": "London"}, {}, "B", 1),
    ({"options": ["Paris", "London"], "answer": "London"}, {}, "A", 0),
)


def choices(language: str) -> Iterator[Case]:
    """Compose replies to each question of a language: right, wrong, two options, none."""
    for row in ROWS[language]:
        letters, texts = "ABCD", row["options"]
        place = letters.index(row["answer"])
        for step, wrong in enumerate((place + 1, place + 2)):
            other = wrong % len(letters)
            listed = dict(zip(letters, texts, strict=True))
            right = {**listed, "l": letters[place], "t": texts[place], "w": letters[other], "v": texts[other]}
            turned = {**listed, "l": letters[other], "t": texts[other], "w": letters[place], "v": texts[place]}
            for form in (*ANY, *CHOSEN[language]):
                if step == 0:
                    yield Case("choice", fill(form, **right), 1.0, row, status="scored")
                yield Case("choice", fill(form, **turned), 0.0, row)
            for form in (*TWO_ANY, *TWO[language]):
                yield Case("choice", fill(form, **right), 0.0, row)
                yield Case("choice", fill(form, **turned), 0.0, row)
            for form in NONE[language]:
                yield Case("choice", fill(form, **right), 0.0, row)
        for form in EMPTY:
            yield Case("choice", fill(form, l=row["answer"]), 0.0, row, status="no_answer")


def single_choices() -> Iterator[Case]:
    """Yield replies that stand for themselves: texts in texts, other letters, options in other columns."""
    for row, options, reply, value in SINGLE:
        yield Case("choice", reply, float(value), row, options)
