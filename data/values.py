"""Values returned by programs: comparison with the expected value, and display.

A result must have the expected type: an int is not a bool, nor 5 a 5.0; a list is not a tuple, a set not a
frozenset. The one exception is PEP 484's: if a float is expected, an int of that value is right. Floats are equal
within 1e-9 relative; if 0 is expected, a rounding error is equal to it. All of it holds inside sets and keys too.
Order counts in lists and tuples only.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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


def equal(expected: Any, got: Any) -> bool:
    """Return whether a result is the expected one, by the rules of this module.

    The traversal follows `expected`, so that a huge or deep `got` costs no more than comparing its size.
    """
    kind = type(expected)
    if kind is float and type(got) in {int, float}:
        fits = type(got) is float or abs(got) < 1 << 1000  # else it would not fit a float
        return fits and math.isclose(expected, got, rel_tol=REL_TOL, abs_tol=ABS_TOL)
    if type(got) is not kind:
        return False
    if kind is list or kind is tuple:
        return len(expected) == len(got) and all(map(equal, expected, got))
    if kind is set:
        return len(expected) == len(got) and _paired(expected, got) is not None
    if kind is dict:
        pairs = _paired(expected, got) if len(expected) == len(got) else None
        return pairs is not None and all(equal(expected[key], got[other]) for key, other in pairs)
    return bool(expected == got)


def _paired(expected: Iterable[Any], got: Iterable[Any]) -> list[tuple[Any, Any]] | None:
    """Return each expected member paired with an equal one of as many others; None if one has no match.

    `1`, `1.0` and `True` have one hash and are the same member in Python, so look-ups ignore types; floats within
    the tolerance have different hashes, and are compared one by one. The expected value is ours, and short.
    """
    own = {other: other for other in got}
    pairs: list[tuple[Any, Any]] = []
    inexact: list[Any] = []
    for member in expected:
        if member in own and equal(member, own[member]):
            pairs.append((member, own.pop(member)))
        else:
            inexact.append(member)
    for member in inexact:
        near = next((other for other in own if equal(member, other)), _NOTHING) if _has_float(member) else _NOTHING
        if near is _NOTHING:
            return None
        pairs.append((member, own.pop(near)))
    return pairs


def _has_float(member: Any) -> bool:
    return type(member) is float or (type(member) is tuple and any(map(_has_float, member)))


def same_type(expected: Any, got: Any) -> bool:
    """Return whether a wrong result has at least the expected outermost type."""
    return type(expected) is type(got) or (type(expected) is float and type(got) is int)


def shown(value: Any) -> str:
    """Return any value as short text that JSON and a terminal can hold."""
    if isinstance(value, ExpectedException):
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
        except TypeError:  # unsortable mixed types: none of ours
            pass
    return repr(value)


def simple_name(error: str) -> str:
    """Return an exception's name without its package; a model may name its own exceptions anything."""
    name = error.rpartition(".")[2]
    return name if _IDENTIFIER.fullmatch(name) else "of its own"


def describe(found: Outcome) -> str:
    """Describe the result of a call in short text."""
    if found.kind == "value":
        return shown(found.value)
    if found.kind == "exception":
        return f"{shown(found.error)[1:-1]}: {shown(found.message)[1:-1]}"
    return found.kind
