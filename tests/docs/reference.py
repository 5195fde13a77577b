"""The reference of all keys and columns, in Markdown, made from their schemas: `make reference`."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Template

from basic_control.config.declared import load_declarations
from basic_control.config.models import Model
from basic_control.config.settings import Settings
from basic_control.data.commands import TOP
from basic_control.data.options import Declared, model_of
from basic_control.data.plugins import discover, metrics
from basic_control.data.records import Loader, Provider
from basic_control.data.suites import Suite, Use
from basic_control.data.tables import TABLES

NUMBERS = {"minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}"}
WORDS = {
    "string": "text", "integer": "whole number", "number": "number",
    "boolean": "`true` or `false`", "null": "nothing", "object": "keys and values",
}  # fmt: skip
"""JSON's types as people say them."""
FARTHEST = 2**53
"""A bound beyond it is that of the machine's integers, and not told."""


Schema = dict[str, Any]


class _Tables:
    """Tables of keys; what a schema refers to is looked up among all definitions."""

    def __init__(self) -> None:
        self._defs: dict[str, Schema] = {}

    def of(self, declared: Declared) -> dict[str, Schema]:
        """Return the schemas of keys, by name."""
        schema = model_of(declared).model_json_schema()
        self._defs |= schema.get("$defs", {})
        return dict(schema.get("properties", {}))

    def _target(self, one: Schema) -> Schema:
        """Return what a schema refers to, with what stands beside the reference."""
        if "$ref" not in one:
            return one
        return {**self._defs[one["$ref"].rpartition("/")[2]], **{k: v for k, v in one.items() if k != "$ref"}}

    def _kind(self, one: Schema) -> str:
        """Return what a value may be, in words."""
        one = self._target(one)
        if listed := one.get("anyOf"):
            return " or ".join(dict.fromkeys(self._kind(each) for each in listed))
        if "enum" in one or "const" in one:
            return ", ".join(f"`{value}`" for value in one.get("enum", [one.get("const")]) if value)
        named = str(one.get("type", "any value"))
        if named == "array":
            return f"list of {self._kind(one['items'])}" if "items" in one else "list"
        bounds = [said.format(one[key]) for key, said in NUMBERS.items() if abs(one.get(key, FARTHEST)) < FARTHEST]
        return " ".join([WORDS.get(named, named), *bounds])

    def rows(self, properties: Mapping[str, Schema], needed: Sequence[str] = ()) -> str:
        """Return a table of keys; those within a key stand below it, by their whole paths."""
        every = [
            line
            for key, given in properties.items()
            for line in self._row(key, given, "needed" if key in needed else "")
        ]
        return "\n".join(("", "| key | value | default | |", "|:---|:---|:---|:---|", *every))

    def _row(self, key: str, given: Schema, default: str) -> Iterator[str]:
        one = self._target(given)
        inner = next((each for each in map(self._target, one.get("anyOf", [one])) if each.get("properties")), {})
        default = default or _written(one.get("default"))
        kind = self._kind(one)
        if inner:
            # Without the key, some of those below it may have other defaults than beside others of it.
            kind, default = "the keys below", _written(_changed_defaults(given.get("default"), inner))
        said = str(given.get("description") or one.get("description") or "").replace("|", "\\|")
        yield f"| `{key}` | {kind} | {default} | {said} |"
        for name, part in inner.get("properties", {}).items():
            yield from self._row(f"{key}.{name}", part, "needed" if name in inner.get("required", ()) else "")


def _changed_defaults(value: Any, inner: Schema) -> dict[str, Any]:
    """Return those of a key's default values that are not the defaults of the keys below it."""
    if not isinstance(value, Mapping):
        return {}
    defaults = {name: part.get("default") for name, part in inner["properties"].items()}
    return {name: part for name, part in value.items() if part != defaults.get(name)}


def _written(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"


def reference() -> str:
    """Return the page: `reference.md.j2`, filled."""
    source = _Tables()
    rows = source.rows

    def listed(units: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the tables of units' options, by the units' names."""
        every = ((name, source.of(unit.options), needed(unit.options)) for name, unit in units.items())
        return [(name, rows(own, names)) for name, own, names in every if own]

    apart = {"models", "judges", "suites"}
    text = (Path(__file__).parent / "reference.md.j2").read_text(encoding="utf-8")
    page = Template(text, trim_blocks=True, keep_trailing_newline=True)
    return str(
        page.render(
            run=rows({name: one for name, one in source.of(Settings).items() if name not in apart}),
            entry=rows({name: one for name, one in source.of(Model).items() if name != "options"}, ("name",)),
            providers=listed(discover(Provider)),
            suites=load_declarations(),
            suite=rows(source.of(Suite), ("name", "items", "metrics")),
            loaders=listed(discover(Loader)),
            use=rows(source.of(Use)),
            metrics=listed(metrics()),
            tables=TABLES.values(),
            columns={name: kind for table in TABLES.values() for name, kind in table.columns.items()},
            meanings=meanings(),
        )
    )


def needed(declared: Declared) -> list[str]:
    """Return the names of the options that have no default."""
    fields = declared.model_fields if isinstance(declared, type) else {}
    return [name for name, field in fields.items() if field.is_required()]


def meanings() -> dict[str, str]:
    """Return what each column holds, by its name."""
    found: dict[str, str] = yaml.safe_load((TOP / "data" / "columns.yaml").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    sys.stdout.write(reference())
