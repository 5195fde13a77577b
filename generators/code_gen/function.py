"""Templates of requested functions: source in two languages, mutants, and rules for drawing constants and calls.

In a source, `NAME` is the function, an upper-case name a drawn constant, and «WORD» a piece of text that depends
on the form (a direction, a comparison). The Python sources are compiled once per form, with the constants as
parameters; they are ours, never a model's.
"""

import ast
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import yaml

from basic_control.data.patterns import pattern
from basic_control.data.values import ExpectedException, format_literal
from basic_control.generators.code_gen import draws
from basic_control.generators.code_gen.values import kotlin_literal, kotlin_type
from basic_control.prompts import load_template

Constants = dict[str, Any]
Arguments = tuple[Any, ...]

# The name of a constant: "LIMIT"
_CONSTANT = pattern(r"\b[A-Z][A-Z0-9]*\b")
# A slot of a rendered template, between two control characters
_SLOT = pattern("\x02([A-Za-z0-9]+)\x03")
WORDS: Mapping[str, Mapping[str, str]] = {
    "python": {"title": "Python", "null": "None", "error": "ValueError", "yes": "True", "no": "False"},
    "kotlin": {
        "title": "Kotlin", "null": "null", "error": "IllegalArgumentException", "yes": "true", "no": "false",
    },
}  # fmt: skip
"""What a prompt calls things in each programming language."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionTemplate:
    """A function template from a level's file.

    `python` is the whole reference solution, `kotlin` the part after the signature, `mutants` pairs (old, new): the
    reference with one piece replaced, wrong for some call. The rest are expressions of `rng` and the names of
    `draws`: `constants` gives the dictionary of the sources' constants; given these, `edges` gives the arguments of
    each call that kills mutants (or is one expression for all the calls), and `example` those of any one call.
    """

    name: str
    names: Sequence[str]
    edges: Sequence[str] | str
    example: str
    python: str
    kotlin: str
    mutants: Sequence[tuple[str, str]]
    constants: str = "{}"
    forms: Sequence[Mapping[str, str]] = ({},)


def read_functions(file: str) -> tuple[FunctionTemplate, ...]:
    """Return the function templates of a file beside this module."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    by_name = yaml.load(text, yaml.CSafeLoader)
    return tuple(FunctionTemplate(name, **fields) for name, fields in by_name.items())


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One form of a function, prepared once for all of its items.

    `types` are the types of the parameters and, last, the result, in Python notation. `make(**constants)` returns
    the reference solution and its mutants; `edges(rng, **constants)` and `example(rng, **constants)` draw calls.
    """

    form: Mapping[str, str]
    names: tuple[str, ...]
    python: tuple[str, ...]  # the reference solution and its mutants
    kotlin: str
    parameters: tuple[str, ...]
    types: tuple[str, ...]
    constants: Callable[..., Constants]
    edges: Callable[..., list[Arguments]]
    example: Callable[..., Arguments]
    make: Callable[..., tuple[Callable[..., Any], ...]]

    def signature(self, language: str, name: str) -> str:
        """Return the signature in the programming language's syntax."""
        if language == "kotlin":
            *types, result = map(kotlin_type, self.types)
            return f"fun {name}({', '.join(map('{}: {}'.format, self.parameters, types))}): {result}"
        *types, result = self.types
        return f"def {name}({', '.join(map('{}: {}'.format, self.parameters, types))}) -> {result}"

    def sources(self, language: str, name: str, constants: Constants) -> list[str]:
        """Return the reference solution in a programming language and, in Python, its mutants."""
        sources: Sequence[str] = self.python
        values = {key: format_literal(value) for key, value in constants.items()}
        if language == "kotlin":
            sources = (f"{self.signature(language, name)} {self.kotlin}",)
            values = {key: kotlin_literal(value, _write_type(value)) for key, value in constants.items()}
        values["NAME"] = name
        return [_CONSTANT.sub(lambda match: values.get(match[0], match[0]), source) for source in sources]


@cache
def shapes(function: FunctionTemplate) -> tuple[Shape, ...]:
    """Return one shape for each of a function's forms."""
    return tuple(_build_shape(function, form) for form in function.forms)


def _write_type(constant: Any) -> str:
    """Return a constant's type in Python notation; all lists are of whole numbers."""
    return "list[int]" if type(constant) is list else type(constant).__name__


def _build_shape(function: FunctionTemplate, form: Mapping[str, str]) -> Shape:
    def fill(text: str) -> str:
        for key, value in form.items():
            text = text.replace(f"«{key}»", value)
        return text

    python = fill(function.python.strip())
    sources = [python]
    for old, new in map(partial(map, fill), function.mutants):
        if python.count(old) != 1 or old == new:
            raise ValueError(f"function template {function.name}: {old!r} must stand once, and be changed")
        sources.append(python.replace(old, new))
    definition = ast.parse(python).body[0]
    if not isinstance(definition, ast.FunctionDef) or definition.returns is None:
        raise TypeError(f"function template {function.name}: expected one typed function")
    parameters = [parameter for parameter in definition.args.args if parameter.annotation]
    annotations = [*filter(None, map(attrgetter("annotation"), parameters)), definition.returns]
    # Python 3.11 unparses `tuple[int, int]` without parentheses, other versions with them
    types = [re.sub("[()]", "", ast.unparse(annotation)) for annotation in annotations]
    return Shape(
        form=form,
        names=tuple(map(fill, function.names)),
        python=tuple(sources),
        kotlin=fill(function.kotlin.strip()),
        parameters=tuple(map(attrgetter("arg"), parameters)),
        types=tuple(types),
        **_compile(function, sources),
    )


def _find_constants(python: str) -> list[str]:
    return [*filter("NAME".__ne__, dict.fromkeys(_CONSTANT.findall(python)))]


def _compile(function: FunctionTemplate, sources: Sequence[str]) -> dict[str, Any]:
    """Compile the draws, and our own sources into one function of the constants that returns them all."""
    names = ", ".join(_find_constants(sources[0]))
    edges = function.edges if isinstance(function.edges, str) else f"[({',), ('.join(function.edges)},)]"
    lines = [
        f"def constants(rng): return {function.constants}",
        f"def edges(rng, {names}): return {edges}",
        f"def example(rng, {names}): return ({function.example},)",
        f"def make({names}):",
    ]
    solutions = ""
    for number, source in enumerate(sources):
        lines.append(textwrap.indent(re.sub(r"\bNAME\b", f"solve{number}", source), " "))
        solutions += f"solve{number}, "
    lines.append(f" return {solutions}")
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), {**vars(draws)}, namespace)  # noqa: S102 - of this package, so that prompt, solution and tests have one source
    return namespace


def outcome(solve: Callable[..., Any], arguments: Arguments) -> Any:
    """Return what one of our own functions returns or raises."""
    try:
        return solve(*arguments)
    except Exception as error:  # noqa: BLE001 - a mutant may raise anything; the test is what it raises
        return ExpectedException(type(error).__name__)


@cache
def skeleton(shape_function: FunctionTemplate, form: int, language: str, code: str) -> str:
    """Return a shape's prompt as a %-format over `function`, `examples` and the constants.

    Rendering a template costs more than the rest of an item, so it is done once per shape, with slots for what is
    drawn.
    """
    shape = shapes(shape_function)[form]
    slots = {key: f"\x02{key}\x03" for key in _find_constants(shape.python[0])}
    words = WORDS[code]
    task = load_template(f"code_gen/{shape_function.name}", language).render(**words, **shape.form, **slots)
    prompt = load_template("code_gen/frame", language).render(
        **words,
        task=task.strip(),
        function="\x02function\x03",
        signature=shape.signature(code, "\x02function\x03"),
        examples="\x02examples\x03",
    )
    return _SLOT.sub(r"%(\1)s", prompt.replace("%", "%%"))


def write_camel_case(name: str) -> str:
    """Return a snake_case name in Kotlin's camelCase."""
    first, *parts = name.split("_")
    return first + "".join(map(str.title, parts))
