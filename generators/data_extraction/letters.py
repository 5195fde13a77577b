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
    first_name: str
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
        latin = product(map(str.lower, names["given"]), map(str.lower, names["families"]))
        word = {"ru": _word_in_russian, "en": _word_in_english}[language]
        return tuple(map(word, latin))
    everyone = []
    # The endings of a surname: nominative, dative, instrumental.
    for gender, a, to, by in (("women", "а", "ой", "ой"), ("men", "", "у", "ым")):
        latin_ending = {"а": "a", "": ""}[a]
        for (n, d, i, latin_name), (f, family) in product(names[gender], names["families"]):
            latin_names = (latin_name, family + latin_ending)
            everyone.append(Person(f"{n} {f}{a}", f"{d} {f}{to}", f"{i} {f}{by}", n, a, latin_names))
    if language != "ru":
        everyone = [_word_in_english(person.latin) for person in everyone]
    return tuple(everyone)


def _word_in_english(latin: tuple[str, str]) -> Person:
    """Return a person whose name does not inflect."""
    first_name, family = map(str.title, latin)
    full_name = f"{first_name} {family}"
    return Person(full_name, full_name, full_name, first_name, "", latin)


def _word_in_russian(latin: tuple[str, str]) -> Person:
    """Return an English name in Russian: only men's surnames that end in a consonant have cases."""
    abroad = correspondence("ru").names["abroad"]
    n, d, i, ending = abroad["given"][latin[0]]
    family = abroad["families"][latin[1]]
    dative, instrumental = "у", "ом"
    if ending or family[-1] in "аиоуэюяы":
        dative = instrumental = ""
    return Person(f"{n} {family}", f"{d} {family}{dative}", f"{i} {family}{instrumental}", n, ending, latin)


@cache
def _sentences(language: str, scenario: str) -> list[list[tuple[str, str, bool]]]:
    """Return each entity kind's sentences: text before it, text after it, and whether they also name somebody.

    They are split at the entity because joining is faster than formatting.
    """
    words = correspondence(language)
    dates = next(candidate.dates for candidate in words.scenarios if candidate.name == scenario)
    return [[*map(_split_sentence, templates)] for templates in (words.emails, words.phones, dates)]


def _split_sentence(template: str) -> tuple[str, str, bool]:
    before, _, after = template.partition("{e}")
    return before, after, "{" in before + after


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
        self.date_usage = self.region if drawn == language else language
        self.entities: tuple[list[str], list[str], list[str]] = ([], [], [])
        self.written: list[str] = []
        self.lines: list[str] = []
        self.second_forms: list[tuple[str, str]] = []
        self.scenario = self.words.scenarios[int(draw() * len(self.words.scenarios))]
        self.sentences = _sentences(language, self.scenario.name)
        self.turn = int(draw() * 8)

    def _draw_person(self) -> Person:
        return self.people[int(self.rng.random() * len(self.people))]

    def add_sentence(self, kind: int) -> None:
        """Add a sentence with a new entity of a kind, by its index in `KINDS`; duplicates are drawn again."""
        choices, entities = self.sentences[kind], self.entities[kind]
        # In turn, so that none repeats.
        before, after, names_person = choices[(self.turn + len(entities)) % len(choices)]
        person = None
        if names_person or kind == _EMAILS:
            person = self._draw_person()
        while True:
            written, second_form, normal = self._draw_entity(kind, person)
            if normal not in entities:
                break
        entities.append(normal)
        self.written.append(written)
        if second_form:
            self.second_forms.append((KINDS[kind], second_form))
        line = before + written + after
        if names_person and person:
            line = line.format(n=person.n, d=person.d, i=person.i, a=person.a)
        self.lines.append(line)

    def _draw_entity(self, kind: int, person: Person | None) -> tuple[str, str, str]:
        """Draw an entity: as it is written, in a second form if it may be repeated, and its normal form."""
        if person and kind == _EMAILS:
            return self._draw_email(person)
        return self._draw_phone() if kind == _PHONES else self._draw_date()

    def _draw_email(self, person: Person) -> tuple[str, str, str]:
        address = draw_email(self.rng, person.latin)
        if not self.twists:
            return address, "", address
        local, domain = address.split("@")
        return f"{local.title()}@{domain}", f"{local.upper()}@{domain}", address

    def _draw_phone(self) -> tuple[str, str, str]:
        region = self.region
        if self.twists and self.rng.random() < _FROM_ABROAD:
            region, form = REGIONS[region].abroad
            groups = draw_phone(self.rng, region)
            return form % groups, "", REGIONS[region].code + "".join(groups)
        groups = draw_phone(self.rng, region)
        forms = REGIONS[region].phones
        turn = int(self.rng.random() * len(forms))
        second_form = ""
        if self.twists:
            second_form = forms[(turn + 1) % len(forms)] % groups
        return forms[turn] % groups, second_form, REGIONS[region].code + "".join(groups)

    def _draw_date(self) -> tuple[str, str, str]:
        y, m, d = date = draw_date(self.rng)
        pick = self.rng.random()
        written = write_date(date, self.date_usage, self.language, pick)
        second_form = ""
        if self.twists:
            second_form = write_date(date, self.date_usage, self.language, (pick + _OTHER_FORM) % 1)
        return written, second_form, f"{y}-{m:02d}-{d:02d}"

    def repeat(self) -> None:
        """Repeat one entity in another notation: the set does not change."""
        if self.second_forms:
            kind, second_form = self.rng.choice(self.second_forms)
            self.written.append(second_form)
            self.lines.append(self.words.again[kind].format(e=second_form))

    def distract(self, count: int) -> dict[str, str]:
        """Insert sentences with `count` distractors; return written form → what it is."""
        distractors: dict[str, str] = {}
        draw = self.rng.random
        kinds = tuple(self.words.distractors.items())
        turn = int(draw() * len(kinds))
        for step in range(count):
            kind, sentences = kinds[(turn + step) % len(kinds)]
            written = self._draw_distractor(kind)
            distractors[written] = kind
            sentence = sentences[int(draw() * len(sentences))].format(x=written)
            self.lines.insert(int(draw() * (len(self.lines) + 1)), sentence)
        return distractors

    def _draw_distractor(self, kind: str) -> str:
        draw = self.rng.random
        number = int(draw() * 9000) + 1000
        if kind == "an order number":
            return f"{number}-{int(draw() * 90) + 10}"  # six digits: seven would be a local US number
        if kind == "a price":
            return self._write_price(number)
        if kind == "a time":
            return f"{number % 12 + 8}:{number % 4 * 15:02d}"
        if kind == "a handle":
            return f"@{'_'.join(self._draw_person().latin)}"
        if kind == "a partial date":
            month = MONTHS[self.language][number % 12]
            day = int(draw() * 28) + 1
            return f"{month} {day}" if self.date_usage == "US" else f"{day} {month}"
        return str(number % 400 + 100)

    def _write_price(self, number: int) -> str:
        if self.language == "ru":
            return f"{number:,} {_ROUBLES[self.region]}".replace(",", " ")
        return f"{_SIGNS[self.region]}{number:,}"

    def lay_out(self) -> str:
        """Lay out opening, sentences and closing in one of the forms; the last form is a list."""
        words, draw = self.words, self.rng.random
        turn = int(draw() * len(words.forms))
        joint = "\n- " if turn == len(words.forms) - 1 else " "
        # The order of the draws is that of all items so far: none may be moved.
        openings, closings = self.scenario.openings, words.closings
        opening, closing = openings[int(draw() * len(openings))], closings[int(draw() * len(closings))]
        reader, writer = self._draw_person(), self._draw_person()
        text = words.forms[turn].format(
            subject=self.scenario.subject,
            given=reader.first_name,
            reader=reader.n,
            reader_d=reader.d,
            writer=writer.n,
            sign=words.signs[int(draw() * len(words.signs))],
            body=f"{opening}{joint}{joint.join(self.lines)}{joint}{closing}",
        )
        # A date's full stop also ends its sentence; no English one has this letter.
        return text.replace("г..", "г.")
