"""First names with their gender and, in Russian, their case forms."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from basic_control.generators._texts import by_language

Gender = Literal["f", "m"]

_ENDINGS = (
    # nominative, then genitive, dative, accusative, instrumental, prepositional; the first match is used
    ("ия", ("ии", "ии", "ию", "ией", "ии")),
    ("я", ("и", "е", "ю", "ей", "е")),
    ("га", ("ги", "ге", "гу", "гой", "ге")),
    ("ка", ("ки", "ке", "ку", "кой", "ке")),
    ("а", ("ы", "е", "у", "ой", "е")),
    ("ий", ("ия", "ию", "ия", "ием", "ии")),
    ("й", ("я", "ю", "я", "ем", "е")),
    ("ь", ("я", "ю", "я", "ем", "е")),
    ("", ("а", "у", "а", "ом", "е")),
)
_STEMS = {"Павел": "Павл", "Пётр": "Петр"}


_by_gender = by_language(dict[Gender, list[str]], "names")


@cache
def genders(language: str) -> Mapping[str, Gender]:
    """Return the names of a language, each with its gender."""
    return {name: gender for gender, listed in _by_gender(language).items() for name in listed}


@cache
def names(language: str) -> tuple[str, ...]:
    """Return the names of a language."""
    return tuple(genders(language))


def renamed(people: Sequence[str], drawn: str, language: str) -> list[str]:
    """Map each name to one of the same gender in another language, distinct names to distinct names."""
    if drawn == language:
        return [*people]
    there, here, new = genders(drawn), genders(language), list[str]()
    for name in people:
        known = [one for one in here if here[one] == there[name]]
        first = [one for one in there if there[one] == there[name]].index(name)
        ring = [known[(first + step) % len(known)] for step in range(len(known))]
        new.append(next(one for one in ring if one not in new))
    return new


@cache
def cases(name: str) -> tuple[str, ...]:
    """Return a name's forms: nominative, genitive, dative, accusative, instrumental, prepositional.

    A name that is not in the Russian list has one form.
    """
    if name not in genders("ru"):
        return (name,)
    for ending, others in _ENDINGS:
        if name.endswith(ending):
            stem = _STEMS.get(name, name.removesuffix(ending))
            return (name, *(stem + other for other in others))
    raise AssertionError(name)  # the last ending matches every name
