"""Contains metric: any, all or none of some texts are in the reply, in any notation."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen
from basic_control.data.reading.texts import collapse_spaces
from basic_control.data.records import Expectation, Found, Sample, Score
from basic_control.metrics._expected import expect_texts
from basic_control.metrics._replies import NO_EXPECTED, NO_REPLY, build_pattern, fold, reply, strip_emphasis, texts


class Options(Frozen):
    """Which texts, how many of them, and which differences count."""

    mode: Literal["any", "all", "none"] = Field("any", description="how many of the texts the reply must contain")
    words: bool = Field(default=True, description="only whole words count: 'art' is not in 'start'")
    texts: tuple[str, ...] = Field((), description="the texts to look for; by default the row's answer")
    case_sensitive: bool = Field(default=False, description="true: upper and lower case differ")
    raw: bool = Field(default=False, description="true: compare character by character")


def holds(reply: str, text: str, options: Mapping[str, Any]) -> bool:
    """Return whether a reply contains a text; Markdown's emphasis is not part of a word: `_Paris_`.

    Source: SPEC 14, 19.
    """
    if options["raw"]:
        return text in reply
    text, reply = fold(text), fold(reply)
    if not options["case_sensitive"]:
        text, reply = text.casefold(), reply.casefold()
    if "_" not in text:
        reply = strip_emphasis(reply)
    if not options["words"]:
        return text in reply
    return re.search(build_pattern(text), reply) is not None


def _differs_in_case(reply: str, missing: Iterable[str], options: Mapping[str, Any]) -> bool:
    """Return whether a reply contains what is missing from it, but for upper and lower case."""
    if options["raw"] or not options["case_sensitive"]:
        return False
    insensitive = {**options, "case_sensitive": False}
    return any(holds(reply, text, insensitive) for text in missing)


def needs(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the column that a row must have, unless the options say what to look for."""
    return () if options["texts"] else ("answer",)


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return how a row's answers are read, where they are looked for."""
    if options["texts"]:
        return Expectation()
    return expect_texts(sample, options)


@metric(
    version=7,
    options=Options,
    needs=needs,
    expects=expects,
    yes_no=True,
    title={"en": "Contains", "ru": "Содержит"},
)
def contains(sample: Sample, _: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply contains any, all or none of the texts, as configured, else 0.

    Source: SPEC 14.
    """
    looked_for = [*filter(collapse_spaces, options["texts"] or texts(sample))]
    if not looked_for:
        return NO_EXPECTED
    text = reply(sample)
    if not text:
        return NO_REPLY
    # A dict, since two texts may be equal and their order counts.
    present = {candidate: None for candidate in looked_for if holds(text, candidate, options)}
    missing = [candidate for candidate in looked_for if candidate not in present]
    is_right = {"any": bool(present), "all": not missing, "none": not present}[options["mode"]]
    if is_right:
        return Score(1.0, reason="as expected")
    if options["mode"] == "none":
        return Score(0.0, reason="holds an unwanted text", details={"unwanted": [*present]})
    if _differs_in_case(text, missing, options):
        return Score(0.0, reason="another case", details={"missing": missing})
    return Score(0.0, reason="a text is missing", details={"missing": missing})
