"""Configurations of finished runs: their leaves, and the language of their reports."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from basic_control.prompts.phrases import ENGLISH, catalogue, languages


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf of a configuration with its dotted path; a list entry goes by its `name`, if any."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from flatten(entry, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(e, Mapping) and "name" in e for e in value):
        for entry in value:
            yield from flatten({k: v for k, v in entry.items() if k != "name"}, f"{path}.{entry['name']}")
    else:
        yield path, value


def language_of(configurations: Iterable[Mapping[str, Any]], wanted: str = "") -> str:
    """Return the language for output on runs: `wanted`, else the latest run's own, else English.

    Raises:
        InputError: there is no catalogue of phrases in the language wanted.
    """
    if wanted:
        catalogue(wanted)
        return wanted
    reports = [report for one in configurations if isinstance(report := one.get("report"), Mapping)]
    own = [language for report in reports if (language := report.get("language")) in languages()]
    return str(own[-1]) if own else ENGLISH
