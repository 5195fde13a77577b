"""Every example of docs/examples/moving: another tool's file, `init --from`, a run, and that tool's verdicts.

`python -m tests.benchmarks.movers` has promptfoo and lm-evaluation-harness themselves count the same rows.
"""

import json
from pathlib import Path

import pytest

from basic_control.flows.cli.application import main
from tests.conftest import TOP, Run
from tests.helpers.moving import DATA_SETS, EXAMPLES, FOLDER, count_held, prepare
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

PAGE = (TOP / "docs" / "coming-from.md").read_text(encoding="utf-8")
LIGHT = ("--set", "report.html=false")


@pytest.mark.parametrize("tool", EXAMPLES)
def test_a_file_of_another_tool_comes_to_its_verdicts(run: Run, tmp_path: Path, tool: str) -> None:
    example = EXAMPLES[tool]
    with serve_openai(example.answer) as server:
        path = prepare(example, tmp_path, server.base_url)
        done = run("--config", str(path), *LIGHT)
        assert len(server.requests) == example.n_rows
    assert done.returncode in (0, 1), done.stderr
    assert count_held(latest(tmp_path) / "results.json") == (example.n_held, example.n_rows)
    assert f"{example.n_held} of {example.n_rows}" in PAGE
    assert f"examples/moving/{example.file}" in PAGE


def test_of_promptfoos_rows_each_must_pass_until_the_threshold_is_lowered(run: Run, tmp_path: Path) -> None:
    """As there, where one failed test ends a build; three of six hold, hence a threshold of a half lets it pass."""
    example = EXAMPLES["promptfoo"]
    with serve_openai(example.answer) as server:
        path = prepare(example, tmp_path, server.base_url)
        strict = run("--config", str(path), *LIGHT)
        loose = run("--config", str(path), "--set", "suites.0.threshold=0.5", *LIGHT)
    assert (strict.returncode, loose.returncode) == (1, 0)
    assert "(threshold 100: every row must pass; 3 of 6 failed)" in strict.stdout.splitlines()[0]
    assert "every row" not in loose.stdout


def test_what_is_written_of_promptfoo_says_how_to_loosen_it(tmp_path: Path) -> None:
    main(["init", str(tmp_path / "moved"), "--from", str(EXAMPLES["promptfoo"].path)])
    head = (tmp_path / "moved" / "eval.yaml").read_text(encoding="utf-8").partition("models:")[0]
    assert "# `threshold: 1.0`: every row must pass, as there" in head
    assert "0.9: nine of ten" in head


@pytest.mark.parametrize(("tool", "scores"), [("DeepEval", [0.0, 2 / 3]), ("ragas", [2 / 3, 2 / 3])])
def test_a_data_set_of_another_tool_is_judged_by_rules(
    run: Run, tmp_path: Path, tool: str, scores: list[float]
) -> None:
    assert main(["init", str(tmp_path / "moved"), "--from", str(FOLDER / DATA_SETS[tool])]) == 0
    done = run("--config", str(tmp_path / "moved" / "eval.yaml"), *LIGHT)
    assert done.returncode == 0, "a verdict needs a judge who reads"
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    by_metric = {headline["metric"]: headline["score"] for headline in model["suites"]}
    assert [by_metric["factual_correctness"], by_metric["faithfulness"]] == pytest.approx(scores)
    assert f"examples/moving/{DATA_SETS[tool]}" in PAGE
