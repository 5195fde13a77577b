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

from basic_control.data.draw import draw
from basic_control.data.errors import InputError
from basic_control.data.records import Item, Program
from basic_control.data.values import ExpectedException, is_equal
from basic_control.generators.code_gen.code_gen import (
    by_name,
    code_gen,
    functions,
    list_near_misses,
    program,
    reference,
    verify,
)
from basic_control.generators.code_gen.function import outcome, shapes
from basic_control.generators.code_gen.values import decode, kotlin_literal
from basic_control.tasks.sandbox import run

SHAPES = [
    pytest.param(level, function.name, form, id=f"{function.name}-{form}")
    for level, listed in functions().items()
    for function in listed
    for form in range(len(function.forms))
]
every_shape = pytest.mark.parametrize(("level", "name", "form"), SHAPES)


def through_json(item: Item) -> Item:
    return replace(item, facts=json.loads(json.dumps(dict(item.facts))))


@cache
def drawn(level: str, language: str = "en", code: str = "python") -> Mapping[tuple[str, int], tuple[Item, ...]]:
    """Draw items of a level until each form of each function has three."""
    found: dict[tuple[str, int], list[Item]] = {
        (function.name, form): [] for function in functions()[level] for form in range(len(function.forms))
    }
    for seed in range(20_000):
        item = code_gen.generate(Random(seed), level=level, language=language, languages=(code,))
        if len(kept := found[item.template, item.facts["form"]]) < 3:
            kept.append(through_json(item))
        if all(len(items) == 3 for items in found.values()):
            break
    return {key: tuple(items) for key, items in found.items()}


def each_form(code: str = "python") -> list[Item]:
    return [items[0] for level in functions() for items in drawn(level, code=code).values()]


def asked(item: Item, reply: str) -> Program:
    found = program(item, reply)
    assert found is not None, reply
    return found


def test_there_are_enough_functions_and_each_has_three_mutants() -> None:
    assert len(by_name()) == sum(map(len, functions().values())) >= 30
    for function in by_name().values():
        assert len(function.mutants) >= 3, function.name
        assert len(function.names) >= 5, function.name


@pytest.mark.parametrize("level", list(functions()))
def test_every_function_can_fill_many_prompts(level: str) -> None:
    """Of some 150 draws of one function nine in ten differ: a level of a dozen functions has far over 10 000."""
    prompts: dict[str, list[str]] = {function.name: [] for function in functions()[level]}
    rng = Random(1)
    for _ in range(150 * len(prompts)):
        item = code_gen.generate(rng, level=level, language="en", languages=("python",))
        prompts[item.template].append(item.prompt)
    for name, found in prompts.items():
        assert len(set(found)) >= 0.9 * len(found) > 80, name


@every_shape
def test_a_prompt_shows_the_signature_and_examples_but_no_hidden_call(level: str, name: str, form: int) -> None:
    for language in ("en", "ru"):
        for code in ("python", "kotlin"):
            for item in drawn(level, language, code)[name, form]:
                prompt = item.prompt
                assert f"`{shapes(by_name()[name])[form].signature(code, item.facts['function'])}`" in prompt
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
        shape = shapes(by_name()[name])[form]
        solve = shape.make(**item.facts["constants"])[0]
        for line in item.prompt.split("\n"):
            if line.startswith("- `"):
                call, _, value = line.removeprefix("- `").removesuffix("`").rpartition(" -> ")
                tree = ast.parse(call, mode="eval").body
                assert isinstance(tree, ast.Call)
                arguments = tuple(ast.literal_eval(argument) for argument in tree.args)
                wanted = set() if value == "set()" else ast.literal_eval(value)
                assert is_equal(wanted, outcome(solve, arguments)), line


def test_prompts_for_kotlin_speak_of_nothing_of_pythons() -> None:
    for level in functions():
        for language in ("en", "ru"):
            for items in drawn(level, language, "kotlin").values():
                for item in items:
                    words = set(item.prompt.replace("`", " ").replace(",", " ").split())
                    assert not words & {"Python", "True", "False", "None", "ValueError", "def"}, item.prompt


def test_russian_prompts_are_russian_throughout() -> None:
    """Only names, code and quoted pieces are Latin."""
    for level in functions():
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
        shape = shapes(by_name()[name])[form]
        solve = shape.make(**item.facts["constants"])[0]
        sent = asked(item, reference(item))
        assert sent.types == shape.types
        assert sent.language == "python"
        for call, value in zip(sent.calls, item.facts["expected"], strict=True):
            assert len(call) == len(shape.parameters)
            assert is_equal(decode(value), outcome(solve, call))


def test_expected_values_never_enter_a_program() -> None:
    item = through_json(code_gen.generate(Random(3), level="easy", language="en", languages=("python",)))
    sent = asked(item, "```python\ndef f(): pass\n```")
    assert set(Program.__slots__) == {"language", "source", "function", "calls", "types"}
    assert [list(call) for call in sent.calls] == [
        [decode(value) for value in call] for call in item.facts["calls"]
    ]


def test_the_languages_are_an_option() -> None:
    both = draw(
        code_gen, level="easy", language="en", seed=1, count=200, options={"languages": ["python", "kotlin"]}
    )
    kinds = [item.facts["language"] for item in both]
    assert 60 < kinds.count("kotlin") < 140
    assert {item.facts["language"] for item in draw(code_gen, level="easy", language="en", seed=1, count=50)} == {
        "python"
    }
    for wrong in (["cobol"], [], "python"):
        with pytest.raises(InputError, match="family code_gen: option languages"):
            draw(code_gen, level="easy", language="en", seed=1, count=1, options={"languages": wrong})


def test_in_the_sandbox_every_reference_passes_and_every_near_miss_fails() -> None:
    cases = [
        (item, reply, right)
        for item in each_form()
        for reply, right in [(reference(item), True), *((wrong, False) for wrong in list_near_misses(item))]
    ]
    outcomes = run([asked(item, reply) for item, reply, _ in cases])
    for (item, reply, right), came in zip(cases, outcomes, strict=True):
        verdict = verify(item, reply, came)
        assert verdict.correct is right, (item.template, reply, verdict)
        calls = verdict.details.get("calls", [])
        assert len(calls) == (0 if right else verdict.details["tests"])
        assert verdict.details["tests"] - verdict.details["passed"] == sum(not call["correct"] for call in calls)


def test_every_mutant_fails_in_every_draw() -> None:
    """The tests of an item are drawn again until each mutant fails; checked here by equality of our own results."""
    for level in functions():
        for item in draw(code_gen, level=level, language="en", seed=9, count=1500):
            shape = shapes(by_name()[item.template])[item.facts["form"]]
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


def test_every_interval_begins_before_it_ends_and_items_that_were_right_keep_their_ids() -> None:
    """The prompt says start ≤ end; a GAP above 3 once drew (9 + GAP, 12)."""
    drawn = [
        one for one in draw(code_gen, level="hard", language="en", seed=1, count=300) if one.template == "intervals"
    ]
    pairs = [decode(pair) for one in drawn for (listed,) in one.facts["calls"] for pair in decode(listed)]
    assert len(pairs) > 100
    assert all(start <= end for start, end in pairs)
    ids = [one.item_id for one in drawn if one.facts["constants"]["GAP"] <= 3]
    assert ids[:4] == ["f49e9f810e2f49cf", "2ded0045a7388bed", "8cc34760c935e8c7", "9f5f012bd9e21624"]


def test_kotlin_numbers_fit_an_int() -> None:
    """A Kotlin Int has 32 bits: neither arguments nor results may leave it."""

    def numbers(value: Any) -> list[int]:
        if isinstance(value, list):
            return [n for inner in value for n in numbers(inner)]
        if isinstance(value, dict):
            return [n for inner in value.values() for n in numbers(inner)]
        return [value] if type(value) is int else []

    for level in functions():
        for item in draw(code_gen, level=level, language="en", seed=4, count=1000):
            assert all(abs(n) < 2**31 for n in numbers([item.facts["calls"], item.facts["expected"]])), item.answer


def kotlin_check(item: Item, reply: str, package: str) -> str:
    """Return a file with a reply's program that says whether its hidden calls come to what is expected."""
    sent = asked(item, reply)
    checks = []
    for call, value in zip(sent.calls, item.facts["expected"], strict=True):
        written = f"{sent.function}({', '.join(map(kotlin_literal, call, sent.types))})"
        expected = decode(value)
        if isinstance(expected, ExpectedException):
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
        for reply, right in ((reference(item), True), (list_near_misses(item)[-1], False))
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
