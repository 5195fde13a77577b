"""Values of calls and results: tagged JSON for facts, literals for prompts, and the comparison.

A result must have the type that the signature states: an int is not a bool, nor 5 a 5.0; a list is not a tuple,
a set not a frozenset. The one leniency is PEP 484's: where a float is expected, an int of that value is right.
Floats are equal within 1e-6 relative (1e-9 absolute, near zero). Order counts in lists and tuples only.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

REL_TOL, ABS_TOL = 1e-6, 1e-9
SHOWN = 200
"""Characters of a value kept in a verdict's details."""
_PLAIN = frozenset({int, bool, str, float, type(None)})


@dataclass(frozen=True, slots=True, repr=False)
class Raised:
    """An expected exception, by its Python type name."""

    error: str

    def __repr__(self) -> str:
        return self.error


def encode(value: Any) -> Any:
    """Return JSON for a value; a JSON object is a tag: tuple, set, dict (a list of pairs) or raises."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return _plain(value)
    if kind is tuple:
        return {"tuple": _plain(value)}
    if kind is set:
        return {"set": _plain(sorted(value))}
    if kind is dict:
        return {"dict": [_plain(pair) for pair in value.items()]}
    if kind is Raised:
        return {"raises": value.error}
    raise TypeError(f"a value of type {kind.__name__} cannot stand in facts")


def _plain(values: Iterable[Any]) -> list[Any]:
    return [item if type(item) in _PLAIN else encode(item) for item in values]


def decode(value: Any) -> Any:
    """Return the value that `encode` wrote."""
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
        return Raised(inner)
    raise ValueError(f"unknown tag {tag!r} in facts; expected tuple, set, dict or raises")


def equal(expected: Any, got: Any) -> bool:
    """Say whether a result is the expected one, by the rules of this module.

    The walk follows `expected`, so that a huge or deep `got` costs no more than comparing its size.
    """
    kind = type(expected)
    if kind is float:
        return _close(expected, got)
    if type(got) is not kind:
        return False
    if kind is list or kind is tuple:
        return len(expected) == len(got) and all(map(equal, expected, got))
    if kind is set:
        return len(expected) == len(got) and {(type(n), n) for n in expected} == {(type(n), n) for n in got}
    if kind is dict:
        return _equal_dicts(expected, got)
    return bool(expected == got)


def _close(expected: float, got: Any) -> bool:
    if type(got) is int and abs(got) >= 1 << 1000:  # would not fit a float
        return False
    return type(got) in {int, float} and math.isclose(expected, got, rel_tol=REL_TOL, abs_tol=ABS_TOL)


def _equal_dicts(expected: dict[Any, Any], got: dict[Any, Any]) -> bool:
    if len(expected) != len(got):
        return False
    found = {(type(key), key): value for key, value in got.items()}
    return all((type(key), key) in found and equal(value, found[type(key), key]) for key, value in expected.items())


def same_type(expected: Any, got: Any) -> bool:
    """Say whether a wrong result has at least the expected outermost type."""
    return type(expected) is type(got) or (type(expected) is float and type(got) is int)


def shown(value: Any) -> str:
    """Return a value as short text that JSON and a terminal can hold, whatever it is."""
    if isinstance(value, Raised):
        return f"raises {value.error}"
    try:
        text = literal(value)
    except (ValueError, RecursionError, MemoryError, TypeError):  # an int of 5 000 digits, a deep list
        text = f"<{type(value).__name__}>"
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return text.encode("utf-8", "backslashreplace").decode()


def literal(value: Any) -> str:
    """Return Python source for a value; sets in order, so that the text is the same in every process."""
    if type(value) is set and value:
        try:
            return f"{{{repr(sorted(value))[1:-1]}}}"
        except TypeError:  # of several types: nothing of ours
            pass
    return repr(value)


def kotlin_literal(value: Any, notation: str) -> str:
    """Return Kotlin source for a value of a type in Python notation."""
    if isinstance(value, str):
        return _kotlin_string(value)
    if isinstance(value, tuple | dict | list | set):
        return _kotlin_collection(value, *split_type(notation))
    return _KOTLIN_WORDS.get(repr(value), repr(value))


def _kotlin_collection(value: Any, head: str, inner: list[str]) -> str:
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


def _kotlin_string(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "$": "\\$", "\n": "\\n", "\t": "\\t"}
    return f'"{"".join(escapes.get(c, c) for c in text)}"'


PAIR = 2
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
