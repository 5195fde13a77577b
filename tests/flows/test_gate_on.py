"""A run gated on k answers to each question: one set of replies, another verdict, told wherever it is shown."""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from basic_control.flows.cli.application import main
from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai
from tests.servers.script import last_user


class Unsteady:
    """A model that knows six of ten things, gives three more right only the first time, and one never."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()

    def __call__(self, body: dict[str, Any]) -> str:
        number = int(last_user(body).rpartition(" ")[2])
        self.asked[number] += 1
        right = number < 6 or (number < 9 and self.asked[number] == 1)
        return f"Place {number}" if right else "Nowhere"


def written(folder: Path) -> str:
    rows = [{"question": f"Country {n}", "answer": f"Place {n}"} for n in range(10)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {"name": "places", "items": {"data": str(folder / "rows.jsonl")}, "prompt": "Capital of {{ question }}",
             "metrics": ["exact_match"], "repeats": 3, "threshold": 0.8}  # fmt: skip
    path = folder / "run.yaml"
    path.write_text(json.dumps({"suites": [suite]}), encoding="utf-8")
    return str(path)


def test_one_set_of_replies_fails_as_a_mean_passes_at_3_and_fails_all_3(run: Run, tmp_path: Path) -> None:
    """6 x 3 + 3 of 30 answers are right: 70 %; one of three for 9 questions of 10, all for 6. Threshold: 80 %."""
    path, junit, markdown = written(tmp_path), tmp_path / "junit.xml", tmp_path / "summary.md"
    found: dict[str, Any] = {}
    printed: dict[str, str] = {}
    # one call at a time: which of a question's answers is the first is then the same in every repeat
    with serve_openai(Unsteady()) as server:
        model = at(server, name="m", max_concurrency=1)
        for gate_on, code in (("pass_at_k", 0), ("mean", 1), ("pass_all_k", 1)):
            done = run("--config", path, "--set", model, "--set", f"places.gate_on={gate_on}",
                       "--junit", str(junit), "--markdown", str(markdown))  # fmt: skip
            assert done.returncode == code, done.stderr
            (entry,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"][
                "models"
            ]
            (found[gate_on],) = entry["suites"]
            printed[gate_on] = done.stdout
            gates = ET.parse(junit).findall("testsuite[@name='gates']/testcase")  # noqa: S314 - our own file
            cases = {case.get("name"): case for case in gates}
            assert {name for name, case in cases.items() if case.find("failure") is not None} == (
                {"places"} if code else set()
            )
            assert main(["gate", str(latest(tmp_path)), "--threshold", "0.8"]) == code
        whole = run(
            "--config", path, "--set", model, "--set", "places.gate_on=pass_all_k", "--set", "gate=interval"
        )
        assert whole.returncode == main(["gate", str(latest(tmp_path)), "--threshold", "0.8"]) == 3
        assert len(server.requests) == 30
    assert "\n? undecided\n" in whole.stdout
    assert "? undecided" not in printed["mean"], "a mark that no cell has"
    scores = {name: (round(one["score"], 4), one["n_asked"]) for name, one in found.items()}
    assert scores == {"pass_at_k": (0.9, 10), "mean": (0.7, 30), "pass_all_k": (0.6, 10)}
    at_least, every = found["pass_at_k"], found["pass_all_k"]
    assert (at_least["k"], round(at_least["mean"], 4), found["mean"]["mean"]) == (3, 0.7, None)
    # Wilson's of 9 of 10 and of 6 of 10
    assert [round(at_least["interval"][end], 4) for end in ("low", "high")] == [0.5958, 0.9821]
    assert [round(every["interval"][end], 4) for end in ("low", "high")] == [0.3127, 0.8318]
    assert printed["pass_at_k"].startswith("Pass: m passes: places pass@3 90 (threshold 80)\n")
    assert printed["mean"].startswith("Fail: m fails: places 70 (threshold 80)\n")
    assert printed["pass_all_k"].startswith("Fail: m fails: places pass^3 60 (threshold 80)\n")
    assert "pass^3 score 0.6000, mean 0.7000, threshold 0.8: fail" in junit.read_text(encoding="utf-8")
    assert "**Fail: m fails: places pass^3 60 (threshold 80)**" in markdown.read_text(encoding="utf-8")
    reports = latest(tmp_path) / "reports"
    assert "pass^3 60% (mean 70%)" in next(reports.glob("*.md")).read_text(encoding="utf-8")
    page = next(reports.glob("*.html")).read_text(encoding="utf-8")
    assert "pass^3 60% (mean 70%)" in page
    (row,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["repeats"]
    assert (row["suite"], row["k"], row["n_items"]) == ("places", 3, 10)


def test_the_dry_run_says_what_is_gated_on(run: Run, tmp_path: Path) -> None:
    with serve_openai(Unsteady()) as server:
        sets = ("--set", "places.gate_on=pass_all_k", "--set", "places.k=2")
        done = run("--config", written(tmp_path), "--set", at(server, name="m"), *sets, "--dry-run")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "places: gated on pass_all_k, the share of questions with all of 2 answers right" in said


def test_given_responses_are_refused_before_anything_is_asked(run: Run, tmp_path: Path) -> None:
    rows = tmp_path / "given.jsonl"
    rows.write_text('{"question": "Where?", "answer": "Here", "response": "Here"}\n', encoding="utf-8")
    suite = {"name": "given", "items": {"data": str(rows)}, "metrics": ["exact_match"], "repeats": 2,
             "gate_on": "pass_at_k"}  # fmt: skip
    done = run("--set", f"suites={json.dumps([suite])}")
    assert done.returncode == 2
    assert "suite given: found gate_on: pass_at_k and recorded responses" in " ".join(done.stderr.split())
