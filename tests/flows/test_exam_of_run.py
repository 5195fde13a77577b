"""`exam --run` after an evaluation: what the next run says, which files stay, and which run is the last."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.tasks.store.runs import read_run, resolve_last
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

N_ROWS = 8
RIGHT, WRONG = "Paris", "Rome"


GOOD = json.dumps({"reason": "", "rating": 5})
"""What the judge says of every reply, good or bad: its exam fails."""


def configure(folder: Path, url: str, **changes: Any) -> Path:
    """Write a suite of a computed and a judged metric, of which the first row's reply is wrong."""
    replies = [WRONG, *[RIGHT] * (N_ROWS - 1)]
    rows = [{"question": f"Question {n}?", "response": text, "answer": RIGHT} for n, text in enumerate(replies)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "name": "cities",
        "threshold": 0.5,
        "items": {"data": str(folder / "rows.jsonl")},
        "responses_of": "bot",
        "metrics": {"exact_match": {}, "rubric": {"criteria": {"polite": "It is polite."}, "threshold": 0.5}},
        "score": "all",
    }
    judge = {"name": "judge", "provider": "openai", "base_url": url, "deadline_s": 20}
    document = {"judges": [judge], "suites": [{**suite, **changes}]}
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@pytest.fixture
def judge_url() -> Iterator[str]:
    with serve_openai(GOOD) as server:
        yield server.base_url


@pytest.mark.parametrize(
    ("score", "title"),
    [("all", "all at once"), ({"exact_match": 2, "rubric": 1}, "score"), (["exact_match", "rubric"], "score")],
    ids=["all", "weights", "list"],
)
def test_a_score_of_several_metrics_is_undecided_where_the_judge_of_one_failed_its_exam(
    run: Run, tmp_path: Path, judge_url: str, score: Any, title: str
) -> None:
    file = configure(tmp_path, judge_url, score=score)
    before = run(str(file))
    assert before.returncode == 0, before.stdout + before.stderr
    assert f"cities, {title}, bot: " in before.stderr
    exam = run("--run", "last", "--n", "4", command="exam")
    assert re.search(r"it cannot\b.*?\btell\b.*?\bright\b", exam.stdout, re.DOTALL), (
        "the last column, a word or two a line"
    )
    after = run(str(file))
    assert after.returncode == 3, after.stdout + after.stderr
    assert "error:" not in after.stderr
    assert " ".join(after.stdout.split()).startswith(
        f"Undecided: bot: {title}: judge: it cannot tell right replies from wrong ones"
    )
    assert re.search(r"bot\s+not measured \?", after.stdout)


def test_an_exam_leaves_the_files_and_the_name_of_the_run_alone(run: Run, tmp_path: Path, judge_url: str) -> None:
    file = configure(tmp_path, judge_url)
    files = {key: tmp_path / f"named.{key}" for key in ("junit", "markdown", "results")}
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    document["report"] = {key: str(path) for key, path in files.items()} | {"name": "nightly"}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    run(str(file))
    written = {path: path.read_bytes() for path in files.values()}
    # The configuration names the files as well, where no run is examined.
    exams = [("--run", "last"), (str(file),)]
    for words in exams:
        run(*words, "--n", "4", command="exam")
        assert {path: path.read_bytes() for path in files.values()} == written
        assert read_run(latest(tmp_path)).configuration["report"]["name"] == ""
    summary = tmp_path / "exam.md"
    run("--run", "last", "--n", "4", "--set", f"report.markdown={summary}", command="exam")
    assert summary.is_file()
    assert {path: path.read_bytes() for path in files.values()} == written


def test_the_last_run_is_an_evaluation_and_a_baseline_says_that_its_run_failed(
    run: Run, tmp_path: Path, judge_url: str
) -> None:
    file = configure(tmp_path, judge_url, threshold=0.95, gate_on="mean")
    evaluation = run(str(file))
    assert evaluation.returncode == 1, evaluation.stdout + evaluation.stderr
    evaluated = latest(tmp_path).name
    exam = run("--run", "last", "--n", "4", command="exam")
    assert exam.returncode == 0, exam.stderr
    assert read_run(latest(tmp_path)).is_exam
    assert resolve_last("last", tmp_path / "runs") == evaluated
    alone = run("last", command="compare")
    assert "found 1 finished evaluation" in alone.stderr
    pinned = tmp_path / "main.json"
    done = run("set", str(pinned), "last", command="baseline")
    assert done.stdout.strip() == f"Written: {pinned} (run {evaluated} failed its gate)", done.stderr
    passed = configure(tmp_path, judge_url, threshold=0.1)
    run(str(passed))
    done = run("set", str(pinned), latest(tmp_path).name, command="baseline")
    assert done.stdout.strip() == f"Written: {pinned}", done.stderr
