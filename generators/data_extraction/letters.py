"""Write e-mails, memos, notes and notices around entities drawn along the way."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random
from typing import Any

from basic_control.generators._texts import by_language
from basic_control.generators.data_extraction.entities import (
    KINDS,
    MONTHS,
    REGIONS,
    draw_date,
    draw_email,
    draw_phone,
    write_date,
)

_EMAILS, _PHONES = 0, 1
_SIGNS = {"US": "$", "GB": "£", "RU": "RUB "}
_ROUBLES = {"US": "долл.", "GB": "ф. ст.", "RU": "руб."}
_FROM_ABROAD = 0.25  # share of foreign numbers, in levels with twists
_OTHER_FORM = 0.4  # distance, as a share of all forms, between a date's first and second notation


@dataclass(frozen=True, slots=True)
class Person:
    """A person: full name in the cases used by the sentences, given name, verb ending, name in Latin letters."""

    n: str
    d: str
    i: str
    given: str
    a: str
    latin: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """The subject of a text: its subject line, openings, and sentences with a date."""

    name: str
    subject: str
    openings: tuple[str, ...]
    dates: tuple[str, ...]


@dataclass(frozen=True)
class Language:
    """Everything that a language's texts are drawn from; its file documents the fields."""

    names: Mapping[str, Any]
    scenarios: tuple[Scenario, ...]
    emails: tuple[str, ...]
    phones: tuple[str, ...]
    closings: tuple[str, ...]
    again: Mapping[str, str]
    distractors: Mapping[str, tuple[str, ...]]
    forms: tuple[str, ...]
    signs: tuple[str, ...]


correspondence = by_language(Language, "data_extraction")
"""The material for a language's texts."""


@cache
def people(drawn: str, language: str) -> tuple[Person, ...]:
    """Return all people named in a language's texts, each given name with each surname, worded in `language`."""
    names = correspondence(drawn).names
    if "given" in names:  # the language has no cases
        latin = [(given.lower(), family.lower()) for given, family in product(names["given"], names["families"])]
        return tuple(map(_in_russian if language == "ru" else _in_english, latin))
    every = [
        Person(f"{n} {f}{a}", f"{d} {f}{to}", f"{i} {f}{by}", n, a, (latin, family + ("a" if a else "")))
        for group, a, to, by in (("women", "а", "ой", "ой"), ("men", "", "у", "ым"))
        for (n, d, i, latin), (f, family) in product(names[group], names["families"])
    ]
    return tuple(every if language == "ru" else (_in_english(one.latin) for one in every))


def _in_english(latin: tuple[str, str]) -> Person:
    """Return a person whose name does not inflect."""
    given, family = map(str.title, latin)
    full = f"{given} {family}"
    return Person(full, full, full, given, "", latin)


def _in_russian(latin: tuple[str, str]) -> Person:
    """Return an English name in Russian: only men's surnames that end in a consonant have cases."""
    abroad = correspondence("ru").names["abroad"]
    n, d, i, ending = abroad["given"][latin[0]]
    family = abroad["families"][latin[1]]
    cases = ("", "") if ending or family[-1] in "аиоуэюяы" else ("у", "ом")
    return Person(f"{n} {family}", f"{d} {family}{cases[0]}", f"{i} {family}{cases[1]}", n, ending, latin)


@cache
def _sentences(language: str, scenario: str) -> list[list[tuple[str, str, bool]]]:
    """Return each entity kind's sentences: text before it, text after it, and whether they also name somebody.

    They are split at the entity because joining is faster than formatting.
    """
    words = correspondence(language)
    dates = next(one.dates for one in words.scenarios if one.name == scenario)
    parts = [[one.partition("{e}") for one in listed] for listed in (words.emails, words.phones, dates)]
    return [[(before, after, "{" in before + after) for before, _, after in listed] for listed in parts]


class LetterDraft:
    """A text under construction: its sentences, and their entities by kind in the order of `KINDS`."""

    def __init__(self, rng: Random, language: str, drawn: str, *, twists: bool) -> None:
        """Start a text whose region, people and entities are drawn as for one in the language `drawn`."""
        draw = rng.random
        self.rng = rng
        self.language = language
        self.words = correspondence(language)
        self.twists = twists
        self.people = people(drawn, language)
        self.region = "RU" if drawn == "ru" else ("US", "GB")[int(draw() * 2)]
        self.dates = self.region if drawn == language else language
        self.found: tuple[list[str], list[str], list[str]] = ([], [], [])
        self.written: list[str] = []
        self.lines: list[str] = []
        self.again: list[tuple[str, str]] = []
        self.scenario = self.words.scenarios[int(draw() * len(self.words.scenarios))]
        self.sentences = _sentences(language, self.scenario.name)
        self.turn = int(draw() * 8)

    def _person(self) -> Person:
        return self.people[int(self.rng.random() * len(self.people))]

    def add(self, kind: int) -> None:
        """Add a sentence with a new entity; duplicates are drawn again."""
        choices, found = self.sentences[kind], self.found[kind]
        before, after, named = choices[(self.turn + len(found)) % len(choices)]  # in turn, so that none repeats
        person = self._person() if named or kind == _EMAILS else None
        while True:
            if person and kind == _EMAILS:
                written, other, normal = self._email(person)
            else:
                written, other, normal = self._phone() if kind == _PHONES else self._date()
            if normal not in found:
                break
        found.append(normal)
        self.written.append(written)
        if other:
            self.again.append((KINDS[kind], other))
        line = before + written + after
        if named and person:
            line = line.format(n=person.n, d=person.d, i=person.i, a=person.a)
        self.lines.append(line)

    def _email(self, person: Person) -> tuple[str, str, str]:
        address = draw_email(self.rng, person.latin)
        if not self.twists:
            return address, "", address
        local, domain = address.split("@")
        return f"{local.title()}@{domain}", f"{local.upper()}@{domain}", address

    def _phone(self) -> tuple[str, str, str]:
        region = self.region
        if self.twists and self.rng.random() < _FROM_ABROAD:
            region, form = REGIONS[region].abroad
            groups = draw_phone(self.rng, region)
            return form % groups, "", REGIONS[region].code + "".join(groups)
        groups = draw_phone(self.rng, region)
        forms = REGIONS[region].phones
        turn = int(self.rng.random() * len(forms))
        other = forms[(turn + 1) % len(forms)] % groups if self.twists else ""
        return forms[turn] % groups, other, REGIONS[region].code + "".join(groups)

    def _date(self) -> tuple[str, str, str]:
        y, m, d = when = draw_date(self.rng)
        chance = self.rng.random()
        written = write_date(when, self.dates, self.language, chance)
        other = write_date(when, self.dates, self.language, (chance + _OTHER_FORM) % 1) if self.twists else ""
        return written, other, f"{y}-{m:02d}-{d:02d}"

    def repeat(self) -> None:
        """Repeat one entity in another notation: the set does not change."""
        if self.again:
            kind, other = self.rng.choice(self.again)
            self.written.append(other)
            self.lines.append(self.words.again[kind].format(e=other))

    def distract(self, count: int) -> dict[str, str]:
        """Insert sentences with `count` distractors; return written form → what it is."""
        distractors: dict[str, str] = {}
        draw = self.rng.random
        kinds = tuple(self.words.distractors.items())
        turn = int(draw() * len(kinds))
        for step in range(count):
            kind, sentences = kinds[(turn + step) % len(kinds)]
            written = self._distractor(kind)
            distractors[written] = kind
            sentence = sentences[int(draw() * len(sentences))].format(x=written)
            self.lines.insert(int(draw() * (len(self.lines) + 1)), sentence)
        return distractors

    def _distractor(self, kind: str) -> str:
        draw = self.rng.random
        number = int(draw() * 9000) + 1000
        if kind == "an order number":
            return f"{number}-{int(draw() * 90) + 10}"  # six digits: seven would be a local US number
        if kind == "a price":
            russian = f"{number:,} {_ROUBLES[self.region]}".replace(",", " ")
            return russian if self.language == "ru" else f"{_SIGNS[self.region]}{number:,}"
        if kind == "a time":
            return f"{number % 12 + 8}:{number % 4 * 15:02d}"
        if kind == "a handle":
            return f"@{'_'.join(self._person().latin)}"
        if kind == "a partial date":
            month = MONTHS[self.language][number % 12]
            day = int(draw() * 28) + 1
            return f"{month} {day}" if self.dates == "US" else f"{day} {month}"
        return str(number % 400 + 100)

    def text(self) -> str:
        """Lay out opening, sentences and closing in one of the forms; the last form is a list."""
        words, draw = self.words, self.rng.random
        turn = int(draw() * len(words.forms))
        joint = "\n- " if turn == len(words.forms) - 1 else " "
        openings, closings = self.scenario.openings, words.closings
        opening, closing = openings[int(draw() * len(openings))], closings[int(draw() * len(closings))]
        reader, writer = self._person(), self._person()
        text = words.forms[turn].format(
            subject=self.scenario.subject,
            given=reader.given,
            reader=reader.n,
            reader_d=reader.d,
            writer=writer.n,
            sign=words.signs[int(draw() * len(words.signs))],
            body=f"{opening}{joint}{joint.join(self.lines)}{joint}{closing}",
        )
        # A date's full stop also ends its sentence.
        return text.replace("г..", "г.") if self.language == "ru" else text
