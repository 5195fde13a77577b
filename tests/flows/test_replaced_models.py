"""`--model` in place of a file's models: what these say of how to ask stays, and each difference is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.flows.cli.application import main
from basic_control.flows.cli.options import RunOptions, read_request, read_settings
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

SUITE = {"name": "desk", "items": {"data": "rows.jsonl"}, "prompt": "{{ question }}", "metrics": ["contains"]}
DESK = {
    "name": "sys",
    "provider": "openai",
    "system": "You are the help desk.",
    "temperature": 0.7,
    "max_tokens": 50,
    "deadline_s": 30,
    "extra": {"stop": ["END"], "reasoning_effort": "low"},
}
ROWS = [{"question": f"Ticket {n}?", "answer": "printer"} for n in range(6)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return tmp_path


def write_file(folder: Path, *models: dict[str, Any]) -> str:
    content = {"models": [*models], "suites": [SUITE]}
    (folder / "eval.yaml").write_text(json.dumps(content), encoding="utf-8")
    return "eval.yaml"


def test_a_new_model_is_asked_as_the_replaced_one_was(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = RunOptions(config=write_file(folder, DESK), model=("openai/judge",))
    (model,) = read_settings("", options)[0].models
    assert (model.name, model.system) == ("judge", DESK["system"])
    assert (model.temperature, model.max_tokens, model.extra) == (0.7, 50, {"stop": ["END"]})
    assert model.deadline_s == 300, "not of how to ask"
    expected = (
        "openai/judge keeps system, temperature, max_tokens, extra.stop of eval.yaml; "
        "dropped: extra.reasoning_effort (for its own models).\n"
    )
    assert capsys.readouterr().err == expected


def test_what_is_set_over_the_new_model_goes_before_what_it_keeps(folder: Path) -> None:
    options = RunOptions(
        config=write_file(folder, DESK), model=("openai/judge",), sets=("models.0.temperature=0.1",)
    )
    (model,) = read_settings("", options)[0].models
    assert (model.temperature, model.max_tokens) == (0.1, 50)


def test_where_the_replaced_models_differ_the_parameter_is_dropped_and_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = {"name": "plain", "provider": "openai", "system": DESK["system"]}
    options = RunOptions(config=write_file(folder, DESK, plain), model=("phi3", "openai/judge"))
    for model in read_settings("", options)[0].models:
        assert (model.system, model.temperature, model.max_tokens) == (DESK["system"], 0.0, 512)
    message = capsys.readouterr().err
    assert message.startswith(
        "ollama/phi3, openai/judge keep system of eval.yaml; dropped: temperature (its models"
    )
    for name in ("max_tokens", "extra.stop", "extra.reasoning_effort"):
        assert f"{name} (its models differ)" in message


def test_models_without_parameters_of_their_own_leave_nothing_to_say(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = RunOptions(config=write_file(folder, {"name": "phi3", "temperature": 0}), model=("openai/judge",))
    (model,) = read_settings("", options)[0].models
    assert (model.system, model.temperature, model.max_tokens) == ("", 0.0, 512)
    assert not capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_shipped_configuration_keeps_its_parameters_for_its_own_models(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for config in ("", "config/smoke.yaml", "config/default.yaml"):
        (model,) = read_settings("cot", RunOptions(config=config, model=("openai/judge",)))[0].models
        assert (model.system, model.temperature, model.max_tokens, model.extra) == ("", 0.0, 512, {})
    assert "keeps" not in capsys.readouterr().err


def test_an_entry_from_python_has_its_own_and_keeps_what_it_leaves_open(folder: Path) -> None:
    entry = {"name": "judge", "provider": "openai", "temperature": 0.2, "extra": {"top_p": 0.5}}
    targets: list[Any] = [entry, "openai/other"]
    for configuration in (write_file(folder, DESK), {"models": [DESK], "suites": [SUITE]}):
        request = {
            "configuration": configuration,
            "suite": "",
            "targets": {"models": targets},
            "options": {},
            "keys": {},
        }
        first, second = read_request(request)[0].models
        assert (first.system, first.temperature, first.max_tokens) == (DESK["system"], 0.2, 50)
        assert first.extra == {"top_p": 0.5, "stop": ["END"]}
        assert (second.temperature, second.extra) == (0.7, {"stop": ["END"]})


def test_parameters_that_differ_from_the_baseline_are_listed_whatever_the_models_name(
    folder: Path, run: Run
) -> None:
    baseline = str(folder / "main.json")
    file = folder / write_file(folder, {**DESK, "extra": {}})
    with serve_openai("the printer") as server:
        words = (str(file), "--set", f"models.0.base_url={server.base_url}")
        assert run(*words, cwd=folder).returncode == 0
        first = str(latest(folder))
        assert main(["baseline", "set", baseline, first, "--set", f"store.root={folder / 'store'}"]) == 0
        changes = ("--set", "models.0.system=''", "--set", "models.0.max_tokens=512")
        done = run(*words, "--model", "openai/judge", "--baseline", baseline, *changes, cwd=folder)
        body = server.requests[-1].body
    assert body["temperature"] == 0.7
    for line in (
        "model: judge, in the baseline sys",
        "system of judge: none, in the baseline You are the help desk.",
        "max_tokens of judge: 512, in the baseline 50",
    ):
        assert line in done.stdout + done.stderr
    assert "temperature of judge" not in done.stdout + done.stderr
