"""Exact match: the reply equals the expected answer, after the normalisations that are asked for."""

import re
import string
import unicodedata
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from data.options import Frozen
from data.patterns import pattern
from data.records import Found, Metric, Sample, Score
from metrics._replies import NO_EXPECTED, NO_REPLY, reply, spaced, texts

_ARTICLES = pattern(r"\b(?:a|an|the)\b", re.IGNORECASE)
_MARKS = string.punctuation
_IN_NUMBERS = pattern(r"((?<=\d)[.,:/](?=\d)|(?<![\w.])[-−](?=\d))")
"""Marks that are part of a number: 3.5 is not 35, nor -5 5."""


class Options(Frozen):
    """Which differences do not count; white space never does."""

    case: bool = Field(default=False, description="true: upper and lower case are alike")
    punctuation: bool = Field(default=False, description="true: punctuation is left out")
    articles: bool = Field(default=False, description="true: a, an and the are left out")


def _without_marks(text: str) -> str:
    return "".join(c for c in text if c not in _MARKS and not unicodedata.category(c).startswith("P"))


def normalise(text: str, options: Mapping[str, Any]) -> str:
    """Return a text as it is compared: Unicode composed (NFC), then as the options say, white space last.

    Source: ours, after SQuAD's normalisation (Rajpurkar et al. 2016).
    """
    text = unicodedata.normalize("NFC", text)
    if options["case"]:
        text = text.casefold()
    if options["punctuation"]:
        text = "".join(piece if n % 2 else _without_marks(piece) for n, piece in enumerate(_IN_NUMBERS.split(text)))
    if options["articles"]:
        text = _ARTICLES.sub(" ", text)
    return spaced(text)


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply equals one of the expected answers, else 0.

    Source: SPEC 14.
    """
    del found
    wanted = [normalise(text, options) for text in texts(sample)]
    if not wanted:
        return NO_EXPECTED
    if not (said := reply(sample)):
        return NO_REPLY
    if normalise(said, options) in wanted:
        return Score(1.0, reason="equal")
    return Score(0.0, reason="another text")


UNIT = Metric(
    name="exact_match",
    version=2,
    bounds=(0.0, 1.0),
    score=score,
    options=Options,
    needs=("answer",),
    yes_no=True,
    title={"en": "Exact match", "ru": "Точное совпадение"},
)
