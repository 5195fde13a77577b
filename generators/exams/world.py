"""Worlds of the exam: buildings with facts of one value each, told in sentences; and claims about them.

A claim is kept as what it says (`form`, `relation`, `value`, `subject`), beside its words, so that its truth can be
proved from the facts by rules of one's own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from generators.exams.words import RELATIONS, words

Value = int | str | list[int]
FULL_STOP = {"zh": "。"}
LANGUAGES = ("en", "ru", "zh")


@dataclass(frozen=True, slots=True)
class Building:
    """A building: its kind and name, and what is true of it, by relation."""

    language: str
    kind: str
    name: str
    facts: Mapping[str, Value]

    @property
    def forms(self) -> dict[str, str]:
        """What fills a template: nominative, genitive, pronoun, possessive."""
        keys = ("s", "g", "he", "his")
        forms = words(self.language).kinds[self.kind]
        return {key: form.format(name=self.name) for key, form in zip(keys, forms, strict=True)}

    def as_dict(self) -> dict[str, Any]:
        """Return the building as JSON."""
        return {"kind": self.kind, "name": self.name, "facts": dict(self.facts)}


def draw_building(rng: Random, language: str, relations: Sequence[str], *, unlike: str = "") -> Building:
    """Draw a building with a value for each relation; its name is another one than `unlike`."""
    syllables = words(language).syllables
    name = unlike
    while name == unlike:
        name = "".join(rng.sample(syllables, 2 if language == "zh" else rng.choice((2, 3)))).capitalize()
    kind = rng.choice(tuple(words(language).kinds))
    return Building(language, kind, name, {relation: draw_value(rng, language, relation) for relation in relations})


def draw_value(rng: Random, language: str, relation: str) -> Value:
    """Draw a value: a number, a text, or the day and month of a holiday."""
    drawn = _DRAWN.get(relation)
    return drawn(rng, language) if drawn else rng.choice(words(language).values[relation])


def _draw_name(rng: Random, language: str) -> Value:
    first, last = (rng.choice(words(language).values[part]) for part in ("first", "last"))
    return last + first if language == "zh" else f"{first} {last}"


_DRAWN: Mapping[str, Callable[[Random, str], Value]] = {
    "founded": lambda rng, _: rng.randrange(1711, 1990),
    "height": lambda rng, _: rng.randrange(12, 96),
    "visitors": lambda rng, _: 10 * rng.randrange(201, 990),
    "holiday": lambda rng, _: [rng.randrange(2, 29), rng.randrange(1, 13)],
    "rooms": lambda rng, _: rng.choice(("all", "none", "part")),
    "architect": _draw_name,
}


def other_value(rng: Random, language: str, relation: str, value: Value) -> Value:
    """Draw a value that differs; a number near it, a date in another month."""
    while True:
        if relation in {"founded", "height"} and isinstance(value, int):
            found: Value = value + rng.choice((-9, -3, -2, -1, 1, 2, 3, 9))
        elif relation == "visitors" and isinstance(value, int):
            found = value + 10 * rng.choice((-90, -9, -1, 1, 9, 90))
        else:
            found = draw_value(rng, language, relation)
        if found != value:
            return found


def far_value(rng: Random, language: str, relation: str, value: Value) -> Value:
    """Draw a value that nobody would call nearly right: a number far from it, another month, both names others."""
    while True:
        found = draw_value(rng, language, relation)
        if isinstance(found, list) and isinstance(value, list):
            far = found[1] != value[1]
        elif isinstance(found, int) and isinstance(value, int):
            far = abs(found - value) >= _FAR[relation]
        elif relation == "architect":
            far = not _parts(language, found) & _parts(language, value)
        else:
            far = found != value
        if far:
            return found


_FAR: Mapping[str, int] = {"founded": 20, "height": 15, "visitors": 1000}


def _parts(language: str, name: Value) -> set[str]:
    return {*str(name)} if language == "zh" else {*str(name).split()}


def surface(language: str, relation: str, value: Value, unit: int = 0) -> str:
    """Return a value as it stands in a sentence; `unit` 1 says a height in centimetres, 2 in a wrong unit."""
    if relation == "height" and isinstance(value, int):
        return words(language).heights[unit].format(n=value, c=100 * value)
    if relation == "holiday" and isinstance(value, list):
        day, month = value
        if language == "zh":
            return f"{month}月{day}日"
        named = words(language).values["month"][month - 1]
        return f"{named} {day}" if unit and language == "en" else f"{day} {named}"
    return str(value)


def surfaces(language: str, relation: str, value: Value) -> list[str]:
    """Return the ways in which a value may be written where a text is put in other words."""
    found = [surface(language, relation, value)]
    if relation == "height":
        named = {"en": ("m", "meters", "metre", "meter"), "ru": ("метров", "метра", "метр"), "zh": (" 米",)}
        found += [f"{value}{'' if language == 'zh' else ' '}{unit}" for unit in named[language]]
        found += [f"{value}-metre", f"{value}-meter"] if language == "en" else []
    if relation == "visitors" and isinstance(value, int):
        found += [f"{value:,}".replace(",", mark) for mark in (",", " ", "\u00a0", "\u202f", ".")]
    if relation == "holiday" and language == "en":
        day, month = surface(language, relation, value).split(" ")
        found += [f"{month} {day}", f"{month} {day}th", f"{day}th of {month}", f"{day} of {month}"]
    return found


def phrase(building: Building, relation: str, value: Value, style: int = 0, unit: int = 0) -> str:
    """Return a statement without its capital and full stop; style 2 is about a building just named."""
    language = building.language
    if relation == "rooms":
        return words(language).rooms[str(value)][style].format(**building.forms)
    said = words(language).sayings[relation][style]
    return said.format(**building.forms, v=surface(language, relation, value, unit))


def sentence(language: str, text: str) -> str:
    """Return a statement as a sentence."""
    return text[:1].upper() + text[1:] + FULL_STOP.get(language, ".")


def join(language: str, sentences: Sequence[str]) -> str:
    """Return sentences as a text."""
    return ("" if language == "zh" else " ").join(sentences)


def state(building: Building, values: Mapping[str, Value], style: int = 0, unit: int = 0) -> str:
    """State values of a building in sentences of one wording."""
    language = building.language
    said = [phrase(building, relation, value, style, unit) for relation, value in values.items()]
    return join(language, [sentence(language, one) for one in said])


def ask(building: Building, relations: Iterable[str]) -> str:
    """Ask for facts of a building."""
    questions, forms = words(building.language).questions, building.forms
    return join(building.language, [questions[one].format(**forms) for one in relations])


def tell(rng: Random, building: Building, *, pronouns: bool) -> list[str]:
    """Return the building's facts as sentences in random order, with pronouns after the first where wanted."""
    relations = list(building.facts)
    rng.shuffle(relations)
    told = []
    for number, relation in enumerate(relations):
        style = 2 if pronouns and number and rng.random() < 0.7 else rng.randrange(2)  # noqa: PLR2004 - most
        told.append(sentence(building.language, phrase(building, relation, building.facts[relation], style)))
    return told


def tell_two(
    rng: Random, language: str, facts: int, *, rival: bool, pronouns: bool
) -> tuple[Building, Building | None, list[str]]:
    """Tell so many facts of a building and, where there is a rival, of another one some that the first has too."""
    building = draw_building(rng, language, rng.sample(RELATIONS, facts))
    told = tell(rng, building, pronouns=pronouns)
    if not rival:
        return building, None, told
    other = draw_building(rng, language, tuple(building.facts)[:3], unlike=building.name)
    return building, other, told + tell(rng, other, pronouns=False)


SUPPORTED, CONTRADICTED, NEUTRAL = "SUPPORTED", "CONTRADICTED", "NEUTRAL"
CHANGES: Mapping[str, str] = {
    "same": SUPPORTED,
    "paraphrase": SUPPORTED,
    "unit": SUPPORTED,
    "not_other": SUPPORTED,
    "double": SUPPORTED,
    "weaker": SUPPORTED,
    "changed": CONTRADICTED,
    "swapped": CONTRADICTED,
    "wrong_unit": CONTRADICTED,
    "not": CONTRADICTED,
    "double_other": CONTRADICTED,
    "reversed": CONTRADICTED,
    "unstated": NEUTRAL,
    "partial": NEUTRAL,
    "common": NEUTRAL,
    "not_unstated": NEUTRAL,
}
"""Ways to make a claim from a fact, and what they make of it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim's words, what it says, how it was made, and whether the text supports it."""

    text: str
    says: Mapping[str, Any]
    change: str
    truth: str


def claim(rng: Random, building: Building, change: str, *, rival: Building | None = None) -> Claim | None:
    """Make a claim about a building in one of the ways; None where this building has no fact for it."""
    language, truth = building.language, CHANGES[change]
    if change == "common":
        text = rng.choice(words(language).common)
        return Claim(sentence(language, text), {"form": "common", "text": text}, change, truth)
    possible = _relations(building, change, rival)
    if not possible:
        return None
    relation = rng.choice(possible)
    value = _claimed(rng, building, change, relation, rival)
    form = _FORMS.get(change, "plain")
    says: dict[str, Any] = {"subject": building.name, "relation": relation, "value": value, "form": form}
    text = phrase(building, relation, value, rng.randrange(2), _UNITS.get(change, 0))
    forms = words(language).forms
    if form in {"not", "double"}:
        text = forms[form].format(one=text)
    if form == "reversed":
        text = forms[form].format(**building.forms, v=surface(language, relation, value))
    if form == "both":
        missing = rng.choice(_missing(building))
        also = draw_value(rng, language, missing)
        text = forms[form].format(one=text, two=phrase(building, missing, also))
        says["also"] = {"relation": missing, "value": also}
    return Claim(sentence(language, text), says, change, truth)


_UNITS: Mapping[str, int] = {"unit": 1, "wrong_unit": 2}
_FORMS: Mapping[str, str] = {
    "unit": "unit",
    "wrong_unit": "wrong_unit",
    "not": "not",
    "not_other": "not",
    "not_unstated": "not",
    "double": "double",
    "double_other": "double",
    "reversed": "reversed",
    "partial": "both",
}


def _missing(building: Building) -> list[str]:
    return [one for one in RELATIONS if one not in building.facts]


def _claimed(rng: Random, building: Building, change: str, relation: str, rival: Building | None) -> Value:
    """Return the value that a claim is to give a relation."""
    if change == "weaker":
        return "any"
    if change == "swapped" and rival is not None:
        return rival.facts[relation]
    if relation not in building.facts:
        return draw_value(rng, building.language, relation)
    fact = building.facts[relation]
    return other_value(rng, building.language, relation, fact) if change in _OTHER else fact


_OTHER = frozenset({"changed", "not_other", "double_other"})
_ONLY: Mapping[str, str] = {"unit": "height", "wrong_unit": "height", "weaker": "rooms", "reversed": "cause"}


def _relations(building: Building, change: str, rival: Building | None) -> list[str]:
    """Return the relations that a change can be made with."""
    known = list(building.facts)
    if change in {"unstated", "not_unstated"}:
        return _missing(building)
    if change == "swapped":
        theirs = rival.facts if rival else {}
        return [one for one in known if one in theirs and theirs[one] != building.facts[one]]
    if change == "partial" and not _missing(building):
        return []
    if only := _ONLY.get(change):
        bare = change == "weaker" and building.facts.get(only) == "none"
        return [only] if only in known and not bare else []
    return known


def draw_claim(
    rng: Random, building: Building, changes: Sequence[str], *, rival: Building | None = None, wanted: str = ""
) -> Claim:
    """Make a claim by a random one of the changes; `wanted` is the truth that it is to have."""
    while True:
        change = rng.choice([one for one in changes if not wanted or CHANGES[one] == wanted])
        if made := claim(rng, building, change, rival=rival):
            return made
