"""Tests of a script, one at a time: with the program, or apart from it in an instance that it cannot reach."""

import ast
import builtins
import sys
from contextlib import suppress
from typing import Any

from tasks.sandbox.component.handles import ScriptNames

# What is defined below, and the tests themselves, keep these: a program may put others into `builtins`.
__builtins__ = vars(builtins).copy()

_SCALARS: tuple[Any, ...] = (int, float, str, bytes)
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset)

_scopes: dict[int, dict[str, Any]] = {}
"""The names of each script, by its number: its tests share them."""


def run_beside(script: int, setup: str, expressions: str) -> tuple[Any, ...]:
    """Run a test in the program's instance, whose names a script begins with; return its expressions' values."""
    if script not in _scopes:
        _scopes[script] = {**vars(sys.modules["candidate"]), "__builtins__": __builtins__}
    return _run(_scopes[script], setup, expressions)


def run_apart(entry: str, code: str, script: int, setup: str, expressions: str) -> tuple[Any, ...]:
    """Run a test in an instance of its own; return its expressions' values.

    A script begins with the functions and imports of `code`; what is not defined there is asked of the program, as
    is the tested function, `entry`.
    """
    if script not in _scopes:
        names = _scopes[script] = ScriptNames(entry, {"__builtins__": __builtins__, "__name__": "candidate"})
        for statement in ast.parse(code).body:
            # Classes are the program's own, so that it knows their instances.
            if not isinstance(statement, ast.ClassDef) and getattr(statement, "name", "") != entry:
                with suppress(Exception):
                    exec(compile(ast.Module([statement], []), "<tests>", "exec"), names)  # noqa: S102 - a row's code
    return _run(_scopes[script], setup, expressions)


def forget() -> None:
    """Forget all scripts."""
    _scopes.clear()


def _run(names: dict[str, Any], setup: str, expressions: str) -> tuple[Any, ...]:
    exec(setup, names)  # noqa: S102 - running tests is what this is for
    return tuple([simplify(value) for value in eval(expressions, names)])  # noqa: S307 - as above


def simplify(value: Any) -> Any:
    """Return a value of plain types that is equal to it: a named tuple as a tuple, a view of keys as a set."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        return value
    for base in _SCALARS:
        if isinstance(value, base):
            return base(value)
    for base in _CONTAINERS:
        if isinstance(value, base):
            return base([simplify(member) for member in value])
    if isinstance(value, (type({}.keys()), type({}.items()))):
        return set(value)
    if isinstance(value, dict):
        return {key: simplify(member) for key, member in value.items()}
    return value
