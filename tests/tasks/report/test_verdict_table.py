"""The table of models is defined once: a column is one line in one file, and stands wherever the table is shown."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from basic_control.metrics.analysis.headlines import Headline
from basic_control.metrics.analysis.spending import Spending, Spent
from basic_control.tasks.report.verdict_table import model_rows
from tests.conftest import TOP
from tests.helpers.changed_tree import changed_tree, run_in
from tests.helpers.suites import headline, model_of

FILE = "tasks/report/verdict_table.py"
LAST = "row.model.model, unbroken=True)"
COLUMN = """Column(
    "Made-up column", lambda row: f"{row.spent.cost / row.score.measured.score.mean:.3f} made-up"
)"""

SHOW = """
import json, sys
from pathlib import Path
from dataclasses import replace

from basic_control.flows.evaluation import rows
from basic_control.flows.runs import RunResult
from basic_control.metrics.analysis.spending import Spending, Spent
from basic_control.tasks.report import exports, html, junit, markdown, merge_request
from basic_control.tasks.report.screen import screen
from tests.tasks.report.runs import MODELS, build, page_of
from tests.tasks.report.test_screen import shown
from xml.etree import ElementTree

data = build(1, suites=["basic_control", "cot"])
spending = Spending("USD", [Spent("model", model, 9, 9, 1, 1, 0, 0, 0.5, 0.5) for model in MODELS])
data = replace(data, results=replace(data.results, spending=spending))
exports.write(data, Path("written"))
made = screen(data.results, data.verdict, data.plan, data.manifest["requests"])
outcome = RunResult(
    run=data.run, folder="", reports=[], requests=data.manifest["requests"], results=data.results,
    verdict=data.verdict, stages=[], wall_s=1.0, exit_code=0,
)
print(json.dumps({
    "models": json.dumps({one.model: one.score.measured.score.mean for one in data.verdict.models}),
    "screen": shown(made, 160),
    "merge request": merge_request.summary(data),
    "page": page_of(data),
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
    assert "Made-up column" in seen[place]
    for model, score in json.loads(seen["models"]).items():
        assert model in seen[place]
        assert f"{0.5 / score:.3f} made-up" in seen[place], "of the model as a whole"
    if place in {"JUnit", "CSV"}:
        assert seen[place].count(" made-up") == len(json.loads(seen["models"])), "once, not for each suite"


@pytest.mark.parametrize(
    ("suites", "score"),
    [
        ([headline("a", 0.9, weight=1), headline("b", 0.1, weight=0)], 0.9),
        ([headline("a", 0.9, weight=0), headline("b", 0.1, weight=1)], 0.1),
        ([headline("a", 0.9, weight=0.5), headline("b", 0.1, weight=0.5)], 0.5),
        ([headline("a", 0.9, weight=0)], 0.9),
    ],
)
def test_a_models_row_is_of_its_score_whatever_the_suites_weigh(suites: list[Headline], score: float) -> None:
    (row,) = model_rows([model_of("m", *suites)], None)
    assert row.score.measured.score.mean == pytest.approx(score)


def test_what_a_model_used_is_found_by_each_of_its_targets() -> None:
    """A target of several prompts is the model's name with the prompt; a judge may have the name of a model."""
    costs = [("judge", "m", 1.0), ("model", "m", 2.0), ("model", "mm", 3.0), ("model", "m [x]", 4.0)]
    spending = Spending("USD", [Spent(role, name, 1, 1, 0, 0, 0, 0, cost, cost) for role, name, cost in costs])
    targets = {"m": 2.0, "m [short]": 2.0, "mm [short]": 3.0, "m [x]": 4.0, "other": None}
    for row in model_rows([model_of(name, headline("s", 0.5)) for name in targets], spending):
        assert (row.spent.cost if row.spent else None) == targets[row.model.model]
    (row,) = model_rows([model_of("m", headline("s", 0.5))], None)
    assert row.spent is None


def test_the_csv_file_has_a_row_for_each_suite_of_a_model(seen: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "verdict.csv").write_text(seen["CSV"], encoding="utf-8")
    with (tmp_path / "verdict.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert len(found) == 3 * len(json.loads(seen["models"])), "two suites and the overall score"
    assert list(found[0])[:3] == ["Model", "Suite", "Score"]
