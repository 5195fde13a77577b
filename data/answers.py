"""Extraction of the final answer from free text by a cascade of rules, recording which rule matched."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

from data.choosing import SearchedText, candidates, choose, conclude, is_of_the_reply
from data.number_words import spelled, worded
from data.numerals import Number, narrow
from data.patterns import pattern
from data.sentences import split_sentences
from data.withheld import REFUSED, WITHHELD

Rule = Literal["marker", "boxed", "cue", "last number"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A final answer: its exact value, the rule that found it, its text, and where the text starts."""

    value: Fraction
    rule: Rule
    text: str
    position: int

    @property
    def said(self) -> bool:
        """Whether a marker, a box or a cue states the answer; else it is inferred from the last number."""
        return self.rule != "last number"


@dataclass(frozen=True, slots=True)
class AnswerSearch:
    """The result of the cascade: the answer, if any, and the position of the marker, box or cue, if any.

    A marker not followed by a single number (`#### unknown`, `#### 16-20`) ends the search without an answer: an
    earlier number must not replace it.
    """

    answer: Answer | None = None
    anchor: int | None = None


TAIL = 2_000
"""Characters searched for a number after a marker or cue."""
WINDOW = 100_000
"""Characters at the end of a text searched for a cue phrase, or else the last number."""
_SHORT = 60
"""Maximum length of a statement after a cue that there is no answer; longer sentences are about something else."""
_SHORTEST = 3
"""Minimum length of a statement that there is no answer."""
_MOST = 200
"""Maximum number of numbers examined at the end of a sentence."""
_TRIES = 50
"""Maximum number of markers, boxes or cues tried, from the last one backwards."""
_MARKER = pattern(r"(?<!#)#{4,}(?!#)")
_BOX = pattern(r"\\f?boxed\s{0,3}(?=[\s{0-9$+\-−])")
_CUES = {  # a word in lower case, and the cues that hold it
    ":": r"(?m:^)[ \t>*_]{0,8}A[*_]{0,3}:",  # A: 18
    "answer": r"""
    (?<!to\s)(?<!can\s)(?<!we\s)\b(?:final[ ]|correct[ ])?answers?\b   # the (final) answer …
      (?: [*_ \t]{0,6}\n
        | [^0-9\n.:：=!?]{0,80}?
          (?: [:：=—–] | [ ]-[ ] | \b(?:is|are|was|equals|(?:would|will|should|must)[ ]be|comes[ ]to)\b))
    | (?<=[*_#\n])[ ]?(?:final[ ])?answer[*_ ]{0,4}[:：]
    """,
    "result": r"(?<=[*_#\n])[ ]?(?:final[ ])?result[*_ ]{0,4}[:：]",
    "ответ": r"""
    \bответ(?:ом|а)?\b
      (?: [*_ \t]{0,6}\n
        | [^0-9\n.:：=!?]{0,80}?
          (?: [:：=—–] | [ ]-[ ] | \b(?:равен|будет|составляет|составит|является|такой)\b))
    | \bответ\b(?=[ ]*[*_$\\]{0,4}[-−]?[0-9])
    """,
    "итого": r"\bитого\b[ ]*[:：=—–-]?",
    "答": r"""
    答案 (?:[^0-9\n。:：=是为為]{0,20} (?:[:：=] | 是 | 为 | 為 | 等于 ) [:：]? | (?=[ ]*[*$\\(]{0,4}[-−]?[0-9]))
    | 答[:：]
    """,
}
_NEGATED = pattern(r"[ ]*(?:not\b|n't|не\b|不)", re.IGNORECASE)
_NONE = pattern(
    r"\b(?:none|unknown|nan|n/a|undefined|not|no|cannot|can't|нет|не|неизвестно)\b|无|未知|不", re.IGNORECASE
)
_GOES_ON = pattern(
    r"=|(?<![^\W_])(?:so|therefore|thus|hence|however|but|still|in total|altogether|answer|итак|значит|поэтому|"
    r"следовательно|таким образом|всего|итого|но|однако|ответ)(?![^\W_])|所以|因此|但|不过|其实|一共|总共|答",
    re.IGNORECASE,
)
"""Phrases that introduce an answer after a statement that there is none."""
_LISTED = pattern(
    r"[ \t]*[*_]{0,3}[0-9]{1,2}[.)、][ \t]+[^\W\d_]"
    r"|[ \t]*[*_]{0,3}(?:step|part|шаг|часть|действие|步骤|第)\b[ \t]*[0-9]",
    re.IGNORECASE,
)
_NUMBERED = pattern(r"[ \t>*_#]{0,8}[0-9]{1,3}[.)、][*_]{0,2}(?=[ \t]+\S)")
_SENTENCE = pattern(r"[.!?](?=\s|$|[*_\"”»)])|[。！？\n]")
_DIGIT = pattern(r"[0-9]")
_EMPTY = pattern(r"[\s:：*_#$`\\\[({=>—–|-]*")
_FIRST = pattern(
    r"[*_]{0,2}(?:first(?:ly)?|step[ ]?1|to begin with|сначала|во-первых|шаг[ ]?1|首先|第一步)[*_]{0,2}[,:.，、 ]",
    re.IGNORECASE,
)
_ITEM = pattern(r"(?:^|(?<=[\s;,；，。*(]))\(?(?P<number>[0-9]{1,2})(?P<mark>[.)、])[*_]{0,2}(?=\s)")
_BULLET = pattern(r"[ \t]*[-*•–][ \t]+")
_EQUATION = pattern(r"[0-9)}%][^=\n]{0,60}[-+*/×÷:·−–xхX\\][^=\n]{0,60}=|<<[^>\n]{0,80}>>")
_THEREFORE = pattern(
    r"(?<=[.!?。！\n])[ ]*(?:therefore|so|thus|hence|in total|altogether|"
    r"поэтому|значит|следовательно|итак|всего|итого|因此|所以|总共|一共)(?![^\W_一-鿿])",
    re.IGNORECASE,
)
_CHECK = pattern(r"\b(?:check|verif\w+|to confirm|провер\w+)\b|验证|檢驗|检验|检查", re.IGNORECASE)


def final_number(text: str, question: str = "", *, cut: bool = False) -> Answer | None:
    r"""Return the number that a text gives as its answer, or None.

    The cascade: the last `####` marker, else the last `\boxed{}`, else the last cue phrase (`the answer is`,
    `ANSWER:`, `A:`, `Ответ:`, `答案` …), else the last number that is not an operand, the end of a range, one of
    several alternatives, or the number of a step. A marker, box or cue followed by anything but one number gives no
    answer. Among several in a sentence, the one in the currency or unit that `question` asks for wins, else the
    last one computed. Percent and currency signs do not change a value. The last number of a truncated reply
    (`cut`) does not count, since it is only an intermediate result. Never raises; the time is linear.

    Source: SPEC 3 (seed 004), after the failures collected in notes/peers.md.
    """
    return search(text, question, cut=cut).answer


def search(text: str, question: str = "", *, cut: bool = False) -> AnswerSearch:
    """Run the cascade of `final_number`; also return the position of the marker, box or cue.

    A heading `Answer:` above a derivation does not count: the chain continues below it.

    Source: ours.
    """
    reading = SearchedText(narrow(text), question)
    for rule, match in _places(reading.text):
        found = _boxed(reading, match) if rule == "boxed" else _after(reading, rule, match.start(), match.end())
        if found is not None:
            return found
    if cut or _withheld_at_last(reading.text):
        return AnswerSearch()
    return AnswerSearch(_last(reading, 0, len(text), "last number"))


def _places(text: str) -> Iterator[tuple[Rule, re.Match[str]]]:
    """Yield the markers, boxes and cues that may precede an answer, the last of each kind first."""
    if "####" in text:
        for match in [*_MARKER.finditer(text)][: -_TRIES - 1 : -1]:
            if not _LISTED.match(text, match.end()):  # `#### 2. Add` and `#### Step 2` are headings
                yield "marker", match
    if "boxed" in text:
        yield from (("boxed", match) for match in [*_BOX.finditer(text)][: -_TRIES - 1 : -1])
    folded = text[-WINDOW:].casefold()
    if words := tuple([word for word in _CUES if word in folded]):
        for match in [*_cues(words).finditer(text, max(0, len(text) - WINDOW))][: -_TRIES - 1 : -1]:
            if not _NEGATED.match(text, match.end()):  # `the answer is not …`
                yield "cue", match


@cache
def _cues(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return the cues with these words; a text has few of them, which makes the search much faster."""
    return re.compile("|".join(_CUES[word] for word in words), re.IGNORECASE | re.VERBOSE)


def _boxed(reading: SearchedText, box: re.Match[str]) -> AnswerSearch | None:
    text, anchor, start = reading.text, box.start(), box.end()
    end = _closing(text, start)
    if (chosen := choose(reading, candidates(text, start, end), start)) is not None:
        return AnswerSearch(_answer(text, "boxed", chosen), anchor)
    inside = text[start:end]
    if not any(character.isalnum() for character in inside):
        return None
    word = spelled(re.sub(r"\\(?:text|mathrm|mathbf|textbf)\b|[{}]", " ", inside))
    return AnswerSearch(None if word is None else Answer(word, "boxed", inside.strip(" {}"), start), anchor)


def _closing(text: str, start: int) -> int:
    """Return the position of the brace that closes the one at `start`, or the end of the searched text."""
    limit = min(len(text), start + TAIL)
    if text[start : start + 1] != "{":
        return min(limit, start + 40)
    depth = 0
    for at in range(start, limit):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at
    return limit


def _after(reading: SearchedText, rule: Rule, anchor: int, start: int) -> AnswerSearch | None:
    """Parse the answer after a marker or a cue; None if nothing there looks like one."""
    text = reading.text
    empty = _EMPTY.match(text, start, start + TAIL)
    begin = opened = empty.end() if empty else start
    end = _sentence_end(text, begin)
    digit = _DIGIT.search(text, begin, end)
    said = digit.start() if digit else end  # what a sentence says before it states a number
    if REFUSED.match(text, begin) or (said - begin >= _SHORTEST and WITHHELD.search(text, begin, said)):
        return AnswerSearch(None, anchor)
    while begin > start and text[begin - 1] in " $(-\\–":  # signs belong to the number
        begin -= 1
    if rule == "cue" and (stop := _derivation(text, anchor, opened)) is not None:
        return AnswerSearch(_last(reading, begin, stop, rule))
    if found := candidates(text, max(anchor, begin - 1), end):
        return AnswerSearch(_answer(text, rule, choose(reading, found, begin)), anchor)
    tail = text[begin:end]
    if (word := spelled(tail)) is not None:
        return AnswerSearch(Answer(word, rule, tail.strip(), begin), anchor)
    refused = (rule == "marker" or len(tail) < _SHORT) and _NONE.search(tail)
    return AnswerSearch(None, anchor) if refused else None


def _withheld_at_last(text: str) -> bool:
    """Return whether one of the last sentences says that there is no answer, and none follows."""
    found = [*WITHHELD.finditer(text, max(0, len(text) - TAIL))]
    if not found:
        return False
    leads = _GOES_ON.search(text, _sentence_end(text, found[-1].end()))
    return leads is None or _DIGIT.search(text, leads.end()) is None


def _sentence_end(text: str, start: int) -> int:
    limit = min(len(text), start + TAIL)
    return next((m.start() for m in _SENTENCE.finditer(text, start, limit) if m.start() > start), limit)


def _derivation(text: str, anchor: int, begin: int) -> int | None:
    """Return where a derivation or a list after a cue ends; None if there is neither.

    `Answer: 1) … 2) …`, `Answer: First …`, and equations sentence by sentence: the answer is their result.
    """
    limit = min(len(text), begin + TAIL)
    items = list(_ITEM.finditer(text, begin, limit))
    opening = items and items[0].start() - begin <= 2 and items[0]["number"] == "1"  # noqa: PLR2004 - a bracket, a space
    alike = [item for item in items if item["mark"] == items[0]["mark"]]
    if opening and any(item["number"] == "2" for item in alike):
        blank = text.find("\n\n", alike[-1].end(), limit)
        return limit if blank < 0 else blank
    if _FIRST.match(text, begin):
        return limit
    if text[anchor:begin].rstrip(" *_$\n\\([{`")[-1:] not in set(":：") and "\n" not in text[anchor:begin]:
        return None
    return _equations(text, begin, limit) or _conclusion(text, begin, limit)


def _conclusion(text: str, begin: int, limit: int) -> int | None:
    """Return the end of the sentence that concludes a paragraph by an equation: `A fee of $2. So 4 + 2 = 6`."""
    blank = text.find("\n\n", begin, limit)
    concluding = list(_THEREFORE.finditer(text, begin, limit if blank < 0 else blank))
    if not concluding or not text[begin : begin + 1].isalpha():
        return None
    stop = _sentence_end(text, concluding[-1].end())
    return stop if _EQUATION.search(text, concluding[-1].end(), stop) else None


def _equations(text: str, begin: int, limit: int) -> int | None:
    """Return the end of two or more consecutive sentences that each hold an equation."""
    end, count = begin, 0
    while end < limit:
        bullet = _BULLET.match(text, end)
        start = bullet.end() if bullet else end
        stop = _sentence_end(text, start)
        if not _EQUATION.search(text, start, stop) or _CHECK.search(text, start, stop):
            break
        count += 1
        end = stop + 1
        while end < limit and text[end] in " \t*_)":
            end += 1
        if text[end : end + 2].strip() == "" and text[stop : end + 2].count("\n") > 1:
            break
    return min(end, limit) if count > 1 else None


def _last(reading: SearchedText, start: int, end: int, rule: Rule) -> Answer | None:
    """Return the result of the last sentence that states a number."""
    text = reading.text
    window = max(start, end - WINDOW)
    while end > window:
        begin = max(window, text.rfind("\n", window, end) + 1)
        listed = _NUMBERED.match(text, begin, end)
        line = listed.end() if listed else begin
        for a, b in reversed([*split_sentences(text[line:end])]):
            first, stop = line + max(a, b - TAIL), line + b
            if free := _free(reading, first, stop):
                return _answer(text, rule, conclude(reading, free[-_MOST:], first, stop))
        end = begin - 1
    return None


def _free(reading: SearchedText, begin: int, end: int) -> list[Number]:
    """Return the numbers of a sentence that may be a result: in digits, else in words."""
    found = [n for n in candidates(reading.text, begin, end) if not n.joined and n.value is not None]
    if not found and not any(map(str.isdigit, sentence := reading.text[begin:end])):
        found = [n.moved(begin) for n in worded(sentence)]
    return [n for n in found if not is_of_the_reply(reading, n)]


def _answer(text: str, rule: Rule, number: Number | None) -> Answer | None:
    if number is None or number.value is None:
        return None
    return Answer(number.value, rule, text[number.start : number.end], number.start)
