"""`results.json`: a run's results and verdict in one versioned document (see docs/reference.md).

Here alone records become its JSON, and its JSON records. A record whose parts are records has their keys beside its
own, and a mean has its interval beside it.

`python -m metrics.analysis.document` prints its JSON schema.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from basic_control.data.documents import METHODOLOGY, METHODOLOGY_VERSION, RESULTS_VERSION
from basic_control.metrics.analysis.explainability import ExplainabilityResult, read_published
from basic_control.metrics.analysis.headlines import Decision, Headline, Measurement, ModelResult, Shortfall
from basic_control.metrics.analysis.judged import CorrectedMean
from basic_control.metrics.analysis.pairs import Comparison, MissingPairs, PairedTest
from basic_control.metrics.analysis.passports import Passport, read_passport
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.summary import COLUMNS, Counts, SummaryRow
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.metrics.stats.intervals import MeanEstimate

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_PARTS: Mapping[type, Mapping[str, type]] = {
    Headline: {"measured": Measurement, "missing": Shortfall, "decided": Decision},
    SummaryRow: {"counts": Counts},
    Comparison: {"test": PairedTest, "missing": MissingPairs},
}
"""Fields whose own fields stand beside the others."""
_MEANS: dict[type, dict[str, tuple[str, ...]]] = {
    Measurement: {
        "score": ("score", "interval"),
        "mean": ("mean", "mean_interval"),
        "corrected": ("corrected", "corrected_interval"),
    },
    CorrectedMean: {"raw": ("raw", "raw_interval"), "value": ("value", "interval")},
    Shortfall: {end: (end, f"{end}_interval") for end in ("lower", "upper")},
    SummaryRow: {**COLUMNS},
}
"""The keys of a mean: its own, and that of its interval, or those of the interval's ends."""
_WITH_INTERVAL = 2
"""Number of keys of a mean whose interval is one value."""
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


def document(results: Results, verdict: RunVerdict) -> dict[str, Any]:
    """Return the document as JSON; NaN and missing numbers are null."""
    run = dict(results.run)
    if results.spending:
        run["spending"] = _json(results.spending)
    final = {**_json(verdict), "exit_code": int(verdict.exit_code)}
    values = {key: _json(attrgetter(path)(results)) for key, path in _PATHS.items()}
    versions = {"schema_version": RESULTS_VERSION, METHODOLOGY: METHODOLOGY_VERSION}
    return {**versions, "run": run, "final": final, **values}


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
    if isinstance(record, ModelResult):
        return _model_json(record)
    kind = type(record)
    parts, means = _PARTS.get(kind, {}), _MEANS.get(kind, {})
    entry: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name in parts:
            entry |= record_json(value)
        elif field.name in means:
            entry |= _mean_json(value, means[field.name])
        else:
            entry[_RENAMED.get(field.name, field.name)] = _json(value)
    if isinstance(record, Comparison):
        entry["significant"] = record.significant
    # A headline stands in its model's entry, which has the name.
    if isinstance(record, Headline):
        del entry["model"]
    return entry


def _mean_json(mean: MeanEstimate, keys: Sequence[str]) -> dict[str, Any]:
    """Return a mean by its keys, with its interval, or with the ends of that."""
    value, interval, *high = keys
    if high:
        return {value: mean.mean, interval: mean.interval.low, high[0]: mean.interval.high}
    return {value: mean.mean, interval: _json(mean.interval)}


def _model_json(model: ModelResult) -> dict[str, Any]:
    overall = record_json(model.overall)
    return {
        "model": model.model,
        "suites": _json(model.headlines),
        **{name: overall[name] for name in _OF_OVERALL},
        "missing": model.missing,
        "failed": model.failed,
        "verdict": model.verdict,
    }


def read(document: Mapping[str, Any]) -> tuple[Results, RunVerdict]:
    """Return the records of a document, as far as it has them: of its beginning, or of an older one.

    Raises:
        ValueError: it is not such a document.
        KeyError, TypeError: likewise.
    """
    final, run = document["final"], document["run"]
    verdict = _adapter(RunVerdict).validate_python({**final, "models": [*map(_model, final["models"])]})
    values: dict[str, Any] = {"run": run, "models": (), "spending": run.get("spending")}
    # An older document lacks keys, whose fields then have their defaults.
    for key, path in _PATHS.items():
        if key in document:
            holder, _, name = path.rpartition(".")
            group = values.setdefault(holder, {}) if holder else values
            group[name] = _READ.get(key, lambda value: value)(document[key])
    results = _adapter(Results).validate_python(values)
    return replace(results, models=verdict.models), verdict


@cache
def _adapter(kind: type[Any]) -> "TypeAdapter[Any]":
    """Return what checks and makes records of a kind."""
    from pydantic import TypeAdapter  # slow import (a third of a second), needed only by who reads

    return TypeAdapter(kind)


def _model(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's entry as the fields of its record."""
    overall = {"suite": "", "metric": "", **entry}
    headlines = [{"metric": "", **suite, "model": entry["model"]} for suite in entry["suites"]]
    return {
        **entry,
        "overall": _fields(Headline, overall),
        "headlines": [_fields(Headline, headline) for headline in headlines],
    }


def _fields(kind: type[Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of the document as the fields of its record."""
    parts, means = _PARTS.get(kind, {}), _MEANS.get(kind, {})
    values: dict[str, Any] = {}
    for field in fields(kind):
        key = _RENAMED.get(field.name, field.name)
        if field.name in parts:
            values[field.name] = _fields(parts[field.name], entry)
        elif field.name in means and means[field.name][0] in entry:
            values[field.name] = _mean_fields(entry, means[field.name])
        elif key in entry:
            values[field.name] = entry[key]
    return values


def _baseline_fields(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a comparison with a baseline as the fields of its record; None if there is none."""
    if entry is None:
        return None
    headlines = [{**change, "pair": _fields(Comparison, change["pair"])} for change in entry["headlines"]]
    return {**entry, "headlines": headlines}


def _mean_fields(entry: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    value, interval, *high = keys
    if high:  # such a mean keeps the interval's ends alone, not how they were computed
        ends = {"low": entry[interval], "high": entry[high[0]], "method": "combined"}
        return {"mean": entry[value], "interval": ends}
    return {"mean": entry[value], "interval": entry[interval]}


def _read_each(read_entry: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what reads the entries of a list, without those that it cannot read."""
    return lambda entries: [*filter(None, map(read_entry, entries))]


_READ: Mapping[str, Callable[[Any], Any]] = {
    "cells": _read_each(partial(_fields, SummaryRow)),
    "comparisons": _read_each(partial(_fields, Comparison)),
    "corrected": _read_each(partial(_fields, CorrectedMean)),
    "baseline": _baseline_fields,
    "explainability": _read_each(read_published),
    "passports": _read_each(read_passport),
}
"""How those values are read that are written in a form of their own."""


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of `results.json`, generated from its types."""
    results, verdict = (_adapter(kind).json_schema(mode="serialization") for kind in (Results, RunVerdict))
    kinds = {**results.pop("$defs"), **verdict.pop("$defs"), "RunVerdict": verdict}
    kinds |= {kind.__name__: _flat_schema(kind, kinds) for kind in {**_PARTS, **_MEANS}}
    kinds["ModelResult"] = _model_schema(kinds["ModelResult"], kinds["Headline"])
    # In a form of its own, which `read_published` reads.
    kinds["ExplainabilityResult"] = {"type": "object", "properties": {}}
    # What is computed from a record stands beside its fields.
    for kind, name, computed in (("Comparison", "significant", "boolean"), ("RunVerdict", "exit_code", "integer")):
        kinds[kind]["properties"][name] = {"type": computed}
        kinds[kind]["required"].append(name)
    properties: dict[str, Any] = {
        "schema_version": {"const": RESULTS_VERSION, "description": "the version of this schema"},
        METHODOLOGY: {"type": "integer", "description": "the version of what scores and intervals mean"},
        "run": results["properties"]["run"],
        "final": {"$ref": "#/$defs/RunVerdict"},
    }
    for key, path in _PATHS.items():
        holder, _, name = path.rpartition(".")
        group = results
        if holder:
            group = kinds[results["properties"][holder]["$ref"].rpartition("/")[2]]
        properties[key] = group["properties"][name]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **results,
        "title": "results.json",
        "properties": properties,
        "required": [*properties],
        "$defs": kinds,
    }


def _model_schema(kind: Mapping[str, Any], headline: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a model's entry, which has the overall score's keys beside its own."""
    own_properties = kind["properties"]
    properties = {name: own_properties[name] for name in ("model", "missing", "failed")}
    properties |= {name: headline["properties"][name] for name in _OF_OVERALL}
    properties |= {"suites": own_properties["headlines"], "verdict": {"type": "string"}}
    return {**kind, "properties": properties, "required": [*properties]}


def _flat_schema(kind: type[Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a record whose parts' keys stand beside its own."""
    record, parts, means = kinds[kind.__name__], _PARTS.get(kind, {}), _MEANS.get(kind, {})
    number = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    properties: dict[str, Any] = {}
    for field in fields(kind):
        if field.name in parts:
            properties |= _flat_schema(parts[field.name], kinds)["properties"]
        elif field.name in means:
            keys = means[field.name]
            properties |= dict.fromkeys(keys, number)
            if len(keys) == _WITH_INTERVAL:
                properties[keys[1]] = {"$ref": "#/$defs/Interval"}
        else:
            properties[_RENAMED.get(field.name, field.name)] = record["properties"][field.name]
    if kind is Headline:
        del properties["model"]
    return {**record, "properties": properties, "required": [*properties]}


if __name__ == "__main__":
    import json

    print(json.dumps(schema(), indent=2))  # noqa: T201 - the schema, for who validates
