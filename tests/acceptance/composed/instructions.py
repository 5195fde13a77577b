"""Replies to chains of commands: the final text alone, or with something that spoils it."""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

from data.records import Item
from tests.acceptance.composed.common import ECHOES, EMPTY, Style, Template, by_language, styles

# %x is the text given; what stands around it is a wrapping that is no content.
WRAPPED: Mapping[str, Template] = {
    "bare": "%x",
    "blank lines": "\n\n%x\n\n",
    "spaces around": "   %x  \t",
    "carriage returns": "\r\n%x\r\n",
    "double spaces": "%D",
    "broken lines": "%N",
    "tabs": "%T",
    "fence": "```\n%x\n```",
    "fence text": "```text\n%x\n```",
    "fence html": "```html\n%x\n```",
    "fence xml": "```xml\n%x\n```",
    "fence plaintext": "```plaintext\n%x\n```\n",
    "fence with blank lines": "\n```\n\n%x\n\n```\n\n",
    "fence carriage returns": "```\r\n%x\r\n```\r\n",
    "straight quotes": '"%x"',
    "apostrophes": "'%x'",
    "curly quotes": "“%x”",
    "low quotes": "„%x“",
    "guillemets": "«%x»",
    "bold": "**%x**",
    "bold underscores": "__%x__",
    "bold on its own line": "\n**%x**\n",
    "label": ("Result: %x", "Результат: %x"),
    "label lower": ("result: %x", "результат: %x"),
    "label upper": ("RESULT: %x", "РЕЗУЛЬТАТ: %x"),
    "label line": ("Result:\n%x", "Результат:\n%x"),
    "label blank line": ("Result:\n\n%x\n", "Результат:\n\n%x\n"),
    "label bold": ("**Result:** %x", "**Результат:** %x"),
    "label bold word": ("**Result**: %x", "**Результат**: %x"),
    "label bold line": ("**Result:**\n\n%x", "**Результат:**\n\n%x"),
    "label final": ("Final result: %x", "Итоговый результат: %x"),
    "label final text": ("Final text: %x", "Итоговый текст: %x"),
    "label final bold": ("**Final text:**\n%x", "**Итоговый текст:**\n%x"),
    "label output": ("Output: %x", "Итог: %x"),
    "label answer": ("Answer: %x", "Ответ: %x"),
    "label marker": ("ANSWER: %x", "ОТВЕТ: %x"),
    "label final answer": ("Final answer: %x", "Окончательный ответ: %x"),
    "label full-width colon": ("Result：%x", "Результат：%x"),
    "label fence": ("Result:\n```\n%x\n```", "Результат:\n```\n%x\n```"),
    "label fence text": ("Result:\n\n```text\n%x\n```", "Итоговый текст:\n\n```text\n%x\n```"),
    "label quotes": ('Result: "%x"', "Результат: «%x»"),
    "label bold text": ("Result: **%x**", "Результат: **%x**"),
    "label bold fence": ("**Result:**\n```\n%x\n```\n", "**Результат:**\n```\n%x\n```\n"),
    "label carriage returns": ("Result:\r\n%x\r\n", "Результат:\r\n%x\r\n"),
}  # fmt: skip

# Here %x is the right text and %y a wrong one; something stands beside the right text.
BESIDE: Mapping[str, Template] = {
    "text before": ("First I carried out the commands one by one. %x", "Сначала я выполнил команды по порядку. %x"),
    "text before line": ("I carried out all the commands.\n\n%x", "Я выполнил все команды по порядку.\n\n%x"),
    "text after": ("%x\n\nI hope this helps!", "%x\n\nНадеюсь, это поможет!"),
    "offer after": ("%x\n\nWould you like me to explain the steps?", "%x\n\nХотите, объясню каждый шаг?"),
    "note after": ("%x (all commands were carried out)", "%x (все команды выполнены)"),
    "note after fence": ("```\n%x\n```\nThis is the final text.", "```\n%x\n```\nЭто итоговый текст."),
    "note in fence": ("```\n%x\n# done\n```", "```\n%x\n# готово\n```"),
    "emoji after": "%x 😊",
    "emoji label": "%x ✅\n🎉",
    "negated": ("The result is not %x", "Результат — не %x"),
    "negated label": ("Not this: %x and not that", "Только не %x"),
    "question": ("Is it %x?", "Это %x?"),
    "question mark": "%x?",
    "hedged": ("%x or %y", "%x или %y"),
    "hedged lines": "%x\n%y",
    "hedged lines reversed": "%y\n%x",
    "hedged labels": ("Result: %x\nResult: %y", "Результат: %x\nРезультат: %y"),
    "hedged options": ("1. %x\n2. %y", "1. %x\n2. %y"),
    "hedged fences": "```\n%x\n```\n```\n%y\n```",
    "twice": "%x %x",
    "twice in lines": "%x\n%x",
    "steps and text": ("Step 1: %s\nStep 2: %x", "Шаг 1: %s\nШаг 2: %x"),
    "steps list": "1. %s\n2. %y\n3. %x",
    "source and text": "%s\n%x",
    "source arrow text": "%s → %x",
    "correction": ("%y\n\nWait, that is wrong.\n\n%x", "%y\n\nСтоп, это неверно.\n\n%x"),
    "another tag": "<result>%x and more</result>",
    "one sign before": ". %x",
    "dash before": "— и %x",
    "quote opened": '"%x',
    "quote closed": "%x”",
    "bold opened": "**%x",
    "quotes that differ": "«%x'",
    "commands repeated": "%k\n%x",
}  # fmt: skip

# Here %x is given in place of the right text in every wrapping that would be harmless.
PLAIN_WRONG: Mapping[str, Template] = {
    "source": "%s",
    "source in tags": "<data>%s</data>",
    "source upper": "%S",
    "commands alone": "%k",
    "label alone": ("Result:", "Результат:"),
    "label and dots": ("Result: ...", "Результат: ..."),
    "fence empty": "```\n\n```",
    "quotes empty": '""',
    "placeholder": ("[final text]", "[итоговый текст]"),
    "code": "```python\nprint(text[::-1].upper())\n```",
    "promise of steps": (
        "Let's carry out the commands step by step.\n\n1. First command: %s",
        "Выполним команды по порядку.\n\n1. Первая команда: %s",
    ),
    "breaks off in thought": ("<think>\nOkay, the text is: %s. First", "<think>\nТак, текст: %s. Сначала"),
}  # fmt: skip

VOWELS = "aeiouаеёиоуыэюя"


def count_vowels(text: str) -> str:
    return f"{text} {sum(letter in VOWELS for letter in text.lower())}"


def vowels_of(language: str) -> Callable[[str], bool]:
    own = VOWELS[:5] if language == "en" else VOWELS[5:]
    return lambda letter: letter.lower() in own


def swap_ends(text: str) -> str:
    words = text.split(" ")
    return text if len(words) < 2 else " ".join([words[-1], *words[1:-1], words[0]])


def carry_out(text: str, commands: Sequence[str], language: str) -> str:
    """Carry out the commands as the prompt puts them."""
    vowel = vowels_of(language)
    rules: Mapping[str, Callable[[str], str]] = {
        "reverse": lambda t: "".join(reversed(t)),
        "count_vowels": lambda t: f"{t} {sum(map(vowel, t))}",
        "wrap": lambda t: f"<data>{t}</data>",
        "upper": str.upper,
        "remove_digits": lambda t: re.sub(r"[0-9]", "", t),
        "swap_ends": swap_ends,
        "hyphens": lambda t: t.replace(" ", "-"),
        "double_vowels": lambda t: "".join(letter * 2 if vowel(letter) else letter for letter in t),
        "reverse_words": lambda t: " ".join(reversed(t.split(" "))),
        "swap_case": str.swapcase,
    }
    for command in commands:
        text = rules[command](text)
    return text


def squeezed(text: str) -> str:
    return " ".join(text.split())


def altered(item: Item, rng: Random) -> dict[str, str]:
    """Say what the usual slips make of the text, where that differs from the right one."""
    right, commands, source = item.answer, list(item.facts["commands"]), item.facts["text"]
    place = rng.randrange(1, len(right) - 1)
    letters = [at for at, letter in enumerate(right) if letter.isalpha()]
    at = rng.choice(letters)
    left_out = rng.randrange(len(commands))
    words = right.split(" ")
    middle = len(words) // 2
    runs = {
        "command left out": [*commands[:left_out], *commands[left_out + 1 :]],
        "last command left out": commands[:-1],
        "first command left out": commands[1:],
        "commands backwards": commands[::-1],
        "first command alone": commands[:1],
        "last command twice": [*commands, commands[-1]],
        "upper at the end": [*commands, "upper"],
        "reversed at the end": [*commands, "reverse"],
        "counted at the end": [*commands, "count_vowels"],
        "wrapped at the end": [*commands, "wrap"],
    }
    found = {name: carry_out(source, run, item.language) for name, run in runs.items()}
    found |= {
        "sign missing": right[:place] + right[place + 1 :],
        "first sign missing": right[1:],
        "last sign missing": right[:-1],
        "sign added": right[:place] + "х" + right[place:],
        "letter changed": right[:at] + ("q" if right[at] not in "qQ" else "z") + right[at + 1 :],
        "case changed": right[:at] + right[at].swapcase() + right[at + 1 :],
        "signs swapped": right[: place - 1] + right[place] + right[place - 1] + right[place + 1 :],
        "lower": right.lower(),
        "all swapped case": right.swapcase(),
        "dot lost": right.replace(".", ""),
        "dot added": right + ".",
        "spaces lost": right.replace(" ", ""),
        "hyphens lost": right.replace("-", " "),
        "tags lost": re.sub(r"</?data>|>/?atad/?<", "", right, flags=re.IGNORECASE),
        "tag left open": re.sub(r"</data>", "", right, flags=re.IGNORECASE),
        "digits lost": re.sub(r"[0-9]", "", right),
        "count one more": re.sub(r"[0-9]+", lambda match: str(int(match[0]) + 1), right),
        "word missing": " ".join([*words[:middle], *words[middle + 1 :]]),
        "word doubled": " ".join([*words[:middle], words[middle], *words[middle:]]),
        "words swapped": " ".join([*words[:-2], *words[:-3:-1]]),
        "cut in half": right[: len(right) // 2],
        "cut near the end": right[: -max(3, len(right) // 8)],
        "look-alike letter": right.translate(str.maketrans("AaEeOoАаЕеОо", "АаЕеОоAaEeOo")),
    }  # fmt: skip
    return {name: text for name, text in found.items() if squeezed(text) != squeezed(right)}


SLIPS = (
    "command left out", "last command left out", "first command left out", "commands backwards",
    "first command alone", "last command twice", "upper at the end", "reversed at the end",
    "counted at the end", "wrapped at the end", "sign missing", "first sign missing", "last sign missing",
    "sign added", "letter changed", "case changed", "signs swapped", "lower", "all swapped case", "dot lost",
    "dot added", "spaces lost", "hyphens lost", "tags lost", "tag left open", "digits lost", "count one more",
    "word missing", "word doubled", "words swapped", "cut in half", "cut near the end", "look-alike letter",
)  # fmt: skip
SAFE = ("command left out", "sign missing", "letter changed", "case changed", "cut in half", "look-alike letter")


def words(item: Item, given: str, other: str) -> dict[str, str]:
    """Say what the templates' letters stand for when `given` is the text given."""
    source = item.facts["text"]
    commands = [line for line in item.prompt.splitlines() if re.match(r"\d\. ", line)]
    found = {"x": given, "y": other, "s": source, "S": source.upper(), "k": "\n".join(commands)}
    if " " in given.strip():
        found |= {"D": given.replace(" ", "  "), "N": given.replace(" ", "\n"), "T": given.replace(" ", "\t")}
    return found


def wrong_text(item: Item, rng: Random) -> str:
    found = altered(item, rng)
    return rng.choice([found[name] for name in SAFE if name in found])


def right_words(item: Item, rng: Random) -> Mapping[str, str]:
    assert carry_out(item.facts["text"], item.facts["commands"], item.language) == item.answer
    return words(item, item.answer, wrong_text(item, rng))


def wrong_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(item, wrong_text(item, rng), item.answer)


def slip(name: str) -> Style:
    return lambda item, rng: altered(item, rng).get(name)


def plain_wrong(template: Template) -> Style:
    """Make a style of a template that holds no right text, unless by chance."""

    def write(item: Item, rng: Random) -> str | None:
        text = next(iter(styles({"": template}, right_words).values()))(item, rng)
        return text if text is not None and squeezed(item.answer) not in squeezed(text) else None

    return write


def another_item(item: Item, _rng: Random) -> str:
    """Carry out the right commands on another text."""
    text = by_language(item, "The tired cook painted the old door.", "Весёлый повар покрасил старую дверь.")
    return carry_out(text, item.facts["commands"], item.language)


RIGHT: dict[str, Style] = styles(WRAPPED, right_words)

WRONG: dict[str, Style] = {
    **styles(WRAPPED, wrong_words, "wrong in: "),
    **styles(BESIDE, right_words, "beside: "),
    **{name: plain_wrong(template) for name, template in PLAIN_WRONG.items()},
    **{f"slip: {name}": slip(name) for name in SLIPS},
    "another item": another_item,
    **EMPTY,
    **ECHOES,
}
