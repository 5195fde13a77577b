"""Evaluate an expression of whole numbers with + - * and parentheses.

Source: seed 001, category 6; built and evaluated as a tree, never with `eval`: ours (SPEC 2).
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import add, mul, sub
from random import Random
from typing import NamedTuple

from basic_control.data.decorators import family
from basic_control.data.patterns import pattern
from basic_control.data.reading import reply_text
from basic_control.data.reading.numbers import read_number
from basic_control.data.records import Item, Verdict
from basic_control.prompts import render

LEVELS = {
    "easy": {"numbers": (3, 4), "largest": 20, "limit": 10_000},
    "medium": {"numbers": (4, 6), "largest": 50, "limit": 100_000},
    "hard": {"numbers": (6, 8), "largest": 100, "limit": 1_000_000},
}
MARKERS = {"en": "ANSWER", "ru": "ОТВЕТ"}
TOLERANCE = Fraction(1, 1_000_000)  # relative, if the expected value is not a whole number

_OPERATIONS = {"+": add, "-": sub, "*": mul}
_RANK = {"+": 1, "-": 1, "*": 2}
_NUMBER_RANK = 3
_TOKEN = pattern(r"\d+|[-+*()]")


class Expression(NamedTuple):
    """An expression: its text, its value, and the precedence of its outermost operator."""

    text: str
    value: int
    rank: int


def join(left: Expression, operator: str, right: Expression) -> Expression:
    """Join two parts with an operator, adding parentheses only where the value would change without them."""
    rank = _RANK[operator]
    first = f"({left.text})" if left.rank < rank else left.text
    # a - (b + c) needs them; a + (b - c) and a * (b * c) do not.
    bare = right.rank > rank or (right.rank == rank and operator != "-")
    second = right.text if bare else f"({right.text})"
    return Expression(f"{first} {operator} {second}", _OPERATIONS[operator](left.value, right.value), rank)


def verify(item: Item, reply: str, *, cut: bool = False) -> Verdict:
    """Accept the reply if the number that it gives as its answer is the expression's value.

    `cut`: the reply ended at its token limit, so that only a number that it states counts.
    """
    text = reply_text(reply, prompt=item.prompt, expected=item.answer)
    answer = read_number(text, language=item.language, cut=cut, prompt=item.prompt, exact=True).answer
    if answer is None:
        return Verdict(correct=None, reason="no number")
    details = {"rule": answer.rule}
    if answer.value is None:
        return Verdict(correct=False, reason="no single number", details=details)
    # Nearly always a whole number; int arithmetic is much faster.
    expected = int(item.answer) if item.answer.removeprefix("-").isdecimal() else Fraction(item.answer)
    near = 0 if isinstance(expected, int) else abs(expected) * TOLERANCE
    if abs(answer.value - expected) <= near:
        return Verdict(correct=True, reason="right", details=details)
    mistake = _mistake(item.facts["expression"], answer.value, expected)
    return Verdict(correct=False, reason=mistake, details=details)


def _mistake(expression: str, given: Fraction | int, expected: Fraction | int) -> str:
    if given == -expected:
        return "wrong sign"
    off = given - expected
    kind = slips(expression).get(given)  # a Fraction matches the equal int
    return kind or ("off by one" if abs(off) == 1 else "other number" if off % 10 else "off by tens")


@lru_cache(maxsize=4096)
def slips(expression: str) -> Mapping[Fraction | int, str]:
    """Map the values that typical slips produce to the slip's name; the most specific name wins."""
    tokens = _TOKEN.findall(expression)
    flat = _flat(tokens)
    values: dict[Fraction | int, str] = dict.fromkeys(steps(tokens), "stopped at an intermediate result")
    if "(" in tokens:
        values[value(flat)] = "ignored parentheses"
    values[left_to_right(flat)] = "ignored precedence"
    return values


def _flat(tokens: Sequence[str]) -> list[str]:
    return [each for each in tokens if each not in "()"]


def left_to_right(flat: Sequence[str]) -> int:
    """Evaluate numbers and operators from left to right, ignoring precedence."""
    total = int(flat[0])
    for operator, number in zip(flat[1::2], flat[2::2], strict=True):
        total = _OPERATIONS[operator](total, int(number))
    return total


def value(tokens: Sequence[str]) -> int:
    """Evaluate an expression's tokens with the usual precedence."""
    *_, last = [int(tokens[0]) if len(tokens) == 1 else 0, *steps(tokens)]
    return last


def steps(tokens: Sequence[str]) -> Iterator[int]:
    """Yield the result of each operation in turn; the last is the expression's value."""
    numbers: list[int] = []
    waiting: list[str] = []

    def settle(rank: int) -> Iterator[int]:
        while waiting and waiting[-1] != "(" and _RANK[waiting[-1]] >= rank:
            right, left = numbers.pop(), numbers.pop()
            numbers.append(_OPERATIONS[waiting.pop()](left, right))
            yield numbers[-1]

    for each in tokens:
        if each == "(":
            waiting.append(each)
        elif each == ")":
            yield from settle(0)
            waiting.pop()
        elif each in _RANK:
            yield from settle(_RANK[each])
            waiting.append(each)
        else:
            numbers.append(int(each))
    yield from settle(0)


def reference(item: Item) -> str:
    """Return the answer line."""
    return f"{MARKERS[item.language]}: {item.answer}"


def near_misses(item: Item) -> Sequence[str]:
    """Return replies with an almost right number, or with the expression instead of its value."""
    marker, right = MARKERS[item.language], int(item.answer)
    tokens = _TOKEN.findall(item.facts["expression"])
    flat = _flat(tokens)
    wrong = {
        right + 1, right - 1, right + 10, right * 10, -right, left_to_right(flat), value(flat), *steps(tokens),
        *map(int, flat[::2]),
    } - {right}  # fmt: skip
    return (
        *(f"{marker}: {number}" for number in sorted(wrong)),
        f"{marker}: {right}.5",
        f"{marker}: {right}1",
        f"{marker}: {right}\n{marker}: {right + 1}",
        f"{item.facts['expression']} = {right + 1}",
        f"{marker}: not {right}",
        f"{marker}: {right}?",
        f"{marker}: {right}, {right + 1}",
        f"{item.facts['expression']} = {right} +",
        f"{marker}:",
    )


@family(
    levels=LEVELS,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t06_mathematics",
    titles={"en": "Arithmetic", "ru": "Арифметика"},
    reference=reference,
    near_misses=near_misses,
    verifier_version=8,
)
def arithmetic(rng: Random, *, numbers: tuple[int, int], largest: int, limit: int, language: str) -> Item:
    """Draw a tree whose value is none of its numbers, so that repeating the question is never right."""
    while True:
        leaves = [rng.randint(2, largest) for _ in range(rng.randint(*numbers))]
        parts = [Expression(str(number), number, _NUMBER_RANK) for number in leaves]
        while len(parts) > 1:
            at = rng.randrange(len(parts) - 1)
            joined = join(parts[at], rng.choice("+-*"), parts[at + 1])
            if abs(joined.value) > limit:
                joined = join(parts[at], "-", parts[at + 1])
            parts[at : at + 2] = [joined]
        (whole,) = parts
        if abs(whole.value) not in leaves:
            break
    operators = "".join(symbol for symbol in whole.text if symbol in "+-*")
    return Item(
        prompt=render("arithmetic/task", language, expression=whole.text),
        answer=str(whole.value),
        facts={"expression": whole.text},
        template=f"{operators}{'()' if '(' in whole.text else ''}",
    )
