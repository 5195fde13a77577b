"""Items drawn by generated families (`generators/`)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pydantic import Field, field_validator

from basic_control.data.decorators import loader
from basic_control.data.draw import draw
from basic_control.data.errors import InputError
from basic_control.data.options import Frozen, Seed, names
from basic_control.data.plugins import family
from basic_control.data.records import Family, Item

Wrong = tuple[tuple[str | int, ...], str]
"""The path of an option, and its error."""


def _distinct(values: Sequence[str]) -> Sequence[str]:
    """Refuse a duplicate name, whose items would count twice."""
    if repeated := sorted({value for value in values if values.count(value) > 1}):
        raise ValueError(f"{repeated[0]!r} is listed twice")
    return values


class Options(Frozen):
    """Families, number of items of each, and difficulty."""

    families: tuple[str, ...] = Field(min_length=1, description="names or seed ids of families")
    n_items: int = Field(10, ge=1, le=10_000_000, description="items for each family, level and language")
    levels: tuple[str, ...] = Field(("easy",), min_length=1, description="of each family")
    languages: tuple[str, ...] = Field(("en",), min_length=1, description="of the questions")
    seed: Seed = Field(42, description="random seed for the items")
    options: dict[str, dict[str, Any]] = Field(default_factory=dict, description="options of a family, by its name")

    _once = field_validator("levels", "languages", "families")(_distinct)


def units(options: Mapping[str, Any]) -> dict[str, Family]:
    """Return the families by canonical name, in the order asked for."""
    return {unit.name: unit for unit in map(family, options["families"])}


def check(options: Mapping[str, Any]) -> Iterator[Wrong]:
    """Yield errors: unknown or duplicate families, levels, languages and options."""
    found: dict[str, Family] = {}
    for index, name in enumerate(options["families"]):
        try:
            unit = family(name)
        except InputError as error:
            yield ("families", index), str(error).rstrip(".")
            return
        if unit.name in found:
            yield ("families", index), f"{unit.name} is listed twice, once as {unit.seed_id}"
        found[unit.name] = unit
    for unit in found.values():
        if wrong := lacking(unit, options):
            yield wrong
            return
    yield from _check_options(options["options"])


def lacking(unit: Family, options: Mapping[str, Any]) -> Wrong | None:
    """Return the first level or language that a family does not have."""
    for kind, known in (("levels", tuple(unit.levels)), ("languages", unit.languages)):
        for index, value in enumerate(options[kind]):
            if value not in known:
                return (kind, index), f"family {unit.name} has no {value!r}; expected one of {', '.join(known)}"
    return None


def _check_options(given: Mapping[str, Mapping[str, Any]]) -> Iterator[Wrong]:
    """Yield options that a family does not have, and options given for one family in two places."""
    for name, own in given.items():
        try:
            unit = family(name)
        except InputError as error:
            yield ("options", name), str(error).rstrip(".")
            continue
        if name != unit.name and unit.name in given:
            yield ("options", name), f"{name!r} and {unit.name!r} are the same family; set its options in one place"
        known = names(unit.options)
        for option in own:
            if option not in known:
                there = ", ".join(known) or "none"
                yield ("options", name, option), f"unknown option {option!r}; expected one of {there}"


def count(options: Mapping[str, Any]) -> int:
    """Return the number of items drawn."""
    strata = len(options["families"]) * len(options["levels"]) * len(options["languages"])
    return strata * int(options["n_items"])


def offer(options: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    """Return options that draw `most` items, the same number of each family, level and language."""
    return {**options, "n_items": max(1, most // count({**options, "n_items": 1}))}


@loader(name="families", options=Options, generated=True, units=units, check=check, offer=offer, count=count)
def family_items(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
    """Draw `n_items` of each family, level and language; no prompt of a family occurs twice in a run."""
    own = {family(name).name: given for name, given in options["options"].items()}
    seed, n = options["seed"], options["n_items"]
    for name, unit in units(options).items():
        given, seen = own.get(name), set[str]()
        for language, level in product(options["languages"], options["levels"]):
            yield from draw(unit, level=level, language=language, seed=seed, count=n, options=given, prompts=seen)
