"""What passes, seen from outside: failed calls, repeated rows, no threshold, one suite, nothing at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai
from tests.servers.script import Fault, last_user

REFUSED = "the prompt holds a word that is refused"


def written(folder: Path, numbers: list[int], **suite: Any) -> str:
    """Write a configuration of one suite that asks for the numbers of its rows, and return its path."""
    rows = [{"question": f"Say {n}", "answer": str(n)} for n in numbers]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    declared = {"name": "numbers", "items": {"data": str(folder / "rows.jsonl")}, "prompt": "{{ question }}",
                "metrics": ["exact_match"], **suite}  # fmt: skip
    path = folder / "run.yaml"
    path.write_text(json.dumps({"suites": [declared], "report": {"html": False}}), encoding="utf-8")
    return str(path)


def final(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))["final"]
    return found


def number(body: dict[str, Any]) -> int:
    return int(last_user(body).split()[-1])


def test_wrong_replies_that_turned_into_failed_calls_decide_nothing_until_they_are_asked_again(
    run: Run, tmp_path: Path
) -> None:
    """92 of 100 right and 8 refused: 92 % to 100 %, threshold 95 %. Answered, and wrong, they fail it."""
    path = written(tmp_path, list(range(100)), threshold=0.95)
    mended: list[bool] = []

    def reply(body: dict[str, Any]) -> str | Fault:
        if number(body) >= 92:
            return "no idea" if mended else Fault("status", 400, REFUSED)
        return str(number(body))

    with serve_openai(reply) as server:
        done = run("--config", path, "--set", at(server, name="m"))
        assert done.returncode == 3, done.stderr
        hangs = f"it depends on failed calls (8 × HTTP 400: {REFUSED}"
        line = next(line for line in done.stdout.splitlines() if line.startswith("Undecided: m: numbers:"))
        assert hangs in line
        assert "92% if they are wrong, 100% if they are right; ask them again with --only-failed" in line
        (report,) = (latest(tmp_path) / "reports").glob("*.md")
        assert f"failed calls (8 × HTTP 400: {REFUSED}" in report.read_text(encoding="utf-8")
        mended.append(True)
        again = run(
            "--config", path, "--set", at(server, name="m"), "--run", latest(tmp_path).name, "--only-failed"
        )
    assert again.returncode == 1, again.stdout + again.stderr
    assert final(tmp_path)["models"][0]["suites"][0]["score"] == 0.92


def test_rows_that_repeat_a_question_count_once(run: Run, tmp_path: Path) -> None:
    """Ten rows, each twenty times, six of them right: n = 10, Wilson 31 % to 83 %, and ten calls."""
    path = written(tmp_path, list(range(10)) * 20, threshold=0.5)
    with serve_openai(lambda body: str(number(body)) if number(body) < 6 else "no idea") as server:
        done = run("--config", path, "--set", at(server, name="m"), "--set", "gate=interval")
        assert len(server.requests) == 10
    assert done.returncode == 3, "the interval holds 50 %; that of 200 rows, 53 to 67 %, would not"
    assert "numbers: 190 of 200 rows repeat a question" in done.stdout
    (suite,) = final(tmp_path)["models"][0]["suites"]
    assert (suite["n_asked"], suite["score"]) == (10, 0.6)
    assert (suite["interval"]["low"], suite["interval"]["high"]) == pytest.approx((0.3127, 0.8318), abs=5e-5)


def test_a_suite_without_a_threshold_is_measured_and_the_run_says_that_nothing_decides(
    run: Run, tmp_path: Path
) -> None:
    path = written(tmp_path, list(range(4)))
    with serve_openai("0") as server:
        done = run("--config", path, "--set", at(server, name="m"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No verdict: no suite has a threshold\n")
    assert "nothing is decided: no suite has a `threshold`" in done.stdout
    assert "Pass" not in done.stdout
    assert final(tmp_path)["models"][0]["verdict"] == "none"


def test_one_suite_has_no_overall_score_and_its_own_threshold_decides(run: Run, tmp_path: Path) -> None:
    """16 of 25 right, threshold 50 %: passes, whatever the threshold of overall scores is."""
    path = written(tmp_path, list(range(25)), threshold=0.5)
    with serve_openai(lambda body: str(number(body)) if number(body) < 16 else "no idea") as server:
        done = run("--config", path, "--set", at(server, name="m"), "--set", "threshold=0.8")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("Pass: m passes: numbers 64 (threshold 50)\n")
    assert not [line for line in done.stdout.splitlines() if line.strip().startswith("overall")]


def test_where_all_calls_failed_every_report_begins_with_why_and_the_exit_code_is_2(
    run: Run, tmp_path: Path
) -> None:
    path = written(tmp_path, list(range(20)))
    (tmp_path / "my_app.py").write_text("def answer(prompt):\n    return {'trace': [prompt]}\n", encoding="utf-8")
    model = {"name": "app", "provider": "python", "function": f"{tmp_path / 'my_app.py'}:answer"}
    done = run("--config", path, "--set", f"models=[{json.dumps(model)}]", "--set", "gate=off",
               "--set", "report.html=true", "--markdown", str(tmp_path / "summary.md"))  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    begins = "20 of 20 calls failed: "
    assert done.stdout.startswith(f"Error: app: {begins}")
    assert "'trace'" in done.stdout.splitlines()[0]
    (report,) = (latest(tmp_path) / "reports").glob("*.md")
    assert report.read_text(encoding="utf-8").startswith(f"**Error: app: {begins}")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith(f"## Basic Control\n\n**Error: app: {begins}")
    (page,) = (latest(tmp_path) / "reports").glob("*.html")
    body = page.read_text(encoding="utf-8").partition('<div class="banner error')[2]
    assert f'<p class="sentence">app: {begins}' in body[:600]
