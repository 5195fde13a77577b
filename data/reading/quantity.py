"""The quantity that a question asks for (money, a percentage, a named thing), and whether a number is one."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise, product
from typing import Any, NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.numerals import CURRENCIES, Number

_LONGEST = 4_000
"""Characters read at the end of a question."""
_UNIT_WITHIN = 40
"""Characters after a number searched for its unit."""
# `how many red apples`, `сколько яблок`, `, in liters`
_THING = re.compile(
    r"(?:\bhow many(?: of (?:the|his|her|their|these|those))?|\bnumber of|\bсколько|\bчисло|\bколичество)"
    r"(?P<words>(?:[ ]+[^\W\d_][\w'-]*){1,5})|,? \b(?:in|в) (?P<unit>[^\W\d_]{1,20})\b",
    re.IGNORECASE,
)
# What follows a sign of mathematics, not of money: the rest of $18^6$.
_MATHEMATICS = re.compile(r"[^$\n]{0,60}\$(?!\d)")
_FORMULA = re.compile(r"\$[^$\n]*[a-zA-Z\\=][^$\n]*$")
# 多少个鸡蛋
_THING_HAN = re.compile(r"(?:多少|几|幾)(?P<words>[一-鿿]{1,6})")
_ASKING = re.compile(r"\b(?:how|what|сколько|как\w{1,3}|число)\b", re.IGNORECASE)
_MEASURES = frozenset("个個只隻条條张張件名位本枚颗顆辆輛")
_LETTERS = re.compile(r"[^\W\d_][\w'-]*")
_HAN = re.compile(r"[一-鿿]{1,6}")


class AskedQuantity(NamedTuple):
    """The quantity asked for: money, a percentage, or one of `words` (stems; Chinese: the text after 多少)."""

    money: bool = False
    percent: bool = False
    words: frozenset[str] = frozenset()


@cache
def _table() -> Mapping[str, Any]:
    return read_beside(__file__)


@cache
def words(section: str) -> frozenset[str]:
    """Return a list of words of the table."""
    return frozenset(_table()[section].split())


@cache
def pattern(section: str) -> re.Pattern[str]:
    """Return the pattern of a section of the table."""
    return re.compile("|".join(row["form"] for row in _table()[section]), re.IGNORECASE)


def _stem(word: str) -> str:
    """Remove an English plural ending; other words are only lowercased."""
    word = word.lower().replace("ё", "е")
    if not word.isascii():
        return word
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = word.removesuffix("e")
    return f"{word[:-1]}i" if word.endswith("y") else word


def _is_alike(stem: str, name: str) -> bool:
    """Return whether two stems are the same word: equal in English, equal up to the ending in Russian."""
    if stem == name or stem.isascii():
        return stem == name
    shared = max(3, min(len(stem), len(name)) - 2)
    return len(stem) >= shared <= len(name) and stem[:shared] == name[:shared]


@lru_cache(maxsize=4096)
def find_asked_quantity(question: str) -> AskedQuantity:
    """Return the quantity that the last question in the text asks for; nothing if in doubt.

    Source: ours.
    """
    sentences = [*filter(None, re.split(r"(?<=[.!?。？！])\s*", question[-_LONGEST:].strip()))]
    questions = [sentence for sentence in sentences if sentence[-1] in "?？"]
    asking = (questions or sentences or [""])[-1]
    # The last clause that asks: `if each box costs $3, how many boxes` mentions a price in passing.
    begin = max(asking.rfind("，"), asking.rfind(",")) + 1
    for match in _ASKING.finditer(asking):
        begin = match.start()
    clause = asking[begin:]
    things = _find_things(clause)
    is_percent = pattern("percent").search(clause) is not None and not things
    is_explicit = pattern("in_money").search(clause) is not None
    asks_money = pattern("money").search(clause) is not None and not pattern("not_money").search(clause)
    is_money = is_explicit or (asks_money and not things and not is_percent)
    if is_explicit:
        things = frozenset()
    return AskedQuantity(is_money, is_percent, things)


def _find_things(clause: str) -> frozenset[str]:
    """Return the stems of the words for what is counted, or the Chinese text after 多少; nothing for money."""
    chinese = _THING_HAN.search(clause)
    if chinese:
        word = chinese["words"]
        return frozenset({word} if word[0] not in "钱錢元美欧" else ())
    names = list[str]()
    for match in _THING.finditer(clause):
        if match["unit"]:
            stem = _stem(match["unit"])
            if stem in _unit_stems():  # `how much water, in liters`: the unit goes first
                return frozenset({stem})
            continue
        for word in match["words"].lower().split():
            if word in words("stops"):
                break
            if word not in words("skipped"):
                names.append(_stem(word))
    if names and pattern("money").match(names[0]):
        return frozenset()
    return frozenset(names)


@cache
def _unit_stems() -> frozenset[str]:
    return frozenset(map(_stem, words("units")))


def is_given_in(text: str, number: Number, quantity: AskedQuantity) -> bool:
    """Return whether a number of the text is given in the quantity asked for."""
    if quantity.percent:
        return number.percent or _percent_words().match(text, number.end) is not None
    if quantity.money:
        return is_money(text, number)
    if not quantity.words or is_money(text, number):
        return False
    after = text[number.end : number.end + _UNIT_WITHIN].lstrip(" \u00a0*_$\\-")
    chinese = _HAN.match(after)
    if chinese:
        return any(_is_counted(chinese[0], word) for word in quantity.words)
    following = list[str]()
    for word in _LETTERS.findall(re.split(r"[.,;:!?=()\n0-9]", after, maxsplit=1)[0])[:4]:
        if word.lower() in words("stops"):
            break
        following.append(_stem(word))
    return any(_is_alike(word, name) for word, name in product(following, quantity.words))


def _is_counted(following: str, word: str) -> bool:
    """Return whether the Chinese words after a number name the quantity asked for: 个鸡蛋, 枚鸡蛋; 米, 米长."""
    has_pair = any(first + second in word for first, second in pairwise(following))
    return has_pair or (following[0] == word[0] and (following[0] not in _MEASURES or len(following) == 1))


def is_money(text: str, number: Number) -> bool:
    """Return whether a currency sign or name is next to a number."""
    signs = {sign for sign in text[number.start : number.end] if sign in CURRENCIES}
    # `$18^6$` is mathematics, `$5 and $6` is money.
    is_signed = bool(signs) and not (signs == {"$"} and _MATHEMATICS.match(text, number.end))
    paid = _paid().match(text, number.end)
    if is_signed or paid is None:
        return is_signed
    # The sign behind the 3 of `$x = 3$` closes a formula.
    return not (paid[0].endswith("$") and _FORMULA.search(text, max(0, number.start - _UNIT_WITHIN), number.start))


@cache
def _percent_words() -> re.Pattern[str]:
    return re.compile(rf"[ \u00a0*_]{{0,4}}(?:{pattern('percent').pattern})", re.IGNORECASE)


@cache
def _paid() -> re.Pattern[str]:
    return re.compile(rf"[ \u00a0*_\\]{{0,4}}(?:{pattern('paid').pattern})", re.IGNORECASE)
