"""A request's body as a configuration writes it: any JSON whose strings are Jinja2.

What is filled in is data: it is never read as a template. A string that is one expression and nothing else
(`{{ messages }}`) becomes the value itself, a list or a number; in all others values are written as text.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateError, Undefined, UndefinedError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

VALUES = ("prompt", "system", "messages", "parameters", "schema", "item_id", "item")
"""What a template may name."""
OF_ITEM = frozenset({"item_id", "item"})
_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
Path = tuple[str | int, ...]


class BodyError(ValueError):
    """What is wrong with a template, or with filling it; the text says where."""


def strings(body: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the strings of a body, each with its path; keys are no templates."""
    if isinstance(body, str):
        yield path, body
    elif isinstance(body, Mapping):
        for key, value in body.items():
            yield from strings(value, (*path, key))
    elif isinstance(body, list | tuple):
        for index, value in enumerate(body):
            yield from strings(value, (*path, index))


def _named(source: str) -> frozenset[str]:
    return frozenset(meta.find_undeclared_variables(_ENVIRONMENT.parse(source)))


def check(body: Any) -> None:
    """Check a body's templates.

    Raises:
        BodyError: one cannot be read, names what there is not, or the body is nothing that JSON can hold.
    """
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BodyError(f"expected what JSON can hold ({error}); quote dates") from error
    for path, source in strings(body):
        try:
            unknown = sorted(_named(source) - set(VALUES))
        except (TemplateError, RecursionError) as error:
            raise BodyError(f"{_at(path)}not a Jinja2 template: {error}") from error
        if unknown:
            raise BodyError(f"{_at(path)}no value {unknown[0]!r}; expected one of {', '.join(VALUES)}")


def names_item(body: Any) -> bool:
    """Say whether a checked body names the item."""
    return any(_named_in(source) & OF_ITEM for _, source in strings(body))


_named_in = lru_cache(maxsize=1024)(_named)


def fill(body: Any, values: Mapping[str, Any], path: Path = ()) -> Any:
    """Return a checked body with its templates filled.

    Raises:
        BodyError: a template uses what these values do not have, or makes something that is no JSON.
    """
    if isinstance(body, str):
        return _filled(body, values, path)
    if isinstance(body, Mapping):
        return {key: fill(value, values, (*path, key)) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [fill(value, values, (*path, index)) for index, value in enumerate(body)]
    return body


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
        raise BodyError(f"{_at(path)}{_missing(source, values) or error}") from error
    except Exception as error:  # what a template of the user's comes to on a row may be anything
        raise BodyError(f"{_at(path)}{type(error).__name__}: {error}") from error
    return value


def _missing(source: str, values: Mapping[str, Any]) -> str:
    """Say which key a template names that there is not, and which there are; '' where that is not what is wrong."""
    for node in _ENVIRONMENT.parse(source).find_all(nodes.Expr):
        found = _place(node)
        there, name = (_read(found[0], values), found[1]) if found else (None, "")
        if found and isinstance(there, Mapping) and name not in there:
            return f"{'.'.join(found[0])} has no {name!r}; expected one of {', '.join(map(str, there)) or 'none'}"
    return ""


def _place(node: nodes.Node) -> tuple[tuple[str, ...], str] | None:
    """Return the path and the last name of an expression such as `item.facts.city` or `item["city"]`."""
    if isinstance(node, nodes.Getattr):
        name = node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        name = str(node.arg.value)
    else:
        return None
    if isinstance(node.node, nodes.Name):
        return (node.node.name,), name
    whole = _place(node.node)
    return ((*whole[0], whole[1]), name) if whole else None


def _read(path: tuple[str, ...], values: Any) -> Any:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


@lru_cache(maxsize=1024)
def _compiled(source: str) -> tuple[Any, Any]:
    """Return a template, and the expression that it is where it is nothing else."""
    parsed = _ENVIRONMENT.parse(source)
    template = _ENVIRONMENT.from_string(source)
    inner = source.strip()
    single = (
        len(parsed.body) == 1
        and isinstance(parsed.body[0], nodes.Output)
        and len(parsed.body[0].nodes) == 1
        and not isinstance(parsed.body[0].nodes[0], nodes.TemplateData)
        and inner.startswith("{{")
        and inner.endswith("}}")
    )
    if not single:
        return template, None
    text = inner[2:-2]
    text = text[1:] if text[:1] in {"-", "+"} else text  # whitespace control, not a sign
    text = text[:-1] if text[-1:] in {"-", "+"} else text
    return template, _ENVIRONMENT.compile_expression(text, undefined_to_none=False)


def _at(path: Path) -> str:
    return f"{'.'.join(map(str, path))}: " if path else ""
