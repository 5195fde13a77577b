"""Regex metric: a pattern is found in the reply, or its group equals the expected answer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen
from basic_control.data.reading.texts import collapse_spaces
from basic_control.data.records import Expectation, Found, Sample, Score
from basic_control.metrics._expected import expect_texts
from basic_control.metrics._patterns import SLOW, Pattern, compile_pattern, find_last, remove_matches
from basic_control.metrics._replies import NO_REPLY, reply, texts

if TYPE_CHECKING:
    import regex

SHOWN = 200
ANY = "any"
"""The group that is the first of a match's that is not empty."""

Flag = Literal["i", "m", "s", "x"]


class Options(Frozen):
    """The pattern and its flags."""

    pattern: Pattern = Field(min_length=1, description="a regular expression (the package regex, as Python's re)")
    group: int | str = Field(
        0,
        description="0: a match suffices; another: that group must equal the row's answer; any: the first group "
        "that is not empty",
    )
    flags: tuple[Flag, ...] = Field(
        (), description="i: ignore case; m: ^ and $ match at lines; s: . matches line breaks; x: verbose"
    )

    case_sensitive: bool = Field(
        default=True, description="false: the group may differ from the answer in upper and lower case"
    )
    ignore: tuple[Pattern, ...] = Field(
        (), description="patterns whose matches are removed from the group and the answer before they are compared"
    )

    @model_validator(mode="after")
    def _check_group(self) -> Self:
        compiled = compile_pattern(self.pattern, self.flags)
        groups = [*range(compiled.groups + 1), *compiled.groupindex]
        if compiled.groups:
            groups.append(ANY)
        if self.group not in groups:
            names = ", ".join(map(str, groups))
            raise ValueError(f"group: the pattern has no group {self.group!r}, expected one of {names}")
        return self


def _compare_group(match: "regex.Match[str]", sample: Sample, options: Mapping[str, Any]) -> Score:
    """Compare a group with the expected answers; if there are none, a match suffices."""
    group, answers = options["group"], list(texts(sample))
    if not group or not answers:
        return Score(1.0, reason="matches", details={"match": match[0][:SHOWN]})
    value: str | None
    if group == ANY and ANY not in match.re.groupindex:
        value = next(filter(None, match.groups()), None)
    else:
        value = match[group]
    details = {"match": (value or "")[:SHOWN]}
    expected = [_fold(answer, options) for answer in answers]
    if value is not None and _fold(value, options) in expected:
        return Score(1.0, reason="equal", details=details)
    return Score(0.0, reason="another text", details=details)


def _fold(text: str, options: Mapping[str, Any]) -> str:
    """Return a text without what does not count between a group and an answer."""
    text = collapse_spaces(remove_matches(options["ignore"], text))
    if options["case_sensitive"]:
        return text
    return text.casefold()


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return how a row's answer is read, if a group is compared with it."""
    return expect_texts(sample, options) if options["group"] and "answer" in sample else Expectation()


@metric(
    options=Options, expects=expects, yes_no=True, title={"en": "Regular expression", "ru": "Регулярное выражение"}
)
def regex(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the pattern is found (group 0), or if the last match's group equals an expected answer; else 0.

    Source: SPEC 14.
    """
    reply_text = reply(sample)
    if not reply_text:
        return NO_REPLY
    # A pattern of the user's may take exponential time.
    try:
        match = find_last(options["pattern"], reply_text, options["flags"])
        if match is not None:
            return _compare_group(match, sample, options)
    except TimeoutError:
        return Score(0.0, reason=SLOW)
    return Score(0.0, "no_answer" if options["group"] else "scored", "no match")
