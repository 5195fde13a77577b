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

    def shift(self, by: int) -> "Number":
        """Return the same number shifted by this many characters."""
        return self._replace(start=self.start + by, end=self.end + by)


_NARROW = "0123456789"
_ZEROS = {code - unicodedata.decimal(chr(code)) for code in range(130, 0x20000, 10) if chr(code).isdecimal()}
"""Each script's zero. Unicode puts the other nine digits after it, so only every tenth needs a look-up."""
_WIDE = {
    **{zero + value: digit for zero in sorted(_ZEROS) for value, digit in enumerate(_NARROW)},
    **dict(zip(map(ord, "＋－，．：／＝％＄￥（）＃｛｝＊｜～﹣−﹢٫٬"), "+-,.:/=%$¥()#{}*|~--+.,", strict=True)),
}


def narrow_digits(text: str) -> str:
    """Return the text with every script's digits (Unicode Nd) and full-width signs as ASCII, same length."""
    return text if text.isascii() else text.translate(_WIDE)


# Between the digits of one number: 1,080; 1 234; LaTeX's 1{,}080 and 1\,080.
_SEPARATOR = r"(?:[.,'’ \u00a0\u2007\u2009\u202f]|\{,\}|,?\\[,;! ])"
_UP = "⁰¹²³⁴⁵⁶⁷⁸⁹"
# A power of ten, as digits or superscripts: ×10^3, \cdot 10^{-2}, ·10³.
_TEN = rf"\s?(?:×|x|\*|·|\\times|\\cdot)\s?10(?:\s?\^\s?\{{?(?P<p>-?[0-9]++)\}}?|(?P<s>⁻?[{_UP}]++))"
# Any power: e-3, ×10^3, ^3, ³.
_POWER = rf"(?:[eE](?P<e>[+-]?[0-9]++)(?!\w)|{_TEN}|\s?\^\s?\{{?(?P<x>-?[0-9]++)\}}?|(?P<u>⁻?[{_UP}]++))"
_INSIDE = r"\s*-?[0-9][0-9.,]{0,40}\s*"
_DIGITS = rf"[0-9]++(?:{_SEPARATOR}[0-9]++)*+"
# \frac{3}{4}; \frac34; ¾; 1,080.5×10^3
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
_HAN = "⺀"
"""Letters from here on are Chinese, which has no space between a word and a number."""
_SCALES = {
    "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "hundred": 2,
    "тыс": 3, "тысяча": 3, "тысячи": 3, "тысяч": 3, "тысячу": 3, "млн": 6, "миллион": 6, "миллиона": 6,
    "миллионов": 6, "млрд": 9, "миллиард": 9, "миллиарда": 9, "миллиардов": 9,
    "百": 2, "千": 3, "万": 4, "十万": 5, "百万": 6, "千万": 7, "亿": 8, "k": 3,
    "백": 2, "천": 3, "만": 4, "십만": 5, "백만": 6, "천만": 7, "억": 8,
    "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7, "लाख": 5, "करोड़": 7,
    "mio": 6, "mrd": 9, "mld": 9, "millionen": 6, "milliarden": 9, "milliarde": 9, "millions": 6, "billions": 9,
    "milliard": 9, "milliards": 9, "millones": 6, "millón": 6, "milhão": 6, "milhões": 6, "bilhões": 9, "bilhão": 9,
    "milione": 6, "milioni": 6, "miliardo": 9, "miliardi": 9, "miljoen": 6, "miljard": 9, "milyon": 6, "milyar": 9,
    "juta": 6, "miliar": 9, "triệu": 6, "tỷ": 9, "milion": 6, "miliony": 6, "milionów": 6, "miliard": 9,
    "miliardów": 9, "tausend": 3, "m": 6, "mn": 6, "mln": 6, "b": 9, "bn": 9, "bln": 9, "tn": 12, "trn": 12,
}  # fmt: skip
_SHORT_SCALES = frozenset(("k", "m", "b", "mn", "mln", "bn", "bln", "tn", "trn"))
_SCALE_NAMES = [name for name in _SCALES if name < _HAN and name not in _SHORT_SCALES]
"""Those that are words in scripts with spaces; the short ones are read by themselves."""
_MARKS = r"(?:(?:\\\)|[$*_}]){1,3})?"  # `$3$ million`, `**3** million`
# ` million`, ` тыс`, `万`, but not the 千 of 千克.
_SCALE = pattern(
    rf"{_MARKS}[ \u00a0]?(?:({'|'.join(sorted(_SCALE_NAMES, key=len, reverse=True))})(?!\w)"
    r"|([十百千]?[万萬]|[亿億]|百(?!分)|千(?![克米瓦升卡])|[십백천]?만|[억천백]))",
    re.IGNORECASE,
)
# The k of 5k, the M of 3M.
_SHORT_SCALE = pattern(rf"{_MARKS}([kK])(?!\w)|([MB])(?![\w-])")
# The m of $3m, the bn of €2 bn.
_MONEY_SCALE = pattern(r"(m|b)(?![\w-])|[ \u00a0]?(k|mn|mln|bn|bln|tn|trn)(?!\w)", re.IGNORECASE)
"""`3M` is three million, `3 m` a length, `3 K` a temperature; for money (`$3m`, `$3 K`, `€2 bn`) all are scales."""
_PERCENT = pattern(r"[ \u00a0]?\\?[%٪]")
_SCALE_INITIALS = frozenset("htmbklcjHTMBKLCJтмТМलक十百千万萬亿億십백천만억$*_}\\")
_PERCENT_INITIALS = frozenset("%٪\\")
CURRENCIES = "$€£¥₽₹₩₴₪฿"
"""Signs that belong to the adjacent number."""
# 45^\circ
_DEGREES = pattern(r"\^\s?\{?\s?\\circ")
_RAISED = frozenset(f"^{_UP}")
_LOWERED = str.maketrans(f"{_UP}⁻", "0123456789-")
MINUS = "-−–‐‑﹣"
"""Signs that may be a minus."""
_SAID_MINUS = ("minus", "минус", "negative", "负", "負")
# What stands before a number: `it is minus `, `negative `, `负`.
_SAID_NEGATIVE = pattern(
    r"(?:(?:(?:^|[:=≈,;.!?(—–\n])[^0-9:=≈,;.!?(—–\n]{0,60}?|\b(?:is|be|equals?|gives|makes|leaves|это|равн[оа]|"
    r"равен|будет) )(?<![^\W_])(?P<minus>minus|минус)|(?<![\w-])(?P<negative>negative)|(?P<han>[负負]))"
    r"[ \u00a0*_$(\\}]{0,3}$",
    re.IGNORECASE,
)
"""Words that make a number negative; a `minus` after another number of its clause is an operator."""
_COUNTED = pattern(rf"[0-9][{_HAN}-\uffff]{{1,4}}$")

# Digits after these letters are an amount, not part of a name: USD5, Rs5.
_CODE = pattern(r"(?:USD|EUR|GBP|RMB|CNY|RUB|JPY|INR|Rs|US|US\$)$")
# The x of 3x5.
_TIMES = pattern(r"[0-9)\s][xX]$")


def find_numbers(text: str) -> list[Number]:
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
    text = narrow_digits(text)
    bare = _find_bare(text)
    pieces = [_dress_number(text, value, start, end) for value, start, end in bare if not _is_in_name(text, start)]
    if len(pieces) > 1:
        return _combine_numbers(text, pieces)
    return pieces


def _find_bare(text: str) -> Iterator[tuple[Fraction | None, int, int]]:
    is_plain = "\\" not in text and text.isascii()
    pattern = _WRITTEN_ASCII if is_plain else _WRITTEN
    for match in pattern.finditer(text):
        start, end = match.span()
        kind = match.lastgroup
        if kind == "run" and match[0].isdigit() and text[start - 1 : start] != ".":  # fast path for the usual case
            yield _make_decimal(match[0], ""), start, end
        elif kind not in {"vulgar", "short", "under"}:
            yield from _read_run(text, match)
        elif kind == "vulgar":
            yield Fraction(unicodedata.numeric(match["vulgar"])).limit_denominator(10), start, end
        elif kind == "short":
            over, under = (Fraction(int(digit)) for digit in match["short"])
            yield _divide(over, under), start, end
        else:
            yield _divide(parse_number(match["over"]), parse_number(match["under"])), start, end


def _divide(over: Fraction | None, under: Fraction | None) -> Fraction | None:
    if over is None or not under:
        return None
    return over / under


def _read_run(text: str, match: re.Match[str]) -> Iterator[tuple[Fraction | None, int, int]]:
    """Yield the numbers of a run of digits; a power of ten belongs to the last, a bare point to the first."""
    run, start = match["run"], match.start()
    has_point = start > 0 and text[start - 1] == "."
    # `.5` is a number, but not the 5 of `3.a.5`, `v.5` or `...5`.
    if has_point and start > 1:
        before = text[start - 2]
        has_point = not (before.isalnum() or before in ".,")
    power = next(filter(None, match.group("e", "p", "s", "x", "u")), "")
    if not (has_point or power) and run.isdigit():
        yield _make_decimal(run, ""), start, match.end()
        return
    pieces = list(_split_run(run, start, has_point=has_point))
    if power:
        value, begin, _ = pieces[-1]
        value = _raise_value(value, power.translate(_LOWERED), str(match.lastgroup))
        pieces[-1] = (value, begin, match.end())
    yield from pieces


def _raise_value(value: Fraction | None, power: str, kind: str) -> Fraction | None:
    """Return a value times a power of ten, or (`x`, `u`) raised itself; None if it is not a readable number.

    A superscript is read only as a power of ten: elsewhere it may be a note's (`45²`).
    """
    if value is None or len(power) > 4 or abs(int(power)) > MOST_EXPONENT:
        return None
    if kind in {"e", "p", "s"}:
        return value * Fraction(10) ** int(power)
    if kind == "u" and value != 10:
        return None
    n_digits = len(str(value.numerator)) * abs(int(power))
    if not value or value.denominator != 1 or n_digits > MOST_DIGITS:
        return None
    return value ** int(power)


def parse_number(text: str) -> Fraction | None:
    """Return the value of a text that is one plain number, such as `-1,080.50`; None if it is not."""
    body = narrow_digits(text).strip()
    sign = 1
    if body and body[0] in MINUS:
        sign, body = -1, body[1:]
    match = _WRITTEN_ASCII.fullmatch(body, int(body.startswith(".")))
    if match is None:
        return None
    pieces = list(_read_run(body, match))
    value = pieces[0][0]
    if len(pieces) > 1 or value is None:
        return None
    return sign * value


def _split_run(run: str, offset: int, *, has_point: bool) -> Iterator[tuple[Fraction | None, int, int]]:
    """Split a run of digits and separators into numbers by the conventions for thousands and decimals."""
    spans = [match.span() for match in _PIECE.finditer(run)]
    digits = [run[begin:end] for begin, end in spans]
    # The mark after each piece; nothing follows the last.
    marks = [_MARKS_OF.get(run[end:begin], ",") for (_, end), (begin, _) in pairwise(spans)]
    marks.append("")
    at = 0
    if has_point:  # .5
        yield _make_decimal("0", digits[0]), offset - 1, offset + spans[0][1]
        at = 1
    while at < len(digits):
        start = spans[at][0]
        stop, whole, part = _find_extent(digits, marks, at)
        value = None
        if part is not None:
            value = _make_decimal(whole, part)
        yield value, offset + start, offset + spans[stop - 1][1]
        at = stop


def _find_extent(digits: Sequence[str], marks: Sequence[str], at: int) -> tuple[int, str, str | None]:
    """Return where the number starting at a piece ends, its whole digits, and its decimals (None: no number)."""
    mark, stop = marks[at], at + 1
    # Thousands: a short first group, and groups of three digits behind the same mark.
    if mark and len(digits[at]) <= 3 and digits[at][0] != "0":
        while stop < len(digits) and marks[stop - 1] == mark and len(digits[stop]) == 3:
            stop += 1
        if mark == "," and stop == at + 1:
            stop = _find_indian_end(digits, marks, at)
        decimals = {".": ",", ",": "."}.get(mark, ".,")
        follows = stop < len(digits) and marks[stop - 1] in decimals and marks[stop] != marks[stop - 1]
        # One point before three digits is a decimal point: 1.234.
        fewest = 2 if mark == "." and not follows else 1
        if stop - at > fewest:
            whole = "".join(digits[at:stop])
            if follows:
                return stop + 1, whole, digits[stop]
            return stop, whole, ""
        stop = at + 1
    is_listed = mark == "," and at > 0 and marks[at - 1] == ","
    if mark not in {".", ","} or is_listed or stop >= len(digits):
        return stop, digits[at], ""
    # A decimal point or comma, unless more pieces follow it: 1.2.3 is a version, 1,2,3 a list.
    chain = stop
    while marks[chain] == mark:
        chain += 1
    if chain == stop:
        return stop + 1, digits[at], digits[stop]
    if mark == ".":
        return chain + 1, "", None
    return stop, digits[at], ""


def _find_indian_end(digits: Sequence[str], marks: Sequence[str], at: int) -> int:
    """Return where a number in lakhs and crores (`1,00,000`) ends; the piece after `at` if it is none."""
    stop = at + 1
    while stop < min(len(digits), at + 10) and marks[stop - 1] == "," and len(digits[stop]) == 2:
        stop += 1
    has_lakhs = stop > at + 1 and len(digits[at]) <= 2
    if has_lakhs and stop < len(digits) and marks[stop - 1] == "," and len(digits[stop]) == 3:
        return stop + 1
    return at + 1


@lru_cache(maxsize=4096)  # most numbers are small, and making a fraction takes longer than finding it
def _make_decimal(whole: str, part: str) -> Fraction | None:
    if len(whole) + len(part) > MOST_DIGITS:
        return None
    if not part:
        return Fraction(int(whole))
    return Fraction(int(whole + part), 10 ** len(part))


def _is_in_name(text: str, start: int) -> bool:
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


def _dress_number(text: str, value: Fraction | None, start: int, end: int) -> Number:
    """Add sign, currency, percent sign and scale to a bare number."""
    # Most numbers have neither scale nor sign, which their next character tells in less time than a pattern.
    follows = text[end : end + 2].lstrip(" \u00a0")[:1]
    if value is not None and follows in _SCALE_INITIALS:
        scale = _SCALE.match(text, end) or _SHORT_SCALE.match(text, end)
        if not scale and text[start - 1 : start] in {*CURRENCIES}:
            scale = _MONEY_SCALE.match(text, end)
        if scale:
            word = scale[scale.lastindex or 0].lower().replace("萬", "万").replace("億", "亿")
            value *= 10 ** _SCALES[word]
            end = scale.end()
    percent = follows in _PERCENT_INITIALS and _PERCENT.match(text, end)
    if percent:
        end = percent.end()
    if follows in _RAISED and text[end : end + 1] in _RAISED and not _DEGREES.match(text, end):
        value = None
    begin = start
    if start and text[start - 1] in CURRENCIES:
        begin = _skip_currencies(text, start)
    negative = _find_minus(text, begin)
    if negative is None:
        negative = find_negative_word(text, begin)
    if negative is not None:
        begin = negative
        value = None if value is None else -value
    return Number(value, begin, end, bool(percent))


def _skip_currencies(text: str, at: int) -> int:
    """Return where the signs of currency before a position begin; TeX escapes them."""
    while at and text[at - 1] in CURRENCIES:
        at -= 1
        if at and text[at - 1] == "\\":
            at -= 1
    return at


def _find_minus(text: str, at: int) -> int | None:
    """Return the position of the minus sign of the number at `at`, if it has one."""
    gap = at
    while gap and at - gap < 2 and text[gap - 1] in " \u00a0":
        gap -= 1
    if not gap or text[gap - 1] not in MINUS:
        return None
    before = gap - 1
    while before and before > gap - 4 and text[before - 1] in " \u00a0":
        before -= 1
    # At the start of a text nothing stands before the sign, as after a line's end.
    last = text[before - 1 : before] or "\n"
    if gap < at:  # a dash and a space: a sign only where nothing else can stand
        is_sign = last in "=:#"
    elif before < gap - 1:  # a space before the sign
        is_sign = not (last.isdigit() or last in ")]%")
    elif last.isalnum() and last >= _HAN:  # 答案是-5, but 3天-5天 is a range
        is_sign = not _COUNTED.search(text, max(0, before - 5), before)
    else:
        is_sign = not (last.isalnum() or last in ")]%-−–—")
    return gap - 1 if is_sign else None


def find_negative_word(text: str, at: int) -> int | None:
    """Return the position of the word that makes the number at `at` negative: `negative 5`, `is minus 5`, `负5`."""
    near = text[max(0, at - 12) : at].lower()
    if not any(word in near for word in _SAID_MINUS):
        return None
    match = _SAID_NEGATIVE.search(text, max(0, at - 80), at)
    return match.start(match.lastgroup or 0) if match else None


def _combine_numbers(text: str, pieces: Sequence[Number]) -> list[Number]:
    """Join the pieces of one number: `3/4`, `1 3/4`, `1½`; reject `12/05/2024` and `3:30`."""
    numbers: list[Number] = []
    at = 0
    while at < len(pieces):
        number, at = _combine_divided(text, pieces, at)
        # A number before this one may be its whole part, or its part of a larger scale.
        whole = numbers[-1] if numbers else None
        if whole and _is_mixed(text, whole, number):
            part = number.value or Fraction(0)
            if text[whole.start] in MINUS:
                part = -part
            numbers[-1] = Number((whole.value or 0) + part, whole.start, number.end, number.percent)
        elif whole and _is_compound(text, whole, number):
            total = (whole.value or Fraction(0)) + (number.value or 0)
            numbers[-1] = Number(total, whole.start, number.end)
        else:
            numbers.append(number)
    return numbers


def _combine_divided(text: str, pieces: Sequence[Number], at: int) -> tuple[Number, int]:
    """Join the piece at a position with those behind slashes and colons; return also the next position."""
    number = pieces[at]
    at += 1
    n_divided = 0
    while at < len(pieces):
        right = pieces[at]
        gap = text[number.end : right.start].strip(" ")
        is_clock = gap == ":"
        if is_clock:
            # A time has no spaces around its colon.
            if text[number.end] != ":" or text[right.start - 1] != ":":
                break
        elif gap not in {"/", "⁄"}:
            break
        n_divided += 1
        value = None
        if n_divided == 1 and not is_clock and number.value is not None and right.value:
            value = number.value / right.value
        elif n_divided == 1 and is_clock and text[right.start : right.end] == "00" and _is_hour(number):
            value = number.value  # 2:00 pm
        number = Number(value, number.start, right.end, right.percent)
        at += 1
    return number, at


_SCALE_WORD = pattern(r"[^\W\d_]+$")  # the million of `3 million`


def _is_compound(text: str, whole: Number, part: Number) -> bool:
    """Return whether a number goes on with a smaller scale: `3 million 500 thousand`, `1万2千`, `1万2345`."""
    if whole.value is None or part.value is None or text[whole.end : part.start].strip(" \u00a0"):
        return False
    scale = _SCALE_WORD.search(text, whole.start, whole.end)
    power = _SCALES.get(scale[0].lower(), 0) if scale else 0
    if not power:
        return False
    is_chinese = text[whole.end - 1] >= _HAN and whole.end == part.start
    is_korean = text[whole.end - 1] in "만억천"  # 1만 2,345
    has_scale = is_chinese or is_korean or _SCALE_WORD.search(text, part.start, part.end) is not None
    return has_scale and 0 < part.value < 10**power


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
