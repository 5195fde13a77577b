"""Replies to puzzles that name the right one in a box, after the question or beside another name."""

import pytest

from data.records import Item
from generators.simple_logic.simple_logic import verify

PUZZLE = Item(
    prompt="Lucy and Keith run.\n\nKeith is slower than Lucy.\n\nIf all line up by speed, who stands first?",
    answer="Lucy",
    facts={"names": ["Lucy", "Keith"]},
)
PUZZLE_RU = Item(
    prompt="Тимур и Фома бегают.\n\nФома медленнее.\n\nЕсли выстроить всех, кто окажется на первом месте?",
    answer="Тимур",
    facts={"names": ["Тимур", "Фома"]},
)

RIGHT = (
    "If all line up by speed, who stands first?\n\nLucy", "If all line up by speed, who stands first? Lucy",
    r"Since Keith is below, it is $\boxed{Lucy}$.", r"It is not Keith but $\boxed{Lucy}$.",
    r"There is no contradiction, so the answer is $\boxed{Lucy}$.", r"\boxed{Lucy}. Keith is not.",
    r"Is it Keith? No. $\boxed{Lucy}$", "ANSWER: Lucy, since Keith is also slower",
    "ANSWER: Lucy, as Keith is not.",
    "If I'm not mistaken, it is Lucy.",
    "Keith is slower than Lucy. So it must be Lucy.", "At first I thought of Keith. It's Lucy, though.",
    "Keith comes last, hence Lucy stands first.", "1. Keith < Lucy\n\n#### Lucy", "#### Lucy",
    "ANSWER: Lucy (Keith is next)", "Keith is out. But no doubt, it is Lucy!",
)  # fmt: skip
RIGHT_RU = (
    "Если выстроить всех, кто окажется на первом месте?\n\nТимур", r"Не Фома, а $\boxed{Тимур}$.",
    "Верно, что это Тимур.", r"Это $\boxed{Тимур}$.", "Думаю, что это Тимур.",
    "Фома медленнее, чем Тимур. Значит, это Тимур.", "Сначала кажется, что Фома. Но нет, это Тимур.",
    "Фома отстаёт, поэтому на первом месте окажется Тимур.", "ОТВЕТ: Тимур (за Тимуром идёт Фома)",
)  # fmt: skip
WRONG = (
    r"It is not $\boxed{Lucy}$.", r"I don't think it is $\boxed{Lucy}$.", r"Anyone but $\boxed{Lucy}$.",
    r"$\boxed{Lucy}$ is wrong.", r"Could the answer be $\boxed{Lucy}$?", r"$\boxed{Lucy}$?",
    r"Either $\boxed{Lucy}$ or $\boxed{Keith}$.", "It could be Keith, and it could just as well be Lucy.",
    "It could be Lucy, and it could just as well be Keith.", "Keith is possible, and so is Lucy.",
    "Lucy fits, while Keith is just as possible.", "Lucy may be it, as well as Keith.",
    "Lucy fits as well as Keith.",
    "I don't think the answer is Lucy.", "It is false that the answer is Lucy.",
    "If all line up by speed, who stands first?\n\nLucy?",
    "Keith is slower. If Keith is second, it is Lucy.", "Keith is slower. So it is not Lucy.",
    "Lucy is faster than Keith. Is it Lucy?", "Either Keith, or it is Lucy.",
    "ANSWER: Lucy (or Keith, who is next)",
    "Keith is slower than Lucy. Thus, Lucy stands last.", "#### Lucy, Keith",
    "Keith may be slower, but I doubt that it is Lucy.",
)  # fmt: skip
WRONG_RU = (
    r"Это $\boxed{Тимур}$?", r"Не думаю, что это $\boxed{Тимур}$.", r"$\boxed{Тимур}$ — неверный ответ.",
    r"Неверно, что это $\boxed{Тимур}$.", "Неверно, что самый терпеливый — Тимур.", "Неправда, что первый: Тимур.",
    "Не думаю, что ответ — Тимур.", "ОТВЕТ: неверно, что первый — Тимур", "Тимур, хотя Фома тоже подходит.",
    "Фома медленнее. Вряд ли это Тимур.", "Фома медленнее. Значит, это не Тимур.",
    "Может подойти Тимур, так же как и Фома.", "Может быть Тимур, а может быть Фома.",
)  # fmt: skip


@pytest.mark.parametrize(
    ("item", "reply"), [*((PUZZLE, reply) for reply in RIGHT), *((PUZZLE_RU, reply) for reply in RIGHT_RU)]
)
def test_the_one_who_is_given_is_the_answer(item: Item, reply: str) -> None:
    assert verify(item, reply).correct is True


@pytest.mark.parametrize(
    ("item", "reply"), [*((PUZZLE, reply) for reply in WRONG), *((PUZZLE_RU, reply) for reply in WRONG_RU)]
)
def test_one_who_is_denied_asked_about_or_beside_another_is_none(item: Item, reply: str) -> None:
    assert verify(item, reply).correct is not True
