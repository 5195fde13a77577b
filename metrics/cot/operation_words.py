# ruff: noqa: SIM905 - word lists read best as running text
"""Words beside numbers: whether one is a variable, changes a value (`half of`), or begins a clause."""

import re
from collections.abc import Sequence

from basic_control.metrics.cot.expressions import OPERAND_ENDS, Token, get_token

HAN = "\u2e80"
"""From this character on a text is Chinese, or likewise without spaces."""

# Words that begin or join a clause: they end a number's unit.
_SPLITTING = frozenset(
    "is are was were be been being would will equals equal makes make gives give gets get so then and or but if "
    "has have had because since therefore thus hence when while "
    "это будет будут равно равен равна и или а но значит следовательно получаем получим есть был была было были "
    "тогда итого если поэтому имеет".split()
)
_SPLITTING_HAN = ("是", "为", "得", "等于", "有", "所以", "那么", "则", "就")

# Words that multiply or divide what they stand before: half 10, втрое.
_MULTIPLES = frozenset(
    "half twice thrice double triple quadruple third quarter dozen половина половины половину вдвое втрое треть "
    "трети четверть четверти удвоить утроить дважды трижды полтора".split()
)
# Nouns of a part or a function of numbers, before `of`: half of, digits of.
_PARTS = re.compile(
    r"(?:hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?|percent(?:age)?|половин[аыуе]"
    r"|трет[ьи]|четверт[ьи]|процент(?:а|ов)?|пят(?:ая|ую|ых)|times|remaining"
    r"|digits?|remainders?|averages?|means?|medians?|factors?|divisors?|multiples?|squares?|cubes?|roots?"
    r"|logarithms?|reciprocals?|inverses?|negatives?|цифр[аы]?|остат\w+|средн\w+|делител\w+|кратн\w+)"
)
_OF = frozenset({"of", "от", "из"})
# Words that change a value where a number stands before them: 3 times, 2 more.
_OVER_NUMBERS = frozenset("times plus minus раз раза плюс минус less than чем more fewer больше меньше".split())
_SIGN_WORDS = frozenset({"times", "plus", "minus", "плюс", "минус"})
_BY = frozenset({"by", "на"})
# Verbs of an operation before `by`: multiply it by, разделить на.
_OPERATION = re.compile(r"(?:multipl|divid|умнож|дел|раздел|подел)\w*")
_HAN_PARTS = ("一半", "半", "分之一", "倍", "两倍", "三倍")
# Operations that join two equations rather than change a value: 然后加上.
_HAN_OPERATIONS = re.compile(r"(?:再|又|然后|接着|所以|那么|最后)*(?:加上?|减去?|乘以?|除以)")
_HAN_OPERATION_ENDS = ("加", "加上", "减", "减去", "乘", "乘以", "除以")
_FARTHEST = 5
"""How many words before one may belong to it."""

_VARIABLES = frozenset("ху")
_UNIT_LETTERS = frozenset("mghslLt")
"""Latin letters that are a unit after a number and a space: `5 m`."""


def is_variable(line_tokens: Sequence[Token], position: int) -> bool:
    """Return whether a word is a variable: one letter next to a number, a bracket, or an operation."""
    token = line_tokens[position]
    letter = token.text
    if len(letter) != 1:
        return False
    is_capital = letter.isupper() and letter < "\u0530"  # Latin, Greek or Cyrillic
    if not (letter.isascii() or letter in _VARIABLES or is_capital):
        return False
    before, after = get_token(line_tokens, position - 1), get_token(line_tokens, position + 1)
    if before.text in {"'", "’"}:
        return False  # that's 6 * 16
    is_unit = before.kind == "number" and letter in _UNIT_LETTERS
    if is_unit and (before.end < token.start or after.kind == "word"):
        return False  # 5 m, 200g of flour
    follows_operand = before.end == token.start or before.kind in {"operator", "open", "equals"}
    return follows_operand or after.start == token.end or after.kind in {"operator", "close", "equals"}


def begins_clause(word: str) -> bool:
    """Return whether a word after a number is no unit, but begins or joins a clause: `6 days would be -25000`."""
    lowered = word.lower()
    return lowered in _SPLITTING or (word >= HAN and word.endswith(_SPLITTING_HAN))


def changes_value(line_tokens: Sequence[Token], position: int) -> bool:
    """Return whether the word at `position` changes the value of the expression after it: `half of 10 + 3 = 8`.

    An operation word does if it has an operand: a number, a part (`half of`), an operation's verb (`multiply it
    by`), or the function whose bracket it touches. It does not in `a total of 65 * 170 = 10,550`.
    """
    token = line_tokens[position]
    if token.text >= HAN:
        return _changes_value_han(line_tokens, position)
    if line_tokens[position + 1].kind == "open" and line_tokens[position + 1].start == token.end:
        return True
    words = _list_words_back(line_tokens, position)
    before = get_token(line_tokens, position - len(words))
    if words[0] in _MULTIPLES or _describes_part(words, before):
        return True
    follows_number = before.kind in OPERAND_ENDS
    if words[0] in _OVER_NUMBERS:
        return follows_number or (len(words) > 1 and words[0] in _SIGN_WORDS)
    return words[0] in _BY and ((follows_number and len(words) == 1) or any(map(_OPERATION.match, words)))


def _describes_part(words: Sequence[str], before: Token) -> bool:
    """Return whether words (nearest first) describe a part: `half of the`, `20% of the`; `before` precedes them."""
    for index, word in enumerate(words):
        if word in _SPLITTING:
            return False
        if word in _OF:
            if index + 1 < len(words):
                is_amount = words[index + 2 : index + 3] == ["an"]  # an average of 3/4 * 4000 = 3000
                return not is_amount and _PARTS.fullmatch(words[index + 1]) is not None
            return before.kind == "percent" or "/" in before.text
    return False


def _list_words_back(line_tokens: Sequence[Token], position: int) -> list[str]:
    """Return the word at `position` and those before it, in lower case, nearest first."""
    words: list[str] = []
    while position >= 0 and line_tokens[position].kind == "word" and len(words) < _FARTHEST:
        words.append(line_tokens[position].text.lower())
        position -= 1
    return words


def _changes_value_han(line_tokens: Sequence[Token], position: int) -> bool:
    """Return the same of Chinese words, which the text does not separate: 的一半, 再加上."""
    characters = line_tokens[position].text
    follows_number = get_token(line_tokens, position - 1).kind in OPERAND_ENDS
    if characters.endswith(_HAN_PARTS):
        return True
    if characters.endswith("的"):
        return follows_number or characters[:-1].endswith(_HAN_PARTS)
    if characters.endswith(_HAN_OPERATION_ENDS):
        return follows_number or _HAN_OPERATIONS.fullmatch(characters) is None
    return False
