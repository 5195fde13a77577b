"""Read lists of entities out of the JSON values of a reply, by our keys or by their types."""

from collections.abc import Iterator, Sequence
from typing import Any

from generators._letters import KINDS

_TYPE_KEYS = frozenset({"type", "kind", "category", "label", "entity_type", "тип", "вид"})
_VALUE_KEYS = frozenset(
    {"value", "values", "text", "entity", "content", "normalized", "normalised", "original", "raw", "iso", "e164"}
    | {"email", "address", "phone", "number", "date", "значение", "текст"}
)
_TYPES = {"mail": "emails", "почт": "emails", "phone": "phones", "tel": "phones", "тел": "phones", "date": "dates"}
_TYPES["дат"] = "dates"


def strings(value: Any, depth: int = 3) -> Iterator[str]:
    """Yield the strings in a JSON value, nested at most three deep; of an object with a value, only that."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)) and depth:
        parts = value
        if isinstance(value, dict):
            parts = [part for key, part in value.items() if key.lower() in _VALUE_KEYS] or [*value.values()]
        for part in parts:
            yield from strings(part, depth - 1)


def typed(value: Any) -> tuple[str, Any] | None:
    """Return (kind, value) of `{"type": "email", "value": …}`; the kind is '' where it is none of ours."""
    if not isinstance(value, dict):
        return None
    parts = {key.strip().lower(): part for key, part in value.items()}
    said = next((part for key, part in parts.items() if key in _TYPE_KEYS and isinstance(part, str)), None)
    if said is None or parts.keys().isdisjoint(_VALUE_KEYS):
        return None
    return next((kind for part, kind in _TYPES.items() if part in said.lower()), ""), value


def named_object(value: Any, depth: int = 2) -> dict[str, Any] | None:
    """Return the object that has a key of ours: this one, or one inside it; keys in lower case.

    A list of typed values counts as one.
    """
    if isinstance(value, list):
        entries = [typed(part) for part in value]
        if entries and all(entries):
            named: dict[str, Any] = {}
            for kind, part in filter(None, entries):
                named.setdefault(kind, []).append(part)
            return named
        inside = value[-1:]
    else:
        named = {key.strip().lower(): part for key, part in value.items()}
        if not named.keys().isdisjoint(KINDS):
            return named
        inside = [*value.values()]
    for part in inside if depth else ():
        if isinstance(part, (dict, list)) and (inner := named_object(part, depth - 1)):
            return inner
    return None


def last_first(values: Sequence[Any]) -> Iterator[Any]:
    """Yield JSON values, the last first; typed objects one after the other are a list."""
    run: list[Any] = []
    for value in reversed(values):
        if isinstance(value, dict) and typed(value):
            run.insert(0, value)
            continue
        if run:
            yield run
            run = []
        if isinstance(value, dict) or any(isinstance(part, dict) for part in value):
            yield value
    if run:
        yield run
