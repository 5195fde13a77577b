"""The document that holds a run's verdict: its schema, and the page that describes it."""

import json
import subprocess
import sys
from dataclasses import replace

import jsonschema
import polars as pl
import pytest

from basic_control.data.documents import RESULTS_VERSION
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.document import document, read, schema
from basic_control.metrics.analysis.explainability import Terms, explain_models
from basic_control.metrics.analysis.pairs import compare, groups
from basic_control.metrics.analysis.results import JudgeFindings, ModelComparisons, Results
from basic_control.metrics.analysis.summary import cells, summarise, totals
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.metrics.stats.agreement import judge_agreement, repeats
from tests.conftest import TOP
from tests.helpers.suites import declared, headline, model_of
from tests.helpers.verdicts import finalise


def _results() -> tuple[Results, RunVerdict]:
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
    ratings = pl.DataFrame({"unit": [1, 1], "judge": ["a", "b"], "value": [1.0, None], "is_unsure": [False, False]})
    final = finalise(summary, models=["m", "n", "ghost"], suites=declared("basic_control"), gate="interval")
    found = Results(
        run={"id": "test"},
        models=(),
        totals=totals(summary, suite="basic_control", metric="correct"),
        cells=cells(summary),
        compared=ModelComparisons(comparisons, groups(comparisons)),
        repeats=repeats(scores, k=2),
        judged=JudgeFindings({"support": judge_agreement(ratings)}),
        explainability=explain_models(
            [model_of("m", headline("cot", None), headline("citation", 1.0, n_scored=1))], Terms("j")
        ),
    )
    return replace(found, models=final.models), final


def test_the_document_satisfies_its_schema() -> None:
    known = schema()
    jsonschema.Draft202012Validator.check_schema(known)
    written = json.loads(json.dumps(document(*_results()), allow_nan=False))
    jsonschema.Draft202012Validator(known).validate(written)
    assert written["schema_version"] == RESULTS_VERSION
    assert written["final"]["exit_code"] == 2
    assert set(written) == set(known["properties"])
    (pair, *_) = written["comparisons"]
    assert set(pair) == set(known["$defs"]["Comparison"]["properties"])


def test_the_document_is_read_as_it_was_written() -> None:
    written = json.loads(json.dumps(document(*_results())))
    assert json.loads(json.dumps(document(*read(written)))) == written
    beginning = {key: written[key] for key in ("run", "final", "totals")}
    assert read(beginning)[1] == read(written)[1]


READ = ("RunVerdict", "ModelResult", "Headline", "Interval")
"""What people read of the document; of the rest the schema says what it is."""


def test_the_page_on_results_names_the_keys_that_people_read_and_the_schema_describes_the_rest() -> None:
    page = (TOP / "docs" / "reference.md").read_text(encoding="utf-8")
    known = schema()
    keys = {key for part in (known, *(known["$defs"][name] for name in READ)) for key in part["properties"]}
    assert {key for key in keys if f"`{key}`" not in page} == set()
    assert [
        name for name, part in known["$defs"].items() if part.get("properties") and not part.get("description")
    ] == []
    assert f"`schema_version` is {RESULTS_VERSION}." in page


def test_the_schema_is_printed_for_who_validates() -> None:
    command = [sys.executable, "-m", "basic_control.metrics.analysis.document"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == schema()


def test_the_schema_refuses_a_document_that_lacks_something() -> None:
    written = json.loads(json.dumps(document(*_results())))
    del written["final"]["models"][0]["verdict"]
    with pytest.raises(jsonschema.ValidationError, match="verdict"):
        jsonschema.validate(written, schema())
