# ruff: noqa: E501 - a response stands on one line
"""SPEC 14, choice: exactly the right option, by letter or text, in the styles that models reply in."""

from typing import Any

import pytest

from data.options import options_of
from data.records import Score
from metrics.choice import UNIT, chosen

EN = ["Venus", "Mars", "Jupiter", "New York City"]
RU = ["Венера", "Марс", "Юпитер", "Нижний Новгород"]
ZH = ["金星", "火星", "木星", "北京市"]


def scored(response: str | None, answer: Any = "B", options: Any = None, **given: Any) -> Score:
    row = {"response": response, "answer": answer, **({} if options is None else {"options": options})}
    return UNIT.score(row, {}, options_of(UNIT, given))


RIGHT_LETTERS = [
    "B", "b)", "(B)", "B.", "**B**", "[B]", "B) Mars", "B. Mars", "B: Mars", "**B) Mars**", "`B`", '"B"', "$B$", "$\\boxed{B}$",
    "\\boxed{\\text{B}}", "The answer is B.", "The correct answer is (B).", "The answer is: **B**", "Answer: B", "ANSWER: B",
    "**Answer:** B", "Answer: **B) Mars**", "Final answer: B", "### Answer\nB", "The correct option is B) Mars.", "Option B",
    "Option B is correct.", "I choose B.", "I would go with B.", "My choice: B", "The best answer is B because A is too hot.",
    "A is wrong: it is too hot. C is a gas giant. The answer is B.", "B is correct, while A and C are not.",
    "Let us see.\nA) Venus is too hot.\nB) Mars is red.\nC) Jupiter is a giant.\n\nSo the answer is B.",
    "The answer is not C but B.", "Ответ — не C, а B.", "答案不是C，而是B。", "The answer is not C; rather, it is B.",
    "B is the right one.", "Option B is the best choice here.", "B — верный ответ.", "B正确。", "选项B是正确的。", "The answer is b.",
    "The answer is B, not A.", "The answer is not A but B.", "It can't be A or C. Answer: B", "Correct answer: B (Mars)",
    "<think>Perhaps A? The answer is A.</think>B", "The answer is\n\nB", "The answer is:\n\n**B) Mars**", "Answer:B",
    "B, because it is red.", "B - Mars", "B — Mars", "Mars is the red planet, so the correct choice is B.",
    "Thus, the correct answer is option B.", "Therefore, **B** is the right answer.", "The right one is **B**.", "answer: b",
    "The correct answer is $\\mathbf{B}$.", "Hence, the answer is \\(B\\).", 'The answer is "B".', '{"answer": "B"}',
    "Ответ: B", "Ответ: **B**", "Правильный ответ: B) Марс", "Верный ответ — B.", "Правильный вариант — B.", "Выбираю B.",
    "Вариант B верный.", "Ответ — вариант B, а не A.", "Я выбираю вариант B.", "A не подходит. Ответ: B.",
    "答案是B。", "答案：B", "正确答案是 B。", "选B", "我选择B。", "正确选项是B，而不是A。", "答案：**B**", "选项A太热，所以答案是B。", "B。", "B、火星", "答案为B",
    "因此，正确答案是（B）。", "应选B。",
    "We can eliminate A, C and D. That leaves B.", "Rule out A and C, as well as D. So we are left with B.", "A, C and D are wrong. That leaves B.",
    "A, C and D can be eliminated, which leaves B.", "By elimination: B", "Исключаем A, C и D. Остаётся B.", "排除A、C和D，剩下B。",
]  # fmt: skip
WRONG = [
    "A", "The answer is A.", "The answer is C, not B.", "Answer: D", "A or B", "A and B", "Both A and B are correct.",
    "The answer is A or B.", "The answer is either B or C.", "B and C", "B, C", "Answer: A, B", "\\boxed{A}", "A) Venus",
    "It is not B. The answer is A.", "B is wrong. The answer is A.", "Ответ: A", "Ответ: A или B", "Ответ — не B, а C.",
    "Правильный ответ: C) Юпитер", "答案是A。", "答案是A或B。", "选C", "答案不是B，而是C。", "Answer: B\nNo, wait. Answer: C",
    "First I thought the answer is B, but the answer is C.", "All of them: A, B, C, D.", "We can eliminate A and B. That leaves C and D.",
    "We eliminate B. The answer is A.", "I would rule out A, B and D. So C.", "Исключаем B. Остаётся C или D.",
]  # fmt: skip


@pytest.mark.parametrize("response", RIGHT_LETTERS)
def test_the_right_letter_however_it_is_said(response: str) -> None:
    for options in (None, EN if response.isascii() else RU if any("а" <= c <= "я" for c in response) else ZH):
        assert scored(response, options=options).value == 1.0


@pytest.mark.parametrize("response", WRONG)
def test_another_letter_or_two_of_them(response: str) -> None:
    for options in (None, EN):
        score = scored(response, options=options)
        assert (score.value, score.status) == (0.0, "scored")


@pytest.mark.parametrize(
    ("response", "answer", "options", "value"),
    [
        ("Mars", "B", EN, 1.0), ("mars.", "B", EN, 1.0), ("It is Mars.", "B", EN, 1.0), ("The answer is Mars.", "B", EN, 1.0),
        ("**Mars**", "B", EN, 1.0), ("Answer: Mars", "Mars", EN, 1.0), ("B", "Mars", EN, 1.0), ("B", 1, EN, 1.0), ("B", 0, EN, 0.0),
        ("Venus or Mars", "B", EN, 0.0), ("Venus is hot, but the answer is Mars.", "B", EN, 1.0), ("Jupiter", "B", EN, 0.0),
        ("The answer is Mars, not Venus.", "B", EN, 1.0), ("New York City", "D", EN, 1.0), ("York", "D", EN, 0.0),
        ("New York City", "A", ["New York", "New York City"], 0.0), ("New York", "A", ["New York", "New York City"], 1.0),
        ("Marsupials", "B", EN, 0.0), ("Марс", "B", RU, 1.0), ("Ответ: Марс", "B", RU, 1.0), ("Это Марс.", "Марс", RU, 1.0),
        ("Ответ: Венера или Марс", "B", RU, 0.0), ("нижний новгород", "D", RU, 1.0), ("火星", "B", ZH, 1.0), ("答案是火星。", "B", ZH, 1.0),
        ("答案是木星。", "B", ZH, 0.0), ("B", ["A", "B"], EN, 1.0), ("B", "B", {"a": "x", "b": "y"}, 1.0),
        ("y", "B", {"a": "x one", "b": "y"}, 1.0), ("18", "A", ["18", "180"], 1.0), ("180", "A", ["18", "180"], 0.0),
        ("The answer is 18.", "A", ["18", "180"], 1.0), ("$18", "A", ["18", "180"], 1.0), ("В", "B", RU, 1.0), ("Ответ: С", "C", RU, 1.0),
        *((f"The answer is {said}.", "A", ["5", "7", "9"], 0.0) for said in ("5.5", "5,000", "-5", "1.5", ".5", "0,5")), ("-5", "A", ["5", "7"], 0.0),
        ("The answer is −5.", "B", ["5", "-5"], 1.0), ("$\\boxed{-5}$", "B", ["5", "-5"], 1.0), ("2.5", "A", [2, 2.5], 0.0), ("2.5", "B", [2, 2.5], 1.0), ("2", 2.0, [2.0, 2.5], 1.0),
        ("It is O’Brien.", "A", ["O'Brien", "Smith"], 1.0), ("Елка", "A", ["Ёлка", "Сосна"], 1.0), ("答案：Ｂ", "B", EN, 1.0), ("I think 'B' fits.", "B", EN, 1.0),
        ("Yes, there is no evidence against it.", "A", ["Yes", "No"], 1.0), ("No, there is no way.", "B", ["Yes", "No"], 1.0), ("I say no because it fell.", "B", ["Yes", "No"], 1.0),
        *((said, "B", ["是", "否"], 1.0) for said in ("答案是：否。", "答案是否", "答案为否", "否")), *((said, "A", ["是", "否"], 1.0) for said in ("答案：是", "答案是：是", "答案是是", "是的")),
        ("Да, у рыб нет лёгких.", "A", ["Да", "Нет"], 1.0), ("Нет, это не так.", "B", ["Да", "Нет"], 1.0), ("yes or no", "A", ["Yes", "No"], 0.0),
    ],
)  # fmt: skip
def test_options_by_their_texts(response: str, answer: Any, options: Any, value: float) -> None:
    assert scored(response, answer, options).value == value


@pytest.mark.parametrize(
    "response",
    ["I do not know.", "Не знаю.", "我不知道。", "It depends on what is meant.", "…", "???", "I cannot say."],
)
def test_a_reply_that_names_no_option_is_no_answer(response: str) -> None:
    for options in (EN, RU, ZH):
        score = scored(response, options=options)
        assert (score.value, score.status, score.reason) == (0.0, "no_answer", "no option is named")


@pytest.mark.parametrize(
    ("response", "letters", "answer"),
    [("Ответ: Б", "АБВГ", "Б"), ("Б) Марс", "АБВГ", "Б"), ("Правильный ответ — б.", "АБВГ", "Б"), ("The answer is 2.", "1234", "2"),
     ("2", "1234", 2), ("(2) Mars", "1234", "2"), ("E", "ABCDE", "E"), ("Answer: J", "ABCDEFGHIJ", "J")],
)  # fmt: skip
def test_other_letters(response: str, letters: str, answer: Any) -> None:
    assert scored(response, answer, letters=letters).value == 1.0


@pytest.mark.parametrize("response", ["Answer: 2.5", "2.5", "-2", "Answer: 2,5", "Answer: -2", "12"])
def test_a_digit_of_a_longer_number_is_no_option(response: str) -> None:
    assert scored(response, "2", letters="1234").value == 0.0


@pytest.mark.parametrize("response", [None, "", " \n", "<think>B</think>", "<think>B"])
def test_an_empty_reply_and_a_row_without_an_answer(response: str | None) -> None:
    score = scored(response)
    assert (score.value, score.status, score.reason) == (0.0, "no_answer", "empty reply")
    for answer in (None, "", "Z", 99):
        assert scored("B", answer, EN).status == "not_applicable"


@pytest.mark.parametrize(
    "response", ["answer " * 100_000, "B" * 1_000_000, "A B " * 200_000, "\\boxed{" * 100_000, "not " * 200_000]
)
def test_a_megabyte_is_read_in_time(response: str) -> None:
    assert scored(response, options=EN).value is not None


@pytest.mark.parametrize(
    ("row", "texts"),
    [
        ({"A": "Venus", "B": "Mars", "C": "Jupiter"}, ["A", "B", "C"]),
        ({"first": "Venus", "second": "Mars", "third": None}, ["first", "second", "third"]),
        ({"options": '["Venus", "Mars"]'}, "options"),
        ({"options": '{"A": "Venus", "B": "Mars"}'}, "options"),
    ],
)
def test_options_of_a_csv_stand_in_columns_of_their_own_or_as_json(row: dict[str, Any], texts: Any) -> None:
    settled = options_of(UNIT, {"texts": texts})
    for answer, response, value in (("B", "Mars", 1.0), ("Mars", "B", 1.0), ("B", "Venus", 0.0)):
        assert UNIT.score({**row, "answer": answer, "response": response}, {}, settled).value == value


METALS = {"A": "mercury", "B": "copper", "C": "tin", "D": "zinc"}
BARE = dict.fromkeys("ABCDEFGHIJ", "")
SAID = [
    ("A, B and D are wrong, so C.", "C", METALS),
    ("(C) gamma is the correct answer because (A) alpha is too small", "C", BARE),
    ("F = ma\nAnswer: C", "C", BARE),
    ("C(9,3) = 84, so the answer is B", "B", BARE),
    ("Final Answer: N/A", None, METALS),
    ("Final Answer: N/A. Options A and B were close.", None, METALS),
    ("\\boxed{85}\nThe answer is B", "B", METALS),
    ("The answer is B. \\boxed{85}", "B", METALS),
    ("I'd pick B over C.", "B", METALS),
    ("It's between A and C, but I choose C.", "C", METALS),
    ("The answer is not A but B.", "B", METALS),
    ("Option B.", "B", METALS),
    ("B", "B", METALS),
    ("copper", "B", METALS),
    ("The metal is copper.", "B", METALS),
    ("Both A and B", "AB", METALS),
    ("A) mercury is wrong.\nB) copper is right.\nC) tin is wrong.", "B", METALS),
    ("The correct answer is neither A nor B. It is D.", "D", METALS),
    ("To answer this, consider mercury. Mercury is liquid. So the answer is mercury.", "A", METALS),
    ("My answer: **C**", "C", METALS),
    ("Answer: C or D", "CD", METALS),
    ("I would go with B", "B", METALS),
    ("正确选项是C", "C", METALS),
    ("选C", "C", METALS),
    ("应该选择B，因为A不对", "B", METALS),
    ("Верный вариант: B", "B", METALS),
    ("Я выбираю B", "B", METALS),
    ("Не A и не B, а C", "C", METALS),
    ("Answer: all of the above", None, METALS),
    ("I cannot choose between them.", None, METALS),
    ("Let's see: A is a metal. B is a metal. The answer must be B.", "B", METALS),
    ("The right choice here would be D", "D", METALS),
    ("**Correct option: D**", "D", METALS),
    ("A is incorrect because it is solid; B is incorrect; D is incorrect. Hence, C.", "C", METALS),
    (
        "So the final answer is: C) tin. This is because A) mercury is liquid, B) copper is not the answer.",
        "C",
        METALS,
    ),
    ("The answer to the question is B, not A.", "B", METALS),
    ("Answer\nB", "B", METALS),
    ("### Answer\n\n**B) copper**", "B", METALS),
    ("B is my answer", "B", METALS),
    ("the answer: option b", "B", METALS),
    ("I choose A, as it is liquid", "A", METALS),
    ("That leaves A as the only option", "A", METALS),
]


@pytest.mark.parametrize(("reply", "letters", "there"), SAID)
def test_a_statement_decides(reply: str, letters: str | None, there: dict[str, str]) -> None:
    assert chosen(reply, there) == (None if letters is None else set(letters))


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("Let's go through the options.\n\nB) copper: this", None), ("**B) copper**: ", None), ("It could be B", None),
        ("The answer is", None), ("\\boxed{", None), ("So B", None), ("Answer: B\n\nExplanation: A is", "B"),
        ("\\boxed{B} To check", "B"), ("B) copper is the correct answer. Option A is wrong because it", "B"),
        ("B\n\nA is wrong since", "B"), ("B) copper\n\nMercury is", "B"), ("B) copper is heavy.\nA)", None),
    ],
)  # fmt: skip
def test_of_a_cut_reply_only_a_statement_counts(reply: str, letters: str | None) -> None:
    assert chosen(reply, METALS, cut=True) == (None if letters is None else set(letters))


@pytest.mark.parametrize(
    "response", ["Humans can, but penguins cannot.\n\n**B**", "They do not.\n\nB) No", "The others don't. B"]
)
def test_a_denial_ends_with_its_sentence(response: str) -> None:
    assert scored(response, "B", ["Yes", "No"]).value == 1.0


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("B) False", "B"),
        ("**Answer: C) Not enough information**", "C"),
        ("The answer is (C) Cannot be determined.", "C"),
        ("Answer: B) Vitamin C", "B"),
        ("The answer is B) 25°C.", "B"),
        ("A) Incorrect: too hot.\nB) Correct.", "B"),
    ],
)
def test_letters_alone_with_the_options_text_behind(response: str, answer: str) -> None:
    assert scored(response, answer).value == 1.0


@pytest.mark.parametrize(
    "response",
    ["The answer is **B** — not C.", "B – not A", "The answer is B not C.", "A — not correct. Answer: B"],
)
def test_not_denies_the_option_behind_it(response: str) -> None:
    for options in (None, EN):
        assert scored(response, "B", options).value == 1.0
