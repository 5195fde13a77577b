"""What replaced models said of how to ask: `--model` changes who is asked, and no parameter with it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class ReplacedModels:
    """The parameters of a configuration's models by path: `shared` are stated alike, `dropped` for some cause."""

    def __init__(self, entries: Iterable[Mapping[str, Any]], source: str) -> None:
        self.source = source
        self.shared: dict[str, Any] = {}
        self.dropped: dict[str, str] = {}
        stated = [dict(_list_parameters(entry)) for entry in entries]
        paths: dict[str, None] = {}
        for parameters in stated:
            paths |= dict.fromkeys(parameters)
        for path in paths:
            self._add(path, [parameters.get(path) for parameters in stated])

    def _add(self, path: str, values: Sequence[Any]) -> None:
        value = values[0]
        is_alike = values.count(value) == len(values)
        is_default = path in _KEYS and value == Model.model_fields[path].default
        is_common = path in _KEYS or path.removeprefix(_EXTRA) in _NESTED
        if not is_alike:
            self.dropped[path] = "its models differ"
        elif not is_common:
            self.dropped[path] = "for its own models"
        elif not is_default:
            self.shared[path] = value

    def complete(self, entry: Mapping[str, Any], *, is_named: bool) -> dict[str, Any]:
        """Return a new entry with the shared parameters; only where it was a name do they replace its own."""
        completed = dict(entry)
        extra = dict(entry.get("extra") or {})
        for path, value in self.shared.items():
            section, name = completed, path
            if path.startswith(_EXTRA):
                section, name = extra, path.removeprefix(_EXTRA)
            if is_named or name not in section:
                section[name] = value
        if extra:
            completed["extra"] = extra
        return completed

    def explain(self, names: Sequence[str]) -> str:
        """Say what new models keep, and what is dropped; '' where all is at its default."""
        if not self.shared and not self.dropped:
            return ""
        verb = "keep"
        if len(names) == 1:
            verb = "keeps"
        parameters = ", ".join(self.shared) or "no parameter"
        sentence = f"{', '.join(names)} {verb} {parameters} of {self.source}"
        causes = [f"{path} ({cause})" for path, cause in self.dropped.items()]
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
    replaced = ReplacedModels([entry for entry in entries if isinstance(entry, Mapping)], source)
    assignments: list[str] = []
    for text in sets:
        assignment = text
        if isinstance(text, Assignment) and text.startswith(_START):
            new_entries = json.loads(text.removeprefix(_START))
            # A name says nothing of parameters; an entry from Python may.
            is_named = text.typed.startswith("--model")
            completed = [replaced.complete(entry, is_named=is_named) for entry in new_entries]
            assignment = Assignment(f"{_START}{as_yaml(completed)}", text.typed)
            sentence = replaced.explain([_name_target(entry) for entry in new_entries])
            if sentence:
                say(sentence)
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
