"""Exact match: the reply equals the expected answer, whatever its notation."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import product, starmap
from typing import Any

from pydantic import Field, model_validator

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen
from basic_control.data.patterns import pattern
from basic_control.data.reading.answer import read_cue
from basic_control.data.reading.texts import collapse_spaces, unify, without_note
from basic_control.data.records import Found, Sample, Score
from basic_control.data.values import write_value
from basic_control.metrics._expected import expect_texts
from basic_control.metrics._patterns import SLOW, Pattern, remove_matches
from basic_control.metrics._replies import NO_EXPECTED, NO_REPLY, list_expected, reply

# An article: "The"
_ARTICLES = pattern(r"\b(?:a|an|the)\b", re.IGNORECASE)
# Signs of category P that are part of what they stand in: 3.5 is not 35, nor -5 5, nor C# C.
# Signs that belong to a number or a word: "." in "3.5", "-" in "-3", "#" in "C#"
_IN_WORDS = pattern(r"((?<=\d)[^\w\s](?=\d)|[-+](?=\d)|(?<=\w)[#%@&]+(?!\w))")
# A comma between thousands: "1,000"
_THOUSANDS = pattern(r"(?<=\d),(?=\d{3}(?!\d))")
# Marks at the start of a line, and of code: "# ", "`"
_MARKDOWN = pattern(r"`+|^\s*(?:[>#]+\s+)+")


class Options(Frozen):
    """Which differences count or are ignored; notation and white space never count."""

    case_sensitive: bool = Field(default=False, description="true: upper and lower case differ")
    punctuation: bool = Field(default=False, description="true: ignore punctuation")
    articles: bool = Field(default=False, description="true: ignore a, an and the")
    raw: bool = Field(default=False, description="true: compare character by character")
    ignore: tuple[Pattern, ...] = Field(
        (), description="patterns (the package regex) whose matches are removed from both sides first"
    )

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, values: Any) -> Any:
        """Take the keys of earlier versions: `case: true` is the default now, `wrapping: false` is `raw: true`."""
        if not isinstance(values, Mapping):
            return values
        renamed = dict(values)
        for old, new in (("case", "case_sensitive"), ("wrapping", "raw")):
            if isinstance(renamed.get(old), bool):
                renamed.setdefault(new, not renamed.pop(old))
        return renamed


_SAME_MARKS = ("***", "**", "*", "___", "__", "_", "~~", '"', "'")
_PAIRS = (
    *zip(_SAME_MARKS, _SAME_MARKS, strict=True),
    *(("“", "”"), ("‘", "’"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』")),
)
_STOPS = (".", "。", "．")
_LAYERS = 6
"""Maximum depth of wrappings removed."""


def unwrap(text: str) -> Iterator[str]:
    """Yield a text, and each result of removing its wrappings: emphasis, quotation marks, a final full stop.

    Only marks around the whole are removed, not around a part (`"A" or "B"`); three dots stay.
    """
    for _ in range(_LAYERS):
        text = text.strip()
        yield text
        if text.endswith(_STOPS) and not text.endswith(".."):
            text = text[:-1].rstrip()
            yield text
        inner = next(filter(None, starmap(partial(_inside, text), _PAIRS)), "")
        if not inner:
            return
        text = inner


def _inside(text: str, begin: str, end: str) -> str:
    """Return the text between two marks that wrap the whole; '' if they do not, or also occur within it."""
    if not (text.startswith(begin) and text.endswith(end)) or len(text) <= len(begin) + len(end):
        return ""
    inner = text[len(begin) : -len(end)]
    within = rf"(?<!\w)(?:{re.escape(begin)}|{re.escape(end)})|(?:{re.escape(begin)}|{re.escape(end)})(?!\w)"
    if re.search(within, inner):
        return ""
    return inner


def normalise(text: str, options: Mapping[str, Any]) -> str:
    """Return a text normalised for comparison; one that the options empty keeps its signs.

    Source: SPEC 19; the options after SQuAD's normalisation (Rajpurkar et al. 2016).
    """
    text = unify(text)
    if not options["case_sensitive"]:
        text = text.casefold()
    text = original = collapse_spaces(text)
    if options["punctuation"]:
        text = _THOUSANDS.sub("", _MARKDOWN.sub(" ", text))
        # Every second piece is a sign that stays.
        pieces = _IN_WORDS.split(text)
        pieces[::2] = map(_without_punctuation, pieces[::2])
        text = "".join(pieces)
    if options["articles"]:
        text = _ARTICLES.sub(" ", text)
    return collapse_spaces(text) or original  # `+` is not `-`, nor `A` `the`


def _without_punctuation(text: str) -> str:
    return "".join(sign for sign in text if not unicodedata.category(sign).startswith("P"))


_BOOLEANS = {True: {"true", "yes"}, False: {"false", "no"}}


def equals_typed(text: str, answer: Any) -> bool:
    """Return whether a text is an expected value that its file types as a boolean or a number: 18.0 is 18."""
    if isinstance(answer, bool):
        return text.casefold() in _BOOLEANS[answer]
    try:
        return isinstance(answer, int | float) and Decimal(text.replace(",", "")) == Decimal(str(answer))
    except InvalidOperation:
        return False


def _equals(text: str, answers: list[Any], options: Mapping[str, Any]) -> bool:
    """Return whether a text, or what it wraps, equals an answer."""
    forms = {normalise(write_value(answer), options) for answer in answers}
    forms |= {form[:-1] for form in forms if form.endswith(_STOPS) and len(form) > 1}
    layers = [*unwrap(text), *unwrap(without_note(text))]
    if any(normalise(layer, options) in forms for layer in layers):
        return True
    return any(starmap(equals_typed, product(map(unify, layers), answers)))


@metric(
    version=8,
    options=Options,
    needs=("answer",),
    expects=expect_texts,
    yes_no=True,
    title={
        "en": "Exact match",
        "ru": "Точное совпадение",
    },
)
def exact_match(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:  # noqa: PLR0911 - a return for each form
    """Return 1 if the reply equals one of the expected answers, else 0.

    Source: SPEC 14, 19.
    """
    answers = list_expected(sample)
    if not answers:
        return NO_EXPECTED
    text = reply(sample)
    if not text:
        return NO_REPLY
    if options["ignore"]:
        try:
            answers = [remove_matches(options["ignore"], write_value(answer)).strip() for answer in answers]
            text = remove_matches(options["ignore"], text).strip()
        except TimeoutError:
            return Score(0.0, reason=SLOW)
    if options["raw"]:
        return Score(float(text in map(write_value, answers)), reason="compared character by character")
    if _equals(text, answers, options):
        return Score(1.0, reason="equal")
    value = read_cue(text)
    if value and _equals(value, answers, options):
        return Score(1.0, reason="equal", details={"answer": value[:100], "rule": "cue"})
    if options["case_sensitive"] and _equals(value or text, answers, {**options, "case_sensitive": False}):
        return Score(0.0, reason="another case")
    return Score(0.0, reason="another text")
