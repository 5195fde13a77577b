"""Bounds for a judge's reply: a schema with limits, so that a constrained reply ends within the token limit.

If a schema leaves a text or a list unbounded, a judge that loses track writes until its JSON is truncated. The
bounds on texts and lists follow from the judge's token limit.
"""

from bisect import bisect
from collections.abc import Mapping
from typing import Any

CHARACTERS: Mapping[str, float] = {"en": 3.0, "ru": 2.0, "zh": 1.0}
"""Characters of text per token, by language: a low estimate for models with a vocabulary for it."""

_OTHER = 1.5
_FORM = 2.0  # characters of JSON's own syntax, keys and labels per token
_NUMBER = 8
_LEAST = 8
_ENTRY: Mapping[str, int] = {"zh": 50}
_ENTRY_ELSE = 120
"""Characters allowed for an entry of an open list, such as a claim."""

LONGEST = 1_000
"""Maximum length of a text in characters, such as a reason, whatever the token limit."""
MOST = 200
"""Maximum number of entries of an open list."""


def bound(schema: Mapping[str, Any], tokens: int, language: str) -> dict[str, Any]:
    """Return the schema with a bound on every text and list that has none or a wider one, in the same order.

    `tokens` is the reply's limit. An open list has as many entries as fit with `_ENTRY` characters each; without
    open lists the texts share what the fixed parts leave over.
    """
    held = CHARACTERS.get(language, _OTHER)
    if _open(schema):
        length = _ENTRY.get(language, _ENTRY_ELSE)
        more = bisect(range(2, MOST + 1), tokens, key=lambda n: _tokens(schema, length, n, held))
        return _with(schema, length, 1 + more)
    more = bisect(range(_LEAST + 1, LONGEST + 1), tokens, key=lambda n: _tokens(schema, n, MOST, held))
    return _with(schema, _LEAST + more, MOST)


def _parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for part in schema.get("properties", {}).values() if isinstance(part, Mapping)]


def _open(schema: Mapping[str, Any]) -> bool:
    """Return whether the schema has a list without a maximum."""
    if schema.get("type") == "array":
        return "maxItems" not in schema or _open(schema.get("items", {}))
    return any(map(_open, _parts(schema)))


def _tokens(schema: Mapping[str, Any], length: int, entries: int, held: float) -> float:
    """Return the tokens of the longest reply, with texts of `length` characters and open lists of `entries`."""
    if "enum" in schema:
        return (max(len(str(one)) for one in schema["enum"]) + 2) / _FORM
    kind = schema.get("type")
    if kind == "object":
        form = sum(len(name) + 6 for name in schema.get("properties", {})) + 2
        return form / _FORM + sum(_tokens(part, length, entries, held) for part in _parts(schema))
    if kind == "array":
        number = min(int(schema.get("maxItems", entries)), max(entries, int(schema.get("minItems", 0))))
        return 1 + number * (1 + _tokens(schema.get("items", {}), length, entries, held))
    if kind == "string":
        return min(length, int(schema.get("maxLength", length))) / held + 1
    return _NUMBER / _FORM


def _with(schema: Mapping[str, Any], length: int, entries: int) -> dict[str, Any]:
    found = dict(schema)
    if "enum" in schema:
        return found
    kind = schema.get("type")
    if kind == "string":
        found["maxLength"] = min(length, int(schema.get("maxLength", length)))
    if kind == "array":
        if "items" in schema:
            found["items"] = _with(schema["items"], length, entries)
        found["maxItems"] = int(schema.get("maxItems", max(entries, int(schema.get("minItems", 0)))))
    if isinstance(schema.get("properties"), Mapping):
        found["properties"] = {name: _with(part, length, entries) for name, part in schema["properties"].items()}
    return found
