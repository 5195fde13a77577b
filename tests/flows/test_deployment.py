"""Deployments on a Prefect server of the test's own, with authentication, and a process worker."""

import json
import re
import socket
import stat
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prefect.events.schemas.automations import EventTrigger

from config.reading import read
from config.settings import Model, Settings
from data.errors import InputError
from flows.cli.application import main
from flows.deployment import DATABASE, HERE, dead_runs, describe, environment, password, scheduled, welcome
from tests.conftest import TOP
from tests.helpers.deployed import SECRET, Place, deploy, group, standing
from tests.servers.running import serve_openai


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
        file = one["build"][0]["flows.deployment.describe"]["file"]
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
    (made,) = yaml.safe_load(scheduled(shipped, tmp_path / "eval.yaml", "0 3 * * *"))["deployments"]
    assert made["name"] == "eval"
    assert made["schedules"] == [{"cron": "0 3 * * *", "timezone": "UTC", "active": True}]
    (step,) = made["build"]
    assert step == {
        "flows.deployment.describe": {"id": "project", "file": f"{tmp_path}/eval.yaml", "folder": str(HERE)}
    }
    kept = ("entrypoint", "parameters", "concurrency_limit", "work_pool", "enforce_parameter_schema")
    nightly = deployments()["nightly"]
    assert {key: made[key] for key in kept} == {key: nightly[key] for key in kept}
    with pytest.raises(InputError, match="--cron 'daily at 3': not a schedule; expected minute, hour"):
        scheduled(shipped, tmp_path / "eval.yaml", "daily at 3")


@pytest.mark.parametrize("words", [["--config", "eval.yaml"], ["--cron", "0 3 * * *"]])
def test_a_schedule_and_its_configuration_go_together(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", *words]) == 2
    assert "expected --config FILE and --cron" in capsys.readouterr().err


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


CRON = ["--config", "eval.yaml", "--cron", "5 4 * * 0"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Yield a copy of the project, its Prefect server up."""
    with standing(tmp_path_factory.mktemp("deployed") / "tree") as there:
        yield there


def test_a_folder_elsewhere_deploys_its_own_declarations_or_one_configuration(place: Place, tmp_path: Path) -> None:
    """The folder's own `prefect.yaml` goes before that of the place, and a configuration before both."""
    (tmp_path / "eval.yaml").write_text(
        "models: [{name: m, provider: openai, base_url: 'http://127.0.0.1:1/v1'}]\nsuites: [basic_control]\n"
    )
    text = (TOP / "prefect.yaml").read_text(encoding="utf-8")
    (tmp_path / "prefect.yaml").write_text(text.replace("name: nightly", "name: elsewhere"), encoding="utf-8")
    for words, said in (
        ([], f"what {tmp_path}/prefect.yaml declares"),
        (CRON, "Deploying eval.yaml at '5 4 * * 0'"),
    ):
        done = subprocess.run(
            [*place.command("deploy"), *words],
            cwd=tmp_path, env=place.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert said in done.stderr
    found = {one["name"]: one for one in place.find("deployments")}
    assert "elsewhere" in found
    assert found["eval"]["schedules"][0]["schedule"]["cron"] == "5 4 * * 0"
    assert found["eval"]["parameters"]["settings"]["models"][0]["name"] == "m"
    assert found["eval"]["entrypoint"] == "basic_control.deployed.full_eval", "found from any folder"
    (works,) = found["eval"]["pull_steps"]
    assert works["prefect.deployments.steps.set_working_directory"]["directory"] == str(tmp_path)
    assert found["eval"]["job_variables"]["env"]["PREFECT_LOCAL_STORAGE_PATH"].startswith(f"{tmp_path}/")
    for one in found.values():
        place.send("DELETE", f"/deployments/{one['id']}")


@pytest.mark.slow
def test_the_images_health_check_tells_a_server_that_answers_from_none(place: Place) -> None:
    """The command of the Dockerfile's HEALTHCHECK; what it asks needs no password."""
    found = re.search(r"HEALTHCHECK[^\[]*CMD (\[.*\])", (TOP / "Dockerfile").read_text(encoding="utf-8"))
    assert found
    _, *words = json.loads(found[1])

    def well(port: int) -> bool:
        environment = {"BASIC_CONTROL_HEALTH": f"http://127.0.0.1:{port}/api/health"}
        return not subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, check=False
        ).returncode

    assert well(place.port)
    assert not well(1)


def test_a_scheduled_run_is_completed_with_its_artifacts_and_a_retry_asks_nothing(place: Place) -> None:
    assert httpx.post(str(place.client.base_url.join("flows/filter")), json={}).status_code == 401
    with (
        serve_openai("ANSWER: 12", latency_s=0.6) as server,
        group(place.command("worker"), place.tree / "worker.log", cwd=place.tree, env=place.environment),
    ):
        deploy(place, server)
        place.wait(lambda: begun(place), "no scheduled run was begun")
        smoke = check_deployments(place)
        # Before its end, however long a busy machine takes for that: else the next one may be there as well.
        place.send("PATCH", f"/deployments/{smoke['id']}", {"paused": True})
        ended = place.wait(lambda: completed(place, 1), "no scheduled run was completed")
        assert len(server.requests) == 4
        manifest = check_exhibits(place, ended)
        retry = {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}, "force": True}
        answer = place.send("POST", f"/flow_runs/{ended['id']}/set_state", retry)
        assert answer["status"] == "ACCEPT", "the button Retry of the interface sends the same"
        place.wait(lambda: completed(place, 2, ended["id"]), "the retried run was not completed")
        assert len(server.requests) == 4, "a retry asks nothing that was answered"
    again = max((place.tree / "artifacts" / "runs").glob("*/manifest.json"))
    stages = json.loads(again.read_text(encoding="utf-8"))["stages"]
    assert {s["stage"] for s in stages if s["cached"]} >= {"generate", "prepare", "verify", "score", "aggregate"}
    assert "query" in {s["stage"] for s in stages if not s["cached"]}, "its cache is the reply cache"
    assert [s["stage"] for s in stages] == [s["stage"] for s in manifest["stages"]]


def begun(place: Place) -> bool:
    return any(run["state_type"] != "SCHEDULED" for run in place.find("flow_runs"))


def completed(place: Place, count: int, run: str = "") -> dict[str, Any] | None:
    """Return a run that was completed at its `count`th start."""
    filters = {"flow_runs": {"id": {"any_": [run]}}} if run else {"flows": {"name": {"any_": ["full_eval"]}}}
    runs = place.find("flow_runs", **filters)
    ended = [(r["state_name"], r["state"]["message"]) for r in runs if r["state_type"] in {"FAILED", "CRASHED"}]
    assert not ended, f"{ended}\n{place.logs()}"
    return next((r for r in runs if r["state_type"] == "COMPLETED" and r["run_count"] == count), None)


def check_deployments(place: Place) -> dict[str, Any]:
    """Hold what Prefect's server was told to what was meant; return the smoke run's deployment."""
    found = {one["name"]: one for one in place.find("deployments")}
    nightly = found["nightly"]
    assert nightly["schedules"][0]["schedule"]["cron"] == "0 2 * * *"
    assert nightly["schedules"][0]["schedule"]["timezone"] == "Europe/Berlin"
    assert nightly["enforce_parameter_schema"] is True
    assert nightly["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert nightly["global_concurrency_limit"]["limit"] == 1
    assert "threshold" in nightly["parameter_openapi_schema"]["definitions"]["Suite"]["properties"], "a form"
    assert {one["name"] for one in place.find("automations")} == {"Crash silent runs"}
    bad = {"parameters": {"settings": {"models": [], "suites": ["nonsense"]}}}
    refused = place.client.post(f"/deployments/{nightly['id']}/create_flow_run", json=bad)
    assert refused.status_code in {409, 422}, refused.text
    return found["smoke"]


def check_exhibits(place: Place, ended: dict[str, Any]) -> dict[str, Any]:
    """Hold what the interface shows of the run to its folder; return its manifest."""
    assert ended["auto_scheduled"], "the schedule's run, not one of ours"
    assert set(ended["tags"]) >= {"basic-control", "smoke"}
    (path,) = (place.tree / "artifacts" / "runs").glob("*/manifest.json")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert manifest["requests"]["answered"] == 4
    assert list((place.tree / "artifacts" / "store" / "results").iterdir()), "stages are remembered by their store"
    shown = place.find("artifacts", artifacts={"flow_run_id": {"any_": [ended["id"]]}})
    of_run = {one["key"]: one for one in shown}
    assert set(of_run) == {"report", "summary", "folder"}
    markdown = next(path.parent / one for one in manifest["reports"] if one.endswith(".md"))
    assert of_run["report"]["data"] == markdown.read_text(encoding="utf-8")
    assert path.parent.as_uri() in of_run["folder"]["data"]
    (row,) = json.loads(of_run["summary"]["data"])
    assert [*row] == ["Model", "Arithmetic", "Logic", "TOTAL"], "the table of the run's screen"
    assert row["Model"] == "tiny"
    progress = [one for one in place.find("artifacts") if one["type"] == "progress"]
    assert [one["data"] for one in progress] == [100.0]
    assert "4 of 4" in progress[0]["description"]
    name = {"event": {"name": ["basic-control.run.concluded"]}}
    (told,) = place.wait(lambda: place.find("events", filter=name), "the end was not told as an event", 20)
    assert told["payload"]["requests"]["asked"] == 4
    return manifest
