"""The built-in judge in a run: no call, an exam as for every judge; what it has no rule for is refused at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.runs import latest
from tests.helpers.scored import scores_of

RULES = 'judges=[{"name": "rules", "provider": "rules", "exam": 10}]'
ROWS: list[dict[str, Any]] = [
    {
        "question": "How high is the tower?",
        "response": "The tower is 330 metres high. It stands in Paris.",
        "reference": "The tower is 330 metres high.",
        "retrieved_contexts": ["The tower is 330 metres high and was finished in 1889.", "It stands in Paris."],
    },
    {
        "question": "Who designed it?",
        "response": "Tourists love it.",
        "reference": "The company of Gustave Eiffel designed it.",
        "retrieved_contexts": ["It was designed by the company of Gustave Eiffel."],
    },
    {
        "question": "What stands there?",
        "response": "Tall green houses.",
        "reference": "Tall green trees.",
        "retrieved_contexts": ["Tall green trees stand there."],
    },
]


def write(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def read_results(tmp_path: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    return results


def test_it_judges_without_a_call_and_counts_by_its_exam(run: Run, tmp_path: Path) -> None:
    """Two of the three words of the third response are in its texts, which leaves both of its ratings unsure."""
    words = ["--data", str(write(tmp_path)), "--set", RULES, "--set", "models=[]"]
    done = run(*words, flow="rag")
    first = read_results(tmp_path)
    again = run(*words, flow="rag")
    second = read_results(tmp_path)
    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    assert json.loads((latest(tmp_path) / "manifest.json").read_text())["requests"]["asked"] == 0
    assert second["final"] == first["final"]
    assert {status["exam"] for status in first["judge_statuses"] if status["counts"] and status["measured"]} == {
        "split",
        "entails",
        "groundedness",
    }
    assert first["judges"]["response_groundedness"]["judges"][0]["n_asked"] == len(ROWS)
    assert "Judge: rules (6 ratings, unsure of 2 of them, right on " in done.stdout


@pytest.mark.parametrize(
    ("metric", "step"), [("rubric", "rate"), ("preference", "compare"), ("answers_question", "rate")]
)
def test_what_it_has_no_rule_for_is_refused_before_anything_is_asked(
    run: Run, tmp_path: Path, metric: str, step: str
) -> None:
    options = {"rubric": {"criteria": "Polite."}, "preference": {"baseline": "reference"}}.get(metric, {})
    suite = {"name": "own", "items": {"data": str(write(tmp_path))}, "metrics": {metric: options}}
    done = run("--set", f"suites=[{json.dumps(suite)}]", "--set", RULES, "--set", "models=[]")
    assert done.returncode == 2
    assert f"suite own: the judge rules (provider rules) has no rule for {metric}'s step {step}" in done.stderr
    assert "split, entails, support, correctness, groundedness, useful" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_it_is_no_model_under_test(run: Run) -> None:
    done = run("--set", 'models=[{"name": "rules", "provider": "rules"}]')
    assert done.returncode == 2
    assert "provider rules answers no questions, it judges: name it under `judges`" in done.stderr


def test_its_exam_asks_the_steps_that_it_has_rules_for(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "judge.yaml"
    file.write_text("judges: [{name: rules, provider: rules}]\n", encoding="utf-8")
    done = run(str(file), "--judge", "rules", "--n", "10", "--language", "en", "--language", "ru", command="exam")
    assert done.returncode == 0, done.stderr
    passports = [json.loads(path.read_text()) for path in (tmp_path / "store" / "passports").iterdir()]
    steps = {(passport["exam"], passport["language"]) for passport in passports}
    # Not `rubric`, `preference` and `answers_question`, which its configuration does not leave out.
    decided = ("split", "entails", "support", "correctness", "groundedness", "useful")
    assert steps == {(step, language) for step in decided for language in ("en", "ru")}
    assert all(passport["contrast"]["value"] >= 0.2 for passport in passports)


def test_it_finds_useful_contexts_and_counts_by_the_exam_of_that_step(run: Run, tmp_path: Path) -> None:
    """Of the first row's two texts the first is useful, of the others the only one."""
    suite = {"name": "own", "items": {"data": str(write(tmp_path))}, "responses_of": "bot", "threshold": 0.5}
    suites = [{**suite, "metrics": {"context_precision": {}}}]
    done = run("--set", f"suites={json.dumps(suites)}", "--set", RULES, "--set", "models=[]")
    assert done.returncode == 0, done.stderr
    (status,) = read_results(tmp_path)["judge_statuses"]
    assert (status["exam"], status["measured"], status["counts"]) == ("useful", True, True)
    assert [row["value"] for row in scores_of(tmp_path).values()] == [1.0, 1.0, 1.0]


def test_a_dry_run_counts_no_call_for_it(run: Run, tmp_path: Path) -> None:
    done = run("--data", str(write(tmp_path)), "--set", RULES, "--set", "models=[]", "--dry-run", flow="rag")
    assert done.returncode == 0, done.stderr
    assert "rules" not in done.stdout


@pytest.mark.parametrize(
    ("options", "line", "scores"),
    [
        ({}, "2 replies came without retrieved contexts: what is compared with them does not apply", [1.0, 0.0]),
        (
            {"empty_contexts": "zero"},
            "2 replies came without retrieved contexts: each scores 0",
            [1.0, 0.0, 0.0, 0.0],
        ),
    ],
)
def test_the_screen_says_how_many_replies_came_without_contexts(
    run: Run, tmp_path: Path, options: dict[str, str], line: str, scores: list[float]
) -> None:
    bare = [
        {**ROWS[1], "question": "Who drew it?", "retrieved_contexts": []},
        {**ROWS[2], "retrieved_contexts": [""]},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*ROWS[:2], *bare]), encoding="utf-8")
    suite = {
        "name": "support",
        "items": {"data": str(path)},
        "responses_of": "bot",
        "metrics": {"faithfulness": options, "response_groundedness": options, "context_recall": {}},
    }
    settings = tmp_path / "run.yaml"
    settings.write_text(json.dumps({"judges": [{"name": "rules", "provider": "rules"}], "suites": [suite]}))
    result = run(str(settings))
    assert "Traceback" not in result.stderr
    assert line in " ".join(result.stdout.split())
    values = [row["value"] for row in scores_of(tmp_path).values() if row["metric"] == "faithfulness"]
    assert sorted((value for value in values if value is not None), reverse=True) == scores
