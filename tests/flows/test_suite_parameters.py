"""A suite's own request settings: sent to whatever model the suite asks, and to no other suite's."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Settings
from basic_control.tasks.plan import resolve
from tests.conftest import Run
from tests.servers.running import serve_openai

SUITE = {"items": {"data": "rows.jsonl"}, "prompt": "{{ question }}", "metrics": {"exact_match": {}}}
OWN = {"max_tokens": 7, "temperature": 0.5, "extra": {"stop": ["\n\n"]}}


def write_rows(folder: Path) -> None:
    rows = [{"question": "Two and two?", "answer": "4"}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_the_settings_of_a_suite_stay_when_its_model_is_replaced(run: Run, tmp_path: Path) -> None:
    write_rows(tmp_path)
    suite = {**SUITE, "items": {"data": str(tmp_path / "rows.jsonl")}}
    suites = [{"name": "first", **suite, **OWN}, {"name": "plain", **suite}]
    file = tmp_path / "eval.yaml"
    file.write_text(json.dumps({"models": [{"name": "first"}], "suites": suites}), encoding="utf-8")
    with serve_openai("4") as server:
        address = f"models.0.base_url={server.base_url}"
        done = run("--config", str(file), "--model", "openai/second", "--set", address)
        bodies = [request.body for request in server.requests]
    assert done.returncode == 0, done.stderr
    assert len(bodies) == 2, "the two suites ask in different ways"
    (first,) = [body for body in bodies if "stop" in body]
    (plain,) = [body for body in bodies if "stop" not in body]
    assert (first["max_tokens"], first["temperature"], first["stop"]) == (7, 0.5, ["\n\n"])
    assert (plain["max_tokens"], plain["temperature"]) == (512, 0.0)


def list_targets(folder: Path, model: dict[str, Any], **suite: Any) -> Any:
    write_rows(folder)
    values = {**SUITE, "items": {"data": str(folder / "rows.jsonl")}, "name": "s", **suite}
    settings = Settings.model_validate({"models": [{"name": "m", **model}], "suites": [values]})
    return resolve(settings).suites[0]


def test_a_suites_limit_of_tokens_goes_before_the_models_under_any_name(tmp_path: Path) -> None:
    model = {"provider": "openai", "extra": {"max_completion_tokens": 900, "top_p": 0.5}}
    (target,) = list_targets(tmp_path, model, max_tokens=20).targets
    assert target.model.token_limit == 20
    assert target.model.extra == {"top_p": 0.5}
    (target,) = list_targets(tmp_path, model).targets
    assert target.model.token_limit == 900


def test_a_suites_parameters_leave_the_models_others(tmp_path: Path) -> None:
    suite = list_targets(tmp_path, {"extra": {"stop": ["a"], "top_p": 0.5}}, extra={"stop": ["b"]})
    assert suite.targets[0].model.extra == {"stop": ["a"], "top_p": 0.5}, "one client serves all suites"
    assert suite.around.parameters == {"stop": ["b"]}


@pytest.mark.parametrize(
    ("extra", "message"),
    [({"messages": []}, "cannot be set here"), ({"x": {1, 2}}, "JSON"), ({"api_key": "sk-1234567890"}, "a key")],
)
def test_what_is_no_parameter_is_refused_as_in_a_models_entry(
    tmp_path: Path, extra: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        list_targets(tmp_path, {}, extra=extra)
