"""`basic-control demo`: recorded replies become a whole report; its numbers are those of the replies."""

import json
import math
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.flows.earlier import settings_of
from basic_control.metrics.analysis.document import read
from basic_control.tasks.plan import resolve
from basic_control.tasks.report.screen import screen
from basic_control.tasks.verify import ReplyToVerify, verify_all
from tests.conftest import TOP
from tests.tasks.report.conftest import UNFOLD, Open

SHIPPED = TOP / "config" / "demo"
SMALL, LARGE = "smollm2-135m", "qwen2.5-coder-1.5b"
FAMILIES, EACH, PROBLEMS = 6, 6, 8


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Run the demo in an empty folder, beside a Prefect server of its own; return what it said and the run."""
    folder = tmp_path_factory.mktemp("a folder")
    environment = {**os.environ, "PYTHONPATH": str(TOP), "COLUMNS": "160"}
    command = [sys.executable, "-m", "basic_control", "demo"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == ["basic-control-demo"], "a user's own runs are left alone"
    (run,) = (folder / "basic-control-demo" / "runs").iterdir()
    return done.stdout, run


@pytest.fixture(scope="module")
def results(shown: tuple[str, Path]) -> dict[str, Any]:
    """Return results.json of the demo."""
    found: dict[str, Any] = json.loads((shown[1] / "results.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def right(shown: tuple[str, Path]) -> dict[tuple[str, str], list[bool]]:
    """Return what each family's verifier says of the file's replies, without the run's stages."""
    items = pl.read_parquet(shown[1] / "tables" / "items.parquet").filter(suite="basic_control")
    texts = recorded()
    pairs = [(model, row) for model in (LARGE, SMALL) for row in items.iter_rows(named=True)]
    asked = [ReplyToVerify(row, model, 0, texts[model, row["prompt"].strip()], None, None) for model, row in pairs]
    found = defaultdict(list)
    for (model, row), verdict in zip(pairs, verify_all(asked), strict=True):
        found[model, row["family"]].append(verdict["correct"] is True)
    return dict(found)


def recorded() -> dict[tuple[str, str], str]:
    """Return the texts that ship, by model and prompt."""
    rows = [json.loads(line) for line in (SHIPPED / "replies.jsonl").read_text(encoding="utf-8").splitlines()]
    return {(row["model"], row["prompt"].strip()): row["text"] for row in rows}


def suites(results: dict[str, Any], model: str) -> list[dict[str, Any]]:
    """Return the suites of a model's verdict: the generated families, and the chains of thought."""
    (found,) = [one for one in results["final"]["models"] if one["model"] == model]
    generated, chains = found["suites"]
    return [generated, chains, found]


def test_no_model_is_asked_and_every_reply_is_a_recorded_one(shown: tuple[str, Path]) -> None:
    said, run = shown
    replies = pl.read_parquet(run / "tables" / "replies.parquet")
    texts = recorded()
    assert replies.height == 2 * (FAMILIES * EACH + PROBLEMS) == len(texts), "every one that ships is shown"
    assert replies["error"].null_count() == replies.height
    for model, prompt, text in replies.select("model", "prompt", "text").iter_rows():
        assert texts[model, prompt.strip()].strip() == text.strip()
    assert "88 replies given; no model was asked." in said
    assert "without the suites that judges score" in said
    assert "--only-truncated" not in said, "a recording cannot be asked again"


def test_what_is_printed_is_the_screen_of_the_results(shown: tuple[str, Path], results: dict[str, Any]) -> None:
    said, run = shown
    (report,) = (run / "reports").glob("*.html")
    settings, manifest = settings_of(str(run.parent), run.name)
    files = (report, run / "results.json")
    made = screen(*read(results), resolve(settings), manifest["requests"], files=files)
    printed = said.splitlines()
    assert printed[0] == made.verdict
    assert [name for name, _ in made.rows] == [LARGE, SMALL], "the best first"
    for name, cells in made.rows:
        assert " ".join([name, *(cell.text() for cell in cells)]) in {" ".join(line.split()) for line in printed}
    told = [*made.differences, *made.notes, *(f"Warning: {one}" for one in made.warnings), *made.links]
    first = printed.index(told[0])
    assert printed[first : first + len(told) + 1] == [*told[:-2], printed[-5], *told[-2:]]
    assert printed[-5].startswith(made.calls)


def test_the_shares_are_those_of_the_recorded_replies(
    results: dict[str, Any], right: dict[tuple[str, str], list[bool]]
) -> None:
    told = {
        (cell["model"], cell["family"]): cell["mean"]
        for cell in results["cells"]
        if cell["metric"] == "correct" and cell["family"] and not cell["level"] and not cell["language"]
    }
    assert len(right) == 2 * FAMILIES
    assert told == {key: pytest.approx(sum(found) / EACH) for key, found in right.items()}
    for model in (SMALL, LARGE):
        share = sum(sum(found) for (whose, _), found in right.items() if whose == model) / (FAMILIES * EACH)
        assert results["totals"][model]["percent"] == pytest.approx(100 * share)  # as many items in each family
        assert suites(results, model)[0]["score"] == pytest.approx(share)


def test_the_final_answers_are_those_of_the_recorded_chains(
    shown: tuple[str, Path], results: dict[str, Any]
) -> None:
    """The number after the first four number signs, read here with one pattern."""
    replies = pl.read_parquet(shown[1] / "tables" / "replies.parquet").filter(suite="cot")
    for model in (SMALL, LARGE):
        mine = replies.filter(model=model)
        assert mine.height == PROBLEMS
        found = [
            [float(said) for said in re.findall(r"#### *(-?[\d.]+)", recorded()[model, prompt.strip()])][:1]
            == [float(re.findall(r"-?[\d.]+", answer)[-1])]
            for prompt, answer in mine.select("prompt", "answer").iter_rows()
        ]
        (told,) = [
            cell["mean"]
            for cell in results["cells"]
            if cell["metric"] == "cot.l1"
            and cell["model"] == model
            and not cell["level"]
            and not cell["language"]
            and not cell["family"]
        ]
        assert told == pytest.approx(sum(found) / PROBLEMS)


def test_the_overall_score_is_the_weighted_mean_and_the_models_are_of_different_strength(
    results: dict[str, Any],
) -> None:
    overall = {}
    for model in (SMALL, LARGE):
        generated, chains, whole = suites(results, model)
        overall[model] = whole["score"]
        assert whole["score"] == pytest.approx((2 * generated["score"] + chains["score"]) / 3)  # weights 0.4, 0.2
    assert overall[LARGE] > 2 * overall[SMALL]
    means = [cell["mean"] for cell in results["cells"] if cell["model"] == LARGE and cell["family"]]
    assert min(means) < 0.2, "bad cells"
    assert max(means) > 0.8, "and good ones"


def test_the_comparison_counts_the_same_items_apart(
    results: dict[str, Any], right: dict[tuple[str, str], list[bool]]
) -> None:
    """McNemar's exact test by hand: both halves of a binomial with an even coin."""
    pairs = [
        (a, b)
        for (model, family), found in right.items()
        if model == LARGE
        for a, b in zip(found, right[SMALL, family], strict=True)
    ]
    ours, theirs = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    generated, chains, whole = results["comparisons"]
    assert (generated["n"], generated["only_a"], generated["only_b"]) == (len(pairs), ours, theirs)
    tail = sum(math.comb(ours + theirs, k) for k in range(min(ours, theirs) + 1))
    assert generated["p_value"] == pytest.approx(min(1.0, 2 * tail / 2 ** (ours + theirs)))
    assert chains["significant"], "and one pair that can be told apart"
    assert [one["scope"] for one in (generated, chains, whole)] == ["total", "metric", "overall"]


def test_it_opens_in_a_browser_with_every_reply_and_nothing_cut_off(shown: tuple[str, Path], visit: Open) -> None:
    said, run = shown
    (report,) = (run / "reports").glob("*.html")
    assert f"Report: {report.as_uri()}\n" in said
    page = visit(report)
    assert page.locator("h1").inner_text() == "Evaluation report"
    assert page.inner_text(".found").startswith("88 of 88")
    page.evaluate(UNFOLD)
    for model in (SMALL, LARGE):
        assert page.locator(".standings").get_by_text(model, exact=True).is_visible()
    wide = page.locator(".standings").evaluate("one => [one.offsetWidth, one.parentElement.clientWidth]")
    assert wide[0] <= wide[1], "the verdicts fit into a window of 1280 pixels"


def test_what_ships_is_small_and_says_whose_it_is() -> None:
    assert (SHIPPED / "replies.jsonl").stat().st_size < 200_000
    stated = (SHIPPED / "run.yaml").read_text(encoding="utf-8")
    assert stated.count("Apache-2.0") == 2
    assert len(re.findall(r"sha256 [0-9a-f]{64}", stated)) == 2
