"""What stands around a number: denied, asked about, a bound or one of several, it is no answer; else it is."""

import pytest

from data.records import Item
from generators.arithmetic.arithmetic import verify
from tests.helpers.bounds import bounded

SUM = Item(prompt="", answer="39", facts={"expression": "4 + 5 * (10 - 3)"})

DENIED = (
    "ANSWER: not exactly 39", "It cannot be 39.", "I do not believe that the value is 39.", "I doubt it is 39.",
    "It is not true that 4 + 5 * 7 = 39.", "39 is wrong.", "39 is not the answer.", "39 (wrong)", "4 + 35 != 39",
    "Any number except 39.", "ANSWER: other than 39", r"4 + 35 \not= 39", "ANSWER: neither 87 nor 39",
    "Не думаю, что ответ — 39.", "Неверно, что 4 + 5 * 7 = 39.", "Вряд ли это 39.", "39 — неверный ответ.",
    "39 не подходит.", "ОТВЕТ: что угодно, кроме 39", "ОТВЕТ: ни 39, ни 87", "Я не уверен, что это 39.",
)  # fmt: skip
ASKED = (
    "Is 39 the answer?", "Could it be 39, I wonder?", "The answer is 39, right?", "ANSWER: 39 (?)", "39?? Not sure",
    r"Is it \boxed{39} or not?", "Неужели 39?", "Разве ответ 39, а не 87?", "Ответ 39, верно?",
)  # fmt: skip
BOUNDS = (
    "ANSWER: greater than or equal to 39", "ANSWER: at least 39", "ANSWER: >= 39", r"$x \geq 39$", "ANSWER: < 39",
    "ANSWER: 39 and up", "almost 39", "ОТВЕТ: не менее 39", "ОТВЕТ: не больше, чем 39", "ОТВЕТ: 39 и более",
)  # fmt: skip
SEVERAL = (
    "Both 39 and 87.", "ANSWER: 39 and 87 are both possible", "87 and 39", "39; 87", '{"answer": [87, 39]}',
    r"\boxed{39 \text{ and } 87}", r"\boxed{87, 39}", "It could be 87, and it could just as well be 39.",
    "One way gives 87, another gives 39.", "The answer is 39, another way gives 87.", "ОТВЕТ: 39 и 87",
    "Одни получают 87, другие 39.", "Можно получить 39, а можно 87.", "Ответ: либо 87, либо 39",
)  # fmt: skip
RIGHT = (
    "I have no doubt that the answer is 39.", "No, wait, it is 39.", "It's not 87, it's 39.",
    "It is not 87 but 39.",
    "The result is 39, not 87.", "The result is 39 (not 87).", "39 — not 87.", "It is nothing but 39.",
    "If I'm not mistaken, it is 39.", "Do not forget the brackets! 39", "Is it 39? Yes!", "4 + 5 * 7 => 39",
    "> 39", "<b>ANSWER:</b> 39", "ANSWER: <39>", ">>> 39", "ANSWER: 39 (or 39.0)", "What is 4 + 35?\n\n39",
    "ANSWER: 39 😊 Do you want to see more?", "First 10 - 3 = 7 and 5 * 7 = 35 and 4 + 35 = 39",
    r"The answer is $\boxed{39}$, not 87.", '{"steps": [7, 35, 39], "answer": 39}', "7, then 35, then 39.",
    "Нет сомнений, что ответ 39.", "Ответ: 39, а не 87.", "Скобок больше нет, значит, получаем 39.", "Не 87! 39",
    "Больше действий нет: 39", "Если не ошибаюсь, получится 39.", "Результат — 39, можно проверить.",
)  # fmt: skip


@pytest.mark.parametrize("reply", RIGHT)
def test_a_number_that_is_given_is_the_answer(reply: str) -> None:
    assert verify(SUM, reply).correct is True


@pytest.mark.parametrize("reply", [*DENIED, *ASKED, *BOUNDS, *SEVERAL])
def test_a_number_that_is_not_given_is_none(reply: str) -> None:
    assert verify(SUM, reply).correct is not True


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("39 is wrong.", "denies the number it gives"),
        ("Is 39 the answer?", "asks a question"),
        ("ANSWER: > 39", "gives a bound"),
        ("ОТВЕТ: больше 39", "gives a bound"),
        ("ANSWER: 39 and 87", "gives several numbers"),
    ],
)
def test_the_reason_says_what_is_amiss(reply: str, reason: str) -> None:
    assert verify(SUM, reply).reason == reason


@pytest.mark.parametrize("unit", ["1,", "39, ", "not ", "39 and ", "(", "{", "\\", "> ", "39 — ", "39, not ", " "])
def test_what_stands_around_a_number_is_read_in_bounded_time(unit: str) -> None:
    reply = unit * 2_000 + "39" + unit * 2_000
    with bounded(2):
        verify(SUM, reply)
