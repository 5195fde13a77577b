"""The quantity that a question asks for (money, a percentage, a named thing), and whether a number is one."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.numerals import CURRENCIES, Number

_ASKED = 4_000
"""Characters read at the end of a question."""
_UNIT_WITHIN = 40
"""Characters after a number searched for its unit."""
_THING = re.compile(
    r"(?:\bhow many(?: of (?:the|his|her|their|these|those))?|\bnumber of|\bсколько|\bчисло|\bколичество)"
    r"(?P<words>(?:[ ]+[^\W\d_][\w'-]*){1,5})|,? \b(?:in|в) (?P<unit>[^\W\d_]{1,20})\b",
    re.IGNORECASE,
)
_MATHEMATICS = re.compile(r"[^$\n]{0,60}\$(?!\d)")
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
def asked_quantity(question: str) -> AskedQuantity:
    """Return the quantity that the last question in the text asks for; nothing if in doubt.

    Source: ours.
    """
    sentences = [part for part in re.split(r"(?<=[.!?。？！])\s*", question[-_ASKED:].strip()) if part]
    asking = next((part for part in reversed(sentences) if part[-1] in "?？"), sentences[-1] if sentences else "")
    # The last clause that asks: `if each box costs $3, how many boxes` mentions a price in passing.
    begins = [match.start() for match in _ASKING.finditer(asking)]
    clause = asking[begins[-1] if begins else max(asking.rfind("，"), asking.rfind(",")) + 1 :]
    things = _things(clause)
    is_percent = pattern("percent").search(clause) is not None and not things
    is_explicit = pattern("in_money").search(clause) is not None
    asks_money = pattern("money").search(clause) is not None and not pattern("not_money").search(clause)
    is_money = is_explicit or (asks_money and not things and not is_percent)
    return AskedQuantity(is_money, is_percent, frozenset() if is_explicit else things)


def _things(clause: str) -> frozenset[str]:
    if chinese := _THING_HAN.search(clause):
        word = chinese["words"]
        return frozenset() if word[0] in "钱錢元美欧" else frozenset({word})
    names = list[str]()
    for match in _THING.finditer(clause):
        if match["unit"]:
            stem = _stem(match["unit"])
            if stem in {_stem(unit) for unit in words("units")}:  # `how much water, in liters`: the unit goes first
                return frozenset({stem})
            continue
        for word in match["words"].lower().split():
            if word in words("stops"):
                break
            if word not in words("skipped"):
                names.append(_stem(word))
    return frozenset() if names and pattern("money").match(names[0]) else frozenset(names)


def is_given_in(text: str, number: Number, asked: AskedQuantity) -> bool:
    """Return whether a number of the text is given in the quantity asked for."""
    if asked.percent:
        return number.percent or _percent_words().match(text, number.end) is not None
    if asked.money:
        return is_money(text, number)
    if not asked.words or is_money(text, number):
        return False
    after = text[number.end : number.end + _UNIT_WITHIN].lstrip(" \u00a0*_$\\-")
    if han := _HAN.match(after):
        return any(_counts(han[0], word) for word in asked.words)
    following = list[str]()
    for word in _LETTERS.findall(re.split(r"[.,;:!?=()\n0-9]", after, maxsplit=1)[0])[:4]:
        if word.lower() in words("stops"):
            break
        following.append(_stem(word))
    return any(_is_alike(word, name) for word in following for name in asked.words)


def _counts(following: str, word: str) -> bool:
    """Return whether the Chinese words after a number name the quantity asked for: 个鸡蛋, 枚鸡蛋; 米, 米长."""
    shared = any(following[at : at + 2] in word for at in range(len(following) - 1))
    return shared or (following[0] == word[0] and (following[0] not in _MEASURES or len(following) == 1))


def is_money(text: str, number: Number) -> bool:
    """Return whether a currency sign or name is next to a number."""
    signs = {sign for sign in text[number.start : number.end] if sign in CURRENCIES}
    # `$18^6$` is mathematics, `$5 and $6` is money.
    is_signed = bool(signs) and not (signs == {"$"} and _MATHEMATICS.match(text, number.end))
    return is_signed or (
        re.compile(r"[ \u00a0*_\\]{0,4}").match(text, number.end) is not None
        and _paid().match(text, number.end) is not None
    )


@cache
def _percent_words() -> re.Pattern[str]:
    return re.compile(rf"[ \u00a0*_]{{0,4}}(?:{pattern('percent').pattern})", re.IGNORECASE)


@cache
def _paid() -> re.Pattern[str]:
    return re.compile(rf"[ \u00a0*_\\]{{0,4}}(?:{pattern('paid').pattern})", re.IGNORECASE)
