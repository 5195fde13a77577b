"""Values returned by programs: comparison with the expected value, display, and the notation of their types.

A result must have the expected type: an int is not a bool, nor 5 a 5.0; a list is not a tuple, a set not a
frozenset. The one exception is PEP 484's: if a float is expected, an int of that value is right. Floats are equal
within 1e-9 relative; if 0 is expected, a rounding error is equal to it. All of it holds inside sets and keys too.
Order counts in lists and tuples only.
"""

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from basic_control.data.characters import shorten
from basic_control.data.patterns import pattern
from basic_control.data.records import Outcome

REL_TOL, ABS_TOL = 1e-9, 1e-12
SHOWN = 200
"""Maximum length of a value in a verdict's details."""
_IDENTIFIER = pattern(r"[A-Za-z_]\w{0,59}")
_NOTHING = object()


@dataclass(frozen=True, slots=True, repr=False)
class ExpectedException:
    """An expected exception, by its Python type name."""

    error: str

    def __repr__(self) -> str:
        return self.error


def is_equal(expected: Any, got: Any) -> bool:
    """Return whether a result is the expected one, by the rules of this module.

    The traversal follows `expected`, so that a huge or deep `got` costs no more than comparing its size.
    """
    kind = type(expected)
    if kind is float and type(got) in {int, float}:
        is_small = type(got) is float or abs(got) < 1 << 1000  # else it would not fit a float
        return is_small and math.isclose(expected, got, rel_tol=REL_TOL, abs_tol=ABS_TOL)
    if type(got) is not kind:
        return False
    if kind is list or kind is tuple:
        return len(expected) == len(got) and all(map(is_equal, expected, got))
    if kind is set:
        return len(expected) == len(got) and _pair_members(expected, got) is not None
    if kind is dict:
        return len(expected) == len(got) and _are_equal_mappings(expected, got)
    return bool(expected == got)


def _are_equal_mappings(expected: Mapping[Any, Any], got: Mapping[Any, Any]) -> bool:
    pairs = _pair_members(expected, got)
    return pairs is not None and all(is_equal(expected[key], got[match]) for key, match in pairs)


def _pair_members(expected: Iterable[Any], got: Iterable[Any]) -> list[tuple[Any, Any]] | None:
    """Return each expected member paired with an equal one of as many others; None if one has no match.

    `1`, `1.0` and `True` have one hash and are the same member in Python, so look-ups ignore types; floats within
    the tolerance have different hashes, and are compared one by one. The expected value is ours, and short.
    """
    candidates = {candidate: candidate for candidate in got}
    pairs: list[tuple[Any, Any]] = []
    inexact: list[Any] = []
    for member in expected:
        if member in candidates and is_equal(member, candidates[member]):
            pairs.append((member, candidates.pop(member)))
        else:
            inexact.append(member)
    # What a look-up does not find can only be equal within the tolerance of floats.
    for member in inexact:
        if not _has_float(member):
            return None
        match = next((candidate for candidate in candidates if is_equal(member, candidate)), _NOTHING)
        if match is _NOTHING:
            return None
        pairs.append((member, candidates.pop(match)))
    return pairs


def _has_float(member: Any) -> bool:
    return type(member) is float or (type(member) is tuple and any(map(_has_float, member)))


def has_same_type(expected: Any, got: Any) -> bool:
    """Return whether a wrong result has at least the expected outermost type."""
    return type(expected) is type(got) or (type(expected) is float and type(got) is int)


def write_value(value: Any) -> str:
    """Return a value of a file as text: booleans as JSON writes them, a whole number without a point."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def format_value(value: Any) -> str:
    """Return any value as short text that JSON and a terminal can hold."""
    if isinstance(value, ExpectedException):
        return f"raises {value.error}"
    try:
        text = format_literal(value)
    except (ValueError, RecursionError, MemoryError, TypeError):  # an int of 5 000 digits, a deep list
        text = f"<{type(value).__name__}>"
    return shorten(text, SHOWN).encode("utf-8", "backslashreplace").decode()


def format_literal(value: Any) -> str:
    """Return Python source for a value; sets in order, so that the text is the same in every process."""
    if type(value) is set and value:
        try:
            return f"{{{repr(sorted(value))[1:-1]}}}"
        except TypeError:  # unsortable mixed types: none of ours
            pass
    return repr(value)


def read_simple_name(error: str) -> str:
    """Return an exception's name without its package; a model may name its own exceptions anything."""
    name = error.rpartition(".")[2]
    return name if _IDENTIFIER.fullmatch(name) else "of its own"


def describe_value(outcome: Outcome) -> str:
    """Describe the result of a call in short text."""
    if outcome.kind == "value":
        return format_value(outcome.value)
    if outcome.kind == "exception":
        # Without the quotation marks that a text has as a value.
        return f"{format_value(outcome.error)[1:-1]}: {format_value(outcome.message)[1:-1]}"
    return outcome.kind


@cache
def split_type(notation: str) -> tuple[str, list[str], bool]:
    """Split a type: `dict[str, list[int]] | None` → `dict`, [`str`, `list[int]`], True.

    Raises:
        ValueError: it is no type, such as the one of an empty tuple.
    """
    required = notation.removesuffix("| None")
    try:
        body = ast.parse(required.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"no type: {notation!r}") from None
    match body:
        case ast.Subscript(head, ast.Tuple(parts)):
            inner = list(map(ast.unparse, parts))
        case ast.Subscript(head, part):
            inner = [ast.unparse(part)]
        case head:
            inner = []
    return ast.unparse(head), inner, required != notation
