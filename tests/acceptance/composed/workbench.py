"""Run programs that the tests made themselves: a line of JSON in for each program, a line of outcomes out.

A program that takes more than its CPU time gives null in place of its outcomes.
"""

import ast
import contextlib
import gc
import importlib
import json
import signal
import sys
from typing import Any

SECONDS = 0.05  # of CPU, for all calls of one program: those that end take at most 0.002, on a slow day 0.005
IMPORTED = ("numpy.typing", "pandas", "sympy")  # by programs; to import them is no part of their time


class Late(BaseException):
    """The program's time is up."""


def shape(value: object) -> list[Any]:
    """Write a value down with its types, in an order of its own where it has none."""
    kind = type(value).__name__
    if isinstance(value, list | tuple):
        return [kind, [shape(part) for part in value]]
    if isinstance(value, set | frozenset):
        return [kind, sorted((shape(part) for part in value), key=repr)]
    if isinstance(value, dict):
        return [kind, sorted(([shape(key), shape(part)] for key, part in value.items()), key=repr)]
    return [kind, repr(value)]


def outcome(function: Any, arguments: str) -> list[Any]:
    """Call a function and write down what came of it."""
    try:
        return ["value", shape(function(*ast.literal_eval(arguments)))]
    except Exception as error:  # noqa: BLE001  whatever a made program raises is its outcome
        return ["raises", [kind.__name__ for kind in type(error).__mro__]]


def outcomes(source: str, name: str, calls: list[str]) -> list[Any]:
    """Run a program and make each call; a program that does not load raises in every call."""
    space: dict[str, Any] = {"__name__": "candidate"}
    try:
        exec(compile(source, "candidate", "exec"), space)  # noqa: S102  the tests' own programs
        function = space[name]
    except Exception as error:  # noqa: BLE001  whatever a made program raises is its outcome
        return [["raises", [type(error).__name__]]] * len(calls)
    return [outcome(function, arguments) for arguments in calls]


def late(*_: object) -> None:
    raise Late


def main() -> None:
    """Answer the lines of the standard input."""
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    gc.disable()  # to look through all that was imported takes longer than a program has
    signal.signal(signal.SIGVTALRM, late)
    answers = sys.stdout
    sys.stdout = sys.stderr
    for number, line in enumerate(sys.stdin):
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            found = outcomes(*json.loads(line))
        except Late:
            found = None
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if number % 100 == 0:
            gc.collect()
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
