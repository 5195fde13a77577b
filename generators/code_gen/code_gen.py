"""Write a small function; its hidden unit tests are run in the sandbox, and the results compared here.

The function comes from a level's templates, with a drawn direction, constants and name. The prompt shows one or
two example calls; the tests use others, chosen so that each of the template's near-miss mutants fails one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import family
from basic_control.data.options import Frozen
from basic_control.data.programs.python import find_python
from basic_control.data.records import Item, Outcome, Program, Verdict
from basic_control.data.values import (
    ExpectedException,
    describe,
    format_literal,
    format_value,
    has_same_type,
    is_equal,
    read_simple_name,
)
from basic_control.generators.code_gen.draws import between, pick
from basic_control.generators.code_gen.function import (
    WORDS,
    Arguments,
    Constants,
    FunctionTemplate,
    Shape,
    camel,
    outcome,
    read_functions,
    shapes,
    skeleton,
)
from basic_control.generators.code_gen.kotlin import find_kotlin
from basic_control.generators.code_gen.values import decode, encode, kotlin_literal

FILES = {"easy": "easy.yaml", "medium": "medium.yaml", "hard": "hard.yaml"}  # each level's function templates
FINDERS: Mapping[str, Callable[[str, str], str | None]] = {"python": find_python, "kotlin": find_kotlin}
LEVELS: Mapping[str, Mapping[str, Any]] = {level: {"level": level} for level in FILES}
LEAST, MOST = 3, 5  # hidden tests of an item

DRAWS = 200  # draws of an item's tests that may miss a mutant before the template is called wrong

_KOTLIN_CLASSES: Mapping[str, str] = {"ValueError": "java.lang.IllegalArgumentException"}
"""Kotlin's classes for Python's exceptions."""


class Options(Frozen):
    """The programming languages of the functions."""

    languages: tuple[Literal["python", "kotlin"], ...] = Field(
        ("python",), min_length=1, description="one is drawn for each item"
    )


@cache
def functions() -> Mapping[str, tuple[FunctionTemplate, ...]]:
    """Return the function templates of each level."""
    return {level: read_functions(file) for level, file in FILES.items()}


@cache
def by_name() -> Mapping[str, FunctionTemplate]:
    """Return the function templates of all levels."""
    return {function.name: function for listed in functions().values() for function in listed}


def _draw_tests(
    rng: Random, shape: Shape, constants: Constants, solve: Callable[..., Any]
) -> tuple[list[Arguments], list[Any]]:
    """Return 3 to 5 calls, or fewer if a draw repeats a call, and their outcomes."""
    calls = shape.edges(rng, **constants)
    for _ in range(between(rng, max(LEAST, len(calls)), MOST) - len(calls)):
        call = shape.example(rng, **constants)
        if call not in calls:
            calls.append(call)
    return calls, [outcome(solve, call) for call in calls]


def _caught(mutant: Callable[..., Any], calls: Sequence[Arguments], expected: Sequence[Any]) -> bool:
    for call, value in zip(calls, expected, strict=True):
        found = outcome(mutant, call)
        # `equal` alone would do; this is faster for the many calls where a mutant returns the expected value
        if (found != value or type(found) is not type(value)) and not is_equal(value, found):
            return True
    return False


def _draw_examples(rng: Random, shape: Shape, constants: Constants, hidden: Sequence[Arguments]) -> list[Arguments]:
    """Return one or two calls that are not among the hidden ones."""
    found: list[Arguments] = []
    wanted = 1 + (rng.random() < 0.5)  # noqa: PLR2004 - a coin's toss
    for _ in range(DRAWS):
        call = shape.example(rng, **constants)
        if call not in hidden and call not in found:
            found.append(call)
        if len(found) == wanted:
            break
    return found


def _lines(shape: Shape, code: str, name: str, calls: Sequence[Arguments], values: Sequence[Any]) -> list[str]:
    """Return `call -> result` for each call, in the programming language's syntax."""
    pairs = zip(calls, values, strict=True)
    if code != "kotlin":
        return [
            f"{name}({', '.join(map(format_literal, call))}) -> {format_literal(value)}" for call, value in pairs
        ]
    error, result = WORDS[code]["error"], shape.types[-1]
    return [
        f"{name}({', '.join(map(kotlin_literal, call, shape.types))}) -> "
        f"{error if type(value) is ExpectedException else kotlin_literal(value, result)}"
        for call, value in pairs
    ]


def program(item: Item, reply: str) -> Program | None:
    """Return the reply's program with the item's hidden calls; None if the reply has no code."""
    facts = item.facts
    source = FINDERS[facts["language"]](reply, facts["function"])
    if source is None:
        return None
    calls = tuple(tuple(decode(value) for value in call) for call in facts["calls"])
    return Program(facts["language"], source, facts["function"], calls, tuple(facts["types"]))


def verify(item: Item, reply: str, outcomes: Sequence[Outcome] | None = None) -> Verdict:  # noqa: ARG001 - the outcomes stand for the reply
    """Compare each call's outcome with the expected one; every call must agree.

    `outcomes` is None if the reply has no code. An outcome `unavailable` (no runner for the language) gives a
    verdict without a decision, with `status` not_applicable in its details. The reason is that of the first call
    that went wrong; the details then list the expected and actual outcome of each call.
    """
    if outcomes is None:
        return Verdict(None, "no code in the reply")
    for each in outcomes:
        if each.kind == "unavailable":
            return Verdict(None, each.message or "no runner for the language", {"status": "not_applicable"})
    facts = item.facts
    expected = [decode(value) for value in facts["expected"]]
    if len(outcomes) != len(expected):
        return Verdict(
            correct=False, reason="no outcome", details={"expected": len(expected), "got": len(outcomes)}
        )
    reasons = [_wrong(value, found) for value, found in zip(expected, outcomes, strict=True)]
    failed = [reason for reason in reasons if reason]
    details: dict[str, Any] = {"tests": len(reasons), "passed": len(reasons) - len(failed)}
    if not failed:
        return Verdict(correct=True, reason="all tests pass", details=details)
    details["calls"] = [
        {
            "args": format_value(decode({"tuple": call})),
            "expected": format_value(value),
            "got": describe(found),
            "correct": not reason,
        }
        for call, value, found, reason in zip(facts["calls"], expected, outcomes, reasons, strict=True)
    ]
    return Verdict(correct=False, reason=failed[0], details=details)


def _wrong(expected: Any, found: Outcome) -> str:
    """Return an outcome's class of mistake; empty if it is right."""
    if found.kind == "exception":
        if isinstance(expected, ExpectedException):
            accepted = {expected.error, _KOTLIN_CLASSES.get(expected.error)}
            if not accepted.isdisjoint(found.classes):
                return ""
        return f"exception {read_simple_name(found.error)}"
    if found.kind != "value":
        return "syntax error" if found.kind == "syntax" else found.kind
    if isinstance(expected, ExpectedException):
        return f"no {expected.error} raised"
    wrong = "wrong value" if has_same_type(expected, found.value) else "wrong type"
    return "" if is_equal(expected, found.value) else wrong


def reference(item: Item) -> str:
    """Return a reply with the reference solution in the item's programming language."""
    code, name, constants = (item.facts[key] for key in ("language", "function", "constants"))
    return _fence(code, _shape_of(item).sources(code, name, constants)[0])


def near_misses(item: Item) -> list[str]:
    """Return replies with the template's mutants, and with the right function under a wrong name.

    Mutants exist only in Python; a Kotlin item gets the reference with a corrupted result instead.
    """
    code, name, constants = (item.facts[key] for key in ("language", "function", "constants"))
    shape = _shape_of(item)
    renamed = shape.sources(code, f"{name}2", constants)[0]
    if code == "kotlin":
        return [_fence(code, renamed), _fence(code, _spoilt(shape, name, constants))]
    return [_fence(code, source) for source in (*shape.sources(code, name, constants)[1:], renamed)]


def _shape_of(item: Item) -> Shape:
    form: int = item.facts["form"]
    return shapes(by_name()[item.template])[form]


def _fence(code: str, source: str) -> str:
    return f"```{code}\n{source}\n```"


def _spoilt(shape: Shape, name: str, constants: Constants) -> str:
    """Return a Kotlin program whose function calls the reference and changes its result."""
    change = {
        "int": "right + 1", "float": "right * 1.01 + 0.01", "str": 'right + "x"', "bool": "!right",
        "int | None": "right?.plus(1) ?: 0", "list": "right + right", "set": "right + 1000003",
        "dict": "right.filterKeys { false }", "tuple": "Pair(right.first + 1, right.second)",
    }  # fmt: skip
    spoilt = change.get(shape.types[-1]) or change[shape.types[-1].partition("[")[0]]
    return (
        f"{shape.sources('kotlin', f'{name}Right', constants)[0]}\n\n{shape.signature('kotlin', name)} {{\n"
        f"    val right = {name}Right({', '.join(shape.parameters)})\n    return {spoilt}\n}}"
    )


@family(
    levels=LEVELS,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t03_code_gen",
    titles={"en": "Code", "ru": "Код"},
    options=Options,
    program=program,
    reference=reference,
    near_misses=near_misses,
    verifier_version=4,
)
def code_gen(rng: Random, *, level: str, language: str, languages: Sequence[str]) -> Item:
    """Draw a function, its hidden tests and one or two examples; `languages` are programming languages."""
    function = pick(rng, functions()[level])
    ready = shapes(function)
    form = int(rng.random() * len(ready))
    shape = ready[form]
    name = pick(rng, shape.names)
    constants = shape.constants(rng)
    code = languages[0] if len(languages) == 1 else pick(rng, languages)
    if code == "kotlin":
        name = camel(name)
    solve, *mutants = shape.make(**constants)
    for _ in range(DRAWS):
        calls, expected = _draw_tests(rng, shape, constants, solve)
        if len(calls) >= LEAST and all(_caught(mutant, calls, expected) for mutant in mutants):
            break
    else:
        raise RuntimeError(f"function template {function.name}: {DRAWS} draws with {constants} left a mutant alive")
    examples = _draw_examples(rng, shape, constants, calls)
    values = [*expected, *[outcome(solve, call) for call in examples]]
    lines = _lines(shape, code, name, [*calls, *examples], values)
    slots = {key: ", ".join(map(str, v)) if type(v) is list else v for key, v in constants.items()}
    slots["function"], slots["examples"] = name, "\n".join([f"- `{line}`" for line in lines[len(calls) :]])
    return Item(
        prompt=skeleton(function, form, language, code) % slots,
        answer="\n".join(lines[: len(calls)]),
        facts={
            "language": code,
            "function": name,
            "types": shape.types,
            "calls": [[encode(value) for value in call] for call in calls],
            "expected": [encode(value) for value in expected],
            "form": form,
            "constants": constants,
        },
        template=function.name,
    )
