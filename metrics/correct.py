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
    del found, options
    verdict = sample["verdict"]
    if verdict["status"] not in VALUED:
        return Score(None, verdict["status"], verdict["reason"])
    details = json.loads(verdict["details"])
    beside = {name: float(details[name]) for name in BESIDE if isinstance(details.get(name), int | float)}
    return Score(1.0 if verdict["correct"] else 0.0, verdict["status"], verdict["reason"], parts=beside)


UNIT = Metric(
    name="correct",
    version=1,
    bounds=(0.0, 1.0),
    score=score,
    verifies=True,
    yes_no=True,
    title={"en": "Correct", "ru": "Верно"},
)
