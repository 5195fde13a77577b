"""Replies to questions for a number: {n} the answer as written, {d} another number."""

from collections.abc import Iterator
from typing import Any

from tests.acceptance.standard.cases import Case, fill

WRITTEN: dict[
    str, tuple[tuple[Any, tuple[str, ...], str], ...]
] = {  # expected, as replies write it, another number
    "en": (
        (18, ("18", "18.0", "18.00"), "81"),
        ("1080", ("1,080", "1080", "1080.00"), "1800"),
        (0.5, ("0.5", "1/2", ".5", "\\frac{1}{2}"), "5"),
        (-7, ("-7", "−7"), "7"),
        ("1,234,567", ("1,234,567", "1234567"), "1,234,576"),
        ("3.14", ("3.14",), "3.41"),
    ),
    "ru": (
        (18, ("18", "18,0"), "81"),
        ("12500", ("12 500", "12500"), "12050"),
        (2.5, ("2,5", "2.5"), "25"),
        (-7, ("-7", "−7"), "7"),
    ),
    "zh": (
        (18, ("18", "１８"), "81"),
        ("1,080", ("1,080", "1080"), "1800"),
        (20000, ("2万", "20000", "20,000"), "2000"),
        (0.75, ("0.75", "3/4"), "7.5"),
    ),
}
ANY = (
    "{n}",
    "{n}.",
    "**{n}**",
    "**{n}.**",
    "_{n}_",
    "***{n}***",
    "#### {n}",
    "`{n}`",
    "```\n{n}\n```",
    "${n}$",
    "\\boxed{{n}}",
    "$\\boxed{{n}}$",
    "\\[\n\\boxed{{n}}\n\\]",
    "$$x = {n}$$",
    "<think>{d}? … {d}.</think>\n{n}",
    "<think>\n#### {d}\n</think>\n\n**{n}**",
    "ANSWER: {n}",
    "  \n{n}\n\n",
    "= {n}",
    "x = {d}\n\n#### {n}",
)
SAID = {
    "en": (
        "The answer is {n}.",
        "The answer is **{n}**.",
        "The answer is {n} because everything else cancels out.",
        "The final answer is $\\boxed{{n}}$.",
        "Final Answer: The final answer is $\\boxed{{n}}$. I hope it is correct.",
        "**Answer:** {n}",
        "**Answer: {n}**",
        "Answer: {n} apples",
        "Answer: **{n} apples**",
        "Answer: approximately {n}",
        "A: {n}",
        "Therefore, the answer is \\({n}\\).",
        "### Final answer\n{n}",
        "### Step 1\nWe start with {d}.\n\n### Step 2\nCorrected, this comes to {n}.\n\n**Final answer: {n}**",
        "1. We start with {d}.\n2. After the correction this comes to {n}.\n\nThe answer is {n}.",
        "Let's think step by step. At the beginning there were {d}. In the end there were {n}.",
        "At first I had {d}, but that counts one twice.\n\nANSWER: {n}",
        "So she has {n} apples left.",
        "In total, that makes **{n}** apples.",
        "The answer is not {d}. The answer is {n}.",
        "It comes to {n}!",
        "Sure! The answer is:\n\n**{n}**",
        "The result is {n} (not {d}). Answer: {n}",
        '"{n}"',
        "Thus x = {n}.",
    ),
    "ru": (
        "Ответ: {n}",
        "Ответ: {n}.",
        "**Ответ: {n}**",
        "**Ответ:** {n}",
        "Ответ: {n} яблок",
        "Ответ — {n}.",
        "Правильный ответ: **{n}**.",
        "Итого получается {n} яблок.",
        "Сначала было {d}. В конце осталось {n}.",
        "Шаг 1. Было {d}.\nШаг 2. Стало {n}.\n\nОтвет: {n}",
        "Ответ: $\\boxed{{n}}$",
        "Сначала кажется, что {d}, но одно посчитано дважды.\n\nОтвет: {n}",
        "«{n}»",
        "### Ответ\n\n**{n}**",
        "Таким образом, x = {n}.",
        "Окончательный ответ: \\({n}\\)",
    ),
    "zh": (
        "答案是{n}。",
        "答案：{n}",
        "**答案：{n}**",
        "**答案**：{n}",
        "答案是 **{n}**。",
        "答案：{n}个",
        "所以一共有{n}个苹果。",
        "一开始有{d}个，最后剩下{n}个。",
        "第一步：原来有{d}个。\n第二步：后来有{n}个。\n\n答案：{n}",
        "最终答案：$\\boxed{{n}}$",
        "因此，答案为{n}。",
        "“{n}”",
        "### 答案\n\n**{n}**",
        "起初以为是{d}，但有一个算了两次。\n\n答案：{n}",
    ),
}
WITHOUT = {
    "en": (
        "I don't know.",
        "The answer is unknown.",
        "I cannot solve this.",
        "There is no answer.",
        "Answer: none",
        "???",
    ),
    "ru": ("Я не знаю.", "Ответ неизвестен.", "Не могу решить.", "Ответ: нет"),
    "zh": ("我不知道。", "答案：未知", "无法解答。"),
}
SEVERAL = (
    "The answer is between {d} and {n}.",
    "Answer: {d} or {n}",
    "#### {d}-{n}",
    "{n}?\n\n#### unknown",
    "\\boxed{{d}, {n}}",
    "Ответ: {d} или {n}",
    "答案：{d}或{n}",
)
EMPTY = ("", " \n ", "<think>{n}</think>", "<think>\nthe answer is {n}")

MONEY = {"tolerance": 0.01, "unit": "EUR"}
SINGLE: tuple[tuple[Any, dict[str, Any], str, int], ...] = (  # answer, options, reply, value
    ("3.14", {"tolerance": 0.01}, "3.14", 1),
    ("3.14", {"tolerance": 0.01}, "The answer is 3.15.", 1),
    ("3.14", {"tolerance": 0.01}, "The answer is 3.13.", 1),
    ("3.14", {"tolerance": 0.01}, "The answer is 3.151.", 0),
    ("3.14", {"tolerance": 0.01}, "The answer is 3.129.", 0),
    (1, {"tolerance": 0.3}, "1.3", 1),
    (1, {"tolerance": 0.3}, "0.7", 1),
    (1, {"tolerance": 0.3}, "1.31", 0),
    (0.1, {}, "0.1", 1),
    (0.3, {}, "0.3", 1),
    (0.3, {}, "0.30000001", 0),
    (100, {"tolerance": 5}, "**95**", 1),
    (100, {"tolerance": 5}, "\\boxed{105}", 1),
    (100, {"tolerance": 5}, "\\boxed{105.5}", 0),
    (100, {"tolerance": 5}, "94", 0),
    (1000000, {"tolerance": 0}, "1 million", 1),
    (25, {}, "The answer is 25%.", 1),
    (25, {}, "**25 %**", 1),
    (12, {}, "The answer is $12.", 1),
    (12, {}, "It costs €12.", 1),
    ("$12", {}, "The answer is 12 dollars.", 1),
    ([12, 13], {}, "The answer is 13.", 1),
    ([12, 13], {}, "The answer is 14.", 0),
    (["12", "twelve"], {}, "12", 1),
    (64, {"unit": "$"}, "She needs to pay $64 for the 16 glasses.", 1),
    (64, {"unit": "$"}, "She needs to pay $16 for the 64 glasses.", 0),
    (16, {"unit": "glasses"}, "She needs to pay $64 for the 16 glasses.", 1),
    (12.5, MONEY, "Answer: 12.50 EUR for 3 tickets", 1),
    (12.5, MONEY, "Answer: 12.51 EUR for 3 tickets", 1),
    (12.5, MONEY, "Answer: 12.52 EUR for 3 tickets", 0),
    (3, MONEY, "Answer: 12.50 EUR for 3 tickets", 0),
    (12, {"unit": "$"}, "Ответ: 8 стержней стоят 12 $", 1),
    (0, {}, "0", 1),
    (0, {}, "The answer is 0.", 1),
    (0, {}, "", 0),
    (1500, {}, "1.5×10^3", 1),
    (0.001, {}, "1e-3", 1),
    (18, {}, "The answer is 18 + x.", 0),
    (2024, {}, "The answer is 2024.", 1),
)


def numbers(language: str) -> Iterator[Case]:
    """Compose replies to each number of a language: right, wrong, none."""
    for answer, forms, other in WRITTEN[language]:
        row = {"answer": answer}
        for written in forms:
            for form in (*ANY, *SAID[language]):
                yield Case("number", fill(form, n=written, d=other), 1.0, row, status="scored")
                yield Case("number", fill(form, n=other, d=written), 0.0, row)
        for form in SEVERAL:
            yield Case("number", fill(form, n=forms[0], d=other), 0.0, row)
        for form in WITHOUT[language]:
            yield Case("number", form, 0.0, row, status="no_answer")
        for form in EMPTY:
            yield Case("number", fill(form, n=forms[0]), 0.0, row, status="no_answer")


def single_numbers() -> Iterator[Case]:
    """Yield replies that stand for themselves: tolerances, units, several answers."""
    for answer, options, reply, value in SINGLE:
        yield Case("number", reply, float(value), {"answer": answer}, options)
