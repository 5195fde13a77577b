"""Replies that a pattern is looked for in, and replies of which the likeness is measured."""

from collections.abc import Iterator
from typing import Any

from tests.acceptance.standard.cases import Case, fill

DATES = (
    ("2024-05-17", "2024-17"),
    ("1999-12-31", "31.12.1999"),
    ("0001-01-01", "2001-1-1"),
    ("2030-02-28", "in 2030"),
)
DATE = {"pattern": r"\b\d{4}-\d{2}-\d{2}\b"}
AROUND = (
    "{a}",
    "The date is {a}.",
    "**{a}**",
    "`{a}`",
    "```\n{a}\n```",
    '{"date": "{a}"}',
    "<think>{b}</think>{a}",
    "({a})",
    "Ответ: {a}.",
    "**Ответ: {a}**",
    "答案：{a}。",
    "- {a}\n- and nothing else",
    "\\boxed{\\text{{a}}}",
    "It was on {a}, at noon",
)
NAMED = {"pattern": r"(?:answer is|Ответ:|答案是)\s*\**(?P<word>\w+)", "group": "word"}
SAID = (
    "The answer is {a}.",
    "The answer is **{a}**.",
    "So the answer is {a}, not {b}.",
    "First I thought that the answer is {b}. But the answer is {a}.",
    "<think>the answer is {b}</think>The answer is {a}",
    "Ответ: {a}",
    "**Ответ: {a}**",
    "Ответ: **{a}**, потому что {b} не подходит.",
    "答案是{a}。",
    "答案是**{a}**，不是{b}。",
)
WORDS = (("Paris", "London"), ("Париж", "Лондон"), ("北京", "上海"), ("42", "24"))
PLAIN: tuple[tuple[dict[str, Any], Any, str, int], ...] = (  # options, answer, reply, value
    ({"pattern": "yes"}, None, "yes", 1),
    ({"pattern": "yes"}, None, "Yes", 0),
    ({"pattern": "yes", "flags": ["i"]}, None, "YES!", 1),
    ({"pattern": "да", "flags": ["i"]}, None, "ДА", 1),
    ({"pattern": "^b$"}, None, "a\nb\nc", 0),
    ({"pattern": "^b$", "flags": ["m"]}, None, "a\nb\nc", 1),
    ({"pattern": "a.c"}, None, "a\nc", 0),
    ({"pattern": "a.c", "flags": ["s"]}, None, "a\nc", 1),
    ({"pattern": "a b  # the end", "flags": ["x"]}, None, "ab", 1),
    ({"pattern": "a b  # the end"}, None, "ab", 0),
    ({"pattern": "A.C", "flags": ["i", "s"]}, None, "a\nc", 1),
    ({"pattern": r"^\s*$"}, None, "text", 0),
    ({"pattern": r"\A[A-D]\Z"}, None, "B", 1),
    ({"pattern": r"\A[A-D]\Z"}, None, "B.", 0),
    ({"pattern": r"\A[A-D]\Z"}, None, "<think>x</think>\nB\n", 1),
    ({"pattern": r'"count"\s*:\s*\d+'}, None, '```json\n{"count": 3}\n```', 1),
    ({"pattern": r'"count"\s*:\s*\d+'}, None, '```json\n{"count": "3"}\n```', 0),
    ({"pattern": r"(\d+) apples", "group": 1}, "18", "She has 18 apples.", 1),
    ({"pattern": r"(\d+) apples", "group": 1}, 18, "She has 18 apples.", 1),
    ({"pattern": r"(\d+) apples", "group": 1}, ["17", "18"], "She has 18 apples.", 1),
    ({"pattern": r"(\d+) apples", "group": 1}, "18", "She has 19 apples.", 0),
    ({"pattern": r"(\d+) apples", "group": 1}, "18", "She has 18 pears.", 0),
    ({"pattern": r"(a)|(b)", "group": 2}, "b", "b", 1),
    ({"pattern": r"(a)|(b)", "group": 2}, "b", "a", 0),
    ({"pattern": "ё"}, None, "е", 0),
)
EMPTY = ("", " ", "\n", "<think>{a}</think>", "<think>{a}")

ALIKE = {
    "en": (
        "The cat sat on the mat.",
        "A quick brown fox",
        "Water boils at 100 degrees",
        "Paris",
        "to be or not to be",
    ),
    "ru": ("Кошка сидит на окне.", "Вода кипит при 100 градусах", "Париж", "Быть или не быть", "Ёлка в лесу"),
    "zh": ("猫坐在垫子上。", "水在一百度沸腾", "北京", "生存还是毁灭", "森林里的树"),
}


def matched_patterns() -> Iterator[Case]:
    """Compose replies in which a pattern is found or not, or its group equals the answer or not."""
    for date, other in DATES:
        for form in AROUND:
            yield Case("regex", fill(form, a=date, b=other), 1.0, {}, DATE, "scored")
            yield Case("regex", fill(form, a=other, b=date), 0.0, {}, DATE)
        for form in EMPTY:
            yield Case("regex", fill(form, a=date), 0.0, {}, DATE, "no_answer")
    for word, other in WORDS:
        for form in SAID:
            yield Case("regex", fill(form, a=word, b=other), 1.0, {"answer": word}, NAMED, "scored")
            yield Case("regex", fill(form, a=other, b=word), 0.0, {"answer": word}, NAMED)
    for options, answer, reply, value in PLAIN:
        yield Case("regex", reply, float(value), {} if answer is None else {"answer": answer}, options)


def indel(one: str, other: str) -> float:
    """Return 2 x the longest common subsequence / the sum of the lengths: rapidfuzz's ratio, as a share."""
    row = [0] * (len(other) + 1)
    for left in one:
        before = 0
        for place, right in enumerate(other, start=1):
            before, row[place] = row[place], before + 1 if left == right else max(row[place], row[place - 1])
    return 2 * row[-1] / (len(one) + len(other)) if one or other else 1.0


def plainly(text: str) -> str:
    """Return a text in lower case, whatever is neither letter nor digit as a space, ends trimmed."""
    return "".join(char if char.isalnum() else " " for char in text.lower()).strip()


def _spoiled(text: str) -> Iterator[str]:
    """Yield texts that are ever less like a text."""
    middle = len(text) // 2
    yield text
    yield text[:middle] + text[middle + 1 :]
    yield text[::-1]
    yield text[1:].strip()
    yield f"**{text}**"
    yield text.upper()
    yield f"x{text}"
    yield text.replace(text[middle], "#")
    yield f"The answer is {text}"
    yield "zzz"


def likenesses(language: str) -> Iterator[Case]:
    """Compose replies that are more or less like the answer, with their likeness by the formula."""
    known = ALIKE[language]
    for text in known:
        row = {"answer": text}
        for reply in (*_spoiled(text), *(one for one in known if one != text)):
            yield Case("similarity", reply, indel(reply, text), row, {}, "scored")
            yield Case("similarity", reply, indel(plainly(reply), plainly(text)), row, {"case": True}, "scored")
            nearest = max(indel(reply, one) for one in (text, *known))
            yield Case("similarity", reply, nearest, {"answer": list(known)}, {}, "scored")
        yield Case("similarity", f"<think>\n{known[0]}\n</think>\n\n{text}", 1.0, row, {}, "scored")
        for form in EMPTY:
            yield Case("similarity", fill(form, a=text), 0.0, row, {}, "no_answer")
