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
# A number or a sign: "12", "*", "("
_TOKEN = pattern(r"\d+|[-+*()]")


class Expression(NamedTuple):
    """An expression: its text, its value, and the precedence of its outermost operator."""

    text: str
    value: int
    rank: int


def join_parts(first: Expression, operator: str, second: Expression) -> Expression:
    """Join two parts with an operator, adding parentheses only where the value would change without them."""
    rank = _RANK[operator]
    first_text, second_text = first.text, second.text
    if first.rank < rank:
        first_text = f"({first_text})"
    # a - (b + c) needs them; a + (b - c) and a * (b * c) do not.
    if second.rank < rank or (second.rank == rank and operator == "-"):
        second_text = f"({second_text})"
    value = _OPERATIONS[operator](first.value, second.value)
    return Expression(f"{first_text} {operator} {second_text}", value, rank)


def verify(item: Item, reply: str, *, cut: bool = False) -> Verdict:
    """Accept the reply if the number that it gives as its answer is the expression's value.

    `cut`: the reply ended at its symbol limit, so that only a number that it states counts.
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
    tolerance = 0 if isinstance(expected, int) else abs(expected) * TOLERANCE
    if abs(answer.value - expected) <= tolerance:
        return Verdict(correct=True, reason="right", details=details)
    mistake = _name_mistake(item.facts["expression"], answer.value, expected)
    return Verdict(correct=False, reason=mistake, details=details)


def _name_mistake(expression: str, value: Fraction | int, expected: Fraction | int) -> str:
    if value == -expected:
        return "wrong sign"
    slip = name_slips(expression).get(value)  # a Fraction matches the equal int
    if slip:
        return slip
    difference = value - expected
    if abs(difference) == 1:
        return "off by one"
    return "other number" if difference % 10 else "off by tens"


@lru_cache(maxsize=4096)
def name_slips(expression: str) -> Mapping[Fraction | int, str]:
    """Map the values that typical slips produce to the slip's name; the most specific name wins."""
    tokens = _TOKEN.findall(expression)
    flat = _drop_parentheses(tokens)
    name_by_value: dict[Fraction | int, str] = dict.fromkeys(
        yield_results(tokens), "stopped at an intermediate result"
    )
    if "(" in tokens:
        name_by_value[evaluate(flat)] = "ignored parentheses"
    name_by_value[evaluate_from_left(flat)] = "ignored precedence"
    return name_by_value


def _drop_parentheses(tokens: Sequence[str]) -> list[str]:
    return [symbol for symbol in tokens if symbol not in "()"]


def evaluate_from_left(flat: Sequence[str]) -> int:
    """Evaluate numbers and operators from left to right, ignoring precedence."""
    total = int(flat[0])
    for operator, number in zip(flat[1::2], flat[2::2], strict=True):
        total = _OPERATIONS[operator](total, int(number))
    return total


def evaluate(tokens: Sequence[str]) -> int:
    """Evaluate an expression's tokens with the usual precedence."""
    result = int(tokens[0]) if len(tokens) == 1 else 0
    for result in yield_results(tokens):  # noqa: B007 - the last one counts
        pass
    return result


def yield_results(tokens: Sequence[str]) -> Iterator[int]:
    """Yield the result of each operation in turn; the last is the expression's value."""
    numbers: list[int] = []
    waiting: list[str] = []

    def apply_waiting(rank: int) -> Iterator[int]:
        """Apply the waiting operators of at least this rank, back to an open parenthesis."""
        while waiting and waiting[-1] != "(" and _RANK[waiting[-1]] >= rank:
            second, first = numbers.pop(), numbers.pop()
            numbers.append(_OPERATIONS[waiting.pop()](first, second))
            yield numbers[-1]

    # Operators wait until one of lower rank, or a closing parenthesis, follows.
    for symbol in tokens:
        if symbol == "(":
            waiting.append(symbol)
        elif symbol == ")":
            yield from apply_waiting(0)
            waiting.pop()
        elif symbol in _RANK:
            yield from apply_waiting(_RANK[symbol])
            waiting.append(symbol)
        else:
            numbers.append(int(symbol))
    yield from apply_waiting(0)


def reference(item: Item) -> str:
    """Return the answer line."""
    return f"{MARKERS[item.language]}: {item.answer}"


def list_near_misses(item: Item) -> Sequence[str]:
    """Return replies with an almost right number, or with the expression instead of its value."""
    marker, right = MARKERS[item.language], int(item.answer)
    tokens = _TOKEN.findall(item.facts["expression"])
    flat = _drop_parentheses(tokens)
    wrong = {
        right + 1, right - 1, right + 10, right * 10, -right, evaluate_from_left(flat), evaluate(flat),
        *yield_results(tokens), *map(int, flat[::2]),
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
    near_misses=list_near_misses,
    verifier_version=8,
)
def arithmetic(rng: Random, *, numbers: tuple[int, int], largest: int, limit: int, language: str) -> Item:
    """Draw a tree whose value is none of its numbers, so that repeating the question is never right."""
    while True:
        leaves = [rng.randint(2, largest) for _ in range(rng.randint(*numbers))]
        parts = [Expression(str(number), number, _NUMBER_RANK) for number in leaves]
        while len(parts) > 1:
            index = rng.randrange(len(parts) - 1)
            part = join_parts(parts[index], rng.choice("+-*"), parts[index + 1])
            if abs(part.value) > limit:
                part = join_parts(parts[index], "-", parts[index + 1])
            parts[index : index + 2] = [part]
        (expression,) = parts
        if abs(expression.value) not in leaves:
            break
    operators = "".join(symbol for symbol in expression.text if symbol in "+-*")
    if "(" in expression.text:
        operators += "()"
    return Item(
        prompt=render("arithmetic/task", language, expression=expression.text),
        answer=str(expression.value),
        facts={"expression": expression.text},
        template=operators,
    )
