"""Calls of tools written as Python: parsed, and never run. `[get_weather(city="Paris"), now()]`."""

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from basic_control.data.patterns import pattern
from basic_control.data.tools import ToolCall

_DEEPEST = 60
"""Brackets within brackets that Python's parser is given."""
_BULLET = pattern(r"^[ \t]*(?:[-*•]|[0-9]{1,2}[.)])[ \t]+", re.MULTILINE)  # "- f(x=1)", "1. f(x=1)"
_SEVERAL = pattern(r"\)[ \t]*(?:;\s*|\n\s*)(?=[A-Za-z_])")  # "f(x=1); g()", and a line each
_DOTTED = pattern(r"[\w.]+")
_SIGNS = pattern(r"[-+~]{50}|(?:not\s+){50}")
"""What would take the parser's stack: a sign for each frame."""
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_LARGEST_BASE, _LARGEST_POWER = 1_000_000, 64
"""Bounds of powers that are calculated."""


def read_python(text: str) -> list[ToolCall] | None:
    """Return the calls of Python expressions: `f(x=1)`, `[f(x=1), g()]`, a line each; None if they are none."""
    text = text.rstrip("; \n")
    candidates = [text]
    if text.startswith("[") and not text.endswith("]"):  # a bracket that was forgotten
        candidates.append(text + "]")
    elif not text.startswith("["):
        lines = _SEVERAL.sub("), ", _BULLET.sub("", text))
        candidates += [f"[{text}", f"[{text}]", f"[{lines}]"]
    for candidate in candidates:
        tree = _parse(candidate)
        calls = None if tree is None else _read_tree(tree)
        if calls is not None:
            return calls
    return None


def read_literal(text: str) -> Any:
    """Return the list or mapping that a text writes as Python does: {'name': 'f', 'arguments': {}}; else None."""
    tree = _parse(text)
    if isinstance(tree, ast.Dict | ast.List):
        return _value_of(tree)
    return None


def _parse(text: str) -> ast.expr | None:
    # The parser's own stack is the machine's: what would go deep is not given to it.
    begins_list = text[:1] in ("[", "{")
    if _depth(text) > _DEEPEST or _SIGNS.search(text) or not (begins_list or "(" in text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in a model's strings
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _depth(text: str) -> int:
    """Return how deep the brackets of a text go, those in its strings among them."""
    depth = deepest = 0
    for sign in text:
        if sign in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in ")]}":
            depth -= 1
    return deepest


def _read_tree(tree: ast.expr) -> list[ToolCall] | None:
    entries = tree.elts if isinstance(tree, ast.List | ast.Tuple) else [tree]
    calls = list[ToolCall]()
    for entry in entries:
        call = _read_call(entry)
        if call is None:
            return None
        calls.append(call)
    return calls


def _read_call(node: ast.expr) -> ToolCall | None:
    """Return the call that an expression is; `print(f(x=1))` prints the one inside."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "print" and len(node.args) == 1:
        return _read_call(node.args[0]) or ToolCall("print", {}, 1)
    try:
        name = ast.unparse(node.func)
        arguments = {keyword.arg: _value_of(keyword.value) for keyword in node.keywords if keyword.arg}
    except (RecursionError, ValueError):
        return None
    if not _DOTTED.fullmatch(name):
        return None
    name = name.removesuffix(".call")  # Llama's built-in tools: `brave_search.call(query="…")`
    return ToolCall(name, arguments, len(node.args) + len(node.keywords) - len(arguments))


def _value_of(node: ast.expr) -> Any:  # noqa: PLR0911 - a return for each form
    """Return an expression's value, if it is plain data; the text of anything else, a name among it."""
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=int() | float() as value)):
            return value
        case ast.List(elts=entries) | ast.Tuple(elts=entries) | ast.Set(elts=entries):
            return [_value_of(entry) for entry in entries]
        case ast.Dict(keys=keys, values=values):
            # A key that unpacks another mapping, `**rest`, has no node.
            names = [str(_value_of(key or ast.Constant("**"))) for key in keys]
            return dict(zip(names, map(_value_of, values), strict=True))
        case ast.BinOp():
            return _calculate(node)
        case _:
            return ast.unparse(node)


def _calculate(node: ast.BinOp) -> Any:
    """Return the value of a calculation with numbers; the text of any other."""
    sides = [_value_of(node.left), _value_of(node.right)]
    calculate = _OPERATORS.get(type(node.op))
    if calculate is None or not all(isinstance(side, int | float) for side in sides):
        return ast.unparse(node)
    base, power = sides
    # A power may have more digits than there is memory.
    if isinstance(node.op, ast.Pow) and (abs(base) > _LARGEST_BASE or abs(power) > _LARGEST_POWER):
        return ast.unparse(node)
    try:
        value = calculate(base, power)
    except ArithmeticError:
        return ast.unparse(node)
    return ast.unparse(node) if isinstance(value, complex) else value
