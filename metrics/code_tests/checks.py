"""Assertions split into the call that makes a value and the check on it: only the call meets the program."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from basic_control.data.values import is_equal

BIGGEST = 1_000_000
"""Maximum length of a text or list that a test repeats; maximum bits of a power's result."""

_SUMS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_KINDS: Mapping[str, Callable[..., Any]] = {
    "set": set, "frozenset": frozenset, "list": list, "tuple": tuple, "dict": dict, "float": float, "str": str,
    "int": int, "bool": bool, "sorted": sorted, "range": range,
}  # fmt: skip
_UNPACKED = ast.Name("**", ast.Load())
_FAILURES = (ValueError, TypeError, ArithmeticError, KeyError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on a value: its relation to `expected`, on its left if `is_reversed`, possibly negated."""

    relation: str
    expected: Any = None
    is_reversed: bool = False
    is_negated: bool = False

    def holds(self, value: Any) -> bool:
        """Return whether the condition holds; a value that cannot be checked does not pass."""
        pair = (self.expected, value) if self.is_reversed else (value, self.expected)
        try:
            return bool(_RELATIONS[self.relation](*pair)) != self.is_negated
        except _FAILURES:
            return False


Part = tuple[ast.expr, tuple[Check, ...]]
"""An expression to evaluate with the program, and the condition on its value."""


def _is(value: Any, expected: Any) -> bool:
    return type(value) is type(expected) and bool(value == expected)


def as_json(value: Any) -> Any:
    """Return a value with tuples as lists: pairs are written in JSON, which has no tuples."""
    if type(value) in {list, tuple}:
        return [*map(as_json, value)]
    if type(value) is dict:
        return {key: as_json(part) for key, part in value.items()}
    return value


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


_RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
    "GtE": operator.ge, "In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b,
    "true": lambda value, _: value,
    "Is": _is,
    "IsNot": lambda value, expected: not _is(value, expected),
    "<": lambda value, near: abs(value - near[0]) < near[1],
    "<=": lambda value, near: abs(value - near[0]) <= near[1],
    "isclose": lambda value, expected: math.isclose(value, expected[0], **expected[1]),
    "pair": lambda value, expected: is_equal(expected, as_json(value)),
    "lines": lambda value, expected: type(value) is str and _lines(value) == _lines(expected),
}  # fmt: skip


def constant(node: ast.expr) -> Any:
    """Return the value of an expression of only literals, arithmetic and built-in containers.

    Raises:
        ValueError: it holds anything else; or what Python raises for it.
    """
    match node:
        case ast.BinOp(first, sign, second):
            return _calculate(constant(first), constant(second), type(sign))
        case ast.UnaryOp(ast.USub(), inner):
            return -constant(inner)
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict():
            return _container(node)
        case ast.Call(ast.Name(kind), arguments, []) if kind in _KINDS:
            return _KINDS[kind](*map(constant, arguments))
        case ast.Attribute(ast.Name("math"), ("inf" | "nan" | "pi" | "e" | "tau") as name):
            return getattr(math, name)
    return ast.literal_eval(node)


def _container(node: ast.Tuple | ast.List | ast.Set | ast.Dict) -> Any:
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {constant(key or _UNPACKED): constant(value) for key, value in pairs}
    kind = {ast.Tuple: tuple, ast.List: list, ast.Set: set}[type(node)]
    return kind(map(constant, node.elts))


def _calculate(first: Any, second: Any, sign: type) -> Any:
    if sign is ast.Pow and type(first) is int and type(second) is int and first.bit_length() * second > BIGGEST:
        raise ValueError("a power too big")
    for container, count in ((first, second), (second, first)):
        if type(count) is int and hasattr(container, "__len__") and len(container) * count > BIGGEST:
            raise ValueError("a repetition too long")
    return _SUMS[sign](first, second)


def is_constant(node: ast.expr) -> bool:
    """Return whether an expression's value is known without the program."""
    try:
        constant(node)
    except (*_FAILURES, SyntaxError):
        return False
    return True


def take_apart(node: ast.expr) -> list[Part] | None:  # noqa: PLR0911 - a return for each form
    """Return an assertion's expressions and conditions; None if they cannot be separated."""
    match node:
        case ast.BoolOp(ast.And(), values):
            parts = [part for part in map(take_apart, values) if part is not None]
            if len(parts) < len(values):
                return None
            return [*chain.from_iterable(parts)]
        case ast.UnaryOp(ast.Not(), inner):
            parts = take_apart(inner)
            if parts and len(parts) == 1 and len(parts[0][1]) == 1:
                ((expression, (check,)),) = parts
                return [(expression, (replace(check, is_negated=not check.is_negated),))]
            return None
        case ast.Compare():
            return _split_near(node) or _split_comparison(node)
        case ast.Call(ast.Attribute(ast.Name("math"), "isclose") | ast.Name("isclose"), [value, expected]):
            return _close(node, value, expected)
    truth = ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node))
    return None if is_constant(node) else [(truth, (Check("true"),))]


def _split_comparison(node: ast.Compare) -> list[Part] | None:
    """Split `call == literal`, in either order, or `0 <= call < 5`: one operand is unknown."""
    operands = [node.left, *node.comparators]
    unknown = [n for n, operand in enumerate(operands) if not is_constant(operand)]
    if len(unknown) != 1:
        return None
    checks = []
    for n, sign in enumerate(node.ops):
        if unknown[0] in {n, n + 1}:
            # The known operand is on the other side of the sign.
            is_reversed = unknown[0] == n + 1
            known_operand = operands[n if is_reversed else n + 1]
            checks.append(Check(type(sign).__name__, constant(known_operand), is_reversed))
    return [(operands[unknown[0]], tuple(checks))]


def _split_near(node: ast.Compare) -> list[Part] | None:
    """Split `abs(call - literal) < literal`, in either order."""
    if len(node.ops) != 1:
        return None
    low, high, sign = node.left, node.comparators[0], node.ops[0]
    if isinstance(sign, ast.Gt | ast.GtE):
        low, high = high, low
    elif not isinstance(sign, ast.Lt | ast.LtE):
        return None
    match low:
        case ast.Call(ast.Name("abs"), [ast.BinOp(first, ast.Sub(), second)], []) if is_constant(high):
            for value, expected in ((first, second), (second, first)):
                if is_constant(expected) and not is_constant(value):
                    how = "<" if isinstance(sign, ast.Lt | ast.Gt) else "<="
                    return [(value, (Check(how, (constant(expected), constant(high))),))]
    return None


def _close(node: ast.Call, value: ast.expr, expected: ast.expr) -> list[Part] | None:
    # As in: isclose(f(1), 0.5, rel_tol=1e-6)
    tolerances = {keyword.arg: keyword.value for keyword in node.keywords}
    if not tolerances.keys() <= {"rel_tol", "abs_tol"} or not all(map(is_constant, tolerances.values())):
        return None
    if is_constant(value):
        value, expected = expected, value
    if is_constant(value) or not is_constant(expected):
        return None
    values = {str(name): constant(tolerance) for name, tolerance in tolerances.items()}
    return [(value, (Check("isclose", (constant(expected), values)),))]
