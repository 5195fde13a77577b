"""`results.json`: a run's results and verdict in one versioned document (see docs/reference.md).

Here alone records become its JSON, and its JSON records. A record whose parts are records has their keys beside its
own, and a mean has its interval beside it.

`python -m metrics.analysis.document` prints its JSON schema.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from basic_control.data.documents import METHODOLOGY, METHODOLOGY_VERSION, RESULTS_VERSION
from basic_control.metrics.analysis.explainability import ExplainabilityResult
from basic_control.metrics.analysis.headlines import Decision, Headline, Measurement, ModelResult, Shortfall
from basic_control.metrics.analysis.judged import CorrectedMean
from basic_control.metrics.analysis.pairs import Comparison, MissingPairs, PairedTest
from basic_control.metrics.analysis.passports import Passport, read_passport
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.summary import COLUMNS, Counts, SummaryRow, read_cell
from basic_control.metrics.analysis.verdict import RunVerdict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_AT_ENDS = ("mean", "interval.low", "interval.high")
"""What a cell has of a mean: itself, and the ends of its interval."""


def _beside(name: str, interval: str = "") -> Mapping[str, str]:
    """Return the keys of a mean, which has its interval beside it."""
    return {name: "mean", interval or f"{name}_interval": "interval"}


_SPREAD: Mapping[type, Mapping[str, type | Mapping[str, str]]] = {
    Headline: {"measured": Measurement, "missing": Shortfall, "decided": Decision},
    Measurement: {
        "score": _beside("score", "interval"),
        "mean": _beside("mean"),
        "corrected": _beside("corrected"),
    },
    Shortfall: {"lower": _beside("lower"), "upper": _beside("upper")},
    CorrectedMean: {"raw": _beside("raw"), "value": _beside("value", "interval")},
    SummaryRow: {
        "counts": Counts,
        **{end: dict(zip(columns, _AT_ENDS, strict=True)) for end, columns in COLUMNS.items()},
    },
    Comparison: {"test": PairedTest, "missing": MissingPairs},
}
"""Fields whose parts stand beside the others: of a record all, of a mean by these keys."""
_COMPUTED: Mapping[type, Mapping[str, str]] = {
    Comparison: {"significant": "boolean"},
    RunVerdict: {"exit_code": "integer"},
    ModelResult: {"verdict": "string"},
}
"""What is computed from a record and stands beside its fields, by JSON's types."""
_RENAMED = {"is_measured": "measured", "is_only": "only"}
_OF_OVERALL = (
    "score", "interval", "lower", "lower_interval", "upper", "upper_interval", "measured", "corrected",
    "corrected_interval", "threshold", "outcome", "reason", "n_deciding",
)  # fmt: skip
"""What a model's entry has of its overall score."""
_PATHS = {
    "totals": "totals",
    "cells": "cells",
    "comparisons": "compared.pairs",
    "races": "compared.races",
    "groups": "compared.groups",
    "slices": "compared.slices",
    "repeats": "repeats",
    "judges": "judged.agreement",
    "explainability": "explainability",
    "stated": "stated",
    "corrected": "judged.corrected",
    "baseline": "baseline",
    "doubled": "doubled",
    "few_templates": "few_templates",
    "judge_statuses": "judged.statuses",
    "self_judged": "judged.self_judged",
    "cascades": "judged.cascades",
    "passports": "judged.passports",
    "twins": "twins.results",
    "twin_counts": "twins.counts",
}
"""The keys of the document after `run` and `final`, and where in the results their values are."""


@cache
def list_keys(kind: type[Any]) -> Mapping[str, str]:
    """Return the keys of a record in the document, each with the path of its value in the record."""
    if kind is ModelResult:
        of_overall = {key: f"overall.{list_keys(Headline)[key]}" for key in _OF_OVERALL}
        names = ("missing", "failed", *_COMPUTED[kind])
        return {"model": "model", "suites": "headlines", **of_overall, **dict(zip(names, names, strict=True))}
    keys: dict[str, str] = {}
    for name in (field.name for field in fields(kind)):
        parts = _SPREAD.get(kind, {}).get(name)
        if parts is None:
            keys[_RENAMED.get(name, name)] = name
        else:
            own_keys = list_keys(parts) if isinstance(parts, type) else parts
            keys |= {key: f"{name}.{path}" for key, path in own_keys.items()}
    # A headline stands in its model's entry, which has the name.
    if kind is Headline:
        del keys["model"]
    return keys | {name: name for name in _COMPUTED.get(kind, {})}


def document(results: Results, verdict: RunVerdict) -> dict[str, Any]:
    """Return the document as JSON; NaN and missing numbers are null."""
    run = dict(results.run)
    if results.spending:
        run["spending"] = _json(results.spending)
    values = {key: _json(attrgetter(path)(results)) for key, path in _PATHS.items()}
    versions = {"schema_version": RESULTS_VERSION, METHODOLOGY: METHODOLOGY_VERSION}
    return {**versions, "run": run, "final": record_json(verdict), **values}


def _json(value: Any) -> Any:
    """Return a value as JSON, records by the keys of the document."""
    match value:
        case Passport():
            return value.as_dict()
        case ExplainabilityResult():
            return dict(value.published)
        case Mapping():
            return {str(key): _json(item) for key, item in value.items()}
        case list() | tuple():
            return [_json(item) for item in value]
    if is_dataclass(value):
        return record_json(value)
    return value


def record_json(record: Any) -> dict[str, Any]:
    """Return a record by the keys of the document."""
    return {key: _json(attrgetter(path)(record)) for key, path in list_keys(type(record)).items()}


def read(document: Mapping[str, Any]) -> tuple[Results, RunVerdict]:
    """Return the records of a document, as far as it has them: of its beginning, or of an older one.

    Raises:
        ValueError: it is not such a document.
        KeyError, TypeError: likewise.
    """
    final, run = document["final"], document["run"]
    verdict = _adapter(RunVerdict).validate_python({**final, "models": [*map(_read_model, final["models"])]})
    values = {"run": run, "models": (), "spending": run.get("spending")}
    own_forms = {key: read_form(document[key]) for key, read_form in _READ.items() if key in document}
    # An older document lacks keys, whose fields then have their defaults.
    values |= _group_values({**document, **own_forms}, _PATHS)
    results = _adapter(Results).validate_python(values)
    return replace(results, models=verdict.models), verdict


@cache
def _adapter(kind: type[Any]) -> "TypeAdapter[Any]":
    """Return what checks and makes records of a kind."""
    from pydantic import TypeAdapter  # slow import (a third of a second), needed only by who reads

    return TypeAdapter(kind)


def _group_values(entry: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of an entry at their paths, as far as it has them."""
    values: dict[str, Any] = {}
    for key, path in paths.items():
        if key in entry:
            *holders, name = path.split(".")
            group = values
            for holder in holders:
                group = group.setdefault(holder, {})
            group[name] = entry[key]
    return values


def _read_model(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's entry as the fields of its record."""
    model = _group_values(entry, list_keys(ModelResult))
    headlines = [_group_values({"metric": "", **suite}, list_keys(Headline)) for suite in model["headlines"]]
    name = model["model"]
    return {
        **model,
        "headlines": [{**headline, "model": name} for headline in headlines],
        "overall": {"suite": "", "metric": "", **model["overall"], "model": name},
    }


def _read_baseline(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a comparison with a baseline as the fields of its record; None if there is none."""
    if entry is None:
        return None
    headlines = [
        {**change, "pair": _group_values(change["pair"], list_keys(Comparison))} for change in entry["headlines"]
    ]
    return {**entry, "headlines": headlines}


def _read_each(read_entry: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what reads the entries of a list, without those that it cannot read."""
    return lambda entries: [*filter(None, map(read_entry, entries))]


_READ: Mapping[str, Callable[[Any], Any]] = {
    "cells": _read_each(read_cell),
    "comparisons": _read_each(partial(_group_values, paths=list_keys(Comparison))),
    "corrected": _read_each(partial(_group_values, paths=list_keys(CorrectedMean))),
    "baseline": _read_baseline,
    "explainability": _read_each(ExplainabilityResult),
    "passports": _read_each(read_passport),
}
"""How those values are read that are written in a form of their own."""


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of `results.json`, generated from its types."""
    results, verdict = (_adapter(kind).json_schema(mode="serialization") for kind in (Results, RunVerdict))
    kinds = {**results.pop("$defs"), **verdict.pop("$defs"), "RunVerdict": verdict}
    for kind, computed in _COMPUTED.items():
        kinds[kind.__name__]["properties"] |= {name: {"type": json_type} for name, json_type in computed.items()}
    of_kind = partial(_find_properties, kinds=kinds)
    properties: dict[str, Any] = {
        "schema_version": {"const": RESULTS_VERSION, "description": "the version of this schema"},
        METHODOLOGY: {"type": "integer", "description": "the version of what scores and intervals mean"},
        "run": results["properties"]["run"],
        "final": {"$ref": "#/$defs/RunVerdict"},
        **of_kind(results, _PATHS),
    }
    spread = {}
    for kind in {**_SPREAD, **_COMPUTED}:
        record = kinds[kind.__name__]
        own_properties = of_kind(record, list_keys(kind))
        spread[kind.__name__] = {**record, "properties": own_properties, "required": [*own_properties]}
    # In the form that the seed has published.
    spread["ExplainabilityResult"] = {"type": "object", "properties": {}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **results,
        "title": "results.json",
        "properties": properties,
        "required": [*properties],
        "$defs": {**kinds, **spread},
    }


def _find_properties(
    record: Mapping[str, Any], paths: Mapping[str, str], kinds: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the schemas of the values at paths in a record, by their keys."""
    properties: dict[str, Any] = {}
    for key, path in paths.items():
        schema_of_value = record
        for name in path.split("."):
            # A record within a record is a reference: {"$ref": "#/$defs/Counts"}.
            holder = kinds.get(schema_of_value.get("$ref", "").rpartition("/")[2], schema_of_value)
            schema_of_value = holder["properties"][name]
        properties[key] = schema_of_value
    return properties


if __name__ == "__main__":
    import json

    print(json.dumps(schema(), indent=2))  # noqa: T201 - the schema, for who validates
