"""Correct metric: the verdict of the item's family's verifier as a value."""

import json
from collections.abc import Mapping
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.records import VALUED, Found, Sample, Score

BESIDE = ("precision", "recall", "similarity")
"""Values in [0, 1] that a verifier may put in its details, reported as separate metrics."""


def _beside(written: str) -> dict[str, float]:
    """Return the values in a verdict's details (canonical JSON), without parsing if there are none."""
    if not any(name in written for name in BESIDE):
        return {}
    details = json.loads(written)
    return {name: float(details[name]) for name in BESIDE if isinstance(details.get(name), int | float)}


@metric(verifies=True, yes_no=True, title={"en": "Correct", "ru": "Верно"})
def correct(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Convert a verdict (`sample["verdict"]`: correct, status, reason, details) to a value and its parts.

    Source: SPEC 2.
    """
    verdict = sample["verdict"]
    if verdict["status"] not in VALUED:
        return Score(None, verdict["status"], verdict["reason"])
    value = 1.0 if verdict["correct"] else 0.0
    return Score(value, verdict["status"], verdict["reason"], parts=_beside(verdict["details"]))
