"""Random sentences of plain words: somebody does something to a thing, somewhere, with a code in it."""

from collections.abc import Sequence
from functools import cache
from random import Random
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from generators._texts import read

Word = TypeVar("Word")
_CODE_LETTERS = MappingProxyType({"en": "BCDFGHKLMNPRTVXZ", "ru": "БВГДЖЗКЛМНПРСТФЦ"})


class SentenceWords(NamedTuple):
    """A language's words, by their part in a sentence; each person with the verbs that agree, each thing ready."""

    who: tuple[tuple[str, tuple[str, ...]], ...]
    what: tuple[str, ...]
    where: tuple[str, ...]
    mark: tuple[str, ...]


def parts(language: str) -> dict[str, list[str]]:
    """Return a language's words by their part in a sentence."""
    return read(dict[str, list[str]], "sentences", language)


@cache
def words(language: str) -> SentenceWords:
    """Join adjectives and nouns, and make verbs agree."""
    part = parts(language)
    if language == "ru":
        women = tuple(f"{verb}а" for verb in part["did"])
        who = [
            (f"{mood}ый {man}".capitalize(), tuple(part["did"])) for mood in part["mood"] for man in part["who_m"]
        ]
        who += [(f"{mood}ая {woman}".capitalize(), women) for mood in part["mood"] for woman in part["who_f"]]
        what = [f"{look}ый {thing}" for look in part["look"] for thing in part["what_m"]]
        what += [f"{look}ую {thing}" for look in part["look"] for thing in part["what_f"]]
        where, mark = [f"возле {place}" for place in part["where"]], [f"для {place}" for place in part["mark"]]
    else:
        verbs = tuple(part["did"])
        who = [(f"The {mood} {person}", verbs) for mood in part["mood"] for person in part["who"]]
        what = [f"the {look} {thing}" for look in part["look"] for thing in part["what"]]
        where, mark = [f"near the {place}" for place in part["where"]], [f"for {place}" for place in part["mark"]]
    return SentenceWords(tuple(who), tuple(what), tuple(where), tuple(mark))


def sentence(rng: Random, language: str, *, code: bool, place: bool, drawn: str = "") -> str:
    """Draw a sentence; its digits, if it has any, stand in a code such as K27, never as a word of their own.

    `drawn`: the language whose lists the words are drawn from; they stand at about the same places of this one's.
    """
    known, there = words(language), words(drawn or language)

    def one(of: Sequence[Word], own: Sequence[Word]) -> Word:
        return own[rng.randrange(len(of)) * len(own) // len(of)]

    who, verbs = one(there.who, known.who)
    parts = [who, one(there.who[0][1], verbs), one(there.what, known.what)]
    if code:
        letters = _CODE_LETTERS[language]
        parts += [one(there.mark, known.mark), f"{rng.choice(letters)}{rng.randint(10, 99)}"]
    if place:
        parts.append(one(there.where, known.where))
    return f"{' '.join(parts)}."
