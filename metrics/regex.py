"""Regex metric: a pattern is found in the reply, or its group equals the expected answer."""

import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from basic_control.data.options import Frozen
from basic_control.data.records import Expectation, Found, Metric, Sample, Score
from basic_control.metrics._expected import expect_texts
from basic_control.metrics._replies import NO_REPLY, reply, spaced, texts

if TYPE_CHECKING:
    import regex

LIMIT_S = 2.0
"""CPU seconds for one reply, after which a backtracking pattern is stopped."""
SHOWN = 200
_PATIENCE = 6
"""Maximum doublings of the wall limit if a busy machine leaves the match too little CPU."""

Flag = Literal["i", "m", "s", "x"]


class Options(Frozen):
    """The pattern and its flags."""

    pattern: str = Field(min_length=1, description="a regular expression (the package regex, as Python's re)")
    group: int | str = Field(0, description="0: a match suffices; another: that group must equal the row's answer")
    flags: tuple[Flag, ...] = Field(
        (), description="i: ignore case; m: ^ and $ match at lines; s: . matches line breaks; x: verbose"
    )

    @field_validator("pattern")
    @classmethod
    def _valid(cls, value: str) -> str:
        import regex

        try:
            regex.compile(value)
        except regex.error as error:
            raise ValueError(f"not a regular expression ({error})") from error
        return value

    @model_validator(mode="after")
    def _grouped(self) -> Self:
        found = _compiled(self.pattern, self.flags)
        if self.group not in {*range(found.groups + 1), *found.groupindex}:
            there = ", ".join(map(str, (*range(found.groups + 1), *found.groupindex)))
            raise ValueError(f"group: the pattern has no group {self.group!r}, expected one of {there}")
        return self


def _compiled(pattern: str, flags: tuple[str, ...]) -> "regex.Pattern[str]":
    import regex  # not needed for listing the metrics

    return regex.compile(pattern, sum(getattr(regex, flag.upper()) for flag in flags))


def last(pattern: str, text: str, flags: tuple[str, ...]) -> "regex.Match[str] | None":
    """Return the last match.

    The limit is on this thread's CPU time, not wall time, so that a busy machine changes no verdict.

    Raises:
        TimeoutError: the pattern took too long.
    """
    found = _compiled(pattern, flags)
    wall = LIMIT_S
    for _ in range(_PATIENCE):
        began = time.thread_time()
        try:
            return next(iter(deque(found.finditer(text, timeout=wall), maxlen=1)), None)
        except TimeoutError:
            if time.thread_time() - began >= LIMIT_S:
                raise
            wall *= 2
    raise TimeoutError


def _compared(match: "regex.Match[str]", group: int | str, wanted: list[str]) -> Score:
    """Compare a group with the expected answers; if there are none, a match suffices."""
    if not group or not wanted:
        return Score(1.0, reason="matches", details={"match": match[0][:SHOWN]})
    held = match[group]
    details = {"match": (held or "")[:SHOWN]}
    if held is not None and spaced(held) in wanted:
        return Score(1.0, reason="equal", details=details)
    return Score(0.0, reason="another text", details=details)


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return how a row's answer is read, if a group is compared with it."""
    return expect_texts(sample, options) if options["group"] and "answer" in sample else Expectation()


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the pattern is found (group 0), or if the last match's group equals an expected answer; else 0.

    Source: SPEC 14.
    """
    if not (said := reply(sample)):
        return NO_REPLY
    try:
        match = last(options["pattern"], said, options["flags"])
    except TimeoutError:
        return Score(0.0, reason="the pattern took too long")
    if match is None:
        return Score(0.0, "no_answer" if options["group"] else "scored", "no match")
    return _compared(match, options["group"], [spaced(text) for text in texts(sample)])


UNIT = Metric(
    name="regex",
    version=1,
    bounds=(0.0, 1.0),
    score=score,
    options=Options,
    expects=expects,
    yes_no=True,
    title={"en": "Regular expression", "ru": "Регулярное выражение"},
)
