"""The numbers of a text that may be a result: not operands, ends of ranges, or one of several alternatives."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from data.numerals import MINUS, Number, narrow, numbers
from data.patterns import pattern

_GAP = 70
"""Characters between two numbers beyond which they are not related."""

_OPERATOR = pattern(
    r"\s*(?:[-+*/^~…−–—×÷·∶]|\.{2,3}|[xXхХ]|\\times|\\cdot|\\div|to|до|到|至)\s*[($€£¥₽\\~]*\s*"
    r"|[^=\n.;!?]{0,30}\s(?:[×*÷+]|\\times)\s[^=\n.;!?]{0,30}"
)
_ALTERNATIVE = pattern(r"[^=\n.;!?0-9]{0,20}?(?:\bor\b|\bили\b|或者?|还是)\s*[({}*$€£¥₽\\~]*\s*", re.IGNORECASE)
_APPOSED = pattern(r"[^(\n]*\([ ]?(?:or|или|或者?)\b[^)\n]*", re.IGNORECASE)
_UNKNOWN_AFTER = pattern(
    r"[ \t$]{0,2}(?:\\(?:times|cdot)\b|[×÷])[ \t$]{0,2}(?:\\text\{)?[^\W\d_]"
    r"|(?:[ ]\+[ ]|\+)[$]?(?:\\text\{)?[^\W\d_]"
    r"|[ \t]?[-−–*/·][ \t]?[xyznXYZNхХ](?![\w'’.])"
)
_UNKNOWN_BEFORE = pattern(r"(?<![^\W_])[xyzXYZхХ][)$]?[ \t]?[-+−–*/×÷·][ \t]?[($€£¥₽\\]{0,2}$")
_BETWEEN = pattern(r"(?:\bbetween|\bмежду|介于|在)\s*[(*$€£¥₽\\~]*\s*$", re.IGNORECASE)
_AND = pattern(r"[^=\n.;!?0-9]{0,20}?(?:\band\b|\bи\b|和|与)\s*[({}*$€£¥₽\\~]*\s*", re.IGNORECASE)


def candidates(text: str) -> list[Number]:
    """Find the numbers as `numbers` does, and mark the `joined` ones, which are not results by themselves.

    Source: ours.
    """
    found = numbers(text)
    text = narrow(text)
    marked = _relate(text, found) if len(found) > 1 else found
    return [one if one.joined or not _with_unknown(text, one) else one._replace(joined=True) for one in marked]


def _with_unknown(text: str, number: Number) -> bool:
    """Say whether a number is an operand beside an unknown: `18 + x`, `x - 18`, `18 + number of eggs`."""
    if _UNKNOWN_AFTER.match(text, number.end):
        return True
    return _UNKNOWN_BEFORE.search(text, max(0, number.start - 8), number.start) is not None


def _relate(text: str, found: Sequence[Number]) -> list[Number]:
    """Mark the numbers that are operands, ends of ranges, or alternatives of different values."""
    marked = list(found)
    for at in range(1, len(found)):
        left, right = found[at - 1], found[at]
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
            marked[at - 1] = marked[at - 1]._replace(joined=True)
            marked[at] = right._replace(joined=True)
    return marked


_QUANTITIES = (
    ("time", 1, r"s|secs?|seconds?|секунд\w*|сек|秒钟?"),
    ("time", 60, r"mins?|minutes?|минут\w*|мин|分钟|分鐘"),
    ("time", 3600, r"h|hrs?|hours?|час(?:а|ов)?|ч|个?小时|個?小時"),
    ("time", 86400, r"days?|день|дня|дней|сут\w*|天|日"),
    ("time", 604800, r"weeks?|недел\w*|周|个?星期"),
    ("months", 1, r"months?|месяц\w*|个?月"),
    ("months", 12, r"years?|год(?:а|ов)?|лет|年"),
    ("money", 1, r"cents?|¢|цент\w*|копе\w*|美分|分"),
    ("money", 100, r"\$|dollars?|доллар\w*|руб\w*|₽|美元|元"),
    ("metres", 1, r"mm|millimet\w*|миллиметр\w*|мм|毫米"),
    ("metres", 10, r"cm|centimet\w*|сантиметр\w*|см|厘米|公分"),
    ("metres", 1000, r"m|met(?:er|re)s?|метр\w*|м|米"),
    ("metres", 10**6, r"km|kilomet\w*|километр\w*|км|公里|千米"),
    ("feet", 1, r"in|inch(?:es)?|дюйм\w*|英寸"),
    ("feet", 12, r"ft|feet|foot|фут\w*|英尺"),
    ("feet", 36, r"yd|yards?|ярд\w*|码"),
    ("feet", 63360, r"mi|miles?|мил[яьией]{1,2}|英里"),
    ("mass", 1, r"g|grams?|грамм\w*|г|克"),
    ("mass", 1000, r"kg|kilos?|kilograms?|килограмм\w*|кг|公斤|千克"),
    ("pounds", 1, r"oz|ounces?|унци\w*|盎司"),
    ("pounds", 16, r"lbs?|pounds?|фунт\w*|磅"),
    ("volume", 1, r"ml|millilit\w*|миллилитр\w*|мл|毫升"),
    ("volume", 1000, r"l|lit(?:er|re)s?|литр\w*|л|升"),
)


@cache
def _quantities() -> tuple[tuple[str, int, re.Pattern[str]], ...]:
    """Return dimension, factor and pattern of each unit; compiling them takes a tenth of a second, once."""
    return tuple(
        (kind, factor, re.compile(rf"[ \u00a0*_$]{{0,3}}(?:{names})(?![^\W_一-鿿])", re.IGNORECASE))
        for kind, factor, names in _QUANTITIES
    )


def _quantity(text: str, number: Number) -> tuple[str, Fraction] | None:
    """Return a number's dimension, and its size in the smallest unit of it."""
    if number.value is None:
        return None
    if any(sign in "$₽" for sign in text[number.start : number.end]):
        return "money", number.value * 100
    for kind, factor, unit in _quantities():
        if unit.match(text, number.end):
            return kind, number.value * factor
    return None


def _same_quantity(text: str, left: Number, right: Number) -> bool:
    """Say whether two numbers are one quantity in two units: `60 minutes or 1 hour`."""
    one = _quantity(text, left)
    return one is not None and one == _quantity(text, right)
