"""The document that holds a run's verdict: its schema, and the page that describes it."""

import json
import subprocess
import sys

import jsonschema
import polars as pl
import pytest

from data.documents import RESULTS_VERSION
from data.tables import ITEMS, SCORES
from metrics.explainability import explainability
from metrics.final import finalise
from metrics.results import Results, results_schema
from metrics.stats.agreement import judge_agreement, repeats
from metrics.stats.pairs import compare, groups
from metrics.summary import cells, summarise, totals
from tests.conftest import TOP
from tests.helpers.suites import declared, result


def _document() -> Results:
    """Everything that a run of two models, two repeats and two judges has."""
    items = ITEMS.frame(
        [
            {"item_id": str(i), "suite": "basic_control", "family": "ab"[i % 2], "level": "easy", "language": "en"}
            for i in range(12)
        ]
    )
    scores = SCORES.frame(
        [
            {"item_id": str(i), "model": m, "repeat": r, "metric": "correct", "version": 1,
             "value": float((i + r) % k > 0), "status": "scored"}
            for i in range(12) for m, k in (("m", 3), ("n", 2)) for r in range(2)
        ]
    )  # fmt: skip
    summary = summarise(scores, items)
    comparisons = compare(scores, items)
    ratings = pl.DataFrame({"unit": [1, 1], "judge": ["a", "b"], "value": [1.0, None]})
    final = finalise(summary, models=["m", "n", "ghost"], suites=declared("basic_control"), gate="interval")
    return Results(
        run={"id": "test"},
        final=final,
        totals=totals(summary, suite="basic_control", metric="correct"),
        cells=cells(summary),
        comparisons=comparisons,
        groups=groups(comparisons),
        repeats=repeats(scores, k=2),
        judges={"support": judge_agreement(ratings)},
        explainability=[
            explainability(result("cot", None, 0), result("citation", 1.0, 1), model="m", judge_model="j")
        ],
    )


def test_the_document_satisfies_its_schema() -> None:
    schema = results_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    written = json.loads(json.dumps(_document().as_dict(), allow_nan=False))
    jsonschema.Draft202012Validator(schema).validate(written)
    assert written["schema_version"] == RESULTS_VERSION
    assert written["final"]["exit_code"] == 2
    assert set(written) == set(schema["properties"])


def test_the_page_on_results_names_every_key_of_the_schema_and_its_version() -> None:
    page = (TOP / "docs" / "results.md").read_text(encoding="utf-8")
    schema = results_schema()
    keys = {key for part in (schema, *schema["$defs"].values()) for key in part["properties"]}
    assert {key for key in keys if f"`{key}`" not in page} == set()
    assert f"`schema_version` is {RESULTS_VERSION}." in page


def test_the_schema_is_printed_for_who_validates() -> None:
    command = [sys.executable, "-m", "metrics.results"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == results_schema()


def test_the_schema_refuses_a_document_that_lacks_something() -> None:
    written = json.loads(json.dumps(_document().as_dict()))
    del written["final"]["models"][0]["verdict"]
    with pytest.raises(jsonschema.ValidationError, match="verdict"):
        jsonschema.validate(written, results_schema())
