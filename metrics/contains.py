"""Contains metric: any, all or none of some texts are in the reply, ignoring case."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from data.options import Frozen
from data.records import Expectation, Found, Metric, Sample, Score
from metrics._expected import expect_texts
from metrics._replies import NO_EXPECTED, NO_REPLY, bounded, folded, reply, spaced, texts, unemphasised


class Options(Frozen):
    """Which texts, and how many of them."""

    mode: Literal["any", "all", "none"] = Field("any", description="how many of the texts the reply must contain")
    words: bool = Field(default=True, description="only whole words count: 'art' is not in 'start'")
    texts: tuple[str, ...] = Field((), description="the texts to look for; by default the row's answer")


def holds(reply: str, text: str, *, words: bool) -> bool:
    """Return whether a reply contains a text, ignoring case, with white space normalised.

    Markdown's emphasis is not part of a word: `_Paris_`. All apostrophes are equal, and ё equals е.
    """
    text, reply = (folded(one).casefold() for one in (text, reply))
    reply = reply if "_" in text else unemphasised(reply)
    return re.search(bounded(text), reply) is not None if words else text in reply


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply contains any, all or none of the texts, as configured, else 0.

    Source: SPEC 14.
    """
    wanted = [text for text in options["texts"] or texts(sample) if spaced(text)]
    if not wanted:
        return NO_EXPECTED
    if not (said := reply(sample)):
        return NO_REPLY
    there = [holds(said, text, words=options["words"]) for text in wanted]
    right = {"any": any(there), "all": all(there), "none": not any(there)}[options["mode"]]
    if right:
        return Score(1.0, reason="as expected")
    none = options["mode"] == "none"
    listed = [text for text, held in zip(wanted, there, strict=True) if held == none]
    if none:
        return Score(0.0, reason="holds an unwanted text", details={"unwanted": listed})
    return Score(0.0, reason="a text is missing", details={"missing": listed})


UNIT = Metric(
    name="contains",
    version=6,
    bounds=(0.0, 1.0),
    score=score,
    options=Options,
    needs=lambda options: () if options["texts"] else ("answer",),
    expects=lambda sample, options: Expectation() if options["texts"] else expect_texts(sample, options),
    yes_no=True,
    title={"en": "Contains", "ru": "Содержит"},
)
