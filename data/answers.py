"""The final answer of a free text: a cascade of rules, and which of them fired."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from data.number_words import spelled
from data.numerals import Number, candidates, narrow

Rule = Literal["marker", "boxed", "cue", "last number"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A final answer: its exact value, the rule that found it, and how and where it is written.

    `position` is where the number begins; `anchor` where the marker, box or cue before it begins (for the last
    number: the number itself), both in characters from the start of the text.
    """

    value: Fraction
    rule: Rule
    text: str
    position: int
    anchor: int


@dataclass(frozen=True, slots=True)
class Search:
    """What the cascade came to: the answer, if there is one, and where the marker, box or cue stands, if one does.

    A marker that is followed by no single number (`#### unknown`, `#### 16-20`) ends the search without an
    answer: an earlier number must not stand in for it.
    """

    answer: Answer | None
    anchor: int | None


TAIL = 2_000
"""Characters after a marker or cue that are read for its number."""

WINDOW = 100_000
"""Characters at the end of a text in which a cue phrase, or else the last number, is looked for."""

_SHORT = 60
"""Characters after a cue that may say that there is no answer; a longer sentence speaks of something else."""

_MARKUP = 3
"""Characters of markup that may stand between a cue and its number."""

_TRIES = 50
"""Markers, boxes or cues that are tried, from the last one backwards."""

_MARKER = re.compile(r"(?<!#)#{4,}(?!#)")
_PLAIN = re.compile(r"#### ?(-?[0-9]{1,15})\s*")
_BOX = re.compile(r"\\f?boxed\s{0,3}(?=[\s{0-9$+\-−])")
_CUE = re.compile(
    r"""
    (?:^|(?<=\n))[ \t>*_]{0,8}A[*_]{0,3}:                      # A: 18
    | (?<!to\s)(?<!can\s)(?<!we\s)\b(?:final[ ]|correct[ ])?answers?\b   # the (final) answer …
      (?: [*_ \t]{0,6}\n
        | [^0-9\n.:：=!?]{0,80}?
          (?: [:：=—–] | [ ]-[ ] | \b(?:is|are|was|equals|(?:would|will|should|must)[ ]be|comes[ ]to)\b))
    | (?<=[*_#\n])[ ]?(?:final[ ])?(?:result|answer)[*_ ]{0,4}[:：]
    | \bответ(?:ом|а)?\b
      (?: [*_ \t]{0,6}\n
        | [^0-9\n.:：=!?]{0,80}?
          (?: [:：=—–] | [ ]-[ ] | \b(?:равен|будет|составляет|составит|является|такой)\b))
    | \bответ\b(?=[ ]*[*_$\\]{0,4}[-−]?[0-9])
    | \bитого\b[ ]*[:：=—–-]?
    | 答案 (?:[^0-9\n。:：=是为為]{0,20} (?:[:：=] | 是 | 为 | 為 | 等于 ) [:：]? | (?=[ ]*[*$\\(]{0,4}[-−]?[0-9]))
    | 答[:：]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NEGATED = re.compile(r"[ ]*(?:not\b|n't|не\b|不)", re.IGNORECASE)
_NONE = re.compile(
    r"\b(?:none|unknown|nan|n/a|undefined|not|no|cannot|can't|нет|не|неизвестно)\b|无|未知|不", re.IGNORECASE
)
_LISTED = re.compile(
    r"[ \t]*[0-9]{1,2}[.)、][ \t]+[^\W\d_]|[ \t]*(?:step|part|шаг|часть|步骤|第)\b[ \t]*[0-9]", re.IGNORECASE
)
_NUMBERED = re.compile(r"[ \t>*_#]{0,8}[0-9]{1,3}[.)、][*_]{0,2}(?=[ \t]+\S)")
_LABEL = re.compile(r"(?:step|part|option|шаг|пункт|вариант|步骤|第|\[)[ *_#]{0,3}$", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?](?=\s|$|[*_\"”»)])|[。！？\n]")
_EMPTY = re.compile(r"[\s:：*_#$`\\\[({=>—–|-]*")
_EQUALS = re.compile(
    r"=|≈|\bequals\b|\bwhich is\b|\bthat is\b|\bравно\b|\bто есть\b|\bсоставляет\b|等于|就是", re.IGNORECASE
)
_ASIDE = re.compile(
    r"(?:\b(?:in|for|after|per|of|from|on|at|with|by|within|over|during|every|each|all|and|"
    r"за|на|через|из|в|во|после|по|с|со|от|для|каждые|каждый|и)|每|在)[ ]*(?:the[ ]|these[ ]|those[ ])?[$€£*_]*$",
    re.IGNORECASE,
)  # fmt: skip


def final_number(text: str) -> Answer | None:
    r"""Return the number that a text gives as its answer, or None.

    The cascade: the last `####` marker, else the last `\boxed{}`, else the last cue phrase (`the answer is`,
    `ANSWER:`, `A:`, `Ответ:`, `答案` …), else the last number that is not an operand, the end of a range, one of
    several alternatives, or the number of a step. A marker, box or cue with something after it that is not one
    number gives no answer. Percent and currency signs do not change a value. Never raises; the time is linear.

    Source: SPEC 3 (seed 004), after the failures collected in notes/peers.md.
    """
    return search(text).answer


def search(text: str) -> Search:
    """Run the cascade of `final_number`; say also where the marker, box or cue stands.

    Source: ours.
    """
    text = narrow(text)
    rules: tuple[Callable[[str], Search | None], ...] = (_marked, _boxed, _cued)
    for rule in rules:
        if (found := rule(text)) is not None:
            return found
    return Search(_last(text), None)


def _marked(text: str) -> Search | None:
    """Look at what follows `####`; a heading of a numbered section (`#### 2. Add`, `#### Step 2`) is no marker."""
    last = text.rfind("####")
    if last < 0:
        return None
    if plain := _PLAIN.fullmatch(text, last):  # the usual case, at once
        answer = Answer(Fraction(int(plain[1])), "marker", plain[1], plain.start(1), last)
        return Search(answer, last)
    for match in [*_MARKER.finditer(text)][: -_TRIES - 1 : -1]:
        if _LISTED.match(text, match.end()):
            continue
        if (found := _after(text, "marker", match.start(), match.end(), strict=True)) is not None:
            return found
    return None


def _boxed(text: str) -> Search | None:
    r"""Look into the last `\boxed{}`."""
    if "boxed" not in text:
        return None
    for match in [*_BOX.finditer(text)][: -_TRIES - 1 : -1]:
        start, end = match.end(), _closing(text, match.end())
        inside = text[start:end]
        chosen = _choose(
            text, [n._replace(start=n.start + start, end=n.end + start) for n in candidates(inside)], start
        )
        if chosen is not None:
            return Search(_answer(text, "boxed", match.start(), chosen), match.start())
        if any(character.isalnum() for character in inside):
            word = spelled(re.sub(r"\\(?:text|mathrm|mathbf|textbf)\b|[{}]", " ", inside))
            answer = None if word is None else Answer(word, "boxed", inside.strip(" {}"), start, match.start())
            return Search(answer, match.start())
    return None


def _closing(text: str, start: int) -> int:
    """Return where the brace that opens at `start` closes, or the end of what is read."""
    limit = min(len(text), start + TAIL)
    if text[start : start + 1] != "{":
        return min(limit, start + 40)
    depth = 0
    for at in range(start, limit):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
    return limit


def _cued(text: str) -> Search | None:
    """Look at what follows the last cue phrase; `the answer is not …` is none."""
    for match in [*_CUE.finditer(text, max(0, len(text) - WINDOW))][: -_TRIES - 1 : -1]:
        if _NEGATED.match(text, match.end()):
            continue
        if (found := _after(text, "cue", match.start(), match.end(), strict=False)) is not None:
            return found
    return None


def _after(text: str, rule: Rule, anchor: int, start: int, *, strict: bool) -> Search | None:
    """Read the answer after a marker or a cue; None if nothing there looks like one."""
    empty = _EMPTY.match(text, start, start + TAIL)
    begin = empty.end() if empty else start
    while begin > start and text[begin - 1] in " $(-\\–":  # signs belong to the number
        begin -= 1
    end = _sentence_end(text, begin)
    offset = max(anchor, begin - 1)
    found = [n._replace(start=n.start + offset, end=n.end + offset) for n in candidates(text[offset:end])]
    if found:
        chosen = _choose(text, found, begin)
        return Search(None if chosen is None else _answer(text, rule, anchor, chosen), anchor)
    tail = text[begin:end]
    word = spelled(tail)
    if word is not None:
        return Search(Answer(word, rule, tail.strip(), begin, anchor), anchor)
    refused = _NONE.search(tail) if strict or len(tail) < _SHORT else None
    return Search(None, anchor) if refused else None


def _sentence_end(text: str, start: int) -> int:
    limit = min(len(text), start + TAIL)
    for match in _SENTENCE.finditer(text, start, limit):
        if match.start() > start:
            return match.start()
    return limit


def _choose(text: str, found: Sequence[Number], begin: int) -> Number | None:
    """Choose the answer among the numbers of one sentence or box.

    What follows the last equals sign goes first; then a number that stands at the very beginning; then one
    that no preposition makes an aside (`in 7 days she earns 460`). Operands, ranges and alternatives are none.
    """
    free = [n for n in found if not n.joined]
    if not free:
        return None
    flat = _unbracketed(text, begin, found[-1].end)
    equals = [begin + m.end() for m in _EQUALS.finditer(flat)]
    if equals:
        after = [n for n in free if n.start >= equals[-1] - 1 and flat[n.end - 1 - begin] != "\0"]
        free = after or free
    elif text[begin : free[0].start].strip(" *_$\\({`~≈") and len(free) > 1:
        bare = [n for n in free if not _ASIDE.search(text, max(begin, n.start - 20), n.start)]
        free = bare or free
    elif found[0].joined and found[0].start <= free[0].start and not equals:
        return None if found[0].start <= begin + _MARKUP else free[0]
    return free[0] if free[0].value is not None else None


def _unbracketed(text: str, begin: int, end: int) -> str:
    """Return the stretch with what stands in round brackets blanked by NULs, length kept."""
    if "(" not in text[begin:end]:
        return text[begin:end]
    depth, out = 0, list[str]()
    for character in text[begin:end]:
        depth += character == "("
        out.append("\0" if depth > 0 and len(out) >= _MARKUP else character)
        depth -= character == ")" and depth > 0
    return "".join(out)


def _last(text: str) -> Answer | None:
    """Return the last number that may be a result; in its line, one in brackets only if no other is there."""
    window = max(0, len(text) - WINDOW)
    end = len(text)
    while end > window:
        begin = max(window, text.rfind("\n", window, end) + 1)
        line = text[begin:end]
        listed = _NUMBERED.match(line)
        first = listed.end() if listed else 0
        free = [
            number
            for number in candidates(line)
            if not number.joined and number.value is not None and number.end >= first and not _label(line, number)
        ]
        if free:
            flat = _unbracketed(line, 0, len(line))
            last = ([n for n in free if flat[n.end - 1] != "\0"] or free)[-1]
            last = last._replace(start=last.start + begin, end=last.end + begin)
            return _answer(text, "last number", last.start, last)
        end = begin - 1
    return None


def _label(line: str, number: Number) -> bool:
    return _LABEL.search(line, max(0, number.start - 12), number.start) is not None


def _answer(text: str, rule: Rule, anchor: int, number: Number) -> Answer | None:
    if number.value is None:
        return None
    return Answer(number.value, rule, text[number.start : number.end], number.start, anchor)
