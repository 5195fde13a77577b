"""The grammar of e-mails, memos, notes and notices in which entities stand: people, scenarios, sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
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

    names: Mapping[str, Sequence[Any]]
    scenarios: tuple[Scenario, ...]
    emails: tuple[str, ...]
    phones: tuple[str, ...]
    closings: tuple[str, ...]
    again: Mapping[str, str]
    distractors: Mapping[str, tuple[str, ...]]
    forms: tuple[str, ...]
    signs: tuple[str, ...]

    @cached_property
    def people(self) -> tuple[Person, ...]:
        """Everybody: each given name with each surname."""
        names = self.names
        if "given" in names:  # the language has no cases
            both = [(f"{g} {f}", g, f) for g, f in product(names["given"], names["families"])]
            return tuple(Person(n, n, n, g, "", (g.lower(), f.lower())) for n, g, f in both)
        women = (
            Person(f"{n} {f}а", f"{d} {f}ой", f"{i} {f}ой", n, "а", (latin, f"{family}a"))
            for (n, d, i, latin), (f, family) in product(names["women"], names["families"])
        )
        men = (
            Person(f"{n} {f}", f"{d} {f}у", f"{i} {f}ым", n, "", (latin, family))
            for (n, d, i, latin), (f, family) in product(names["men"], names["families"])
        )
        return (*women, *men)


@cache
def correspondence(language: str) -> Language:
    """Return what a language's texts are drawn from."""
    return read(Language, "data_extraction", language)
