"""The probabilities that deciding judges gave, a row for each of their answers and a column for each label."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

KEYS = ("item_id", "model", "repeat", "metric")


def probability_table(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the answers of deciding judges in a scores table.

    `label` is the most probable one, `expected` the mean level of a rating (null of other answers), and
    `probability.LABEL` that of a label (null where the question does not have it).
    """
    rows = [answer for row in scores.iter_rows(named=True) for answer in _answers(row)]
    labels = dict.fromkeys(name for row in rows for name in row if name.startswith("probability."))
    kinds = dict.fromkeys(("judge", "step", "question", "label"), pl.String)
    schema = {name: scores.schema[name] for name in KEYS} | kinds
    numbers = dict.fromkeys(("expected", *labels), pl.Float64)
    return pl.DataFrame(rows, {**schema, **numbers}, orient="row")


def _answers(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if '"probabilities"' not in row["details"]:
        return
    for judge, result in json.loads(row["details"]).get("judges", {}).items():
        for step, questions in result.get("probabilities", {}).items():
            for question, shares in questions.items():
                yield {
                    **{name: row[name] for name in KEYS},
                    "judge": judge,
                    "step": step,
                    "question": question,
                    "label": max(shares, key=shares.__getitem__),
                    "expected": _find_mean_level(shares),
                    **{f"probability.{label}": share for label, share in shares.items()},
                }


def _find_mean_level(shares: Mapping[str, float]) -> float | None:
    """Return the mean level; None if the labels are no levels."""
    # As in: -1, 0, 1
    if not all(label.lstrip("-").isdecimal() for label in shares):
        return None
    return sum(int(label) * share for label, share in shares.items())
