"""Rows with checks of their own, beside a judge with criteria of the rows, from the file to the verdict."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import Server, serve_openai

REPLIES = {"one": "Paris", "two": "Rome", "three": "Paris", "four": "Paris", "five": "Rome"}
ROWS: list[dict[str, Any]] = [
    {"question": "one", "checks": [{"metric": "contains", "texts": ["Paris"]}], "wish": "It is short."},
    {"question": "two", "checks": [{"metric": "contains", "texts": ["Paris"]}], "wish": "It is short."},
    {
        "question": "three",
        "checks": [{"metric": "regex", "pattern": "^P"}],
        "wish": ["It is short.", "It is rude."],
    },
    {"question": "four", "checks": "", "wish": "It is short."},
    {"question": "five", "checks": [{"metric": "exact_match", "answer": "Rome"}], "wish": None},
]


def speak(body: dict[str, Any]) -> str:
    text = body["messages"][-1]["content"]
    if body["model"] == "judge":
        return json.dumps({"reason": "so it is", "rating": int("short" in text)})
    return REPLIES[text]


def write_configuration(folder: Path, server: Server, rows: list[dict[str, Any]], **suite: Any) -> Path:
    data = folder / "rows.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    entry = {"provider": "openai", "base_url": server.base_url}
    declared = {
        "name": "cities",
        "items": {"data": str(data)},
        "prompt": "{{ question }}",
        "threshold": 1.0,
        **suite,
    }
    document = {
        "models": [{"name": "m", **entry}],
        "judges": [{"name": "judge", **entry, "exam": 0}],
        "suites": [declared],
        "gate": "point",
    }
    path = folder / "eval.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_a_row_holds_where_its_checks_and_its_criteria_do_and_a_part_that_it_lacks_asks_nothing(
    run: Run, tmp_path: Path
) -> None:
    rubric = {"criteria_column": "wish", "scale": [0, 1], "threshold": 1.0}
    with serve_openai(speak) as server:
        path = write_configuration(tmp_path, server, ROWS, metrics={"checks": {}, "rubric": rubric}, score="all")
        done = run("--config", str(path))
        n_judged = sum(call.body["model"] == "judge" for call in server.requests)
    assert done.returncode == 1, done.stderr
    # One, two, four: a criterion; three: two of them; five: none.
    assert n_judged == 5
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    joint, judged = document["final"]["models"][0]["suites"]
    # Two lacks its text, three is not rude; one, four and five hold.
    assert (joint["score"], joint["n_asked"]) == (pytest.approx(3 / 5), 5)
    assert (judged["metric"], judged["score"]) == ("rubric", pytest.approx(3.5 / 4))
    # Who labels a reply sees the criteria of its row.
    (page,) = (latest(tmp_path) / "reports").glob("*.html")
    assert '"criterion": "It is short.\\nIt is rude."' in page.read_text(encoding="utf-8").replace('":"', '": "')
    means = {cell["metric"]: cell["mean"] for cell in document["cells"]}
    assert means["checks"] == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"checks": [{"metric": "contians"}]}, "unknown metric 'contians'"),
        ({"checks": "contains: Paris"}, "expected a list such as"),
    ],
)
def test_checks_that_cannot_be_read_stop_the_run_with_their_file_and_row(
    run: Run, tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    with serve_openai(speak) as server:
        rows = [ROWS[0], {"question": "two", **row}]
        done = run("--config", str(write_configuration(tmp_path, server, rows, metrics={"checks": {}})))
        assert not server.requests
    assert done.returncode == 2
    assert message in done.stderr
    assert "column checks, of 1 of 2 rows: row 2" in done.stderr
    assert str(tmp_path / "rows.jsonl") in done.stderr
