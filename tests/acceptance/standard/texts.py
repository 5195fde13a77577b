"""Replies of which the words count: to be equal to the answer, or to hold it."""

from collections.abc import Iterator
from typing import Any

from tests.acceptance.standard.cases import Case, fill

ANSWERS = {
    "en": (("Paris", "London"), ("New York", "New Jersey"), ("photosynthesis", "respiration")),
    "ru": (("Париж", "Лондон"), ("Лев Толстой", "Фёдор Достоевский"), ("фотосинтез", "дыхание")),
    "zh": (("北京", "上海"), ("光合作用", "呼吸作用"), ("鲁迅", "老舍")),
}
ALL = {"case": True, "punctuation": True, "articles": True}
ALWAYS = (
    "{a}",
    " {a}",
    "{a}\n",
    "\t{a} \n\n",
    "\u00a0{a}\u00a0",
    "<think>{b}?</think>{a}",
    "<think>\n{b}\n</think>\n\n{a}",
)
WRAPPED = (  # equal unless their wrapping counts
    "{a}.",
    "**{a}**",
    "**{a}.**",
    "*{a}*",
    "_{a}_",
    "__{a}__",
    '"{a}"',
    "'{a}'",
    "«{a}»",
    "“{a}”",
    "„{a}“",
    "「{a}」",
    "{a}。",
    "**“{a}”**.",
)
MARKED = (  # equal once punctuation does not count
    "{a}!",
    "`{a}`",
    "```\n{a}\n```",
    "《{a}》",
    "（{a}）",
    "({a})",
    "[{a}]",
    "> {a}",
    "# {a}",
    "- {a}",
    "— {a}",
    "{a}…",
    "{a}?",
)
NEVER = {
    "en": (
        "The answer is {a}.",
        "Answer: {a}",
        "{a} is the answer",
        "{a}, {b}",
        "{a} or {b}",
        "It is {a}",
        "{b}",
        "{a}{a}",
        "not {a}",
    ),
    "ru": ("Ответ: {a}", "Это {a}.", "{a}, {b}", "{a} или {b}", "{b}", "{a}{a}", "не {a}", "Думаю, {a}"),
    "zh": ("答案是{a}。", "答案：{a}", "{a}和{b}", "{b}", "{a}{a}", "不是{a}", "我认为是{a}"),
}
EMPTY = ("", " ", "\n\t\n", "<think>{a}</think>", "<think>{a}", "\u00a0")
EQUAL: tuple[tuple[Any, dict[str, bool], str, int], ...] = (  # answer, options, reply, value
    ("Paris", {}, "paris", 0),
    ("Paris", {"case": True}, "paris", 1),
    ("Paris", {"case": True}, "PARIS", 1),
    ("Париж", {"case": True}, "ПАРИЖ", 1),
    ("Париж", {}, "париж", 0),
    ("Paris", {"case": True}, "Paris.", 1),
    ("Paris", {"punctuation": True}, "paris.", 0),
    ("the Louvre", {}, "Louvre", 0),
    ("the Louvre", {"articles": True}, "Louvre", 1),
    ("Louvre", {"articles": True}, "the Louvre", 1),
    ("Louvre", {"articles": True}, "The Louvre", 1),
    ("Louvre", ALL, "**The Louvre.**", 1),
    ("apple", ALL, "An apple", 1),
    ("apple", ALL, "a apple!", 1),
    ("theory", ALL, "ory", 0),
    ("anthem", ALL, "them", 0),
    ("banana", ALL, "banna", 0),
    ("New York", {}, "New  York", 1),
    ("New York", {}, "New\nYork", 1),
    ("New York", {}, "New\u00a0York", 1),
    ("New York", {}, "New\u3000York", 1),
    ("New York", {}, "NewYork", 0),
    ("New York", ALL, "new york", 1),
    ("café", {}, "cafe\u0301", 1),
    ("Фёдор", {}, "Фе\u0308дор", 1),
    ("café", ALL, "cafe", 0),
    (18, {}, "18", 1),
    (18.0, {}, "18", 1),
    (18, {}, "19", 0),
    ("3.5", {}, "3.5", 1),
    ("3.5", ALL, "**3.5**", 1),
    ("3.5", ALL, "35", 0),
    ("-5", ALL, "5", 0),
    (["Paris", "Paris, France"], {}, "Paris, France", 1),
    (["Paris", "Paris, France"], {}, "Paris", 1),
    (["Paris", "Paris, France"], {}, "France", 0),
    (["Paris", "Paris, France"], {}, "Paris France", 0),
    (["Paris", "Paris, France"], ALL, "paris france", 1),
    ("yes", ALL, "Yes.", 1),
    ("yes", ALL, "No.", 0),
    ("да", ALL, "**Да!**", 1),
    ("да", ALL, "Нет", 0),
    ("是", ALL, "是。", 1),
    ("是", ALL, "不是。", 0),
)

WITHIN = {
    "en": (
        "{a}",
        "The answer is {a}.",
        "The answer is **{a}**.",
        "The answer is *{a}*.",
        "The answer is _{a}_.",
        "The answer is __{a}__.",
        "_The answer is {a}_",
        "The answer is `{a}`.",
        'It is "{a}", I think.',
        "{a}, of course",
        "- {a}\n- something else",
        "({a})",
        "\\boxed{\\text{{a}}}",
        "```\n{a}\n```",
        "<think>{b}</think>The answer is {a}",
        "{a}'s name comes up first.",
        "Not {b}; {a}!",
        "|{a}|yes|",
        "# {a}\n\nMore about it.",
        "Is it {a}?",
        "{a}-based",
        "see/{a}/more",
    ),
    "ru": (
        "{a}",
        "Ответ: {a}.",
        "**Ответ: {a}**",
        "Это _{a}_.",
        "Это «{a}», я думаю.",
        "{a}, конечно",
        "({a})",
        "<think>{b}</think>Ответ: {a}",
        "Не {b}, а {a}!",
        "# {a}\n\nПодробнее.",
        "— {a} —",
        "„{a}“",
    ),
    "zh": (
        "{a}",
        "答案是{a}。",
        "**答案：{a}**",
        "我认为是{a}，因为别的都不对。",
        "“{a}”",
        "（{a}）",
        "<think>{b}</think>答案是{a}。",
        "不是{b}，而是{a}！",
        "# {a}\n\n详细说明。",
        "就是{a}的意思",
        "《{a}》",
    ),
}
GLUED = {"en": ("{a}x", "x{a}", "un{a}", "{a}2", "pre{a}post"), "ru": ("{a}у", "из{a}", "{a}ами", "{a}2"), "zh": ()}
HOLDS: tuple[tuple[Any, dict[str, Any], str, int], ...] = (  # answer, options, reply, value
    ("art", {}, "start", 0),
    ("art", {"words": False}, "start", 1),
    ("art", {}, "modern art", 1),
    ("art", {}, "art-house", 1),
    ("New York", {}, "in New\nYork today", 1),
    ("New York", {}, "in **New  York** today", 1),
    ("New York", {}, "New Yorkers", 0),
    ("New York", {"words": False}, "New Yorkers", 1),
    ("$5", {}, "It costs $5.", 1),
    ("$5", {}, "It costs $50.", 0),
    ("C++", {}, "I like C++.", 1),
    ("(a)", {}, "see (a) above", 1),
    ("count", {}, "the variable word_count", 0),
    ("count", {}, "the variable _count_", 1),
    ("count", {}, "**__count__**", 1),
    ("word_count", {}, "the variable word_count", 1),
    ("__init__", {}, "call `__init__`", 1),
    ("__init__", {}, "call `__init__x`", 0),
    ("10", {}, "100", 0),
    ("10", {}, "10 %", 1),
    ("10", {"words": False}, "100", 1),
    ("café", {}, "the cafe\u0301 there", 1),
    ("Париж", {}, "в Парижах", 0),
    ("Париж", {"words": False}, "в Парижах", 1),
    ("ё", {"words": False}, "ежик", 1),
    (["Paris", "France"], {}, "Paris", 1),
    (["Paris", "France"], {}, "Rome", 0),
    (["Paris", "France"], {"mode": "all"}, "Paris", 0),
    (["Paris", "France"], {"mode": "all"}, "France, and in it Paris", 1),
    (["Paris", "France"], {"mode": "none"}, "Rome", 1),
    (["Paris", "France"], {"mode": "none"}, "Paris", 0),
    (["Paris", "France"], {"mode": "none"}, "Parisian", 1),
    (None, {"texts": ["sorry", "I cannot"], "mode": "none"}, "Here it is.", 1),
    (None, {"texts": ["sorry", "I cannot"], "mode": "none"}, "I am sorry.", 0),
    (None, {"texts": ["sorry", "I cannot"], "mode": "none"}, "I cannot do that", 0),
    (None, {"texts": ["one", "two"], "mode": "all"}, "one, then two", 1),
    (None, {"texts": ["one", "two"], "mode": "all"}, "one, then three", 0),
    ("ignored", {"texts": ["one", "two"]}, "two", 1),
    ("ignored", {"texts": ["one", "two"]}, "ignored", 0),
)


def equal_texts(language: str) -> Iterator[Case]:
    """Compose replies that equal the answer or not, before and after normalisation."""
    for answer, other in ANSWERS[language]:
        row = {"answer": answer}
        for form in ALWAYS:
            for options in ({}, ALL):
                yield Case("exact_match", fill(form, a=answer, b=other), 1.0, row, options, "scored")
                yield Case("exact_match", fill(form, a=other, b=answer), 0.0, row, options, "scored")
        for form in (*WRAPPED, *MARKED):
            plain = {} if form in MARKED else {"wrapping": False}
            yield Case("exact_match", fill(form, a=answer), 0.0, row, plain, "scored")
            yield Case("exact_match", fill(form, a=answer), float(form in WRAPPED), row, {}, "scored")
            yield Case("exact_match", fill(form, a=answer), 1.0, row, {"punctuation": True}, "scored")
            yield Case("exact_match", fill(form, a=answer.upper()), 1.0, row, ALL, "scored")
            yield Case("exact_match", fill(form, a=other), 0.0, row, ALL, "scored")
        for form in NEVER[language]:
            yield Case("exact_match", fill(form, a=answer, b=other), 0.0, row, ALL, "scored")
        for form in EMPTY:
            yield Case("exact_match", fill(form, a=answer), 0.0, row, ALL, "no_answer")
    if language == "en":
        for expected, given, reply, value in EQUAL:
            yield Case("exact_match", reply, float(value), {"answer": expected}, given)


def held_texts(language: str) -> Iterator[Case]:
    """Compose replies that hold the answer or not: as a word, within one, in thinking, or among others."""
    for answer, other in ANSWERS[language]:
        row, both = {"answer": answer}, {"answer": [answer, other]}
        for form in WITHIN[language]:
            right, wrong = fill(form, a=answer, b=other), fill(form, a=other, b="…")
            two = "{b}" in form and "think" not in form
            yield Case("contains", right, 1.0, row, {}, "scored")
            yield Case("contains", right, 1.0, row, {"words": False}, "scored")
            yield Case("contains", right, 0.0, row, {"mode": "none"}, "scored")
            yield Case("contains", right, float(two), both, {"mode": "all"}, "scored")
            yield Case("contains", wrong, 0.0, row, {}, "scored")
            yield Case("contains", wrong, 1.0, row, {"mode": "none"}, "scored")
            yield Case("contains", wrong, 1.0, both, {}, "scored")
        for form in GLUED[language]:
            yield Case("contains", fill(form, a=answer), 0.0, row, {}, "scored")
            yield Case("contains", fill(form, a=answer), 1.0, row, {"words": False}, "scored")
        for form in EMPTY:
            yield Case("contains", fill(form, a=answer), 0.0, row, {}, "no_answer")
            yield Case("contains", fill(form, a=answer), 0.0, row, {"mode": "none"}, "no_answer")
    if language == "en":
        for expected, given, reply, value in HOLDS:
            facts = {} if expected is None else {"answer": expected}
            yield Case("contains", reply, float(value), facts, given)
