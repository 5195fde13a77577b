"""Write a small function; its hidden unit tests are run in the sandbox, and their values compared here.

A function is drawn from a level's templates with its direction, constants and name; the prompt shows one or two
example calls, the tests are others, chosen such that each of the template's near-miss mutants fails one of them.
"""

import builtins
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from data.errors import InputError
from data.programs.python import find_python
from data.records import Family, Item, Outcome, Program, Verdict
from data.values import ExpectedException, describe, equal, literal, same_type, shown, simple_name
from generators.code_gen import easy, hard, medium
from generators.code_gen.draws import between, pick
from generators.code_gen.function import (
    WORDS,
    Arguments,
    Constants,
    Draws,
    FunctionTemplate,
    Shape,
    camel,
    outcome,
    read_functions,
    shapes,
    skeleton,
)
from generators.code_gen.kotlin import find_kotlin
from generators.code_gen.values import decode, encode, kotlin_literal

SOURCES: Mapping[str, tuple[str, Mapping[str, Draws]]] = {
    "easy": ("easy.yaml", easy.DRAWS),
    "medium": ("medium.yaml", medium.DRAWS),
    "hard": ("hard.yaml", hard.DRAWS),
}
"""The functions of each level: the file of their sources, and what is drawn for them."""
FINDERS: Mapping[str, Callable[[str, str], str | None]] = {"python": find_python, "kotlin": find_kotlin}
LEVELS: Mapping[str, Mapping[str, Any]] = {level: {"level": level} for level in SOURCES}
LEAST, MOST = 3, 5
"""Hidden tests of an item."""

DRAWS = 200
"""Draws of an item's tests that may leave a mutant alive before the template is called wrong."""

_KOTLIN_ERRORS: Mapping[str, frozenset[str]] = {
    "ValueError": frozenset({"IllegalArgumentException", "NumberFormatException"}),
}
_KOTLIN_CLASSES: Mapping[str, str] = {"ValueError": "java.lang.IllegalArgumentException"}


@cache
def functions() -> Mapping[str, tuple[FunctionTemplate, ...]]:
    """Return the function templates of each level."""
    return {level: read_functions(*source) for level, source in SOURCES.items()}


@cache
def by_name() -> Mapping[str, FunctionTemplate]:
    """Return the function templates of all levels."""
    return {function.name: function for listed in functions().values() for function in listed}


def generate(rng: Random, *, level: str, language: str, languages: Sequence[str]) -> Item:
    """Draw a function, its hidden tests and one or two examples; `languages` are programming languages.

    Raises:
        InputError: a programming language that there is no prompt for, or none.
    """
    choices = _checked(tuple(languages))
    function = pick(rng, functions()[level])
    ready = shapes(function)
    form = int(rng.random() * len(ready))
    shape = ready[form]
    name = pick(rng, shape.names)
    constants = function.draws.constants(rng)
    code = choices[0] if len(choices) == 1 else pick(rng, choices)
    if code == "kotlin":
        name = camel(name)
    solve, *mutants = shape.make(**constants)
    calls, expected = _draw_tests(rng, shape, constants, solve, mutants)
    examples = _draw_examples(rng, function, constants, calls)
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
            "calls": calls if shape.plain_arguments else [[encode(value) for value in call] for call in calls],
            "expected": expected if shape.plain_result else [encode(value) for value in expected],
            "form": form,
            "constants": constants,
        },
        template=function.name,
    )


@cache
def _checked(languages: tuple[str, ...]) -> tuple[str, ...]:
    if not languages or not FINDERS.keys() >= set(languages):
        raise InputError(
            f"option languages of family code_gen: found {list(languages)}; "
            f"expected a list of programming languages among {', '.join(FINDERS)}."
        )
    return languages


def _draw_tests(
    rng: Random,
    shape: Shape,
    constants: Constants,
    solve: Callable[..., Any],
    mutants: Sequence[Callable[..., Any]],
) -> tuple[list[Arguments], list[Any]]:
    """Return 3 to 5 calls and what they come to, such that every mutant fails at least one of them."""
    function = shape.function
    for _ in range(DRAWS):
        calls = list(function.draws.edges(rng, constants))
        for _ in range(between(rng, max(LEAST, len(calls)), MOST) - len(calls)):
            call = function.draws.example(rng, constants)
            if call not in calls:
                calls.append(call)
        expected = [outcome(solve, call) for call in calls]
        if len(calls) >= LEAST and _all_caught(mutants, calls, expected):
            return calls, expected
    raise RuntimeError(f"function template {function.name}: {DRAWS} draws with {constants} left a mutant alive")


def _all_caught(mutants: Sequence[Callable[..., Any]], calls: Sequence[Arguments], expected: Sequence[Any]) -> bool:
    pairs = list(zip(calls, expected, strict=True))
    for mutant in mutants:
        for call, value in pairs:
            try:
                found = mutant(*call)
            except Exception as error:  # noqa: BLE001 - a mutant may raise anything
                found = ExpectedException(type(error).__name__)
            # `equal` would say it all; most calls of a mutant come to what is expected, and take it no further
            if (found != value or type(found) is not type(value)) and not equal(value, found):
                break
        else:
            return False
    return True


def _draw_examples(
    rng: Random, function: FunctionTemplate, constants: Constants, hidden: Sequence[Arguments]
) -> list[Arguments]:
    """Return one or two calls that are not among the hidden ones."""
    found: list[Arguments] = []
    wanted = 1 + (rng.random() < 0.5)  # noqa: PLR2004 - a coin's toss
    for _ in range(DRAWS):
        call = function.draws.example(rng, constants)
        if call not in hidden and call not in found:
            found.append(call)
            if len(found) == wanted:
                break
    return found


def _lines(shape: Shape, code: str, name: str, calls: Sequence[Arguments], values: Sequence[Any]) -> list[str]:
    """Return `call -> result` for each call, as the programming language writes them."""
    pairs = zip(calls, values, strict=True)
    if code == "kotlin":
        error, result = WORDS[code]["error"], shape.types[-1]
        return [
            f"{name}({', '.join(map(kotlin_literal, call, shape.types))}) -> "
            f"{error if type(value) is ExpectedException else kotlin_literal(value, result)}"
            for call, value in pairs
        ]
    if shape.has_sets:
        return [f"{name}({', '.join(map(literal, call))}) -> {literal(value)}" for call, value in pairs]
    if len(shape.types) == 2:  # noqa: PLR2004 - one parameter and the result
        return [f"{name}({call[0]!r}) -> {value!r}" for call, value in pairs]
    return [f"{name}{call!r} -> {value!r}" for call, value in pairs]


def program(item: Item, reply: str) -> Program | None:
    """Return the reply's program with the item's hidden calls; None where the reply holds no code."""
    facts = item.facts
    source = FINDERS[facts["language"]](reply, facts["function"])
    if source is None:
        return None
    calls = tuple(tuple(decode(value) for value in call) for call in facts["calls"])
    return Program(facts["language"], source, facts["function"], calls, tuple(facts["types"]))


def verify(item: Item, reply: str, outcomes: Sequence[Outcome] | None = None) -> Verdict:  # noqa: ARG001 - the outcomes stand for the reply
    """Compare each call's outcome with what was expected; every call must agree.

    `outcomes` None: the reply held no code. An outcome `unavailable` (no runner for the language) gives a verdict
    without a decision, with `status` not_applicable in its details. The reason is that of the first call that
    went wrong; then the details say for each call what was expected and what came.
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
            "args": shown(decode({"tuple": call})),
            "expected": shown(value),
            "got": describe(found),
            "correct": not reason,
        }
        for call, value, found, reason in zip(facts["calls"], expected, outcomes, reasons, strict=True)
    ]
    return Verdict(correct=False, reason=failed[0], details=details)


def _wrong(expected: Any, found: Outcome) -> str:
    """Return what is wrong with an outcome, as a class of mistake; empty where it is right."""
    if found.kind == "exception":
        if isinstance(expected, ExpectedException) and _is_a(found, expected.error):
            return ""
        return f"exception {simple_name(found.error)}"
    if found.kind != "value":
        return "syntax error" if found.kind == "syntax" else found.kind
    if isinstance(expected, ExpectedException):
        return f"no {expected.error} raised"
    if equal(expected, found.value):
        return ""
    return "wrong value" if same_type(expected, found.value) else "wrong type"


def _is_a(found: Outcome, expected: str) -> bool:
    """Say whether an exception is of the expected type (of Python's own, or Kotlin's) or a child of it.

    Where its line of classes is not known, its name has to do.
    """
    if found.classes:
        return not {expected, _KOTLIN_CLASSES.get(expected)}.isdisjoint(found.classes)
    name = found.error.rpartition(".")[2]
    if name == expected or name in _KOTLIN_ERRORS.get(expected, ()):
        return True
    kind, wanted = getattr(builtins, name, None), getattr(builtins, expected)
    return isinstance(kind, type) and issubclass(kind, wanted)


def reference(item: Item) -> str:
    """Return a reply with the reference solution, in the item's programming language."""
    facts = item.facts
    return _fence(
        facts["language"], _shape_of(item).source(facts["language"], facts["function"], facts["constants"])
    )


def near_misses(item: Item) -> list[str]:
    """Return replies with the template's mutants, and with the right function under a wrong name.

    Mutants are written in Python; a Kotlin item has the reference with its result spoilt instead.
    """
    facts = item.facts
    shape, code, name = _shape_of(item), facts["language"], facts["function"]
    renamed = shape.source(code, f"{name}2", facts["constants"])
    if code == "kotlin":
        return [_fence(code, renamed), _fence(code, _spoilt(shape, name, facts["constants"]))]
    wrong = shape.wrong_sources(name, facts["constants"])
    return [_fence(code, source) for source in (*wrong, renamed)]


def _shape_of(item: Item) -> Shape:
    form: int = item.facts["form"]
    return shapes(by_name()[item.template])[form]


def _fence(code: str, source: str) -> str:
    return f"```{code}\n{source}\n```"


def _spoilt(shape: Shape, name: str, constants: Constants) -> str:
    """Return a Kotlin program whose function calls the reference and changes what it returns."""
    change = {
        "int": "right + 1", "float": "right * 1.01 + 0.01", "str": 'right + "x"', "bool": "!right",
        "int | None": "right?.plus(1) ?: 0", "list": "right + right", "set": "right + 1000003",
        "dict": "right.filterKeys { false }", "tuple": "Pair(right.first + 1, right.second)",
    }  # fmt: skip
    spoilt = change.get(shape.types[-1]) or change[shape.types[-1].partition("[")[0]]
    arguments = ", ".join(label for label, _ in shape.parameters)
    return (
        f"{shape.source('kotlin', f'{name}Right', constants)}\n\n"
        f"{shape.signature('kotlin', name)} {{\n    val right = {name}Right({arguments})\n    return {spoilt}\n}}"
    )


UNIT = Family(
    name="code_gen",
    version=1,
    levels=LEVELS,
    generate=generate,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t03_code_gen",
    titles={"en": "Code", "ru": "Код"},
    options={"languages": ("python",)},
    program=program,
    reference=reference,
    near_misses=near_misses,
    verifier_version=4,
)
