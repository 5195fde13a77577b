"""Write e-mails, memos, notes and notices around entities that are drawn on the way."""

from functools import cache
from random import Random
from typing import NamedTuple

from generators.data_extraction.correspondence import Language, Person, Scenario, correspondence, people
from generators.data_extraction.entities import (
    ABROAD,
    CODES,
    MONTHS,
    PHONE_FORMS,
    draw_date,
    draw_email,
    draw_phone,
    write_date,
)

KINDS = ("emails", "phones", "dates")
_EMAILS, _PHONES = 0, 1
_SIGNS = {"US": "$", "GB": "£", "RU": "RUB "}
_ROUBLES = {"US": "долл.", "GB": "ф. ст.", "RU": "руб."}
_FROM_ABROAD = 0.25
"""Share of numbers that are from abroad, where a level has twists."""
_OTHER_FORM = 0.4
"""How far, of all forms, a second notation of a date lies from the first."""


class EntitySentence(NamedTuple):
    """A sentence around an entity; `person` says that it names somebody too."""

    before: str
    after: str
    person: bool


def _split(sentences: tuple[str, ...]) -> tuple[EntitySentence, ...]:
    parts = (sentence.partition("{e}") for sentence in sentences)
    return tuple(EntitySentence(before, after, "{" in before + after) for before, _, after in parts)


@cache
def _sentences(language: str, scenario: str) -> tuple[tuple[EntitySentence, ...], ...]:
    """Return the sentences for each kind of entity, cut at the entity: joining is faster than formatting."""
    words = correspondence(language)
    dates = next(one.dates for one in words.scenarios if one.name == scenario)
    return _split(words.emails), _split(words.phones), _split(dates)


class LetterDraft:
    """A text in the making: its sentences, and the entities that they hold, by kind in the order of `KINDS`."""

    __slots__ = (
        "again", "dates", "found", "language", "lines", "people", "region", "rng", "scenario", "sentences", "turn",
        "twists", "words", "written",
    )  # fmt: skip

    def __init__(self, rng: Random, language: str, drawn: str, *, twists: bool) -> None:
        """Begin a text in a language, drawn as one in the language `drawn` is: its region, people and entities."""
        draw = rng.random
        self.rng = rng
        self.language = language
        self.words: Language = correspondence(language)
        self.twists = twists
        self.people = people(drawn, language)
        self.region = "RU" if drawn == "ru" else ("US", "GB")[int(draw() * 2)]
        self.dates = self.region if drawn == language else language
        self.found: tuple[list[str], list[str], list[str]] = ([], [], [])
        self.written: list[str] = []
        self.lines: list[str] = []
        self.again: list[tuple[str, str]] = []
        self.scenario: Scenario = self.words.scenarios[int(draw() * len(self.words.scenarios))]
        self.sentences = _sentences(language, self.scenario.name)
        self.turn = int(draw() * 8)

    def _person(self) -> Person:
        return self.people[int(self.rng.random() * len(self.people))]

    def add(self, kind: int) -> None:
        """Add a sentence with a new entity; one that the text has already is drawn again."""
        choices, found = self.sentences[kind], self.found[kind]
        before, after, named = choices[(self.turn + len(found)) % len(choices)]  # in turn: none comes twice
        person = self._person() if named or kind == _EMAILS else None
        while True:
            written, other, normal = (
                self._email(person)
                if person and kind == _EMAILS
                else self._phone()
                if kind == _PHONES
                else self._date()
            )
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
            region, form = ABROAD[region]
            groups = draw_phone(self.rng, region)
            return form % groups, "", CODES[region] + "".join(groups)
        groups = draw_phone(self.rng, region)
        forms = PHONE_FORMS[region]
        turn = int(self.rng.random() * len(forms))
        other = forms[(turn + 1) % len(forms)] % groups if self.twists else ""
        return forms[turn] % groups, other, CODES[region] + "".join(groups)

    def _date(self) -> tuple[str, str, str]:
        y, m, d = when = draw_date(self.rng)
        chance = self.rng.random()
        written = write_date(when, self.dates, self.language, chance)
        other = write_date(when, self.dates, self.language, (chance + _OTHER_FORM) % 1) if self.twists else ""
        return written, other, f"{y}-{m:02d}-{d:02d}"

    def repeat(self) -> None:
        """Name one entity again in another notation: the set stays as it is."""
        if self.again:
            kind, other = self.rng.choice(self.again)
            self.written.append(other)
            self.lines.append(self.words.again[kind].format(e=other))

    def distract(self, count: int) -> dict[str, str]:
        """Put in sentences with `count` things that are no entities; written form → what it is."""
        distractors: dict[str, str] = {}
        draw = self.rng.random
        kinds = tuple(self.words.distractors)
        turn = int(draw() * len(kinds))
        for step in range(count):
            kind = kinds[(turn + step) % len(kinds)]
            sentences = self.words.distractors[kind]
            written = self._distractor(kind)
            distractors[written] = kind
            sentence = sentences[int(draw() * len(sentences))].format(x=written)
            self.lines.insert(int(draw() * (len(self.lines) + 1)), sentence)
        return distractors

    def _distractor(self, kind: str) -> str:
        draw = self.rng.random
        number = int(draw() * 9000) + 1000
        if kind == "an order number":
            return f"{number}-{int(draw() * 90) + 10}"  # six digits: a seventh would make a local US number
        if kind == "a price":
            thousands, rest = divmod(number, 1000)
            form = (
                "{} {:03d} " + _ROUBLES[self.region] if self.language == "ru" else _SIGNS[self.region] + "{},{:03d}"
            )
            return form.format(thousands, rest)
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
        """Put the opening, the sentences and the closing into one of the forms; the last form is a list."""
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
        # A date's own full stop ends its sentence too.
        return text.replace("г..", "г.") if self.language == "ru" else text
