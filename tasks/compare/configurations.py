"""Configurations of finished runs: their leaves, and the language of their reports."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from basic_control.prompts.phrases import ENGLISH, catalogue, languages


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf of a configuration with its dotted path; a list entry goes by its `name`, if any."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from flatten(entry, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list) and value and all(map(_has_name, value)):
        for entry in value:
            rest_of_entry = {key: part for key, part in entry.items() if key != "name"}
            yield from flatten(rest_of_entry, f"{path}.{entry['name']}")
    else:
        yield path, value


def _has_name(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "name" in entry


def choose_language(configurations: Iterable[Mapping[str, Any]], language: str = "") -> str:
    """Return the language for output on runs: `language`, else the latest run's own, else English.

    Raises:
        InputError: there is no catalogue of phrases in that language.
    """
    if language:
        catalogue(language)
        return language
    latest = ENGLISH
    for configuration in configurations:
        report = configuration.get("report")
        # A plug-in's language may be gone since.
        if isinstance(report, Mapping) and report.get("language") in languages():
            latest = str(report["language"])
    return latest
