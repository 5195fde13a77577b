"""Correct: what the item's own family says of the reply; its verifier's verdict as a value."""

import json
from collections.abc import Mapping
from typing import Any

from data.records import VALUED, Found, Metric, Sample, Score

BESIDE = ("precision", "recall", "similarity")
"""Values in [0, 1] that a verifier may keep in its details, reported as metrics of their own."""


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Turn a verdict (`sample["verdict"]`: correct, status, reason, details) into a value, and those beside it.

    Source: SPEC 2.
    """
    verdict = sample["verdict"]
    if verdict["status"] not in VALUED:
        return Score(None, verdict["status"], verdict["reason"])
    value = 1.0 if verdict["correct"] else 0.0
    return Score(value, verdict["status"], verdict["reason"], parts=_beside(verdict["details"]))


def _beside(written: str) -> dict[str, float]:
    """Return the values kept in a verdict's details, as canonical JSON: most have none, and need no reading."""
    if not any(name in written for name in BESIDE):
        return {}
    details = json.loads(written)
    return {name: float(details[name]) for name in BESIDE if isinstance(details.get(name), int | float)}


UNIT = Metric(
    name="correct",
    version=1,
    bounds=(0.0, 1.0),
    score=score,
    verifies=True,
    yes_no=True,
    title={"en": "Correct", "ru": "Верно"},
)
