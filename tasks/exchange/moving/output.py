"""Write a converted configuration: eval.yaml, and a file of rows for each suite."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from basic_control.data.characters import make_storable
from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving import lm_eval, openai_evals, promptfoo
from basic_control.tasks.exchange.moving.conversions import Conversion
from basic_control.tasks.exchange.moving.datasets import convert_rows, load_any

CONFIGURATION = "eval.yaml"
TOOLS = (promptfoo, lm_eval, openai_evals)
_ABOUT = """\
# about: {owner: a name, purpose: its use, decision: a release} # by whom and what for, on the page of `audit`
"""


class _Written(yaml.SafeDumper):
    """A dumper without anchors, which our configurations do not have."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - yaml's own signature
        return True


def convert_file(path: Path) -> Conversion:
    """Return another tool's file as a configuration of ours.

    Raises:
        InputError: it is of no tool that is known, or nothing of it can be taken over.
    """
    dataset, rows, raw = load_any(path)
    if dataset:
        return convert_rows(dataset, rows, path)
    for tool in TOOLS:
        if tool.fits(raw):
            return _convert(tool, raw, path)
    names = ", ".join(tool.TOOL for tool in TOOLS)
    keys = ", ".join(map(str, [*raw][:8]))
    raise InputError(f"{path}: found the keys {keys}; expected a configuration of {names}.")


def _convert(tool: ModuleType, raw: Mapping[str, Any], path: Path) -> Conversion:
    try:
        conversion: Conversion = tool.convert(raw, path)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        # A hostile file may hold any kind of value anywhere.
        problem = f"{type(error).__name__}: {str(error)[:200]}"
        raise InputError(f"{path}: looks like {tool.TOOL}'s, but part of it cannot be read ({problem}).") from error
    return conversion


def write_conversion(conversion: Conversion, folder: Path) -> list[Path]:
    """Write a conversion into a folder, and return the files, the configuration first.

    Raises:
        InputError: a file exists already, or cannot be written.
    """
    configuration = folder / CONFIGURATION
    tables = {f"{name}.jsonl": rows for name, rows in conversion.rows.items()}
    tables |= {_name_examples(name): rows for name, rows in conversion.examples.items()}
    paths = [configuration, *map(folder.joinpath, tables)]
    for path in paths:
        if path.exists():
            raise InputError(f"{path}: already exists; name another folder: init FOLDER --from FILE.")
    suites = []
    for suite in conversion.suites:
        name = suite["name"]
        keys = {**suite, "items": {"data": (folder / f"{name}.jsonl").as_posix(), **suite["items"]}}
        if name in conversion.examples:
            keys["examples"] = {"data": (folder / _name_examples(name)).as_posix(), **suite["examples"]}
        suites.append(keys)
    document: dict[str, Any] = {"models": conversion.models, "judges": conversion.judges, "suites": suites}
    # Replies that exist already are asked of no model, which an empty list says.
    document = {key: value for key, value in document.items() if value or key == "models"} | {"gate": "point"}
    text = yaml.dump(document, Dumper=_Written, allow_unicode=True, sort_keys=False, width=110)
    head = f"# Converted from a configuration of {conversion.tool}. Every key: docs/reference.md.\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, rows in tables.items():
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            (folder / file).write_text(make_storable("".join(lines)), encoding="utf-8")
        configuration.write_text(make_storable(f"{head}{text}{_ABOUT}"), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder.") from error
    return paths


def _name_examples(suite: str) -> str:
    """Return the name of the file of a suite's examples."""
    return f"{suite}-examples.jsonl"
