"""Promises of the function templates: references pass and near misses fail in the real sandbox."""

import ast
import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from data.draw import draw
from data.errors import InputError
from data.records import Item, Outcome, Program
from generators._code_function import camel, outcome, shapes
from generators._code_values import (
    Raised,
    decode,
    encode,
    equal,
    kotlin_literal,
    kotlin_type,
    literal,
    shown,
    split_type,
)
from generators.code_gen import BY_NAME, FUNCTIONS, UNIT, generate, near_misses, program, reference, verify
from tasks.sandbox import run

SHAPES = [
    pytest.param(level, function.name, form, id=f"{function.name}-{form}")
    for level, functions in FUNCTIONS.items()
    for function in functions
    for form in range(len(function.forms))
]
every_shape = pytest.mark.parametrize(("level", "name", "form"), SHAPES)


def through_json(item: Item) -> Item:
    return replace(item, facts=json.loads(json.dumps(dict(item.facts))))


@cache
def drawn(level: str, language: str = "en", code: str = "python") -> Mapping[tuple[str, int], tuple[Item, ...]]:
    """Draw items of a level until each form of each function has three."""
    found: dict[tuple[str, int], list[Item]] = {
        (function.name, form): [] for function in FUNCTIONS[level] for form in range(len(function.forms))
    }
    for seed in range(20_000):
        item = generate(Random(seed), level=level, language=language, languages=(code,))
        if len(kept := found[item.template, item.facts["form"]]) < 3:
            kept.append(through_json(item))
        if all(len(items) == 3 for items in found.values()):
            break
    return {key: tuple(items) for key, items in found.items()}


def each_form(code: str = "python") -> list[Item]:
    return [items[0] for level in FUNCTIONS for items in drawn(level, code=code).values()]


def asked(item: Item, reply: str) -> Program:
    found = program(item, reply)
    assert found is not None, reply
    return found


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


def test_there_are_enough_functions_and_each_has_three_mutants() -> None:
    assert len(BY_NAME) == sum(len(functions) for functions in FUNCTIONS.values()) >= 30
    for function in BY_NAME.values():
        assert len(function.mutants) >= 3, function.name
        assert len(function.names) >= 5, function.name


@pytest.mark.parametrize("level", list(FUNCTIONS))
def test_every_function_can_fill_many_prompts(level: str) -> None:
    """Of some 150 draws of one function nine in ten differ: a level of a dozen functions has far over 10 000."""
    prompts: dict[str, list[str]] = {function.name: [] for function in FUNCTIONS[level]}
    rng = Random(1)
    for _ in range(150 * len(prompts)):
        item = generate(rng, level=level, language="en", languages=("python",))
        prompts[item.template].append(item.prompt)
    for name, found in prompts.items():
        assert len(set(found)) >= 0.9 * len(found) > 80, name


@every_shape
def test_a_prompt_shows_the_signature_and_examples_but_no_hidden_call(level: str, name: str, form: int) -> None:
    for language in ("en", "ru"):
        for code in ("python", "kotlin"):
            for item in drawn(level, language, code)[name, form]:
                prompt = item.prompt
                assert f"`{shapes(BY_NAME[name])[form].signature(code, item.facts['function'])}`" in prompt
                assert ("Kotlin" if code == "kotlin" else "Python") in prompt
                assert not set("\x02\x03") & set(prompt)
                assert "{%" not in prompt
                hidden = item.answer.split("\n")
                assert 3 <= len(hidden) == len(item.facts["calls"]) == len(item.facts["expected"]) <= 5
                shows = [line for line in prompt.split("\n") if line.startswith("- `")]
                assert 1 <= len(shows) <= 2
                for line in hidden:
                    assert line.rpartition(" -> ")[0] not in prompt


@every_shape
def test_the_examples_of_a_prompt_are_true(level: str, name: str, form: int) -> None:
    """What a prompt says of its examples is what the reference, run on what is written there, returns."""
    for item in drawn(level)[name, form]:
        shape = shapes(BY_NAME[name])[form]
        solve = shape.make(**item.facts["constants"])[0]
        for line in item.prompt.split("\n"):
            if line.startswith("- `"):
                call, _, value = line.removeprefix("- `").removesuffix("`").rpartition(" -> ")
                tree = ast.parse(call, mode="eval").body
                assert isinstance(tree, ast.Call)
                arguments = tuple(ast.literal_eval(argument) for argument in tree.args)
                wanted = set() if value == "set()" else ast.literal_eval(value)
                assert equal(wanted, outcome(solve, arguments)), line


def test_prompts_for_kotlin_speak_of_nothing_of_pythons() -> None:
    for level in FUNCTIONS:
        for language in ("en", "ru"):
            for items in drawn(level, language, "kotlin").values():
                for item in items:
                    words = set(item.prompt.replace("`", " ").replace(",", " ").split())
                    assert not words & {"Python", "True", "False", "None", "ValueError", "def"}, item.prompt


def test_russian_prompts_are_russian_throughout() -> None:
    """Only names, code and quoted pieces are Latin."""
    for level in FUNCTIONS:
        for items in drawn(level, "ru").values():
            for item in items:
                words = " ".join(item.prompt.split("`")[::2])
                latin = {
                    w for w in words.replace("(", " ").replace(")", " ").split() if w.isascii() and w.isalpha()
                }
                assert latin <= {"Python", "f", "n"}, (item.template, latin)


@every_shape
def test_facts_and_calls_survive_json(level: str, name: str, form: int) -> None:
    for item in drawn(level)[name, form]:
        shape = shapes(BY_NAME[name])[form]
        solve = shape.make(**item.facts["constants"])[0]
        sent = asked(item, reference(item))
        assert sent.types == shape.types
        assert sent.language == "python"
        for call, value in zip(sent.calls, item.facts["expected"], strict=True):
            assert len(call) == len(shape.parameters)
            assert equal(decode(value), outcome(solve, call))


def test_expected_values_never_enter_a_program() -> None:
    item = through_json(generate(Random(3), level="easy", language="en", languages=("python",)))
    sent = asked(item, "```python\ndef f(): pass\n```")
    assert set(Program.__slots__) == {"language", "source", "function", "calls", "types"}
    assert [list(call) for call in sent.calls] == [
        [decode(value) for value in call] for call in item.facts["calls"]
    ]


def test_the_languages_are_an_option() -> None:
    both = draw(UNIT, level="easy", language="en", seed=1, count=200, options={"languages": ["python", "kotlin"]})
    kinds = [item.facts["language"] for item in both]
    assert 60 < kinds.count("kotlin") < 140
    assert {item.facts["language"] for item in draw(UNIT, level="easy", language="en", seed=1, count=50)} == {
        "python"
    }
    for wrong in (["cobol"], [], "python"):
        with pytest.raises(InputError, match="expected a list of programming languages among python, kotlin"):
            draw(UNIT, level="easy", language="en", seed=1, count=1, options={"languages": wrong})


def test_in_the_sandbox_every_reference_passes_and_every_near_miss_fails() -> None:
    cases = [
        (item, reply, right)
        for item in each_form()
        for reply, right in [(reference(item), True), *((wrong, False) for wrong in near_misses(item))]
    ]
    outcomes = run([asked(item, reply) for item, reply, _ in cases])
    for (item, reply, right), came in zip(cases, outcomes, strict=True):
        verdict = verify(item, reply, came)
        assert verdict.correct is right, (item.template, reply, verdict)
        calls = verdict.details.get("calls", [])
        assert len(calls) == (0 if right else verdict.details["tests"])
        assert verdict.details["tests"] - verdict.details["passed"] == sum(not call["correct"] for call in calls)


def test_every_mutant_fails_in_every_draw() -> None:
    """The tests of an item are drawn anew until each mutant fails; checked here by equality of our own results."""
    for level in FUNCTIONS:
        for item in draw(UNIT, level=level, language="en", seed=9, count=1500):
            shape = shapes(BY_NAME[item.template])[item.facts["form"]]
            solve, *mutants = shape.make(**item.facts["constants"])
            calls = [tuple(decode(value) for value in call) for call in item.facts["calls"]]
            for mutant in mutants:
                assert any(repr(outcome(mutant, call)) != repr(outcome(solve, call)) for call in calls)


def test_reasons_are_classes_of_mistakes() -> None:
    item = next(i for i in each_form() if i.template == "mean")
    name = item.facts["function"]
    replies = {
        f"```python\ndef {name}(numbers):\n    return 'no'\n```": "wrong type",
        f"```python\ndef {name}(numbers):\n    return -1e9\n```": "no ValueError raised",
        f"```python\ndef {name}(numbers):\n    return undefined\n```": "exception NameError",
        f"```python\ndef {name}(numbers)\n    return 1\n```": "syntax error",
        f"```python\ndef {name}_2(numbers):\n    return 1\n```": "no such function",
        f"```python\nclass Solution:\n    def {name}(self, numbers):\n        return 1\n```": "no such function",
        f"```python\ndef {name}(numbers):\n    while True: pass\n```": "timeout",
    }
    outcomes = run([asked(item, reply) for reply in replies], cpu_s=0.5)
    reasons = [verify(item, reply, came).reason for reply, came in zip(replies, outcomes, strict=True)]
    first = item.facts["expected"][0]
    assert first == {"raises": "ValueError"}  # the first test, so that the first two replies fail in it
    assert reasons == ["no ValueError raised", *list(replies.values())[1:]]


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (1, 1),
        (True, True),
        (None, None),
        ("a", "a"),
        (0.1 + 0.2, 0.3),
        (2.0, 2),
        (1e9, 1e9 + 100),
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


def test_an_expected_exception_is_known_by_its_type() -> None:
    wanted = Raised("ValueError")
    assert decided(wanted, Outcome("exception", error="ValueError"))[0] is True
    assert decided(wanted, Outcome("exception", error="UnicodeDecodeError"))[0] is True, "a ValueError too"
    assert decided(wanted, Outcome("exception", error="IndexError")) == (False, "exception IndexError")
    assert decided(wanted, Outcome("exception", error="Exception")) == (False, "exception Exception")
    assert decided(wanted, Outcome("value", None)) == (False, "no ValueError raised")
    assert decided(wanted, Outcome("value", "ValueError")) == (False, "no ValueError raised")
    assert decided(wanted, Outcome("timeout")) == (False, "timeout")
    kotlin = "java.lang.IllegalArgumentException"
    assert decided(wanted, Outcome("exception", error=kotlin), code="kotlin")[0] is True
    assert decided(wanted, Outcome("exception", error="java.lang.NullPointerException"), code="kotlin") == (
        False,
        "exception NullPointerException",
    )
    assert decided(1, Outcome("exception", error="ValueError")) == (False, "exception ValueError")


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
        Raised("ValueError"),
    ]  # fmt: skip
    for value in values:
        assert decode(json.loads(json.dumps(encode(value)))) == value
    with pytest.raises(TypeError):
        encode(object())
    with pytest.raises(ValueError, match="unknown tag"):
        decode({"code": "x"})


def test_literals_are_the_same_in_every_process() -> None:
    assert literal({"b", "a", "c"}) == "{'a', 'b', 'c'}"
    assert literal(set()) == "set()"
    assert shown(Raised("ValueError")) == "raises ValueError"


def test_types_and_values_are_written_as_kotlin_has_them() -> None:
    assert kotlin_type("dict[str, list[tuple[int, float]]] | None") == "Map<String, List<Pair<Int, Double>>>?"
    assert split_type("dict[str, list[int]]") == ("dict", ["str", "list[int]"])
    assert kotlin_literal({"a$": [1, -2]}, "dict[str, list[int]]") == r'mapOf("a\$" to listOf(1, -2))'
    assert kotlin_literal([], "list[list[int]]") == "emptyList<List<Int>>()"
    assert kotlin_literal(set(), "set[tuple[int, int]]") == "emptySet<Pair<Int, Int>>()"
    assert kotlin_literal({}, "dict[str, int]") == "emptyMap<String, Int>()"
    assert kotlin_literal({(1, 2), (0, 3)}, "set[tuple[int, int]]") == "setOf(Pair(0, 3), Pair(1, 2))"
    assert [kotlin_literal(v, "int | None") for v in (None, 3)] == ["null", "3"]
    assert [kotlin_literal(v, "bool") for v in (True, False)] == ["true", "false"]
    assert camel("is_non_negative") == "isNonNegative"


def test_kotlin_numbers_fit_an_int() -> None:
    """A Kotlin Int has 32 bits: neither arguments nor results may leave it."""

    def numbers(value: Any) -> list[int]:
        if isinstance(value, list):
            return [n for inner in value for n in numbers(inner)]
        if isinstance(value, dict):
            return [n for inner in value.values() for n in numbers(inner)]
        return [value] if type(value) is int else []

    for level in FUNCTIONS:
        for item in draw(UNIT, level=level, language="en", seed=4, count=1000):
            assert all(abs(n) < 2**31 for n in numbers([item.facts["calls"], item.facts["expected"]])), item.answer


def kotlin_check(item: Item, reply: str, package: str) -> str:
    """Return a file with a reply's program that says whether its hidden calls come to what is expected."""
    sent = asked(item, reply)
    checks = []
    for call, value in zip(sent.calls, item.facts["expected"], strict=True):
        written = f"{sent.function}({', '.join(map(kotlin_literal, call, sent.types))})"
        expected = decode(value)
        if isinstance(expected, Raised):
            checks.append(f"try {{ {written}; false }} catch (e: IllegalArgumentException) {{ true }}")
        elif isinstance(expected, float):
            checks.append(f"kotlin.math.abs({written} - ({expected!r})) < 1e-9")
        else:
            checks.append(f"{written} == {kotlin_literal(expected, sent.types[-1])}")
    return f"package {package}\n\n{sent.source}\n\nfun check() = listOf({', '.join(checks)})\n"


@pytest.mark.slow
def test_every_kotlin_reference_compiles_and_passes_and_its_spoilt_twin_fails(tmp_path: Path) -> None:
    compiler, java = shutil.which("kotlinc"), shutil.which("java")
    if compiler is None or java is None:
        pytest.skip("no kotlinc on the PATH")
    cases = [
        (item, reply, right)
        for item in each_form("kotlin")
        for reply, right in ((reference(item), True), (near_misses(item)[-1], False))
    ]
    for number, (item, reply, _) in enumerate(cases):
        (tmp_path / f"P{number}.kt").write_text(kotlin_check(item, reply, f"p{number}"), encoding="utf-8")
    lines = [f'    println("{number} " + p{number}.check())' for number in range(len(cases))]
    (tmp_path / "Main.kt").write_text("\n".join(["fun main() {", *lines, "}"]), encoding="utf-8")
    jar = tmp_path / "all.jar"
    command = [compiler, "-nowarn", *map(str, sorted(tmp_path.glob("*.kt"))), "-include-runtime", "-d", str(jar)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert built.returncode == 0, built.stderr[-3000:]
    printed = subprocess.run(
        [java, "-jar", str(jar)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    results = dict(line.split(" ", 1) for line in printed.splitlines())
    assert len(results) == len(cases)
    for place, said in results.items():
        item, reply, right = cases[int(place)]
        assert ("false" not in said) is right, (item.answer, reply, said)
