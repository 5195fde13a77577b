"""`results.json`: everything that a run found, in one versioned document; docs/results.md describes it.

`python -m metrics.results` prints its JSON schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from data.documents import RESULTS_VERSION
from metrics.baseline import Against
from metrics.corrected import CorrectedMean
from metrics.effort import Effort
from metrics.other_tools import Stated
from metrics.paneled import PanelMean
from metrics.passports import Passport
from metrics.self_preference import SelfPreference
from metrics.stats.agreement import JudgeAgreement, Repeats
from metrics.stats.pairs import Comparison, Grouping
from metrics.stopping import Narrowing
from metrics.summary import Cell, Total
from metrics.verdicts import Final

_COMPUTED = (
    ("Comparison", "significant", "boolean"),
    ("ModelResult", "verdict", "string"),
    ("Final", "exit_code", "integer"),
)


@dataclass(frozen=True, slots=True)
class Results:
    """The document: the verdict, and the numbers that it rests on.

    `run` says which run it was (id, time, configuration, versions), `totals` has a TOTAL for each model,
    `explainability` the results in their published form, `judges` the agreement of judges for each metric,
    `corrected` judged means beside what their judges' passports make of them, `panels` means of several judges,
    weighed; `self_preference` how judges grade their own models; `passports` what an exam showed of judges that
    sat it in this run;
    `baseline` what the run came to against a baseline (None without one).
    """

    run: Mapping[str, Any]
    final: Final
    totals: Mapping[str, Total] = field(default_factory=dict)
    cells: Sequence[Cell] = ()
    comparisons: Sequence[Comparison] = ()
    races: Sequence[Narrowing] = ()
    groups: Sequence[Grouping] = ()
    repeats: Sequence[Repeats] = ()
    judges: Mapping[str, JudgeAgreement] = field(default_factory=dict)
    explainability: Sequence[Mapping[str, Any]] = ()
    stated: Sequence[Stated] = ()
    corrected: Sequence[CorrectedMean] = ()
    next_calls: Sequence[Effort] = ()
    baseline: Against | None = None
    panels: Sequence[PanelMean] = ()
    self_preference: Sequence[SelfPreference] = ()
    passports: Sequence[Passport] = ()
    schema_version: int = RESULTS_VERSION

    def as_dict(self) -> dict[str, Any]:
        """Return the document as JSON: no NaN, null where there is no number."""
        return {
            "schema_version": self.schema_version,
            "run": dict(self.run),
            "final": self.final.as_dict(),
            "totals": {model: asdict(total) for model, total in self.totals.items()},
            "cells": [asdict(cell) for cell in self.cells],
            "comparisons": [comparison.as_dict() for comparison in self.comparisons],
            "races": [asdict(race) for race in self.races],
            "groups": [asdict(grouping) for grouping in self.groups],
            "repeats": [asdict(repeated) for repeated in self.repeats],
            "judges": {metric: asdict(agreement) for metric, agreement in self.judges.items()},
            "baseline": asdict(self.baseline) if self.baseline else None,
            "explainability": [dict(result) for result in self.explainability],
            "stated": [asdict(one) for one in self.stated],
            "corrected": [asdict(one) for one in self.corrected],
            "panels": [asdict(one) for one in self.panels],
            "self_preference": [asdict(one) for one in self.self_preference],
            "passports": [one.as_dict() for one in self.passports],
            "next_calls": [asdict(one) for one in self.next_calls],
        }


def results_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of `results.json`, made from the types of what it holds."""
    from pydantic import TypeAdapter  # a third of a second, and only for the schema

    schema = TypeAdapter(Results).json_schema(mode="serialization")
    for noun, name, kind in _COMPUTED:
        schema["$defs"][noun]["properties"][name] = {"type": kind}
        schema["$defs"][noun]["required"].append(name)
    required = [*Results.__dataclass_fields__]
    version = {"const": RESULTS_VERSION, "description": "the version of this schema"}
    properties = {**schema["properties"], "schema_version": version}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "properties": properties,
        "required": required,
    }


if __name__ == "__main__":
    import json

    print(json.dumps(results_schema(), indent=2))  # noqa: T201 - the schema, for who validates
