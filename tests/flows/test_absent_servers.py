"""A run whose needed replies are all stored needs no server; one that lacks a reply says which."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.data.errors import InputError
from basic_control.data.records import Message
from basic_control.data.tables import REQUESTS
from basic_control.tasks.models.requests import build_request
from basic_control.tasks.query import Unreachable, ask, identify_model
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.bytes import serve_bytes
from tests.servers.running import Server, serve_ollama, serve_openai

ROWS = [{"question": f"Ticket {n}?", "answer": "printer"} for n in range(4)]
PROVIDER = """
import http.client

import basic_control as bc
from basic_control.data.records import Reply
from basic_control.tasks.models.protocol import CallError


class Client:
    def __init__(self, model):
        self.address = model.base_url.removeprefix("http://").removesuffix("/v1")

    def fetch(self, method):
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            connection.request(method, "/v1/models")
            return connection.getresponse().status
        except OSError as error:
            raise CallError("connection", f"{self.address} does not answer ({error})") from None
        finally:
            connection.close()

    async def identity(self):
        return {"provider": "house", "model": "m", "release": f"of {self.fetch('GET')}"}

    async def ask(self, call):
        self.fetch("GET")
        return Reply("printer", finish_reason="stop")

    async def close(self):
        pass


@bc.provider
def house(model):
    return Client(model)
"""


def write_configuration(folder: Path, server: Server, provider: str, count: int = 3, **changes: Any) -> str:
    """Write a configuration of one suite about the first rows; return its path."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS[:count]), encoding="utf-8")
    suite = {
        "name": "desk",
        "items": {"data": str(folder / "rows.jsonl")},
        "prompt": "{{ question }}",
        "metrics": ["contains"],
    }
    model = {"name": "m", "provider": provider, "base_url": server.base_url, "deadline_s": 20}
    content = {"models": [model], "suites": [suite], **changes}
    (folder / "eval.yaml").write_text(json.dumps(content), encoding="utf-8")
    return str(folder / "eval.yaml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "house.py").write_text(PROVIDER, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("provider", "facts"),
    [
        ("ollama", "digest aaaaaaaaaaaa, provider ollama, server ollama 0.12.6"),
        ("openai", "base_url http://127.0.0.1:"),
        ("house", "provider house, release of 200"),
    ],
)
def test_a_run_whose_replies_are_all_stored_ends_as_it_did_with_the_server_off(
    run: Run, folder: Path, provider: str, facts: str
) -> None:
    digests = {"m": "a" * 64}
    with serve_ollama("printer", models=digests) if provider == "ollama" else serve_openai("printer") as server:
        changes: dict[str, Any] = {"plugins": [str(folder / "house.py")]} if provider == "house" else {}
        name = write_configuration(folder, server, provider, **changes)
        online = run(name)
    offline = run(name)
    assert offline.returncode == online.returncode, offline.stderr
    sentence = f"model m: its server did not answer; stored replies of {facts}"
    assert sentence in " ".join(offline.stdout.split())
    assert "did not answer" not in online.stdout
    manifest = json.loads((latest(folder) / "manifest.json").read_text(encoding="utf-8"))
    (recorded,) = manifest["absent"]
    assert recorded.startswith(sentence)
    assert (manifest["requests"]["cached"], manifest["requests"]["answered"]) == (3, 0)


def test_one_reply_that_is_not_stored_ends_the_run_before_anything_is_asked(run: Run, folder: Path) -> None:
    with serve_ollama("printer", models={"m": "a" * 64}) as server:
        run(write_configuration(folder, server, "ollama"))
    # What listens elsewhere is asked nothing either.
    with serve_openai("yes") as second:
        name = write_configuration(folder, server, "ollama", count=4)
        failed = run(name)
        assert failed.returncode == 2
        text = " ".join(failed.stderr.split())
        assert "1 of 4 replies are not stored, the first to 'Ticket 3?'" in text
        dry = run(name, "--dry-run")
        assert dry.returncode == 2
        assert "1 of 4 replies are not stored" in " ".join((dry.stdout + dry.stderr).split())
        assert not second.requests
    assert len([*(folder / "runs").iterdir()]) == 1, "a refused run leaves none behind"


def test_the_last_identity_holds_and_none_before_it(run: Run, folder: Path) -> None:
    """The replies of the first digest are stored, but the server was last seen with another."""
    with serve_ollama("printer", models={"m": "a" * 64}) as server:
        name = write_configuration(folder, server, "ollama")
        assert run(name).returncode in {0, 3}
        # The same name is another model from here on.
        server.script.models = {"m:latest": "b" * 64}
        run(write_configuration(folder, server, "ollama", count=1))
        assert len(server.requests) == 4, "another digest is another model"
    failed = run(write_configuration(folder, server, "ollama"))
    assert failed.returncode == 2
    assert "2 of 3 replies are not stored" in " ".join(failed.stderr.split())


def test_a_server_that_answers_something_else_is_not_absent(run: Run, folder: Path) -> None:
    with serve_ollama("printer", models={"m": "a" * 64}) as server:
        name = write_configuration(folder, server, "ollama")
        run(name)
        server.script.models = {"other:latest": "c" * 64}
        failed = run(name)
        assert failed.returncode == 2
        assert "stored replies" not in failed.stdout + failed.stderr
        assert len(server.requests) == 3


def test_a_judge_that_is_down_is_read_from_the_cache_and_one_that_lacks_a_reply_stops_all(
    run: Run, folder: Path
) -> None:
    suite = {"name": "desk", "items": {"data": str(folder / "rows.jsonl")}, "prompt": "{{ question }}"}
    suite |= {"metrics": {"rubric": {"criteria": "It is polite.", "scale": [0, 1]}}}
    rating = '{"reason": "so", "rating": 1}'
    with serve_ollama("printer", models={"m": "a" * 64}) as server:
        # The judge's server ends first, that of the model stays.
        with serve_openai(rating) as bench:
            judge = {"name": "j", "provider": "openai", "base_url": bench.base_url, "deadline_s": 20}
            changes = {"judges": [judge], "suites": [suite]}
            name = write_configuration(folder, server, "ollama", **changes)
            online = run(name)
        offline = run(name)
        assert offline.returncode == online.returncode, offline.stderr
        assert "judge j: its server did not answer; stored replies of" in " ".join(offline.stdout.split())
        n_calls = len(server.requests)
        failed = run(write_configuration(folder, server, "ollama", count=4, **changes))
        assert failed.returncode == 2
        assert "1 of 4 replies are not stored" in " ".join(failed.stderr.split())
        assert len(server.requests) == n_calls, "nothing is asked of the model either"


def test_of_two_models_the_one_that_lacks_a_reply_is_an_error_and_the_other_goes_on(run: Run, folder: Path) -> None:
    with serve_openai("printer") as second:
        with serve_ollama("printer", models={"m": "a" * 64}) as server:
            models = [
                {"name": "m", "provider": "ollama", "base_url": server.base_url, "deadline_s": 20},
                {"name": "n", "provider": "openai", "base_url": second.base_url, "deadline_s": 20},
            ]
            run(write_configuration(folder, server, "ollama", models=models))
        done = run(write_configuration(folder, server, "ollama", count=4, models=models))
        assert done.returncode == 2
        assert len(second.requests) == 4
    manifest = json.loads((latest(folder) / "manifest.json").read_text(encoding="utf-8"))
    assert "1 of 4 replies are not stored, the first to 'Ticket 3?'" in manifest["missing"]["m"]
    assert manifest["absent"] == []


def test_of_a_suite_that_stops_early_only_the_rounds_that_it_needs_must_be_stored(run: Run, folder: Path) -> None:
    rows = [{"question": f"Ticket {n}?", "answer": "printer"} for n in range(200)]
    (folder / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {"name": "desk", "items": {"data": str(folder / "many.jsonl")}, "prompt": "{{ question }}"}
    suite |= {"metrics": ["contains"], "threshold": 0.5, "stop": {"when": "decided", "first": 20, "most": 200}}
    with serve_ollama("printer", models={"m": "a" * 64}) as server:
        name = write_configuration(folder, server, "ollama", suites=[suite])
        online = run(name)
        assert online.returncode == 0, online.stderr
        assert len(server.requests) < 200
    offline = run(name)
    assert offline.returncode == 0, offline.stderr
    assert "its server did not answer" in " ".join(offline.stdout.split())


def test_nothing_is_asked_where_only_stored_replies_may_be_used(tmp_path: Path) -> None:
    """The server may have come back since, with another model."""
    store = StoreSettings(root=str(tmp_path))
    with serve_ollama("printer", models={"m": "a" * 64}) as server:
        model = Model.model_validate({"name": "m", "base_url": server.base_url})
        identity = identify_model(model)
        message = Message("user", "Which device?")
        request = build_request(model, identity, [message], item_id="1")
        with pytest.raises(InputError, match="1 of 1 replies are not stored, the first to 'Which device\\?'"):
            ask(REQUESTS.frame([request]), model, store, Cell("desk"), stored_only=True)
        assert not server.requests


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_what_answers_in_another_protocol_is_not_absent(provider: str) -> None:
    with serve_bytes(lambda _number, _request: b"SSH-2.0-OpenSSH_9.6\r\n") as server:
        model = Model.model_validate({"name": "m", "provider": provider, "base_url": server.url, "deadline_s": 20})
        with pytest.raises(InputError) as caught:
            identify_model(model)
    assert not isinstance(caught.value, Unreachable)
    with pytest.raises(Unreachable):
        identify_model(model)
