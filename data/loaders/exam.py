"""Questions to judges with known truths: drawn by `generators/exam_*`, or of sets that people labelled.

No model is asked.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from data.draw import draw
from data.errors import InputError
from data.exam import TRUTH
from data.labelled_sets import SETS, files_of, read_set
from data.options import Frozen, Seed
from data.plugins import family
from data.records import Family, Item, Loader
from data.sampling import choose

_POOL = 6
"""Questions drawn for each that is kept where truths are balanced."""
FAMILIES = ("entailment", "support", "splitting", "correctness", "groundedness", "rubric", "preference", "bias")


class Options(Frozen):
    """Which families, how many questions of each, and how hard."""

    families: tuple[str, ...] = Field(
        tuple(f"exam_{one}" for one in FAMILIES), min_length=1, description="names of families of the exam"
    )
    n_items: int = Field(20, ge=1, le=100_000, description="questions for each family, level and language")
    levels: tuple[str, ...] = Field(("easy", "medium", "hard"), min_length=1, description="of each family")
    languages: tuple[str, ...] = Field(("en",), min_length=1, description="of the questions")
    balanced: bool = Field(default=False, description="as many questions of each truth, as far as it goes")
    seed: Seed = Field(42, description="what the questions are drawn from")
    data: tuple[str, ...] = Field((), description=f"sets that people labelled, fetched: {', '.join(SETS)}")
    n_data: int = Field(100, ge=1, le=100_000, description="questions of each such set; all where there are fewer")

    @field_validator("data", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """Take names with commas between them."""
        return [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else value


def units(options: Mapping[str, Any]) -> dict[str, Family]:
    """Return the families by name."""
    return {name: family(name) for name in options["families"]}


def check(options: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield what is wrong: families, levels, languages and labelled sets that do not exist, or that are no exam."""
    for index, name in enumerate(options["data"]):
        if name not in SETS:
            yield ("data", index), f"no labelled set {name!r}; expected some of {', '.join(SETS)}"
    for index, name in enumerate(options["families"]):
        try:
            unit = family(name)
        except InputError as error:
            yield ("families", index), str(error).rstrip(".")
            return
        for kind, known in (("levels", tuple(unit.levels)), ("languages", unit.languages)):
            for place, value in enumerate(options[kind]):
                if value not in known:
                    yield (kind, place), f"family {name} has no {value!r}; expected one of {', '.join(known)}"
                    return


def load(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield the questions; the response of each is empty, since it is the judge that is asked."""
    del required  # a family gives all that its step needs
    sets = [read_set(name) for name in options["data"]]  # first of all: what was not fetched is told at once
    for unit in units(options).values():
        seen: set[str] = set()
        for language in options["languages"]:
            for level in options["levels"]:
                drawn = draw(
                    unit,
                    level=level,
                    language=language,
                    seed=options["seed"],
                    count=options["n_items"] * (_POOL if options["balanced"] else 1),
                    seen=seen,
                )
                yield from balanced(drawn, options["n_items"]) if options["balanced"] else drawn
    for every in sets:
        for place in choose(len(every), method="random", n=options["n_data"], seed=options["seed"]):
            yield replace(every[place], index=place, seed=options["seed"])


def files(options: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of the labelled sets."""
    for name in options["data"]:
        yield from files_of(name)


def balanced(drawn: Iterable[Item], n: int) -> Iterator[Item]:
    """Yield n of the items drawn: each time the first whose truths have come up least so far."""
    left = list(drawn)
    counts: Counter[str] = Counter()
    for _ in range(min(n, len(left))):
        chosen = min(left, key=lambda item: max(counts[one] for one in _truths(item)))
        left.remove(chosen)
        counts.update(_truths(chosen))
        yield chosen


def _truths(item: Item) -> list[str]:
    truth = item.facts[TRUTH]
    return [str(one) for one in truth.values()] if isinstance(truth, Mapping) else [str(truth)[:80]]


UNIT = Loader(name="exam", version=1, load=load, options=Options, files=files, units=units, check=check)
