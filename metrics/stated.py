"""Stated metric: another tool's score of a recorded reply, from its log, for comparison with ours."""

from collections.abc import Mapping
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.records import Found, Sample, Score

NAME = "stated"


@metric(
    name=NAME,
    internal=True,
    needs=("stated",),
    title={"en": "Stated by the other tool", "ru": "Указано другим инструментом"},
)
def tool_score(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Return the row's `stated` unchanged.

    Source: SPEC 13.
    """
    stated = sample.get("stated")
    if isinstance(stated, bool | int | float) and 0 <= stated <= 1:
        return Score(float(stated), reason="as the log states")
    return Score(None, "not_applicable", "the log states no score between 0 and 1")
