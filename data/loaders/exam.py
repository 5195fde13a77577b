"""Questions to judges whose truth is known: those that ship with the product, and sets that people labelled.

No model is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from basic_control.data.decorators import loader
from basic_control.data.draw import choose_rows, source
from basic_control.data.exam import MOST, STEPS, Step, exam_item, part_of
from basic_control.data.labelled_sets import SETS, list_set_files, read_set
from basic_control.data.loaders.families import Wrong
from basic_control.data.options import Frozen, Seed
from basic_control.data.records import Item

Row = Mapping[str, Any]
ABOUT = frozenset({"step", "language", "level", "truth", "subject", "way"})
"""Columns about a question; the others hold the values of its prompt."""
RESULT = {"first": "better", "tie": "tie", "second": "worse"}
"""The winner of two responses as the result of the first."""


class Options(Frozen):
    """Judged steps, number of questions of each truth, and difficulty."""

    steps: tuple[Step, ...] = Field(STEPS, min_length=1, description="judged steps that are examined")
    n_items: int = Field(
        20, ge=1, description="questions of each truth, for each step and language, over the levels"
    )
    levels: tuple[Literal["easy", "medium", "hard"], ...] = Field(
        ("easy", "medium", "hard"), min_length=1, description="of the questions"
    )
    languages: tuple[Literal["en", "ru", "zh"], ...] = Field(("en",), min_length=1, description="of the questions")
    seed: Seed = Field(42, description="random seed for the choice of questions")
    twice: bool = Field(default=True, description="ask every second question again: does the verdict change?")
    data: tuple[str, ...] = Field((), description=f"human-labelled sets, already fetched: {', '.join(SETS)}")
    n_data: int = Field(
        100, ge=1, le=100_000, description="questions from each labelled set; all if there are fewer"
    )

    @field_validator("data", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        """Accept comma-separated names."""
        return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def check(options: Mapping[str, Any]) -> Iterator[Wrong]:
    """Yield errors: unknown labelled sets, and more questions than there are."""
    for index, name in enumerate(options["data"]):
        if name not in SETS:
            yield ("data", index), f"unknown labelled set {name!r}; expected some of {', '.join(SETS)}"
    n, limit = options["n_items"], MOST * len(options["levels"])
    if n > limit:
        reason = f"the exam has {MOST} questions of each truth at each level; n_data alone may be larger"
        yield ("n_items",), f"found {n}, expected at most {limit}: {reason}"


def _share(options: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield each level with its equal share of the questions of each truth."""
    levels = options["levels"]
    whole, remainder = divmod(options["n_items"], len(levels))
    for position, level in enumerate(levels):
        yield level, whole + (position < remainder)


def _draw(step: str, language: str, level: str, n: int, seed: int) -> Iterator[tuple[list[Row], bool]]:
    """Yield `n` questions of each truth, and for each whether it is one of every second.

    The rows of a question are about one subject: several claims about a text are asked at once, one of each truth.
    A larger `n` begins with the same questions.
    """
    subjects: dict[str, list[Row]] = {}
    for row in _read_rows(step, language, level):
        subjects.setdefault(row["subject"], []).append(row)
    strata: dict[tuple[str, ...], list[list[Row]]] = {}
    for rows in subjects.values():
        truths = tuple(sorted(row["truth"] for row in rows))
        strata.setdefault(truths, []).append(rows)
    rng = source("exam", part_of(step).version, step, language, level, seed)
    for questions in strata.values():
        # A whole shuffle, of which a larger exam takes more.
        order = rng.sample(questions, len(questions))
        for position, rows in enumerate(order[:n]):
            yield rows, position % 2 == 0


@cache
def _read_rows(step: str, language: str, level: str) -> list[Row]:
    """Return the rows of a step, language and level."""
    import polars as pl  # slow, and only a run needs it

    rows = pl.read_parquet(part_of(step).file).filter(step=step, language=language, level=level)
    return [*rows.iter_rows(named=True)]


def _compose(step: str, rows: Sequence[Row], *, twice: bool) -> Item:
    """Return the item of a question."""
    row = rows[0]
    values = {name: value for name, value in row.items() if value is not None and name not in ABOUT}
    questions, truth = [values], row["truth"]
    if step == "entails":
        claims = [{"id": str(n), "text": row["claim"]} for n, row in enumerate(rows, 1)]
        truth = {str(n): row["truth"] for n, row in enumerate(rows, 1)}
        questions = [{"claims": claims, "source": row["source"]}]
    elif step == "split":
        truth = values.pop("facts")
    elif step == "preference":
        questions = [values, {**values, "first": values["second"], "second": values["first"]}]
        truth = RESULT[truth]
    kinds = dict.fromkeys(row["way"] for row in rows)
    return exam_item(step, row["language"], ", ".join(kinds), truth, questions, twice=twice)


def _list_files(options: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of the examined steps and of the labelled sets."""
    yield from dict.fromkeys(part_of(step).file for step in options["steps"])
    for name in options["data"]:
        yield from list_set_files(name)


def count(options: Mapping[str, Any]) -> int:
    """Return the number of questions."""
    total = len([*exam_questions.load({**options, "data": ()}, ())])
    for name in options["data"]:
        total += min(int(options["n_data"]), len(read_set(name)))
    return total


@loader(
    name="exam",
    version=4,
    options=Options,
    files=lambda options: [*_list_files(options)],
    check=check,
    count=count,
)
def exam_questions(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
    """Yield the questions; their responses are empty, since only the judge is asked."""
    # First of all, to report missing sets at once.
    labelled = [read_set(name) for name in options["data"]]
    seed = options["seed"]
    for step, language in product(options["steps"], options["languages"]):
        for level, n in _share(options):
            for index, (rows, twice) in enumerate(_draw(step, language, level, n, seed)):
                item = _compose(step, rows, twice=twice and options["twice"])
                yield replace(item, level=level, index=index, seed=seed)
    for items in labelled:
        for index in choose_rows(len(items), method="random", n=options["n_data"], seed=seed):
            yield replace(items[index], index=index, seed=seed)
