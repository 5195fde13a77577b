"""Quantities: a number with its unit, so that `60 minutes` and `1 hour` are known as one."""

import re
from fractions import Fraction
from functools import cache

from data.numerals import Number

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


def same_quantity(text: str, left: Number, right: Number) -> bool:
    """Say whether two numbers are one quantity in two units: `60 minutes or 1 hour`."""
    one = _quantity(text, left)
    return one is not None and one == _quantity(text, right)
