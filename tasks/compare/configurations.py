"""Comparison of finished runs' configurations: their differences, and which questions each asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from config.declared import known, merged, suites_in
from config.models import Judge, Model
from config.settings import Settings
from data.draw import canonical
from data.errors import InputError
from prompts.phrases import ENGLISH, catalogue, languages
from tasks.store.runs import Run

_ELSEWHERE = {"store", "report", "runner", "batch_size", "prices"}
_ASIDE = ("max_concurrency", "requests_per_minute", "deadline_s", "max_response_bytes", "api_key_env", "threads",
          "price_in", "price_out", "price_cached", "price_thinking")  # fmt: skip


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


def _whole(kind: type[Model], entry: Any) -> Any:
    """Return an entry of `models` or `judges` with its defaults; unchanged if today's schema rejects it."""
    with suppress(InputError, ValidationError):
        return kind.model_validate(entry).model_dump(mode="json")
    return entry


def modern(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with its suites by name and its defaults, whatever form it was written in.

    A key that is newer than a run has its default: then it made no difference.
    """
    suites = suites_in(configuration)
    names = {suite.name for suite in suites} | {"weights", "suites"}
    rest = {key: value for key, value in configuration.items() if key not in names and key not in known()}
    for key, kind in (("models", Model), ("judges", Judge)):
        rest[key] = [_whole(kind, entry) for entry in rest.get(key) or ()]
    left = ((key, field) for key, field in Settings.model_fields.items() if not field.is_required())
    below = {key: to_jsonable_python(field.get_default(call_default_factory=True)) for key, field in left}
    # All that a suite's results depend on, without its names for people.
    told = {suite.name: suite.model_dump(mode="json", exclude={"name", "title"}) for suite in suites}
    return {**merged(below, rest), "suites": [suite.name for suite in suites], **told}


def differences(runs: Sequence[Run]) -> list[tuple[str, list[Any]]]:
    """Return each configuration key whose values differ, with its value in every run (None: missing).

    Storage, concurrency, reporting and prices are left out.
    """
    flat = [dict(flatten(modern(run.configuration))) for run in runs]
    keys = dict.fromkeys(key for one in flat for key in one)
    found = [
        (key, [one.get(key) for one in flat])
        for key in keys
        if key.partition(".")[0] not in _ELSEWHERE and key.rpartition(".")[2] not in _ASIDE
    ]
    return [(key, values) for key, values in found if len({canonical(value) for value in values}) > 1]
