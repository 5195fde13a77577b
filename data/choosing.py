"""Choice of the answer among a sentence's numbers: the quantity asked for, else a computed one, else the last.

A question asks for a currency, a percentage or a named thing. Candidates are a sentence's numbers except operands,
ends of ranges, and alternatives.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from data.beside import read_beside
from data.measures import dimensions, unit
from data.numerals import CURRENCIES, MINUS, Number, narrow, numbers
from data.patterns import pattern

_ASKED_TAIL = 4_000
"""Characters read at the end of a question."""


class AskedQuantity(NamedTuple):
    """The quantity asked for: money, a percentage, or one of `words` (stems; Chinese: the text after 多少)."""

    money: bool = False
    percent: bool = False
    words: frozenset[str] = frozenset()


_UNIT_WITHIN = 40
"""Characters after a number searched for its unit."""
_MONEY = pattern(
    r"\b(?:money|dollars?|bucks|euros?|costs?|costing|pay|pays|paid|paying|payment|earn\w*|spend\w*|spent|price\w*|"
    r"profits?|owes?|bill|salary|wages?|income|revenue|budget|expenses?|change|fees?|tips?|refund|debt|savings?|"
    r"rent|tax(?:es)?)\b|[$€£]"
    r"|\b(?:ден(?:ег|ьги)|рубл\w*|доллар\w*|евро|сто(?:ит|ят|или|имость|ила|ил)|заплат\w*|плат\w*|зараб\w*|"
    r"потрат\w*|трат\w*|цен[ауы]|прибыл\w*|расход\w*|зарплат\w*|доход\w*|бюджет\w*|сдач\w*|выруч\w*)\b"
    r"|钱|錢|美元|元|价格|價格|费用|費用|成本|利润|利潤|工资|收入|支出|支付|付款|花费",
    re.IGNORECASE,
)
_OTHER = pattern(
    r"\bhow (?:long|far|old|tall|high|often|many)\b|\b(?:weigh\w*|weight|time|longer|farther|further|older|taller|"
    r"faster|heavier|distance|length|water|age)\b|\bвесит\b|\bвремени\b|\bвес\b|多少(?!钱|錢|元|美元|？|\?|$)|多长|多久|多远",
    re.IGNORECASE,
)
_IN_MONEY = pattern(
    r"\b(?:dollars?|euros?|(?-i:USD|EUR|RUB)|руб\w*|доллар\w*|евро)\b"
    r"|\bhow many (?:[$€£¥₽₹](?![0-9])|[美欧日]?元|块|人民币|英镑)|多少(?:美元|元|钱|錢|块钱)",
    re.IGNORECASE,
)
_PERCENT = pattern(r"\bpercent(?:age)?\b|%|\bпроцент\w*|百分", re.IGNORECASE)
_THING = pattern(
    r"(?:\bhow many(?: of (?:the|his|her|their|these|those))?|\bnumber of|\bсколько|\bчисло|\bколичество)"
    r"(?P<words>(?:[ ]+[^\W\d_][\w'’-]*){1,5})"
    r"|,? \b(?:in|в) (?P<unit>[^\W\d_]{1,20})\b",
    re.IGNORECASE,
)
_THING_ZH = pattern(r"(?:多少|几|幾)(?P<words>[一-鿿]{1,6})")
_WORDS: Mapping[str, str] = read_beside(__file__)
_SKIPPED, _STOPS = frozenset(_WORDS["skipped"].split()), frozenset(_WORDS["stops"].split())
_MEASURES = frozenset("个個只隻条條张張件名位本枚颗顆辆輛")
_LETTERS = pattern(r"[^\W\d_][\w'’-]*")
_HAN = pattern(r"[一-鿿]{1,6}")
_PAID = pattern(
    r"[ \u00a0*_\\]{0,4}(?:[$€£¥₽₹]|(?:US[ ]?)?dollars?\b|bucks\b|euros?\b|USD\b|EUR\b|RUB\b|"
    r"руб|доллар|евро|(?:[多余]?[美欧日]?元)|块钱?|人民币|英镑)",
    re.IGNORECASE,
)


def _stem(word: str) -> str:
    """Remove an English plural ending; other words are only lowercased."""
    word = word.lower().replace("ё", "е")
    if not word.isascii():
        return word
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = word.removesuffix("e")
    return f"{word[:-1]}i" if word.endswith("y") else word


_UNIT_STEMS = frozenset(map(_stem, _WORDS["units"].split()))


def _alike(one: str, other: str) -> bool:
    """Return whether two stems are the same word: equal in English, equal up to the ending in Russian."""
    if one == other or one.isascii():
        return one == other
    shared = max(3, min(len(one), len(other)) - 2)
    return len(one) >= shared <= len(other) and one[:shared] == other[:shared]


@lru_cache(maxsize=4096)
def asked_quantity(question: str) -> AskedQuantity:
    """Return the quantity that the last question in the text asks for; nothing if in doubt.

    Source: ours.
    """
    sentences = [one for one in re.split(r"(?<=[.!?。？！])\s*", question[-_ASKED_TAIL:].strip()) if one]
    asking = next((one for one in reversed(sentences) if one[-1] in "?？"), sentences[-1] if sentences else "")
    # The last clause that asks: `if each box costs $3, how many boxes` mentions a price in passing.
    begins = [m.start() for m in re.finditer(r"\b(?:how|what|сколько|как\w{1,3}|число)\b", asking, re.IGNORECASE)]
    clause = asking[begins[-1] if begins else max(asking.rfind("，"), asking.rfind(",")) + 1 :]
    words = _things(clause)
    percent = _PERCENT.search(clause) is not None and not words
    explicit = _IN_MONEY.search(clause) is not None
    money = explicit or (not words and not percent and bool(_MONEY.search(clause)) and not _OTHER.search(clause))
    return AskedQuantity(money, percent, frozenset() if explicit else words)


def _things(clause: str) -> frozenset[str]:
    if chinese := _THING_ZH.search(clause):
        word = chinese["words"]
        return frozenset() if word[0] in "钱錢元美欧" else frozenset({word})
    named = list[str]()
    for found in _THING.finditer(clause):
        if found["unit"]:
            stem = _stem(found["unit"])
            if stem in _UNIT_STEMS:  # `how much water, in liters`: the unit goes first
                return frozenset({stem})
            continue
        for word in found["words"].lower().split():
            if word in _STOPS:
                break
            if word not in _SKIPPED:
                named.append(_stem(word))
    return frozenset() if named and _MONEY.match(named[0]) else frozenset(named)


def given_in(text: str, number: Number, wanted: AskedQuantity) -> bool:
    """Return whether a number of the text is given in the quantity asked for."""
    if wanted.percent:
        return number.percent
    if wanted.money:
        return is_money(text, number)
    if not wanted.words or is_money(text, number):
        return False
    after = text[number.end : number.end + _UNIT_WITHIN].lstrip(" \u00a0*_$\\-")
    if han := _HAN.match(after):
        return any(_counts(han[0], word) for word in wanted.words)
    following = list[str]()
    for word in _LETTERS.findall(re.split(r"[.,;:!?=()\n0-9]", after, maxsplit=1)[0])[:4]:
        if word.lower() in _STOPS:
            break
        following.append(_stem(word))
    return any(_alike(word, name) for word in following for name in wanted.words)


def _counts(following: str, word: str) -> bool:
    """Return whether the Chinese words after a number name the quantity asked for: 个鸡蛋, 枚鸡蛋; 米, 米长."""
    shared = any(following[at : at + 2] in word for at in range(len(following) - 1))
    return shared or (following[0] == word[0] and (following[0] not in _MEASURES or len(following) == 1))


def is_money(text: str, number: Number) -> bool:
    """Return whether a currency sign or name is next to a number."""
    signed = any(sign in CURRENCIES for sign in text[number.start : number.end])
    return signed or _PAID.match(text, number.end) is not None


Results = Mapping[Fraction, int]
"""The results that a text computes, each with its rank: the last one computed has the highest."""


class SearchedText(NamedTuple):
    """A text prepared for the search, with narrow signs, and the question that it answers."""

    text: str
    question: str

    @property
    def wanted(self) -> AskedQuantity:
        """The quantity asked for; computed lazily, since it is seldom needed."""
        return asked_quantity(self.question)


_GAP = 70
"""Maximum distance in characters between related numbers."""
_OPERATOR = pattern(
    r"\s*(?:[-+*/^~…−–—×÷·∶]|\.{2,3}|[xXхХ]|\\times|\\cdot|\\div|\\?b?mod|to|до|到|至)\s*[($€£¥₽\\~]*\s*"
    r"|[^=\n.;!?]{0,30}\s(?:[×*÷+]|\\times)\s[^=\n.;!?]{0,30}"
)
_ALTERNATIVE = pattern(r"[^=\n.;!?0-9]{0,20}?(?:\bor\b|\bили\b|或者?|还是)\s*[({}*$€£¥₽\\~]*\s*", re.IGNORECASE)
_APPOSED = pattern(r"[^(\n]*\([ ]?(?:or|или|或者?)\b[^)\n]*", re.IGNORECASE)
_UNKNOWN_AFTER = pattern(
    r"[ \t$]{0,2}(?:\\(?:times|cdot)\b|[×÷])[ \t$]{0,2}(?:\\text\{)?[^\W\d_]"
    r"|[ \t]?(?:π|√(?=[0-9(])|\\(?:pi|sqrt)\b)"
    r"|(?:[ ]\+[ ]|\+)[$]?(?:\\text\{)?[^\W\d_]"
    r"|[ \t]?[-−–*/·][ \t]?[xyznXYZNхХ](?![\w'’.])"
)
_UNKNOWN_BEFORE = pattern(r"(?<![^\W_])[xyzXYZхХ][)$]?[ \t]?[-+−–*/×÷·][ \t]?[($€£¥₽\\]{0,2}$")
_BETWEEN = pattern(r"(?:\bbetween|\bмежду|介于|在)\s*[(*$€£¥₽\\~]*\s*$", re.IGNORECASE)
_AND = pattern(r"[^=\n.;!?0-9]{0,20}?(?:\band\b|\bи\b|和|与)\s*[({}*$€£¥₽\\~]*\s*", re.IGNORECASE)
_NO_RESULT = pattern(
    r"(?:√|±|\\pm|\\?sqrt|\\?(?<![^\W_])(?:ln|lg|log|sin|cos|tan))[ \t]?[({]?$|frac\{[^{}0-9]{1,9}\}\{$"
    r"|(?:(?<![^\W_])(?:not|rather than|instead of|не|вместо)|n['’]t|不是|而非)(?: the| about)?[\s*_$€£\"'«“(\\]*$",
    re.IGNORECASE,
)
"""Text before a number that makes it no result: a root, a function, two signs, a denial."""
_MARKUP = 3
"""Maximum characters of markup between a cue and its number."""
_BEFORE, _AFTER, _RESULTS, _WINDOW = 60, 40, 200, 100_000
"""Characters searched before an equals sign for an operator, and after it for the result; maximum number of equals
signs, and of characters before the answer, that are examined."""
_EQUALITY = pattern(r"=|≈|\bequals\b|\bравно\b|等于", re.IGNORECASE)
_OPERATED = pattern(
    r"[0-9)}%].{0,20}(?:[-+*/×÷·−–]|\b[xXхХ]\b|\\times|\\cdot|\\div|\\frac|\b(?:times|plus|minus)\b)|\\frac"
)
_EQUALS = pattern(
    r"=|≈|\bequals\b|\bwhich is\b|\bthat is\b|\bравно\b|\bто есть\b|\bсоставляет\b|等于|就是", re.IGNORECASE
)
_ASIDE = pattern(
    r"(?:\b(?:in|for|after|per|from|on|at|with|by|within|over|during|every|each|all|"
    r"за|на|через|из|в|во|после|по|с|со|от|для|каждые|каждый)|每|在)[ ]*(?:the[ ]|these[ ]|those[ ])?[$€£*_]*$",
    re.IGNORECASE,
)  # fmt: skip
_AND_ASIDE = pattern(r"\b(?:and|и)[ ]*[$€£*_]*$", re.IGNORECASE)
_OF = pattern(r"[0-9][^\n.,;，]{0,40}\bof[ ]*(?:the[ ]|these[ ]|those[ ])?[$€£*_]*$", re.IGNORECASE)
"""Matches `14 cars of 4 people`, not `a total of 54`."""
_EACH = pattern(r"[ *_]{0,3}(?:[^\W\d_]{1,12}[ ])?(?:each|apiece|per|a piece|за штуку|за кажд\w+)\b", re.IGNORECASE)
_COMPARED = pattern(
    r"[ *_]{0,3}(?:[^\W\d_]{1,15}[ ]){0,2}"
    r"(?:(?:more|less|fewer|older|younger)\b[^.,\n]{0,30}\bthan|(?:больше|меньше)\b[^.,\n]{0,30}\bчем)\b"
    r"|[ *_]{0,3}(?:times|раза?)\b|[ ]?倍",
    re.IGNORECASE,
)
_PRICED = pattern(
    r"\b(?:costs?|is worth|are worth|стоят|стоит|стоили|стоил[аи]?|обойд\w+|sells? for)\b|价值|售价|花费|卖",
    re.IGNORECASE,
)
_OUT_OF = pattern(
    r"[ *_]*(?:[^\W\d_]{1,15}[ ]){0,3}?"
    r"(?:(?:out )?of (?:the|its|his|her|their|these|those|all|all the|our|my)|out of|из)"
    r"(?: этих| тех| всех| них)?[ *_$]*(?:total )?",
    re.IGNORECASE,
)
"""The text between N and M in `N of the M`."""
_AMONG = pattern(r"[^0-9，。；,;.]{0,8}(?:当中|之中|中|里)[^0-9，。；,;.]{0,4}")
_SHARE = pattern(r"[ *_]*(?:of|от|из|的)(?: the| its| his| her| their| этих| всех)?[ *_$\\(]*", re.IGNORECASE)
_NAMED = pattern(r"-[^\W\d_]|(?:st|nd|rd|th)\b", re.IGNORECASE)
"""Text that makes a number part of a compound or an ordinal: `10-year-old`, `3rd`."""
_LABEL = pattern(r"(?:step|part|option|шаг|пункт|вариант|步骤|第|\[)[ *_#]{0,3}$", re.IGNORECASE)
_META = pattern(
    r"[ *_]{0,3}(?:[^\W\d_]{1,12}[ ])?(?:steps?|ways|methods|approaches|equations|calculations|"
    r"шаг(?:а|ов)?|способ\w*)\b"
    r"|[个種种]?(?:步骤|方法)",
    re.IGNORECASE,
)
"""Words for parts of the reply itself: `these 3 steps`."""
_CLAUSE = pattern(
    r"[,;:](?=[\s$])(?! (?:or|или)\b)|[，；：—–]|(?<=[ ])-(?=[ ])"
    r"|(?<![^\W_])(?=(?:so|therefore|thus|hence|making|leaving|because|since|значит|поэтому|потому что|так как|"
    r"поскольку)(?![^\W_]))"
    r"|(?=因为|由于|所以|因此)",
    re.IGNORECASE,
)
_EQUAL = pattern(r"[=≈]")
_BESIDE = pattern(
    r"[\s,;:—–-]*(?:(?P<why>(?:because|since|as|given that|considering|потому что|так как|поскольку|ведь)(?![^\W_])"
    r"|因为|由于|既然)|(?:which (?:is|was|are|were)|who|where|котор\w+)(?![^\W_]))",
    re.IGNORECASE,
)
"""The beginning of a clause that gives a reason or an explanation."""
_REWORDED = pattern(r"[(（][ ]?(?:or|или|或者?|i\.e\.|that is|то есть|即|=)(?![^\W_一-鿿])", re.IGNORECASE)
_BARE_END = pattern(r"[ ]?[*_$}\\)`]*(?:[\s(（,;.，；。]|$)")
_WORDED = pattern(r"[ ]?[*_$}\\)`]*[ ]?[^\W\d_]")
_UNIT = pattern(r"[ \u00a0*_$]{0,3}([^\W\d_]+|¢)")
_SIGNS = {"$": "dollar", "₽": "руб"}


def candidates(text: str, begin: int = 0, end: int | None = None) -> list[Number]:
    """Find numbers as `numbers` does, and mark the `joined` ones, which are no results by themselves.

    Source: ours.
    """
    stretch = text[begin:end]
    found = numbers(stretch)
    stretch = narrow(stretch)
    marked = _related(stretch, found) if len(found) > 1 else found
    return [
        one._replace(
            joined=one.joined
            or _UNKNOWN_AFTER.match(stretch, one.end) is not None
            or _UNKNOWN_BEFORE.search(stretch, max(0, one.start - 8), one.start) is not None
            or _NO_RESULT.search(stretch, max(0, one.start - 24), one.start) is not None,
            start=one.start + begin,
            end=one.end + begin,
        )
        for one in marked
    ]


def _related(text: str, found: Sequence[Number]) -> list[Number]:
    """Mark the numbers that are operands, ends of ranges, or alternatives of different values."""
    marked = list(found)
    for at, (left, right) in enumerate(pairwise(found)):
        gap = text[left.end : right.start]
        if len(gap) > _GAP:
            continue
        signed = not gap.strip() and right.start < len(text) and text[right.start] in MINUS
        alternative = (
            left.value != right.value
            and _ALTERNATIVE.fullmatch(gap)
            and not (_APPOSED.fullmatch(gap) or _same_quantity(text, left, right))
        )
        between = _AND.fullmatch(gap) and _BETWEEN.search(text, max(0, left.start - 20), left.start)
        if signed or alternative or between or _OPERATOR.fullmatch(gap):
            marked[at] = marked[at]._replace(joined=True)
            marked[at + 1] = right._replace(joined=True)
    return marked


def _unit(text: str, number: Number) -> str:
    """Return the unit of measure before or after a number; '' if it has none."""
    written = text[number.start : number.end]
    behind = _UNIT.match(text, number.end)
    return next((word for sign, word in _SIGNS.items() if sign in written), unit(behind[1]) if behind else "")


def _same_quantity(text: str, left: Number, right: Number) -> bool:
    """Return whether two numbers are one quantity in two units: `60 minutes or 1 hour`."""
    if left.value is None or right.value is None:
        return False
    one, other = _unit(text, left), _unit(text, right)
    shared = (sizes for sizes in dimensions() if one in sizes and other in sizes)
    return any(left.value * sizes[one] == right.value * sizes[other] for sizes in shared)


_REMARKED = pattern(
    r"[ ]?[*_$}\\)`]*(?: (?!dozen|squared|cubed|factorial|doubl|tripl|halv|twice|times?\b|plus\b|minus\b|more\b"
    r"|less\b|pairs?\b|percent|to the)[^\W\d_]+){0,3}[*_]*, which is",
    re.IGNORECASE,
)
"""Between an answer that opens a statement and a remark on it: `9 eggs, which is 3 times as many`."""


def choose(reading: SearchedText, found: Sequence[Number], begin: int) -> Number | None:
    """Choose the answer among the numbers of one sentence or box that begins at `begin`, after a marker or a cue.

    In order of preference: the number after the last equals sign; a bare number at the very beginning (`19 (7
    dollars more)`); a number in the currency or unit asked for; the number at the beginning, unless only a later
    one was computed; the last one computed; the first that no preposition makes an aside (`in 7 days she earns
    460`). Operands, ranges and alternatives are excluded, and so are, if there are others, numbers in brackets, the
    M of `N of the M`, and a number that is part of a unit (`240 5 dollar bills`).
    """
    text = reading.text
    free = [n for n in found if not n.joined]
    if not free:
        return None
    flat = unbracketed(text, begin, found[-1].end)
    equals = [begin + m.end() for m in _EQUALS.finditer(flat)]
    if len(equals) == 1 and free[0] is found[0] and free[0].value is not None:
        opens = not text[begin : free[0].start].strip(" *_$\\({`~≈")
        if opens and _REMARKED.fullmatch(text, free[0].end, equals[0]):
            return next((n for n in free if given_in(text, n, reading.wanted)), free[0])
    if equals:
        after = [n for n in free if n.start >= equals[-1] - 1 and flat[n.end - 1 - begin] != "\0"]
        free = after or free
    elif len(free) == 1 and found[0].joined and found[0].start <= min(free[0].start, begin + _MARKUP):
        return None
    if len(free) > 1 and len(free := essential(text, free, begin)) > 1:
        free = _narrowed(reading, free, begin, equals=bool(equals))
    return free[0] if free[0].value is not None else None


def is_of_the_reply(reading: SearchedText, number: Number) -> bool:
    """Return whether a number is a label (`step 3`) or counts the reply's steps, unless those are asked for."""
    if _LABEL.search(reading.text, max(0, number.start - 12), number.start):
        return True
    return bool(_META.match(reading.text, number.end)) and not given_in(reading.text, number, reading.wanted)


def essential(text: str, free: Sequence[Number], begin: int) -> list[Number]:
    """Return the numbers of a sentence that may be its result; all of them if none qualifies."""
    flat = unbracketed(text, begin, free[-1].end)
    kept = list[Number]()
    for at, number in enumerate(free):
        before = kept[-1] if kept and at and kept[-1] is free[at - 1] else free[at - 1] if at else None
        gap = text[before.end : number.start] if before else ""
        if (
            flat[number.end - 1 - begin] == "\0"
            or (_NAMED.match(text, number.end) and not _is_result(text, number, begin))
            or (before and _is_whole(before, gap))
        ):
            continue
        if before and kept and kept[-1] is before and _AMONG.fullmatch(gap):
            kept.pop()
        kept.append(number)
    return kept or list(free)


def _is_whole(before: Number, gap: str) -> bool:
    """Return whether a number is the M of `N of the M` or `P % of M`, or part of the unit of the one before it."""
    if before.percent and _SHARE.fullmatch(gap):
        return True
    return not gap.strip() or _OUT_OF.fullmatch(gap) is not None


def _narrowed(reading: SearchedText, free: list[Number], begin: int, *, equals: bool) -> list[Number]:
    """Return the numbers that may be meant, the likeliest first."""
    text = reading.text
    opens = not text[begin : free[0].start].strip(" *_$\\({`~≈")
    if opens and not equals and _BARE_END.match(text, free[0].end) and not _WORDED.match(text, free[0].end):
        return free
    if named := [n for n in free if given_in(text, n, reading.wanted)]:
        free = named
    if len(free) == 1 or equals:
        return free
    ranks = results(text[max(0, begin - _WINDOW) : begin])
    if opens and not named:
        if free[0].value in ranks:
            return free
        priced = [n for n in free[1:] if is_money(text, n) and _PRICED.search(text, free[0].end, n.start)]
        if priced and not is_money(text, free[0]):
            return priced
    bare = [n for n in free if not (_is_aside(text, n, begin) or _AND_ASIDE.search(text, begin, n.start))] or free
    if computed := [n for n in bare if n.value in ranks]:
        return [max(computed, key=lambda n: ranks[n.value or Fraction(0)])]
    return free if opens else bare


def conclude(reading: SearchedText, free: Sequence[Number], begin: int, end: int) -> Number:
    """Choose the result of a sentence from `begin` to `end` without a cue, among its free numbers.

    The last clause with a number decides, leaving out reasons and asides. Among several in it, the one in the unit
    asked for wins; else the last.
    """
    text = reading.text
    clauses = _clauses(text, begin, end)
    free = essential(text, free, begin)
    free = [n for n in free if not _EQUAL.search(text, n.end, _clause_of(clauses, n)[1])] or free
    if len(free) == 1:
        return free[0]
    named = [n for n in free if given_in(text, n, reading.wanted)]
    main = [n for n in free if not _is_beside(text, _clause_of(clauses, n), named=n in named)] or free
    stated = [n for n in main if n in named or is_money(text, n) or not _is_aside(text, n, begin)] or main
    last = _clause_of(clauses, stated[-1])
    stated = [n for n in stated if n.start >= last[0]]
    return ([n for n in stated if n in named] or stated)[-1]


def _is_beside(text: str, clause: tuple[int, int], *, named: bool) -> bool:
    """Return whether a clause only gives a reason or explanation; False if it computes or is `named`."""
    found = _BESIDE.match(text, *clause)
    return found is not None and (found["why"] is not None or not (named or _EQUAL.search(text, *clause)))


def _clauses(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    flat = unbracketed(text, begin, end)
    cuts = [begin, *(begin + found.start() for found in _CLAUSE.finditer(flat)), end]
    return [(a, b) for a, b in pairwise(cuts) if a < b]


def _clause_of(clauses: Sequence[tuple[int, int]], number: Number) -> tuple[int, int]:
    return next((clause for clause in reversed(clauses) if clause[0] <= number.start), clauses[0])


def _is_result(text: str, number: Number, begin: int) -> bool:
    return text[max(begin, number.start - 8) : number.start].rstrip(" $*_\\({")[-1:] in {"=", "≈"}


def _is_aside(text: str, number: Number, begin: int) -> bool:
    if _is_result(text, number, begin):
        return False
    start = max(begin, number.start - 60)
    if _ASIDE.search(text, max(begin, number.start - 20), number.start) or _OF.search(text, start, number.start):
        return True
    return _EACH.match(text, number.end) is not None or _COMPARED.match(text, number.end) is not None


def results(text: str) -> Results:
    """Return a text's results: the first number after each equals sign with an operator before it."""
    found: dict[Fraction, int] = {}
    for rank, match in enumerate([*_EQUALITY.finditer(text)][-_RESULTS:]):
        line = max(match.start() - _BEFORE, text.rfind("\n", 0, match.start()) + 1)
        if not _OPERATED.search(text, line, match.start()):
            continue
        shown = candidates(text[match.end() : match.end() + _AFTER])[:1]
        if shown and shown[0].start <= _MARKUP + 2 and shown[0].value is not None and not shown[0].joined:
            found[shown[0].value] = rank
    return found


def unbracketed(text: str, begin: int, end: int) -> str:
    """Return the text with the content of round brackets replaced by NULs, keeping the length.

    Restatements stay: `60 minutes (or 1 hour)`.
    """
    stretch = text[begin:end]
    if "(" not in stretch:
        return stretch
    depth, out = 0, list[str]()
    for at, character in enumerate(stretch):
        if character == "(" and depth == 0 and _REWORDED.match(stretch, at):
            out.append(character)
            continue
        depth += character == "("
        out.append("\0" if depth > 0 and len(out) >= _MARKUP else character)
        depth -= character == ")" and depth > 0
    return "".join(out)
