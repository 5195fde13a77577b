"""Choose the answer among the numbers of one sentence: what is asked for, else what was computed last."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from data.asked import Asked, asked, given_in, is_money
from data.candidates import candidates
from data.numerals import Number
from data.patterns import pattern

Results = Mapping[Fraction, int]
"""The results that a text computes, each with its rank: the last one computed has the highest."""


class Reading(NamedTuple):
    """A text as it is searched for its answer: with narrow signs, and the question that it answers."""

    text: str
    question: str

    @property
    def wanted(self) -> Asked:
        """What the question asks for; read where several numbers may be the answer, which is seldom."""
        return asked(self.question)


_MARKUP = 3
"""Characters of markup that may stand between a cue and its number."""

_BEFORE, _AFTER, _RESULTS, _WINDOW = 60, 40, 200, 100_000
"""Characters before an equals sign that are searched for an operator, and after it for the result; equals signs
and characters before the answer that are looked at."""

_EQUALITY = pattern(r"=|≈|\bequals\b|\bравно\b|等于", re.IGNORECASE)
_OPERATED = pattern(
    r"[0-9)}%].{0,20}(?:[-+*/×÷·−–]|\b[xXхХ]\b|\\times|\\cdot|\\div|\\frac|\b(?:times|plus|minus)\b)|\\frac"
)
_EQUALS = pattern(
    r"=|≈|\bequals\b|\bwhich is\b|\bthat is\b|\bравно\b|\bто есть\b|\bсоставляет\b|等于|就是", re.IGNORECASE
)
_ASIDE = pattern(
    r"(?:\b(?:in|for|after|per|of|from|on|at|with|by|within|over|during|every|each|all|and|"
    r"за|на|через|из|в|во|после|по|с|со|от|для|каждые|каждый|и)|每|在)[ ]*(?:the[ ]|these[ ]|those[ ])?[$€£*_]*$",
    re.IGNORECASE,
)  # fmt: skip
_EACH = pattern(r"[ *_]{0,3}(?:[^\W\d_]{1,12}[ ])?(?:each|apiece|per|a piece|за штуку|за кажд\w+)\b", re.IGNORECASE)
_PRICED = pattern(
    r"\b(?:costs?|is worth|are worth|стоят|стоит|стоили|стоил[аи]?|обойд\w+|sells? for)\b|价值|售价|花费|卖",
    re.IGNORECASE,
)


def choose(reading: Reading, found: Sequence[Number], begin: int) -> Number | None:
    """Choose the answer among the numbers of one sentence or box that begins at `begin`.

    What follows the last equals sign goes first; then what is given in the currency or unit asked for; then the
    number at the very beginning, unless only a later one was computed; then the last one computed; then the first
    that no preposition makes an aside (`in 7 days she earns 460`). Operands, ranges and alternatives are none.
    """
    text = reading.text
    free = [n for n in found if not n.joined]
    if not free:
        return None
    flat = unbracketed(text, begin, found[-1].end)
    equals = [begin + m.end() for m in _EQUALS.finditer(flat)]
    if equals:
        after = [n for n in free if n.start >= equals[-1] - 1 and flat[n.end - 1 - begin] != "\0"]
        free = after or free
    elif len(free) == 1 and found[0].joined and found[0].start <= min(free[0].start, begin + _MARKUP):
        return None
    if len(free) > 1:
        free = _narrowed(reading, free, begin, equals=bool(equals))
    return free[0] if free[0].value is not None else None


def _narrowed(reading: Reading, free: list[Number], begin: int, *, equals: bool) -> list[Number]:
    """Keep of several numbers those that may be meant, the likeliest first."""
    text = reading.text
    if named := [n for n in free if given_in(text, n, reading.wanted)]:
        free = named
    if len(free) == 1 or equals:
        return free
    opens = not text[begin : free[0].start].strip(" *_$\\({`~≈")
    ranks = results(text[max(0, begin - _WINDOW) : begin])
    if opens and not named:
        if free[0].value in ranks:
            return free
        priced = [n for n in free[1:] if is_money(text, n) and _PRICED.search(text, free[0].end, n.start)]
        if priced and not is_money(text, free[0]):
            return priced
    bare = [n for n in free if not _is_aside(text, n, begin)] or free
    if computed := [n for n in bare if n.value in ranks]:
        return [max(computed, key=lambda n: ranks[n.value or Fraction(0)])]
    return free if opens else bare


def choose_last(reading: Reading, free: Sequence[Number], line: int) -> Number:
    """Choose the answer among the free numbers of a line, from the place `line` on, that no cue introduces.

    What was computed goes before what is given in the unit asked for, then what is no aside, then the last.
    """
    text = reading.text
    equals = [m.end() for m in _EQUALS.finditer(text, line, free[-1].start)]
    free = [n for n in free if not equals or n.start >= equals[-1] - 1]
    if len(free) == 1:
        return free[0]
    end = free[-1].end
    ranks = results(text[max(0, end - _WINDOW) : end])

    def worth(number: Number) -> tuple[int, bool, bool, int]:
        named = given_in(text, number, reading.wanted)
        rank = ranks.get(number.value or Fraction(0), -1)
        known = 0 if rank < 0 else 1 + named
        return (
            known,
            named,
            is_money(text, number) or not _is_aside(text, number, line),
            rank if known else number.start,
        )

    return max(free, key=worth)


def _is_aside(text: str, number: Number, begin: int) -> bool:
    if _ASIDE.search(text, max(begin, number.start - 20), number.start):
        return True
    return _EACH.match(text, number.end) is not None


def results(text: str) -> Results:
    """Return what a text computes: the first number after each equals sign with an operator before it."""
    found: dict[Fraction, int] = {}
    for rank, match in enumerate([*_EQUALITY.finditer(text)][-_RESULTS:]):
        line = max(match.start() - _BEFORE, text.rfind("\n", 0, match.start()) + 1)
        if not _OPERATED.search(text, line, match.start()):
            continue
        shown = [n for n in candidates(text[match.end() : match.end() + _AFTER]) if n.start <= _MARKUP + 2]
        if shown and shown[0].value is not None and not shown[0].joined:
            found[shown[0].value] = rank
    return found


def unbracketed(text: str, begin: int, end: int) -> str:
    """Return the stretch with what stands in round brackets blanked by NULs, length kept."""
    if "(" not in text[begin:end]:
        return text[begin:end]
    depth, out = 0, list[str]()
    for character in text[begin:end]:
        depth += character == "("
        out.append("\0" if depth > 0 and len(out) >= _MARKUP else character)
        depth -= character == ")" and depth > 0
    return "".join(out)
