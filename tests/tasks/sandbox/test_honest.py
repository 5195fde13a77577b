"""Honest programs run as Python runs them, and their values come back as they are."""

import math

import pytest

from basic_control.data.records import Outcome, Program
from basic_control.tasks.sandbox import WorkerPool
from tests.fixtures.hostile.honest import PROGRAMS


def same(one: object, other: object) -> bool:
    """Compare types as well as values, all the way down."""
    return (
        repr(one) == repr(other)
        if not isinstance(one, set | frozenset)
        else type(one) is type(other) and one == other
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_standard_library_works(name: str, pool: WorkerPool) -> None:
    source, argument, expected = PROGRAMS[name]
    ((outcome,),) = pool.run([Program("python", source, "f", ((argument,),))])
    assert outcome.kind == "value", outcome
    if isinstance(expected, tuple):
        assert isinstance(outcome.value, tuple)
        assert all(same(o, e) for o, e in zip(outcome.value, expected, strict=True)), outcome.value
    else:
        assert same(outcome.value, expected), outcome.value


def test_values_keep_their_types(pool: WorkerPool) -> None:
    """What goes in comes out: bool is not int, 1 is not 1.0, a tuple is not a list, -0.0 keeps its sign."""
    sent: tuple[object, ...] = (
        True, 1, 1.0, -0.0, 0.1 + 0.2, math.inf, 2**200, -(2**53), "", 'ёж\x00\n"\\', b"\x00\xff", None, (), [], {},
        set(), frozenset({(1, "a")}), {True: 1}, {1.0: 1}, {(1, 2): [3]}, {None: {"a": {"b"}}}, [[[[]]]],
    )  # fmt: skip
    ((outcome,),) = pool.run([Program("python", "def f(*x): return x", "f", (sent,))])
    assert outcome.kind == "value"
    assert repr(outcome.value) == repr(sent)


def test_nan_comes_back(pool: WorkerPool) -> None:
    ((outcome,),) = pool.run([Program("python", "def f(): return float('nan')", "f", ((),))])
    assert math.isnan(outcome.value)


def test_each_call_has_its_own_outcome(pool: WorkerPool) -> None:
    """Values and exceptions stand side by side; an exception does not end the program."""
    source = "def f(x):\n    if x < 0: raise ValueError(f'{x} is negative')\n    return x ** 0.5"
    ((first, second, third),) = pool.run([Program("python", source, "f", ((4,), (-1,), (9,)))])
    assert (first.value, third.value) == (2.0, 3.0)
    line = ("ValueError", "Exception", "BaseException", "object")
    assert second == Outcome("exception", error="ValueError", message="-1 is negative", classes=line)


def test_arguments_are_fresh_for_each_call(pool: WorkerPool) -> None:
    ((first, second),) = pool.run(
        [Program("python", "def f(x):\n    x.append(1)\n    return x", "f", (([],), ([],)))]
    )
    assert first.value == second.value == [1]


def test_calls_before_a_timeout_keep_their_values(pool: WorkerPool) -> None:
    source = "def f(x):\n    while x: pass\n    return x"
    ((first, second, third),) = pool.run([Program("python", source, "f", ((0,), (1,), (0,)))], cpu_s=0.2)
    assert (first.kind, second.kind, third.kind) == ("value", "timeout", "timeout")


def test_the_same_program_draws_the_same_numbers(pool: WorkerPool) -> None:
    """A verdict must not depend on luck: random numbers and string hashes are the same in every instance."""
    source = "import random\ndef f(): return random.random(), hash('text'), list({'a', 'b', 'c'})"
    first, second = pool.run([Program("python", source, "f", ((),))] * 2)
    assert first == second


@pytest.mark.parametrize(
    "below",
    [
        "import numpy as np",
        "n = int(input())",
        "assert f(1) == 5",
        "f = f(3)",
        "import sys\nsys.exit(0)",
        "print(missing)",
        "import unittest\nunittest.main()",
        "@missing\ndef h():\n    pass",
        "a = 1; print(missing); b = 2",
        "for n in range(3):\n    if n:\n        raise ValueError(n)",
    ],
)
def test_what_fails_beside_the_function_does_not_count(pool: WorkerPool, below: str) -> None:
    """A statement of the module that fails is passed over, above the function and below it."""
    source = "def f(x):\n    return g(x)"
    helper = "def g(x):\n    return x + 1"
    above = "" if "f(" in below else f"{below}\n"
    (outcomes,) = pool.run([Program("python", f"{above}{source}\n{below}\n{helper}", "f", ((1,),))])
    assert outcomes == (Outcome("value", 2),)


def test_an_exception_comes_with_its_whole_line_of_classes(pool: WorkerPool) -> None:
    """Built-in classes by their names, others with their module: a namesake is not the class."""
    sources = {
        "class E(ValueError): pass\ndef f(x): raise E": ("candidate.E", "ValueError"),
        "import json\ndef f(x): json.loads('{')": ("json.decoder.JSONDecodeError", "ValueError"),
        "class ValueError(Exception): pass\ndef f(x): raise ValueError": ("candidate.ValueError", "Exception"),
    }
    ran = pool.run([Program("python", source, "f", ((1,),)) for source in sources])
    assert [outcome.classes[:2] for (outcome,) in ran] == list(sources.values())
