"""Suites that stop early and whose questions share templates: whole templates are asked, each one observation."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.settings import Settings
from basic_control.data.suites import Stop, Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.stopping import compute_sequences, count_shared, cut_into_rounds
from basic_control.metrics.stats.sequential import follow
from basic_control.tasks.generate import items_of
from basic_control.tasks.plan import resolve
from tests.acceptance import tables
from tests.conftest import Run
from tests.helpers.runs import latest

SAID = "with fewer than ten forms of question nothing stops early"


def write_rows(path: Path, shares: Sequence[float], size: int) -> str:
    """Write recorded replies to so many questions of each template, of which a share is right."""
    rows = [
        {"question": f"Q{n} of {template}", "answer": "yes", "template": f"t{template}"}
        | {"response": "yes" if n < share * size else "no"}
        for template, share in enumerate(shares)
        for n in range(size)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def words(data: str, threshold: float, **stop: int) -> list[str]:
    """Return the settings of a suite of these rows that stops early."""
    suite = {"name": "s", "items": {"data": data}, "metrics": ["exact_match"], "threshold": threshold, "stop": stop}
    return ["--set", f"suites={json.dumps([suite])}", "--set", "report.html=false", "--set", "gate=interval"]


def entry(folder: Path) -> dict[str, Any]:
    """Return the suite's entry in the results of the last run."""
    document = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))
    suite: dict[str, Any] = document["final"]["models"][0]["suites"][0]
    return suite


@pytest.mark.parametrize("size", [25, 2])
def test_twelve_templates_do_not_decide_what_their_questions_would(run: Run, tmp_path: Path, size: int) -> None:
    data = write_rows(tmp_path / "r.jsonl", [1.0] * 8 + [0.0] * 4, size)
    done = run(*words(data, 0.5, first=10, most=300))
    assert done.returncode == 3, done.stdout + done.stderr
    suite = entry(tmp_path)
    assert suite["n_asked"] == 12 * size
    assert [look["n"] for look in suite["stopping"]["looks"]][-1] == 12
    assert all(n % size == 0 for n in suite["stopping"]["questions"])


@pytest.mark.parametrize("n_templates", [9, 3])
def test_with_fewer_than_ten_templates_all_is_asked_and_it_is_said_why(
    run: Run, tmp_path: Path, n_templates: int
) -> None:
    data = write_rows(tmp_path / "r.jsonl", [1.0] * n_templates, 25)
    done = run(*words(data, 0.5, first=10, most=300))
    assert done.returncode == 0, done.stdout + done.stderr
    assert SAID in " ".join(done.stdout.split())
    suite = entry(tmp_path)
    assert (suite["n_asked"], suite["stopping"]) == (25 * n_templates, None)
    assert suite["interval"]["method"] != "sequence"
    assert suite["interval"]["low"] is not None


def test_a_hundred_templates_stop_early(run: Run, tmp_path: Path) -> None:
    done = run(*words(write_rows(tmp_path / "r.jsonl", [1.0] * 100, 4), 0.5, first=10, most=400))
    assert done.returncode == 0, done.stdout + done.stderr
    suite = entry(tmp_path)
    assert 40 <= suite["n_asked"] < 200
    assert suite["n_asked"] % 4 == 0
    assert SAID not in " ".join(done.stdout.split())


def test_a_template_of_one_question_shares_nothing(run: Run, tmp_path: Path) -> None:
    done = run(*words(write_rows(tmp_path / "r.jsonl", [1.0] * 300, 1), 0.5, first=10, most=300))
    assert done.returncode == 0, done.stdout + done.stderr
    assert entry(tmp_path)["n_asked"] < 30


def test_the_order_follows_no_recorded_reply(run: Run, tmp_path: Path) -> None:
    asked: list[list[str]] = []
    for reply in ("yes", "Yes."):
        rows = ({"question": f"Q{n}", "answer": "yes", "response": reply} for n in range(200))
        data = tmp_path / "r.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        assert run(*words(str(data), 0.5, first=10, most=200)).returncode == 0
        items = pl.read_parquet(latest(tmp_path) / "tables/items.parquet")
        asked.append(sorted(items["question_id"].to_list()))
    assert asked[0] == asked[1]
    assert len(asked[0]) < 50


def test_alpha_is_kept_where_templates_are_alike() -> None:
    """Twelve to forty templates of 25, right as a whole or wrong: the threshold is the truth."""
    decided = Counter[str]()
    for seed in range(30):
        draw = random.Random(seed)
        n_templates = draw.choice([12, 20, 40])
        templates = [f"t{n}" for n in range(n_templates) for _ in range(25)]
        shares = {f"t{n}": 0.95 if draw.random() < 0.7 else 0.05 for n in range(n_templates)}
        rows = {"a": [("scored", float(draw.random() < shares[template])) for template in templates]}
        stop = Stop(first=30, most=1000)
        suite = tables.suite(0.7 * 0.95 + 0.3 * 0.05, stop=stop.model_dump(), items={"data": "s", "seed": seed})
        rounds = cut_into_rounds(tables.items(len(templates), templates=templates), suite, stop)
        assert all(
            part["template"].value_counts()["count"].to_list() == [25] * (part.height // 25) for part in rounds
        )
        (sequence,) = compute_sequences(rounds, tables.scores(rows), suite, ["a"], 0.05)
        decided[sequence.side] += 1
    assert decided[""] >= 27


def test_equal_questions_of_a_template_share_nothing() -> None:
    items = tables.items(40, templates=[f"t{n // 2}" for n in range(40)])
    assert count_shared(items) == 20
    digests = pl.Series("text_digest", [f"q{n // 2}" for n in range(40)])
    assert count_shared(items.with_columns(digests)) == 0


def test_whole_templates_reach_the_maximum_and_no_further() -> None:
    items = tables.items(300, templates=[f"t{n // 20}" for n in range(300)])
    suite = tables.suite(stop={"first": 30, "most": 250})
    rounds = cut_into_rounds(items, suite, Stop(first=30, most=250))
    assert [part.height for part in rounds] == [200, 40]
    assert len(cut_into_rounds(items, suite, Stop(first=30, most=190))) == 1
    assert pl.concat(cut_into_rounds(items, suite, Stop(first=5, most=15))).height == 15


Family = tuple[int, int, float]
"""The numbers of a family's templates and of the questions of each, and the share of templates that are right."""


def total_of(families: Sequence[Family], seed: int = 0, **stop: int) -> tuple[Suite, pl.DataFrame, pl.DataFrame]:
    """Return a suite with a TOTAL, its items and a model's scores: a template's questions are alike."""
    draw = random.Random(seed)
    templates, names, values = [], [], []
    for family, (n_templates, size, share) in enumerate(families):
        for template in range(n_templates):
            value = float(draw.random() < share)
            templates += [f"t{template}"] * size
            names += [f"f{family}"] * size
            values += [value] * size
    items = tables.items(len(names), templates=templates).with_columns(family=pl.Series(names))
    threshold = sum(share for *_, share in families) / len(families)
    source = {"loader": "families", "seed": seed}
    suite = tables.suite(threshold, strata="family", items=source, stop={"first": 30, "most": 4000, **stop})
    return suite, items, tables.scores({"a": [("scored", value) for value in values]})


def test_alpha_is_kept_where_a_totals_templates_are_alike() -> None:
    """Two to four families of 10 to 40 templates, each right as a whole or wrong: the threshold is the truth."""
    decided = Counter[str]()
    for seed in range(40):
        draw = random.Random(seed)
        n_templates = draw.choice([10, 14, 20, 40])
        families = [(n_templates, 20, draw.choice([0.3, 0.6, 0.8])) for _ in range(draw.choice([2, 3, 4]))]
        suite, items, scores = total_of(families, seed)
        assert suite.stop
        (sequence,) = compute_sequences(cut_into_rounds(items, suite, suite.stop), scores, suite, ["a"], 0.05)
        assert sequence.looks[-1].n == n_templates
        decided[sequence.side] += 1
    assert decided[""] >= 37


def test_a_round_of_a_total_is_a_template_of_each_family() -> None:
    """Families of 12 and 20 templates, of 4 and 2 questions: twelve rounds of 6, weighed by family."""
    suite, items, scores = total_of([(12, 4, 1.0), (20, 2, 0.0)])
    assert suite.stop
    rounds = cut_into_rounds(items, suite, suite.stop)
    assert [part.height for part in rounds] == [60, 12]
    for part in rounds:
        by_template = part.group_by("family", "template").len()
        sizes = {(family, n) for family, _, n in by_template.iter_rows()}
        assert sizes == {("f0", 4), ("f1", 2)}
        assert Counter(by_template["family"]) == {"f0": part.height // 6, "f1": part.height // 6}
    (sequence,) = compute_sequences(rounds, scores, suite, ["a"], 0.05)
    assert sequence.looks == follow([0.5] * 12, alpha=0.05, looks=[10, 12])
    assert sequence.questions == (60, 72)


@pytest.mark.parametrize(
    ("families", "n_asked"),
    [
        ([(9, 4, 1.0), (20, 2, 1.0)], 76),  # nine rounds
        ([(4, 4, 1.0), (5, 4, 1.0)], 36),
        ([(9, 4, 1.0), (40, 1, 1.0)], 76),  # questions that share nothing beside nine templates
    ],
)
def test_a_total_of_few_templates_is_asked_in_full(families: Sequence[Family], n_asked: int) -> None:
    suite, items, scores = total_of(families)
    assert suite.stop
    rounds = cut_into_rounds(items, suite, suite.stop)
    assert [part.height for part in rounds] == [n_asked]
    assert compute_sequences(rounds, scores, suite, ["a"], 0.05) == ()


def test_a_total_whose_maximum_holds_few_rounds_asks_whole_templates_of_each_family() -> None:
    suite, items, scores = total_of([(12, 10, 1.0), (12, 10, 1.0)], most=190)
    assert suite.stop
    (batch,) = cut_into_rounds(items, suite, suite.stop)
    assert batch.group_by("family", "template").len()["len"].to_list() == [10] * 19
    assert compute_sequences([batch], scores, suite, ["a"], 0.05) == ()
    (few,) = cut_into_rounds(items, suite, Stop(first=5, most=15))
    assert Counter(few["family"]) == {"f0": 8, "f1": 7}, "no template of the second family would be whole"


def test_a_template_in_several_levels_and_languages_of_a_family_is_one_unit() -> None:
    suite, items, scores = total_of([(12, 6, 1.0), (12, 6, 1.0)])
    assert suite.stop
    number = pl.int_range(pl.len()).over("family", "template")
    apart = items.with_columns(
        level=pl.when(number % 2 == 0).then(pl.lit("easy")).otherwise(pl.lit("hard")),
        language=pl.when(number % 3 == 0).then(pl.lit("en")).otherwise(pl.lit("ru")),
    )
    rounds = cut_into_rounds(apart, suite, suite.stop)
    assert [part.height for part in rounds] == [120, 24]
    (sequence,) = compute_sequences(rounds, scores, suite, ["a"], 0.05)
    assert [look.n for look in sequence.looks] == [10, 12]


def test_levels_with_templates_of_their_own_are_strata_of_a_total() -> None:
    suite, items, scores = total_of([(24, 2, 1.0), (24, 2, 1.0)])
    assert suite.stop
    is_easy = pl.col("template").str.slice(1).cast(pl.Int64) < 12
    levels = items.with_columns(level=pl.when(is_easy).then(pl.lit("easy")).otherwise(pl.lit("hard")))
    rounds = cut_into_rounds(levels, suite, suite.stop)
    for part in rounds:
        assert {*part.group_by("family", "level").len()["len"]} == {part.height // 4}
    (sequence,) = compute_sequences(rounds, scores, suite, ["a"], 0.05)
    assert sequence.looks[-1].n == 12


def test_the_basic_tasks_may_fail_early_and_have_too_few_templates_to_pass() -> None:
    source = {"models": [{"name": "a", "provider": "ollama"}], "suites": ["basic_control"]}
    (planned,) = resolve(Settings.model_validate(source).until_decided()).suites
    suite = planned.suite
    assert suite.stop
    rounds = cut_into_rounds(ITEMS.frame(items_of(suite)), suite, suite.stop)
    asked_items = pl.concat(rounds)["item_id"]
    sides = {}
    for value in (0.0, 1.0):
        rows = (
            {"item_id": item, "model": "a", "repeat": 0, "metric": "correct", "version": 1} for item in asked_items
        )
        scores = SCORES.frame({**row, "value": value, "status": "scored"} for row in rows)
        (sequence,) = compute_sequences(rounds, scores, suite, ["a"], 0.05)
        sides[value] = sequence.side
    assert sides == {0.0: "below", 1.0: ""}
    assert 10 <= sequence.looks[-1].n < 20
