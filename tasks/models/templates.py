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

    def _explain(self) -> str:
        mapping = self._undefined_obj
        if not isinstance(mapping, Mapping):
            return super()._undefined_message
        return f"found no {self._undefined_name!r}; expected one of {', '.join(map(str, mapping)) or 'none'}"

    # The name by which Jinja asks for the message.
    _undefined_message = property(_explain)


_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=_Missing, keep_trailing_newline=True)


# An index of a list: 0, or -1 for the last.
_INDEX = re.compile(r"-?[0-9]{1,6}")
_SHOWN = 8
_KINDS = {str: "a string", bool: "a boolean", type(None): "null"}


class BodyError(ValueError):
    """An error in a template, or in filling it; the text says where."""


class PathError(ValueError):
    """A path that leads nowhere; the text says how far it went and what was there."""


def _map_strings(body: Any, act: Callable[[str, Path], Any], path: Path = ()) -> Any:
    """Return a body with `act(string, path)` applied to each of its strings; keys are no templates."""
    if isinstance(body, str):
        return act(body, path)
    if isinstance(body, Mapping):
        return {key: _map_strings(value, act, (*path, key)) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [_map_strings(value, act, (*path, index)) for index, value in enumerate(body)]
    return body


@lru_cache(maxsize=1024)
def _find_names(source: str) -> frozenset[str]:
    return frozenset(meta.find_undeclared_variables(_ENVIRONMENT.parse(source)))


def check_body(body: Any) -> None:
    """Check a body's templates.

    Raises:
        BodyError: one cannot be parsed or uses an unknown name, or the body is not valid JSON.
    """
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BodyError(f"expected JSON data ({error}); quote dates") from error

    def check_string(source: str, path: Path) -> None:
        try:
            unknown = sorted(_find_names(source) - set(VALUES))
        except (TemplateError, RecursionError) as error:
            raise BodyError(f"{_locate(path)}not a valid Jinja2 template: {error}") from error
        if unknown:
            raise BodyError(f"{_locate(path)}unknown name {unknown[0]!r}; expected one of {', '.join(VALUES)}")

    _map_strings(body, check_string)


def names_item(body: Any) -> bool:
    """Return whether a checked body uses the item."""
    names: set[str] = set()
    _map_strings(body, lambda source, _: names.update(_find_names(source)))
    return not names.isdisjoint(OF_ITEM)


def fill_body(body: Any, values: Mapping[str, Any]) -> Any:
    """Return a checked body with its templates filled.

    Raises:
        BodyError: a template uses a missing value, or produces something that is no JSON.
    """
    return _map_strings(body, lambda source, path: _fill_string(source, values, path))


def _fill_string(source: str, values: Mapping[str, Any], path: Path) -> Any:
    template, expression = _compile(source)
    try:
        if expression is None:
            return template.render(values)
        value = expression(values)
        if isinstance(value, Undefined):
            # A strict one raises, saying what is missing.
            str(value)
        json.dumps(value, allow_nan=False)
    except UndefinedError as error:
        raise BodyError(f"{_locate(path)}{error}") from error
    # A user's template may raise anything when evaluated.
    except Exception as error:
        raise BodyError(f"{_locate(path)}{type(error).__name__}: {error}") from error
    return value


@lru_cache(maxsize=1024)
def _compile(source: str) -> tuple[Any, Any]:
    """Return a template, and its expression if it consists of one only."""
    template, inner = _ENVIRONMENT.from_string(source), source.strip()
    if not (inner.startswith("{{") and inner.endswith("}}")):
        return template, None
    text = inner[2:-2]
    # A sign beside the braces controls whitespace: `{{- x -}}`.
    if text[:1] in {"-", "+"}:
        text = text[1:]
    if text[-1:] in {"-", "+"}:
        text = text[:-1]
    try:
        return template, _ENVIRONMENT.compile_expression(text, undefined_to_none=False)
    except TemplateSyntaxError:
        # Several expressions with text between them.
        return template, None


def _locate(path: Path) -> str:
    """Return the beginning of a message about a string of a body; '' if the body itself is one."""
    if not path:
        return ""
    return f"{'.'.join(map(str, path))}: "


def check_path(path: str) -> str:
    """Return a valid path unchanged.

    Raises:
        ValueError: it has an empty step.
    """
    if path and not all(step.strip() for step in path.removesuffix("?").split(".")):
        raise ValueError("expected a dotted path such as choices.0.message.content or documents.*.text")
    return path


def find_values(answer: Any, path: str) -> Any:
    """Return the value at a path; with `*`, a flat list of all; None if an optional path ends early.

    Raises:
        PathError: the path leads nowhere.
    """
    steps = path.removesuffix("?").split(".")
    values = [answer]
    for number, step in enumerate(steps):
        parts: list[Any] = []
        for value in values:
            if isinstance(value, list) and step == "*":
                parts += value
            elif isinstance(value, dict) and step in value:
                parts.append(value[step])
            elif isinstance(value, list) and _INDEX.fullmatch(step) and -len(value) <= int(step) < len(value):
                parts.append(value[int(step)])
            elif not path.endswith("?"):
                location = ".".join(steps[:number]) or "the answer"
                raise PathError(f"no {step!r} in {location}, which {_describe(value)}")
        values = parts
    if "*" in steps:
        return values
    return next(iter(values), None)


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        keys = [str(key)[:40] for key in list(value)[:_SHOWN]]
        if len(value) > _SHOWN:
            keys.append("…")
        return f"has {', '.join(keys)}" if keys else "is an empty object"
    if isinstance(value, list):
        return f"is a list of length {len(value)}"
    return f"is {_KINDS.get(type(value), 'a number')}"
