"""Replies that choose one sentence of a paragraph."""

import json
from collections.abc import Mapping
from random import Random

from data.records import Item
from tests.acceptance.composed.common import ECHOES, EMPTY, Style, Template, by_language, styles

# %x the sentence given, %z the same without its full stop, %l with a small first letter, %n its number.
REPLIES: Mapping[str, Template] = {
    "bare": "%x",
    "blank lines": "\n\n%x\n\n",
    "spaces around": "  %x \t",
    "carriage returns": "\r\n%x\r\n",
    "no full stop": "%z",
    "exclamation": "%z!",
    "double spaces": "%D",
    "broken lines": "%N",
    "no-break spaces": "%S",
    "small first letter": "%l",
    "straight quotes": '"%x"',
    "straight quotes, dot outside": '"%z".',
    "apostrophes": "'%x'",
    "curly quotes": "“%x”",
    "low quotes": "„%x“",
    "guillemets": "«%x»",
    "guillemets, dot outside": "«%z».",
    "typographic apostrophes": "%T",
    "bold": "**%x**",
    "bold underscores": "__%x__",
    "italic": "*%x*",
    "italic underscores": "_%x_",
    "bold and italic": "***%x***",
    "bold and quotes": '**"%x"**',
    "bold words inside": "%B",
    "quoted line": "> %x",
    "quoted bold line": "> **%x**",
    "bullet": "- %x",
    "numbered": "1. %x",
    "heading": "### %x",
    "code": "`%x`",
    "fence": "```\n%x\n```",
    "fence text": "```text\n%x\n```",
    "html paragraph": "<p>%x</p>",
    "html bold": "<b>%x</b>",
    "label": ("Summary: %x", "Главное: %x"),
    "label line": ("Result:\n%x", "Результат:\n%x"),
    "label answer": ("ANSWER: %x", "ОТВЕТ: %x"),
    "label bold": ("**Most important sentence:** %x", "**Самое важное предложение:** %x"),
    "label bold line": ("**Answer:**\n\n%x", "**Ответ:**\n\n%x"),
    "label final": ("Final answer: %x", "Итоговый ответ: %x"),
    "label full-width colon": ("Answer：%x", "Ответ：%x"),
    "label dash": ("Answer — %x", "Ответ — %x"),
    "label heading": ("## Summary\n\n%x", "## Суть текста\n\n%x"),
    "label number": ("Sentence %n: %x", "Предложение %n: %x"),
    "chatty": (
        "Sure! Here is the most important sentence of the text:\n\n%x\n\nLet me know if you need more help! 😊",
        "Конечно! Вот самое важное предложение текста:\n\n%x\n\nЕсли нужно что-то ещё, обращайтесь! 😊",
    ),
    "chatty quotes": (
        'The most important sentence is: "%x"',
        "Самое важное предложение в тексте: «%x»",
    ),
    "chatty bold": (
        "The ONE most important sentence is:\n\n**%x**",
        "ОДНО самое важное предложение:\n\n**%x**",
    ),
    "question before": ("Which sentence matters most? This one: %x", "Какое предложение главное? Вот это: %x"),
    "offer after": ("%x\n\nWould you like a longer summary?", "%x\n\nНужен пересказ подробнее?"),
    "that clause": ("The text says that %l", "В тексте говорится: %l"),
    "reason after": (
        "%x\n\nThis sentence says what the whole text comes to; the others give details.",
        "%x\n\nЭто предложение передаёт суть, остальные дают подробности.",
    ),
    "reason before": (
        "The other sentences give details, examples and asides, so I choose this one:\n\n%x",
        "Остальные предложения — подробности и отступления, поэтому выбираю это:\n\n%x",
    ),
    "let me check": (
        "Let me check which sentence covers the rest.\n\nYes, it is this one: %x",
        "Проверим, какое предложение охватывает остальные.\n\nДа, вот это: %x",
    ),
    "thinking": (
        "<think>\nI look for the main point. It is sentence %n.\n</think>\n\n%x",
        "<think>\nИщу главную мысль. Это предложение %n.\n</think>\n\n%x",
    ),
    "thinking's end": ("That must be it.\n</think>\n\n%x", "Наверное, это оно.\n</think>\n\n%x"),
    "emoji": "✅ %x 🎉",
    "end of text": "%x<|im_end|>",
    "rule around": "---\n%x\n---",
    "json": '{"summary": %j}',
    "json ascii": '{"summary": %J}',
    "json fence": '```json\n{\n  "sentence": %j\n}\n```',
    "json ascii fence": '```json\n{"key_sentence": %J}\n```',
    "json list": "[%j]",
    "table": ("| Sentence |\n|---|\n| %x |", "| Предложение |\n|---|\n| %x |"),
    "twice": "%x\n\n%x",
    "tag": "<answer>%x</answer>",
    "plain е": "%e",
    "plain е, no full stop": "**%E**",
}  # fmt: skip

# %x is the right sentence, %o another one of the paragraph, %O that without its full stop, %q one more.
SPOILT: Mapping[str, Template] = {
    "two sentences": "%x %o",
    "two sentences reversed": "%o %x",
    "two lines": "%x\n%o",
    "two lines reversed": "%o\n%x",
    "two bullets": "- %x\n- %o",
    "two numbers": "1. %o\n2. %x",
    "two bold": "**%x**\n\n**%o**",
    "two quotes": "«%x» «%o»",
    "two, second small": ("%z, and %i", "%z, и %i"),
    "two, first small": ("%O, and %l", "%O, и %l"),
    "two without stops": "%z; %O",
    "two broken over lines": "%x\n%P",
    "two, second emphasised": "%x\n%R",
    "two in json": '{"summary": %j, "detail": %k}',
    "two in json ascii": '{"summary": %J, "detail": %K}',
    "two in a fence": "```\n%x\n%o\n```",
    "two in a table": "| %x | %o |",
    "hedged or": ("%x or %o", "%x или %o"),
    "hedged either": ('Either "%x" or "%o"', "Либо «%x», либо «%o»"),
    "hedged options": ("Option A: %x\nOption B: %o", "Вариант А: %x\nВариант Б: %o"),
    "main and runner-up": (
        "Most important: %x\nSecond: %o",
        "Самое важное: %x\nНа втором месте: %o",
    ),
    "supported": ("%x For example: %o", "%x Например: %o"),
    "correction to the wrong": ("%x\n\nWait, no:\n\n%o", "%x\n\nСтоп, нет:\n\n%o"),
    "three sentences": "%x %o %q",
    "whole text": "%a",
    "whole text as a list": "%m",
    "whole text in bold": "**%a**",
    "whole text, chosen marked": "%M",
    "whole text backwards": "%w",
}  # fmt: skip

NEVER: Mapping[str, Template] = {
    "number alone": ("Sentence %n", "Предложение %n"),
    "number digit": "%n",
    "label alone": ("Summary:", "Главное:"),
    "about": ("The text is about a town and its plans.", "Текст рассказывает о планах города."),
    "praise": ("The text is very interesting and useful.", "Текст очень интересный и полезный."),
    "whole text and dots": "%a...",
    "first word": "%f...",
    "breaks off in thought": ("<think>\nThe paragraph has %n sentences. %f", "<think>\nПредложений: %n. %f"),
    "the task": (
        "The ONE most important sentence: the one that says what the whole text comes to.",
        "ОДНО самое важное предложение, то, которое передаёт суть всего текста.",
    ),
}  # fmt: skip


def small(text: str) -> str:
    return text[0].lower() + text[1:]


def emphasised(text: str) -> str:
    """Set two words in bold."""
    words = text.split(" ")
    return " ".join([f"**{words[0]}**", *words[1:-2], f"**{words[-2]}**", words[-1]])


def words(item: Item, given: str, rng: Random) -> dict[str, str]:
    """Say what the templates' letters stand for when `given` is the sentence given."""
    sentences = list(item.facts["sentences"])
    rest = [text for text in sentences if text != item.answer]
    other, third = rng.choice(rest), rng.choice(rest)
    found = {
        "x": given,
        "z": given.rstrip("."),
        "l": small(given),
        "n": str(item.facts["key"] + 1),
        "D": given.replace(" ", "  "),
        "N": given.replace(" ", "\n", 3),
        "S": given.replace(" ", "\u00a0"),
        "B": emphasised(given),
        "j": json.dumps(given, ensure_ascii=False),
        "J": json.dumps(given),
        "o": other,
        "O": other.rstrip("."),
        "i": small(other),
        "P": other.replace(" ", "\n"),
        "R": emphasised(other),
        "k": json.dumps(other, ensure_ascii=False),
        "K": json.dumps(other),
        "q": third,
        "a": " ".join(sentences),
        "m": "\n".join(f"{number}. {text}" for number, text in enumerate(sentences, 1)),
        "M": " ".join(f"**{text}**" if text == item.answer else text for text in sentences),
        "w": " ".join(reversed(sentences)),
        "f": given.split(" ", maxsplit=1)[0],
    }
    if "'" in given:
        found["T"] = given.replace("'", "’")
    elif item.language == "ru":
        found["T"] = given
    if "ё" in given:
        found |= {"e": given.replace("ё", "е"), "E": given.replace("ё", "е").rstrip(".")}
    elif item.language == "en":
        found |= {"e": given, "E": given.rstrip(".")}
    return found


def changed(item: Item, rng: Random) -> dict[str, str]:
    """Say what near misses of the right sentence there are."""
    right = item.answer
    parts = right.rstrip(".").split(" ")
    at = rng.randrange(1, len(parts) - 1)
    long_words = [place for place, word in enumerate(parts) if len(word) > 5 and word.isalpha()]
    where = rng.choice(long_words)
    word = parts[where]

    def put(place: int, *new: str) -> str:
        return " ".join([*parts[:place], *new, *parts[place + 1 :]]) + "."

    extra = by_language(item, "probably", "наверное")
    denial = by_language(item, "It is not true that ", "Неверно, что ")
    towns = by_language(item, "Nowhere", "Нигде")
    capitals = [place for place, part in enumerate(parts) if place and part[0].isupper()]
    found = {
        "word missing": put(at),
        "first word missing": " ".join(parts[1:]) + ".",
        "last word missing": " ".join(parts[:-1]) + ".",
        "word added": put(at, extra, parts[at]),
        "word doubled": put(at, parts[at], parts[at]),
        "words swapped": " ".join([*parts[: at - 1], parts[at], parts[at - 1], *parts[at + 1 :]]) + ".",
        "word replaced": put(at, extra),
        "letter changed": put(where, word[:2] + by_language(item, "q", "щ") + word[3:]),
        "letter missing": put(where, word[:2] + word[3:]),
        "letters swapped": put(where, word[:2] + word[3] + word[2] + word[4:]),
        "letter added": put(where, word[:3] + by_language(item, "x", "ъ") + word[3:]),
        "goes on": right.rstrip(".") + by_language(item, "x", "ъ") + ".",
        "begins earlier": by_language(item, "x", "ъ") + small(right),
        "first half": " ".join(parts[: len(parts) // 2]) + ".",
        "second half": " ".join(parts[len(parts) // 2 :]) + ".",
        "cut": right[: rng.randrange(len(right) // 2, len(right) - 4)],
        "cut with dots": " ".join(parts[: len(parts) - 2]) + "...",
        "elided": " ".join([*parts[:2], "...", *parts[-2:]]) + ".",
        "bracket inside": put(at, parts[at], by_language(item, "(as said)", "(как сказано)")),
        "joined words": "".join(parts) + ".",
        "hyphened words": "-".join(parts) + ".",
        "backwards": right[::-1],
        "words backwards": " ".join(reversed(parts)) + ".",
        "paraphrased": by_language(item, "In short, the town will change.", "Если коротко, город изменится."),
        "denied inside": put(at, by_language(item, "not", "не"), parts[at]),
        "denied and clipped": denial + " ".join(parts[1:]) + ".",
    }  # fmt: skip
    if capitals:
        found["another town"] = put(capitals[0], towns)
    if "," in right:
        found["first clause"] = right.split(",")[0] + "."
    return {name: text for name, text in found.items() if text != right}


NEAR = (
    "word missing", "first word missing", "last word missing", "word added", "word doubled", "words swapped",
    "word replaced", "letter changed", "letter missing", "letters swapped", "letter added", "goes on",
    "begins earlier", "first half", "second half", "cut", "cut with dots", "elided", "bracket inside",
    "joined words", "hyphened words", "backwards", "words backwards", "paraphrased", "denied inside",
    "denied and clipped", "another town", "first clause",
)  # fmt: skip
SURE = ("word missing", "word added", "word replaced", "letter changed", "last word missing")


def right_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(item, item.answer, rng)


def other_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(item, rng.choice([text for text in item.facts["sentences"] if text != item.answer]), rng)


def near_words(item: Item, rng: Random) -> Mapping[str, str]:
    found = changed(item, rng)
    return words(item, rng.choice([found[name] for name in SURE if name in found]), rng)


def near(name: str) -> Style:
    return lambda item, rng: changed(item, rng).get(name)


def role(name: str) -> Style:
    """Give the sentence that only seems to be the key."""

    def write(item: Item, _rng: Random) -> str | None:
        roles = list(item.facts["roles"])
        return str(item.facts["sentences"][roles.index(name)]) if name in roles else None

    return write


def longest(item: Item, _rng: Random) -> str:
    sentences: list[str] = list(item.facts["sentences"])
    return max((text for text in sentences if text != item.answer), key=len)


def two_others(item: Item, _rng: Random) -> str:
    return " ".join(text for text in item.facts["sentences"] if text != item.answer)


def another_item(item: Item, _rng: Random) -> str:
    return by_language(
        item,
        "The lighthouse at Nowhere will be lit again, because fishermen asked for it.",
        "Маяк в Нигдееве снова зажгут, потому что об этом попросили рыбаки.",
    )


RIGHT: dict[str, Style] = styles(REPLIES, right_words)

WRONG: dict[str, Style] = {
    **styles(REPLIES, other_words, "another in: "),
    **styles({name: text for name, text in REPLIES.items() if name not in {"broken lines", "twice"}},
             near_words, "near miss in: "),
    **styles(SPOILT, right_words),
    **styles(NEVER, right_words),
    **{f"near: {name}": near(name) for name in NEAR},
    **{f"role: {name}": role(name) for name in ("detail", "loud", "aside", "example")},
    "longest": longest,
    "two others": two_others,
    "another item": another_item,
    **EMPTY,
    # Half an echo may hold the right sentence and no other whole one.
    **{name: style for name, style in ECHOES.items() if name != "echo half"},
}  # fmt: skip
