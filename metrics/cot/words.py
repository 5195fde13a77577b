# ruff: noqa: SIM905 - word lists read best as running text
"""Words beside an equation: what they do to it, in English, Russian and Chinese."""

import re
from collections.abc import Sequence

from metrics.cot.expressions import Token

LABELS = frozenset(
    "step day week month year part case stage phase line item шаг день неделя месяц этап пункт часть "
    "步骤 第 步 方案 情况".split()
)
"""What is numbered, so that a dash or a colon after its number is punctuation: `Step 1 - 5 + 3 = 8`."""

ORDERED = ("年级", "班", "号", "等奖", "楼")
"""What a number only names where it stands before: 5 年级."""

VAGUE = frozenset(
    "about approximately around roughly nearly almost exactly just only usd us eur rs rub cny rmb aud cad gbp "
    "примерно около приблизительно почти ровно всего 约 大约 约为 共 共计".split()
)
"""Words between an equals sign and its result."""

REMAINDERS = frozenset("r rem remainder with ост остаток остатке в … 余 餘 余数".split())
LEFT_OVER = ("remain", "leftover", "остал", "остат", "余", "剩")
ROUNDED = (
    "round",
    "ceil",
    "floor",
    "truncat",
    "округл",
    "вверх",
    "вниз",
    "целых",
    "四舍",
    "取整",
    "向上",
    "向下",
    "进",
)

_SPLITTING = frozenset(
    "is are was were be been being would will equals equal makes make gives give gets get so then and or but if "
    "has have had because since therefore thus hence when while "
    "это будет будут равно равен равна и или а но значит следовательно получаем получим есть был была было были "
    "тогда итого если поэтому имеет".split()
)
_SPLITTING_HAN = ("是", "为", "得", "等于", "有", "所以", "那么", "则", "就")

_MULTIPLES = frozenset(
    "half twice thrice double triple quadruple third quarter dozen половина половины половину вдвое втрое треть "
    "трети четверть четверти удвоить утроить дважды трижды полтора".split()
)
_PARTS = re.compile(
    r"(?:hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?|percent(?:age)?|половин[аыуе]"
    r"|трет[ьи]|четверт[ьи]|процент(?:а|ов)?|пят(?:ая|ую|ых)|times|remaining)"
)
_OF = frozenset({"of", "от", "из"})
_OVER_NUMBERS = frozenset("times plus minus раз раза плюс минус less than чем more fewer больше меньше".split())
_SIGN_WORDS = frozenset({"times", "plus", "minus", "плюс", "минус"})
_BY = frozenset({"by", "на"})
_OPERATION = re.compile(r"(?:multipl|divid|умнож|дел|раздел|подел)\w*")
_HAN_PARTS = ("一半", "半", "分之一", "倍", "两倍", "三倍")
_HAN_OPERATIONS = re.compile(r"(?:再|又|然后|接着|所以|那么|最后)*(?:加上?|减去?|乘以?|除以)")
_HAN_OPERATION_ENDS = ("加", "加上", "减", "减去", "乘", "乘以", "除以")
_HAN = "\u2e80"
_BACK = 5


def splits(word: str) -> bool:
    """Say whether a word after a number is no unit, but begins or joins a clause: `6 days would be -25000`."""
    lowered = word.lower()
    return lowered in _SPLITTING or (word >= _HAN and word.endswith(_SPLITTING_HAN))


def operates(found: Sequence[Token], at: int) -> bool:
    """Say whether the word at `at`, before an expression, makes it say more than its digits: `half of 10 + 3 = 8`.

    A word of operation does where it has something to operate on: a number, a part (`half of`), an operation's verb
    (`multiply it by`), or the function whose bracket it touches. It does not in `a total of 65 * 170 = 10,550`.
    """
    token = found[at]
    if token.text >= _HAN:
        return _operates_han(found, at)
    if found[at + 1].kind == "open" and found[at + 1].start == token.end:
        return True
    words = _words_back(found, at)
    before = found[at - len(words)] if at >= len(words) else None
    if words[0] in _MULTIPLES or _of_part(words, before):
        return True
    counted = before is not None and before.kind in {"number", "close", "percent"}
    if words[0] in _OVER_NUMBERS:
        return counted or (len(words) > 1 and words[0] in _SIGN_WORDS)
    return words[0] in _BY and ((counted and len(words) == 1) or any(map(_OPERATION.match, words)))


def _of_part(words: Sequence[str], before: Token | None) -> bool:
    """Say whether words (nearest first) speak of a part: `half of the`, `20% of the`."""
    for k, word in enumerate(words):
        if word in _SPLITTING:
            return False
        if word in _OF:
            if k + 1 < len(words):
                return _PARTS.fullmatch(words[k + 1]) is not None
            return before is not None and (before.kind == "percent" or "/" in before.text)
    return False


def _words_back(found: Sequence[Token], at: int) -> list[str]:
    """Return the word at `at` and those before it, in lower case, nearest first."""
    words: list[str] = []
    while at >= 0 and found[at].kind == "word" and len(words) < _BACK:
        words.append(found[at].text.lower())
        at -= 1
    return words


def _operates_han(found: Sequence[Token], at: int) -> bool:
    run = found[at].text
    counted = at > 0 and found[at - 1].kind in {"number", "close", "percent"}
    if run.endswith(_HAN_PARTS) or (run.endswith("的") and (counted or run[:-1].endswith(_HAN_PARTS))):
        return True
    if run.endswith(_HAN_OPERATION_ENDS):
        return counted or _HAN_OPERATIONS.fullmatch(run) is None
    return False
