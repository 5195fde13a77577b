"""Kotlin: typed literals and batches; run for real where there is a compiler."""

import socket
from pathlib import Path

import pytest

from data.records import Outcome, Program
from tasks import sandbox
from tasks.sandbox import kotlin, kotlin_compiler, kotlin_source
from tests.fixtures.hostile.kotlin import PROGRAMS

needs_compiler = pytest.mark.skipif(
    not kotlin_compiler.find() or not kotlin_compiler.java(),
    reason="no Kotlin compiler on the PATH or in BASIC_CONTROL_KOTLINC",
)


@pytest.mark.parametrize(
    ("value", "notation", "expected"),
    [
        (5, "int", "5"),
        (-(2**31), "int", "Int.MIN_VALUE"),
        (2**31, "int", "2147483648L"),
        (2**70, "int", 'java.math.BigInteger("1180591620717411303424")'),
        (5, "float", "5.0"),
        (-0.5, "float", "-0.5"),
        (1e300, "float", "1e+300"),
        (float("nan"), "float", "Double.NaN"),
        (float("-inf"), "float", "Double.NEGATIVE_INFINITY"),
        (True, "bool", "true"),
        ('a"$\\\n', "str", '"a\\u0022\\u0024\\u005c\\u000a"'),
        ("ё😀", "str", '"\\u0451\\ud83d\\ude00"'),
        (None, "str | None", "null"),
        ("", "str | None", '""'),
        ([], "list[int]", "mutableListOf<Int>()"),
        (
            [[1], []],
            "list[list[int]]",
            "mutableListOf<MutableList<Int>>(mutableListOf<Int>(1), mutableListOf<Int>())",
        ),
        ({2, 1}, "set[int]", "mutableSetOf<Int>(1, 2)"),
        ({"a": 1.5}, "dict[str, float]", 'mutableMapOf<String, Double>("a" to 1.5)'),
        ((1, "a"), "tuple[int, str]", 'Pair(1, "a")'),
        ((1, 2, 3), "tuple[int, int, int]", "Triple(1, 2, 3)"),
        ([None, 1], "list[int | None]", "mutableListOf<Int?>(null, 1)"),
    ],
)
def test_values_become_typed_literals(value: object, notation: str, expected: str) -> None:
    assert kotlin_source.literal(value, notation) == expected


@pytest.mark.parametrize(
    ("value", "notation"),
    [
        (True, "int"),
        (1, "bool"),
        (1.5, "int"),
        ("1", "int"),
        (None, "int"),
        ((1, 2, 3, 4), "tuple[int, int, int, int]"),
    ],
)
def test_a_value_of_another_type_is_refused(value: object, notation: str) -> None:
    with pytest.raises(ValueError, match="no Kotlin literal of type"):
        kotlin_source.literal(value, notation)


def test_text_cannot_leave_its_literal() -> None:
    """Quotes, templates and line ends are escaped: a prompt's text is never Kotlin code."""
    written = kotlin_source.literal('") + System.exit(0) //${exit()}\r\u2028', "str")
    assert written.count('"') == 2
    assert "$" not in written
    assert written.isascii()
    assert written.isprintable()


def test_a_program_gets_a_package_of_its_own() -> None:
    program = Program("kotlin", "package other.one\n\nfun f() = 1", "f", ((),), ("int",))
    text = kotlin_source.candidate(program, "p123")
    assert text.startswith("package p123\n")
    assert "other.one" not in text
    assert "p123.`f`()" in kotlin_source.calls(program, "p123")


def test_without_a_compiler_programs_are_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv(kotlin_compiler.VARIABLE, "/nonexistent/kotlinc")
    program = Program("kotlin", "fun f() = 1", "f", ((), ()), ("int",))
    assert sandbox.run([program]) == [(Outcome("unavailable", message="no Kotlin compiler"),) * 2]
    assert kotlin.describe() == "off"


SECRET = "canary-51c0"


@needs_compiler
def test_programs_run_in_batches_and_touch_nothing(tmp_path: Path) -> None:
    """Good and bad ones compiled together: the bad fail for their own reason, the good pass."""
    (tmp_path / "secret").write_text(SECRET)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        port = str(listener.getsockname()[1])
        programs = [
            Program(
                "kotlin",
                source.replace("@FOLDER@", str(tmp_path)).replace("@PORT@", port),
                "f",
                ((2,), (3,)),
                ("int", "int"),
            )
            for _, source in PROGRAMS.values()
        ]
        found = sandbox.run(programs, cpu_s=1.0)
        if sandbox.layers()["seccomp"] == "on":
            with pytest.raises(BlockingIOError):
                listener.accept()
    for (name, (kinds, _)), outcomes in zip(PROGRAMS.items(), found, strict=True):
        if kinds == "square":
            assert outcomes == (Outcome("value", 4), Outcome("value", 9)), name
        else:
            assert {o.kind for o in outcomes} <= set(kinds.split("|")), (name, outcomes)
            assert [(type(o.value), o.value) for o in outcomes] != [(int, 4), (int, 9)], name
        assert SECRET not in repr(outcomes)
        assert all(o.message.isprintable() for o in outcomes)
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


@needs_compiler
def test_values_keep_their_types() -> None:
    arguments = (1, 2.5, "ё$\n", True, [1, 2], {"a": 1}, (1, "b"), None, {3})
    types = (
        "int",
        "float",
        "str",
        "bool",
        "list[int]",
        "dict[str, int]",
        "tuple[int, str]",
        "str | None",
        "set[int]",
        "int",
    )
    source = (
        "fun f(a: Int, b: Double, c: String, d: Boolean, e: List<Int>, g: Map<String, Int>, h: Pair<Int, String>, "
        "i: String?, j: Set<Int>): Any = listOf(a, b, c, d, e, g, h, i, j)"
    )
    ((outcome,),) = sandbox.run([Program("kotlin", source, "f", (arguments,), types)])
    assert outcome.kind == "value", outcome
    assert repr(outcome.value) == repr(list(arguments))
