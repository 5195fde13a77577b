"""The wording of facts about an order: properties, sentences and questions in English and Russian."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from generators._people import Gender, cases, genders


class Questions(NamedTuple):
    """The wordings of a question: of two people, of the top, of the bottom, and of a place between."""

    more: str
    less: str
    top: str
    bottom: str
    between: str


class Property(NamedTuple):
    """What people are compared by, worded for a first person or a group of either gender.

    `sentences` are the wordings of each kind of fact, the property's words filled in; `distinct` says that no two
    are equal.
    """

    sentences: Mapping[Gender, Mapping[str, tuple[str, ...]]]
    questions: Mapping[Gender, Questions]
    distinct: str


_ENGLISH = (
    # adjective, more, less, most, least; where only the adjective stands: more, less, most and least of it.
    "tall taller shorter tallest shortest", "old older younger oldest youngest",
    "fast faster slower fastest slowest", "strong stronger weaker strongest weakest",
    "heavy heavier lighter heaviest lightest", "rich richer poorer richest poorest",
    "happy happier sadder happiest saddest", "tidy tidier messier tidiest messiest",
    "patient", "polite", "generous", "courageous", "talkative", "cautious",
)  # fmt: skip
_RUSSIAN = (
    # comparatives up and down, adjectives up and down
    "выше ниже высокий низкий", "старше младше старший младший", "быстрее медленнее быстрый медленный",
    "сильнее слабее сильный слабый", "тяжелее легче тяжёлый лёгкий", "богаче беднее богатый бедный",
    "веселее грустнее весёлый грустный", "терпеливее нетерпеливее терпеливый нетерпеливый",
    "вежливее грубее вежливый грубый", "щедрее скупее щедрый скупой", "смелее трусливее смелый трусливый",
    "разговорчивее молчаливее разговорчивый молчаливый", "аккуратнее неряшливее аккуратный неряшливый",
    "осторожнее беспечнее осторожный беспечный",
)  # fmt: skip

SENTENCES = MappingProxyType(
    {
        # Numbers stand for a fact's persons in order, then (in Russian) their genitives, then the count. The first
        # two wordings of 'above' hold even where two people may be equal.
        "en": {
            "above": (
                "{0} is {more} than {1}.", "{1} is {less} than {0}.",
                "{1} is not {more} than {0}.", "{0} is not {less} than {1}.",
            ),
            "not_top": ("{0} is not the {most}.",),
            "not_bottom": ("{0} is not the {least}.",),
            "inner": ("{0} is neither the {most} nor the {least}.",),
            "between": (
                "{0} is {less} than {1} but {more} than {2}.", "{0} is {more} than {2} but {less} than {1}.",
            ),
            "only_above": ("Only {0} is {more} than {1}.",),
            "only_below": ("Only {0} is {less} than {1}.",),
            "count_above": ("Exactly {1} people are {more} than {0}.",),
        },
        "ru": {
            "above": ("{0} {more} {3}.", "{1} {less} {2}.", "{1} не {more} {2}.", "{0} не {less} {3}."),
            "not_top": ("{0} не {most}.",),
            "not_bottom": ("{0} не {least}.",),
            "inner": ("{0} не {most} и не {least}.",),
            "between": ("{0} {less} {4}, но {more} {5}.", "{0} {more} {5}, но {less} {4}."),
            "only_above": ("Только {0} {more} {3}.",),
            "only_below": ("Только {0} {less} {3}.",),
            "count_above": ("Ровно {2} человека {more} {1}.",),
        },
    }
)  # fmt: skip
QUESTIONS = MappingProxyType(
    {
        "en": Questions(
            more="Who is {more}?",
            less="Who is {less}?",
            top="Who is the {most}?",
            bottom="Who is the {least}?",
            between="If everyone is lined up {ends}, who stands in the {ordinal} place?",
        ),
        "ru": Questions(
            more="Кто из них {more}?",
            less="Кто из них {less}?",
            top="Кто из них {most}?",
            bottom="Кто из них {least}?",
            between="Если выстроить всех {ends}, кто окажется на {ordinal} месте?",
        ),
    }
)
SCENES = MappingProxyType(
    {
        "en": (
            "{} are in a room.", "{} are waiting at a bus stop.", "{} work in the same office.",
            "{} are sitting at one table.", "{} share a flat.", "{} play in one orchestra.",
            "{} are on a hike together.", "{} have met at a market.",
        ),
        "ru": (
            "В комнате {}.", "На остановке стоят {}.", "В одном отделе работают {}.", "За одним столом сидят {}.",
            "В одной квартире живут {}.", "В одном оркестре играют {}.", "В поход вместе пошли {}.",
            "На рынке встретились {}.",
        ),
    }
)  # fmt: skip
_COUNTS = MappingProxyType({"en": {2: "two", 3: "three"}, "ru": {2: "два", 3: "три"}})
_ORDINALS = MappingProxyType(
    {
        "en": ("first", "second", "third", "fourth", "fifth"),
        "ru": ("первом", "втором", "третьем", "четвёртом", "пятом"),
    }
)
PLACES = len(_ORDINALS["en"])
"""Places from the top that have a word."""


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

    def fill(text: str, gender: Gender) -> str:
        for slot, word in words[gender].items():
            text = text.replace(f"{{{slot}}}", word)
        return text

    both: tuple[Gender, ...] = ("f", "m")
    return Property(
        {
            gender: {
                kind: tuple(fill(text, gender) for text in texts) for kind, texts in SENTENCES[language].items()
            }
            for gender in both
        },
        {gender: Questions(*(fill(text, gender) for text in QUESTIONS[language])) for gender in both},
        distinct,
    )


def _english(line: str) -> Property:
    base, *rest = line.split()
    more, less, most, least = rest or [f"{word} {base}" for word in ("more", "less", "most", "least")]
    words = {"more": more, "less": less, "most": most, "least": least, "ends": f"from the {most} to the {least}"}
    return _worded({"f": words, "m": words}, f"No two of them are equally {base}.", "en")


def _russian(line: str) -> Property:
    more, less, high, low = line.split()
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
def properties(language: str) -> tuple[Property, ...]:
    """Return the properties that people are compared by in a language."""
    return tuple(map(_russian, _RUSSIAN)) if language == "ru" else tuple(map(_english, _ENGLISH))


def wordings(by: Property, kind: str, first: str, language: str) -> tuple[str, ...]:
    """Return the wordings of a kind of fact; the words agree with its first person in gender."""
    return by.sentences[genders(language)[first]][kind]


def state(sentence: str, people: Sequence[str], language: str, count: int = 0) -> str:
    """Fill the people, and the count where there is one, into a wording."""
    slots = [*people, *(cases(name)[1] for name in people)] if language == "ru" else [*people]
    if count:
        slots.append(_COUNTS[language][count])
    return sentence.format(*slots)


def ask(by: Property, place: int, people: Sequence[str], language: str) -> str:
    """Word the question who stands at a place (0: the top); feminine only when all are women."""
    known, last = genders(language), len(people) - 1
    questions = by.questions["f" if all(known[name] == "f" for name in people) else "m"]
    if last == 1:
        return questions.less if place else questions.more
    if place in (0, last):
        return questions.bottom if place else questions.top
    return questions.between.format(ordinal=_ORDINALS[language][place])


def listed(people: Sequence[str], language: str) -> str:
    """Join names: 'Anna, Boris and Vera'."""
    return f"{', '.join(people[:-1])} {'и' if language == 'ru' else 'and'} {people[-1]}"
