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
# An option that speaks of others: "None of the above", "A and B"
_ABOUT_OPTIONS = re.compile(
    r"\b(?:above|below|both|neither|either|none of|all of|any of|options? [A-J]|[A-J] (?:and|or|и|или) [A-J]"
    r"|выше|ниже|оба|обе|все|ни один|ни одно)\b",
    re.IGNORECASE,
)
# The space before a sentence: "He ran. She sat."
_SENTENCE = re.compile(r"(?<=[.!])\s+(?=[^\W\d_a-zа-яё])")
# A word by which a sentence leans on the ones before it: "She has twice as many."
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
    for column in filter(facts.get, COLUMNS):
        return _reorder_options(facts, column, answer, rng)
    return _reorder_sentences(facts, answer, rng)


def _reorder_options(facts: Mapping[str, Any], column: str, answer: str, rng: Random) -> Renewed:
    options = facts[column]
    if isinstance(options, str):
        with suppress(ValueError, RecursionError):
            options = json.loads(options)
    if not isinstance(options, Mapping | list) or not 1 < len(options) <= len(LETTERS):
        raise Refused("options in a form that is not known")
    lettered: Any = options
    if isinstance(options, list):
        lettered = dict(zip(LETTERS, options, strict=False))
    if not all(isinstance(text, str | int | float) for text in lettered.values()):
        raise Refused("options in a form that is not known")
    letters, texts = [*map(str, lettered)], [*map(str, lettered.values())]
    if len({*texts}) < len(texts) or any(map(_ABOUT_OPTIONS.search, texts)):
        raise Refused("options that speak of one another")
    order = _shuffle([*range(len(texts))], rng)
    # The letters stay where they are, and the texts move.
    new_options: Any = [texts[index] for index in order]
    if isinstance(options, Mapping):
        new_options = dict(zip(letters, new_options, strict=True))
    if isinstance(facts[column], str):
        new_options = json.dumps(new_options, ensure_ascii=False)
    # The expected answer has the form that it had: one, or a list.
    expected = facts.get("answer", answer)
    answers = [expected]
    if isinstance(expected, list | tuple):
        answers = [*expected]
    new_answers = [_move_answer(option, letters, order, texts) for option in answers]
    new_facts = {column: new_options}
    if "answer" in facts:
        new_facts["answer"] = new_answers if isinstance(expected, list | tuple) else new_answers[0]
    return Renewed("; ".join(map(str, new_answers)), new_facts)


def _move_answer(answer: Any, letters: Sequence[str], order: Sequence[int], texts: Sequence[str]) -> Any:
    """Return the right option's new position, read as `choice` does: a letter, else an index; its text is kept.

    Raises:
        Refused: it names no option.
    """
    if answer is None or answer == "":
        return answer
    letter = str(answer).strip("().: ").upper()
    upper = [label.strip().upper() for label in letters]
    if letter in upper:
        return letters[order.index(upper.index(letter))]
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(order):
        return order.index(answer)
    if _fold(str(answer)) in map(_fold, texts):
        return answer
    raise Refused("options in a form that is not known")


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _shuffle(order: list[int], rng: Random) -> list[int]:
    """Shuffle positions until their order differs."""
    before = [*order]
    while order == before:
        rng.shuffle(order)
    return order


def _reorder_sentences(facts: Mapping[str, Any], answer: str, rng: Random) -> Renewed:
    question = facts.get("question")
    if not isinstance(question, str):
        raise Refused("a row without a question")
    *givens, request = _SENTENCE.split(question.strip())
    free = [index for index, text in enumerate(givens) if not _DEPENDS.search(text)]
    if len(free) < 2 or len(free) < len(givens):  # noqa: PLR2004 - an order takes two
        raise Refused("givens that depend on one another")
    reordered = [givens[index] for index in _shuffle(free, rng)]
    return Renewed(answer, {"question": " ".join([*reordered, request])})
