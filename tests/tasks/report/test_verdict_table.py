"""The table of models is defined once: a column is one line in one file, and stands wherever the table is shown."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.helpers.changed_tree import changed_tree, run_in

FILE = "tasks/report/verdict_table.py"
LAST = 'row.model["model"], whole=True)'
COLUMN = """Column(
    "Cost per right answer", lambda row: f"{row.results['run']['cost'] / row.part['score']:.3f} USD"
)"""

SHOW = """
import json, sys
from pathlib import Path
from dataclasses import replace

from flows.interface import rows
from flows.runs import RunResult
from tasks.report import exports, html, junit, markdown, merge_request
from tasks.report.screen import screen
from tests.tasks.report.runs import build
from tests.tasks.report.test_screen import shown
from xml.etree import ElementTree

data = build(1, suites=["basic_control", "cot"])
data = replace(data, results={**data.results, "run": {**data.results["run"], "cost": 0.5}})
exports.write(data, Path("written"))
made = screen(data.results, data.plan, data.manifest["requests"])
outcome = RunResult(
    run=data.run, folder="", reports=[], requests=data.manifest["requests"], results=data.results, stages=[],
    wall_s=1.0, exit_code=0,
)
print(json.dumps({
    "models": json.dumps({one["model"]: one["score"] for one in data.results["final"]["models"]}),
    "screen": shown(made, 160),
    "merge request": merge_request.summary(data),
    "page": html.compose(data),
    "Markdown": markdown.compose(data),
    "JUnit": ElementTree.tostring(junit.compose(data), encoding="unicode"),
    "Prefect": json.dumps(rows(outcome, data.plan)),
    "CSV": Path("written/tables/verdict.csv").read_text(encoding="utf-8-sig"),
}))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return what each place shows where the definition has one column more."""
    text = (TOP / FILE).read_text(encoding="utf-8")
    assert text.count(LAST) == 1
    tree = changed_tree(tmp_path_factory.mktemp("tree"), {FILE: text.replace(LAST, f"{LAST}, {COLUMN}")})
    found: dict[str, str] = json.loads(run_in(tree, "-c", SHOW))
    return found


@pytest.mark.parametrize("place", ["screen", "merge request", "page", "Markdown", "JUnit", "Prefect", "CSV"])
def test_a_column_is_one_edit_and_stands_in_every_place(seen: Mapping[str, str], place: str) -> None:
    assert "Cost per right answer" in seen[place]
    for model, score in json.loads(seen["models"]).items():
        assert model in seen[place]
        assert f"{0.5 / score:.3f} USD" in seen[place], "of the model as a whole"


def test_the_csv_file_has_a_row_for_each_suite_of_a_model(seen: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "verdict.csv").write_text(seen["CSV"], encoding="utf-8")
    with (tmp_path / "verdict.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert len(found) == 3 * len(json.loads(seen["models"])), "two suites and the overall score"
    assert list(found[0])[:3] == ["Model", "Suite", "Score"]
