"""Values of calls and results: tagged JSON for facts, and Kotlin literals for prompts."""

from collections.abc import Mapping
from itertools import repeat
from typing import Any

from basic_control.data.values import ExpectedException, split_type

_PLAIN = frozenset({int, bool, str, float, type(None)})


def encode(value: Any) -> Any:
    """Return a value as JSON; a JSON object is a tag: tuple, set, dict (a list of pairs) or raises."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [*map(encode, value)]
    if kind is tuple:
        return {"tuple": [*map(encode, value)]}
    # A set's order is not that of its hashes, which differ from process to process.
    if kind is set:
        return {"set": [*map(encode, sorted(value))]}
    if kind is dict:
        return {"dict": [[*map(encode, pair)] for pair in value.items()]}
    if kind is ExpectedException:
        return {"raises": value.error}
    raise TypeError(f"a value of type {kind.__name__} cannot stand in facts")


def decode(value: Any) -> Any:
    """Return the value that `encode` encoded."""
    if isinstance(value, list):
        return [*map(decode, value)]
    if not isinstance(value, Mapping):
        return value
    ((tag, inner),) = value.items()
    if tag == "tuple":
        return tuple(map(decode, inner))
    if tag == "set":
        return {*map(decode, inner)}
    if tag == "dict":
        return {decode(key): decode(entry) for key, entry in inner}
    if tag == "raises":
        return ExpectedException(inner)
    raise ValueError(f"unknown tag {tag!r} in facts; expected tuple, set, dict or raises")


def kotlin_literal(value: Any, notation: str) -> str:
    """Return the Kotlin literal of a value whose type is in Python notation."""
    if isinstance(value, str):
        return f'"{value.translate(_KOTLIN_ESCAPES)}"'
    if not isinstance(value, tuple | dict | list | set):
        return _KOTLIN_WORDS.get(repr(value), repr(value))
    head, inner, _ = split_type(notation)
    if isinstance(value, tuple):
        return f"{_TUPLES[len(value)]}({', '.join(map(kotlin_literal, value, inner))})"
    if not value:
        return f"empty{_KOTLIN_COLLECTIONS[head]}<{', '.join(map(kotlin_type, inner))}>()"
    if isinstance(value, dict):
        pairs = [" to ".join(map(kotlin_literal, pair, inner)) for pair in value.items()]
        return f"mapOf({', '.join(pairs)})"
    entries = sorted(value) if isinstance(value, set) else value
    return f"{head}Of({', '.join(map(kotlin_literal, entries, repeat(inner[0])))})"


_TUPLES = {2: "Pair", 3: "Triple"}
_KOTLIN_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "$": "\\$", "\n": "\\n", "\t": "\\t"})
_KOTLIN_WORDS = {"None": "null", "True": "true", "False": "false"}
_KOTLIN_COLLECTIONS = {"list": "List", "set": "Set", "dict": "Map"}
_KOTLIN = {"int": "Int", "float": "Double", "str": "String", "bool": "Boolean"}


def kotlin_type(notation: str) -> str:
    """Return the Kotlin type for one in Python notation (`list[int] | None` → `List<Int>?`)."""
    head, inner, is_optional = split_type(notation)
    if head in _KOTLIN:
        kind = _KOTLIN[head]
    else:
        name = _KOTLIN_COLLECTIONS.get(head) or _TUPLES[len(inner)]
        kind = f"{name}<{', '.join(map(kotlin_type, inner))}>"
    return kind + "?" * is_optional
