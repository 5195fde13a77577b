"""Values of a foreign configuration as text, with its variables filled in."""

import json
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")  # {{ city }}
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
MOST_TEXT = 1_000_000
"""Characters of a text after its variables are filled in."""


class UntakenError(Exception):
    """A part of a foreign configuration that is not taken over; the text says why."""


def write_text(value: Any) -> str:
    """Return a value as JavaScript's `String` writes it; objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def fill_variables(value: Any, variables: Mapping[str, Any]) -> Any:
    """Return a value with `{{ variable }}` replaced in all its texts, once.

    Raises:
        UntakenError: a text has another template, or names no variable of the test.
    """
    if isinstance(value, dict):
        return dict(zip(value, fill_variables([*value.values()], variables), strict=True))
    if isinstance(value, list):
        return [fill_variables(entry, variables) for entry in value]
    if not isinstance(value, str) or not _TEMPLATE.search(value):
        return value
    names = VARIABLE.findall(value)
    if not {*names} <= {*variables} or _TEMPLATE.search(VARIABLE.sub("", value)):
        raise UntakenError("a template of more than the test's variables")
    # What is filled in is not read as a template again: it may be a hostile row's.
    length = len(value) + sum(len(write_text(variables[name])) for name in names)
    if length > MOST_TEXT:
        raise UntakenError("a text that grows too long")
    return VARIABLE.sub(lambda match: write_text(variables[match[1]]), value)


def is_number(value: Any) -> bool:
    """Return whether a value is a number, and no boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def list_of(value: Any) -> list[Any]:
    """Return a list as it is, and no entries of anything else."""
    if isinstance(value, list):
        return value
    return []


def wrap(value: Any) -> list[Any]:
    """Return a list as it is, and anything else as the only entry of one."""
    if isinstance(value, list):
        return value
    return [value]


def mapping_of(value: Any) -> dict[str, Any]:
    """Return a mapping as it is, and no keys of anything else."""
    return value if isinstance(value, dict) else {}


def match_names(patterns: Sequence[str], names: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names one of whose aliases a pattern is for: `openai:*`, or `openai` for all that begin so."""
    chosen = []
    for name, aliases in names.items():
        for alias, pattern in product(aliases, patterns):
            if fnmatchcase(alias, pattern) or alias.startswith(f"{pattern}:"):
                chosen.append(name)
                break
    return chosen
