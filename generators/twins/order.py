"""Reorder the options of a multiple choice, or a problem's independent givens.

Source: SPEC 17.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from basic_control.generators.twins.base import Refused, Renewed

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
    r"|times|twice|thrice|half|doubl\w*|tripl\w*|additional\w*|extra|both|following|previous\w*|older|younger|taller"
    r"|shorter|longer|heavier|lighter|faster|slower|cheaper|bigger|larger|smaller|higher|lower|wider|deeper"
    r"|as (?:many|much|old|tall|long|far|fast|big|large|heavy)"
    r"|он|она|оно|они|его|её|их|ему|ей|им|это|этот|затем|потом|после|также|ещё|остальн\w*|больше|меньше|чем"
    r"|раза?|вдвое|втрое|вчетверо|столько|половин\w*|старше|младше|моложе|выше|ниже|длиннее|короче|тяжелее|легче"
    r"|дороже|дешевле|быстрее|медленнее|шире|глубже)(?![^\W_])",
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
    if not all(isinstance(text, str | int | float) for text in lettered.values()):
        raise Refused("options in a form that is not known")
    letters, texts = [*map(str, lettered)], [*map(str, lettered.values())]
    if len({*texts}) < len(texts) or any(map(_ABOUT_OPTIONS.search, texts)):
        raise Refused("options that speak of one another")
    order = _other([*range(len(texts))], rng)
    moved = [texts[place] for place in order]
    new = dict(zip(letters, moved, strict=True)) if isinstance(given, Mapping) else moved
    named = facts.get("answer", answer)
    each = [
        _expected(one, letters, order, texts) for one in (named if isinstance(named, list | tuple) else [named])
    ]
    expected = each if isinstance(named, list | tuple) else each[0]
    written = {column: json.dumps(new, ensure_ascii=False) if isinstance(facts[column], str) else new}
    return Renewed("; ".join(map(str, each)), {**written, **({"answer": expected} if "answer" in facts else {})})


def _expected(answer: Any, letters: Sequence[str], order: Sequence[int], texts: Sequence[str]) -> Any:
    """Return the right option's new position, read as `choice` does: a letter, else an index; its text is kept.

    Raises:
        Refused: it names no option.
    """
    if answer is None or answer == "":
        return answer
    named = str(answer).strip("().: ").upper()
    upper = [letter.strip().upper() for letter in letters]
    if named in upper:
        return letters[order.index(upper.index(named))]
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(order):
        return order.index(answer)
    if _plain(str(answer)) in map(_plain, texts):
        return answer
    raise Refused("options in a form that is not known")


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


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
