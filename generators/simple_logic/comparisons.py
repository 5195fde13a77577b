"""The wording of facts about an order: properties, sentences and questions in English and Russian."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from basic_control.generators._texts import by_language
from basic_control.generators.simple_logic.people import Gender, cases, genders


class QuestionWordings(NamedTuple):
    """The wordings of a question: about two people, the top, the bottom, and a place in between."""

    more: str
    less: str
    top: str
    bottom: str
    between: str


class Property(NamedTuple):
    """A property that people are compared by, worded for a first person or a group of either gender.

    `sentences` are the wordings of each kind of fact, with the property's words filled in; `distinct` says that no
    two people are equal.
    """

    sentences: Mapping[Gender, Mapping[str, tuple[str, ...]]]
    questions: Mapping[Gender, QuestionWordings]
    distinct: str


class ComparisonTexts(NamedTuple):
    """A language's words, as its file explains them; `ordinals` are the places from the top that have a word.

    `in_english` are the indices of the properties among the English ones.
    """

    properties: tuple[tuple[str, ...], ...]
    sentences: Mapping[str, tuple[str, ...]]
    questions: QuestionWordings
    scenes: tuple[str, ...]
    counts: Mapping[int, str]
    ordinals: tuple[str, ...]
    in_english: tuple[int, ...]


texts = by_language(ComparisonTexts, "simple_logic")
"""The words of a language."""


@cache
def adjective(masculine: str) -> tuple[str, str, str, str, str, str]:
    """Return a Russian adjective's forms.

    They are: masculine, feminine, genitive and dative masculine, genitive feminine, genitive plural.
    """
    stem = masculine[:-2]
    vowel, plural = "е" if stem.endswith("ш") else "о", "их" if stem[-1] in "гкхш" else "ых"
    return masculine, f"{stem}ая", f"{stem}{vowel}го", f"{stem}{vowel}му", f"{stem}{vowel}й", stem + plural


def _worded(words: Mapping[Gender, Mapping[str, str]], distinct: str, language: str) -> Property:
    """Fill a property's words into all sentences and questions."""

    def filled(listed: Sequence[str], gender: Gender) -> tuple[str, ...]:
        for slot, word in words[gender].items():
            listed = [text.replace(f"{{{slot}}}", word) for text in listed]
        return tuple(listed)

    known = texts(language)
    return Property(
        {sex: {kind: filled(listed, sex) for kind, listed in known.sentences.items()} for sex in words},
        {sex: QuestionWordings(*filled(known.questions, sex)) for sex in words},
        distinct,
    )


def _english(given: Sequence[str]) -> Property:
    base, *rest = given
    more, less, most, least = rest or [f"{word} {base}" for word in ("more", "less", "most", "least")]
    words = {"more": more, "less": less, "most": most, "least": least, "ends": f"from the {most} to the {least}"}
    return _worded({"f": words, "m": words}, f"No two of them are equally {base}.", "en")


def _russian(given: Sequence[str]) -> Property:
    more, less, high, low = given
    up, down = adjective(high), adjective(low)
    same = {"more": more, "less": less}
    feminine = {
        "most": f"самая {up[1]}",
        "least": f"самая {down[1]}",
        "ends": f"от самой {up[4]} к самой {down[4]}",
    }
    masculine = {
        "most": f"самый {up[0]}", "least": f"самый {down[0]}", "ends": f"от самого {up[2]} к самому {down[3]}",
    }  # fmt: skip
    distinct = "ровесников" if high == "старший" else f"одинаково {up[5]}"
    return _worded({"f": same | feminine, "m": same | masculine}, f"Двух {distinct} среди них нет.", "ru")


@cache
def properties(language: str, order: str) -> tuple[Property, ...]:
    """Return a language's properties, in the order of another language."""
    listed, places = texts(language).properties, texts(language).in_english
    given = [listed[places.index(place)] for place in texts(order).in_english]
    return tuple(map(_russian if language == "ru" else _english, given))


def wordings(by: Property, kind: str, first: str, language: str) -> tuple[str, ...]:
    """Return the wordings of a kind of fact; the words agree in gender with its first person."""
    return by.sentences[genders(language)[first]][kind]


def state(sentence: str, people: Sequence[str], language: str, count: int = 0) -> str:
    """Fill the people, and the count if any, into a wording."""
    slots = [*people, *(cases(name)[1] for name in people)] if language == "ru" else [*people]
    if count:
        slots.append(texts(language).counts[count])
    return sentence.format(*slots)


def ask(by: Property, place: int, people: Sequence[str], language: str) -> str:
    """Return the question who is at a place (0: the top); feminine only if all are women."""
    known, last = genders(language), len(people) - 1
    questions = by.questions["f" if all(known[name] == "f" for name in people) else "m"]
    if last == 1:
        return questions.less if place else questions.more
    if place in (0, last):
        return questions.bottom if place else questions.top
    return questions.between.format(ordinal=texts(language).ordinals[place])


def listed(people: Sequence[str], language: str) -> str:
    """Join names: 'Anna, Boris and Vera'."""
    return f"{', '.join(people[:-1])} {'и' if language == 'ru' else 'and'} {people[-1]}"
