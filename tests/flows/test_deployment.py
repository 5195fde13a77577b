"""What is deployed, and where; on a real server, by an installed package: tests/basic_control/test_wheel.py."""

import re
import socket
import stat
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.events.schemas.automations import EventTrigger

from basic_control.config.reading import read
from basic_control.config.settings import Model, Settings
from basic_control.data.errors import InputError
from basic_control.flows import deployment
from basic_control.flows.cli.application import main
from basic_control.flows.deployment import (
    DATABASE,
    HERE,
    dead_runs,
    describe,
    environment,
    password,
    schedule_configuration,
    welcome,
)
from tests.conftest import TOP
from tests.helpers.deployed import SECRET


def deployments() -> dict[str, Any]:
    listed = yaml.safe_load((TOP / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    return {one["name"]: one for one in listed}


def test_each_deployment_runs_a_shipped_configuration_one_run_at_a_time_on_a_schedule() -> None:
    found = deployments()
    assert set(found) == {"nightly", "smoke"}
    for one in found.values():
        assert one["entrypoint"] == "flows/full_eval.py:full_eval"
        assert one["concurrency_limit"] == {"limit": 1, "collision_strategy": "ENQUEUE"}
        assert one["work_pool"]["name"] == "basic-control"
        assert one["schedules"][0]["timezone"]
        file = one["build"][0]["basic_control.flows.deployment.describe"]["file"]
        assert Settings.model_validate(describe(file)["settings"]) == read(TOP / file)


def test_keys_that_only_a_provider_has_are_deployed_where_prefects_server_takes_them(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(
        "models:\n  - {name: a, provider: openai, api: responses}\n"
        "  - {name: b, provider: http, url: 'http://127.0.0.1:1/', text: answer}\n"
        "judges: [{name: c, provider: openai, exam: 3}]\nsuites: [basic_control]\n"
    )
    told = describe(str(file))["settings"]
    first, second = told["models"]
    assert {*first, *second} <= {*Model.model_fields}
    assert (first["options"], second["options"]["text"]) == ({"api": "responses"}, "answer")
    assert told["judges"][0]["exam"] == 3
    assert Settings.model_validate(told) == read(file)


def test_a_configuration_is_scheduled_without_a_file_of_deployments(tmp_path: Path) -> None:
    shipped = (TOP / "prefect.yaml").read_text(encoding="utf-8")
    (made,) = yaml.safe_load(schedule_configuration(shipped, tmp_path / "eval.yaml", "0 3 * * *"))["deployments"]
    assert made["name"] == "eval"
    assert made["schedules"] == [{"cron": "0 3 * * *", "timezone": "UTC", "active": True}]
    (step,) = made["build"]
    assert step == {
        "basic_control.flows.deployment.describe": {
            "id": "project",
            "file": f"{tmp_path}/eval.yaml",
            "folder": str(HERE),
        }
    }
    kept = ("entrypoint", "parameters", "concurrency_limit", "work_pool", "enforce_parameter_schema")
    nightly = deployments()["nightly"]
    assert {key: made[key] for key in kept} == {key: nightly[key] for key in kept}
    with pytest.raises(InputError, match="--cron 'daily at 3': not a schedule; expected minute, hour"):
        schedule_configuration(shipped, tmp_path / "eval.yaml", "daily at 3")


@pytest.mark.parametrize("words", [["eval.yaml"], ["--config", "eval.yaml"], ["--cron", "0 3 * * *"]])
def test_a_schedule_and_its_configuration_go_together(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", *words]) == 2
    assert "expected FILE and --cron" in capsys.readouterr().err


def test_a_configuration_whose_data_is_not_there_is_not_deployed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said at once, before a server is asked."""
    path = tmp_path / "eval.yaml"
    suites = [{"name": "own", "items": {"data": str(tmp_path / "gone.csv")}, "metrics": {"exact_match": {}}}]
    path.write_text(yaml.safe_dump({"models": [{"name": "m"}], "suites": suites}), encoding="utf-8")
    assert main(["deploy", "--config", str(path), "--cron", "0 3 * * *"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {tmp_path / 'gone.csv'}: no such file.")
    assert len(said.splitlines()) == 1


def test_no_deployment_names_a_path_of_a_machine() -> None:
    text = (TOP / "prefect.yaml").read_text(encoding="utf-8") + (TOP / "prefect.toml").read_text(encoding="utf-8")
    assert not re.search(r"[\s\"'](/|~|[A-Z]:\\)\w", text), "paths are filled in when it is deployed"


def test_a_password_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "auth"
    first = password(file, {})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert re.fullmatch(r"admin:[\w-]{32}", first)
    assert password(file, {}) == first
    assert password(tmp_path / "other", {}) != first
    assert password(file, {"PREFECT_SERVER_API_AUTH_STRING": "me:mine"}) == "me:mine"
    file.chmod(0o644)
    with pytest.raises(InputError, match="mode 644"):
        password(file, {})


def test_what_the_environment_says_stands() -> None:
    given = environment(4321, {"PREFECT_API_URL": "http://elsewhere/api", "PREFECT_API_AUTH_STRING": "me:mine"})
    assert given["PREFECT_API_URL"] == "http://elsewhere/api"
    assert given["PREFECT_SERVER_API_AUTH_STRING"] == "me:mine"
    assert "4321" in given["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"]


@pytest.mark.parametrize("url", ["nonsense", "ftp://x", "http://[::1/api", "http://127.0.0.1:1/api"])
def test_an_address_without_a_server_is_one_message(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", url)
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", SECRET)
    assert main(["deploy"]) == 2
    said = capsys.readouterr().err
    assert url in said
    assert "only-for-this-test" not in said


def test_a_server_that_is_none_of_prefects_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        url = f"http://127.0.0.1:{door.getsockname()[1]}/api"

        def babble() -> None:
            with door.accept()[0] as caller:
                caller.recv(1000)
                caller.sendall(b"* OK IMAP4 ready\r\n")

        threading.Thread(target=babble, daemon=True).start()
        monkeypatch.setenv("PREFECT_API_URL", url)
        monkeypatch.setenv("PREFECT_API_AUTH_STRING", SECRET)
        assert main(["worker"]) == 2
    assert "not the address of a Prefect server" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "-3", "65536", "x"])
def test_a_port_is_one_that_there_is(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", f"--port={port}"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("error: Invalid value")
    assert "--port" in said


def test_an_empty_variable_says_nothing() -> None:
    given = environment(4321, {"PREFECT_API_URL": "", "PREFECT_API_AUTH_STRING": "me:mine"})
    assert given["PREFECT_API_URL"] == "http://127.0.0.1:4321/api"


def test_a_password_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="PREFECT_SERVER_API_AUTH_STRING"):
        password(tmp_path / "nowhere" / "auth", {})


def test_the_server_says_how_to_log_in_and_where_runs_are_without_the_password() -> None:
    said = welcome(4321, {})
    assert "http://127.0.0.1:4321" in said
    assert "cat .prefect-auth" in said
    assert "Runs: http://127.0.0.1:4321/v2/runs (" in said
    said = welcome(4321, {"PREFECT_API_AUTH_STRING": SECRET})
    assert "PREFECT_API_AUTH_STRING" in said
    assert "only-for-this-test" not in said


def test_the_server_and_prefects_own_commands_keep_their_runs_in_one_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(TOP)
    named = tomllib.loads((TOP / "prefect.toml").read_text(encoding="utf-8"))["server"]
    path = named["database"]["connection_url"].removeprefix("sqlite+aiosqlite:///")
    assert TOP / path == DATABASE
    assert "*" not in named["api"]["cors_allowed_origins"]


@pytest.mark.parametrize("name", ["Completed", "Crashed", "Scheduled", "AwaitingRetry", "Pending"])
def test_a_run_that_ended_or_waits_is_not_watched_for_heartbeats(name: str) -> None:
    """A short run's heartbeat may reach the server after its end; a retry that waits must not be Crashed for it."""
    trigger = dead_runs().trigger
    assert isinstance(trigger, EventTrigger)
    assert trigger.after == {"prefect.flow-run.heartbeat"}
    assert f"prefect.flow-run.{name}" in trigger.expect
    assert "prefect.flow-run.Running" not in trigger.expect, "a run that begins is watched at once"


def test_a_database_that_the_environment_names_is_an_installed_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[Any] = []
    monkeypatch.setattr(deployment, "CHECKOUT", False)
    monkeypatch.setattr(deployment, "_become", lambda _words, given: became.append(given))
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", SECRET)
    monkeypatch.delenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", raising=False)
    monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", "postgresql+asyncpg://db/prefect")
    deployment.serve(4321, "127.0.0.1")
    assert "PREFECT_SERVER_DATABASE_CONNECTION_URL" not in became[0]
