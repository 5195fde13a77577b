"""`basic-control demo`: invented replies become a whole report, whose numbers are those of the replies."""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.reading import read as read_settings
from basic_control.flows.earlier import settings_of
from basic_control.metrics.analysis.document import read
from basic_control.tasks.plan import resolve
from basic_control.tasks.report.screen import screen
from basic_control.tasks.verify import ReplyToVerify, verify_all
from tests.benchmarks.demo import MISTAKES, script
from tests.conftest import TOP
from tests.helpers.first_runs import PIPE, expect, settle
from tests.tasks.report.conftest import UNFOLD, Open

SHIPPED = TOP / "config" / "demo"
BEST, MIDDLE, WORST = MISTAKES
SUITES = ["basic_control", "cot", "citation", "rag"]
FAMILIES, EACH, PROBLEMS = 6, 6, 12
ASKED = 3 * (FAMILIES * EACH + PROBLEMS + 8 + 8)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Run the demo in an empty folder, beside a Prefect server of its own; return what it said and the run."""
    folder = tmp_path_factory.mktemp("a folder")
    environment = {**os.environ, "PYTHONPATH": str(TOP), **PIPE}
    command = [sys.executable, "-m", "basic_control", "demo"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == ["basic-control-demo"], "a user's own runs are left alone"
    (run,) = (folder / "basic-control-demo" / "runs").iterdir()
    return done.stdout, run


@pytest.fixture(scope="module")
def results(shown: tuple[str, Path]) -> dict[str, Any]:
    """Return results.json of the demo."""
    document: dict[str, Any] = json.loads((shown[1] / "results.json").read_text(encoding="utf-8"))
    return document


@pytest.fixture(scope="module")
def right(shown: tuple[str, Path]) -> dict[tuple[str, str], list[bool]]:
    """Return what each family's verifier says of the file's replies, without the run's stages."""
    items = pl.read_parquet(shown[1] / "tables" / "items.parquet").filter(suite="basic_control")
    texts = invented()
    pairs = [(model, row) for model in MISTAKES for row in items.iter_rows(named=True)]
    replies = [
        ReplyToVerify(row, model, 0, texts[model, row["prompt"].strip()], None, None) for model, row in pairs
    ]
    verdicts = defaultdict(list)
    for (model, row), verdict in zip(pairs, verify_all(replies), strict=True):
        verdicts[model, row["family"]].append(verdict["correct"] is True)
    return dict(verdicts)


def invented() -> dict[tuple[str, str], str]:
    """Return the texts that ship, by model and prompt."""
    rows = pl.read_parquet(SHIPPED / "replies.parquet").rows(named=True)
    return {(row["model"], row["prompt"].strip()): row["text"] for row in rows}


def models_of(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {model["model"]: model for model in results["final"]["models"]}


def test_what_ships_is_what_the_script_writes() -> None:
    written = script(read_settings(SHIPPED / "run.yaml"))
    assert written.sort("model", "prompt").equals(
        pl.read_parquet(SHIPPED / "replies.parquet").sort("model", "prompt")
    )
    assert (SHIPPED / "replies.parquet").stat().st_size < 40_000


def test_no_model_is_asked_and_the_screen_says_how_the_replies_were_made(shown: tuple[str, Path]) -> None:
    said, run = shown
    replies = pl.read_parquet(run / "tables" / "replies.parquet")
    texts = invented()
    assert replies.height == ASKED
    assert replies["error"].null_count() == replies.height
    for model, prompt, text in replies.select("model", "prompt", "text").iter_rows():
        assert texts[model, prompt.strip()].strip() == text.strip()
    sentences = " ".join(said.split())
    assert "replies given; no model was asked." in sentences
    assert "Invented replies: a script planted mistakes, and the judge knows the truth." in sentences


def test_the_screen_is_the_one_that_was_read(shown: tuple[str, Path]) -> None:
    assert settle(shown[0]) == expect("demo", shown[0])


def test_one_model_passes_one_fails_and_one_difference_is_real(
    shown: tuple[str, Path], results: dict[str, Any]
) -> None:
    models = models_of(results)
    for model, outcome in ((BEST, "pass"), (MIDDLE, "pass"), (WORST, "fail")):
        cells = {suite["suite"]: suite["outcome"] for suite in models[model]["suites"]}
        assert cells == dict.fromkeys(SUITES, outcome), "each cell has a verdict"
        assert all(suite["score"] is not None for suite in models[model]["suites"]), "and a number"
    said = " ".join(shown[0].split())
    assert re.search(rf"{BEST} beats {WORST} by \d+ points \([^)]*\)", said)
    assert f"no clear difference between {BEST} and {MIDDLE}" in said


def test_the_judge_passed_its_exam(results: dict[str, Any]) -> None:
    statuses = results["judge_statuses"]
    assert {status["exam"] for status in statuses} == {"split", "entails", "support", "correctness", "groundedness"}
    assert all(status["measured"] and status["counts"] for status in statuses)


def test_what_is_printed_is_the_screen_of_the_results(
    shown: tuple[str, Path], results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    said, run = shown
    monkeypatch.chdir(run.parents[2])  # paths are shown from where the command was called
    (report,) = (run / "reports").glob("*.html")
    settings, manifest = settings_of(str(run.parent), run.name)
    files = (report, run / "results.json")
    made = screen(*read(results), resolve(settings), manifest["requests"], files=files)
    printed = " ".join(said.split())
    assert printed.startswith(made.verdict)
    assert [name for name, _ in made.rows] == [BEST, MIDDLE, WORST], "the best first"
    lines = {" ".join(line.split()) for line in said.splitlines()}
    for row in made.table().rows:
        assert " ".join(row) in lines
    for line in (*made.differences, *made.notes, *(f"Warning: {text}" for text in made.warnings), *made.links):
        assert str(line) in printed


def test_the_shares_are_those_of_the_replies(
    results: dict[str, Any], right: dict[tuple[str, str], list[bool]]
) -> None:
    shares = {
        (cell["model"], cell["family"]): cell["mean"]
        for cell in results["cells"]
        if cell["metric"] == "correct" and cell["family"] and not cell["level"] and not cell["language"]
    }
    assert len(right) == len(MISTAKES) * FAMILIES
    assert shares == {key: pytest.approx(sum(verdicts) / EACH) for key, verdicts in right.items()}
    for model in MISTAKES:
        share = sum(sum(verdicts) for (name, _), verdicts in right.items() if name == model) / (FAMILIES * EACH)
        assert results["totals"][model]["percent"] == pytest.approx(100 * share)  # as many items in each family


def test_the_final_answers_are_those_of_the_chains(shown: tuple[str, Path], results: dict[str, Any]) -> None:
    """The number after the first four number signs, read here with one pattern."""
    replies = pl.read_parquet(shown[1] / "tables" / "replies.parquet").filter(suite="cot")
    for model in MISTAKES:
        mine = replies.filter(model=model)
        assert mine.height == PROBLEMS
        equal = [
            [float(number) for number in re.findall(r"#### *(-?[\d.]+)", invented()[model, prompt.strip()])][:1]
            == [float(re.findall(r"-?[\d.]+", answer)[-1])]
            for prompt, answer in mine.select("prompt", "answer").iter_rows()
        ]
        (mean,) = [
            cell["mean"]
            for cell in results["cells"]
            if (cell["model"], cell["metric"]) == (model, "cot.l1")
            and not (cell["level"] or cell["language"] or cell["family"])
        ]
        assert mean == pytest.approx(sum(equal) / PROBLEMS)


def test_it_opens_in_a_browser_with_every_reply_and_nothing_cut_off(shown: tuple[str, Path], visit: Open) -> None:
    said, run = shown
    (report,) = (run / "reports").glob("*.html")
    assert f"Report: basic-control-demo/runs/{run.name}/reports/{report.name}\n" in said
    page = visit(report)
    assert page.locator("h1").inner_text() == "Basic tasks, Chain of thought, Citations and RAG"
    page.evaluate(UNFOLD)
    for model in MISTAKES:
        assert page.locator(".standings").get_by_text(model, exact=True).is_visible()
    wide = page.locator(".standings").evaluate("table => [table.offsetWidth, table.parentElement.clientWidth]")
    assert wide[0] <= wide[1], "the verdicts fit into a window of 1280 pixels"
