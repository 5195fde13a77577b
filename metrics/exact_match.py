"""Exact match: the reply equals the expected answer, after the chosen normalisations."""

import re
import string
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from data.options import Frozen
from data.patterns import pattern
from data.records import Found, Metric, Sample, Score
from metrics._expected import expect_texts
from metrics._replies import NO_EXPECTED, NO_REPLY, folded, reply, spaced, texts

_ARTICLES = pattern(r"\b(?:a|an|the)\b", re.IGNORECASE)
_MARKS = string.punctuation
_IN_NUMBERS = pattern(r"((?<=\d)[.,:/](?=\d)|(?<![\w.])[-−](?=\d))")
"""Marks that are part of a number: 3.5 is not 35, nor -5 5."""


class Options(Frozen):
    """Which differences are ignored; white space always is."""

    case: bool = Field(default=False, description="true: ignore upper and lower case")
    punctuation: bool = Field(default=False, description="true: ignore punctuation")
    articles: bool = Field(default=False, description="true: ignore a, an and the")
    wrapping: bool = Field(
        default=True,
        description="true: ignore Markdown emphasis and quotation marks around the whole text, and a full stop at "
        "its end",
    )


def _without_marks(text: str) -> str:
    return "".join(c for c in text if c not in _MARKS and not unicodedata.category(c).startswith("P"))


_PAIRS = (
    *((marks, marks) for marks in ("***", "**", "*", "___", "__", "_", "~~", '"', "'")),
    *(("“", "”"), ("‘", "’"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』")),
)
_STOPS = (".", "。", "．")
_LAYERS = 6
"""Maximum depth of wrappings removed."""


def unwrapped(text: str) -> Iterator[str]:
    """Yield a text, and each result of removing its wrappings: emphasis, quotation marks, a final full stop.

    Only marks around the whole are removed, not around a part (`"A" or "B"`); three dots stay.
    """
    for _ in range(_LAYERS):
        text = text.strip()
        yield text
        if text.endswith(_STOPS) and not text.endswith(".."):
            text = text[:-1].rstrip()
            yield text
        inner = next((inside for pair in _PAIRS if (inside := _inside(text, *pair))), "")
        if not inner:
            return
        text = inner


def _inside(text: str, begin: str, end: str) -> str:
    """Return the text between two marks that wrap the whole; '' if they do not, or also occur within it."""
    if not (text.startswith(begin) and text.endswith(end)) or len(text) <= len(begin) + len(end):
        return ""
    inner = text[len(begin) : -len(end)]
    within = rf"(?<!\w)(?:{re.escape(begin)}|{re.escape(end)})|(?:{re.escape(begin)}|{re.escape(end)})(?!\w)"
    return "" if re.search(within, inner) else inner


def normalise(text: str, options: Mapping[str, Any]) -> str:
    """Return a text normalised for comparison: folded, then by the options; one that they empty keeps its signs.

    Source: ours, after SQuAD's normalisation (Rajpurkar et al. 2016).
    """
    text = whole = folded(text).casefold() if options["case"] else folded(text)
    if options["punctuation"]:
        text = "".join(piece if n % 2 else _without_marks(piece) for n, piece in enumerate(_IN_NUMBERS.split(text)))
    if options["articles"]:
        text = _ARTICLES.sub(" ", text)
    return spaced(text) or whole  # `+` is not `-`, nor `A` `the`


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply equals one of the expected answers, else 0.

    Source: SPEC 14.
    """
    wanted = {normalise(text, options) for text in texts(sample)}
    if not wanted:
        return NO_EXPECTED
    if not (said := reply(sample)):
        return NO_REPLY
    if options["wrapping"]:
        wanted |= {text[:-1] for text in wanted if text.endswith(_STOPS) and len(text) > 1}
    layers = unwrapped(said) if options["wrapping"] else (said,)
    if any(normalise(text, options) in wanted for text in layers):
        return Score(1.0, reason="equal")
    return Score(0.0, reason="another text")


UNIT = Metric(
    name="exact_match",
    version=5,
    bounds=(0.0, 1.0),
    score=score,
    options=Options,
    needs=("answer",),
    expects=expect_texts,
    yes_no=True,
    title={
        "en": "Exact match (emphasis, quotes, final full stop aside)",
        "ru": "Точное совпадение (без выделения, кавычек и точки в конце)",
    },
)
