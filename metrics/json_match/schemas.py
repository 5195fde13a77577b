"""JSON schemas (2020-12) without external references."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

_NOWHERE: Registry[Any] = Registry()
"""The registry of a schema: external references are unresolvable, and never fetched."""


def check(schema: dict[str, Any]) -> None:
    """Refuse an invalid schema, or one with external references.

    Raises:
        ValueError: says what is wrong.
    """
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"not a JSON schema ({error.message})") from error
    whole = DRAFT202012.create_resource(schema)
    resolver = _NOWHERE.with_resource("", whole).resolver(whole.id() or "")
    unknown = next(_list_unresolved(whole, resolver), "")
    if unknown:
        raise ValueError(f"$ref names {unknown!r}, which the schema does not hold; nothing is fetched")


def _list_unresolved(part: Resource[Any], resolver: Any) -> Iterator[str]:
    """Yield the unresolvable references of a schema and its subschemas."""
    keys = part.contents if isinstance(part.contents, Mapping) else {}
    for reference in (keys.get("$ref"), keys.get("$dynamicRef")):
        try:
            resolver.lookup(reference or "#")
        except Unresolvable:
            yield str(reference)
    for below in part.subresources():
        yield from _list_unresolved(below, resolver.in_subresource(below))


def problem(schema: Mapping[str, Any], value: Any) -> dict[str, str] | None:
    """Return the first error in a value, and its location.

    Raises:
        RecursionError: the schema's references are circular.
    """
    error = next(iter(Draft202012Validator(schema, registry=_NOWHERE).iter_errors(value)), None)
    return error and {"problem": error.message[:200], "where": error.json_path[:200]}
