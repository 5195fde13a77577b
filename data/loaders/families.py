"""Items drawn by generated families (`generators/`)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pydantic import Field, field_validator

from basic_control.data.decorators import loader
from basic_control.data.draw import draw
from basic_control.data.errors import InputError
from basic_control.data.options import Frozen, Seed, list_option_names
from basic_control.data.plugins import family
from basic_control.data.records import Family, Item

Wrong = tuple[tuple[str | int, ...], str]
"""The path of an option, and its error."""


def _refuse_repeated(values: Sequence[str]) -> Sequence[str]:
    """Refuse a duplicate name, whose items would count twice."""
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
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

    _once = field_validator("levels", "languages", "families")(_refuse_repeated)


def units(options: Mapping[str, Any]) -> dict[str, Family]:
    """Return the families by canonical name, in the order asked for."""
    return {unit.name: unit for unit in map(family, options["families"])}


def check(options: Mapping[str, Any]) -> Iterator[Wrong]:
    """Yield errors: unknown or duplicate families, levels, languages and options."""
    families: dict[str, Family] = {}
    for index, name in enumerate(options["families"]):
        try:
            unit = family(name)
        except InputError as error:
            yield ("families", index), str(error).rstrip(".")
            return
        if unit.name in families:
            yield ("families", index), f"{unit.name} is listed twice, once as {unit.seed_id}"
        families[unit.name] = unit
    # One error of a level or a language is enough: most often each family has it.
    for unit in families.values():
        error = find_lacking(unit, options)
        if error:
            yield error
            return
    yield from _check_options(options["options"])


def find_lacking(unit: Family, options: Mapping[str, Any]) -> Wrong | None:
    """Return the first level or language that a family does not have."""
    for kind, expected in (("levels", tuple(unit.levels)), ("languages", unit.languages)):
        for index, value in enumerate(options[kind]):
            if value not in expected:
                return (kind, index), f"family {unit.name} has no {value!r}; expected one of {', '.join(expected)}"
    return None


def _check_options(options_by_family: Mapping[str, Mapping[str, Any]]) -> Iterator[Wrong]:
    """Yield options that a family does not have, and options given for one family in two places."""
    for name, values in options_by_family.items():
        try:
            unit = family(name)
        except InputError as error:
            yield ("options", name), str(error).rstrip(".")
            continue
        if name != unit.name and unit.name in options_by_family:
            yield ("options", name), f"{name!r} and {unit.name!r} are the same family; set its options in one place"
        declared = list_option_names(unit.options)
        for option in values:
            if option not in declared:
                expected = ", ".join(declared) or "none"
                yield ("options", name, option), f"unknown option {option!r}; expected one of {expected}"


def count(options: Mapping[str, Any]) -> int:
    """Return the number of items drawn."""
    strata = len(options["families"]) * len(options["levels"]) * len(options["languages"])
    return strata * int(options["n_items"])


def offer(options: Mapping[str, Any], maximum: int) -> Mapping[str, Any]:
    """Return options that draw at most so many items, the same number of each family, level and language."""
    n_strata = count({**options, "n_items": 1})
    return {**options, "n_items": max(1, maximum // n_strata)}


@loader(name="families", options=Options, generated=True, units=units, check=check, offer=offer, count=count)
def family_items(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
    """Draw `n_items` of each family, level and language; no prompt of a family occurs twice in a run."""
    options_by_family = {family(name).name: values for name, values in options["options"].items()}
    seed, n = options["seed"], options["n_items"]
    for name, unit in units(options).items():
        values, prompts = options_by_family.get(name), set[str]()
        for language, level in product(options["languages"], options["levels"]):
            yield from draw(
                unit, level=level, language=language, seed=seed, count=n, options=values, prompts=prompts
            )
