"""Kotlin source: values as typed literals, and the calls of one program."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from basic_control.data.records import Program
from basic_control.data.values import split_type

_NAMES = {"int": "Int", "float": "Double", "str": "String", "bool": "Boolean", "None": "Unit", "bytes": "ByteArray"}
_GENERIC = {"list": ("MutableList", "mutableListOf"), "set": ("MutableSet", "mutableSetOf")}
_TUPLES = {2: "Pair", 3: "Triple"}
_INT, _LONG = 2**31, 2**63


def write_type(notation: str) -> str:
    """Return the Kotlin type of a type in Python notation.

    Raises:
        ValueError: there is no such type.
    """
    head, inner, optional = split_type(notation)
    parameters = [*map(write_type, inner)]
    if head in _NAMES and not parameters:
        name = _NAMES[head]
    elif head in _GENERIC and len(parameters) == 1:
        name = f"{_GENERIC[head][0]}<{parameters[0]}>"
    elif head == "dict" and len(parameters) == len(("key", "value")):
        name = f"MutableMap<{parameters[0]}, {parameters[1]}>"
    elif head == "tuple" and len(parameters) in _TUPLES:
        name = f"{_TUPLES[len(parameters)]}<{', '.join(parameters)}>"
    else:
        raise ValueError(f"no Kotlin type for {notation!r}")
    return name + "?" * optional


def write_literal(value: Any, notation: str) -> str:
    """Return Kotlin source for a plain value of a type in Python notation.

    Raises:
        ValueError: the value is not of the type, or Kotlin has no literal for it.
    """
    head, inner, optional = split_type(notation)
    if value is None and (optional or head == "None"):
        return "null"
    written = _write_scalar(value, head) or _write_container(value, head, inner)
    if not written:
        raise ValueError(f"no Kotlin literal of type {notation!r} for a value of type {type(value).__name__}")
    return written


def _write_scalar(value: Any, head: str) -> str:
    # First, since in Python a Boolean is an integer.
    if isinstance(value, bool):
        return str(value).lower() * (head == "bool")
    if isinstance(value, str):
        return f'"{"".join(map(_write_character, value))}"' * (head == "str")
    if isinstance(value, int) and head == "int":
        return _write_integer(value)
    if isinstance(value, int | float) and head == "float":
        return _write_float(float(value))
    return ""


def _write_container(value: Any, head: str, inner: Sequence[str]) -> str:
    match value, head, inner:
        case (list(), "list", [member_type]) | (set() | frozenset(), "set", [member_type]):
            # A set has no order: the same literal is written for the same set.
            members = sorted(value, key=repr) if head == "set" else value
            literals = ", ".join(write_literal(member, member_type) for member in members)
            return f"{_GENERIC[head][1]}<{write_type(member_type)}>({literals})"
        case dict(), "dict", [key_type, value_type]:
            pairs = [
                f"{write_literal(key, key_type)} to {write_literal(entry, value_type)}"
                for key, entry in value.items()
            ]
            return f"mutableMapOf<{write_type(key_type)}, {write_type(value_type)}>({', '.join(pairs)})"
        case tuple(), "tuple", _ if len(inner) == len(value) and len(value) in _TUPLES:
            return f"{_TUPLES[len(value)]}({', '.join(map(write_literal, value, inner))})"
    return ""


def _write_integer(value: int) -> str:
    if -_INT < value < _INT:
        return str(value)
    if value == -_INT:
        return "Int.MIN_VALUE"
    if -_LONG < value < _LONG:
        return f"{value}L"
    return f'java.math.BigInteger("{value}")'


def _write_float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    if math.isnan(value):
        return "Double.NaN"
    if value > 0:
        return "Double.POSITIVE_INFINITY"
    return "Double.NEGATIVE_INFINITY"


def _write_character(character: str) -> str:
    if character.isascii() and character.isprintable() and character not in '"\\$':
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4))


def infer_type(value: Any) -> str:
    """Return a value's type in Python notation, for a program that does not state its types."""
    if isinstance(value, list | set | frozenset):
        member_types = set(map(infer_type, value)) or {"int"}
        head = "list" if isinstance(value, list) else "set"
        return f"{head}[{min(member_types)}]"
    if isinstance(value, dict):
        key, entry = next(iter(value.items()), (0, 0))
        return f"dict[{infer_type(key)}, {infer_type(entry)}]"
    if isinstance(value, tuple):
        return f"tuple[{', '.join(map(infer_type, value))}]"
    if value is None:
        return "None"
    return type(value).__name__


def write_calls(program: Program, name: str, package: Sequence[str]) -> str:
    """Return the file that calls a program; one function per call, as method size is limited.

    It is in the package `name`, and the program in the one whose parts are given.

    Raises:
        ValueError: a call's arguments cannot be written in Kotlin.
    """
    function = ".".join(f"`{part}`" for part in (*package, program.function))
    lines = [f"package {name}", "", f"import {function} as {name}", ""]
    for k, arguments in enumerate(program.calls):
        # The types of the arguments, and that of the result.
        types: Iterable[str] = program.types[:-1]
        if len(program.types) != len(arguments) + 1:
            types = map(infer_type, arguments)
        lines.append(f"private fun call{k}(): Any? = {name}({', '.join(map(write_literal, arguments, types))})")
    references = ", ".join(f"::call{k}" for k in range(len(program.calls)))
    return "\n".join([*lines, "", f"fun main() = sandbox.harness.serve(listOf<() -> Any?>({references}))", ""])
