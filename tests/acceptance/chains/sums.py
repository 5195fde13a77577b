"""Expressions in exact numbers: how they are read from a short line, worked out and reduced step by step."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


@dataclass(frozen=True)
class Number:
    """A number with its unit, and whether it is the planted slip; a percentage is its share (`20%` is 1/5)."""

    value: Fraction
    unit: str = ""
    wrong: bool = False


@dataclass(frozen=True)
class Sum:
    """Two expressions under an operator."""

    sign: str
    left: "Expression"
    right: "Expression"


Expression = Number | Sum


def read(text: str, known: Mapping[str, Number]) -> Expression:
    """Read an expression over named numbers and plain ones."""
    return _read(ast.parse(text.strip(), mode="eval").body, known)


def _read(node: ast.expr, known: Mapping[str, Number]) -> Expression:
    if isinstance(node, ast.BinOp):
        return Sum(SIGNS[type(node.op)], _read(node.left, known), _read(node.right, known))
    if isinstance(node, ast.Name):
        return known[node.id]
    assert isinstance(node, ast.Constant)
    return Number(Fraction(str(node.value)))


def value(node: Expression) -> Fraction:
    """Work an expression out."""
    if isinstance(node, Number):
        return node.value
    left, right = value(node.left), value(node.right)
    if by_share(node):
        right *= left
    if node.sign == "+":
        return left + right
    if node.sign == "-":
        return left - right
    return left * right if node.sign == "*" else left / right


def by_share(node: Sum) -> bool:
    """Whether a sum adds a percentage of its left side or takes it off: `x - 20%`."""
    return node.sign in "+-" and unit_of(node.right) == "pct" != unit_of(node.left)


def leaves(node: Expression) -> Iterator[Number]:
    """Yield the numbers of an expression from left to right."""
    if isinstance(node, Number):
        yield node
    else:
        yield from leaves(node.left)
        yield from leaves(node.right)


def ends(number: Fraction, digits: int = 2) -> bool:
    """Whether a number can be written out with so many decimals."""
    scale: int = 10**digits
    return scale % number.denominator == 0


def reduce(node: Expression) -> Expression | None:
    """Work the innermost operations out, all at once: None when a value in between cannot be written out."""
    if isinstance(node, Number):
        return node
    if isinstance(node.left, Number) and isinstance(node.right, Number):
        found = value(node)
        return Number(found, unit_of(node)) if ends(found) and found >= 0 else None
    left, right = reduce(node.left), reduce(node.right)
    return None if left is None or right is None else Sum(node.sign, left, right)


def unit_of(node: Expression) -> str:
    """Name the unit that an expression's value has, as far as its numbers tell it."""
    if isinstance(node, Number):
        return node.unit
    left, right = unit_of(node.left), unit_of(node.right)
    if node.sign in "+-":
        return left or right
    return left if left == "money" else right if right == "money" and node.sign == "*" else ""


def sides(node: Expression, result: Number, *, chained: bool) -> list[Expression]:
    """Give the sides of the equation: the expression, its reductions where they are wanted, the result."""
    found: list[Expression] = [node]
    here: Expression | None = node
    while chained and here is not None:
        here = reduce(here)
        if here is None or isinstance(here, Number):
            break
        found.append(here)
    return [*found, result]


def equal(sides_: list[Expression]) -> bool:
    """Whether neighbouring sides could pass as equal, with some rounding allowed for."""
    return all(_close(left, right) for left, right in pairwise(sides_))


def _close(left: Expression, right: Expression) -> bool:
    gap = abs(value(left) - value(right))
    if isinstance(right, Number):
        # Rounded to the digits shown at the coarsest: a whole unit of the last one is beyond any rounding.
        shown = next(digits for digits in range(7) if ends(right.value, digits) or digits == 6)
        return gap < Fraction(1, 10**shown) if not ends(value(left), shown) else gap == 0
    whole = all(leaf.value.denominator == 1 for leaf in (*leaves(left), *leaves(right)))
    divides = "/" in {*_signs(left), *_signs(right)}
    return gap == 0 if whole and not divides else gap <= abs(value(left)) / 50


def _signs(node: Expression) -> Iterator[str]:
    if isinstance(node, Sum):
        yield node.sign
        yield from _signs(node.left)
        yield from _signs(node.right)


def count(node: Expression) -> int:
    """Count the operations of an expression."""
    return 0 if isinstance(node, Number) else 1 + count(node.left) + count(node.right)
