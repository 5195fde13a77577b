"""Two renderings of one draw, each read again from its prompt alone, without the families' own code."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

import phonenumbers

from basic_control.data.draw import draw
from basic_control.data.records import Family, Item
from basic_control.generators.data_extraction.entities import DATE, read_date_match
from basic_control.generators.twins.parity import in_language
from tests.helpers import logic_prompts

_VOWELS = {"en": "aeiou", "ru": "аеёиоуыэюя"}
Carried = Callable[[str, str], str]


def _ends(text: str, _: str) -> str:
    first, *inner, last = text.split(" ")
    return " ".join([last, *inner, first])


_COMMANDS: Mapping[tuple[str, str], Carried] = {  # what each begins with, and what it makes of a text
    ("Write the text backwards", "Запиши текст задом"): lambda text, _: "".join(reversed(text)),
    ("Count the vowels", "Посчитай гласные"): (
        lambda text, vowels: f"{text} {len(re.findall(f'[{vowels}]', text, re.IGNORECASE))}"
    ),
    ("Put <data> right before", "Поставь <data> прямо"): lambda text, _: f"<data>{text}</data>",
    ("Write the whole text in UPPER", "Запиши весь текст ЗАГЛ"): lambda text, _: "".join(map(str.upper, text)),
    ("Delete every digit", "Удали все цифры"): lambda text, _: "".join(re.split("[0-9]", text)),
    ("Swap the first word and the last", "Поменяй местами первое"): _ends,
    ("Replace every space", "Замени каждый пробел"): lambda text, _: "-".join(text.split(" ")),
    ("Write every vowel", "Запиши каждую гласную"): (
        lambda text, vowels: re.sub(f"([{vowels}])", r"\1\1", text, flags=re.IGNORECASE)
    ),
    ("Write the words in the opposite", "Запиши слова в обратном"): (
        lambda text, _: " ".join(reversed(text.split(" ")))
    ),
    ("Turn every lower-case letter", "Сделай каждую строчную"): (
        lambda text, _: "".join(one.lower() if one.isupper() else one.upper() for one in text)
    ),
}


def instructions(item: Item, language: str) -> tuple[Any, str]:
    """Return the commands with the digits of the text, and what comes out when they are carried out."""
    _, text, *_ = item.prompt.splitlines()
    place = ("en", "ru").index(language)
    listed = re.findall(r"^[0-9]\. (.+)$", item.prompt, re.MULTILINE)
    commands = [begins for one in listed for begins in _COMMANDS if one.startswith(begins[place])]
    assert len(commands) == len(listed)
    digits = re.findall("[0-9]", text)
    for command in commands:
        text = _COMMANDS[command](text, _VOWELS[language])
    return (commands, digits), text


def simple_logic(item: Item, language: str) -> tuple[Any, str]:
    """Return the statements and the question, people as numbers, and who can be the answer."""
    people: list[str] = item.facts["names"]
    statements, question = logic_prompts.read(item.prompt, people, language)

    def numbered(text: str) -> str:
        return re.sub("|".join(sorted(people, key=len, reverse=True)), lambda m: str(people.index(m[0])), text)

    asked, place = logic_prompts.asked_place(question, len(people))
    orders = [dict(zip(order, range(len(people)), strict=True)) for order in permutations(people)]
    left = [at for at in orders if all(logic_prompts.holds(one, asked, at) for one in statements)]
    (answer,) = {name for at in left for name in people if at[name] == place}
    return ([*map(numbered, statements)], question), answer


def entities(text: str, region: str) -> dict[str, list[str]]:
    """Return a text's addresses, numbers and dates: by a pattern, phonenumbers' matcher, and dates with a year."""
    # 13.10.2021 reads like a Canadian service number: the dates, known by now, are blanked.
    matches = phonenumbers.PhoneNumberMatcher(DATE.sub("-", text.lower()), region)
    dates = {read_date_match(match, region) for match in DATE.finditer(text.lower())}
    return {
        "emails": sorted({found.lower() for found in re.findall(r"[\w.]+@[\w.-]+\w", text)}),
        "phones": sorted(
            {phonenumbers.format_number(one.number, phonenumbers.PhoneNumberFormat.E164) for one in matches}
        ),
        "dates": sorted(one for one in dates if one),
    }


_COUNTRIES = {"US": "US", "UK": "GB", "Russian": "RU", "американские": "US", "британские": "GB", "российские": "RU"}


def data_extraction(item: Item, language: str) -> tuple[Any, str]:
    """Return the entities of the text, and the region of its numbers, and the entities as an answer."""
    del language
    _, text, after = item.prompt.split("---")
    (region,) = {_COUNTRIES[word] for word in re.findall(r"\w+", after) if word in _COUNTRIES}
    found = entities(text, region)
    joined = ", ".join(
        f'"{kind}": [' + ", ".join(f'"{one}"' for one in listed) + "]" for kind, listed in found.items()
    )
    return (found, region), f"{{{joined}}}"


def arithmetic(item: Item, language: str) -> tuple[Any, str]:
    """Return the expression and its value."""
    del language
    expression = item.prompt.splitlines()[2]
    assert {*expression} <= {*"0123456789+-*() "}
    return expression, str(eval(expression))  # noqa: S307 - checked above to be plain arithmetic


def summarization(item: Item, language: str) -> tuple[Any, str]:
    """Return the digits of the sentences in their order, the answer's place, and the answer."""
    del language
    _, text, _ = item.prompt.split("---")
    sentences = re.split(r"(?<=[.!?])\s+", text.strip())
    return ([re.findall("[0-9]+", one) for one in sentences], sentences.index(item.answer)), item.answer


def code_gen(item: Item, language: str) -> tuple[Any, str]:
    """Return what stands in code marks but words, what is called with what, and the expected values."""
    del language
    marked = sorted({*re.findall("`([^`]+)`", item.prompt)})
    return (marked, item.facts["calls"]), str(item.facts["expected"])


READERS: Mapping[str, Callable[[Item, str], tuple[Any, str]]] = {
    one.__name__: one for one in (arithmetic, code_gen, data_extraction, instructions, simple_logic, summarization)
}
SAME_ANSWER = ("arithmetic", "code_gen", "data_extraction")
"""The families whose answers hang on no word."""


def differs(name: str, item: Item, other: Item, languages: tuple[str, str]) -> str:
    """Return in what two renderings of a family's draw differ; '' where in nothing but words."""
    read, read_other = (READERS[name](one, own) for one, own in zip((item, other), languages, strict=True))
    if read[0] != read_other[0]:
        return f"facts: {read[0]} and {read_other[0]}"
    if name in SAME_ANSWER and read[1] != read_other[1]:
        return f"answers: {read[1]} and {read_other[1]}"
    if name != "code_gen" and (read[1], read_other[1]) != (item.answer, other.answer):
        return f"another answer: {read[1]} for {item.answer}, {read_other[1]} for {other.answer}"
    if name == "simple_logic" and item.facts["names"].index(item.answer) != other.facts["names"].index(
        other.answer
    ):
        return "another person"
    return ""


def pairs(unit: Family, languages: tuple[str, str], n: int) -> Iterator[tuple[Item, Item]]:
    """Yield n items of each of a family's levels, with the same draw in the other language."""
    one, other = languages
    for level in unit.levels:
        for item in draw(unit, level=level, language=one, seed=3, count=n):
            row = {"level": level, "language": one, "seed": 3, "index": item.index, "prompt": item.prompt}
            yield item, in_language(unit, row, {}, other)
