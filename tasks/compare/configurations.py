"""Configurations of finished runs, side by side: what differs, and which questions each asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from artifacts.runs import Run
from config.declared import known, suites_in
from data.draw import canonical
from data.suites import Suite
from prompts.phrases import ENGLISH, catalogue, languages

_ASIDE = ("max_concurrency", "requests_per_minute", "deadline_s", "max_response_bytes", "api_key_env", "threads",
          "price_in", "price_out", "price_cached", "price_thinking", "batch_price")  # fmt: skip


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf of a configuration with its dotted path; an entry of a list goes by its `name`, if any."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from flatten(entry, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(e, Mapping) and "name" in e for e in value):
        for entry in value:
            yield from flatten({k: v for k, v in entry.items() if k != "name"}, f"{path}.{entry['name']}")
    else:
        yield path, value


def language_of(configurations: Iterable[Mapping[str, Any]], wanted: str = "") -> str:
    """Return the language to speak of runs in: the one wanted, else the latest run's own, else English.

    Raises:
        InputError: there is no catalogue of phrases in the one wanted.
    """
    if wanted:
        catalogue(wanted)
        return wanted
    reports = [report for one in configurations if isinstance(report := one.get("report"), Mapping)]
    own = [language for report in reports if (language := report.get("language")) in languages()]
    return str(own[-1]) if own else ENGLISH


def modern(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with its suites by name, whatever form it was written in."""
    suites = suites_in(configuration)
    names = {suite.name for suite in suites} | {"weights", "suites"}
    rest = {key: value for key, value in configuration.items() if key not in names and key not in known()}
    return {**rest, "suites": [suite.name for suite in suites], **{suite.name: told(suite) for suite in suites}}


def told(suite: Suite) -> dict[str, Any]:
    """Return what a suite's results hang on: all but its names for people.

    A metric that an older run declares enabled, word for word, is as one of which nothing is said.
    """
    found = suite.model_dump(mode="json", exclude={"name", "title"})
    for given in found["metrics"].values():
        if given.get("enabled") is True:
            del given["enabled"]
    return found


def asked(suite: Suite) -> dict[str, Any]:
    """Return what says which questions a suite asks."""
    return {"items": dict(suite.items), "prompts": suite.asked_by}


def differences(runs: Sequence[Run]) -> list[tuple[str, list[Any]]]:
    """Return each configuration key whose values differ, with its value in every run (None: not there).

    Where things are kept, how fast they are asked and how they are reported is left out, and what they cost.
    """
    flat = [dict(flatten(modern(run.configuration))) for run in runs]
    keys = dict.fromkeys(key for one in flat for key in one)
    found = [(key, [one.get(key) for one in flat]) for key in keys if not _aside(key)]
    return [(key, values) for key, values in found if len({canonical(value) for value in values}) > 1]


def _aside(key: str) -> bool:
    tail = key.rpartition(".")[2]
    return (
        key.partition(".")[0] in {"store", "report", "runner", "batch_size", "currency", "prices"} or tail in _ASIDE
    )
