"""The wording of facts about an order: properties, sentences and questions in English and Russian."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from basic_control.generators._texts import by_language
from basic_control.generators.simple_logic.people import Gender, cases, genders


class QuestionWordings(NamedTuple):
    """The wordings of a question: about two people, the top, the bottom, and a position in between."""

    higher: str
    lower: str
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
    stem, vowel, plural = masculine[:-2], "о", "ых"
    # After ш an unstressed о becomes е, after к, г, х and ш an ы becomes и: "старшего", "высоких".
    if stem.endswith("ш"):
        vowel = "е"
    if stem[-1] in "гкхш":
        plural = "их"
    return masculine, f"{stem}ая", f"{stem}{vowel}го", f"{stem}{vowel}му", f"{stem}{vowel}й", stem + plural


def _word_property(words: Mapping[Gender, Mapping[str, str]], distinct: str, language: str) -> Property:
    """Fill a property's words into all sentences and questions."""
    templates = texts(language)
    sentences: dict[Gender, dict[str, tuple[str, ...]]] = {}
    questions: dict[Gender, QuestionWordings] = {}
    for gender, words_by_slot in words.items():
        sentences[gender] = {kind: _fill(wording, words_by_slot) for kind, wording in templates.sentences.items()}
        questions[gender] = QuestionWordings(*_fill(templates.questions, words_by_slot))
    return Property(sentences, questions, distinct)


def _fill(templates: Iterable[str], words_by_slot: Mapping[str, str]) -> tuple[str, ...]:
    """Fill words into texts, and leave the slots of people."""
    filled = []
    for template in templates:
        text = template
        for slot, word in words_by_slot.items():
            text = text.replace(f"{{{slot}}}", word)
        filled.append(text)
    return tuple(filled)


def _build_english(forms: Sequence[str]) -> Property:
    base, *comparisons = forms
    # "patient" has no forms of its own: "more patient".
    comparatives = comparisons or [f"{word} {base}" for word in ("more", "less", "most", "least")]
    words = dict(zip(("more", "less", "most", "least"), comparatives, strict=True))
    words["ends"] = "from the {most} to the {least}".format_map(words)
    return _word_property({"f": words, "m": words}, f"No two of them are equally {base}.", "en")


def _build_russian(forms: Sequence[str]) -> Property:
    higher, lower, high, low = forms
    up, down = adjective(high), adjective(low)
    comparatives = {"more": higher, "less": lower}
    feminine = {
        "most": f"самая {up[1]}",
        "least": f"самая {down[1]}",
        "ends": f"от самой {up[4]} к самой {down[4]}",
    }
    masculine = {
        "most": f"самый {up[0]}", "least": f"самый {down[0]}", "ends": f"от самого {up[2]} к самому {down[3]}",
    }  # fmt: skip
    equals = f"одинаково {up[5]}"
    if high == "старший":
        equals = "ровесников"
    words: Mapping[Gender, Mapping[str, str]] = {"f": comparatives | feminine, "m": comparatives | masculine}
    return _word_property(words, f"Двух {equals} среди них нет.", "ru")


@cache
def properties(language: str, order: str) -> tuple[Property, ...]:
    """Return a language's properties, in the order of another language."""
    words = texts(language)
    indices = map(words.in_english.index, texts(order).in_english)
    build = {"ru": _build_russian, "en": _build_english}[language]
    return tuple(build(words.properties[index]) for index in indices)


def wordings(by: Property, kind: str, first: str, language: str) -> tuple[str, ...]:
    """Return the wordings of a kind of fact; the words agree in gender with its first person."""
    return by.sentences[genders(language)[first]][kind]


def state(sentence: str, people: Sequence[str], language: str, count: int = 0) -> str:
    """Fill the people, and the count if any, into a wording."""
    slots = [*people]
    if language == "ru":
        slots += map(_genitive, people)
    if count:
        slots.append(texts(language).counts[count])
    return sentence.format(*slots)


def _genitive(name: str) -> str:
    return cases(name)[1]


def ask(by: Property, position: int, people: Sequence[str], language: str) -> str:
    """Return the question who is at a position (0: the top); feminine only if all are women."""
    last = len(people) - 1
    has_men = "m" in map(genders(language).__getitem__, people)
    questions = by.questions["m" if has_men else "f"]
    if last == 1:
        return (questions.higher, questions.lower)[position]
    if position == 0:
        return questions.top
    if position == last:
        return questions.bottom
    return questions.between.format(ordinal=texts(language).ordinals[position])


def join_names(people: Sequence[str], language: str) -> str:
    """Join names: 'Anna, Boris and Vera'."""
    conjunction = {"ru": "и", "en": "and"}[language]
    return f"{', '.join(people[:-1])} {conjunction} {people[-1]}"
