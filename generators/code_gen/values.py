"""Values of calls and results: tagged JSON for facts, and Kotlin literals for prompts."""

from collections.abc import Mapping
from typing import Any

from basic_control.data.values import ExpectedException

_PLAIN = frozenset({int, bool, str, float, type(None)})


def encode(value: Any) -> Any:
    """Return a value as JSON; a JSON object is a tag: tuple, set, dict (a list of pairs) or raises."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [encode(item) for item in value]
    if kind is tuple:
        return {"tuple": [encode(item) for item in value]}
    if kind is set:
        return {"set": [encode(item) for item in sorted(value)]}
    if kind is dict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if kind is ExpectedException:
        return {"raises": value.error}
    raise TypeError(f"a value of type {kind.__name__} cannot stand in facts")


def decode(value: Any) -> Any:
    """Return the value that `encode` encoded."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    ((tag, inner),) = value.items()
    if tag == "tuple":
        return tuple(decode(item) for item in inner)
    if tag == "set":
        return {decode(item) for item in inner}
    if tag == "dict":
        return {decode(key): decode(item) for key, item in inner}
    if tag == "raises":
        return ExpectedException(inner)
    raise ValueError(f"unknown tag {tag!r} in facts; expected tuple, set, dict or raises")


def kotlin_literal(value: Any, notation: str) -> str:
    """Return the Kotlin literal of a value whose type is in Python notation."""
    if isinstance(value, str):
        return f'"{value.translate(_KOTLIN_ESCAPES)}"'
    if not isinstance(value, tuple | dict | list | set):
        return _KOTLIN_WORDS.get(repr(value), repr(value))
    head, inner = split_type(notation)
    if isinstance(value, tuple):
        parts = ", ".join(map(kotlin_literal, value, inner))
        return f"{'Pair' if len(value) == PAIR else 'Triple'}({parts})"
    if not value:
        return f"empty{'Map' if head == 'dict' else head.title()}<{', '.join(map(kotlin_type, inner))}>()"
    if isinstance(value, dict):
        pairs = [f"{kotlin_literal(k, inner[0])} to {kotlin_literal(v, inner[1])}" for k, v in value.items()]
        return f"mapOf({', '.join(pairs)})"
    items = sorted(value) if isinstance(value, set) else value
    return f"{head}Of({', '.join([kotlin_literal(item, inner[0]) for item in items])})"


PAIR = 2
_KOTLIN_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "$": "\\$", "\n": "\\n", "\t": "\\t"})
_KOTLIN_WORDS = {"None": "null", "True": "true", "False": "false"}
_KOTLIN = {"int": "Int", "float": "Double", "str": "String", "bool": "Boolean"}


def split_type(notation: str) -> tuple[str, list[str]]:
    """Split `dict[str, list[int]]` into `dict` and [`str`, `list[int]`]; `| None` is left out."""
    notation = notation.removesuffix(" | None")
    head, _, rest = notation.partition("[")
    parts, depth, start = [], 0, 0
    rest = rest.removesuffix("]")
    for place, character in enumerate(rest):
        depth += (character == "[") - (character == "]")
        if character == "," and not depth:
            parts.append(rest[start:place].strip())
            start = place + 1
    return head, [*parts, rest[start:].strip()] if rest else []


def kotlin_type(notation: str) -> str:
    """Return the Kotlin type for one in Python notation (`list[int] | None` → `List<Int>?`)."""
    head, inner = split_type(notation)
    optional = "?" if notation.endswith(" | None") else ""
    if head in _KOTLIN:
        return _KOTLIN[head] + optional
    names = {"list": "List", "set": "Set", "dict": "Map", "tuple": "Pair" if len(inner) == PAIR else "Triple"}
    return f"{names[head]}<{', '.join(map(kotlin_type, inner))}>{optional}"
