"""The reference of commands, tables and results.json, in Markdown: `python -m flows.cli.reference`.

It prints docs/reference.md, made from the commands' files, `data/tables.py` and the types of `metrics/results.py`.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cyclopts import App, Argument, Parameter

from data.commands import SCRIPT
from data.tables import MEANINGS, TABLES
from flows.cli.application import COMMANDS, build
from flows.cli.options import Options
from metrics.analysis.document import schema as results_schema

HEAD = """\
# Every option, table and key

This page is made from the code (`python -m flows.cli.reference`). [Commands](commands.md) says which command is for
what, and has the exit codes; [Configuration](configuration.md) has the keys of a configuration,
[results.json](results.md) what its keys mean, [What a run says of itself](observability.md) its events.

## Commands

Each takes `--help`. A name in capitals stands for a value.
"""
TABLES_HEAD = """
## Tables

Parquet files in the store ([how they are kept](store.md)). The columns marked *key* tell rows apart; *added* ones
are missing in tables of earlier versions, and no later stage depends on *volatile* ones.
"""
KEYS_HEAD = """
## Keys of `results.json`

With their types, as the JSON schema has them (`python -m metrics.analysis.document`).
"""


def _explained(text: str) -> Mapping[str, str]:
    """Return what a docstring says of each argument, by its name."""
    _, _, listed = text.partition("Args:")
    found = re.findall(r"^\s+(\w+): (.+(?:\n\s{12,}.+)*)", listed, re.MULTILINE)
    return {name: " ".join(said.split()) for name, said in found}


def _option(argument: Argument, said: Mapping[str, str]) -> str:
    """Return an option's row."""
    given = argument.parameter
    name = argument.names[0]
    value = given.metavar or "" if name.startswith("-") else ""
    if not value and name.startswith("-") and argument.hint is not bool:
        value = "N" if argument.hint in (int, float) else "TEXT"
    text = given.help or said.get(argument.field_info.name, "")
    if isinstance(given.choices, tuple):
        text += f" (one of {', '.join(str(one) for one in given.choices)})"
    return f"| `{f'{name} {value}'.strip()}` | {_cell(text)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip()


def _command(app: App, name: str, shared: Sequence[str]) -> Iterator[str]:
    """Yield a command's heading, its first line and its options; `shared` are the rows of those that many have."""
    said = str(app.help or "")
    first = said.strip().partition("\n")[0]
    yield from ("", f"### `{name}`", "", first)
    rows = [_option(one, _explained(said)) for one in app.assemble_argument_collection() if one.show and one.names]
    if common := name != "run" and set(shared) <= {*rows}:
        rows = [row for row in rows if row not in shared]
    if rows:
        yield from ("", "| option | |", "|:---|:---|", *rows)
    if common:
        yield from ("", "Beside these, the options of [`run`](#run) that make a configuration.")


def _options(*, options: Options | None = None) -> None:
    """Have the options of a run, and no others."""


def _commands() -> Iterator[str]:
    options = App(default_parameter=Parameter(negative=(), allow_repeating=True))
    options.default(_options)
    shared = [_option(one, {}) for one in options.assemble_argument_collection() if one.show and one.names]
    for command in COMMANDS:
        name = command.replace("_", "-")
        app = build(command, f"{SCRIPT} {name}")
        if not app.show:
            continue
        verbs = [verb for verb in app if not verb.startswith("-")]
        if not verbs:
            yield from _command(app, name, shared)
        for verb in verbs:
            yield from _command(app[verb], f"{name} {verb}", shared)


def _tables() -> Iterator[str]:
    for table in TABLES.values():
        yield from ("", f"### `{table.name}`", "", "| column | type | |", "|:---|:---|:---|")
        for name, kind in table.columns.items():
            marks = [word for word in ("key", "added", "volatile") if name in getattr(table, word)]
            noted = f" (*{', '.join(marks)}*)" if marks else ""
            yield f"| `{name}` | {kind} | {_cell(MEANINGS[name])}{noted} |"


def _noun(name: str) -> str:
    """Return a type's name; of two types with one name, that of its module as well."""
    _, _, inner = name.partition("__")
    module, _, noun = inner.partition("__")
    return f"{noun} of {module}" if noun else name


def _kind(schema: Mapping[str, Any]) -> str:
    """Return a JSON type in words."""
    if noun := _noun(str(schema.get("$ref", "")).rpartition("/")[2]):
        return f"[{noun}](#{noun.lower().replace(' ', '-')})"
    if listed := schema.get("anyOf"):
        return " or ".join(_kind(one) for one in listed)
    if values := schema.get("enum", [schema["const"]] if "const" in schema else ()):
        return ", ".join(f"`{one}`" for one in values)
    inner = schema.get("items") if schema.get("type") == "array" else schema.get("additionalProperties")
    if isinstance(inner, Mapping) and inner:
        return f"list of {_kind(inner)}" if schema["type"] == "array" else f"{_kind(inner)} by name"
    return {"array": "list"}.get(str(schema.get("type")), str(schema.get("type", "any value")))


def _keys() -> Iterator[str]:
    schema = results_schema()
    for noun, one in {"Results": schema, **schema["$defs"]}.items():
        if "properties" in one:
            yield from ("", f"### {_noun(noun)}", "", "| key | type |", "|:---|:---|")
            yield from (f"| `{key}` | {_kind(part)} |" for key, part in one["properties"].items())


def reference() -> str:
    """Return the page."""
    return "\n".join(
        [
            HEAD.rstrip("\n"),
            *_commands(),
            TABLES_HEAD.rstrip("\n"),
            *_tables(),
            KEYS_HEAD.rstrip("\n"),
            *_keys(),
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(reference())
