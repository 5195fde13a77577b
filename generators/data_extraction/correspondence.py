"""The grammar of e-mails, memos, notes and notices in which entities stand: people, scenarios, sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from generators._texts import read


@dataclass(frozen=True, slots=True)
class Person:
    """A person: full name in the cases that the sentences use, given name, verb ending, name in Latin letters."""

    n: str
    d: str
    i: str
    given: str
    a: str
    latin: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a text is about: its subject line, openings, and sentences that hold a date."""

    name: str
    subject: str
    openings: tuple[str, ...]
    dates: tuple[str, ...]


@dataclass(frozen=True)
class Language:
    """All that a text in one language is drawn from; its file says what stands for what."""

    names: Mapping[str, Any]
    scenarios: tuple[Scenario, ...]
    emails: tuple[str, ...]
    phones: tuple[str, ...]
    closings: tuple[str, ...]
    again: Mapping[str, str]
    distractors: Mapping[str, tuple[str, ...]]
    forms: tuple[str, ...]
    signs: tuple[str, ...]


@cache
def correspondence(language: str) -> Language:
    """Return what a language's texts are drawn from."""
    return read(Language, "data_extraction", language)


@cache
def people(drawn: str, language: str) -> tuple[Person, ...]:
    """Return everybody whom a language's texts name, each given name with each surname, worded in a language."""
    names = correspondence(drawn).names
    if "given" in names:  # the language has no cases
        worded = _in_russian if language == "ru" else _in_english
        return tuple(worded((g.lower(), f.lower())) for g, f in product(names["given"], names["families"]))
    women = (
        Person(f"{n} {f}а", f"{d} {f}ой", f"{i} {f}ой", n, "а", (latin, f"{family}a"))
        for (n, d, i, latin), (f, family) in product(names["women"], names["families"])
    )
    men = (
        Person(f"{n} {f}", f"{d} {f}у", f"{i} {f}ым", n, "", (latin, family))
        for (n, d, i, latin), (f, family) in product(names["men"], names["families"])
    )
    every = (*women, *men)
    return every if language == "ru" else tuple(_in_english(one.latin) for one in every)


def _in_english(latin: tuple[str, str]) -> Person:
    """Return a person whose name has no cases."""
    given, family = map(str.title, latin)
    full = f"{given} {family}"
    return Person(full, full, full, given, "", latin)


def _in_russian(latin: tuple[str, str]) -> Person:
    """Return an English name in Russian: surnames that end in a consonant have cases, of men."""
    abroad = correspondence("ru").names["abroad"]
    n, d, i, ending = abroad["given"][latin[0]]
    family = abroad["families"][latin[1]]
    cases = ("", "") if ending or family[-1] in "аиоуэюяы" else ("у", "ом")
    return Person(f"{n} {family}", f"{d} {family}{cases[0]}", f"{i} {family}{cases[1]}", n, ending, latin)
