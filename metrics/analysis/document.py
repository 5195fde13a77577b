"""`results.json`: a run's results and verdict in one versioned document (see docs/results.md).

`python -m metrics.analysis.document` prints its JSON schema.
"""

from dataclasses import asdict, replace
from typing import Any

from data.documents import RESULTS_VERSION
from metrics.analysis.results import Results
from metrics.analysis.verdict import RunVerdict

_COMPUTED = (
    ("Comparison", "significant", "boolean"),
    ("ModelResult", "verdict", "string"),
    ("RunVerdict", "exit_code", "integer"),
)
_ELSEWHERE = ("models", "spending", "waiting")
"""Result fields already held by the verdict or the run's own facts."""


def document(results: Results, verdict: RunVerdict) -> dict[str, Any]:
    """Return the document as JSON; NaN and missing numbers are null."""
    own = asdict(replace(results, models=(), comparisons=(), explainability=(), passports=()))
    # These have computed fields, or a form of their own.
    own["comparisons"] = [one.as_dict() for one in results.comparisons]
    own["explainability"] = [dict(one.published) for one in results.explainability]
    own["passports"] = [one.as_dict() for one in results.passports]
    run = own["run"] | ({"spending": own["spending"]} if results.spending else {})
    known = {name: value for name, value in own.items() if name not in (*_ELSEWHERE, "run")}
    return {"schema_version": RESULTS_VERSION, "run": run, "final": verdict.as_dict(), **known}


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of `results.json`, generated from its types."""
    from pydantic import TypeAdapter  # slow import (a third of a second), needed only for the schema

    results, final = (TypeAdapter(one).json_schema(mode="serialization") for one in (Results, RunVerdict))
    kinds = {**results.pop("$defs"), **final.pop("$defs"), "RunVerdict": final}
    kinds["ExplainabilityResult"] = {
        "type": "object",
        "properties": {},
    }  # its published form
    for noun, name, kind in _COMPUTED:
        kinds[noun]["properties"][name] = {"type": kind}
        kinds[noun]["required"] = [*kinds[noun].get("required", ()), name]
    properties = {
        "schema_version": {"const": RESULTS_VERSION, "description": "the version of this schema"},
        "final": {"$ref": "#/$defs/RunVerdict"},
        **{name: one for name, one in results["properties"].items() if name not in _ELSEWHERE},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **results,
        "title": "results.json",
        "properties": properties,
        "required": [*properties],
        "$defs": kinds,
    }


if __name__ == "__main__":
    import json

    print(json.dumps(schema(), indent=2))  # noqa: T201 - the schema, for who validates
