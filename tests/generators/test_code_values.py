"""How the values and outcomes of a program are compared with what was expected, and how they are written."""

import json
from typing import Any

import pytest

from basic_control.data.records import Item, Outcome
from basic_control.data.values import ExpectedException, format_literal, format_value, split_type
from basic_control.generators.code_gen.code_gen import verify
from basic_control.generators.code_gen.function import write_camel_case
from basic_control.generators.code_gen.values import decode, encode, kotlin_literal, kotlin_type


def item_of(expected: Any, code: str = "python") -> Item:
    """Make an item with one hidden call and a given expected value."""
    facts = {
        "language": code,
        "function": "f",
        "types": ["int", "int"],
        "calls": [[1]],
        "expected": [encode(expected)],
    }
    return Item(prompt="", answer="", facts=json.loads(json.dumps(facts)))


def decided(expected: Any, *outcomes: Outcome, code: str = "python") -> tuple[bool | None, str]:
    verdict = verify(item_of(expected, code), "", outcomes)
    return verdict.correct, verdict.reason


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (1, 1),
        (True, True),
        (None, None),
        ("a", "a"),
        (0.1 + 0.2, 0.3),
        (2.0, 2),
        (1e9, 1e9 + 0.1),
        (-2.5, -2.5000000001),
        ({0.1 + 0.2, 1.0}, {0.3, 1.0}),
        ({(1.5, "a")}, {(1.5 + 1e-12, "a")}),
        ({0.1 + 0.2: 1}, {0.3: 1}),
        ({2.0}, {2}),
        ({(2.0, 1): [1.0]}, {(2, 1): [1]}),
        (0.0, 1e-12),
        ([1, [2, 3]], [1, [2, 3]]),
        ((1, "a"), (1, "a")),
        ({1, 2}, {2, 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1: [2], 3: []}, {3: [], 1: [2]}),
        ([("a", 1)], [("a", 1)]),
        ([1.0], [1]),
        (set(), set()),
    ],
)
def test_right_values_are_accepted(expected: Any, got: Any) -> None:
    assert decided(expected, Outcome("value", got)) == (True, "all tests pass")


@pytest.mark.parametrize(
    ("expected", "got", "reason"),
    [
        (1, 2, "wrong value"),
        (1, True, "wrong type"),
        (True, 1, "wrong type"),
        (0, False, "wrong type"),
        (5, 5.0, "wrong type"),
        (1.0, True, "wrong type"),
        (1.0, 1.00001, "wrong value"),
        (1234567.89, 1234567.0, "wrong value"),
        (1e9, 1e9 + 2, "wrong value"),
        (1e-5, 1.0001e-5, "wrong value"),
        ({(1, 2)}, {(True, 2)}, "wrong value"),
        ({(1, (2, 3))}, {(1, (2.0, 3))}, "wrong value"),
        ({(1, 2): 0}, {(True, 2): 0}, "wrong value"),
        ({(0, 1): [1]}, {(False, 1): [1]}, "wrong value"),
        ({1.5, 2.5}, {1.5, 2.6}, "wrong value"),
        ({1.0, 2.0}, {1.0, True + 1.5}, "wrong value"),
        ({1.0}, {True}, "wrong value"),
        ({1}, {1.0}, "wrong value"),
        ({0.3: 1}, {0.30001: 1}, "wrong value"),
        ({0.3: 1}, {0.3: True}, "wrong value"),
        (1.0, float("nan"), "wrong value"),
        (1.0, 10**400, "wrong value"),
        (None, 0, "wrong type"),
        (None, False, "wrong type"),
        ("1", 1, "wrong type"),
        ("a", b"a", "wrong type"),
        ([1, 2], (1, 2), "wrong type"),
        ((1, 2), [1, 2], "wrong type"),
        ([1, 2], [2, 1], "wrong value"),
        ([1, 2], [1], "wrong value"),
        ([1], [True], "wrong value"),
        ([(1, 2)], [[1, 2]], "wrong value"),
        ({1, 2}, [1, 2], "wrong type"),
        ({1, 2}, frozenset({1, 2}), "wrong type"),
        ({1, 2}, {True, 2}, "wrong value"),
        ({1: 2}, {True: 2}, "wrong value"),
        ({1: 2}, {1: 2.0}, "wrong value"),
        ({1: 2}, {"1": 2}, "wrong value"),
        ({"a": 1}, {"a": 1, "b": 2}, "wrong value"),
        (1, [[[[]]]], "wrong type"),
    ],
)
def test_wrong_values_are_refused(expected: Any, got: Any, reason: str) -> None:
    assert decided(expected, Outcome("value", got)) == (False, reason)


def raised(*classes: str) -> Outcome:
    return Outcome("exception", error=classes[0], classes=(*classes, "Exception"))


def test_an_expected_exception_is_known_by_its_type() -> None:
    wanted = ExpectedException("ValueError")
    assert decided(wanted, raised("ValueError"))[0] is True
    assert decided(wanted, raised("UnicodeDecodeError", "UnicodeError", "ValueError"))[0] is True, "one too"
    assert decided(wanted, raised("IndexError", "LookupError")) == (False, "exception IndexError")
    assert decided(wanted, raised("Exception")) == (False, "exception Exception")
    assert decided(wanted, Outcome("value", None)) == (False, "no ValueError raised")
    assert decided(wanted, Outcome("value", "ValueError")) == (False, "no ValueError raised")
    assert decided(wanted, Outcome("timeout")) == (False, "timeout")
    assert decided(wanted, raised("java.lang.IllegalArgumentException"), code="kotlin")[0] is True
    assert decided(wanted, raised("java.lang.NullPointerException"), code="kotlin") == (
        False,
        "exception NullPointerException",
    )
    assert decided(1, raised("ValueError")) == (False, "exception ValueError")


def test_an_expected_exception_may_be_a_child_of_its_type() -> None:
    wanted = ExpectedException("ValueError")
    child = Outcome("exception", error="EmptyError", classes=("candidate.EmptyError", "ValueError", "Exception"))
    namesake = Outcome("exception", error="ValueError", classes=("candidate.ValueError", "Exception"))
    assert decided(wanted, child) == (True, "all tests pass")
    assert decided(wanted, namesake) == (False, "exception ValueError")
    line = ("p1.EmptyException", "java.lang.IllegalArgumentException", "java.lang.RuntimeException")
    kotlin = Outcome("exception", error="EmptyException", classes=line)
    assert decided(wanted, kotlin, code="kotlin") == (True, "all tests pass")
    other = Outcome("exception", error="IllegalArgumentException", classes=("p1.IllegalArgumentException",))
    assert decided(wanted, other, code="kotlin") == (False, "exception IllegalArgumentException")


def test_outcomes_that_are_no_values_have_their_reasons() -> None:
    assert decided(1, Outcome("memory")) == (False, "memory")
    assert decided(1, Outcome("syntax")) == (False, "syntax error")
    assert decided(1, Outcome("no such function")) == (False, "no such function")
    assert decided(1, Outcome("bad value")) == (False, "bad value")
    assert decided(1) == (False, "no outcome")
    assert decided(1, Outcome("value", 1), Outcome("value", 1)) == (False, "no outcome")


def test_without_code_or_runner_there_is_no_verdict() -> None:
    assert verify(item_of(1), "I cannot.", None).correct is None
    assert verify(item_of(1), "I cannot.", None).reason == "no code in the reply"
    verdict = verify(item_of(1, "kotlin"), "", (Outcome("unavailable", message="no Kotlin compiler"),))
    assert (verdict.correct, verdict.reason) == (None, "no Kotlin compiler")
    assert verdict.details == {"status": "not_applicable"}


def test_details_are_json_and_short_whatever_came_back() -> None:
    """A value of 5 000 digits, a lone surrogate, an exception named by an attacker."""
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    wild = [
        Outcome("value", 10**5000),
        Outcome("value", "\udc80" * 1000),
        Outcome("value", deep),
        Outcome("value", {(1, "a"), None, "b"}),
        Outcome("exception", error="| **pwned** |\n" * 50, message="\udc80\x1b[2J" * 500),
    ]
    for each in wild:
        verdict = verify(item_of(1), "", (each,))
        assert verdict.correct is False
        assert len(json.dumps(dict(verdict.details), ensure_ascii=False).encode()) < 3000
        assert len(verdict.reason) < 80
        assert verdict.reason.isprintable()
    assert verify(item_of(1), "", (wild[-1],)).reason == "exception of its own"


def test_tagged_values_come_back_as_they_were() -> None:
    values = [
        None, True, 1, 1.5, "a", [], [1, [2]], (1, (2, "b")), {1, 2}, {(1, 2)}, {1: [2], "a": {3}},
        ExpectedException("ValueError"),
    ]  # fmt: skip
    for value in values:
        assert decode(json.loads(json.dumps(encode(value)))) == value
    with pytest.raises(TypeError):
        encode(object())
    with pytest.raises(ValueError, match="unknown tag"):
        decode({"code": "x"})


def test_literals_are_the_same_in_every_process() -> None:
    assert format_literal({"b", "a", "c"}) == "{'a', 'b', 'c'}"
    assert format_literal(set()) == "set()"
    assert format_value(ExpectedException("ValueError")) == "raises ValueError"


def test_types_and_values_are_written_as_kotlin_has_them() -> None:
    assert kotlin_type("dict[str, list[tuple[int, float]]] | None") == "Map<String, List<Pair<Int, Double>>>?"
    assert split_type("dict[str, list[int]]") == ("dict", ["str", "list[int]"], False)
    assert kotlin_literal({"a$": [1, -2]}, "dict[str, list[int]]") == r'mapOf("a\$" to listOf(1, -2))'
    assert kotlin_literal([], "list[list[int]]") == "emptyList<List<Int>>()"
    assert kotlin_literal(set(), "set[tuple[int, int]]") == "emptySet<Pair<Int, Int>>()"
    assert kotlin_literal({}, "dict[str, int]") == "emptyMap<String, Int>()"
    assert kotlin_literal({(1, 2), (0, 3)}, "set[tuple[int, int]]") == "setOf(Pair(0, 3), Pair(1, 2))"
    assert [kotlin_literal(v, "int | None") for v in (None, 3)] == ["null", "3"]
    assert [kotlin_literal(v, "bool") for v in (True, False)] == ["true", "false"]
    assert write_camel_case("is_non_negative") == "isNonNegative"
