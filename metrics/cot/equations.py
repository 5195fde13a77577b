# ruff: noqa: SIM905 - word lists read best as running text
"""Equations in a line of plain text: each decidable equality whose left side calculates."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from basic_control.data.measures import unit
from basic_control.metrics.cot.calculations import CalculationCheck, join_quantities, recompute
from basic_control.metrics.cot.expressions import (
    OPERAND_ENDS,
    Token,
    count_decimals,
    find_operators,
    get_token,
    is_irrational,
    tokenize,
)
from basic_control.metrics.cot.notation import UNKNOWN
from basic_control.metrics.cot.operation_words import HAN, begins_clause, changes_value, is_variable

_UNIT_WORDS = 8
_REACH = 100

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


class _LeftSide(NamedTuple):
    """A left side, and its readings after a dash (`Day 1 - 5 + 3 = 8`); `is_incomplete`: more may belong to it."""

    tokens: list[Token]
    alternatives: Sequence[list[Token]] = ()
    is_incomplete: bool = False


class _RightSide(NamedTuple):
    """A right side, the position in the line after it; `is_incomplete`: more may belong to it."""

    tokens: list[Token]
    end: int
    is_incomplete: bool


def find_equations(text: str) -> Iterator[Equation]:
    """Yield the equations of a line of plain text, in order.

    In `a = b = c` each equality whose left side has an operator is one. A left side extends back as far as the
    tokens form an expression (words after a number are its unit). `3 / 2 = 1.5 + 3 = 4.5` gives two: a right side
    that differs from the left value but begins with it counts as that number. Undecidable equalities are left out:
    an unknown in letters or words (`2x + 8 = 22`, `21 - 3 = 2 * Sally's books`, `half of 10 + 3 = 8`), a time of
    day, a label (`Part 1 + Part 2`), a part of something (`1/2 dozen = 6`), a question.
    """
    line_tokens = join_quantities(tokenize(text))
    for position, sign in enumerate(line_tokens):
        if sign.kind != "equals":
            continue
        try:
            equation = _read_equation(line_tokens, position, sign)
        except _UndecidableError:
            continue
        if equation is not None:
            yield equation


def _read_equation(line_tokens: Sequence[Token], position: int, sign: Token) -> Equation | None:
    """Return the equation around the equals sign at `position`; None if there is none that can be decided."""
    left_side = _parse_leftwards(line_tokens, position)
    if left_side is None or not (find_operators(left_side.tokens) or left_side.alternatives):
        return None
    left_units = frozenset(token.mark for token in left_side.tokens)
    right_side = _parse_rightwards(line_tokens, position, left_units)
    if not right_side.tokens or is_irrational(left_side.tokens) or is_irrational(right_side.tokens):
        return None
    equation = _recompute(left_side, sign, right_side.tokens)
    if equation is None or equation.verdict.right:
        return equation
    # A wrong equality counts only if nothing else may belong to it.
    is_incomplete = left_side.is_incomplete or right_side.is_incomplete
    if is_incomplete or _lacks_units(equation) or _names_a_part(line_tokens, equation):
        return None
    return _judge_difference(line_tokens, equation, right_side.end)


def _judge_difference(line_tokens: Sequence[Token], equation: Equation, end: int) -> Equation | None:
    """Return an equation whose sides differ: as right if it is rounded on purpose; None if that is no slip."""
    if _is_undecided(equation):
        return None
    if _is_rounded(line_tokens, equation, end):
        return equation._replace(verdict=equation.verdict._replace(right=True))
    if _is_floor(equation):
        return None
    return equation


def _is_undecided(equation: Equation) -> bool:
    """Return whether sides that differ are no slip: an approximation, or two sides without a value (`0/0`)."""
    verdict = equation.verdict
    return equation.sign.text == "≈" or (verdict.expected is None and verdict.stated is None)


def _recompute(left_side: _LeftSide, sign: Token, right_side: Sequence[Token]) -> Equation | None:
    """Recompute an equality in each of its readings, until one is right."""
    left_readings = [*left_side.alternatives]
    if find_operators(left_side.tokens):
        left_readings.insert(0, left_side.tokens)
    # A right side that goes on after its first number may mean that number only.
    right_readings = [right_side]
    leading_number = _get_leading_number(right_side)
    if [token.text for token in right_side[1:4:2]] == ["/", "*"]:
        right_readings.append(right_side[:3])  # 1/3 of what is left
    if len(leading_number) < len(right_side):
        right_readings.append(leading_number)
    wrong: Equation | None = None
    for left_reading in left_readings:
        for right_reading in right_readings:
            verdict = recompute([left_reading, right_reading])
            equation = Equation(left_reading, sign, right_reading, verdict)
            if verdict.right:
                return equation
            is_readable = verdict.stated is not None or right_reading is right_readings[-1]
            if wrong is None and is_readable:
                wrong = equation
    return wrong


def _lacks_units(equation: Equation) -> bool:
    """Return whether a result in two units (`1 hour 15 minutes`) is from numbers some of which lack a unit."""
    is_compound = any(token.kind == "open" and token.mark for token in equation.right_side)
    return is_compound and not all(unit(token.mark) for token in equation.left_side if token.kind == "number")


def _names_a_part(line_tokens: Sequence[Token], equation: Equation) -> bool:
    """Return whether a left side is one fraction of something: `1/2 dozen = 6`, `3/5 of the rest = (3/5) * 700`."""
    numbers = [token for token in equation.left_side if token.kind == "number"]
    operators = {token.text for token in equation.left_side if token.kind == "operator"}
    if operators != {"/"} or len(numbers) != _PAIR:
        return False
    over, under = numbers[0].value, numbers[1].value
    if over is None or under is None or over >= under:
        return False
    sign_position = _find_token(line_tokens, equation.sign.start)
    before = get_token(line_tokens, _find_token(line_tokens, equation.left_side[0].start) - 1)
    return line_tokens[sign_position - 1].kind == "word" or before.text.endswith("的")


def _find_token(line_tokens: Sequence[Token], start: int) -> int:
    """Return the position of the first token that begins at an offset of the text, or after it."""
    return next(position for position, token in enumerate(line_tokens) if token.start >= start)


def _is_rounded(line_tokens: Sequence[Token], equation: Equation, end: int) -> bool:
    """Return whether a result is rounded on purpose: `19 / 5 = 3 remainder 4`, `9 / 5 = 2 (rounded up)`.

    So is one whose digits end early: `20 / 3 = 6.66`.
    """
    expected, stated = equation.verdict.expected, equation.verdict.stated
    if expected is None or stated is None or len(equation.right_side) > 1:
        return False
    result = equation.right_side[0]
    places = count_decimals(result.text)
    if places >= _TRUNCATED_PLACES and 0 < Fraction(expected) - stated < Fraction(1, 10**places):
        return True
    if any(token.kind == "percent" for token in equation.left_side):
        expected *= 100
    if abs(Fraction(expected) - stated) >= 1:
        return False
    # The words after the result say that it is rounded.
    following = line_tokens[end - 2 : end + 12]
    words = [token.text.lower() for token in following if token.start >= result.end]
    if _name_remainder(words):
        return stated <= expected
    return any(word.startswith(_ROUNDED) for word in words)


def _name_remainder(words: Sequence[str]) -> bool:
    """Return whether the words after a result speak of a remainder: `19÷5=3...4`, `= 3 with 4 left over`."""
    if words[:2] == [".", "."] or " left over" in f" {' '.join(words)}":
        return True
    return not _REMAINDERS.isdisjoint(words[:3]) or any(word.startswith(_LEFT_OVER) for word in words)


_PAIR = 2
_TRUNCATED_PLACES = 2
"""Least number of decimals of a result whose later digits are cut off."""


def _is_floor(equation: Equation) -> bool:
    """Return whether a quotient of whole numbers is given as the whole number below it: `100/6 = 16 numbers`."""
    expected, stated = equation.verdict.expected, equation.verdict.stated
    if expected is None or not isinstance(stated, int) or find_operators(equation.left_side) != {"/"}:
        return False
    return len(equation.left_side) == len("a/b") and 0 < Fraction(expected) - stated < 1


class _UndecidableError(Exception):
    """A side of an equation contains something other than a number: a variable, an unknown in words, a label."""


def _parse_leftwards(line_tokens: Sequence[Token], position: int) -> _LeftSide | None:
    """Return the expression that ends before the token at `position`, without units; None if there is none.

    A number that belongs to a name (`10 2-legged animals`) is replaced by the number before it.
    """
    left_side, first = _parse_backwards(line_tokens, position)
    label = _find_label(line_tokens, first, position)
    if not label:
        return left_side
    without_label = [*line_tokens[:first], *line_tokens[first + 1 :]]
    if label == "-":
        return _parse_backwards(without_label, position - 1)[0]
    if left_side is None:
        return None
    alternative, _ = _parse_backwards(without_label, position - 1)
    if alternative is None or not find_operators(alternative.tokens):
        return left_side
    return left_side._replace(alternatives=[*left_side.alternatives, alternative.tokens])


def _find_label(line_tokens: Sequence[Token], first: int, position: int) -> str:
    """Return how the number at `first` labels what the number before it counts: `-`, perhaps `?`, or ''."""
    if not 0 < first < position - 1:
        return ""
    if line_tokens[first].kind != "number" or line_tokens[first + 1].kind != "word":
        return ""
    kinds_before = [token.kind for token in line_tokens[max(0, first - 2) : first]]
    if kinds_before[-1] == "number":
        return line_tokens[first + 1].mark or "?"
    if kinds_before == ["number", "word"]:
        return "?"
    return ""


def _parse_backwards(line_tokens: Sequence[Token], position: int) -> tuple[_LeftSide | None, int]:
    """Parse an expression backwards from the token at `position`; return it with its start."""
    side: list[Token] = []
    nouns: list[str] = []
    unit_word = ""
    word_count = 0
    index = start = position - 1
    while index >= max(0, position - _REACH):
        token = line_tokens[index]
        if token.kind == "word":
            index = _skip_word(line_tokens, index, side, word_count)
            if index < 0:
                break
            # Words between an operator and the number before it are that number's unit.
            if _get_last_kind(side) == "number":
                word_count, unit_word = 0, ""
            else:
                word_count, unit_word = word_count + 1, token.text
            continue
        if _is_end(line_tokens, index, side, word_count):
            break
        if token.kind == "number":
            token = _check_quantity(line_tokens, index, token._replace(mark=unit_word), nouns)
        side.append(token)
        word_count, unit_word, start = 0, "", index
        index -= 1
    side.reverse()
    return _trim_left(line_tokens, side, start - 1), start


def _get_last_kind(side: Sequence[Token]) -> str:
    """Return the kind of the last token parsed; of none the equals sign's, where a side begins."""
    if not side:
        return "equals"
    return side[-1].kind


def _check_quantity(line_tokens: Sequence[Token], position: int, token: Token, nouns: list[str]) -> Token:
    """Return a number of an expression; `nouns` are the words before those after it.

    A time of day (`0730`) or a name (`Part 1 + Part 2`, `5 年级`) is no quantity.
    """
    before = get_token(line_tokens, position - 1)
    if before.kind == "word":
        word = before.text.lower()
        if word in nouns:
            raise _UndecidableError
        if len(word) > 1 or word >= HAN:
            nouns.append(word)
    if token.mark.startswith(_ORDERED) or (token.text[0] == "0" and token.text[1:].isdigit()):
        raise _UndecidableError
    return token


def _skip_word(line_tokens: Sequence[Token], position: int, side: Sequence[Token], word_count: int) -> int:
    """Return where an expression parsed backwards to `side` continues before a word; -1 if it does not.

    `word_count` words of a unit were skipped before it.
    """
    if is_variable(line_tokens, position):
        raise _UndecidableError
    last_kind = _get_last_kind(side)
    if last_kind in {"number", "open"}:
        if changes_value(line_tokens, position):
            raise _UndecidableError
        if last_kind == "open":
            return -1
        return _find_plus(line_tokens, position)
    is_beginning = bool(side) and (
        side[-1].text == "√" or (side[-1].text == "-" and begins_clause(line_tokens[position].text))
    )
    if word_count == _UNIT_WORDS or is_beginning:
        return -1
    return position - 1


def _is_end(line_tokens: Sequence[Token], position: int, side: Sequence[Token], word_count: int) -> bool:
    """Return whether an expression parsed backwards to `side` ends after the token at `position`."""
    token = line_tokens[position]
    last_kind = _get_last_kind(side)
    if token.kind == "close" and last_kind == "number":
        if token.end < side[-1].start and _numbers_a_step(line_tokens, position):
            return True
        raise _UndecidableError
    return token.kind in {"break", "equals"} or _is_juxtaposed(token, last_kind, word_count)


def _numbers_a_step(line_tokens: Sequence[Token], position: int) -> bool:
    """Return whether a closing bracket ends a step's number: `(1) 5 * 3`, `(a) 5 * 3`, `Step 1) 5 * 3`."""
    label = get_token(line_tokens, position - 2)
    if label.kind == "open":
        # \\binom{6}{2} 7^2 numbers nothing
        return get_token(line_tokens, position - 3).kind != "close"
    is_noun = label.kind == "word" and label.text.lower().endswith(tuple(_LABELS))
    return is_noun and line_tokens[position - 1].kind == "number"


_NAME_WORDS = 4


def _find_plus(line_tokens: Sequence[Token], position: int) -> int:
    """Return the index of a plus before words that name the next number (`7 + Cynthia's 8`); -1 if none."""
    for index in range(position - 1, max(0, position - _NAME_WORDS) - 1, -1):
        if line_tokens[index].text == "+":
            return index
        if line_tokens[index].kind != "word" and line_tokens[index].text not in {"'", "’"}:
            return -1
    return -1


def _is_juxtaposed(token: Token, after: str, word_count: int) -> bool:
    """Return whether a token cannot precede the next: two numbers in a row, an operator before a unit."""
    if token.kind in {"number", "close", "percent"}:
        return after == "number" or (after == "open" and word_count > 0)
    return word_count > 0 or after in {"close", "equals"}


def _trim_left(line_tokens: Sequence[Token], side: list[Token], index: int) -> _LeftSide | None:
    """Return an expression without what does not belong to it; `index` is that of the token before it."""
    before = get_token(line_tokens, index)
    if side and _belongs(before, side[0]):
        raise _UndecidableError
    is_incomplete = False
    if side and side[0].text == "-":
        if before.text in _UNKNOWNS:
            raise _UndecidableError
        # A minus that touches its number is a sign, any other a dash.
        is_touching = len(side) > 1 and side[0].end == side[1].start
        is_sign = is_touching and (before.kind != "word" or before.end < side[0].start)
        if not is_sign:
            is_incomplete = before.kind == "word" and not side[0].mark
            side = side[1:]
    # A bracket that closes nothing begins before the expression.
    side = _balance(side)
    if not side:
        return None
    is_labelled = before.kind == "word" and before.text.lower().removesuffix("s") in _LABELS
    if is_labelled and [token.kind for token in side] == _RANGE:
        _, dash, second = side
        if dash.text == "-" and dash.end == second.start:
            raise _UndecidableError
    return _LeftSide(side, _list_alternatives(side, is_labelled=is_labelled), is_incomplete)


def _list_alternatives(side: list[Token], *, is_labelled: bool) -> list[list[Token]]:
    """Return the expressions after each dash or slash that may be punctuation: `Day 1 - 5 + 3 = 8`."""
    signs = [position for position, token in enumerate(side) if position and token.text in {"-", "/"}]
    if not signs:
        return []
    cuts = [position for position in signs if _is_punctuation(side, position, is_labelled=is_labelled)]
    alternatives = [_balance(side[cut + 1 :]) for cut in cuts[:_MAXIMUM_CUTS]]
    return [alternative for alternative in alternatives if find_operators(alternative)]


def _is_punctuation(side: list[Token], position: int, *, is_labelled: bool) -> bool:
    """Return whether a dash or slash between spaces may follow a label, or a dash a number with a unit."""
    before, token, after = side[position - 1 : position + 2]
    if not before.end < token.start < token.end < after.start:
        return False
    return (position == 1 and is_labelled) or (token.text == "-" and bool(before.mark))


def _belongs(before: Token, first: Token) -> bool:
    """Return whether the sign before an expression belongs to it: `a_1 + 2`, `2 * 3 * … * 9 * 10`."""
    return before.text == "…" or (before.text in _PREFIXES and before.end == first.start)


_UNKNOWNS = frozenset({UNKNOWN, "?", "□", "_"})
_PREFIXES = frozenset("_.∛∜∑∏")
"""Signs that change the value of what touches them: an index (`a_1`), a period (`0.(3)`), a cube root, a sum."""
_RELATIONS = frozenset("ne neq le leq leqslant ge geq geqslant lt gt in notin checkmark".split())
"""LaTeX's commands that end an expression; after any other one more belongs to it (`= 3 \\sum …`)."""
_MAXIMUM_CUTS = 2
_RANGE = ["number", "operator", "number"]


def _balance(side: list[Token]) -> list[Token]:
    """Cut off what precedes an unbalanced bracket at the left end; return nothing if no expression is left."""
    opened: list[int] = []
    depth = 0
    for position, token in enumerate(side):
        depth += (token.kind == "open") - (token.kind == "close")
        if token.kind == "open":
            opened.append(position)
        elif token.kind == "close" and opened:
            opened.pop()
    if depth == 1 and opened and opened[0] and side[opened[0] - 1].kind != "operator":
        side, depth = side[opened[0] + 1 :], 0  # 45 (40 + 5 = 45)
    while depth > 0 and side and side[0].kind == "open":
        side, depth = side[1:], depth - 1
    if depth or not _is_well_formed(side):
        return []
    return side


def _is_well_formed(side: Sequence[Token]) -> bool:
    """Return whether operands and operators alternate, from an operand or sign on; it may divide by zero."""
    if not side or side[-1].kind == "operator":
        return False
    begins_with_operand = side[0].kind in {"number", "open"} or side[0].text in {"-", "√"}
    kind_pairs = [(token.kind, next_token.kind) for token, next_token in pairwise(side) if next_token.text != "√"]
    return begins_with_operand and ("operator", "operator") not in kind_pairs


def _parse_rightwards(line_tokens: Sequence[Token], position: int, left_units: frozenset[str]) -> _RightSide:
    """Return the expression after the token at `position`, without units; `left_units` are the left side's."""
    side: list[Token] = []
    index, depth = position + 1, 0
    is_incomplete = False
    while index < min(len(line_tokens), position + _REACH):
        token = line_tokens[index]
        if token.kind == "word":
            if not _continues_after(line_tokens, index, side, left_units):
                break
            if side and side[-1].kind == "number" and not side[-1].mark:
                side[-1] = side[-1]._replace(mark=token.text)
                is_incomplete |= _multiplies_unknown(line_tokens, index)
            index += 1
            continue
        # Two numbers in a row end the side, and so does a bracket opened before it.
        depth += (token.kind == "open") - (token.kind == "close")
        is_second_number = token.kind == "number" and _get_last_kind(side) in OPERAND_ENDS
        if token.kind in {"break", "equals"} or depth < 0 or is_second_number:
            break
        side.append(token)
        index += 1
    # An operator without operand shows that the text goes on with something unreadable.
    while side and side[-1].kind in {"operator", "open"}:
        if side[-1].text in {"*", "+", "^"}:
            raise _UndecidableError
        is_incomplete |= side[-1].kind == "operator"
        side.pop()
    return _RightSide(side, index, is_incomplete or _goes_on(line_tokens, index))


def _goes_on(line_tokens: Sequence[Token], end: int) -> bool:
    """Return whether the token after a right side belongs to it: an unknown, or a command of LaTeX."""
    stop, following = get_token(line_tokens, end).text, get_token(line_tokens, end + 1).text
    is_command = stop == "\\" and following.isalpha() and following not in _RELATIONS
    return is_command or stop in _UNKNOWNS


def _continues_after(
    line_tokens: Sequence[Token], position: int, side: Sequence[Token], left_units: frozenset[str]
) -> bool:
    """Return whether a right side may continue after a word: it is a unit, or vague (`= about 5`)."""
    word = line_tokens[position].text
    last_kind = _get_last_kind(side)
    if word not in left_units and is_variable(line_tokens, position):
        if line_tokens[position - 1].kind == "word" and last_kind == "number":
            return False  # 9 bottles of vitamin D3
        raise _UndecidableError
    return last_kind in OPERAND_ENDS or (last_kind == "equals" and word.lower() in _VAGUE)


def _multiplies_unknown(line_tokens: Sequence[Token], position: int) -> bool:
    """Return whether a number multiplies an unknown: `= 2 times the price`; not `a week`."""
    following = get_token(line_tokens, position + 1)
    is_name = following.kind == "word" and (following.text[0].isupper() or following.text in _DETERMINERS)
    return is_name and line_tokens[position].text == "times"


_DETERMINERS = frozenset({"the", "his", "her", "their", "its", "what"})


def _get_leading_number(side: Sequence[Token]) -> Sequence[Token]:
    """Return the number at the start of an expression, with sign and percent sign; all of it if there is none."""
    first = int(side[0].text == "-")
    if len(side) <= first or side[first].kind != "number":
        return side
    has_percent = len(side) > first + 1 and side[first + 1].kind == "percent"
    return side[: first + 1 + has_percent]
