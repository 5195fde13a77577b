"""Questions to judges with known truths: drawn by `generators/exam_*`, or from human-labelled sets.

No model is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from pydantic import Field, field_validator

from data.draw import choose, draw
from data.errors import InputError
from data.labelled_sets import SETS, files_of, read_set
from data.loaders.families import Wrong, lacking
from data.options import Frozen, Seed
from data.plugins import family
from data.records import Family, Item, Loader

FAMILIES = (
    "entailment",
    "support",
    "splitting",
    "correctness",
    "groundedness",
    "rubric",
    "preference",
    "bias",
)
NAMES = tuple(f"exam_{one}" for one in FAMILIES)


class Options(Frozen):
    """Families, number of questions of each, and difficulty."""

    families: tuple[str, ...] = Field(NAMES, min_length=1, description="names of families of the exam")
    n_items: int = Field(
        20, ge=1, le=100_000, description="questions of each truth, for each family and language, over its levels"
    )
    levels: tuple[str, ...] = Field(("easy", "medium", "hard"), min_length=1, description="of each family")
    languages: tuple[str, ...] = Field(("en",), min_length=1, description="of the questions")
    seed: Seed = Field(42, description="random seed for the questions")
    data: tuple[str, ...] = Field((), description=f"human-labelled sets, already fetched: {', '.join(SETS)}")
    n_data: int = Field(
        100, ge=1, le=100_000, description="questions from each labelled set; all if there are fewer"
    )

    @field_validator("data", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """Accept comma-separated names."""
        return [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else value


def units(options: Mapping[str, Any]) -> dict[str, Family]:
    """Return the families by name."""
    return {name: family(name) for name in options["families"]}


def check(options: Mapping[str, Any]) -> Iterator[Wrong]:
    """Yield errors: unknown families, levels, languages and labelled sets, and families that are no exam."""
    for index, name in enumerate(options["data"]):
        if name not in SETS:
            yield ("data", index), f"unknown labelled set {name!r}; expected some of {', '.join(SETS)}"
    for index, name in enumerate(options["families"]):
        try:
            unit = family(name)
        except InputError as error:
            yield ("families", index), str(error).rstrip(".")
            return
        if unit.balanced is None:
            yield ("families", index), f"{name} is not an exam family; expected some of {', '.join(NAMES)}"
            return
        if wrong := lacking(unit, options):
            yield wrong
            return


def load(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
    """Yield the questions; their responses are empty, since only the judge is asked."""
    sets = [read_set(name) for name in options["data"]]  # first of all, to report missing sets at once
    seed = options["seed"]
    for unit in units(options).values():
        seen: set[str] = set()
        for language, (level, given) in product(options["languages"], plan(unit, options)):
            yield from draw(unit, level=level, language=language, seed=seed, given=given, seen=seen)
    for every in sets:
        for place in choose(len(every), method="random", n=options["n_data"], seed=seed):
            yield replace(every[place], index=place, seed=seed)


def plan(unit: Family, options: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Yield each level with the draw arguments of its questions: `n_items` of each truth, equally over levels."""
    balanced: Any = unit.balanced  # `check` made sure that there is one
    whole, rest = divmod(options["n_items"], len(options["levels"]))
    for place, level in enumerate(options["levels"]):
        if n := whole + (place < rest):
            yield level, balanced(unit.levels[level], n)


def count(options: Mapping[str, Any]) -> int:
    """Return the number of questions."""
    drawn = sum(len(given) for unit in units(options).values() for _, given in plan(unit, options))
    languages: Sequence[str] = options["languages"]
    return drawn * len(languages) + sum(min(int(options["n_data"]), len(read_set(one))) for one in options["data"])


UNIT = Loader(
    name="exam",
    version=2,
    load=load,
    options=Options,
    files=lambda options: [path for name in options["data"] for path in files_of(name)],
    units=units,
    check=check,
    count=count,
)
