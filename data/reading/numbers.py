"""Numbers as answers: which of a clause's numbers is the result, by how it is written and what was asked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import NamedTuple, cast

from basic_control.data.measures import dimensions, unit
from basic_control.data.number_words import find_worded, parse_spelled
from basic_control.data.numerals import MINUS, Number, find_numbers, narrow_digits
from basic_control.data.reading.answer import read
from basic_control.data.reading.clauses import (
    LONGEST_WHOLE,
    Mention,
    Prepared,
    Values,
    drop_denied,
    is_denied,
    is_idle,
    is_remark,
    lines,
    set_aside,
)
from basic_control.data.reading.quantity import AskedQuantity, find_asked_quantity, is_given_in, is_money, pattern
from basic_control.data.reading.words import pattern as words
from basic_control.data.sentences import split_sentences

GROUPED_BY_POINTS = frozenset((
    "de", "es", "it", "nl", "pt", "tr", "id", "da", "el", "hr",
    "sl", "sr", "ro", "vi", "is", "gl", "ca", "eu", "bs", "mk",
))  # fmt: skip
"""Languages in which a point separates thousands: `1.250`."""
_POINTS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![\d.]*\d|,\d)")
_CODE = re.compile(r"(?<![^\W_])(?:Rp|kr|Kč|zł|R\$|S/)\.?(?=[ ]?[0-9])")
"""A currency that no sign is read for: `Rp15.000`."""
_NOTE = re.compile(r"(?<=[0-9])(?<!(?<![0-9])10)[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?=[\s.。*_)]*(?:\n|\Z))")
"""The superscript of a note behind an answer: `12¹`."""
_HTML = re.compile(
    r"</?(?:b|i|u|p|em|strong|br|span|div|code|pre|li|td|mark|sup|sub|h[1-6])\b[^<>\n]{0,40}>", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,30}>\s*$")
_APOSTROPHES = str.maketrans("’‘`", "'''")
_GAP = 70
"""Most characters between related numbers."""
_MOST, _TAIL, _WINDOW = 200, 2_000, 100_000
"""Most numbers of a sentence, and characters at the end of a sentence and of a text, that are examined."""
_BOUND = 32
"""Characters before a number in which a bound or a function is named."""
_WORDS = 6
"""Most words of a number in words."""
_OPEN = r"[*_({$€£¥₽\\~\s]*"
_OPERATOR = re.compile(  # between two operands, or the ends of a range: `3 × 4`, `16-20`
    r"\s*(?:[-+*/^~…−–—×÷·∶]|\.{2,3}|[xXхХ]|\\times|\\cdot|\\div|\\?b?mod|to|до|到|至)\s*[($€£¥₽\\~]*\s*"
    r"|[^=\n.;!?]{0,30}\s(?:[×*÷+]|\\times)\s[^=\n.;!?]{0,30}"
)
_BETWEEN = re.compile(r"(?:\bbetween|\bfrom|\bмежду|\bот|介于|在)\s*[(*$€£¥₽\\~]*\s*$", re.IGNORECASE)
_BETWEEN_AND = re.compile(
    rf"[^=\n.;!?0-9]{{0,20}}?(?:\band\b|\bto\b|\bи\b|\bдо\b|和|与|到|至)\s*{_OPEN}", re.IGNORECASE
)
_UNKNOWN_IS = re.compile(r"(?<![^\W_])([a-zA-Z])[ ]?=[ $\\(*_{]*$")  # x =
_JOINED = re.compile(  # between two values of one standing: `3, 5`, `x = 1 or x = 9`
    rf"[*_$}})\]\\]*\s*(?:(?:[,;、，/&±]|\\pm|(?:\\text\s?\{{\s*)?\b(?:and|or|и|или|und|oder|et|ou|y|o|e|lub|veya|atau|hoặc)\b\s*\}}?|和|与|或者?|还是|または|또는|혹은|या|أو|หรือ)\s*"
    rf"(?:(?:also|maybe|possibly|perhaps|возможно|[a-z]\s?=)\s*)?{_OPEN}){{1,3}}",
    re.IGNORECASE,
)
_UNKNOWN_AFTER = re.compile(  # makes a number part of an expression: `3 × width`, `2π`, `14 + u`, `3i`, `$42!$`
    r"[ \t$]{0,2}(?:\\(?:times|cdot)\b|[×÷])[ \t$]{0,2}(?:\\text\{)?[^\W\d_]"
    r"|[ \t]?(?:π|√(?=[0-9(])|\\(?:pi|sqrt)\b)"
    r"|(?:[ ]\+[ ]|\+)[$]?(?:\\text\{)?[^\W\d_]|[ \t]?[-−–*/·][ \t]?[xyznXYZNхХ](?![\w'.])|i(?![\w'])"
    r"|!(?=\s?(?:[$)]|\\[)\]]))|[abnqruxyz](?=[$}]|\\\))"
    r"|[a-z](?=[\^_²]|\s?[-+=])|[ \t][-+−*/×÷=][ \t]*\Z"
)
_UNKNOWN_BEFORE = re.compile(r"(?<![^\W_])[b-hj-zB-HJ-Zхx][)$]?[ \t]?[-+−–*/×÷·^][ \t]?[($€£¥₽\\]{0,2}$")
_NO_RESULT = re.compile(  # before a number: a root, a function, two signs, a bound
    r"(?:√|±|\\pm|\\?sqrt|\\?(?<![^\W_])(?:ln|lg|log|sin|cos|tan))[ \t]?[({]?$|frac\{[^{}0-9]{1,9}\}\{$"
    r"|(?:(?<![<>=-])[<>]=?|[≤≥≦≧⩽⩾≠]|\\(?:leq?|geq?|leqslant|geqslant|lt|gt|neq?|not=?)(?![a-z])|!=)\s*[$\\]{0,2}\s*$"
    r"|(?<![^\W_])(?:(?:more|less|greater|fewer|higher|lower) than"
    r"|(?:больше|меньше)(?: чем)?|over|under|above|below|"
    r"свыше|almost|nearly|почти)\s*[*_$]{0,3}$",
    re.IGNORECASE,
)
_EQUALS = re.compile(r"=|≈|\\approx|\bequals\b|\bравно\b|\bто есть\b|\bсоставляет\b|等于|就是", re.IGNORECASE)
_RESULT = re.compile(r"(?:[=≈]|\\approx|>>)\s*(?:\\?[$€£¥₽]|[*_({\\]){0,4}\s*$")
"""Before the number after an equals sign."""
_CONDITION = re.compile(  # before the 3 of `the value of x when $y = 3$ is 600`
    r"(?<![^\W_])(?:when|if|where|for|with|given|at|при|если|когда|где)(?: that)?"
    r"[\s$\\(*]{1,4}(?:[a-zA-Z](?:_\{?\w\}?)?\s?=\s?-?[0-9./]{1,8}[$\\)]{0,3}(?:,|,? and)[\s$\\(]{1,4}){0,2}"
    r"(?:[a-zA-Z](?:_\{?\w\}?)?\s?=\s?){1,4}[$\\(*-]{0,3}$",
    re.IGNORECASE,
)
_EXPRESSION = re.compile(r"[^,;.\n]*")  # to the end of an entry of a list
_BRACKETED = re.compile(r"(?<!\\)[(（][^()（）\n]{0,300}[)）]")
_REWORDED = re.compile(r"[(（][ ]?(?:or|или|或者?|i\.e\.|that is|то есть|即|=)(?![^\W_一-鿿])", re.IGNORECASE)
_OF = re.compile(r"[0-9][^\n.,;，]{0,40}\bof[ ]*(?:the |these |those )?[$€£*_]*$")
"""Before the M of `14 cars of 4 people`, not of `a total of 54`."""
_UNIT = re.compile(r"[ \u00a0*_$]{0,3}([^\W\d_]+|¢)")
_SIGNS = {"$": "dollar", "₽": "руб"}
_BARE_END = re.compile(r"[ ]?[*_$}\\)`\"'»”]*(?:[\s]*[(（,;.，；。!]|\s*$|\s*\n)")
_HEAD = re.compile(r"[^:：\n]{1,60}(?=[:：]\s)")
_LISTED = re.compile(r"[ \t>*_#]{0,8}[0-9]{1,3}[.)、][*_]{0,2}(?=[ \t]+\S)")
# The outline of a text has a NUL for each number, and nothing that only wraps.
_WRAPPING = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|boxed)\b|\\[()\[\],;! ]|[*_`$\"'“”«»„{}~]"
    r"|<[^<>]{0,20}>|\\(?![a-zA-Z])|\^\{?\\circ\}?"
)
_LAST_BRACKET = re.compile(rf"(?<=[^\s(（])\s*(?!{_REWORDED.pattern})(?:\([^()]*\)|（[^（）]*）)\s*[.。]?\s*$")
_ABOUT = (
    r"(?:about|approximately|approx\.?|roughly|around|exactly|only|just"
    r"|it is|it's|is|at least|at most|около|примерно|"
    r"ровно|приблизительно|это|约|大约|是|为|USD|EUR|Rs\.?)\s*"
)
_SIGN_OFF = r"[\s.。…!！|\]),;—\u2190-\u21ff\u2300-\u2bff\ufe0f\U0001f000-\U0001faff]*"
_UNITS = r"(?:\s*(?:[¢°€£¥₽$%]|[^\W\d_]{1,20}[.²³]?(?:\^?\{?[23]\}?)?(?:[/-][^\W\d_]{1,15}){0,2})){0,4}"
_WHOLE = re.compile(
    rf"[\s:：=≈+|.\[(]*(?:{_ABOUT})?\0(?![abnqruxyz](?![^\W_]))(?:\.(?!\s*[A-ZА-Я]))?\s*>?{_UNITS}{_SIGN_OFF}"
)
"""A number and its unit: `about \0 square meters.`"""
_CHAIN = re.compile(r"[\s\0+*/×÷·−–^().,=-]*=(?=[^=]*\Z)")
"""The sides before the last one of an equality of numbers alone."""
_PHRASE = re.compile(r"[\s:=]*\0(?:\s+(?:\0|[^\W\d_]{2,20}))+[\s.。]*")
"""A number and words with other numbers: `\0 dollars for \0 mugs`."""
_SEVERAL = re.compile(
    r"[\s:：=≈|.\[(\\{]*\0(?:(?:[\s,;、，/&±+*×÷^–—−:-]|pm|and|or|to|и|или|до|和|或|至|到|[()\[\]])+\0)+[\s.。!\])}]*"
)
_SIGN = re.compile(r"[+*×÷^−–:±/-]|pm")
_VERB = re.compile(r"\b(?:is|are|was|were|will|if|when|has|have|does|then|so|есть)\b", re.IGNORECASE)


class NumberAnswer(NamedTuple):
    """A final answer: its exact value (None: no single number), the rule that found it, and its text."""

    value: Fraction | None
    rule: str
    text: str
    is_said: bool


class NumberReading(NamedTuple):
    """The answer of a reply, if any, and where the statement begins that decides, if any."""

    answer: NumberAnswer | None = None
    anchor: int | None = None


def read_number(
    text: str, question: str = "", *, language: str = "", cut: bool = False, prompt: str = "", exact: bool = False
) -> NumberReading:
    """Return the number that a text gives as its answer; positions are those of the text.

    `cut`: the reply ended at its token limit, so that only a statement counts. `exact`: `at least 9` is no number.
    A percent or currency sign changes no value. Never raises; the time is linear.

    Source: SPEC 3 (L1), 19.
    """
    reading = read(unify_notation(text, language), Numbers(question, exact), cut=cut, prompt=prompt)
    if reading.values is None:
        return NumberReading(None, reading.anchor)
    value = None
    if len(reading.values) == 1:
        value = cast("Fraction", next(iter(reading.values)))
    written = text[reading.start : reading.end]
    # Of `x = 9 (USD)` the number is what is shown.
    spans = [(number.start, number.end) for number in find_numbers(written) if number.value == value]
    start, end = (spans or [(0, len(written))])[0]
    answer = NumberAnswer(value, reading.rule, written[start:end], reading.is_said)
    return NumberReading(answer, reading.anchor)


def unify_notation(text: str, language: str = "") -> str:
    """Return a reply in one notation of the same length: ASCII digits and signs; points that group as commas."""
    text = narrow_digits(text).translate(_APOSTROPHES).replace("\0", " ")  # NUL stands for a number in an outline
    for unread in (_NOTE, _HTML, _CODE):
        text = unread.sub(lambda match: " " * len(match[0]), text)
    if language.partition("-")[0].lower() in GROUPED_BY_POINTS:
        text = _POINTS.sub(lambda group: group[0].replace(".", ","), text)
    return text


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers as answers to a question; `is_exact`: a bound is none."""

    question: str = ""
    is_exact: bool = False
    is_chosen: bool = False

    @property
    def quantity(self) -> AskedQuantity:
        """The quantity asked for; computed when it is needed, which is seldom."""
        return find_asked_quantity(self.question)

    def mentions(self, reply: Prepared, begin: int, end: int) -> list[Mention]:
        """Return the numbers of a stretch, in digits, else in words."""
        return [*map(_as_mention, self._find_candidates(reply.text, begin, end))]

    def _find_candidates(self, text: str, begin: int, end: int) -> list[Number]:
        """Return the numbers of a stretch, in digits, else in words; `joined` ones are no results by themselves."""
        begin -= text[begin - 1 : begin] in {":", "="}  # `ANSWER: - 5`: the dash is a minus there
        stretch = text[begin:end]
        candidates = find_numbers(stretch)
        if not candidates:
            return [word.shift(begin) for word in find_worded(stretch)]
        operands = set[int]()
        for first, second in pairwise(candidates):
            if _is_operation(stretch, first, second):
                operands |= {first.start, second.start}
        for index, number in enumerate(candidates):
            is_joined = number.joined or number.start in operands or self._is_no_result(stretch, number)
            candidates[index] = number._replace(joined=is_joined).shift(begin)
        return candidates

    def _is_no_result(self, text: str, number: Number) -> bool:
        """Return whether a number is part of an expression, or a bound."""
        before = max(0, number.start - _BOUND)
        is_quote = not text[text.rfind("\n", 0, number.start) + 1 : number.start].strip(" >\t")
        is_tag = text[number.start - 1 : number.start] == "<" and text[number.end : number.end + 1] == ">"
        is_tag = is_tag or _TAG.search(text, before, number.start) is not None
        is_bound = self.is_exact and (
            pattern("bounds_before").search(text, before, number.start)
            or pattern("bounds_after").match(text, number.end)
        )
        return bool(
            is_bound
            or _UNKNOWN_AFTER.match(text, number.end)
            or _UNKNOWN_BEFORE.search(text, max(0, number.start - 8), number.start)
            or (_NO_RESULT.search(text, before, number.start) and not (is_tag or is_quote))
        )

    def read_whole(self, content: str) -> Values | None:
        """Return the number of a text that is only a number with its unit; none if several, or no single one."""
        if len(content) > LONGEST_WHOLE:
            return None
        candidates = find_numbers(f":{content}")
        if not candidates:
            return _read_words(content)
        outline = _outline(content, candidates)
        if _VERB.search(outline):
            return None
        result = candidates[max(0, outline.count("\0") - 1)]
        if _WHOLE.fullmatch(_CHAIN.sub("", outline, count=1)):
            is_bound = self.is_exact and self._is_no_result(f":{content}", result)
            return _values_of([] if is_bound else [result])
        if _SEVERAL.fullmatch(outline):
            # `39 (or 39.0)` is one number, `39 - 39` is not.
            return _values_of([] if _SIGN.search(outline) else candidates)
        stated: Mention | None = None
        if _PHRASE.fullmatch(outline):
            plain = _WRAPPING.sub(" ", content)
            stated = self.find_stated(Prepared.of(plain), 0, len(plain))
        return stated.values if stated else None

    def read_entry(self, content: str) -> Values | None:
        """Return the values of an entry of a list of answers."""
        return self.read_whole(content)

    def find_stated(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return the number that a clause after a cue states: none if it states several, or none that is single."""
        text = reply.text
        candidates = self._find_candidates(text, begin, end)
        free = _find_free(candidates)
        undenied = self._drop_denied(text, free, begin)
        if not candidates or (free and not undenied):
            return None
        # `3 + 4 apples`: an operand opens the clause, and what is left is not computed from it
        opens = len(undenied) == 1 and candidates[0].joined and candidates[0].start < undenied[0].start
        if not undenied or (opens and not _EQUALS.search(text, candidates[0].end, undenied[0].start)):
            return Mention(frozenset(), begin, end)
        starts = {mention.start for mention in set_aside(text, begin, end, map(_as_mention, undenied))}
        main = [number for number in undenied if number.start in starts]
        chosen = self._choose(text, main, begin, end, is_leading=True)
        if self._is_of_several(text, candidates, chosen):
            return chosen._replace(values=frozenset())
        return chosen

    def _is_of_several(self, text: str, candidates: Sequence[Number], chosen: Mention) -> bool:
        """Return whether what is joined to a chosen number is an expression without a result: `1, -1 + 2i`."""
        for first, second in pairwise(candidates):
            if chosen.start not in {first.start, second.start} or not _is_joined(text, first, second):
                continue
            neighbour = second
            if second.start == chosen.start:
                neighbour = first
            expression = _EXPRESSION.match(text, neighbour.start)
            if self._is_no_result(text, neighbour) or (
                neighbour.joined and expression and "=" not in expression[0]
            ):
                return True
        return False

    def infer(self, reply: Prepared, begin: int) -> Mention | None:
        """Return the result of the last sentence with one; a bare number as last or first line goes before."""
        text = reply.text
        spans = [span for span in lines(text, max(begin, len(text) - _WINDOW)) if not is_remark(text, *span)]
        for start, stop in (*spans[-1:], *spans[:1]):
            values = self.read_whole(text[start:stop])
            is_bare = "=" not in text[start:stop].lstrip(" =") and not _UNIT.search(text, start, stop)
            if values is not None and is_bare:
                return Mention(values, start, stop)
        headed = self._find_head(text, spans)
        if headed:
            return headed
        for start, stop in reversed(spans):
            bullet = _LISTED.match(text, start, stop)
            first = bullet.end() if bullet else start
            for opened, closed in reversed([*split_sentences(text[first:stop])]):
                result = self._infer_from(text, max(first + opened, first + closed - _TAIL), first + closed)
                if result is not None:
                    return result
        return None

    def _find_head(self, text: str, spans: Sequence[tuple[int, int]]) -> Mention | None:
        """Return the number before a colon in a reply of one line, in the quantity asked for: `42 eggs: …`."""
        if len(spans) != 1:
            return None
        head = _HEAD.match(text, *spans[0])
        values = head and self.read_whole(head[0])
        # `3 boxes: 36 eggs` begins a calculation.
        if not head or not any(is_given_in(head[0], number, self.quantity) for number in find_numbers(head[0])):
            return None
        return Mention(values, *head.span()) if values else None

    def _infer_from(self, text: str, begin: int, end: int) -> Mention | None:
        """Return the result of a sentence; None if it states no number."""
        if is_idle(text, begin, end):
            return None
        undenied = self._drop_denied(text, _find_free(self._find_candidates(text, begin, end)), begin)
        free = [number for number in undenied if not self._is_of_the_reply(text, number)]
        if not free:
            return None
        clauses = _split_clauses(text, begin, end)
        unexplained = [number for number in free if not self._explains(text, clauses, number)] or free
        results = [
            number for number in _find_outside(text, unexplained, begin, end) if _is_result(text, number, begin)
        ]
        main = _alternatives(text, results) or self._find_main(text, unexplained[-_MOST:], clauses, begin)
        if results:
            # `9 * 2 = 18, so 20 in all`: only a consequence goes beyond what was computed
            last = results[-1].end
            consequence = words("consequences", text).search(text, last, end)
            main = [number for number in free if consequence and number.start >= consequence.end()] or main
        return self._choose(text, main, begin, end, is_leading=False)

    def _drop_denied(self, text: str, free: Sequence[Number], begin: int) -> list[Number]:
        """Return the numbers that their sentence does not deny; `= 40 are not red` denies no result."""
        starts = {mention.start for mention in drop_denied(text, [*map(_as_mention, free)], begin)}
        undenied = list[Number]()
        for number in free:
            is_computed = _is_result(text, number, begin) and not is_denied(text, begin, number.start)
            is_affirmed = number.start in starts or is_computed
            if is_affirmed and not pattern("wrong").match(text, number.end):
                undenied.append(number)
        return undenied

    def _is_of_the_reply(self, text: str, number: Number) -> bool:
        """Return whether a number is a label (`step 3`) or counts the reply's steps, unless those are asked for."""
        if _is_label(text, number):
            return True
        counts = pattern("of_the_reply").match(text, number.end) is not None
        return counts and not is_given_in(text, number, self.quantity)

    def _find_main(
        self, text: str, free: list[Number], clauses: Sequence[tuple[int, int]], begin: int
    ) -> list[Number]:
        """Return the numbers of a sentence's last clause with one that is no aside."""
        main = [number for number in free if self._is_asked_for(text, number) or not _is_aside(text, number, begin)]
        main = main or free
        last = _find_clause(clauses, main[-1])
        joined = [number for number in main if number.start >= last[0]]
        # `3, 5, 7`: commas between nothing but numbers end no clause
        while len(joined) < len(main) and _is_joined(text, main[-len(joined) - 1], joined[0]):
            joined = main[-len(joined) - 1 :]
        # `5 hours, and the trip covers 300 miles`: of other quantities than the asked one, none is the answer
        if len(joined) > 1 or all(map(partial(_find_unit, text), joined)):
            asked_for = list(filter(partial(is_given_in, text, quantity=self.quantity), main))
            return asked_for[-1:] if asked_for and not {*asked_for} & {*joined} else joined
        return joined

    def _is_asked_for(self, text: str, number: Number) -> bool:
        return is_given_in(text, number, self.quantity) or is_money(text, number)

    def _explains(self, text: str, clauses: Sequence[tuple[int, int]], number: Number) -> bool:
        """Return whether a number's clause explains an answer that stands in another one."""
        clause = _find_clause(clauses, number)
        if pattern("explains").match(text, *clause):
            return True
        computes = is_given_in(text, number, self.quantity) or "=" in text[clause[0] : clause[1]]
        return not computes and pattern("explains_if_not_computed").match(text, *clause) is not None

    def _choose(self, text: str, free: Sequence[Number], begin: int, end: int, *, is_leading: bool) -> Mention:
        """Return the result among a clause's numbers, in the order of SPEC 3; none if several are left."""
        flat = _blank_brackets(text, begin, end)
        outside = _find_outside(text, free, begin, end)
        equals = [begin + match.end() for match in _EQUALS.finditer(flat)]
        last_side = [number for number in outside if equals and number.start >= equals[-1] - 1]
        main = _without_parts(text, last_side or outside, begin)
        if len(main) > 1 and is_leading and _opens(text, main[0], begin):
            main = self._find_equals_beside(text, main, main[0])
        if len(main) > 1:
            # The quantity asked for decides, and of those the one that is no aside.
            plain = [number for number in main if not _is_aside(text, number, begin)]
            asked_for = [number for number in main if is_given_in(text, number, self.quantity)]
            main = [number for number in asked_for if number in (plain or main)] or asked_for or plain or main
        results = self._find_equals_beside(text, main, main[-1])
        if len(results) == 1:
            results = _alternatives(text, [number for number in outside if number.start <= results[0].start])
        return Mention(_values_of(results), results[-1].start, results[-1].end)

    def _find_equals_beside(self, text: str, candidates: Sequence[Number], chosen: Number) -> list[Number]:
        """Return a number with its equals beside it; of one quantity in two units the one asked for."""
        first = last = candidates.index(chosen)
        while first and _is_joined(text, candidates[first - 1], candidates[first]):
            first -= 1
        while last + 1 < len(candidates) and _is_joined(text, candidates[last], candidates[last + 1]):
            last += 1
        equals = list(candidates[first : last + 1])
        if len(equals) > 1 and all(_is_one_quantity(text, *pair) for pair in pairwise(equals)):
            return [number for number in equals if is_given_in(text, number, self.quantity)][:1] or equals[:1]
        return equals


def _values_of(group: Sequence[Number]) -> Values:
    """Return the value of numbers that are equal; none if they differ, or are no single number."""
    values = frozenset(number.value for number in group)
    return frozenset() if len(values) > 1 else values - {None}


def _find_free(candidates: Sequence[Number]) -> list[Number]:
    return [number for number in candidates if not number.joined and number.value is not None]


def _read_words(content: str) -> Values | None:
    """Return the number of a text that is one in words; None for any other text."""
    letters = _WRAPPING.sub(" ", content).strip(" .:=\n")
    if not letters.replace("-", "").replace(" ", "").isalpha() or len(letters.split()) > _WORDS:
        return None
    value = parse_spelled(letters)
    return None if value is None else frozenset({value})


def _outline(content: str, candidates: Sequence[Number]) -> str:
    """Return a text with a NUL for each number, without what only wraps, and without a bracket at its end.

    The numbers are those of the text behind a colon.
    """
    pieces, position = list[str](), 0
    for number in candidates:
        pieces += [content[position : number.start - 1], "\0"]
        position = number.end - 1
    outline = _WRAPPING.sub("", "".join([*pieces, content[position:]]))
    return _LAST_BRACKET.sub("", outline)


def _alternatives(text: str, results: Sequence[Number]) -> list[Number]:
    """Return the last result, with those of the same unknown before it: both of `x = 1 or x = 9`."""
    first = len(results) - 1
    while first > 0 and _is_other_value(text, results[first - 1], results[first]):
        first -= 1
    return list(results[max(0, first) :])


def _is_other_value(text: str, first: Number, second: Number) -> bool:
    """Return whether two numbers are values of one unknown, joined: `x = 1 or x = 9`, `x = 1, 9`."""
    unknowns = [_UNKNOWN_IS.search(text, max(0, number.start - 12), number.start) for number in (first, second)]
    if unknowns[0] is None or not _is_joined(text, first, second):
        return False
    return unknowns[1] is None or unknowns[0][1] == unknowns[1][1]


def _split_clauses(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    flat = _blank_brackets(text, begin, end)
    cuts = [begin, *(begin + match.start() for match in pattern("clauses").finditer(flat)), end]
    return [clause for clause in pairwise(cuts) if clause[0] < clause[1]]


def _find_clause(clauses: Sequence[tuple[int, int]], number: Number) -> tuple[int, int]:
    return next((clause for clause in reversed(clauses) if clause[0] <= number.start), clauses[0])


def _is_label(text: str, number: Number) -> bool:
    """Return whether a word for a label stands before a number: `step 3`."""
    return pattern("labels").search(text, max(0, number.start - 14), number.start) is not None


def _is_result(text: str, number: Number, begin: int) -> bool:
    """Return whether a number stands after an equals sign, but in no condition: `when y = 3`."""
    is_equal = _RESULT.search(text, max(begin, number.start - 8), number.start) is not None
    return is_equal and not _is_condition(text, number, begin)


def _is_condition(text: str, number: Number, begin: int) -> bool:
    return _CONDITION.search(text, max(begin, number.start - 2 * _BOUND), number.start) is not None


def _is_aside(text: str, number: Number, begin: int) -> bool:
    """Return whether a number stands in a prepositional phrase, or says how much each is or how many times."""
    if _is_result(text, number, begin):
        return False
    return (
        _is_condition(text, number, begin)
        or pattern("asides_before").search(text, max(begin, number.start - 30), number.start) is not None
        or _OF.search(text, max(begin, number.start - 60), number.start) is not None
        or pattern("asides_after").match(text, number.end) is not None
    )


def _as_mention(number: Number) -> Mention:
    is_result = not number.joined and number.value is not None
    return Mention(frozenset({number.value}) if is_result else frozenset(), number.start, number.end)


def _is_operation(text: str, first: Number, second: Number) -> bool:
    """Return whether two neighbours are operands, or the ends of a range."""
    gap = text[first.end : second.start]
    is_signed = not gap.strip() and text[second.start] in MINUS
    is_range = _BETWEEN_AND.fullmatch(gap) and _BETWEEN.search(text, max(0, first.start - 20), first.start)
    return len(gap) <= _GAP and bool(is_signed or is_range or _OPERATOR.fullmatch(gap))


def _is_joined(text: str, first: Number, second: Number) -> bool:
    """Return whether two numbers have one standing: by 'or', 'and', a comma, or 'another gives'."""
    gap = text[first.end : second.start]
    if len(gap) > _GAP:
        return False
    is_alternative = not re.search(r"[=\n.;!?]", gap) and words("alternatives", gap).search(gap)
    return _JOINED.fullmatch(gap) is not None or bool(is_alternative)


def _is_one_quantity(text: str, first: Number, second: Number) -> bool:
    """Return whether two numbers are one quantity in two units: `60 minutes or 1 hour`; or equal."""
    if first.value is None or second.value is None:
        return False
    if first.value == second.value:
        return True
    units = _find_unit(text, first), _find_unit(text, second)
    for sizes in dimensions():
        if units[0] in sizes and units[1] in sizes:
            return first.value * sizes[units[0]] == second.value * sizes[units[1]]
    return False


def _find_unit(text: str, number: Number) -> str:
    """Return the name of a number's unit, by a sign in it or a word behind it; '' if it has none."""
    for sign, word in _SIGNS.items():
        if sign in text[number.start : number.end]:
            return word
    behind = _UNIT.match(text, number.end)
    return unit(behind[1]) if behind else ""


def _opens(text: str, number: Number, begin: int) -> bool:
    """Return whether a clause begins with a bare number: `19 (7 dollars more)`."""
    lead = text[begin : number.start].strip(" *_$\\({`~≈:\n\"'")
    return not lead and _BARE_END.match(text, number.end) is not None


def _without_parts(text: str, free: Sequence[Number], begin: int) -> list[Number]:
    """Return the numbers that are no part of a unit or a label, and no whole of which another is a part."""
    results = list[Number]()
    for index, number in enumerate(free):
        # What stands between a number and the one before it.
        gap, is_share = "-", False
        if index:
            gap = text[free[index - 1].end : number.start]
            is_share = free[index - 1].percent and pattern("share_of").fullmatch(gap) is not None
        is_part = not gap.strip() or is_share or pattern("whole_of").fullmatch(gap) is not None
        is_item = text[number.end : number.end + 1] == ")" and "(" not in text[begin : number.start]
        is_label = is_item or pattern("compounds").match(text, number.end) or _is_label(text, number)
        if pattern("among").fullmatch(gap) and results:
            results.pop()
        if not is_part and not (is_label and not _is_result(text, number, begin)):
            results.append(number)
    return results or list(free)


def _find_outside(text: str, free: Sequence[Number], begin: int, end: int) -> list[Number]:
    """Return a stretch's numbers outside of brackets, if there are any."""
    flat = _blank_brackets(text, begin, end)
    return [number for number in free if flat[number.end - 1 - begin] != "\0"] or list(free)


def _blank_brackets(text: str, begin: int, end: int) -> str:
    """Return a stretch with NULs for what stands in round brackets, unless they open it or restate."""
    stretch = text[begin:end]
    if "(" not in stretch and "（" not in stretch:
        return stretch

    def blank(bracket: re.Match[str]) -> str:
        opens = not stretch[: bracket.start()].strip(" *_$\\:\n")
        return bracket[0] if opens or _REWORDED.match(bracket[0]) else "\0" * len(bracket[0])

    return _BRACKETED.sub(blank, stretch)
