"""A dry run counts what the run asks: up to the maximum of a suite that stops, drawn rows, equal calls once."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.reading import read
from basic_control.config.settings import Settings
from basic_control.data.tables import SCORES
from basic_control.flows.cli.estimate import write_effect
from basic_control.metrics.stats.agreement import repeats
from basic_control.metrics.stats.intervals import mean_interval
from basic_control.metrics.stats.power import find_difference, find_effect
from tests.conftest import Run
from tests.helpers.estimates import estimate
from tests.helpers.judges import judged_by
from tests.helpers.runs import at
from tests.servers.running import serve_openai
from tests.servers.script import Answer

DEAD = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}


def write_rows(path: Path, rows: list[dict[str, str]]) -> str:
    """Write a file of rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def settings(folder: Path, rows: list[dict[str, str]], **suite: Any) -> Settings:
    """Return a suite of these rows, asked of one model and judged by one judge."""
    own = {"name": "a", "items": {"data": write_rows(folder / "rows.jsonl", rows)}, "prompt": "{{ question }}"}
    raw = {"models": [{"name": "m", **DEAD}], "judges": [{"name": "j", **DEAD}], "suites": [{**own, **suite}]}
    return Settings(**raw, store={"root": str(folder / "store"), "runs": str(folder / "runs")})


def calls(found: Settings) -> dict[str, int]:
    """Return the number of calls by role."""
    return {part.role: part.calls for part in estimate(found).portions}


@pytest.mark.parametrize(("most", "size", "expected"), [(40, 1, 40), (40, 7, 35), (5000, 1, 1000), (3, 7, 3)])
def test_no_more_is_told_than_a_suite_that_stops_may_ask(
    tmp_path: Path, most: int, size: int, expected: int
) -> None:
    rows = [{"question": f"Q{n}", "answer": "yes", "template": f"t{n // size}"} for n in range(1000)]
    stop = {"first": min(30, most), "most": most}
    found = settings(tmp_path, rows, metrics=["exact_match"], threshold=0.8, stop=stop)
    assert calls(found) == {"model": expected}
    (effect,) = estimate(found).effects
    assert effect.n <= expected


@pytest.mark.parametrize(
    ("words", "n"),
    [
        (["rag.n_samples=3"], 3),
        (['suites=[{"name": "rag", "items": {"sample": {"n": 3}}}]'], 3),
        (["rag.n_samples=3", "rag.sample_method=first"], 3),
        (["rag.n_samples=3", "rag.sample_method=all"], None),
        (["rag.sample_method=all"], None),
    ],
)
def test_a_number_of_samples_alone_draws_as_many(tmp_path: Path, words: list[str], n: int | None) -> None:
    judged = {"models": [{"name": "m", **DEAD}], "judges": [{"name": "j", **DEAD}], "suites": ["rag"]}
    path, store = tmp_path / "run.yaml", f"store.root={tmp_path}/store"
    path.write_text(json.dumps(judged), encoding="utf-8")
    asked = calls(read(str(path), [*words, store]))["model"]
    every = calls(read(str(path), [store]))["model"]
    assert asked == (n or every)
    assert every > 3


@pytest.mark.parametrize("times", [1, 5])
def test_a_call_to_a_judge_that_is_equal_counts_once(tmp_path: Path, times: int) -> None:
    rows = [{"question": f"Q{n}"} for n in range(12)] * times
    found = calls(settings(tmp_path, rows, metrics={"rubric": {"criteria": "good"}}, score=["rubric"]))
    assert found == {"model": 12, "judge": 12}


def test_requests_of_two_suites_that_are_equal_count_once(tmp_path: Path) -> None:
    rows = [{"question": f"Q{n}", "answer": "a"} for n in range(12)]
    found = settings(tmp_path, rows, metrics={"exact_match": {}})
    (suite,) = found.suites
    again = suite.model_copy(update={"name": "again", "weight": 0})
    asked_otherwise = suite.model_copy(update={"name": "other", "max_tokens": 7})
    estimated = estimate(found.model_copy(update={"suites": (suite, again, asked_otherwise)}))
    assert [portion.calls for portion in estimated.portions] == [12, 0, 12]


def test_rows_that_differ_for_the_judge_alone_are_judged_each(tmp_path: Path) -> None:
    rows = [{"question": "Q", "reference": f"R{n}"} for n in range(6)]
    found = calls(settings(tmp_path, rows, metrics={"rubric": {"criteria": "Is it {{ reference }}?"}}))
    assert found["model"] == 1
    assert found["judge"] in {1, 6}


def test_the_judges_calls_that_are_told_are_asked(run: Run, tmp_path: Path) -> None:
    """Twenty questions, each four times: the run asks the judge once for each reply."""
    rows = [{"question": f"Q{n % 20}"} for n in range(80)]
    suite = {"name": "a", "items": {"data": write_rows(tmp_path / "rows.jsonl", rows)}, "prompt": "{{ question }}"}
    suite |= {"metrics": {"rubric": {"criteria": "good", "scale": [0, 1]}}}

    def answer(body: dict[str, Any]) -> Answer:
        return Answer(json.dumps({"reason": "so", "rating": 1}) if "response_format" in body else "yes")

    with serve_openai(answer) as server:
        listed = [at(server), judged_by(server), f"suites={json.dumps([suite])}", "gate=off", "report.html=false"]
        words = [word for one in listed for word in ("--set", one)]
        told = run(*words, "--dry-run")
        assert not server.requests
        assert run(*words).returncode == 0
        judging = sum("response_format" in request.body for request in server.requests)
    assert judging == 20
    told_of = estimate(settings(tmp_path, rows, metrics=suite["metrics"]))
    assert [part.calls for part in told_of.portions] == [20, 20]
    assert told.returncode == 0


@pytest.mark.parametrize(
    ("n_templates", "times", "units"),
    [(300, 1, 300), (12, 1, 12), (30, 10, 30), (0, 1, 300), (4, 1, 300), (0, 3, 100)],
)
def test_what_can_be_detected_follows_from_independent_items(
    tmp_path: Path, n_templates: int, times: int, units: int
) -> None:
    """Three hundred rows: of so many templates, or each question so many times."""
    rows = [
        {"question": f"Q{n // times}", "answer": "yes"}
        | ({"template": f"t{n // times % n_templates}"} if n_templates else {})
        for n in range(300)
    ]
    (effect,) = estimate(settings(tmp_path, rows, metrics=["exact_match"])).effects
    assert (effect.n, effect.units) == (300, units)
    assert effect.between == find_difference(units)
    assert effect.threshold == find_effect(units)
    line = write_effect(effect)
    assert ("independent" in line) == (units != 300)


def test_the_section_on_repeats_heeds_templates() -> None:
    """Twelve templates of 25 questions that are right together or not, each asked twice."""
    templates = {f"i{n}": n // 25 for n in range(300)}
    rows = [
        {"item_id": item, "model": "m", "repeat": repeat, "metric": "exact_match", "version": 1, "status": "scored"}
        | {"value": float(template % 3 > 0), "reason": "", "details": "{}"}
        for item, template in templates.items()
        for repeat in range(2)
    ]
    scores = SCORES.frame(rows)
    (alone,), (shared,) = repeats(scores, k=2), repeats(scores, k=2, templates=templates)
    assert alone.pass_at.mean == shared.pass_at.mean == pytest.approx(2 / 3)
    for name in ("pass_at", "pass_all"):
        expected = mean_interval([float(template % 3 > 0) for template in range(12)])
        interval = getattr(shared, name).interval
        assert interval.low == pytest.approx(expected.interval.low, abs=0.02)
        assert interval.low < getattr(alone, name).interval.low - 0.1


def test_of_samples_drawn_again_those_that_are_remembered_are_told(run: Run, tmp_path: Path) -> None:
    """Three of rag's samples are asked and judged; of six, drawn by one seed, these three are not asked again."""

    def answer(body: dict[str, Any]) -> Answer:
        return Answer("It is so." if "response_format" not in body else json.dumps({"reason": "so", "rating": 2}))

    with serve_openai(answer) as server:
        listed = [at(server), judged_by(server), "suites=[rag]", "gate=off", "report.html=false"]
        words = [word for one in listed for word in ("--set", one)]
        run(*words, "--set", "rag.n_samples=3")
        store = f"store.root={tmp_path}/store"
        n_before = len(server.requests)
        told = estimate(read(None, [*listed, "rag.n_samples=6", store]))
        assert len(server.requests) == n_before
        run(*words, "--set", "rag.n_samples=6")
        n_asked = sum("response_format" not in request.body for request in list(server.requests)[n_before:])
    (model,) = (portion for portion in told.portions if portion.role == "model")
    assert (model.calls, model.cached, model.calls_due) == (6, 3, n_asked)
    assert all(portion.cached > 0 for portion in told.portions)


@pytest.mark.parametrize(("repeats", "n_models"), [(1, 2), (3, 1), (2, 2)])
def test_the_maximum_of_a_suite_that_stops_is_for_each_model_and_repeat(
    tmp_path: Path, repeats: int, n_models: int
) -> None:
    """At most 40 questions of a hundred that share templates of seven: 35 for each model, each asked so often."""
    rows = [{"question": f"Q{n}", "answer": "yes", "template": f"t{n // 7}"} for n in range(100)]
    suite = {"name": "a", "items": {"data": write_rows(tmp_path / "rows.jsonl", rows)}, "prompt": "{{ question }}"}
    suite |= {"metrics": ["exact_match"], "threshold": 0.8, "stop": {"first": 10, "most": 40}}
    models = [{"name": f"m{n}", **DEAD} for n in range(n_models)]
    store = {"root": str(tmp_path / "store"), "runs": str(tmp_path / "runs")}
    told = estimate(Settings(models=models, suites=[suite], repeats=repeats, store=store))
    assert [portion.calls for portion in told.portions] == [35 * repeats] * n_models
