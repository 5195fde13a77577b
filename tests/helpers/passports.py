"""Passports of judges made by hand, and scores tables of what judges said."""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from basic_control.metrics.analysis.passports import Passport
from basic_control.metrics.exam import LABELS
from basic_control.metrics.stats.calibration import MeanRate, contrast
from basic_control.metrics.stats.intervals import Share


def rate(k: int, n: int) -> MeanRate:
    """Return a rate, k of n questions."""
    return MeanRate(k / n if n else 0.0, n)


def passport(exam: str, table: Sequence[Sequence[int]], judge: str = "judge") -> Passport:
    """Return the passport of a judge that an exam heard say so; the answers are in the table's order."""
    labels, nothing = LABELS[exam], Share.of(0, 0)
    yes, no = table[0], table[1:]
    sensitivity = Share.of(yes[0], sum(yes))
    specificity = Share.of(sum(map(sum, no)) - sum(row[0] for row in no), sum(map(sum, no)))
    pairs = [
        pair
        for truth, row in zip(labels, table, strict=True)
        for said, k in zip(labels, row, strict=True)
        for pair in [(truth, said)] * k
    ]
    return Passport(
        judge,
        exam,
        "en",
        labels,
        tuple(map(tuple, table)),
        sensitivity=sensitivity,
        specificity=specificity,
        contrast=contrast(table, sensitivity, specificity, of_two=exam == "entails"),
        kappa=None,
        right=Share.of(sum(row[n] for n, row in enumerate(table)), sum(map(sum, table))),
        failed=nothing,
        repeated=nothing,
        answers={str(place): pair for place, pair in enumerate(pairs)},
    )


def tables(metric: str, details: Sequence[dict[str, Any]], suite: str = "rag") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return scores and items of one judge's details, an item each."""
    names = [f"i{n}" for n in range(len(details))]
    judged = [
        json.dumps({"aggregate": "mean", "judges": {"judge": {"value": 0.5, "status": "scored", "details": d}}})
        for d in details
    ]
    scores = pl.DataFrame({"item_id": names, "model": "m", "repeat": 0, "metric": metric, "details": judged})
    items = pl.DataFrame({"item_id": names, "suite": suite, "family": "", "template": "", "language": "en"})
    return scores, items


def claims(*verdicts: str) -> dict[str, Any]:
    return {
        "response_claims": [{"verdict": one} for one in verdicts],
        "reference_claims": [{"verdict": "SUPPORTED"}],
    }
