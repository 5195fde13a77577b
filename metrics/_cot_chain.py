"""A chain of thought, read: its steps, their calculations, and its final answer."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from data.answers import Answer, search
from metrics._cot_expressions import (
    Exact,
    Operand,
    Token,
    decimals,
    evaluate,
    normalise,
    operands,
    operators,
    tokens,
)

LONGEST = 500
"""Characters of an annotation, and of one side of an equation in the text, that are read."""

LONGEST_LINE = 4_000
"""Characters of a line in which equations are looked for."""

MOST_EQUATIONS = 10_000
"""Calculations in a chain after which its text is no longer searched for equations."""

FLOAT_DIGITS = 14
"""Digits of a result that are held against a chain: a calculator's later ones are binary rounding."""

ALIKE = 64
"""Different numbers of a chain that share a hash. Sets of such numbers take the square of their count to build, and
it is no secret how numbers are hashed: a calculation that brings more of them is not counted."""

SMALL = 2**61 - 1
"""Whole numbers below this are their own hash."""

SIDES = 8
"""Equations in a row (`a = b = c`) are read as one calculation up to so many sides."""


@dataclass(frozen=True, slots=True)
class Calculation:
    """One calculation of a chain.

    `text` is as written. `expected` is the exact value of the left side, `found` the value
    given for it (None: cannot be read, which is never `right`). `operands` are the numbers of the left side (and
    of the middle of `a = b = c`), `results` the values that the result makes known. `bare`: the left side is one
    number. Two calculations of the same `key` are identical.
    """

    text: str
    key: str
    expected: Exact | None
    found: Exact | None
    right: bool
    operands: tuple[Operand, ...]
    results: tuple[Exact, ...]
    operators: frozenset[str]
    numbers: frozenset[Exact]
    bare: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A line of a chain: its calculations, and the text before the first of them (all of it without any)."""

    text: str
    before: str
    calculations: tuple[Calculation, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain of thought. `calculations` holds each one once, in order; `places` their steps, from 1."""

    steps: tuple[Step, ...]
    answer: Answer | None
    calculations: tuple[Calculation, ...]
    places: tuple[int, ...]


_ANNOTATION = re.compile(rf"<<([^<>\n]{{0,{LONGEST}}})>>")
_BULLET = re.compile(r"^\s*(?:[-*•+–—]\s|[0-9]{1,3}[.)]\s)")
_CLOCK = re.compile(r"(?<! ):|:(?! )")  # in a text, only a colon between spaces divides
_CURRENCY = re.compile(r"[$€£¥₽]")
_EQUALS = ("=", "＝", "≈", "approx")
_BOLD = re.compile(r"\*\*+|__+|`")


def read(text: str) -> Chain:
    """Read a chain: a response, or a GSM8K answer.

    Steps are the non-empty lines before the line where the final answer's marker, box or cue stands; all lines
    where none does (but a text that is only a number has none). A calculation is an annotation
    `<<expression=result>>`; in a step without one, each equation in the text that has an operator on its left
    side. Where a chain annotates at all, an equation with a currency sign is no plain one: whoever annotates says
    so where they calculate (one GSM8K answer says `$32 - $20 = $300` in passing). An empty annotation is nothing;
    one that cannot be read (a power, letters, brackets that do not match, no result) is a calculation that is
    wrong.

    Source: SPEC 3 (seed 004); the cases that they leave open are ours.
    """
    found = search(text)
    end = len(text) if found.anchor is None else text.rfind("\n", 0, found.anchor) + 1
    lines = [line for line in text[:end].split("\n") if line.strip()]
    if len(lines) == 1 and found.answer is not None and found.answer.text == lines[0].strip():
        lines = []
    steps: list[Step] = []
    once: dict[str, tuple[Calculation, int]] = {}
    hashed: dict[int, set[str]] = {}
    count = 0
    annotates = _ANNOTATION.search(text) is not None
    for place, line in enumerate(lines, 1):
        step = _step(line, equations=count < MOST_EQUATIONS, money=not annotates)
        made = step.calculations
        kept = tuple([calculation for calculation in made if _scattered(calculation, hashed)])
        if len(kept) < len(made):
            step = replace(step, calculations=kept)
        steps.append(step)
        count += len(step.calculations)
        for calculation in step.calculations:
            once.setdefault(calculation.key, (calculation, place))
    return Chain(tuple(steps), found.answer, tuple(c for c, _ in once.values()), tuple(p for _, p in once.values()))


def _scattered(calculation: Calculation, hashed: dict[int, set[str]]) -> bool:
    """Say whether a calculation's numbers do not all fall on one hash with those before; note them down."""
    known = [value for operand in calculation.operands for value in operand.known_by]
    for value in (*calculation.numbers, *calculation.results, *known):
        if isinstance(value, int) and -SMALL < value < SMALL:
            continue
        alike = hashed.setdefault(hash(value), set())
        if len(alike) <= ALIKE:
            alike.add(str(value))
        if len(alike) > ALIKE:
            return False
    return True


def _step(line: str, *, equations: bool, money: bool) -> Step:
    annotations = [*_ANNOTATION.finditer(line)] if "<<" in line else []
    if annotations:
        made = tuple(annotated(inside) for match in annotations if (inside := match[1].strip()))
        return Step(line, line[: annotations[0].start()], made)
    if not equations or not any(sign in line for sign in _EQUALS):
        return Step(line, line, ())
    line = line[:LONGEST_LINE]
    plain = _CLOCK.sub(r" ; ", normalise(_BULLET.sub("", _BOLD.sub(" ", line))))
    if not money:
        plain = _CURRENCY.sub(" ; ", plain)
    found = [*_equations(plain)]
    before = plain[: found[0][0].start] if found else line
    return Step(line, before, tuple(map(_calculation, found)))


@lru_cache(maxsize=1 << 16)
def annotated(inside: str) -> Calculation:
    """Read an annotation: the text between `<<` and `>>`."""
    return _calculation(tokens(normalise(inside)), inside)


def _sides(found: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at the equals signs."""
    sides: list[list[Token]] = [[]]
    for token in found:
        if token.kind == "equals":
            sides.append([])
        else:
            sides[-1].append(token)
    return sides


def _calculation(found: Sequence[Token], text: str = "") -> Calculation:
    """Make a calculation of its tokens, equals signs included."""
    sides = _sides(found)
    before = sides[:-1] or sides
    expected, value, right = _judge(sides)
    key = "".join(t.text for t in found)
    results: tuple[Exact, ...] = () if value is None else (value,)
    if value is not None and any(t.kind == "percent" for t in sides[-1]):
        results = (value, value * 100)
    needed = [operand for side in before for operand in operands(side)]
    every = [*needed, *operands(sides[-1])] if len(sides) > 1 else needed
    return Calculation(
        text=text or key,
        key=key,
        expected=expected,
        found=value,
        right=right,
        operands=tuple(needed),
        results=results,
        operators=frozenset().union(*map(operators, sides)),
        numbers=frozenset(operand.value for operand in every if operand.known_by),
        bare=sum(map(len, before)) == 1,
    )


def _judge(sides: Sequence[Sequence[Token]]) -> tuple[Exact | None, Exact | None, bool]:
    """Recompute a calculation: the value expected, the value found, and whether the sides agree.

    A percent sign is a hundredth; `100-20%=80%` is right too, where all of them are read as plain numbers.
    """
    if len(sides) == 1 or len(sides) > SIDES:
        return evaluate(sides[0]), None, False
    values = [evaluate(side) for side in sides]
    right = _agree(sides, values, Fraction(1, 100))
    if not right and any(t.kind == "percent" for side in sides for t in side):
        right = _agree(sides, [evaluate(side, percent=1) for side in sides], 1)
    return values[0], values[-1], right


def _agree(sides: Sequence[Sequence[Token]], values: Sequence[Exact | None], percent: Exact) -> bool:
    """Say whether each side has the value of the first, rounded to the digits it shows."""
    first = values[0]
    for side, value in zip(sides[1:], values[1:], strict=True):
        if first is None or value is None:
            return False
        if value == first:
            continue
        numeric = [t for t in side if t.kind == "number"]
        if len(numeric) != 1 or any(t.kind in {"operator", "open"} and t.text != "-" for t in side):
            return False
        unit = Fraction(percent) if any(t.kind == "percent" for t in side) else Fraction(1)
        rounding = unit / (2 * 10 ** decimals(numeric[0].text))
        if abs(value - first) > max(rounding, abs(Fraction(first)) / 10**FLOAT_DIGITS):
            return False
    return True


def _equations(text: str) -> Iterator[list[Token]]:
    """Yield the tokens of each equation in a line of plain text, its equals signs among them.

    The left side reaches back as far as the tokens make an expression (up to four words after a number are its
    unit) and must hold an operator; the right side is a number, or an expression of the same value. In
    `3 / 2 = 1.5 + 3 = 4.5` there are two. What a variable or an operation in words is part of (`2x + 8 = 22`,
    `half of 10 + 3 = 8`) is no plain equation.
    """
    found = tokens(text)
    left: list[Token] = []
    equation: list[Token] = []
    end = -1
    for at, sign in enumerate(found):
        if sign.kind != "equals":
            continue
        if at != end:
            if equation != left:
                yield equation
            left = _leftwards(found, at)
            equation = [*left]
        side, end = _rightwards(found, at)
        if not operators(left) or not side:
            left, equation, end = [], [], -1
        elif _same(side, left, first=len(equation) == len(left)):
            equation += [sign, *side]
        elif len(_leading(side)) == len(side) or evaluate(left) is None:
            end = -1
        else:
            yield [*equation, sign, *_leading(side)]
            left, equation = (side, [*side]) if end < len(found) and found[end].kind == "equals" else ([], [])
    if equation != left:
        yield equation


_UNIT_WORDS = 4
_REACH = 100
_IN_WORDS = frozenset([
    "of", "times", "twice", "thrice", "half", "double", "triple", "third", "quarter", "plus", "minus", "by", "less",
    "than", "dozen", "от", "раза", "раз", "плюс", "минус", "на", "половина", "половины", "вдвое", "втрое", "треть",
    "четверть", "удвоить", "的", "乘以", "除以", "加", "减",
])  # fmt: skip
"""Words before a number that make an equation more than its digits say: `half of 10 + 3 = 8`."""


def _variable(found: Sequence[Token], at: int) -> bool:
    """Say whether a word is a variable: one Latin letter that touches a number, a bracket, or an operation."""
    token = found[at]
    if len(token.text) != 1 or not token.text.isascii():
        return False
    before = found[at - 1] if at else None
    after = found[at + 1] if at + 1 < len(found) else None
    return (
        before is not None and (before.end == token.start or before.kind in {"operator", "open", "equals"})
    ) or (after is not None and (after.start == token.end or after.kind in {"operator", "close", "equals"}))


def _leftwards(found: Sequence[Token], at: int) -> list[Token]:
    """Return the expression that ends before the token at `at`, without units; nothing if it is not plain."""
    side: list[Token] = []
    words = 0
    place = at - 1
    while place >= max(0, at - _REACH):
        token = found[place]
        nearest = side[-1].kind if side else "equals"
        if token.kind == "word":
            if _variable(found, place) or (nearest in {"number", "open"} and token.text.lower() in _IN_WORDS):
                return []
            words += 1
            if words > _UNIT_WORDS or nearest in {"number", "open"}:
                break
        elif token.kind == "close" and nearest == "number":
            return []
        elif token.kind in {"break", "equals"} or _juxtaposed(token, nearest, words):
            break
        else:
            words = 0
            side.append(token)
        place -= 1
    side.reverse()
    return _balanced(side)


def _juxtaposed(token: Token, after: str, words: int) -> bool:
    """Say whether a token cannot stand before the next: two numbers in a row, an operator before a unit."""
    if token.kind in {"number", "close", "percent"}:
        return after == "number" or (after == "open" and words > 0)
    return words > 0 or after in {"close", "equals"}


def _balanced(side: list[Token]) -> list[Token]:
    """Cut brackets that do not close off the left end; return nothing if the rest cannot be an expression."""
    depth = 0
    for token in side:
        depth += (token.kind == "open") - (token.kind == "close")
    while depth > 0 and side and side[0].kind == "open":
        side, depth = side[1:], depth - 1
    begins = bool(side) and (side[0].kind in {"number", "open"} or side[0].text == "-")
    side = side if begins and depth == 0 else []
    return side if _readable(side) else []


def _readable(side: Sequence[Token]) -> bool:
    """Say whether operands and operators take turns; a division by zero may be read."""
    pairs = list(pairwise(token.kind for token in side))
    return ("operator", "operator") not in pairs and (not side or side[-1].kind != "operator")


def _rightwards(found: Sequence[Token], at: int) -> tuple[list[Token], int]:
    """Return the expression after the token at `at`, without units, and where it ends; nothing if not plain."""
    side: list[Token] = []
    place, depth = at + 1, 0
    while place < min(len(found), at + _REACH):
        token = found[place]
        last = side[-1].kind if side else "equals"
        if token.kind == "word" and _variable(found, place):
            return [], place
        if token.kind == "word" and last in {"number", "close", "percent"}:
            place += 1
            continue
        depth += (token.kind == "open") - (token.kind == "close")
        if token.kind in {"word", "break", "equals"} or depth < 0 or (token.kind == "number" and last == "number"):
            break
        side.append(token)
        place += 1
    while side and side[-1].kind in {"operator", "open"}:
        side.pop()
    return side, place


def _leading(side: Sequence[Token]) -> Sequence[Token]:
    """Return the number that an expression begins with, sign and percent sign included; all of it if none."""
    first = 1 if side[0].text == "-" else 0
    if len(side) <= first or side[first].kind != "number":
        return side
    percent = len(side) > first + 1 and side[first + 1].kind == "percent"
    return side[: first + 1 + percent]


def _same(side: Sequence[Token], left: Sequence[Token], *, first: bool) -> bool:
    """Say whether a right side is the first and one number, or an expression of the left side's value."""
    if first and len(_leading(side)) == len(side):
        return True
    value = evaluate(side)
    return value is not None and value == evaluate(left)
