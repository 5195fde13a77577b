"""Replies to puzzles of order: who is the tallest, who stands second."""

import re
from collections.abc import Mapping
from random import Random

from data.records import Item
from tests.acceptance.composed.common import (
    ECHOES,
    EMPTY,
    MARKED,
    Style,
    Template,
    by_language,
    styles,
)

# %x the answer given, %y another name, %z all names, %s the statements, %q the question, %p the predicate.
REASONED: Mapping[str, Template] = {
    "marker upper name": ("ANSWER: %u", "ОТВЕТ: %u"),
    "marker lower name": ("answer: %l", "ответ: %l"),
    "marker hyphen": ("ANSWER - %x", "ОТВЕТ - %x"),
    "marker en dash": ("ANSWER – %x", "ОТВЕТ – %x"),
    "marker round brackets": ("ANSWER: (%x)", "ОТВЕТ: (%x)"),
    "marker predicate": ("ANSWER: %x %p.", "ОТВЕТ: %p — %x."),
    "marker not the other": ("ANSWER: %x, not %y", "ОТВЕТ: %x, а не %y"),
    "sentence": ("%x %p.", "%P — %x."),
    "sentence without dot": ("%x %p", "%P — %x"),
    "it is without dot": ("So it is %x", "Значит, это %x"),
    "question and name": "%q\n\n%x",
    "question and bold name": "%q **%x**.",
    "question and sentence": ("%q It is %x.", "%q Это %x."),
    "sentence and offer": ("It is %x.\n\nWould you like to know why?", "Это %x.\n\nХотите узнать почему?"),
    "not the other but": ("ANSWER: not %y but %x", "ОТВЕТ: не %y, а %x"),
    "asks and answers": (
        "Is it %y? No, %y cannot be. Is it %x? Yes.\n\nANSWER: %x",
        "Это %y? Нет. Это %x? Да.\n\nОТВЕТ: %x",
    ),
    "asks, then bold": ("%s\n\nSo is it %y? No.\n\n**%x**", "%s\n\nТак это %y? Нет.\n\n**%x**"),
    "sure it is": ("Sure! It is %x.", "Это %x!"),
    "therefore bold": ("Therefore, **%x** %p.", "Следовательно, %p — **%x**."),
    "conclusion": ("**Conclusion:** %x %p.", "**Вывод:** %p — %x."),
    "reasoned marker": (
        "Let's go through the facts one by one.\n\n%s\n\nComparing %y with %x, we see who %p.\n\nANSWER: %x",
        "Рассмотрим условия по порядку.\n\n%s\n\nСравниваем двоих: %y и %x.\n\nОТВЕТ: %x",
    ),
    "markdown steps": (
        "## Step 1: Facts\n- **Given:** %s\n\n## Step 2\n- **%y** is out.\n\n## Conclusion\n\n**ANSWER:** %x",
        "## Шаг 1. Условия\n- **Дано:** %s\n\n## Шаг 2\n- **%y** отпадает.\n\n## Вывод\n\n**ОТВЕТ:** %x",
    ),
    "restated question": (
        "You ask: %q\n\n%s So it cannot be %y.\n\nANSWER: %x",
        "Вопрос: %q\n\n%s Значит, %y не подходит.\n\nОТВЕТ: %x",
    ),
    "let me check": (
        "At first sight it is %y. Let me check: %s\n\nNo, that does not hold for %y.\n\nANSWER: %x",
        "На первый взгляд это %y. Проверим: %s\n\nНет, %y не подходит.\n\nОТВЕТ: %x",
    ),
    "self-correction": (
        "ANSWER: %y\n\nWait, let me re-read the facts. %s I made a mistake.\n\nANSWER: %x",
        "ОТВЕТ: %y\n\nСтоп, перечитаю условия. %s Я ошибся.\n\nОТВЕТ: %x",
    ),
    "three markers": (
        "ANSWER: %x\n\nHmm, or rather:\n\nANSWER: %y\n\nNo, the first was right after all.\n\nANSWER: %x",
        "ОТВЕТ: %x\n\nХм, скорее так:\n\nОТВЕТ: %y\n\nНет, первое было верно.\n\nОТВЕТ: %x",
    ),
    "thinking": (
        "<think>\nOkay, so %s Could it be %y? No. ANSWER: %y would be too easy. So %x.\n</think>\n\nANSWER: %x",
        "<think>\nТак, %s Может быть, %y? Хм, нет. Значит, %x.\n</think>\n\nОТВЕТ: %x",
    ),
    "thinking's end": (
        "So it is not %y, it must be %x.\n</think>\n\nANSWER: %x",
        "Значит, не %y, а %x.\n</think>\n\nОТВЕТ: %x",
    ),
    "thinking then sentence": (
        "<think>\n%s It is not %y.\n</think>\n\nThe answer is %x.",
        "<think>\n%s Это не %y.\n</think>\n\nОтвет — %x.",
    ),
    "reasoned boxed": (
        "%s Therefore %y is out of the question.\n\n$\\boxed{%x}$",
        "%s Поэтому %y отпадает.\n\n$\\boxed{%x}$",
    ),
    "reasoned boxed text": (
        "%s This rules out %y.\n\nThe final answer is $\\boxed{\\text{%x}}$.",
        "%s Поэтому %y отпадает.\n\nОкончательный ответ: $\\boxed{\\text{%x}}$.",
    ),
    "reasoned the answer is": (
        "%s With %y ruled out, the order is clear. The answer is %x.",
        "%s Остальные, и %y тоже, отпадают. Ответ — %x.",
    ),
    "reasoned bold last": ("%s\n\nThat leaves %y lower down.\n\n**%x**", "%s\n\nА %y здесь ни при чём.\n\n**%x**"),
    "reasoned bold sentence": (
        "%s\n\nIt cannot be %y.\n\n**The answer is %x.**",
        "%s\n\nЭто не может быть %y.\n\n**Ответ — %x.**",
    ),
    "reasoned final answer": (
        "1. %s\n2. So %y is out.\n\n**Final Answer:** %x",
        "1. %s\n2. Значит, %y отпадает.\n\n**Итоговый ответ:** %x",
    ),
    "reasoned inline marker": ("%s So %y is out. ANSWER: %x", "%s Значит, %y отпадает. ОТВЕТ: %x"),
    "marker then reasons": (
        "ANSWER: %x\n\nExplanation: %s So %y comes after.",
        "ОТВЕТ: %x\n\nПояснение: %s Поэтому %y отпадает.",
    ),
    "marker then offer": (
        "ANSWER: %x\n\nWould you like me to explain how I ruled out %y? 😊",
        "ОТВЕТ: %x\n\nХотите, объясню, почему не %y? 😊",
    ),
    "table": (
        "| Place | Name |\n|---|---|\n| ? | %y |\n| ? | %x |\n\nANSWER: %x",
        "| Место | Имя |\n|---|---|\n| ? | %y |\n| ? | %x |\n\nОТВЕТ: %x",
    ),
    "list": ("We have %z.\n\n- %x: fits\n- %y: does not fit\n\nANSWER: %x", "- %x: да\n- %y: нет\n\nОТВЕТ: %x"),
    "arrows": ("Order: ... → %x → %y → ...\n\nANSWER: %x", "Порядок: ... → %y → %x → ...\n\nОТВЕТ: %x"),
    "carriage returns": ("%s\r\n\r\nNot %y.\r\n\r\nANSWER: %x\r\n", "%s\r\n\r\nНе %y.\r\n\r\nОТВЕТ: %x\r\n"),
    "fenced at the end": ("%s %y is out.\n\n```\nANSWER: %x\n```", "%s Отпадает %y.\n\n```\nОТВЕТ: %x\n```"),
    "heading at the end": ("%s %y is out.\n\n### ANSWER: %x", "%s Отпадает %y.\n\n### ОТВЕТ: %x"),
    "echo and answer": ("%q\n\nANSWER: name\n\nANSWER: %x", "%q\n\nОТВЕТ: имя\n\nОТВЕТ: %x"),
    "long-winded": (
        """Great question! To find out who %p, we look at each statement.

1. **Statements**: %s
2. **Candidates**: %z.
3. **Check**: %y contradicts the statements.

Therefore:

ANSWER: %x

I hope this clears things up!""",
        """Отличный вопрос! Разберём каждое утверждение.

1. **Утверждения**: %s
2. **Участники**: %z.
3. **Проверка**: %y не подходит.

Таким образом:

ОТВЕТ: %x

Надеюсь, это поможет!""",
    ),
}  # fmt: skip

# Here %x is the right name and %y a wrong one, and neither is given as the answer.
UNDECIDED: Mapping[str, Template] = {
    "negated marker": ("ANSWER: not %x", "ОТВЕТ: не %x"),
    "negated it is": ("ANSWER: it is not %x", "ОТВЕТ: это не %x"),
    "negated bold": ("ANSWER: **not %x**", "ОТВЕТ: **не %x**"),
    "negated bare": ("Not %x", "Не %x"),
    "negated sentence": ("It is not %x.", "Это не %x."),
    "negated contraction": ("It isn't %x.", "Это точно не %x!"),
    "negated can": ("It can't be %x.", "Это не может быть %x."),
    "negated predicate": ("%x is not the one who %p.", "Неверно, что %p — %x."),
    "negated after": ("ANSWER: %x is not the one", "ОТВЕТ: %x не подходит"),
    "negated opinion": ("I don't think it is %x.", "Не думаю, что это %x."),
    "negated boxed": (r"$\boxed{\text{not } %x}$", r"$\boxed{\text{не } %x}$"),
    "negated except": ("ANSWER: anyone but %x", "ОТВЕТ: кто угодно, но не %x"),
    "negated all except": ("Everyone except %x.", "ОТВЕТ: любой, кроме %g"),
    "negated neither": ("ANSWER: neither %x nor %y", "ОТВЕТ: ни %x, ни %y"),
    "negated for the other": ("ANSWER: not %x but %y", "ОТВЕТ: не %x, а %y"),
    "the other, not this": ("ANSWER: %y, not %x", "ОТВЕТ: %y, а не %x"),
    "question": ("Is it %x?", "Это %x?"),
    "question marker": ("ANSWER: is it %x?", "ОТВЕТ: это %x?"),
    "question mark": ("ANSWER: %x?", "ОТВЕТ: %x?"),
    "question bare": ("%x?", "%x?"),
    "question maybe": ("Could it be %x?", "Может быть, это %x?"),
    "question bold": ("**Is it %x?**", "**Это %x?**"),
    "question after question": ("%q Is it %x?", "%q Это %x?"),
    "question unsure": ("%x? I am not sure.", "%x? Не уверен."),
    "question of the bold": ("Is it **%x**?", "Это **%x**?"),
    "question boxed": (r"Is it $\boxed{%x}$?", r"Это $\boxed{%x}$?"),
    "question of both markers": ("ANSWER: %x?\nANSWER: %y?", "ОТВЕТ: %x?\nОТВЕТ: %y?"),
    "question of both": ("%x? Or %y?", "%x? Или %y?"),
    "hedged or": ("ANSWER: %x or %y", "ОТВЕТ: %x или %y"),
    "hedged or reversed": ("ANSWER: %y or %x", "ОТВЕТ: %y или %x"),
    "hedged and": ("ANSWER: %x and %y", "ОТВЕТ: %x и %y"),
    "hedged slash": ("ANSWER: %x/%y", "ОТВЕТ: %x/%y"),
    "hedged comma": ("ANSWER: %x, %y", "ОТВЕТ: %x, %y"),
    "hedged either": ("ANSWER: either %x or %y", "ОТВЕТ: либо %x, либо %y"),
    "hedged all": ("ANSWER: %z", "ОТВЕТ: %z"),
    "hedged all bare": "%z",
    "hedged lines": "%x\n%y",
    "hedged bullets": "- %x\n- %y",
    "hedged bold": ("**%x** or **%y**", "**%x** или **%y**"),
    "hedged boxed": r"$\boxed{%x, %y}$",
    "hedged the answer is": ("The answer is %x or maybe %y.", "Ответ — %x или, возможно, %y."),
    "hedged json": '{"answer": ["%x", "%y"]}',
    "hedged opinions": ("Some would say %x, others %y.", "Одни скажут %x, другие — %y."),
    "hedged options": ("Option A: %x. Option B: %y.", "Вариант А: %x. Вариант Б: %y."),
    "last marker wrong": ("ANSWER: %x\nANSWER: %y", "ОТВЕТ: %x\nОТВЕТ: %y"),
    "right only in thought": (
        "<think>\nSo %x.\nANSWER: %x\n</think>\n\nANSWER: %y",
        "<think>\nЗначит, %x.\nОТВЕТ: %x\n</think>\n\nОТВЕТ: %y",
    ),
    "breaks off before the marker": ("%s\n\nSo %x is ahead of %y, and", "%s\n\nЗначит, и %x, и %y, и потому"),
    "breaks off at the marker": ("%s\n\nANSWER:", "%s\n\nОТВЕТ:"),
    "breaks off in bold": ("%s\n\n**ANSWER:", "%s\n\n**ОТВЕТ:"),
    "breaks off in the name": ("%s\n\nANSWER: %a", "%s\n\nОТВЕТ: %a"),
    "breaks off in thought": ("<think>\nOkay. %s Then %x and %y", "<think>\nТак. %s Тогда %x и %y"),
    "breaks off at the verdict": ("%s So %y is out. The answer is", "%s Итак, %y отпадает. Ответ —"),
    "breaks off with one name": ("Let's see. First, we know that %x is", "Посмотрим. Известно, что %x —"),
    "breaks off after one name": ("Okay, so let me think. We start with %x, who", "Так, начнём с того, что %x,"),
    "statements alone": "%s",
    "unknown": ("ANSWER: unknown", "ОТВЕТ: неизвестно"),
    "cannot tell": ("ANSWER: It cannot be determined.", "ОТВЕТ: определить невозможно."),
    "both fit": ("It could be %x, and it could just as well be %y.", "Подходит и %x, и %y."),
    "none": ("ANSWER: none of them", "ОТВЕТ: никто из них"),
    "not applicable": ("ANSWER: N/A", "ОТВЕТ: —"),
    "placeholder": ("ANSWER: name", "ОТВЕТ: имя"),
    "grader's name": ("ANSWER: the correct name", "ОТВЕТ: правильное имя"),
    "longer name": ("ANSWER: %xson", "ОТВЕТ: %xсон"),
    "longer name bare": ("%xville", "%xвиль"),
    "misspelt": ("ANSWER: %m", "ОТВЕТ: %m"),
    "misspelt bare": "%m",
    "letter missing": ("ANSWER: %d", "ОТВЕТ: %d"),
    "letter missing bold": "**%d**",
    "stranger": ("ANSWER: %o", "ОТВЕТ: %o"),
    "stranger bold": "**%o**",
    "stranger in a sentence": ("%o %p.", "%P — %o."),
}  # fmt: skip

STRANGERS = {
    "en": ("Quentin", "Rosemary", "Winston", "Prudence"),
    "ru": ("Ростислав", "Евдокия", "Савелий", "Лукерья"),
}


def others(item: Item) -> list[str]:
    return [name for name in item.facts["names"] if name != item.answer]


def predicate(question: str) -> str:
    """Turn 'Who is the tallest?' into 'is the tallest', 'Кто из них самый высокий?' into 'самый высокий'."""
    if match := re.search(r"\b[Ww]ho (.*)\?$", question):
        return match[1]
    if match := re.search(r"^Кто из них (.*)\?$", question):
        return match[1]
    place = re.search(r"кто окажется (.*)\?$", question)
    assert place, question
    return place[1]


def words(item: Item, named: str, other: str) -> dict[str, str]:
    """Say what the templates' letters stand for when `named` is given as the answer."""
    lines = [line for line in item.prompt.splitlines() if line]
    claim = predicate(lines[2])
    return {
        "x": named,
        "y": other,
        "z": ", ".join(item.facts["names"]),
        "u": named.upper(),
        "l": named.lower(),
        "s": lines[1],
        "q": lines[2],
        "p": claim,
        "P": claim[0].upper() + claim[1:],
        "g": inflect(named)[0],
        "a": named[: max(1, len(named) // 2)],
        "m": named[0] + by_language(item, "x", "щ") + named[2:],
        "d": named[0] + named[2:],
        "o": STRANGERS[item.language][len(named) % 4],
    }


def right_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(item, item.answer, rng.choice(others(item)))


def wrong_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(item, rng.choice(others(item)), item.answer)


def inflect(name: str) -> tuple[str, str, str]:
    """Give a Russian name's genitive, dative and instrumental."""
    if name == "Илья":
        return "Ильи", "Илье", "Ильёй"
    stem = name[:-1]
    if name.endswith("ия"):
        return stem + "и", stem + "и", stem + "ей"
    if name.endswith("я"):
        return stem + "и", stem + "е", stem + "ей"
    if name.endswith("а"):
        return stem + ("и" if stem[-1] in "гкхжшчщ" else "ы"), stem + "е", stem + "ой"
    if name.endswith(("й", "ь")):
        return stem + "я", stem + "ю", stem + "ем"
    stem = {"Павел": "Павл", "Пётр": "Петр"}.get(name, name)
    return stem + "а", stem + "у", stem + "ом"


def in_case(english: str, russian: str, case: int) -> tuple[Style, Style]:
    """Make a right and a wrong style with the name in a case (0 genitive, 1 dative, 2 instrumental)."""

    def write(item: Item, name: str) -> str:
        if item.language == "ru":
            return russian.replace("%x", inflect(name)[case])
        return english.replace("%x", name)

    return (
        lambda item, _rng: write(item, item.answer),
        lambda item, rng: write(item, rng.choice(others(item))),
    )


CASES = {
    "inflected marker genitive": in_case("ANSWER: It's %x", "ОТВЕТ: у %x", 0),
    "inflected marker dative": in_case("ANSWER: it must be %x!", "ОТВЕТ: %x", 1),
    "inflected marker instrumental": in_case("ANSWER: I'd say %x.", "ОТВЕТ: это место занято %x", 2),
    "inflected sentence genitive": in_case("Here it is clearly %x.", "Больше всего это верно для %x.", 0),
    "inflected sentence dative": in_case("I would go with %x.", "Это место достанется %x.", 1),
    "inflected bold": in_case("I would go with **%x**.", "Это место достанется **%x**.", 1),
}  # fmt: skip


def without_dots(item: Item, _rng: Random) -> str:
    """Write the name with е for ё, as most do."""
    return by_language(item, "answer: ", "ОТВЕТ: ") + item.answer.replace("ё", "е").replace("Ё", "Е")


RIGHT: dict[str, Style] = {
    **styles(MARKED, right_words),
    **styles(REASONED, right_words),
    **{name: right for name, (right, _) in CASES.items()},
    "without dots": without_dots,
}

WRONG: dict[str, Style] = {
    **styles(MARKED, wrong_words, "wrong in: "),
    **styles(REASONED, wrong_words, "wrong in: "),
    **{f"wrong in: {name}": wrong for name, (_, wrong) in CASES.items()},
    **styles(UNDECIDED, right_words),
    **EMPTY,
    **ECHOES,
}
