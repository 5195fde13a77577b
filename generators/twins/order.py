"""Reorder the options of a multiple choice, or a problem's independent givens.

Source: SPEC 17.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from generators.twins.base import Refused, Renewed

LETTERS = "ABCDEFGHIJ"
COLUMNS = ("options", "choices")  # the columns that hold options
_ABOUT_OPTIONS = re.compile(
    r"\b(?:above|below|both|neither|either|none of|all of|any of|options? [A-J]|[A-J] (?:and|or|и|или) [A-J]"
    r"|выше|ниже|оба|обе|все|ни один|ни одно)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!])\s+(?=[^\W\d_a-zа-яё])")
_DEPENDS = re.compile(
    r"(?<![^\W_])(?:he|she|it|they|his|her|its|their|him|them|this|that|these|those|then|after\w*|before|next|also|other"
    r"|another|rest|remaining|left|more|fewer|less|than|same|so|later|now|first|second|third|last|finally|each|again"
    r"|он|она|оно|они|его|её|их|ему|ей|им|это|этот|затем|потом|после|также|ещё|остальн\w*|больше|меньше|чем)(?![^\W_])",
    re.IGNORECASE,
)


def renew(facts: Mapping[str, Any], answer: str, rng: Random) -> Renewed:
    """Make a twin with its options, or else its independent sentences, in another order.

    Raises:
        Refused: there is nothing that can be reordered.
    """
    column = next((name for name in COLUMNS if facts.get(name)), "")
    return _options(facts, column, answer, rng) if column else _sentences(facts, answer, rng)


def _options(facts: Mapping[str, Any], column: str, answer: str, rng: Random) -> Renewed:
    given = facts[column]
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    if not isinstance(given, Mapping | list) or not 1 < len(given) <= len(LETTERS):
        raise Refused("options in a form that is not known")
    lettered = given if isinstance(given, Mapping) else dict(zip(LETTERS, given, strict=False))
    letters, texts = [*map(str, lettered)], [*map(str, lettered.values())]
    if len({*texts}) < len(texts) or any(map(_ABOUT_OPTIONS.search, texts)):
        raise Refused("options that speak of one another")
    order = _other([*range(len(texts))], rng)
    moved = [texts[place] for place in order]
    new = dict(zip(letters, moved, strict=True)) if isinstance(given, Mapping) else moved
    expected = _expected(facts.get("answer", answer), letters, order)
    written = {column: json.dumps(new, ensure_ascii=False) if isinstance(facts[column], str) else new}
    return Renewed(str(expected), {**written, **({"answer": expected} if "answer" in facts else {})})


def _expected(answer: Any, letters: Sequence[str], order: Sequence[int]) -> Any:
    """Return the right option's new position: a letter for a letter, an index for an index; its text is kept."""
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(order):
        return order.index(answer)
    named = str(answer).strip("().: ").upper()
    upper = [letter.strip().upper() for letter in letters]
    return letters[order.index(upper.index(named))] if named in upper else answer


def _other(order: list[int], rng: Random) -> list[int]:
    """Shuffle places until their order differs."""
    before = [*order]
    while order == before:
        rng.shuffle(order)
    return order


def _sentences(facts: Mapping[str, Any], answer: str, rng: Random) -> Renewed:
    question = facts.get("question")
    if not isinstance(question, str):
        raise Refused("a row without a question")
    *givens, asked = _SENTENCE.split(question.strip())
    free = [place for place, text in enumerate(givens) if not _DEPENDS.search(text)]
    if len(free) < 2 or len(free) < len(givens):  # noqa: PLR2004 - an order takes two
        raise Refused("givens that depend on one another")
    moved = [givens[place] for place in _other(free, rng)]
    return Renewed(answer, {"question": " ".join([*moved, asked])})
