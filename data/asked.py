"""What a question asks for: a currency, a percentage or a thing by its name; and which numbers are given in it."""

import re
from functools import lru_cache
from typing import NamedTuple

from data.numerals import CURRENCIES, Number
from data.patterns import pattern

TAIL = 4_000
"""Characters at the end of a question that are read."""


class AskedQuantity(NamedTuple):
    """What is asked for: money, a share in percent, or one of `words` (stems; Chinese: what follows 多少)."""

    money: bool = False
    percent: bool = False
    words: frozenset[str] = frozenset()


_NEXT = 40
"""Characters after a number in which its unit stands."""
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
_IN_MONEY = pattern(r"\b(?:dollars?|euros?|руб\w*|доллар\w*|евро)\b|多少(?:美元|元|钱|錢|块钱)", re.IGNORECASE)
_PERCENT = pattern(r"\bpercent(?:age)?\b|%|\bпроцент\w*|百分", re.IGNORECASE)
_THING = pattern(
    r"(?:\bhow many(?: of (?:the|his|her|their|these|those))?|\bnumber of|\bсколько|\bчисло|\bколичество)"
    r"(?P<words>(?:[ ]+[^\W\d_][\w'’-]*){1,5})"
    r"|,? \b(?:in|в) (?P<unit>[^\W\d_]{1,20})\b",
    re.IGNORECASE,
)
_THING_ZH = pattern(r"(?:多少|几|幾)(?P<words>[一-鿿]{1,6})")
_SKIPPED = frozenset(
    """more total whole new additional other different extra full combined all the of his her their left remaining
    всего ещё еще больше меньше новых этих таких общее общий одинаковых осталось""".split()  # noqa: SIM905 - words read as words
)
_STOPS = frozenset(
    """do does did is are was were will would can could should has have had must may might if in on at to than that
    there each every per and or for from with he she it they you we i a an
    он она они оно ему ей им у в на за из с со и или для надо нужно нужен можно будет было был была были если
    сейчас получит купил купила""".split()  # noqa: SIM905 - words read as words
)
_UNITS = frozenset(
    """second minute hour day week month year cent inch feet foot yard mile centimeter meter kilometer millimeter
    gram   kilogram pound ounce ton liter milliliter gallon kg km cm mm ml секундах минутах часах днях неделях
    месяцах годах   центах копейках метрах километрах сантиметрах граммах килограммах литрах милях футах дюймах
    кг км см""".split()  # noqa: SIM905 - words read as words
)
_MEASURES = frozenset("个個只隻条條张張件名位本枚颗顆辆輛")
_WORD = pattern(r"[^\W\d_][\w'’-]*")
_HAN = pattern(r"[一-鿿]{1,6}")
_PAID = pattern(
    r"[ \u00a0*_\\]{0,4}(?:[$€£¥₽₹]|(?:US[ ]?)?dollars?\b|bucks\b|euros?\b|USD\b|EUR\b|RUB\b|"
    r"руб|доллар|евро|(?:[多余]?[美欧日]?元)|块钱?|人民币|英镑)",
    re.IGNORECASE,
)


def _stem(word: str) -> str:
    """Cut the plural's ending off an English word; others stay, in lower case."""
    word = word.lower().replace("ё", "е")
    if not word.isascii():
        return word
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = word.removesuffix("e")
    return f"{word[:-1]}i" if word.endswith("y") else word


_UNIT_STEMS = frozenset(map(_stem, _UNITS))


def _alike(one: str, other: str) -> bool:
    """Say whether two stems are one word: in English when equal, in Russian when their endings differ only."""
    if one == other or one.isascii():
        return one == other
    shared = max(3, min(len(one), len(other)) - 2)
    return len(one) >= shared <= len(other) and one[:shared] == other[:shared]


@lru_cache(maxsize=4096)
def asked_quantity(question: str) -> AskedQuantity:
    """Read what the last sentence that asks asks for; nothing where that is in doubt.

    Source: ours.
    """
    sentences = [one for one in re.split(r"(?<=[.!?。？！])\s*", question[-TAIL:].strip()) if one]
    asking = next((one for one in reversed(sentences) if one[-1] in "?？"), sentences[-1] if sentences else "")
    # The last clause that asks: `if each box costs $3, how many boxes` names a price in passing.
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
    """Say whether a number of the text is given in what is asked for."""
    if wanted.percent:
        return number.percent
    if wanted.money:
        return is_money(text, number)
    if not wanted.words or is_money(text, number):
        return False
    after = text[number.end : number.end + _NEXT].lstrip(" \u00a0*_$\\-")
    if han := _HAN.match(after):
        return any(_counts(han[0], word) for word in wanted.words)
    following = list[str]()
    for word in _WORD.findall(re.split(r"[.,;:!?=()\n0-9]", after, maxsplit=1)[0])[:4]:
        if word.lower() in _STOPS:
            break
        following.append(_stem(word))
    return any(_alike(word, name) for word in following for name in wanted.words)


def _counts(following: str, word: str) -> bool:
    """Say whether the Chinese words after a number name what is asked for: 个鸡蛋 and 枚鸡蛋, 米 and 米长."""
    shared = any(following[at : at + 2] in word for at in range(len(following) - 1))
    return shared or (following[0] == word[0] and (following[0] not in _MEASURES or len(following) == 1))


def is_money(text: str, number: Number) -> bool:
    """Say whether a currency sign or name stands at a number."""
    signed = any(sign in CURRENCIES for sign in text[number.start : number.end])
    return signed or _PAID.match(text, number.end) is not None
