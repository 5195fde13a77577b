# ruff: noqa: SIM905 - word lists read best as running text
"""Equations in a line of plain text: each decidable equality whose left side calculates."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from typing import NamedTuple

from basic_control.data.measures import unit
from basic_control.metrics.cot.calculations import LETTERS, CalculationCheck, join_quantities, recompute
from basic_control.metrics.cot.expressions import Token, count_decimals, find_operators, is_irrational, tokenize
from basic_control.metrics.cot.notation import UNKNOWN

_UNIT_WORDS = 8
_REACH = 100
_HAN = "\u2e80"

_LABELS = frozenset(
    "step day week month year part case stage phase line item шаг день неделя месяц этап пункт часть "
    "步骤 第 步 方案 情况".split()
)
"""Nouns before a number after which a dash or colon is punctuation: `Step 1 - 5 + 3 = 8`."""

_ORDERED = ("年级", "班", "号", "等奖", "楼")
"""Nouns that make the number before them a name: 5 年级."""

_VAGUE = frozenset(
    "about approximately around roughly nearly almost exactly just only usd us eur rs rub cny rmb aud cad gbp "
    "примерно около приблизительно почти ровно всего 约 大约 约为 共 共计".split()
)
"""Words between an equals sign and its result."""

_REMAINDERS = frozenset("r rem remainder with ост остаток остатке в … 余 餘 余数".split())
_LEFT_OVER = ("remain", "leftover", "остал", "остат", "余", "剩")
_ROUNDED = tuple("round ceil floor truncat округл вверх вниз целых 四舍 取整 向上 向下 进".split())

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
# Nouns of a part or a function of numbers, before `of`: half of, digits of.
_PARTS = re.compile(
    r"(?:hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?|percent(?:age)?|половин[аыуе]"
    r"|трет[ьи]|четверт[ьи]|процент(?:а|ов)?|пят(?:ая|ую|ых)|times|remaining"
    r"|digits?|remainders?|averages?|means?|medians?|factors?|divisors?|multiples?|squares?|cubes?|roots?"
    r"|logarithms?|reciprocals?|inverses?|negatives?|цифр[аы]?|остат\w+|средн\w+|делител\w+|кратн\w+)"
)
_OF = frozenset({"of", "от", "из"})
_OVER_NUMBERS = frozenset("times plus minus раз раза плюс минус less than чем more fewer больше меньше".split())
_SIGN_WORDS = frozenset({"times", "plus", "minus", "плюс", "минус"})
_BY = frozenset({"by", "на"})
# Verbs of an operation before `by`: multiply it by, разделить на.
_OPERATION = re.compile(r"(?:multipl|divid|умнож|дел|раздел|подел)\w*")
_HAN_PARTS = ("一半", "半", "分之一", "倍", "两倍", "三倍")
# Operations that join two equations rather than change a value: 然后加上.
_HAN_OPERATIONS = re.compile(r"(?:再|又|然后|接着|所以|那么|最后)*(?:加上?|减去?|乘以?|除以)")
_HAN_OPERATION_ENDS = ("加", "加上", "减", "减去", "乘", "乘以", "除以")
_BACK = 5


class Equation(NamedTuple):
    """An equality: its sides' tokens without units, its start in the text, and the result of recomputing it."""

    left_side: Sequence[Token]
    sign: Token
    right_side: Sequence[Token]
    verdict: CalculationCheck

    @property
    def tokens(self) -> list[Token]:
        """All tokens, including the equals sign."""
        return [*self.left_side, self.sign, *self.right_side]


class _Left(NamedTuple):
    """A left side, and alternatives after a dash (`Day 1 - 5 + 3 = 8`); `loose`: more may belong to it."""

    side: list[Token]
    alternatives: Sequence[list[Token]] = ()
    loose: bool = False


def find_equations(text: str) -> Iterator[Equation]:
    """Yield the equations of a line of plain text, in order.

    In `a = b = c` each equality whose left side has an operator is one. A left side extends back as far as the
    tokens form an expression (words after a number are its unit). `3 / 2 = 1.5 + 3 = 4.5` gives two: a right side
    that differs from the left value but begins with it counts as that number. Undecidable equalities are left out:
    an unknown in letters or words (`2x + 8 = 22`, `21 - 3 = 2 * Sally's books`, `half of 10 + 3 = 8`), a time of
    day, a label (`Part 1 + Part 2`), a part of something (`1/2 dozen = 6`), a question.
    """
    line_tokens = join_quantities(tokenize(text))
    for at, sign in enumerate(line_tokens):
        if sign.kind != "equals":
            continue
        try:
            equation = _read_equation(line_tokens, at, sign)
        except _UndecidableError:
            continue
        if equation is not None:
            yield equation


def _read_equation(line_tokens: Sequence[Token], at: int, sign: Token) -> Equation | None:
    left_side = _parse_leftwards(line_tokens, at)
    if left_side is None or not (find_operators(left_side.side) or left_side.alternatives):
        return None
    right_side, end, loose = _parse_rightwards(line_tokens, at, frozenset(token.mark for token in left_side.side))
    if is_irrational(left_side.side) or is_irrational(right_side):
        return None
    equation = _recompute(left_side, sign, right_side) if right_side else None
    if equation is None or equation.verdict.right:
        return equation
    # A wrong equality counts only if nothing else may belong to it.
    incomplete = left_side.loose or loose or _lacks_units(equation) or _names_a_part(line_tokens, equation)
    if incomplete or _is_open(equation):
        return None
    if _cut(line_tokens, equation, end):
        return equation._replace(verdict=equation.verdict._replace(right=True))
    return None if _is_floor(equation) else equation


def _is_open(equation: Equation) -> bool:
    """Return whether sides that differ are no slip: an approximation, or two sides without a value (`0/0`)."""
    verdict = equation.verdict
    return equation.sign.text == "≈" or (verdict.expected is None and verdict.stated is None)


def _recompute(left_side: _Left, sign: Token, right_side: Sequence[Token]) -> Equation | None:
    """Recompute an equality in each of its readings, until one is right."""
    leading = _get_leading_number(right_side)
    ends = [right_side] if len(leading) == len(right_side) else [right_side, leading]
    if [token.text for token in right_side[1:4:2]] == ["/", "*"]:
        ends.insert(1, right_side[:3])  # 1/3 of what is left
    wrong: Equation | None = None
    for side in (
        (left_side.side, *left_side.alternatives) if find_operators(left_side.side) else left_side.alternatives
    ):
        for end in ends:
            verdict = recompute([side, end])
            if verdict.right:
                return Equation(side, sign, end, verdict)
            readable = verdict.stated is not None or end is ends[-1]
            wrong = wrong or (Equation(side, sign, end, verdict) if readable else None)
    return wrong


def _lacks_units(equation: Equation) -> bool:
    """Return whether a result in two units (`1 hour 15 minutes`) is from numbers some of which lack a unit."""
    compound = any(token.kind == "open" and token.mark for token in equation.right_side)
    return compound and not all(unit(token.mark) for token in equation.left_side if token.kind == "number")


def _names_a_part(line_tokens: Sequence[Token], equation: Equation) -> bool:
    """Return whether a left side is one fraction of something: `1/2 dozen = 6`, `3/5 of the rest = (3/5) * 700`."""
    numeric = [token for token in equation.left_side if token.kind == "number"]
    if {"/"} != {token.text for token in equation.left_side if token.kind == "operator"} or len(numeric) != _PAIR:
        return False
    over, under = numeric[0].value, numeric[1].value
    if over is None or under is None or over >= under:
        return False
    at = next(k for k, token in enumerate(line_tokens) if token.start >= equation.sign.start)
    begin = next(k for k, token in enumerate(line_tokens) if token.start >= equation.left_side[0].start)
    return line_tokens[at - 1].kind == "word" or (begin > 0 and line_tokens[begin - 1].text.endswith("的"))


_PAIR = 2
_TRUNCATED_PLACES = 2
"""Least number of decimals of a result whose later digits are cut off."""


def _is_floor(equation: Equation) -> bool:
    """Return whether a quotient of whole numbers is given as the whole number below it: `100/6 = 16 numbers`."""
    expected, stated = equation.verdict.expected, equation.verdict.stated
    if expected is None or not isinstance(stated, int) or find_operators(equation.left_side) != {"/"}:
        return False
    return len(equation.left_side) == len("a/b") and 0 < Fraction(expected) - stated < 1


def _cut(line_tokens: Sequence[Token], equation: Equation, end: int) -> bool:
    """Return whether a result is rounded on purpose: `19 / 5 = 3 remainder 4`, `9 / 5 = 2 (rounded up)`.

    So is one whose digits end early: `20 / 3 = 6.66`.
    """
    expected, stated = equation.verdict.expected, equation.verdict.stated
    if expected is None or stated is None or len(equation.right_side) > 1:
        return False
    places = count_decimals(equation.right_side[0].text)
    if places >= _TRUNCATED_PLACES and 0 < Fraction(expected) - stated < Fraction(1, 10**places):
        return True
    if any(token.kind == "percent" for token in equation.left_side):
        expected *= 100
    if abs(Fraction(expected) - stated) >= 1:
        return False
    follows: list[str] = [
        token.text.lower()
        for token in line_tokens[end - 2 : end + 12]
        if token.start >= equation.right_side[-1].end
    ]
    is_remainder = follows[:2] == [".", "."] or " left over" in f" {' '.join(follows)}"  # 19÷5=3...4
    if (
        is_remainder
        or not _REMAINDERS.isdisjoint(follows[:3])
        or any(word.startswith(_LEFT_OVER) for word in follows)
    ):
        return stated <= expected
    return any(word.startswith(_ROUNDED) for word in follows)


_VARIABLES = frozenset("ху")


def _is_variable(line_tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word is a variable: one letter next to a number, a bracket, or an operation."""
    token = line_tokens[at]
    letter = token.text
    if len(letter) != 1 or not (
        letter.isascii() or letter in _VARIABLES or (letter.isupper() and letter < "\u0530")
    ):
        return False
    before = line_tokens[at - 1] if at else None
    after = line_tokens[at + 1] if at + 1 < len(line_tokens) else None
    if before is not None and before.text in {"'", "’"}:
        return False  # that's 6 * 16
    if before is not None and before.kind == "number" and token.text in LETTERS:
        nouns = after is not None and after.kind == "word"  # 200g of flour
        if before.end < token.start or nouns:
            return False
    return (
        before is not None and (before.end == token.start or before.kind in {"operator", "open", "equals"})
    ) or (after is not None and (after.start == token.end or after.kind in {"operator", "close", "equals"}))


class _UndecidableError(Exception):
    """A side of an equation contains something other than a number: a variable, an unknown in words, a label."""


def _parse_leftwards(line_tokens: Sequence[Token], at: int) -> _Left | None:
    """Return the expression that ends before the token at `at`, without units; None if there is none.

    A number that belongs to a name (`10 2-legged animals`) is replaced by the number before it.
    """
    left_side, first = _parse_backwards(line_tokens, at)
    label = _find_label(line_tokens, first, at)
    if label == "-":
        return _parse_backwards([*line_tokens[:first], *line_tokens[first + 1 :]], at - 1)[0]
    if left_side is not None and label == "?":
        alternative = _parse_backwards([*line_tokens[:first], *line_tokens[first + 1 :]], at - 1)[0]
        return (
            left_side._replace(alternatives=[*left_side.alternatives, alternative.side])
            if alternative and find_operators(alternative.side)
            else left_side
        )
    return left_side


def _find_label(line_tokens: Sequence[Token], first: int, at: int) -> str:
    """Return how the number at `first` labels what the number before it counts: `-`, perhaps `?`, or ''."""
    if not 0 < first < at - 1 or line_tokens[first].kind != "number" or line_tokens[first + 1].kind != "word":
        return ""
    counted = [token.kind for token in line_tokens[max(0, first - 2) : first]]
    if counted[-1] == "number":
        return line_tokens[first + 1].mark or "?"
    return "?" if counted == ["number", "word"] else ""


def _parse_backwards(line_tokens: Sequence[Token], at: int) -> tuple[_Left | None, int]:
    """Parse an expression backwards from the token at `at`; return it with its start."""
    side: list[Token] = []
    nouns: list[str] = []
    unit = ""
    words = 0
    index = start = at - 1
    while index >= max(0, at - _REACH):
        token = line_tokens[index]
        nearest = side[-1].kind if side else "equals"
        if token.kind == "word":
            index = _skip_word(line_tokens, index, side, words)
            if index < 0:
                break
            words, unit = (0, "") if nearest == "number" else (words + 1, token.text)
            continue
        if _ends(line_tokens, index, side, words):
            break
        if token.kind == "number":
            token = _check_quantity(line_tokens, index, token._replace(mark=unit), nouns)
        side.append(token)
        words, unit, start = 0, "", index
        index -= 1
    side.reverse()
    return _begin_side(line_tokens, side, start - 1), start


def _check_quantity(line_tokens: Sequence[Token], at: int, token: Token, nouns: list[str]) -> Token:
    """Return a number of an expression; `nouns` are the words before those after it.

    A time of day (`0730`) or a name (`Part 1 + Part 2`, `5 年级`) is no quantity.
    """
    before = line_tokens[at - 1] if at else None
    if before is not None and before.kind == "word":
        word = before.text.lower()
        if word in nouns:
            raise _UndecidableError
        if len(word) > 1 or word >= _HAN:
            nouns.append(word)
    if token.mark.startswith(_ORDERED) or (token.text[0] == "0" and token.text[1:].isdigit()):
        raise _UndecidableError
    return token


def _skip_word(line_tokens: Sequence[Token], at: int, side: Sequence[Token], words: int) -> int:
    """Return where an expression parsed backwards to `side` continues before a word; -1 if it does not."""
    if _is_variable(line_tokens, at):
        raise _UndecidableError
    if side and side[-1].kind in {"number", "open"}:
        if _operates(line_tokens, at):
            raise _UndecidableError
        return _find_plus(line_tokens, at) if side[-1].kind == "number" else -1
    begins = bool(side) and (side[-1].text == "√" or (side[-1].text == "-" and _splits(line_tokens[at].text)))
    if words == _UNIT_WORDS or begins:
        return -1
    return at - 1 if at else -1


def _ends(line_tokens: Sequence[Token], at: int, side: Sequence[Token], words: int) -> bool:
    """Return whether an expression parsed backwards to `side` ends after the token at `at`."""
    token = line_tokens[at]
    nearest = side[-1].kind if side else "equals"
    if token.kind == "close" and nearest == "number":
        if token.end < side[-1].start and _numbers_a_step(line_tokens, at):
            return True
        raise _UndecidableError
    return token.kind in {"break", "equals"} or _is_juxtaposed(token, nearest, words)


def _numbers_a_step(line_tokens: Sequence[Token], at: int) -> bool:
    """Return whether a closing bracket ends a step's number: `(1) 5 * 3`, `(a) 5 * 3`, `Step 1) 5 * 3`."""
    if at < 2:  # noqa: PLR2004 - the number, and what stands before it
        return False
    label = line_tokens[at - 2]
    if label.kind == "open":
        before = line_tokens[at - 3] if at > 2 else None  # noqa: PLR2004 - what stands before the bracket
        return before is None or before.kind != "close"  # \\binom{6}{2} 7^2 numbers nothing
    nouns = label.kind == "word" and label.text.lower().endswith(tuple(_LABELS))
    return nouns and line_tokens[at - 1].kind == "number"


_NAME_WORDS = 4


def _find_plus(line_tokens: Sequence[Token], at: int) -> int:
    """Return the index of a plus before words that name the next number (`7 + Cynthia's 8`); -1 if none."""
    for index in range(at - 1, max(0, at - _NAME_WORDS) - 1, -1):
        if line_tokens[index].text == "+":
            return index
        if line_tokens[index].kind != "word" and line_tokens[index].text not in {"'", "’"}:
            return -1
    return -1


def _is_juxtaposed(token: Token, after: str, words: int) -> bool:
    """Return whether a token cannot precede the next: two numbers in a row, an operator before a unit."""
    if token.kind in {"number", "close", "percent"}:
        return after == "number" or (after == "open" and words > 0)
    return words > 0 or after in {"close", "equals"}


def _belongs(before: Token, first: Token) -> bool:
    """Return whether the sign before an expression belongs to it: `a_1 + 2`, `2 * 3 * … * 9 * 10`."""
    return before.text == "…" or (before.text in _PREFIXES and before.end == first.start)


def _begin_side(line_tokens: Sequence[Token], side: list[Token], index: int) -> _Left | None:
    """Return how an expression begins after the token at `index`."""
    before = line_tokens[index] if index >= 0 else None
    if before is not None and side and _belongs(before, side[0]):
        raise _UndecidableError
    loose = False
    if side and side[0].text == "-":
        if before is not None and before.text in _UNKNOWNS:
            raise _UndecidableError
        attached = len(side) > 1 and side[0].end == side[1].start
        if not (attached and (before is None or before.kind != "word" or before.end < side[0].start)):
            loose = before is not None and before.kind == "word" and not side[0].mark
            side = side[1:]
    # A bracket that closes nothing begins before the expression.
    side = _balance(side)
    if not side:
        return None
    label = before is not None and before.kind == "word" and before.text.lower().removesuffix("s") in _LABELS
    if label and [t.kind for t in side] == _RANGE and side[1].text == "-" and side[1].end == side[2].start:
        raise _UndecidableError
    # A dash between spaces may be punctuation: the expression after it is an alternative.
    places = (
        k
        for k, token in enumerate(side)
        if k and token.text in {"-", "/"} and side[k - 1].end < token.start < token.end < side[k + 1].start
        if (k == 1 and label) or (token.text == "-" and side[k - 1].mark)
    )
    alternatives = [_balance(side[k + 1 :]) for k in islice(places, _MOST_CUTS)]
    return _Left(side, [alternative for alternative in alternatives if find_operators(alternative)], loose)


_UNKNOWNS = frozenset({UNKNOWN, "?", "□", "_"})
_PREFIXES = frozenset("_.∛∜∑∏")
"""Signs that change the value of what touches them: an index (`a_1`), a period (`0.(3)`), a cube root, a sum."""
_RELATIONS = frozenset("ne neq le leq leqslant ge geq geqslant lt gt in notin checkmark".split())
"""LaTeX's commands that end an expression; after any other one more belongs to it (`= 3 \\sum …`)."""
_MOST_CUTS = 2
_RANGE = ["number", "operator", "number"]


def _balance(side: list[Token]) -> list[Token]:
    """Cut off what precedes an unbalanced bracket at the left end; return nothing if the rest is no expression."""
    opened: list[int] = []
    depth = 0
    for at, token in enumerate(side):
        depth += (token.kind == "open") - (token.kind == "close")
        if token.kind == "open":
            opened.append(at)
        elif token.kind == "close" and opened:
            opened.pop()
    if depth == 1 and opened and opened[0] and side[opened[0] - 1].kind != "operator":
        side, depth = side[opened[0] + 1 :], 0  # 45 (40 + 5 = 45)
    while depth > 0 and side and side[0].kind == "open":
        side, depth = side[1:], depth - 1
    begins = bool(side) and (side[0].kind in {"number", "open"} or side[0].text in {"-", "√"})
    side = side if begins and depth == 0 else []
    return side if _is_readable(side) else []


def _is_readable(side: Sequence[Token]) -> bool:
    """Return whether operands and operators alternate; division by zero is readable."""
    kind_pairs = [(token.kind, next_token.kind) for token, next_token in pairwise(side) if next_token.text != "√"]
    return ("operator", "operator") not in kind_pairs and (not side or side[-1].kind != "operator")


def _parse_rightwards(
    line_tokens: Sequence[Token], at: int, units: frozenset[str]
) -> tuple[list[Token], int, bool]:
    """Return the expression after the token at `at`, without units, its end, and whether more may belong to it.

    `units` are those of the left side.
    """
    side: list[Token] = []
    index, depth = at + 1, 0
    loose = False
    while index < min(len(line_tokens), at + _REACH):
        token = line_tokens[index]
        if token.kind == "word":
            if not _continues_after(line_tokens, index, side, units):
                break
            if side and side[-1].kind == "number" and not side[-1].mark:
                side[-1] = side[-1]._replace(mark=token.text)
                loose |= _multiplies_unknown(line_tokens, index)
            index += 1
            continue
        # Two numbers in a row end the side, and so does a bracket opened before it.
        depth += (token.kind == "open") - (token.kind == "close")
        full = bool(side) and side[-1].kind in {"number", "close", "percent"}
        if token.kind in {"break", "equals"} or depth < 0 or (token.kind == "number" and full):
            break
        side.append(token)
        index += 1
    stop = line_tokens[index].text if index < len(line_tokens) else ""
    # An operator without operand shows that the text goes on with something unreadable.
    while side and side[-1].kind in {"operator", "open"}:
        if side[-1].text in {"*", "+", "^"}:
            raise _UndecidableError
        loose |= side[-1].kind == "operator"
        side.pop()
    follows = line_tokens[index + 1].text if index + 1 < len(line_tokens) else ""
    continued = stop == "\\" and follows.isalpha() and follows not in _RELATIONS
    return side, index, loose or continued or stop in _UNKNOWNS


def _continues_after(line_tokens: Sequence[Token], at: int, side: Sequence[Token], units: frozenset[str]) -> bool:
    """Return whether a right side may continue after a word: it is a unit, or vague (`= about 5`)."""
    word = line_tokens[at].text
    last = side[-1].kind if side else "equals"
    if word not in units and _is_variable(line_tokens, at):
        if line_tokens[at - 1].kind == "word" and last == "number":
            return False  # 9 bottles of vitamin D3
        raise _UndecidableError
    return last in {"number", "close", "percent"} or (last == "equals" and word.lower() in _VAGUE)


def _multiplies_unknown(line_tokens: Sequence[Token], at: int) -> bool:
    """Return whether a number multiplies an unknown: `= 2 times the price`; not `a week`."""
    follows = line_tokens[at + 1] if at + 1 < len(line_tokens) else None
    nouns = follows is not None and follows.kind == "word" and (follows.text[0].isupper() or follows.text in _NAMED)
    return nouns and line_tokens[at].text == "times"


_NAMED = frozenset({"the", "his", "her", "their", "its", "what"})


def _get_leading_number(side: Sequence[Token]) -> Sequence[Token]:
    """Return the number at the start of an expression, with sign and percent sign; all of it if there is none."""
    first = 1 if side[0].text == "-" else 0
    if len(side) <= first or side[first].kind != "number":
        return side
    percent = len(side) > first + 1 and side[first + 1].kind == "percent"
    return side[: first + 1 + percent]


def _splits(word: str) -> bool:
    """Return whether a word after a number is no unit, but begins or joins a clause: `6 days would be -25000`."""
    lowered = word.lower()
    return lowered in _SPLITTING or (word >= _HAN and word.endswith(_SPLITTING_HAN))


def _operates(line_tokens: Sequence[Token], at: int) -> bool:
    """Return whether the word at `at` changes the value of the expression after it: `half of 10 + 3 = 8`.

    An operation word does if it has an operand: a number, a part (`half of`), an operation's verb (`multiply it
    by`), or the function whose bracket it touches. It does not in `a total of 65 * 170 = 10,550`.
    """
    token = line_tokens[at]
    if token.text >= _HAN:
        return _operates_han(line_tokens, at)
    if line_tokens[at + 1].kind == "open" and line_tokens[at + 1].start == token.end:
        return True
    words = _list_words_back(line_tokens, at)
    before = line_tokens[at - len(words)] if at >= len(words) else None
    if words[0] in _MULTIPLES or _describes_part(words, before):
        return True
    counted = before is not None and before.kind in {"number", "close", "percent"}
    if words[0] in _OVER_NUMBERS:
        return counted or (len(words) > 1 and words[0] in _SIGN_WORDS)
    return words[0] in _BY and ((counted and len(words) == 1) or any(map(_OPERATION.match, words)))


def _describes_part(words: Sequence[str], before: Token | None) -> bool:
    """Return whether words (nearest first) describe a part: `half of the`, `20% of the`."""
    for k, word in enumerate(words):
        if word in _SPLITTING:
            return False
        if word in _OF:
            if k + 1 < len(words):
                amount = words[k + 2 : k + 3] == ["an"]  # an average of 3/4 * 4000 = 3000
                return not amount and _PARTS.fullmatch(words[k + 1]) is not None
            return before is not None and (before.kind == "percent" or "/" in before.text)
    return False


def _list_words_back(line_tokens: Sequence[Token], at: int) -> list[str]:
    """Return the word at `at` and those before it, in lower case, nearest first."""
    words: list[str] = []
    while at >= 0 and line_tokens[at].kind == "word" and len(words) < _BACK:
        words.append(line_tokens[at].text.lower())
        at -= 1
    return words


def _operates_han(line_tokens: Sequence[Token], at: int) -> bool:
    run = line_tokens[at].text
    counted = at > 0 and line_tokens[at - 1].kind in {"number", "close", "percent"}
    if run.endswith(_HAN_PARTS) or (run.endswith("的") and (counted or run[:-1].endswith(_HAN_PARTS))):
        return True
    if run.endswith(_HAN_OPERATION_ENDS):
        return counted or _HAN_OPERATIONS.fullmatch(run) is None
    return False
