"""A function to be asked for: its source in two languages, its mutants, and how its constants and calls are drawn.

In a source, `NAME` stands for the function, an upper-case name for a drawn constant, and «WORD» for a piece of
text that the form (a direction, a comparison) decides. Python sources are compiled once for each form, with the
constants as the parameters of a closure; they are ours, never a model's.
"""

import ast
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from data.patterns import pattern
from data.values import ExpectedException, literal
from generators.code_gen.values import kotlin_literal, kotlin_type
from prompts import template

Constants = dict[str, Any]
Arguments = tuple[Any, ...]
Form = Mapping[str, str]

_CONSTANT = pattern(r"\b[A-Z][A-Z0-9]*\b")
_TAGGED = pattern("tuple|set|dict")
_SLOT = pattern("\x02([A-Za-z0-9]+)\x03")
WORDS: Mapping[str, Mapping[str, str]] = {
    "python": {"title": "Python", "null": "None", "error": "ValueError", "yes": "True", "no": "False"},
    "kotlin": {
        "title": "Kotlin", "null": "null", "error": "IllegalArgumentException", "yes": "true", "no": "false",
    },
}  # fmt: skip
"""What a prompt calls things in each programming language."""


@dataclass(frozen=True, slots=True)
class Draws:
    """What is drawn for a function.

    `constants(rng)` draws the constants of its sources, `edges(rng, constants)` the calls that tell mutants apart,
    and `example(rng, constants)` any one call.
    """

    edges: Callable[[Random, Constants], Sequence[Arguments]]
    example: Callable[[Random, Constants], Arguments]
    constants: Callable[[Random], Constants] = lambda _: {}


@dataclass(frozen=True, slots=True, eq=False)
class FunctionTemplate:
    """A function template, as its level's file has it, with its draws.

    `python` is the whole reference solution, `kotlin` what follows the signature, `mutants` pairs (old, new):
    the reference with one piece replaced, wrong for some call.
    """

    name: str
    draws: Draws
    names: Sequence[str]
    python: str
    kotlin: str
    mutants: Sequence[tuple[str, str]]
    forms: Sequence[Form] = ({},)


def read_functions(file: str, draws: Mapping[str, Draws]) -> tuple[FunctionTemplate, ...]:
    """Return the function templates of a file beside this module."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    sources: Mapping[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return tuple(FunctionTemplate(name, draws[name], **source) for name, source in sources.items())


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One form of a function, made ready: what every item of it shares."""

    function: FunctionTemplate
    form: Form
    names: tuple[str, ...]
    python: str
    mutants: tuple[str, ...]
    kotlin: str
    constants: tuple[str, ...]  # their names
    parameters: tuple[tuple[str, str], ...]
    types: tuple[str, ...]  # the parameters' and, last, the result's, in Python notation
    make: Callable[..., tuple[Callable[..., Any], ...]]
    plain_arguments: bool  # of JSON's own types: nothing to encode
    plain_result: bool
    has_sets: bool  # whose order `repr` leaves to chance

    def signature(self, language: str, name: str) -> str:
        """Return the signature as the programming language writes it."""
        if language == "kotlin":
            parts = ", ".join(f"{label}: {kotlin_type(notation)}" for label, notation in self.parameters)
            return f"fun {name}({parts}): {kotlin_type(self.types[-1])}"
        return f"def {name}({', '.join(': '.join(pair) for pair in self.parameters)}) -> {self.types[-1]}"

    def source(self, language: str, name: str, constants: Constants) -> str:
        """Return the reference solution in a programming language."""
        if language == "kotlin":
            body = _fill(self.kotlin, name, {key: _kotlin_constant(value) for key, value in constants.items()})
            return f"{self.signature(language, name)} {body}"
        return _fill(self.python, name, {key: literal(value) for key, value in constants.items()})

    def wrong_sources(self, name: str, constants: Constants) -> list[str]:
        """Return the mutants in Python."""
        values = {key: literal(value) for key, value in constants.items()}
        return [_fill(mutant, name, values) for mutant in self.mutants]


def _kotlin_constant(value: Any) -> str:
    return kotlin_literal(value, "list[int]" if isinstance(value, list) else type(value).__name__)


def _fill(source: str, name: str, values: Mapping[str, str]) -> str:
    return _CONSTANT.sub(lambda found: values.get(found[0], name if found[0] == "NAME" else found[0]), source)


def _formed(text: str, form: Form) -> str:
    for key, value in form.items():
        text = text.replace(f"«{key}»", value)
    return text


@cache
def shapes(function: FunctionTemplate) -> tuple[Shape, ...]:
    """Return the shapes of a function, one for each of its forms."""
    return tuple(_shape(function, form) for form in function.forms)


def _shape(function: FunctionTemplate, form: Form) -> Shape:
    python = _formed(function.python.strip(), form)
    mutants = tuple(
        _mutant(function, python, _formed(old, form), _formed(new, form)) for old, new in function.mutants
    )
    definition = ast.parse(python).body[0]
    if not isinstance(definition, ast.FunctionDef) or definition.returns is None:
        raise TypeError(f"function template {function.name}: expected one typed function")
    parameters = tuple((each.arg, _notation(each.annotation)) for each in definition.args.args if each.annotation)
    types = [notation for _, notation in parameters]
    constants = tuple(dict.fromkeys(name for name in _CONSTANT.findall(python) if name != "NAME"))
    result = _notation(definition.returns)
    return Shape(
        function=function,
        form=form,
        names=tuple(_formed(name, form) for name in function.names),
        python=python,
        mutants=mutants,
        kotlin=_formed(function.kotlin.strip(), form),
        constants=constants,
        parameters=parameters,
        types=(*types, result),
        make=_closure((python, *mutants), constants),
        plain_arguments=not any(map(_TAGGED.search, types)),
        plain_result=not _TAGGED.search(result) and "raise " not in python,
        has_sets=any("set[" in notation for notation in (*types, result)),
    )


def _notation(annotation: ast.expr) -> str:
    """Return a type as it is written; Python 3.11 unparses `tuple[int, int]` without, others with parentheses."""
    return ast.unparse(annotation).replace("(", "").replace(")", "")


def _mutant(function: FunctionTemplate, python: str, old: str, new: str) -> str:
    if python.count(old) != 1 or old == new:
        raise ValueError(f"function template {function.name}: {old!r} must stand once, and be changed")
    return python.replace(old, new)


def _closure(sources: Sequence[str], constants: Sequence[str]) -> Callable[..., tuple[Callable[..., Any], ...]]:
    """Compile our own sources into one function of the constants that returns them all."""
    lines = [f"def make({', '.join(constants)}):"]
    for number, source in enumerate(sources):
        lines += [textwrap.indent(re.sub(r"\bNAME\b", f"solve{number}", source), " ")]
    lines += [f" return {''.join(f'solve{number}, ' for number in range(len(sources)))}"]
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)  # noqa: S102 - constants of this package, so that prompt, solution and tests have one source
    made: Callable[..., tuple[Callable[..., Any], ...]] = namespace["make"]
    return made


def outcome(solve: Callable[..., Any], arguments: Arguments) -> Any:
    """Return what one of our own functions returns, or what it raises."""
    try:
        return solve(*arguments)
    except Exception as error:  # noqa: BLE001 - a mutant may raise anything; the test is what it raises
        return ExpectedException(type(error).__name__)


@cache
def skeleton(shape_function: FunctionTemplate, form: int, language: str, code: str) -> str:
    """Return the prompt of a shape as a %-format over `function`, `examples` and the constants.

    Rendering a template costs more than all the rest of an item, so that it is done once for a shape, with
    slots for what is drawn.
    """
    shape = shapes(shape_function)[form]
    slots = {key: f"\x02{key}\x03" for key in shape.constants}
    words = WORDS[code]
    task = template(f"code_gen/{shape_function.name}", language).render(**words, **shape.form, **slots)
    prompt = template("code_gen/frame", language).render(
        **words,
        task=task.strip(),
        function="\x02function\x03",
        signature=shape.signature(code, "\x02function\x03"),
        examples="\x02examples\x03",
    )
    return _SLOT.sub(r"%(\1)s", prompt.replace("%", "%%"))


def camel(name: str) -> str:
    """Return a snake_case name as Kotlin writes it."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)
