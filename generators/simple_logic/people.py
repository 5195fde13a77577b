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


_load_names = by_language(dict[Gender, list[str]], "names")


@cache
def genders(language: str) -> Mapping[str, Gender]:
    """Return the names of a language, each with its gender."""
    by_name: dict[str, Gender] = {}
    for gender, gender_names in _load_names(language).items():
        by_name |= dict.fromkeys(gender_names, gender)
    return by_name


@cache
def names(language: str) -> tuple[str, ...]:
    """Return the names of a language."""
    return tuple(genders(language))


def translate_names(people: Sequence[str], drawn: str, language: str) -> list[str]:
    """Map each name to one of the same gender in another language, distinct names to distinct names."""
    if drawn == language:
        return [*people]
    translated = list[str]()
    for name in people:
        gender = genders(drawn)[name]
        candidates, originals = _list_names(language, gender), _list_names(drawn, gender)
        # The name at the same index, or the next one that is free.
        start = originals.index(name) % len(candidates)
        ring = [*candidates[start:], *candidates[:start]]
        translated.append(next(candidate for candidate in ring if candidate not in translated))
    return translated


@cache
def _list_names(language: str, gender: Gender) -> tuple[str, ...]:
    return tuple(_load_names(language)[gender])


@cache
def cases(name: str) -> tuple[str, ...]:
    """Return a name's forms: nominative, genitive, dative, accusative, instrumental, prepositional.

    A name that is not in the Russian list has one form.
    """
    if name not in genders("ru"):
        return (name,)
    for ending, case_endings in _ENDINGS:
        if name.endswith(ending):
            stem = _STEMS.get(name, name.removesuffix(ending))
            return (name, *map(stem.__add__, case_endings))
    raise AssertionError(name)  # the last ending matches every name
