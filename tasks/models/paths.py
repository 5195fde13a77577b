"""Dotted paths into a JSON answer: `choices.0.message.content`, `documents.*.text`, `usage.input?`.

A step is a key, an index of a list (from the end with a minus), or `*` for all entries of a list. A path that ends
in `?` may lead to nothing.
"""

import re
from typing import Any

_INDEX = re.compile(r"-?[0-9]{1,6}")
_SHOWN = 8


class PathError(ValueError):
    """A path that leads nowhere; the text says how far it went and what was there."""


def check(path: str) -> str:
    """Return a path if it is one.

    Raises:
        ValueError: it has an empty step.
    """
    if path and not all(step.strip() for step in path.removesuffix("?").split(".")):
        raise ValueError("expected a dotted path such as choices.0.message.content or documents.*.text")
    return path


def find(answer: Any, path: str) -> Any:
    """Return what stands at a path; with `*`, a flat list of all that do; None where an optional path ends early.

    Raises:
        PathError: nothing stands there.
    """
    optional = path.endswith("?")
    steps = path.removesuffix("?").split(".")
    found = [answer]
    for number, step in enumerate(steps):
        after: list[Any] = []
        for value in found:
            try:
                after += _step(value, step)
            except LookupError:
                if not optional:
                    there = ".".join(steps[:number]) or "the answer"
                    raise PathError(f"no {step!r} in {there}, which {_describe(value)}") from None
        found = after
    if "*" in steps:
        return found
    return found[0] if found else None


def _step(value: Any, step: str) -> list[Any]:
    """Return where a step leads from a value; raises LookupError where it leads nowhere."""
    if step == "*" and isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [value[step]]
    if isinstance(value, list) and _INDEX.fullmatch(step):
        return [value[int(step)]]
    raise LookupError(step)


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        keys = [str(key)[:40] for key in list(value)[:_SHOWN]]
        more = ", …" if len(value) > _SHOWN else ""
        return f"has {', '.join(keys)}{more}" if keys else "is an empty object"
    if isinstance(value, list):
        return f"is a list of {len(value)}"
    return f"is {_KINDS.get(type(value), 'a number')}"


_KINDS = {str: "a text", bool: "true or false", type(None): "null"}
