"""Questions to judges with known truths, drawn by the families `generators/exam_*`; no model is asked."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from data.draw import draw
from data.errors import InputError
from data.exam import TRUTH
from data.options import Frozen, Seed
from data.plugins import family
from data.records import Family, Item, Loader

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


def units(options: Mapping[str, Any]) -> dict[str, Family]:
    """Return the families by name."""
    return {name: family(name) for name in options["families"]}


def check(options: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield what is wrong: families, levels and languages that do not exist, or that are no exam."""
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
    """Draw the questions; the response of each is empty, since it is the judge that is asked."""
    del required  # a family gives all that its step needs
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


UNIT = Loader(name="exam", version=1, load=load, options=Options, units=units, check=check)
