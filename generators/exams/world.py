"""Worlds of the exam: buildings with single-valued facts, their sentences, claims about them, and exam items.

A claim keeps its meaning (`form`, `relation`, `value`, `subject`) beside its words, so that its truth follows from
the facts by separate rules. `metrics.exam` scores the replies.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from data.draw import canonical
from data.exam import EXAM, KIND, QUESTIONS, TRUTH, family_of
from data.records import Family, Item
from generators._texts import by_language
from prompts import render

Value = int | str | list[int]
Values = Mapping[str, Any]
Balanced = Callable[[Values, int], Sequence[Values]]
LANGUAGES = ("en", "ru", "zh")
RELATIONS = ("founded", "city", "height", "visitors", "architect", "holiday", "material", "rooms", "cause")
NAMED = RELATIONS[:7]  # the relations whose value alone identifies them in a sentence
TEMPLATES: Mapping[str, str] = {
    "split": "claims/split",
    "entails": "claims/entails",
    "support": "citation/support",
    "correctness": "citation/correctness",
    "groundedness": "groundedness/rate",
    "rubric": "rubric/rate",
    "preference": "preference/compare",
}
"""The prompts of the judged steps, by their exams' names."""
MARK = "exam"  # the code of the fences in an item's own prompt; judges' prompts have their own


def exam_family(
    exam: str,
    version: int,
    levels: Mapping[str, Mapping[str, Any]],
    generate: Callable[..., Item],
    balanced: Balanced,
    **titles: str,
) -> Family:
    """Return the family of an exam, which is there in every language; `titles` are by language."""
    return Family(
        name=family_of(exam),
        version=version,
        levels=levels,
        generate=generate,
        languages=LANGUAGES,
        titles=titles,
        balanced=balanced,
    )


def examine(exam: str, language: str, questions: Mapping[str, Values], truth: Any, **facts: Any) -> Item:
    """Make an item of questions with a known truth; its prompt joins the judge's own prompts for all of them."""
    prompts = [render(TEMPLATES[exam], language, **values, mark=MARK) for values in questions.values()]
    listed = [{"key": key, "values": dict(values)} for key, values in questions.items()]
    return Item(
        prompt="\n\n".join(dict.fromkeys(prompts)),
        answer=truth if isinstance(truth, str) else canonical(truth),
        facts={EXAM: exam, QUESTIONS: listed, TRUTH: truth, "response": "", **facts},
        template=str(facts[KIND]),
    )


def in_turn(*truths: str) -> Balanced:
    """Return a family's `balanced`: each truth n times, in turn; a larger n starts with the same questions."""
    return lambda _, n: [{"truth": truth} for _ in range(n) for truth in truths]


def shuffled(rng: Random, listed: Iterable[Any]) -> list[Any]:
    """Return a list in random order."""
    given = list(listed)
    return rng.sample(given, len(given))


@dataclass(frozen=True, slots=True)
class BuildingWords:
    """A language's words; its file documents the fields.

    `kinds` are nominative, genitive, pronoun and possessive of each kind of building; `heights` format n metres as
    they are, in centimetres, and in a wrong unit; `sayings`, by relation, and `rooms`, by how many are heated, have
    three wordings each, the last about a building just named; `forms` turn statements into claims; `common` are
    true facts that no text states; `answers` wrap or replace an answer; `criterion` is that of ratings, `preferred`
    that of comparisons in which only facts may count.
    """

    kinds: Mapping[str, tuple[str, str, str, str]]
    syllables: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    heights: tuple[str, str, str]
    questions: Mapping[str, str]
    sayings: Mapping[str, tuple[str, str, str]]
    rooms: Mapping[str, tuple[str, str, str]]
    forms: Mapping[str, str]
    common: tuple[str, ...]
    answers: Mapping[str, str]
    criterion: str
    preferred: str


words = by_language(BuildingWords, "exam")
"""A language's words."""


@dataclass(frozen=True, slots=True)
class Building:
    """A building: its kind, its name, and its facts by relation."""

    language: str
    kind: str
    name: str
    facts: Mapping[str, Value]

    @property
    def forms(self) -> dict[str, str]:
        """The forms that fill a template: nominative, genitive, pronoun, possessive."""
        forms = zip(("s", "g", "he", "his"), words(self.language).kinds[self.kind], strict=True)
        return {key: form.format(name=self.name) for key, form in forms}

    def as_dict(self) -> dict[str, Any]:
        """Return the building as JSON."""
        return {"kind": self.kind, "name": self.name, "facts": dict(self.facts)}


def draw_building(rng: Random, language: str, relations: Sequence[str], *, unlike: str = "") -> Building:
    """Draw a building with a value for each relation, and a name other than `unlike`."""
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
    """Draw a different value: a nearby number, or a date in another month."""
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
    """Draw a value that is clearly wrong: a distant number, another month, or two other names."""
    while True:
        found = draw_value(rng, language, relation)
        if isinstance(found, list) and isinstance(value, list):
            far = found[1] != value[1]
        elif isinstance(found, int) and isinstance(value, int):
            far = abs(found - value) >= {"founded": 20, "height": 15, "visitors": 1000}[relation]
        elif relation == "architect":
            one, other = ({*str(name)} if language == "zh" else {*str(name).split()} for name in (found, value))
            far = not one & other
        else:
            far = found != value
        if far:
            return found


def surface(language: str, relation: str, value: Value, unit: int = 0) -> str:
    """Return a value as written in a sentence; `unit` 1 gives a height in centimetres, 2 in a wrong unit."""
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
    """Return the possible spellings of a value in a reworded text."""
    found = [surface(language, relation, value)]
    if relation == "height":
        named = {"en": ("m", "meters", "metre", "meter"), "ru": ("метров", "метра", "метр"), "zh": (" 米",)}
        found += [f"{value}{'' if language == 'zh' else ' '}{unit}" for unit in named[language]]
        found += [f"{value}-metre", f"{value}-meter"] if language == "en" else []
    if relation == "visitors" and isinstance(value, int):
        found += [f"{value:,}".replace(",", mark) for mark in (",", " ", "\u00a0", "\u202f", ".")]
    if relation == "holiday" and language == "en":
        day, month = surface(language, relation, value).split(" ")
        teen = 10 < int(day) < 20  # noqa: PLR2004 - eleventh to nineteenth
        nth = day + ("th" if teen else {"1": "st", "2": "nd", "3": "rd"}.get(day[-1], "th"))
        found += [f"{month} {day}", f"{month} {nth}", f"{nth} of {month}", f"{nth} {month}", f"{day} of {month}"]
    return found


def phrase(building: Building, relation: str, value: Value, style: int = 0, unit: int = 0) -> str:
    """Return a statement without capitalisation and full stop; style 2 is about a building just named."""
    language = building.language
    if relation == "rooms":
        return words(language).rooms[str(value)][style].format(**building.forms)
    said = words(language).sayings[relation][style]
    return said.format(**building.forms, v=surface(language, relation, value, unit))


def sentence(language: str, text: str) -> str:
    """Return a statement as a sentence."""
    return text[:1].upper() + text[1:] + ("。" if language == "zh" else ".")


def join(language: str, sentences: Sequence[str]) -> str:
    """Return sentences as a text."""
    return ("" if language == "zh" else " ").join(sentences)


def state(building: Building, values: Mapping[str, Value], style: int = 0, unit: int = 0) -> str:
    """State values of a building in sentences of one style."""
    language = building.language
    said = [phrase(building, relation, value, style, unit) for relation, value in values.items()]
    return join(language, [sentence(language, one) for one in said])


def ask(building: Building, relations: Iterable[str]) -> str:
    """Return a question about facts of a building."""
    questions, forms = words(building.language).questions, building.forms
    return join(building.language, [questions[one].format(**forms) for one in relations])


def tell(rng: Random, building: Building, *, pronouns: bool) -> list[str]:
    """Return the building's facts as sentences in random order; `pronouns` may replace its name after the first."""
    relations, told = list(building.facts), []
    rng.shuffle(relations)
    for number, relation in enumerate(relations):
        style = 2 if pronouns and number and rng.random() < 0.7 else rng.randrange(2)  # noqa: PLR2004 - most
        told.append(sentence(building.language, phrase(building, relation, building.facts[relation], style)))
    return told


def tell_two(
    rng: Random, language: str, facts: int, *, rival: bool, pronouns: bool
) -> tuple[Building, Building | None, list[str]]:
    """State facts of a building and, with `rival`, also of another one that shares some relations."""
    building = draw_building(rng, language, rng.sample(RELATIONS, facts))
    told = tell(rng, building, pronouns=pronouns)
    if not rival:
        return building, None, told
    other = draw_building(rng, language, tuple(building.facts)[:3], unlike=building.name)
    return building, other, told + tell(rng, other, pronouns=False)


SUPPORTED, CONTRADICTED, NEUTRAL = "SUPPORTED", "CONTRADICTED", "NEUTRAL"


class Change(NamedTuple):
    """A way to turn a fact into a claim: the resulting truth and form.

    `only` is the only relation that it applies to; `other`: it gives the relation another value; `unit`: the unit
    of a height (see `surface`).
    """

    truth: str
    form: str = "plain"
    only: str = ""
    other: bool = False
    unit: int = 0


CHANGES: Mapping[str, Change] = {
    "same": Change(SUPPORTED),
    "paraphrase": Change(SUPPORTED),
    "unit": Change(SUPPORTED, "unit", only="height", unit=1),
    "not_other": Change(SUPPORTED, "not", other=True),
    "double": Change(SUPPORTED, "double"),
    "weaker": Change(SUPPORTED, only="rooms"),
    "changed": Change(CONTRADICTED, other=True),
    "swapped": Change(CONTRADICTED),
    "wrong_unit": Change(CONTRADICTED, "wrong_unit", only="height", unit=2),
    "not": Change(CONTRADICTED, "not"),
    "double_other": Change(CONTRADICTED, "double", other=True),
    "reversed": Change(CONTRADICTED, "reversed", only="cause"),
    "unstated": Change(NEUTRAL),
    "partial": Change(NEUTRAL, "both"),
    "common": Change(NEUTRAL, "common"),
    "not_unstated": Change(NEUTRAL, "not"),
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim: its words, its meaning, how it was made, and whether the text supports it."""

    text: str
    says: Mapping[str, Any]
    change: str
    truth: str


def draw_claim(
    rng: Random, building: Building, changes: Sequence[str], *, rival: Building | None = None, wanted: str = ""
) -> Claim:
    """Make a claim with a random one of the changes; `wanted` is its truth, '' for any."""
    while True:
        change = rng.choice([one for one in changes if not wanted or CHANGES[one].truth == wanted])
        if change == "common":
            text = rng.choice(words(building.language).common)
            says: dict[str, Any] = {"form": "common", "text": text}
        elif possible := _relations(building, change, rival):
            text, says = _claim(rng, building, change, rng.choice(possible), rival)
        else:
            continue
        return Claim(sentence(building.language, text), says, change, CHANGES[change].truth)


def _claim(
    rng: Random, building: Building, change: str, relation: str, rival: Building | None
) -> tuple[str, dict[str, Any]]:
    """Return a claim about a relation of a building, and its meaning."""
    language, form = building.language, CHANGES[change].form
    value = building.facts.get(relation, "any")
    if change == "weaker":
        value = "any"
    elif change == "swapped" and rival is not None:
        value = rival.facts[relation]
    elif relation not in building.facts:
        value = draw_value(rng, language, relation)
    elif CHANGES[change].other:
        value = other_value(rng, language, relation, value)
    says: dict[str, Any] = {"subject": building.name, "relation": relation, "value": value, "form": form}
    text = phrase(building, relation, value, rng.randrange(2), CHANGES[change].unit)
    forms = words(language).forms
    if form in {"not", "double"}:
        text = forms[form].format(one=text)
    elif form == "reversed":
        text = forms[form].format(**building.forms, v=surface(language, relation, value))
    elif form == "both":
        missing = rng.choice(_missing(building))
        also = draw_value(rng, language, missing)
        text = forms[form].format(one=text, two=phrase(building, missing, also))
        says["also"] = {"relation": missing, "value": also}
    return text, says


def _missing(building: Building) -> list[str]:
    return [one for one in RELATIONS if one not in building.facts]


def _relations(building: Building, change: str, rival: Building | None) -> list[str]:
    known, only = list(building.facts), CHANGES[change].only
    if change in {"unstated", "not_unstated"}:
        return _missing(building)
    if change == "swapped":
        theirs = rival.facts if rival else {}
        return [one for one in known if one in theirs and theirs[one] != building.facts[one]]
    if change == "partial" and not _missing(building):
        return []
    if only:
        bare = change == "weaker" and building.facts.get(only) == "none"
        return [only] if only in known and not bare else []
    return known
