"""The probabilities that deciding judges gave, a row for each of their answers and a column for each label."""

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import Any

import polars as pl

_PREFIX = "probability."
KEYS = ("item_id", "model", "repeat", "metric")


def probability_table(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the answers of deciding judges in a scores table.

    `label` is the most probable one, `expected` the mean level of a rating (null of other answers), and
    `probability.LABEL` that of a label (null where the question does not have it).
    """
    rows = [*chain.from_iterable(map(_list_answers, scores.iter_rows(named=True)))]
    columns = dict.fromkeys(chain.from_iterable(rows))
    labels = [name for name in columns if name.startswith(_PREFIX)]
    kinds = dict.fromkeys(("judge", "step", "question", "label"), pl.String)
    keys = dict(scores.select(KEYS).schema)
    numbers = dict.fromkeys(("expected", *labels), pl.Float64)
    return pl.DataFrame(rows, {**keys, **kinds, **numbers}, orient="row")


def _list_answers(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if '"probabilities"' not in row["details"]:
        return
    for judge, result in json.loads(row["details"]).get("judges", {}).items():
        for step, questions in result.get("probabilities", {}).items():
            for question, shares in questions.items():
                yield {
                    **dict(zip(KEYS, itemgetter(*KEYS)(row), strict=True)),
                    "judge": judge,
                    "step": step,
                    "question": question,
                    "label": max(shares, key=shares.__getitem__),
                    "expected": _find_mean_level(shares),
                    **{f"{_PREFIX}{label}": share for label, share in shares.items()},
                }


def _find_mean_level(shares: Mapping[str, float]) -> float | None:
    """Return the mean level; None if the labels are no levels."""
    mean = 0.0
    for label, share in shares.items():
        # As in: -1, 0, 1
        if not label.lstrip("-").isdecimal():
            return None
        mean += int(label) * share
    return mean
