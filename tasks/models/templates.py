"""Templates for what an application is sent, and paths to values in its JSON answer.

A body is any JSON whose strings are Jinja2. The values filled in are data: they are never read as templates. A
string that is a single expression (`{{ messages }}`) becomes the value itself, a list or a number; in all others
values are written as text.

A path is dotted: `choices.0.message.content`, `documents.*.text`, `usage.input?`. A step is a key, an index of a
list (from the end with a minus), or `*` for all entries of a list. A path that ends in `?` may lead to nothing.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, UndefinedError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

VALUES = ("prompt", "system", "messages", "tools", "parameters", "schema", "item_id", "item")
"""The names that a template may use."""
OF_ITEM = frozenset({"item_id", "item"})
Path = tuple[str | int, ...]


class _Missing(StrictUndefined):
    """A missing key; the error names it and the existing ones."""

    @property
    def _undefined_message(self) -> str:
        there = self._undefined_obj
        if not isinstance(there, Mapping):
            return super()._undefined_message
        return f"found no {self._undefined_name!r}; expected one of {', '.join(map(str, there)) or 'none'}"


_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=_Missing, keep_trailing_newline=True)


_INDEX = re.compile(r"-?[0-9]{1,6}")
_SHOWN = 8
_KINDS = {str: "a string", bool: "a boolean", type(None): "null"}


class BodyError(ValueError):
    """An error in a template, or in filling it; the text says where."""


class PathError(ValueError):
    """A path that leads nowhere; the text says how far it went and what was there."""


def _mapped(body: Any, act: Callable[[str, Path], Any], path: Path = ()) -> Any:
    """Return a body with `act(string, path)` applied to each of its strings; keys are no templates."""
    if isinstance(body, str):
        return act(body, path)
    if isinstance(body, Mapping):
        return {key: _mapped(value, act, (*path, key)) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [_mapped(value, act, (*path, index)) for index, value in enumerate(body)]
    return body


@lru_cache(maxsize=1024)
def _named(source: str) -> frozenset[str]:
    return frozenset(meta.find_undeclared_variables(_ENVIRONMENT.parse(source)))


def check(body: Any) -> None:
    """Check a body's templates.

    Raises:
        BodyError: one cannot be parsed or uses an unknown name, or the body is not valid JSON.
    """
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BodyError(f"expected JSON data ({error}); quote dates") from error

    def checked(source: str, path: Path) -> None:
        try:
            unknown = sorted(_named(source) - set(VALUES))
        except (TemplateError, RecursionError) as error:
            raise BodyError(f"{_at(path)}not a valid Jinja2 template: {error}") from error
        if unknown:
            raise BodyError(f"{_at(path)}unknown name {unknown[0]!r}; expected one of {', '.join(VALUES)}")

    _mapped(body, checked)


def names_item(body: Any) -> bool:
    """Return whether a checked body uses the item."""
    named: set[str] = set()
    _mapped(body, lambda source, _: named.update(_named(source)))
    return not named.isdisjoint(OF_ITEM)


def fill(body: Any, values: Mapping[str, Any]) -> Any:
    """Return a checked body with its templates filled.

    Raises:
        BodyError: a template uses a missing value, or produces something that is no JSON.
    """
    return _mapped(body, lambda source, path: _filled(source, values, path))


def _filled(source: str, values: Mapping[str, Any], path: Path) -> Any:
    template, expression = _compiled(source)
    try:
        if expression is None:
            return template.render(values)
        value = expression(values)
        if isinstance(value, Undefined):
            str(value)  # a strict one says what is missing
        json.dumps(value, allow_nan=False)
    except UndefinedError as error:
        raise BodyError(f"{_at(path)}{error}") from error
    except Exception as error:  # a user's template may raise anything when evaluated
        raise BodyError(f"{_at(path)}{type(error).__name__}: {error}") from error
    return value


@lru_cache(maxsize=1024)
def _compiled(source: str) -> tuple[Any, Any]:
    """Return a template, and its expression if it consists of one only."""
    template, inner = _ENVIRONMENT.from_string(source), source.strip()
    if not (inner.startswith("{{") and inner.endswith("}}")):
        return template, None
    text = inner[2:-2]
    text = text[1:] if text[:1] in {"-", "+"} else text  # whitespace control, not a sign
    text = text[:-1] if text[-1:] in {"-", "+"} else text
    try:
        return template, _ENVIRONMENT.compile_expression(text, undefined_to_none=False)
    except TemplateSyntaxError:  # several expressions with text between them
        return template, None


def _at(path: Path) -> str:
    return f"{'.'.join(map(str, path))}: " if path else ""


def check_path(path: str) -> str:
    """Return a valid path unchanged.

    Raises:
        ValueError: it has an empty step.
    """
    if path and not all(step.strip() for step in path.removesuffix("?").split(".")):
        raise ValueError("expected a dotted path such as choices.0.message.content or documents.*.text")
    return path


def find(answer: Any, path: str) -> Any:
    """Return the value at a path; with `*`, a flat list of all; None if an optional path ends early.

    Raises:
        PathError: the path leads nowhere.
    """
    steps = path.removesuffix("?").split(".")
    found = [answer]
    for number, step in enumerate(steps):
        after: list[Any] = []
        for value in found:
            if isinstance(value, list) and step == "*":
                after += value
            elif isinstance(value, dict) and step in value:
                after.append(value[step])
            elif isinstance(value, list) and _INDEX.fullmatch(step) and -len(value) <= int(step) < len(value):
                after.append(value[int(step)])
            elif not path.endswith("?"):
                there = ".".join(steps[:number]) or "the answer"
                raise PathError(f"no {step!r} in {there}, which {_describe(value)}")
        found = after
    return found if "*" in steps else next(iter(found), None)


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        shown = ", ".join(str(key)[:40] for key in list(value)[:_SHOWN])
        return f"has {shown}{', …' if len(value) > _SHOWN else ''}" if value else "is an empty object"
    if isinstance(value, list):
        return f"is a list of length {len(value)}"
    return f"is {_KINDS.get(type(value), 'a number')}"
