"""What replaced models said of how to ask: `--model` changes who is asked, and no parameter with it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from basic_control.config.assignments import Assignment, as_yaml
from basic_control.config.models import Model
from basic_control.config.reading import is_shipped, read_raw
from basic_control.flows.cli.console import say

_KEYS = ("system", "temperature", "seed", "max_tokens")
_NESTED = ("stop", "top_p")
"""Parameters of `extra` that every provider takes under these names."""
_START = "models="
_EXTRA = "extra."


def find_shared(entries: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parameters by path that all entries state alike, and those that are dropped, with the cause."""
    stated = [dict(_list_parameters(entry)) for entry in entries]
    shared: dict[str, Any] = {}
    dropped: dict[str, str] = {}
    for path in dict.fromkeys(chain.from_iterable(stated)):
        value, *further_values = (parameters.get(path) for parameters in stated)
        if further_values.count(value) < len(further_values):
            dropped[path] = "its models differ"
        elif path not in _KEYS and path.removeprefix(_EXTRA) not in _NESTED:
            dropped[path] = "for its own models"
        elif path not in _KEYS or value != Model.model_fields[path].default:
            shared[path] = value
    return shared, dropped


def complete(entry: Mapping[str, Any], shared: Mapping[str, Any], *, is_named: bool) -> dict[str, Any]:
    """Return a new entry with the shared parameters; only where it was a name do they replace its own."""
    extra = {path.removeprefix(_EXTRA): value for path, value in shared.items() if path.startswith(_EXTRA)}
    keys = {path: value for path, value in shared.items() if not path.startswith(_EXTRA)}
    own_extra = entry.get("extra") or {}
    completed = {**keys, **entry, "extra": {**extra, **own_extra}}
    if is_named:
        completed = {**entry, **keys, "extra": {**own_extra, **extra}}
    if not completed["extra"]:
        del completed["extra"]
    return completed


def explain(names: Sequence[str], source: str, shared: Iterable[str], dropped: Mapping[str, str]) -> str:
    """Say what new models keep, and what is dropped."""
    verb = "keep"
    if len(names) == 1:
        verb = "keeps"
    sentence = f"{', '.join(names)} {verb} {', '.join(shared) or 'no parameter'} of {source}"
    causes = [f"{path} ({cause})" for path, cause in dropped.items()]
    if causes:
        sentence += f"; dropped: {', '.join(causes)}"
    return f"{sentence}."


def _list_parameters(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what an entry states of how to ask, by path; what it leaves out is at its default."""
    for key in _KEYS:
        yield key, entry.get(key, Model.model_fields[key].default)
    if "structured" in entry:
        yield "structured", entry["structured"]
    extra = entry.get("extra")
    if isinstance(extra, Mapping):
        for name, value in extra.items():
            yield f"{_EXTRA}{name}", value


def keep_parameters(sets: Sequence[str], raw: Mapping[str, Any], source: str) -> list[str]:
    """Return assignments in which new models have the parameters that all replaced ones state alike; say which.

    `raw` is the configuration, as it is written in `source`. What is assigned by `--set` stays as it is.
    """
    entries = raw.get("models")
    if not isinstance(entries, list):
        return [*sets]
    shared, dropped = find_shared(entry for entry in entries if isinstance(entry, Mapping))
    assignments: list[str] = []
    for text in sets:
        assignment = text
        if isinstance(text, Assignment) and text.startswith(_START):
            new_entries = json.loads(text.removeprefix(_START))
            # A name says nothing of parameters; an entry from Python may.
            is_named = text.typed.startswith("--model")
            completed = [complete(entry, shared, is_named=is_named) for entry in new_entries]
            assignment = Assignment(f"{_START}{as_yaml(completed)}", text.typed)
            if shared or dropped:
                say(explain([*map(_name_target, new_entries)], source, shared, dropped))
        assignments.append(assignment)
    return assignments


def _name_target(entry: Mapping[str, Any]) -> str:
    """Name a new model as it is typed: with its provider, unless the name has it."""
    name, provider = str(entry.get("name", "")), str(entry.get("provider", ""))
    if not provider or provider == "callable" or name.startswith(f"{provider}/"):
        return name
    return f"{provider}/{name}"


def keep_parameters_of_file(sets: Sequence[str], file: str) -> list[str]:
    """Return assignments as `keep_parameters`; the parameters of a shipped file are its own models'."""
    if is_shipped(file):
        return [*sets]
    return keep_parameters(sets, read_raw(file), file)
