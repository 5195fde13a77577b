"""A plan holds what a run asks, of whom and by which rules: resolved once, from declarations and data."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Settings
from basic_control.data.errors import InputError
from basic_control.tasks.plan import Plan, resolve
from basic_control.tasks.plan_judges import check_judges

ROWS = [{"question": "Who?", "answer": "Anna"}, {"question": "Where?", "answer": "Here"}]


def plan(folder: Path, *suites: dict[str, Any], models: tuple[str, ...] = ("a", "b"), **changes: Any) -> Plan:
    """Resolve a run of suites over one file of rows."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    usual = {"items": {"data": str(path)}, "prompt": "{{ question }}", "metrics": {"exact_match": {}}}
    given = {
        "models": [{"name": name, "provider": "ollama"} for name in models],
        "judges": [{"name": name, "provider": "ollama"} for name in ("j", "b")],
        "suites": [{"name": f"s{n}", **usual, **suite} for n, suite in enumerate(suites)],
    }
    return resolve(Settings.model_validate({**given, **changes}))


def test_each_model_by_each_prompt_is_a_target_as_the_suite_asks_it(tmp_path: Path) -> None:
    prompts = {"short": "{{ question }}", "long": "Well: {{ question }}"}
    (suite,) = plan(tmp_path, {"prompt": "", "prompts": prompts, "models": ["a"], "temperature": 0.5}).suites
    assert [(one.name, one.template) for one in suite.targets] == [
        ("a [short]", None),
        ("a [long]", "Well: {{ question }}"),
    ]
    assert {one.model.temperature for one in suite.targets} == {0.5}


def test_only_who_is_asked_is_among_models_and_judges(tmp_path: Path) -> None:
    rubric = {"rubric": {"criteria": "Polite.", "scale": [1, 5], "judges": ["b"], "temperature": 0.3}}
    found = plan(tmp_path, {"models": ["b"], "metrics": {"exact_match": {}, **rubric}, "repeats": 3})
    (suite,) = found.suites
    assert [model.name for model in found.models] == ["b"]
    assert [judge.name for judge in found.judges] == ["b"]
    assert [(one.name, one.temperature, [judge.name for judge in one.judges]) for one in suite.metrics] == [
        ("exact_match", None, []),
        ("rubric", 0.3, ["b"]),
    ]
    assert suite.repeats == 3
    assert found.own_models == {"b": {"b"}}
    assert found.members == {"b": ("s0",)}


def test_a_judged_metric_without_a_judge_is_planned_and_refused_before_it_is_asked(tmp_path: Path) -> None:
    metrics = {"rubric": {"criteria": "Polite.", "scale": [1, 5]}}
    found = plan(tmp_path, {"metrics": metrics}, judges=[])
    assert found.suites[0].find_metric("rubric").judges == ()
    with pytest.raises(InputError, match="suite s0: found no judge"):
        check_judges(found)


def test_all_sequences_of_a_run_share_alpha(tmp_path: Path) -> None:
    until = {"stop": {"alpha": 0.05}, "threshold": 0.8}
    alone = plan(tmp_path, until, models=("a",)).suites[0].alpha
    first, second, third = plan(tmp_path, until, until, {}, models=("a",)).suites
    assert 0 < first.alpha == second.alpha < alone <= 0.05
    assert third.alpha == 0.0


def test_a_file_is_let_go_by_the_last_suite_that_reads_it(tmp_path: Path) -> None:
    first, second = plan(tmp_path, {}, {}).suites
    assert first.files == ()
    assert second.files == (tmp_path / "rows.jsonl",)


def test_each_target_has_the_suites_that_ask_it(tmp_path: Path) -> None:
    found = plan(tmp_path, {}, {"models": ["b"]})
    assert found.members == {"a": ("s0",), "b": ("s0", "s1")}
