"""Write a small function; its hidden unit tests are run in the sandbox, and the results compared here.

The function comes from a level's templates, with a drawn direction, constants and name. The prompt shows one or
two example calls; the tests use others, chosen so that each of the template's near-miss mutants fails one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from random import Random
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import family
from basic_control.data.options import Frozen
from basic_control.data.programs.python_code import find_python
from basic_control.data.records import Item, Outcome, Program, Verdict
from basic_control.data.values import (
    ExpectedException,
    describe_value,
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
    outcome,
    read_functions,
    shapes,
    skeleton,
    write_camel_case,
)
from basic_control.generators.code_gen.kotlin_code import find_kotlin
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
    return {function.name: function for function in chain.from_iterable(functions().values())}


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


def _is_caught(mutant: Callable[..., Any], calls: Sequence[Arguments], expected: Sequence[Any]) -> bool:
    for call, value in zip(calls, expected, strict=True):
        result = outcome(mutant, call)
        # `equal` alone would do; this is faster for the many calls where a mutant returns the expected value
        if (result != value or type(result) is not type(value)) and not is_equal(value, result):
            return True
    return False


def _draw_examples(rng: Random, shape: Shape, constants: Constants, hidden: Sequence[Arguments]) -> list[Arguments]:
    """Return one or two calls that are not among the hidden ones."""
    examples: list[Arguments] = []
    count = 1 + (rng.random() < 0.5)  # noqa: PLR2004 - a coin's toss
    for _ in range(DRAWS):
        call = shape.example(rng, **constants)
        if call not in hidden and call not in examples:
            examples.append(call)
        if len(examples) == count:
            break
    return examples


def _write_calls(
    shape: Shape, code: str, name: str, calls: Sequence[Arguments], values: Sequence[Any]
) -> list[str]:
    """Return `call -> result` for each call, in the programming language's syntax."""
    lines = []
    for call, value in zip(calls, values, strict=True):
        if code != "kotlin":
            arguments, result = map(format_literal, call), format_literal(value)
        else:
            arguments, result = map(kotlin_literal, call, shape.types), WORDS[code]["error"]
            if type(value) is not ExpectedException:
                result = kotlin_literal(value, shape.types[-1])
        lines.append(f"{name}({', '.join(arguments)}) -> {result}")
    return lines


def program(item: Item, reply: str) -> Program | None:
    """Return the reply's program with the item's hidden calls; None if the reply has no code."""
    facts = item.facts
    source = FINDERS[facts["language"]](reply, facts["function"])
    if source is None:
        return None
    calls = tuple(tuple(map(decode, call)) for call in facts["calls"])
    return Program(facts["language"], source, facts["function"], calls, tuple(facts["types"]))


def verify(item: Item, reply: str, outcomes: Sequence[Outcome] | None = None) -> Verdict:  # noqa: ARG001 - the outcomes stand for the reply
    """Compare each call's outcome with the expected one; every call must agree.

    `outcomes` is None if the reply has no code. An outcome `unavailable` (no runner for the language) gives a
    verdict without a decision, with `status` not_applicable in its details. The reason is that of the first call
    that went wrong; the details then list the expected and actual outcome of each call.
    """
    if outcomes is None:
        return Verdict(None, "no code in the reply")
    for call_outcome in outcomes:
        if call_outcome.kind == "unavailable":
            return Verdict(None, call_outcome.message or "no runner for the language", {"status": "not_applicable"})
    expected = [*map(decode, item.facts["expected"])]
    if len(outcomes) != len(expected):
        details = {"expected": len(expected), "got": len(outcomes)}
        return Verdict(correct=False, reason="no outcome", details=details)
    reasons = [*map(_name_mistake, expected, outcomes)]
    mistakes = [*filter(None, reasons)]
    details: dict[str, Any] = {"tests": len(reasons), "passed": len(reasons) - len(mistakes)}
    if not mistakes:
        return Verdict(correct=True, reason="all tests pass", details=details)
    # What people see of each call.
    calls = []
    for call, value, call_outcome, reason in zip(item.facts["calls"], expected, outcomes, reasons, strict=True):
        arguments = format_value(decode({"tuple": call}))
        result = describe_value(call_outcome)
        calls.append({"args": arguments, "expected": format_value(value), "got": result, "correct": not reason})
    return Verdict(correct=False, reason=mistakes[0], details={**details, "calls": calls})


def _name_mistake(expected: Any, result: Outcome) -> str:
    """Return an outcome's class of mistake; empty if it is right."""
    if result.kind == "exception":
        if isinstance(expected, ExpectedException):
            accepted = {expected.error, _KOTLIN_CLASSES.get(expected.error)}
            if not accepted.isdisjoint(result.classes):
                return ""
        return f"exception {read_simple_name(result.error)}"
    if result.kind != "value":
        return "syntax error" if result.kind == "syntax" else result.kind
    if isinstance(expected, ExpectedException):
        return f"no {expected.error} raised"
    if is_equal(expected, result.value):
        return ""
    return "wrong value" if has_same_type(expected, result.value) else "wrong type"


def reference(item: Item) -> str:
    """Return a reply with the reference solution in the item's programming language."""
    code, name, constants = _read_facts(item)
    return _fence(code, _find_shape(item).sources(code, name, constants)[0])


def _read_facts(item: Item) -> tuple[str, str, Constants]:
    """Return an item's programming language, the function's name and the drawn constants."""
    return item.facts["language"], item.facts["function"], item.facts["constants"]


def list_near_misses(item: Item) -> list[str]:
    """Return replies with the template's mutants, and with the right function under a wrong name.

    Mutants exist only in Python; a Kotlin item gets the reference with a corrupted result instead.
    """
    code, name, constants = _read_facts(item)
    shape = _find_shape(item)
    misnamed = shape.sources(code, f"{name}2", constants)[0]
    if code == "kotlin":
        return [_fence(code, misnamed), _fence(code, _corrupt(shape, name, constants))]
    return [_fence(code, source) for source in (*shape.sources(code, name, constants)[1:], misnamed)]


def _find_shape(item: Item) -> Shape:
    form: int = item.facts["form"]
    return shapes(by_name()[item.template])[form]


def _fence(code: str, source: str) -> str:
    return f"```{code}\n{source}\n```"


def _corrupt(shape: Shape, name: str, constants: Constants) -> str:
    """Return a Kotlin program whose function calls the reference and changes its result."""
    change = {
        "int": "right + 1", "float": "right * 1.01 + 0.01", "str": 'right + "x"', "bool": "!right",
        "int | None": "right?.plus(1) ?: 0", "list": "right + right", "set": "right + 1000003",
        "dict": "right.filterKeys { false }", "tuple": "Pair(right.first + 1, right.second)",
    }  # fmt: skip
    changed = change.get(shape.types[-1]) or change[shape.types[-1].partition("[")[0]]
    return (
        f"{shape.sources('kotlin', f'{name}Right', constants)[0]}\n\n{shape.signature('kotlin', name)} {{\n"
        f"    val right = {name}Right({', '.join(shape.parameters)})\n    return {changed}\n}}"
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
    near_misses=list_near_misses,
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
        name = write_camel_case(name)
    # Tests that let a mutant pass would let a wrong reply pass.
    solve, *mutants = shape.make(**constants)
    for _ in range(DRAWS):
        calls, expected = _draw_tests(rng, shape, constants, solve)
        if len(calls) >= LEAST and all(_is_caught(mutant, calls, expected) for mutant in mutants):
            break
    else:
        raise RuntimeError(f"function template {function.name}: {DRAWS} draws with {constants} left a mutant alive")
    examples = _draw_examples(rng, shape, constants, calls)
    # The prompt shows the examples, the answer the tests.
    values = [*expected, *[outcome(solve, call) for call in examples]]
    lines = _write_calls(shape, code, name, [*calls, *examples], values)
    slots = {key: _write_constant(value) for key, value in constants.items()}
    slots["function"], slots["examples"] = name, "\n".join([f"- `{line}`" for line in lines[len(calls) :]])
    return Item(
        prompt=skeleton(function, form, language, code) % slots,
        answer="\n".join(lines[: len(calls)]),
        facts={
            "language": code,
            "function": name,
            "types": shape.types,
            "calls": [[*map(encode, call)] for call in calls],
            "expected": [*map(encode, expected)],
            "form": form,
            "constants": constants,
        },
        template=function.name,
    )


def _write_constant(value: Any) -> Any:
    """Return a constant as a prompt has it: a list without brackets."""
    return ", ".join(map(str, value)) if type(value) is list else value
