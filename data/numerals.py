# ruff: noqa: PLR2004 - place values and group lengths of the decimal system are not magic here
"""Numbers written with digits, in the conventions of English, Russian and Chinese texts, parsed exactly."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from basic_control.data.patterns import pattern

MOST_DIGITS = 1000
"""Maximum number of digits: exact arithmetic on longer numbers would take unbounded time."""
MOST_EXPONENT = 400
"""Maximum exponent of the scientific notation."""


class Number(NamedTuple):
    """A number in a text: its value and its span, sign and currency included.

    `value` is None for digits that are not one number: a date, a time of day, a version, a power, or too many
    digits. `joined`: it is an operand, an end of a range or one of several alternatives, and so no result by
    itself. `percent`: a percent sign follows.
    """

    value: Fraction | None
    start: int
    end: int
    percent: bool = False
    joined: bool = False

    def moved(self, by: int) -> "Number":
        """Return the same number shifted by this many characters."""
        return self._replace(start=self.start + by, end=self.end + by)


_NARROW = "0123456789"
_ZEROS = {code - unicodedata.decimal(chr(code)) for code in range(130, 0x20000, 10) if chr(code).isdecimal()}
"""Each script's zero. Unicode puts the other nine digits after it, so only every tenth needs a look-up."""
_WIDE = {
    **{zero + value: digit for zero in sorted(_ZEROS) for value, digit in enumerate(_NARROW)},
    **dict(zip(map(ord, "＋－，．：／＝％＄￥（）＃｛｝＊｜～﹣−﹢٫٬"), "+-,.:/=%$¥()#{}*|~--+.,", strict=True)),
}


def narrow(text: str) -> str:
    """Return the text with every script's digits (Unicode Nd) and full-width signs as ASCII, same length."""
    return text if text.isascii() else text.translate(_WIDE)


_SEPARATOR = r"(?:[.,'’ \u00a0\u2007\u2009\u202f]|\{,\}|,?\\[,;! ])"
_UP = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_TEN = rf"\s?(?:×|x|\*|·|\\times|\\cdot)\s?10(?:\s?\^\s?\{{?(?P<p>-?[0-9]++)\}}?|(?P<s>⁻?[{_UP}]++))"
_POWER = rf"(?:[eE](?P<e>[+-]?[0-9]++)(?!\w)|{_TEN}|\s?\^\s?\{{?(?P<x>-?[0-9]++)\}}?|(?P<u>⁻?[{_UP}]++))"
_INSIDE = r"\s*-?[0-9][0-9.,]{0,40}\s*"
_DIGITS = rf"[0-9]++(?:{_SEPARATOR}[0-9]++)*+"
_WRITTEN = pattern(
    rf"\\[dtc]?frac\s?\{{(?P<over>{_INSIDE})\}}\s?\{{(?P<under>{_INSIDE})\}}"
    r"|\\[dtc]?frac\s?(?P<short>[0-9]{2})(?![0-9])"
    r"|(?P<vulgar>[¼½¾⅐-⅞])"
    rf"|(?P<run>{_DIGITS}){_POWER}?"
)
_WRITTEN_ASCII = pattern(rf"(?P<run>{_DIGITS}){_POWER}?")  # begins with a digit: found faster
_PIECE = pattern(r"[0-9]+")
_MARKS_OF = {".": ".", "'": "'", "’": "'", **dict.fromkeys(" \u00a0\u2007\u2009\u202f", " ")}
"""Kind of each separator; all others are commas, as LaTeX writes them too."""
_SCALES = {
    "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "hundred": 2,
    "тыс": 3, "тысяча": 3, "тысячи": 3, "тысяч": 3, "тысячу": 3, "млн": 6, "миллион": 6, "миллиона": 6,
    "миллионов": 6, "млрд": 9, "миллиард": 9, "миллиарда": 9, "миллиардов": 9,
    "百": 2, "千": 3, "万": 4, "十万": 5, "百万": 6, "千万": 7, "亿": 8, "k": 3,
    "m": 6, "mn": 6, "mln": 6, "b": 9, "bn": 9, "bln": 9, "tn": 12, "trn": 12,
}  # fmt: skip
_MARKS = r"(?:(?:\\\)|[$*_}]){1,3})?"  # `$3$ million`, `**3** million`
_SCALE = pattern(
    rf"{_MARKS}[ \u00a0]?(?:(hundred|thousand|million|billion|trillion)\b"
    r"|(тыс(?:яч(?:а|и|у)?)?|млн|млрд|миллион(?:а|ов)?|миллиард(?:а|ов)?)(?!\w)"
    r"|([十百千]?[万萬]|[亿億]|百(?!分)|千(?![克米瓦升卡])))",
    re.IGNORECASE,
)
_SHORT_SCALE = pattern(rf"{_MARKS}([kK])(?!\w)|([MB])(?![\w-])")
_MONEY_SCALE = pattern(r"(m|b)(?![\w-])|[ \u00a0]?(k|mn|mln|bn|bln|tn|trn)(?!\w)", re.IGNORECASE)
"""`3M` is three million, `3 m` a length, `3 K` a temperature; for money (`$3m`, `$3 K`, `€2 bn`) all are scales."""
_PERCENT = pattern(r"[ \u00a0]?\\?[%٪]")
_SCALE_INITIALS = frozenset("htmbkHTMBKтмТМ十百千万萬亿億$*_}\\")
_PERCENT_INITIALS = frozenset("%٪\\")
CURRENCIES = "$€£¥₽₹₩₴₪฿"
"""Signs that belong to the adjacent number."""
_DEGREES = pattern(r"\^\s?\{?\s?\\circ")
_RAISED = frozenset(f"^{_UP}")
_LOWERED = str.maketrans(f"{_UP}⁻", "0123456789-")
MINUS = "-−–‐‑﹣"
"""Signs that may be a minus."""
_SAID_MINUS = ("minus", "минус", "negative", "负", "負")
_SAID_NEGATIVE = pattern(
    r"(?:(?:(?:^|[:=≈,;.!?(—–\n])[^0-9:=≈,;.!?(—–\n]{0,60}?|\b(?:is|be|equals?|gives|makes|leaves|это|равн[оа]|"
    r"равен|будет) )(?<![^\W_])(?P<minus>minus|минус)|(?<![\w-])(?P<negative>negative)|(?P<han>[负負]))"
    r"[ \u00a0*_$(\\}]{0,3}$",
    re.IGNORECASE,
)
"""Words that make a number negative; a `minus` after another number of its clause is an operator."""
_HAN = "⺀"
"""Letters from here on are Chinese, which has no space between a word and a number."""
_COUNTED = pattern(rf"[0-9][{_HAN}-\uffff]{{1,4}}$")

_CODE = pattern(r"(?:USD|EUR|GBP|RMB|CNY|RUB|JPY|INR|Rs|US|US\$)$")
_TIMES = pattern(r"[0-9)\s][xX]$")


def numbers(text: str) -> list[Number]:
    r"""Find every number written with digits, in order.

    Reads thousands (`1,080`, `1 234`, `1'234`, `1.234.567`, `1,00,000`, LaTeX `1{,}080`), a decimal point or
    comma (a comma before exactly three digits separates thousands, unless the whole part is 0 or longer than
    three digits), fractions (`3/4`, `1 3/4`, `½`, `\frac{3}{4}`), scales (`1.5 million`, `3 тыс.`, `2万`, `5k`),
    powers of ten (`1.5e3`, `1.5×10^3`), signs (`-`, `−`, `–`), a whole hour (`2:00`) and
    the digits of every script. A percent or currency sign does not change the value. Digits within a name (`x2`,
    `H2O`) and exponents are not numbers.

    The time is linear in the length of the text.

    Source: ours.
    """
    text = narrow(text)
    found = [_dress(text, value, start, end) for value, start, end in _plain(text) if not _in_name(text, start)]
    return _combine(text, found) if len(found) > 1 else found


def _plain(text: str) -> Iterator[tuple[Fraction | None, int, int]]:
    pattern = _WRITTEN_ASCII if "\\" not in text and text.isascii() else _WRITTEN
    for match in pattern.finditer(text):
        start, end = match.span()
        kind = match.lastgroup
        if kind == "run" and match[0].isdigit() and text[start - 1 : start] != ".":  # fast path for the usual case
            yield _decimal(match[0], ""), start, end
        elif kind not in {"vulgar", "short", "under"}:
            yield from _run(text, match)
        elif kind == "vulgar":
            yield Fraction(unicodedata.numeric(match["vulgar"])).limit_denominator(10), start, end
        elif kind == "short":
            over, under = map(int, match["short"])
            yield (Fraction(over, under) if under else None), start, end
        else:
            above, below = exact(match["over"]), exact(match["under"])
            yield (above / below if above is not None and below else None), start, end


def _run(text: str, match: re.Match[str]) -> Iterator[tuple[Fraction | None, int, int]]:
    """Yield the numbers of a run of digits; a power of ten belongs to the last, a bare point to the first."""
    run, start = match["run"], match.start()
    before = text[start - 2 : start - 1] if start > 1 else ""
    point = text[start - 1 : start] == "." and not (before and (before.isalnum() or before in ".,"))
    power = next((group for group in match.group("e", "p", "s", "x", "u") if group), "")
    if not (point or power) and run.isdigit():
        yield _decimal(run, ""), start, match.end()
        return
    read = list(_split(run, start, point=point))
    if power:
        value, begin, _ = read[-1]
        read[-1] = (_raised(value, power.translate(_LOWERED), str(match.lastgroup)), begin, match.end())
    yield from read


def _raised(value: Fraction | None, power: str, kind: str) -> Fraction | None:
    """Return a value times a power of ten, or (`x`, `u`) raised itself; None if it is not a readable number.

    A superscript is read only as a power of ten: elsewhere it may be a note's (`45²`).
    """
    if value is None or len(power) > 4 or abs(int(power)) > MOST_EXPONENT:
        return None
    if kind in {"e", "p", "s"}:
        return value * Fraction(10) ** int(power)
    if kind == "u" and value != 10:
        return None
    digits = len(str(value.numerator)) * abs(int(power))
    return value ** int(power) if value and value.denominator == 1 and digits <= MOST_DIGITS else None


def exact(text: str) -> Fraction | None:
    """Return the value of a text that is one plain number, such as `-1,080.50`; None if it is not."""
    stripped = narrow(text).strip()
    sign, body = (-1, stripped[1:]) if stripped[:1] and stripped[0] in MINUS else (1, stripped)
    point = len(body) - len(body.removeprefix("."))
    match = _WRITTEN_ASCII.fullmatch(body, point)
    if match is None:
        return None
    read = list(_run(body, match))
    return sign * read[0][0] if len(read) == 1 and read[0][0] is not None else None


def _split(run: str, offset: int, *, point: bool) -> Iterator[tuple[Fraction | None, int, int]]:
    """Split a run of digits and separators into numbers by the conventions for thousands and decimals."""
    spans = [match.span() for match in _PIECE.finditer(run)]
    digits = [run[a:b] for a, b in spans]
    marks = [*(_MARKS_OF.get(run[b:a], ",") for (_, b), (a, _) in pairwise(spans)), ""]
    at = 0
    if point:  # .5
        yield _decimal("0", digits[0]), offset - 1, offset + spans[0][1]
        at = 1
    while at < len(digits):
        start = spans[at][0]
        stop, whole, part = _extent(digits, marks, at)
        value = None if part is None else _decimal(whole, part)
        yield value, offset + start, offset + spans[stop - 1][1]
        at = stop


def _extent(digits: Sequence[str], marks: Sequence[str], at: int) -> tuple[int, str, str | None]:
    """Return where the number starting at a piece ends, its whole digits, and its decimals (None: no number)."""
    mark, stop = marks[at], at + 1
    if mark and len(digits[at]) <= 3 and digits[at][0] != "0":
        while stop < len(digits) and marks[stop - 1] == mark and len(digits[stop]) == 3:
            stop += 1
        if mark == "," and stop == at + 1:
            stop = _indian(digits, marks, at)
        decimals = {".": ",", ",": "."}.get(mark, ".,")
        follows = stop < len(digits) and marks[stop - 1] in decimals and marks[stop] != marks[stop - 1]
        if stop - at > (1 if mark != "." or follows else 2):
            whole = "".join(digits[at:stop])
            return (stop + 1, whole, digits[stop]) if follows else (stop, whole, "")
        stop = at + 1
    listed = mark == "," and at > 0 and marks[at - 1] == ","
    if mark not in {".", ","} or listed or stop >= len(digits):
        return stop, digits[at], ""
    chain = stop
    while marks[chain] == mark:
        chain += 1
    if chain == stop:
        return stop + 1, digits[at], digits[stop]
    return (chain + 1, "", None) if mark == "." else (stop, digits[at], "")


def _indian(digits: Sequence[str], marks: Sequence[str], at: int) -> int:
    """Return where a number in lakhs and crores (`1,00,000`) ends; the piece after `at` if it is none."""
    stop = at + 1
    while stop < min(len(digits), at + 10) and marks[stop - 1] == "," and len(digits[stop]) == 2:
        stop += 1
    whole = stop > at + 1 and len(digits[at]) <= 2 and stop < len(digits) and marks[stop - 1] == ","
    return stop + 1 if whole and len(digits[stop]) == 3 else at + 1


@lru_cache(maxsize=4096)  # most numbers are small, and making a fraction takes longer than finding it
def _decimal(whole: str, part: str) -> Fraction | None:
    if len(whole) + len(part) > MOST_DIGITS:
        return None
    return Fraction(int(whole + part), 10 ** len(part)) if part else Fraction(int(whole))


def _in_name(text: str, start: int) -> bool:
    """Return whether digits belong to a name, an exponent or an index: `x2`, `cm^2`, `a_{1}`."""
    if start == 0:
        return False
    before = text[start - 1]
    if before == "_":  # `a_1`, but not Markdown's `_18_`
        lead = text[max(0, start - 4) : start].rstrip("_")[-1:]
        return lead.isalnum() or lead in {*")]}"}
    if before == "^":
        return True
    if before == "{":
        return start > 1 and text[start - 2] in "^_"
    if not (before.isalpha() and before < _HAN):
        return False
    return not (_CODE.search(text, max(0, start - 4), start) or _TIMES.search(text, max(0, start - 2), start))


def _dress(text: str, value: Fraction | None, start: int, end: int) -> Number:
    """Add sign, currency, percent sign and scale to a bare number."""
    follows = text[end : end + 2].lstrip(" \u00a0")[:1]
    if value is not None and follows in _SCALE_INITIALS:
        scale = _SCALE.match(text, end) or _SHORT_SCALE.match(text, end)
        if not scale and text[start - 1 : start] in {*CURRENCIES}:
            scale = _MONEY_SCALE.match(text, end)
        if scale:
            value *= 10 ** _SCALES[scale[scale.lastindex or 0].lower().replace("萬", "万").replace("億", "亿")]
            end = scale.end()
    percent = follows in _PERCENT_INITIALS and _PERCENT.match(text, end)
    if percent:
        end = percent.end()
    if follows in _RAISED and text[end : end + 1] in _RAISED and not _DEGREES.match(text, end):
        value = None
    at = start
    while at and text[at - 1] in CURRENCIES:
        at -= 2 if at > 1 and text[at - 2] == "\\" else 1
    if (negative := _negative(text, at)) is not None or (negative := said_negative(text, at)) is not None:
        value, at = (None if value is None else -value), negative
    return Number(value, at, end, bool(percent))


def _negative(text: str, at: int) -> int | None:
    """Return the position of the minus sign of the number at `at`, if it has one."""
    gap = at
    while gap and at - gap < 2 and text[gap - 1] in " \u00a0":
        gap -= 1
    if not gap or text[gap - 1] not in MINUS:
        return None
    before = gap - 1
    while before and before > gap - 4 and text[before - 1] in " \u00a0":
        before -= 1
    last = text[before - 1] if before else ""
    if gap < at:  # a dash and a space: a sign only where nothing else can stand
        return gap - 1 if last and last in "=:#" else None
    if before < gap - 1:  # a space before the sign
        return gap - 1 if not (last and (last.isdigit() or last in ")]%")) else None
    if last.isalnum() and last >= _HAN:  # 答案是-5, but 3天-5天 is a range
        return None if _COUNTED.search(text, max(0, before - 5), before) else gap - 1
    return gap - 1 if not (last and (last.isalnum() or last in ")]%-−–—")) else None


def said_negative(text: str, at: int) -> int | None:
    """Return the position of the word that makes the number at `at` negative: `negative 5`, `is minus 5`, `负5`."""
    near = text[max(0, at - 12) : at].lower()
    found = any(word in near for word in _SAID_MINUS) and _SAID_NEGATIVE.search(text, max(0, at - 80), at)
    return found.start(found.lastgroup or 0) if found else None


def _combine(text: str, found: Sequence[Number]) -> list[Number]:
    """Join the pieces of one number: `3/4`, `1 3/4`, `1½`; reject `12/05/2024` and `3:30`."""
    joined: list[Number] = []
    at = 0
    while at < len(found):
        number = found[at]
        at += 1
        slashes = 0
        while at < len(found) and (gap := text[number.end : found[at].start].strip(" ")) in {"/", "⁄", ":"}:
            right = found[at]
            clock = gap == ":"
            if clock and (text[number.end] != ":" or text[right.start - 1] != ":"):
                break
            slashes += 1
            value = None
            if slashes == 1 and not clock and number.value is not None and right.value:
                value = number.value / right.value
            elif slashes == 1 and clock and text[right.start : right.end] == "00" and _is_hour(number):
                value = number.value  # 2:00 pm
            number = Number(value, number.start, right.end, right.percent)
            at += 1
        if joined and _is_mixed(text, joined[-1], number):
            whole = joined.pop()
            part = number.value or Fraction(0)
            total = (whole.value or 0) + (-part if text[whole.start] in MINUS else part)
            number = Number(total, whole.start, number.end, number.percent)
        elif joined and _is_compound(text, joined[-1], number):
            whole = joined.pop()
            total = (whole.value or Fraction(0)) + (number.value or 0)
            number = Number(total, whole.start, number.end)
        joined.append(number)
    return joined


_SCALE_WORD = pattern(r"[^\W\d_]+$")  # the million of `3 million`


def _is_compound(text: str, whole: Number, part: Number) -> bool:
    """Return whether a number goes on with a smaller scale: `3 million 500 thousand`, `1万2千`, `1万2345`."""
    if whole.value is None or part.value is None or text[whole.end : part.start].strip(" \u00a0"):
        return False
    scales = [_SCALE_WORD.search(text, number.start, number.end) for number in (whole, part)]
    unit = _SCALES.get(scales[0][0].lower(), 0) if scales[0] else 0
    is_chinese = bool(scales[0]) and text[whole.end - 1] >= _HAN and whole.end == part.start
    return bool(unit and (scales[1] or is_chinese)) and 0 < part.value < 10**unit


def _is_hour(number: Number) -> bool:
    return number.value is not None and number.value.denominator == 1 and 0 <= number.value <= 24


def _is_mixed(text: str, whole: Number, part: Number) -> bool:
    """Return whether a whole number and a proper fraction after it are one mixed number."""
    if whole.value is None or part.value is None or whole.value.denominator != 1 or whole.percent:
        return False
    if part.value.denominator == 1 or not 0 < part.value < 1:  # usually the first test decides, which is faster
        return False
    written, between = text[part.start : part.end], text[whole.end : part.start]
    divided = len(written) == 1 or any(sign in written for sign in ("/", "⁄", "frac"))
    return divided and between in {"", " ", "\u00a0", " and ", " и ", "又"}
