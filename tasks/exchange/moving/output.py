"""Write a converted configuration: eval.yaml, and a file of rows for each suite."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from basic_control.data.characters import make_storable, make_visible
from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving import lm_eval, openai_evals, promptfoo
from basic_control.tasks.exchange.moving.conversions import Account, Conversion
from basic_control.tasks.exchange.moving.datasets import JUDGE, convert_rows, load_any

CONFIGURATION = "eval.yaml"
SHOWN = 5
"""Tests that a line names."""
_STRICT = {"promptfoo": ", as there, where one failed test exits with 100 (PROMPTFOO_PASS_RATE_THRESHOLD)"}
"""What a threshold of 1 stands for in another tool."""
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
    files = {f"{name}.jsonl": _write_rows(rows) for name, rows in conversion.rows.items()}
    files |= {_name_examples(name): _write_rows(rows) for name, rows in conversion.examples.items()}
    texts = conversion.texts
    # The name of a prompt's file has no white space.
    if re.search(r"\s", folder.as_posix()):
        texts = {}
    files |= texts
    paths = [configuration, *map(folder.joinpath, files)]
    for path in paths:
        if path.exists():
            raise InputError(f"{path}: already exists; name another folder: init FOLDER --from FILE.")
    suites, strictness = [], ""
    for suite in conversion.suites:
        name = suite["name"]
        keys = _name_prompts(suite, conversion.texts, folder if texts else None)
        keys["items"] = {"data": (folder / f"{name}.jsonl").as_posix(), **suite["items"]}
        if name in conversion.examples:
            keys["examples"] = {"data": (folder / _name_examples(name)).as_posix(), **suite["examples"]}
        suites.append(keys)
        if keys.get("threshold") == 1:
            strictness = (
                f"# `threshold: 1.0`: every row must pass{_STRICT.get(conversion.tool, '')}; 0.9: nine of ten.\n"
            )
    document: dict[str, Any] = {"models": conversion.models, "judges": conversion.judges, "suites": suites}
    # Replies that exist already are asked of no model, which an empty list says.
    document = {key: value for key, value in document.items() if value or key == "models"} | {"gate": "point"}
    text = yaml.dump(document, Dumper=_Written, allow_unicode=True, sort_keys=False, width=110)
    head = f"# Converted from a configuration of {conversion.tool}. Every key: docs/reference.md.\n{strictness}"
    if JUDGE in conversion.judges:
        head += "# The judge rules compares words and reads no meaning: name a model for it, then a `threshold`.\n"
    head += "".join(f"# {line}\n" for line in [*conversion.remarks, *list_losses(conversion.account)])
    try:
        for file, content in {**files, CONFIGURATION: f"{head}{text}{_ABOUT}"}.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(make_storable(content), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder.") from error
    return paths


def _write_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _name_examples(suite: str) -> str:
    """Return the name of the file of a suite's examples."""
    return f"{suite}-examples.jsonl"


def _name_prompts(suite: Mapping[str, Any], texts: Mapping[str, str], folder: Path | None) -> dict[str, Any]:
    """Return a suite with its prompts' files by their paths from where a run starts; without a folder, texts."""
    paths = dict(texts)
    if folder is not None:
        paths = {name: (folder / name).as_posix() for name in texts}
    renamed = dict(suite)
    prompt = suite.get("prompt")
    # Messages are a list, and no file.
    if isinstance(prompt, str):
        renamed["prompt"] = paths.get(prompt, prompt)
    prompts = dict(suite.get("prompts", {}))
    for name, text in prompts.items():
        if isinstance(text, str):
            prompts[name] = paths.get(text, text)
    if prompts:
        renamed["prompts"] = prompts
    return renamed


def list_losses(account: Account) -> list[str]:
    """Return lines on what was left out: which tests lost a check, and what else has no equal."""
    lines = []
    for kind, tests in sorted(account.losses.items()):
        names = ", ".join(tests[:SHOWN])
        if len(tests) > SHOWN:
            names += ", …"
        lines.append(f"Left out: {kind}, of {len(tests)} of {account.n_tests} tests: {names}")
    for note, count in account.list_notes():
        if note.outcome == "left out" and note.subject not in account.losses:
            lines.append(f"Left out: {note.subject} ({count}): {note.reason}")
    # A comment ends with its line, whatever a foreign name holds.
    return [" ".join(make_visible(line).split()) for line in lines]
