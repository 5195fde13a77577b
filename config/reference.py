"""The reference of all keys and columns, in Markdown, made from their schemas: `python -m config.reference`."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from config.declared import known
from config.models import Model
from config.schema import OptionSchemas, Schema
from config.settings import Settings
from data.commands import TOP
from data.plugins import discover, metrics
from data.records import Loader, Provider
from data.suites import Suite, Use
from data.tables import TABLES

HEAD = """\
# Reference

The keys of a configuration, and the columns of the tables that a run writes. This page is generated from the code
(`python -m config.reference`).

A configuration is YAML. Every key is checked before anything is asked; the message for a wrong one names the file,
the line and what is allowed there. `--set path.to.key=value` overrides the file. Editors with a YAML language
server complete and check it by a schema:

```sh
basic-control schema > basic-control.schema.json   # your own plug-ins' paths may follow
```

and a first line `# yaml-language-server: $schema=basic-control.schema.json`.

```yaml
models: [{name: llama3.1:8b, max_concurrency: 4}]
judges: [{name: gpt-4o, provider: openai, api_key_env: OPENAI_API_KEY}]
suites: [basic_control, rag]
basic_control: {n_items: 50, levels: [easy, hard]}
rag: {n_samples: 20, factual_correctness: {mode: precision}}
threshold: 0.7
gate: interval
store: {root: /srv/evaluations/store}
report: {language: ru, junit: report.xml}
```
"""
MODELS = """
## `models` and `judges`

An entry of `judges` has the same keys; its `temperature` is the metric's own by default.
"""
SUITES = """
## `suites`

A list of names ({names}) and of declarations with these keys; [suites.md](suites.md) shows how they are used.
"""
USE = """
### Keys of any metric
"""
SECTIONS = """
## Sections of suites

A section with the name of a shipped suite changes any key of its declaration, and has these short forms:
"""
SEED = """
Weights of suites may be given together: `weights: {cot: 0.5, rag: 0.5}`.

## The seed's form

Instead of `models` and `suites`. A bare name is a model of Ollama; the language is ru, the level easy.

```yaml
models_to_test: [llama3:8b, phi3]
tests_to_run: [t01_simple_logic, t06_mathematics]
runs_per_test: 10
```
"""
TABLES_HEAD = """
## Tables

Parquet files in the [store](store.md). Columns in bold together identify a row; tables of earlier versions may lack
those in italics.

| table | columns |
|:---|:---|
"""
NUMBERS = {"minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}"}
WORDS = {
    "string": "text", "integer": "whole number", "number": "number",
    "boolean": "`true` or `false`", "null": "nothing", "object": "keys and values",
}  # fmt: skip
"""JSON's types as people say them."""
FARTHEST = 2**53
"""A bound beyond it is that of the machine's integers, and not told."""


class _Tables:
    """Tables of keys; what a schema refers to is looked up in the definitions of its source."""

    def __init__(self, source: OptionSchemas) -> None:
        self._defs = source.defs

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

    def rows(self, properties: Mapping[str, Schema], needed: Sequence[str] = ()) -> Iterator[str]:
        """Yield a table of keys; those within a key stand below it, by their whole paths."""
        yield from ("", "| key | value | default | |", "|:---|:---|:---|:---|")
        for key, given in properties.items():
            yield from self._row(key, given, "needed" if key in needed else "")

    def _row(self, key: str, given: Schema, default: str) -> Iterator[str]:
        one = self._target(given)
        inner = next((each for each in map(self._target, one.get("anyOf", [one])) if each.get("properties")), {})
        default = default or _written(one.get("default"))
        kind, default = ("the keys below", "") if inner else (self._kind(one), default)
        said = str(given.get("description") or one.get("description") or "").replace("|", "\\|")
        yield f"| `{key}` | {kind} | {default} | {said} |"
        for name, part in inner.get("properties", {}).items():
            yield from self._row(f"{key}.{name}", part, "needed" if name in inner.get("required", ()) else "")


def _written(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"


def reference() -> str:
    """Return the page."""
    source = OptionSchemas()
    tables = _Tables(source)
    top = source.of(Settings)
    apart = ("models", "judges", "suites")
    lines = [HEAD, "## The run", *tables.rows({name: one for name, one in top.items() if name not in apart})]
    entry = {name: one for name, one in source.of(Model).items() if name != "options"}
    lines += [MODELS, *tables.rows(entry, ("name",))]
    for name, provider in discover(Provider).items():
        if own := source.of(provider.options):
            lines += ["", f"### Keys of provider `{name}`", *tables.rows(own, source.needed(provider.options))]
    names = ", ".join(f"`{name}`" for name in known())
    lines += [SUITES.format(names=names), *tables.rows(source.of(Suite), ("name", "items", "metrics"))]
    for name, loader in discover(Loader).items():
        lines += ["", f"### `items` of loader `{name}`"]
        lines += tables.rows(source.of(loader.options), source.needed(loader.options))
    lines += [USE, *tables.rows(source.of(Use))]
    for name, metric in metrics().items():
        if own := source.of(metric.options):
            lines += ["", f"### Metric `{name}`", *tables.rows(own, source.needed(metric.options))]
    lines += [SECTIONS]
    for name, declared in known().items():
        lines += ["", f"### `{name}`", "", "| key | stands for |", "|:---|:---|"]
        for key, paths in declared.keys.items():
            lines.append(f"| `{key}` | {', '.join('`' + '.'.join(map(str, path)) + '`' for path in paths)} |")
    return "\n".join([*lines, SEED.rstrip("\n"), TABLES_HEAD.rstrip("\n"), *_tables()]) + "\n"


def meanings() -> dict[str, str]:
    """Return what each column holds, by its name."""
    found: dict[str, str] = yaml.safe_load((TOP / "data" / "columns.yaml").read_text(encoding="utf-8"))
    return found


def _tables() -> Iterator[str]:
    """Yield each table's columns, then every column's type and meaning, which is the same in all tables."""
    for table in TABLES.values():
        marked = (
            f"**`{n}`**" if n in table.key else f"*`{n}`*" if n in table.added else f"`{n}`" for n in table.columns
        )
        yield f"| `{table.name}` | {', '.join(marked)} |"
    yield from ("", "| column | type | |", "|:---|:---|:---|")
    kinds = {name: kind for table in TABLES.values() for name, kind in table.columns.items()}
    explained = meanings()
    for name, kind in kinds.items():
        said = explained[name].replace("|", "\\|")
        yield f"| `{name}` | {kind} | {said} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
